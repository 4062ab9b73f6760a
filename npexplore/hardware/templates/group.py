"""Members behind a load balancer, as Verilog: a cluster is a group of engines, a lane is a group of clusters.

    in -> (ticket) -> balancer -> (queue) -> member -> merge -> (reorder queue) -> out
    port of each member -> local arbiter -> port of the group; answers return by the member's number

A group has the same ports as its members, so that groups nest; its calls also carry the number of the member (Gorilla,
Secs. 4.1, 4.5.2). Strict balancing waits for the member whose turn it is; otherwise the next member with room takes the
packet. Without a reorder queue, packets leave as they finish.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from npexplore.errors import ModelError


def at(count: int) -> int:
    """Return the bits that hold every number below `count`, at least one."""
    return max(1, (count - 1).bit_length())


@dataclass(frozen=True)
class Face:
    """The interface of a module: bits of a tag, of a packet in (begins) and out (results), and of a caller (who).

    ports: by name, the bits of (call, answer). parameters: the Verilog parameters of an instance.
    """

    name: str
    tag: int
    begins: int
    results: int
    who: int
    ports: Mapping[str, tuple[int, int]]
    parameters: str = ""

    def heads(self) -> list[str]:
        """Return the module's port declarations."""
        lines = [
            "  input clk", "  input rst", "  input in_valid", "  output in_ready", f"  input [{self.tag - 1}:0] in_tag",
            f"  input [{self.begins - 1}:0] in_packet", "  output out_valid", "  input out_ready",
            f"  output [{self.tag - 1}:0] out_tag", f"  output [{self.results - 1}:0] out_packet",
        ]  # fmt: skip
        for port, (ask, reply) in self.ports.items():
            lines += [
                f"  output {port}_valid", f"  input {port}_ready", f"  output [{self.who - 1}:0] {port}_who",
                f"  output [{ask - 1}:0] {port}_ask", f"  input {port}_done", f"  output {port}_take",
                f"  input [{self.who - 1}:0] {port}_for", f"  input [{reply - 1}:0] {port}_reply",
            ]  # fmt: skip
        return lines

    def head(self) -> str:
        """Return the first lines of the module."""
        return f"module {self.name} (\n" + ",\n".join(self.heads()) + "\n);"


@dataclass(frozen=True)
class Group:
    """A group of members, its balancer, queues and arbiters.

    places: size of the reorder queue, a power of two, 0 for none. waiting: size of the queue before each member, 0 for
    none. strict: whether the balancer is strict; fair: whether arbiters are fair. gathered: whether members share one
    port, instead of one each. seed: of the valves. apart: Verilator compiles identical groups only once.
    """

    name: str
    members: int
    places: int = 0
    waiting: int = 0
    strict: bool = False
    fair: bool = False
    gathered: bool = True
    seed: int = 1
    apart: bool = False

    def __post_init__(self) -> None:
        if self.places & (self.places - 1) or self.places == 1:
            raise ModelError(f"{self.name}: the places of a reorder queue must be a power of two, got {self.places}")

    @property
    def ticket(self) -> int:
        """The bits of a ticket; 0 without a reorder queue."""
        return at(self.places) if self.places else 0

    def face(self, member: Face, tag: int) -> Face:
        """Return the interface of the group with these members; tag: bits of the group's tags."""
        if self.gathered:
            ports, who = member.ports, member.who + at(self.members)
        else:
            ports = {f"{port}_m{k}": bits for k in range(self.members) for port, bits in member.ports.items()}
            who = member.who
        return Face(self.name, tag, member.begins, member.results, who, ports)


def group_text(group: Group, member: Face, tag: int) -> str:
    """Return the group's module. member: the interface of a member, whose tags have the bits of `tag` and ticket."""
    face, n = group.face(member, tag), group.members
    inner = member.tag
    if inner != tag + group.ticket:
        raise ModelError(f"{group.name}: members need tags of {tag + group.ticket} bits, got {inner}")
    packet_in, packet_out = inner + member.begins, inner + member.results
    pragma = ["  /*verilator hier_block*/"] if group.apart else []
    lines = [face.head(), *pragma, *_way_in(group, n, packet_in)]
    lines += [
        f"  wire [{n - 1}:0] done_valid, done_ready;", f"  wire [{n * packet_out - 1}:0] done_data;",
        *(line for k in range(n) for line in _member(group, member, k, packet_in, packet_out)),
        *_way_out(group, member, n, packet_out, tag),
    ]  # fmt: skip
    for number, port in enumerate(member.ports):
        lines += _gathered(group, member, number, port) if group.gathered else []
    return "\n".join([*lines, "endmodule", ""])


def _way_in(group: Group, n: int, width: int) -> list[str]:
    """Return the lines from the group's input to the balancer."""
    lines = [f"  wire [{n - 1}:0] give_valid, give_ready;", "  wire balanced;"]
    if group.places:
        lines += [
            f"  wire enter_ready;\n  wire [{group.ticket - 1}:0] ticket;",
            f"  wire [{width - 1}:0] given = {{ticket, in_tag, in_packet}};",
            "  assign in_ready = balanced & enter_ready;", "  wire offered = in_valid & enter_ready;",
        ]  # fmt: skip
    else:
        lines += [
            f"  wire [{width - 1}:0] given = {{in_tag, in_packet}};", "  assign in_ready = balanced;",
            "  wire offered = in_valid;",
        ]  # fmt: skip
    lines.append(
        f"  balancer #(.N({n}), .AT({at(n)}), .STRICT({int(group.strict)})) the_balancer (.clk(clk), .rst(rst), "
        ".in_valid(offered), .in_ready(balanced), .out_valid(give_valid), .out_ready(give_ready));"
    )
    return lines


def valve(name: str, seed: int, width: int, into: tuple[str, str, str], out: tuple[str, str, str]) -> str:
    """Return the instance of a valve between two streams, each (valid, ready, data)."""
    return (
        f"  valve #(.WIDTH({width}), .SEED({seed})) {name} (.clk(clk), .rst(rst), .in_valid({into[0]}), "
        f".in_ready({into[1]}), .in_data({into[2]}), .out_valid({out[0]}), .out_ready({out[1]}), .out_data({out[2]}));"
    )


def _member(group: Group, member: Face, k: int, packet_in: int, packet_out: int) -> list[str]:
    """Return the lines for member k, its queue, its valves and the wires of its ports."""
    seed = 1000 * group.seed + 20 * k
    lines = [
        f"  wire mv{k}, mr{k}, dv{k}, dr{k};", f"  wire [{packet_in - 1}:0] md{k};",
        f"  wire [{member.tag - 1}:0] ot{k};", f"  wire [{member.results - 1}:0] op{k};",
    ]  # fmt: skip
    source = f"give_valid[{k}]", f"give_ready[{k}]", "given"
    if group.waiting:
        lines += [
            f"  wire qv{k}, qr{k};", f"  wire [{packet_in - 1}:0] qd{k};",
            f"  queue #(.PLACES({group.waiting}), .AT({at(group.waiting)}), .WIDTH({packet_in})) queue{k} (.clk(clk), "
            f".rst(rst), .in_valid({source[0]}), .in_ready({source[1]}), .in_data(given), .out_valid(qv{k}), "
            f".out_ready(qr{k}), .out_data(qd{k}));",
        ]  # fmt: skip
        source = f"qv{k}", f"qr{k}", f"qd{k}"
    lines.append(valve(f"before{k}", seed, packet_in, source, (f"mv{k}", f"mr{k}", f"md{k}")))
    connections = [
        ".clk(clk)", ".rst(rst)", f".in_valid(mv{k})", f".in_ready(mr{k})",
        f".in_tag(md{k}[{packet_in - 1}:{member.begins}])", f".in_packet(md{k}[{member.begins - 1}:0])",
        f".out_valid(dv{k})", f".out_ready(dr{k})", f".out_tag(ot{k})", f".out_packet(op{k})",
    ]  # fmt: skip
    for port, (ask, reply) in member.ports.items():
        ends = ("valid", "ready", "who", "ask", "done", "take", "for", "reply")
        if group.gathered:
            lines += [
                f"  wire {port}_valid{k}, {port}_ready{k}, {port}_done{k}, {port}_take{k};",
                f"  wire [{member.who - 1}:0] {port}_who{k}, {port}_for{k};", f"  wire [{ask - 1}:0] {port}_ask{k};",
                f"  wire [{reply - 1}:0] {port}_reply{k};",
            ]  # fmt: skip
            connections += [f".{port}_{end}({port}_{end}{k})" for end in ends]
        else:
            connections += [f".{port}_{end}({port}_m{k}_{end})" for end in ends]
    lines += [
        f"  {member.name} {member.parameters}member{k} ({', '.join(connections)});",
        valve(
            f"behind{k}", seed + 1, packet_out, (f"dv{k}", f"dr{k}", f"{{ot{k}, op{k}}}"),
            (f"done_valid[{k}]", f"done_ready[{k}]", f"done_data[{(k + 1) * packet_out - 1}:{k * packet_out}]"),
        ),
    ]  # fmt: skip
    return lines


def _way_out(group: Group, member: Face, n: int, packet_out: int, tag: int) -> list[str]:
    """Return the lines for the fair merge and the reorder queue."""
    width = packet_out + at(n)
    lines = [
        "  wire merged_valid, merged_ready;", f"  wire [{width - 1}:0] merged;",
        f"  arbiter #(.N({n}), .AT({at(n)}), .WIDTH({packet_out}), .FAIR(1)) merge (.clk(clk), .rst(rst), "
        ".in_valid(done_valid), .in_ready(done_ready), .in_data(done_data), .out_valid(merged_valid), "
        ".out_ready(merged_ready), .out_data(merged));",
    ]  # fmt: skip
    tag_and_packet = f"merged[{packet_out - group.ticket - 1}:{member.results}]", f"merged[{member.results - 1}:0]"
    if not group.places:
        return [
            *lines, "  assign out_valid = merged_valid;", "  assign merged_ready = out_ready;",
            f"  assign out_tag = {tag_and_packet[0]};", f"  assign out_packet = {tag_and_packet[1]};",
        ]  # fmt: skip
    data = packet_out - group.ticket
    return [
        *lines,
        f"  reorder #(.AT({group.ticket}), .WIDTH({data})) in_order (.clk(clk), .rst(rst), "
        ".enter_valid(in_valid & balanced), .enter_ready(enter_ready), .ticket(ticket), .in_valid(merged_valid), "
        f".in_ready(merged_ready), .in_ticket(merged[{packet_out - 1}:{data}]), .in_data(merged[{data - 1}:0]), "
        ".out_valid(out_valid), .out_ready(out_ready), .out_data({out_tag, out_packet}));",
    ]


def _gathered(group: Group, member: Face, number: int, port: str) -> list[str]:
    """Return the lines for the arbiter from the members' ports of one name to the group's port, and for the answers."""
    n, (ask, reply) = group.members, member.ports[port]
    width, back, members_down = member.who + ask, member.who + reply, range(group.members)[::-1]
    seed = 1000 * group.seed + 500 + 2 * number
    member_high = member.who + at(n) - 1

    def side(end: str) -> str:
        return ", ".join(f"{port}_{end}{k}" for k in members_down)

    requests = ", ".join(f"{port}_who{k}, {port}_ask{k}" for k in members_down)
    readies = "{" + side("ready") + "}"
    lines = [
        f"  wire {port}_av, {port}_ar, {port}_bv, {port}_br;", f"  wire [{at(n) + width - 1}:0] {port}_ad;",
        f"  wire [{at(n) + back - 1}:0] {port}_bd;",
        f"  arbiter #(.N({n}), .AT({at(n)}), .WIDTH({width}), .FAIR({int(group.fair)})) to_{port} (.clk(clk), "
        f".rst(rst), .in_valid({{{side('valid')}}}), .in_ready({readies}), .in_data({{{requests}}}), "
        f".out_valid({port}_av), .out_ready({port}_ar), .out_data({port}_ad));",
        valve(
            f"ask_{port}", seed, at(n) + width, (f"{port}_av", f"{port}_ar", f"{port}_ad"),
            (f"{port}_valid", f"{port}_ready", f"{{{port}_who, {port}_ask}}"),
        ),
        valve(
            f"answer_{port}", seed + 1, at(n) + back, (f"{port}_done", f"{port}_take", f"{{{port}_for, {port}_reply}}"),
            (f"{port}_bv", f"{port}_br", f"{port}_bd"),
        ),
    ]  # fmt: skip
    number_of = f"{port}_bd[{member_high + reply}:{member.who + reply}]"
    for k in range(n):
        lines += [
            f"  assign {port}_done{k} = {port}_bv & ({number_of} == {at(n)}'d{k});",
            f"  assign {port}_for{k} = {port}_bd[{member.who + reply - 1}:{reply}];",
            f"  assign {port}_reply{k} = {port}_bd[{reply - 1}:0];",
        ]
    takes = " | ".join(f"({port}_done{k} & {port}_take{k})" for k in range(n))
    return [*lines, f"  assign {port}_br = {takes};"]
