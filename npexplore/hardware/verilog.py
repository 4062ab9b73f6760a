"""Graphs as Verilog 2005: a combinational module for each step, a wire for each node.

Graphs compute with integers; a wire has the bits of its node's range, in two's complement if it can be negative.
Operands are first extended to the width of the result, so that no operation depends on Verilog's own rules for widths
and signs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from npexplore.hardware.graph import Graph, Node
from npexplore.hardware.places import Places
from npexplore.hardware.programs import LoweredProgram, LoweredStep
from npexplore.hardware.shapes import Leaf

SIGNS = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^"}


def bits_of(leaf: Leaf) -> int:
    """Return the number of bits of a register."""
    return Node("input", (), leaf[0], leaf[1], leaf[2]).bits


@dataclass(frozen=True)
class Packed:
    """Registers packed into one vector. at: by name (lowest bit, number of bits); bits: width of the vector."""

    at: Mapping[str, tuple[int, int]]
    bits: int

    @classmethod
    def of(cls, leaves: Iterable[Leaf]) -> Packed:
        """Return registers packed in order, the first one lowest; the vector has at least one bit."""
        fields: dict[str, tuple[int, int]] = {}
        low = 0
        for leaf in leaves:
            fields[leaf[0]] = low, bits_of(leaf)
            low += bits_of(leaf)
        return cls(fields, max(1, low))

    def slice(self, name: str) -> str:
        """Return the Verilog part select of a register."""
        low, bits = self.at[name]
        return f"[{low + bits - 1}:{low}]"

    def value(self, whole: int, name: str, signed: bool = False) -> int:
        """Return a register's value, extracted from the vector's number."""
        low, bits = self.at[name]
        bits_value = whole >> low & (1 << bits) - 1
        return bits_value - (1 << bits) if signed and bits_value >> bits - 1 else bits_value


class Text:
    """The Verilog declarations of one graph's nodes."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.lines = graph, list[str]()

    def extended(self, at: int, bits: int) -> str:
        """Return a node with `bits` bits: truncated, zero-extended or sign-extended."""
        node = self.graph.nodes[at]
        if node.op == "const":
            return f"{bits}'h{node.value & (1 << bits) - 1:x}"
        return _wider(f"n{at}", node.bits, bits, node.lo < 0)

    def cut(self, at: int, low: int, bits: int) -> str:
        """Return `bits` bits of a node from bit `low` on, extended by zeros or its sign beyond its last bit."""
        node = self.graph.nodes[at]
        if node.op == "const":
            return f"{bits}'h{node.value >> low & (1 << bits) - 1:x}"
        inside = min(bits, max(0, node.bits - low))
        fill = f"n{at}[{node.bits - 1}]" if node.lo < 0 else "1'b0"
        parts = [f"{{{bits - inside}{{{fill}}}}}"] if inside < bits else []
        if inside:
            parts.append(f"n{at}[{low + inside - 1}:{low}]")
        return parts[0] if len(parts) == 1 else f"{{{', '.join(parts)}}}"

    def node(self, at: int, source: Mapping[str, str]) -> None:
        """Declare a node's wire; source: the Verilog expression of each input, by name."""
        node = self.graph.nodes[at]
        if node.op == "const":
            return
        text = source[node.value] if node.op == "input" else getattr(self, f"_{_family(node.op)}")(at, node)
        self.lines.append(f"  wire [{node.bits - 1}:0] n{at} = {text};")

    def _plain(self, at: int, node: Node) -> str:
        a, b = (self.extended(operand, node.bits) for operand in node.args)
        return f"{a} {SIGNS[node.op]} {b}"

    def _compare(self, at: int, node: Node) -> str:
        left, right = (self.graph.nodes[operand] for operand in node.args)
        signed = left.lo < 0 or right.lo < 0
        bits = max(operand.bits + (signed and operand.lo >= 0) for operand in (left, right))
        a, b = (self.extended(operand, bits) for operand in node.args)
        if signed:
            a, b = f"$signed({a})", f"$signed({b})"
        return f"{a} {'==' if node.op == 'eq' else '<'} {b}"

    def _shift(self, at: int, node: Node) -> str:
        (operand,), by = node.args, node.value
        if node.op == "shl":
            return f"{{{self.extended(operand, node.bits - by)}, {by}'d0}}"
        operand_node = self.graph.nodes[operand]
        remaining_bits = operand_node.bits - by
        if remaining_bits <= 0:
            return (
                _wider(f"n{operand}[{operand_node.bits - 1}:{operand_node.bits - 1}]", 1, node.bits, True)
                if operand_node.lo < 0
                else f"{node.bits}'d0"
            )
        if remaining_bits >= node.bits:
            return f"n{operand}[{by + node.bits - 1}:{by}]"
        fill = f"n{operand}[{operand_node.bits - 1}]" if operand_node.lo < 0 else "1'b0"
        return f"{{{{{node.bits - remaining_bits}{{{fill}}}}}, n{operand}[{operand_node.bits - 1}:{by}]}}"

    def _mod(self, at: int, node: Node) -> str:
        bits = max(self.graph.nodes[node.args[0]].bits, node.value.bit_length())
        rest = f"{self.extended(node.args[0], bits)} % {bits}'d{node.value}"
        self.lines.append(f"  wire [{bits - 1}:0] r{at} = {rest};")
        return f"r{at}[{node.bits - 1}:0]"

    def _mux(self, at: int, node: Node) -> str:
        test = node.args[0]
        condition = f"n{test}" if self.graph.nodes[test].bits == 1 else f"(|n{test})"
        return f"{condition} ? {self.extended(node.args[1], node.bits)} : {self.extended(node.args[2], node.bits)}"

    def _table(self, at: int, node: Node) -> str:
        index, mask = self.graph.nodes[node.args[0]].bits, (1 << node.bits) - 1
        rows = [
            f"      {index}'d{k}: t{at} = {node.bits}'h{value & mask:x};"
            for k, value in enumerate(node.value)
            if k >> index == 0
        ]
        self.lines += [
            f"  function [{node.bits - 1}:0] t{at};", f"    input [{index - 1}:0] index;", "    case (index)", *rows,
            f"      default: t{at} = {node.bits}'d0;", "    endcase", "  endfunction",
        ]  # fmt: skip
        return f"t{at}(n{node.args[0]})"


def _wider(text: str, has: int, bits: int, signed: bool) -> str:
    if has == bits:
        return text
    if has > bits:
        return f"{text}[{bits - 1}:0]"
    fill = f"{text}[{has - 1}]" if signed else "1'b0"
    return f"{{{{{bits - has}{{{fill}}}}}, {text}}}"


def _family(op: str) -> str:
    if op in SIGNS:
        return "plain"
    return {"eq": "compare", "lt": "compare", "shl": "shift", "shr": "shift"}.get(op, op)


@dataclass(frozen=True)
class Ports:
    """The ports of a program's accelerators. asks, replies: by port, the bits of a request and the layout of a reply.

    of: by step, the port of each of its requests; a step that calls an accelerator twice uses two ports. accelerator:
    by port. widths: by port, the bits of each argument, the first one lowest.
    """

    asks: Mapping[str, int]
    replies: Mapping[str, Packed]
    of: Mapping[str, tuple[str, ...]]
    accelerator: Mapping[str, str]
    widths: Mapping[str, tuple[int, ...]]


def ports_of(program: LoweredProgram) -> Ports:
    """Return the ports that an engine needs."""
    asks: dict[str, int] = {}
    replies: dict[str, Packed] = {}
    accelerator: dict[str, str] = {}
    of: dict[str, tuple[str, ...]] = {}
    widths: dict[str, tuple[int, ...]] = {}
    for step in program.steps.values():
        names, used = [], dict[str, int]()
        for request in step.requests:
            number = used.get(request.accelerator, 0)
            used[request.accelerator] = number + 1
            name = f"{request.accelerator}_{number}"
            packed = Packed.of(
                (leaf.removeprefix(f"reply.{request.name}"), lowest, highest) for leaf, lowest, highest in request.reply
            )
            bits = tuple(step.graph.nodes[node].bits for node in request.arguments)
            widths[name] = tuple(map(max, bits, widths.get(name, bits)))
            asks[name], replies[name] = max(1, sum(widths[name])), packed
            accelerator[name] = request.accelerator
            names.append(name)
        of[step.name] = tuple(names)
    return Ports(asks, replies, of, accelerator, widths)


def step_module(program: LoweredProgram, step: LoweredStep, context: Places, ports: Ports) -> str:
    """Return a step as a combinational module.

    Inputs: held, a thread's context; reply_PORT, answers. Outputs: after, the context after the step; following, the
    number of the next step in the program's order, or the number of steps at the end; when_PORT and ask_PORT, calls.
    """
    text, graph = Text(step.graph), step.graph
    names = list(program.steps)
    width = len(names).bit_length()
    read_nodes = [node for request in step.requests for node in (request.when, *request.arguments)]
    source = {name: context.read(name, "held") for name in context.at}
    heads = [f"  input [{context.bits - 1}:0] held", f"  output [{context.bits - 1}:0] after"]
    heads.append(f"  output [{width - 1}:0] following")
    for request, port in zip(step.requests, ports.of[step.name], strict=True):
        packed = ports.replies[port]
        heads.append(f"  input [{packed.bits - 1}:0] reply_{port}")
        heads += [f"  output when_{port}", f"  output [{ports.asks[port] - 1}:0] ask_{port}"]
        source |= {f"reply.{request.name}{leaf}": f"reply_{port}{packed.slice(leaf)}" for leaf in packed.at}
    written = dict.fromkeys(name for name, _ in context.writes[step.name].values())
    for at in graph.under([step.next, *(step.writes[name] for name in written), *read_nodes]):
        text.node(at, source)
    text.lines.append(f"  assign following = {_following(text, step, names, width)};")
    for request, port in zip(step.requests, ports.of[step.name], strict=True):
        sized = zip(request.arguments, ports.widths[port], strict=True)
        parts = [text.extended(at, bits) for at, bits in reversed(list(sized))]
        joined = f"{{{', '.join(parts)}}}" if parts else "1'b0"
        text.lines += [f"  assign when_{port} = {text.extended(request.when, 1)};", f"  assign ask_{port} = {joined};"]
    text.lines += _parts(text, step, context)
    body = "\n".join(text.lines)
    return f"module step_{step.name} (\n" + ",\n".join(heads) + f"\n);\n{body}\nendmodule\n"


def _parts(text: Text, step: LoweredStep, context: Places) -> list[str]:
    """Return the assignments of the context after a step; adjacent unchanged bits are one assignment.

    A single assignment of the whole vector would be slow in Verilator, which shifts the vector for each register.
    """
    parts = []
    for low, count, bit in context.put(context.writes[step.name]):
        place = f"[{low + count - 1}:{low}]"
        value = f"held{place}" if bit is None else text.cut(step.writes[bit[0]], bit[1], count)
        parts.append(f"  assign after{place} = {value};")
    return parts


def _following(text: Text, step: LoweredStep, names: list[str], width: int) -> str:
    numbers = [names.index(name) if name in names else len(names) for name in step.goes]
    out = f"{width}'d{numbers[-1]}"
    bits = text.graph.nodes[step.next].bits
    for k in range(len(numbers) - 2, -1, -1):
        out = f"{text.extended(step.next, bits)} == {bits}'d{k} ? {width}'d{numbers[k]} : {out}"
    return out
