"""Accelerators between a module's ports and its surroundings, as Verilog: label tables, checksums, flow counters.

    labelled   a cluster with its label table: the table's port is internal, a port for its misses leaves the module
    summed     an engine, pipeline or cluster with integrity units: checksums behind internal ports
    counted    all lanes with flow counters: counting calls are answered inside, other calls of a port go out; a fair
               arbiter merges the answers. Each counting port has its own counters in its own memory; a flow's count is
               the sum over them

A port that only counts is internal; the top bits of a channel's call are the kind of accelerator. Streams are
ready/valid, with valves before and after each accelerator (Gorilla, Secs. 4.2, 4.3).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from npexplore.errors import ModelError
from npexplore.golden.flow_counters import COUNTER_BITS
from npexplore.hardware.templates.group import Face, at, valve

LABELLED, COUNTED, SUMMED = "labelled", "counted", "summed"
ENDS = ("valid", "ready", "who", "ask", "done", "take", "for", "reply")
PLACE, MORE = 2, 1  # bits: number of a flow's counter; increment of the second and third counter, which is 0
WORD = 16  # bytes that an integrity unit takes per cycle
PINS = ("read", "read_at", "read_data", "write", "write_at", "write_data")


def labelled_face(inner: Face, port: str, out: str) -> Face:
    """Return the interface of a cluster whose label table answers `port`; out: the port of the table's misses."""
    ports = {out if name == port else name: bits for name, bits in inner.ports.items()}
    return Face(LABELLED, inner.tag, inner.begins, inner.results, inner.who, ports)


def labelled_text(inner: Face, port: str, out: str, sets: int, bins: int, seed: int) -> str:
    """Return the module of `labelled_face`; it uses `label_table`.

    Raises ModelError for sets or bins that are not powers of two, at least 2.
    """
    for name, count in (("sets", sets), ("bins", bins)):
        if count & (count - 1) or count < 2:
            raise ModelError(f"{name} of a label table in hardware must be a power of two from 2 on, got {count}")
    face, (ask, reply) = labelled_face(inner, port, out), inner.ports[port]
    who = inner.who
    links = [f".{name}_{end}({port_end(name, end, port)})" for name in inner.ports for end in ENDS]
    lines = [
        face.head(),
        f"  wire l_valid, l_ready, l_done, l_take;\n  wire [{who - 1}:0] l_who, l_for;",
        f"  wire [{ask - 1}:0] l_ask;\n  wire [{reply - 1}:0] l_reply;",
        "  wire a_valid, a_ready, b_valid, b_ready;",
        f"  wire [{who + ask - 1}:0] a_data;\n  wire [{who + reply - 1}:0] b_data;",
        f"  {inner.name} {inner.parameters}inner ({', '.join([*_linked(), *links])});",
        valve("ask_table", seed, who + ask, ("l_valid", "l_ready", "{l_who, l_ask}"), ("a_valid", "a_ready", "a_data")),
        f"  label_table #(.AT({at(sets)}), .BIN({at(bins)}), .NUMBER({reply - 1}), .WHO({who})) table_of_labels "
        "(.clk(clk), .rst(rst), .in_valid(a_valid), .in_ready(a_ready), .in_data(a_data), .out_valid(b_valid), "
        f".out_ready(b_ready), .out_data(b_data), .ask_valid({out}_valid), .ask_ready({out}_ready), "
        f".ask_data({out}_ask), .answer_valid({out}_done), .answer_ready({out}_take), .answer_data({out}_reply));",
        f"  assign {out}_who = {who}'d0;",
        valve(
            "answer_table", seed + 1, who + reply, ("b_valid", "b_ready", "b_data"),
            ("l_done", "l_take", "{l_for, l_reply}"),
        ),
    ]  # fmt: skip
    return "\n".join([*lines, "endmodule", ""])


def summed_face(inner: Face, ports: Collection[str]) -> Face:
    """Return the interface of a module whose ports of these names are answered inside."""
    open_ports = {name: bits for name, bits in inner.ports.items() if name not in ports}
    return Face(SUMMED, inner.tag, inner.begins, inner.results, inner.who, open_ports)


def summed_text(inner: Face, ports: Mapping[str, Sequence[int]], seed: int) -> str:
    """Return the module of `summed_face`; it uses `sums` and `integrity`. ports: name -> bits of a call's bytes."""
    face, who = summed_face(inner, ports), inner.who
    lines, links = [face.head()], _linked()
    for number, (name, (ask, reply)) in enumerate(inner.ports.items()):
        if name not in ports:
            links += [f".{name}_{end}({name}_{end})" for end in ENDS]
            continue
        widths, low, parts, p = ports[name], 0, list[str](), f"s{number}"
        for bits in widths:
            parts.insert(0, f"{f'{8 - bits}{chr(39)}d0, ' if bits < 8 else ''}{p}_ask[{low + bits - 1}:{low}]")
            low += bits
        width, words = who + 8 * len(widths), -(-len(widths) // WORD)
        links += [f".{name}_{end}({p}_{end})" for end in ENDS]
        lines += [
            f"  wire {p}_valid, {p}_ready, {p}_done, {p}_take, {p}_av, {p}_ar, {p}_bv, {p}_br;",
            f"  wire [{who - 1}:0] {p}_who, {p}_for;\n  wire [{ask - 1}:0] {p}_ask;\n  wire [{reply - 1}:0] {p}_reply;",
            f"  wire [{width - 1}:0] {p}_ad;\n  wire [{who + reply - 1}:0] {p}_bd;",
            valve(
                f"ask_{p}", seed + 2 * number, width, (f"{p}_valid", f"{p}_ready", f"{{{p}_who, {', '.join(parts)}}}"),
                (f"{p}_av", f"{p}_ar", f"{p}_ad"),
            ),
            f"  sums #(.BYTES({len(widths)}), .WORDS({words}), .AT({at(words)}), .WHO({who})) of_{name} (.clk(clk), "
            f".rst(rst), .in_valid({p}_av), .in_ready({p}_ar), .in_data({p}_ad), .out_valid({p}_bv), "
            f".out_ready({p}_br), .out_data({p}_bd));",
            valve(
                f"answer_{p}", seed + 2 * number + 1, who + reply, (f"{p}_bv", f"{p}_br", f"{p}_bd"),
                (f"{p}_done", f"{p}_take", f"{{{p}_for, {p}_reply}}"),
            ),
        ]  # fmt: skip
    lines.append(f"  {inner.name} {inner.parameters}inner ({', '.join(links)});")
    return "\n".join([*lines, "endmodule", ""])


def port_end(name: str, end: str, inside: str) -> str:
    """Return the wire of a port's signal; inside: the name of the internal port."""
    return f"l_{end}" if name == inside else f"{name}_{end}"


@dataclass(frozen=True)
class Lanes:
    """The module inside `counted`: its name, the suffix of `in` and `out` for each lane, bits of its streams.

    ports: by name, bits of caller, call and answer.
    """

    name: str
    lanes: Sequence[str]
    tag: int
    begins: int
    results: int
    ports: Mapping[str, tuple[int, int, int]]
    parameters: str = ""

    def heads(self) -> list[str]:
        """Return the port declarations of the lanes' streams."""
        lines = list[str]()
        for k in self.lanes:
            lines += [
                f"  input in{k}_valid", f"  output in{k}_ready", f"  input [{self.tag - 1}:0] in{k}_tag",
                f"  input [{self.begins - 1}:0] in{k}_packet", f"  output out{k}_valid", f"  input out{k}_ready",
                f"  output [{self.tag - 1}:0] out{k}_tag", f"  output [{self.results - 1}:0] out{k}_packet",
            ]  # fmt: skip
        return lines


@dataclass(frozen=True)
class Counting:
    """Flow counters behind ports, and how counting calls are recognised.

    parts: for each part of a flow's number, the highest first, (lowest bit in the call, bits in the call, bits in the
    number). kind: (number, bits) of the counters' kind on top of a call; None if the ports only count. delay: cycles
    from a read to its data.
    """

    ports: Sequence[str]
    parts: Sequence[tuple[int, int, int]]
    delay: int
    kind: tuple[int, int] | None = None

    @property
    def flow(self) -> int:
        """The bits of a flow's number."""
        return sum(bits for _, _, bits in self.parts)

    def number(self, call: str) -> str:
        """Return the Verilog expression of the flow's number in a call."""
        parts = [
            f"{f'{bits - call_bits}{chr(39)}d0, ' if bits > call_bits else ''}{call}[{low + call_bits - 1}:{low}]"
            for low, call_bits, bits in self.parts
        ]
        return f"{{{', '.join(parts)}}}"

    def pins(self, port: str) -> dict[str, tuple[str, int]]:
        """Return the pins of a port's memory: name -> (direction, bits)."""
        place = self.flow + PLACE
        directions = ("output", "output", "input", "output", "output", "output")
        widths = (1, place, COUNTER_BITS, 1, place, COUNTER_BITS)
        return {
            f"{port}_{pin}": (direction, bits) for pin, direction, bits in zip(PINS, directions, widths, strict=True)
        }


def other_heads(inner: Lanes, counting: Counting | None) -> list[str]:
    """Return the declarations of the lanes' ports other than streams; with counters, their pins are included."""
    heads = list[str]()
    for port, bits in inner.ports.items():
        counters = counting if counting is not None and port in counting.ports else None
        if counters is None or counters.kind is not None:
            heads += port_heads(port, *bits)
        if counters is not None:
            heads += [f"  {direction} [{width - 1}:0] {pin}" for pin, (direction, width) in counters.pins(port).items()]
    return heads


def counted_text(inner: Lanes, counting: Counting, seed: int) -> str:
    """Return the module `counted`, which encloses the lanes; it uses `counters`, the queue and the arbiter."""
    heads = ["  input clk", "  input rst", *inner.heads(), *other_heads(inner, counting)]
    lines, links = list[str](), [".clk(clk)", ".rst(rst)"]
    for k in inner.lanes:
        links += [f".{direction}{k}_{end}({direction}{k}_{end})" for direction in ("in", "out") for end in STREAM]
    for number, (port, bits) in enumerate(inner.ports.items()):
        if port in counting.ports:
            lines += _counters(port, bits, counting, seed + 4 * number)
            links += [f".{port}_{end}(i_{port}_{end})" for end in ENDS]
        else:
            links += [f".{port}_{end}({port}_{end})" for end in ENDS]
    lines.append(f"  {inner.name} {inner.parameters}inner ({', '.join(links)});")
    return "\n".join([f"module {COUNTED} (\n" + ",\n".join(heads) + "\n);", *lines, "endmodule", ""])


STREAM = ("valid", "ready", "tag", "packet")


def port_heads(port: str, who: int, ask: int, reply: int) -> list[str]:
    """Return the declarations of a port in the calling module."""
    return [
        f"  output {port}_valid", f"  input {port}_ready", f"  output [{who - 1}:0] {port}_who",
        f"  output [{ask - 1}:0] {port}_ask", f"  input {port}_done", f"  output {port}_take",
        f"  input [{who - 1}:0] {port}_for", f"  input [{reply - 1}:0] {port}_reply",
    ]  # fmt: skip


def _counters(port: str, bits: tuple[int, int, int], counting: Counting, seed: int) -> list[str]:
    """Return the lines for one port's counters, and for separating their calls from others."""
    who, ask, reply = bits
    p, flow, answer_bits = f"i_{port}", counting.flow, who + reply
    pins = ", ".join(f".{pin}({port}_{pin})" for pin in PINS)
    width = who + 2 * MORE + flow
    here = f"{p}_here"
    lines = [
        f"  wire {p}_valid, {p}_ready, {p}_done, {p}_take, {p}_here;", f"  wire [{who - 1}:0] {p}_who, {p}_for;",
        f"  wire [{ask - 1}:0] {p}_ask;", f"  wire [{reply - 1}:0] {p}_reply;",
        f"  wire {p}_av, {p}_ar, {p}_bv, {p}_br, {p}_cv, {p}_cr, {p}_dv, {p}_dr;",
        f"  wire [{width - 1}:0] {p}_ad, {p}_bd;", f"  wire [{who - 1}:0] {p}_cd, {p}_dd;",
        f"  assign {p}_av = {p}_valid & {here};",
        f"  assign {p}_ad = {{{p}_who, {2 * MORE}'d0, {counting.number(f'{p}_ask')}}};",
        valve(f"ask_{port}", seed, width, (f"{p}_av", f"{p}_ar", f"{p}_ad"), (f"{p}_bv", f"{p}_br", f"{p}_bd")),
        f"  counters #(.FLOW({flow}), .MORE({MORE}), .WHO({who}), .DELAY({counting.delay})) of_{port} (.clk(clk), "
        f".rst(rst), .in_valid({p}_bv), .in_ready({p}_br), .in_data({p}_bd), .out_valid({p}_cv), .out_ready({p}_cr), "
        f".out_data({p}_cd), {pins});",
        valve(f"answer_{port}", seed + 1, who, (f"{p}_cv", f"{p}_cr", f"{p}_cd"), (f"{p}_dv", f"{p}_dr", f"{p}_dd")),
    ]  # fmt: skip
    if counting.kind is None:
        return [
            *lines, f"  assign {here} = 1'b1;", f"  assign {p}_ready = {p}_ar;", f"  assign {p}_done = {p}_dv;",
            f"  assign {p}_dr = {p}_take;", f"  assign {p}_for = {p}_dd;", f"  assign {p}_reply = {reply}'d0;",
        ]  # fmt: skip
    number, digits = counting.kind
    return [
        *lines,
        f"  assign {here} = {p}_ask[{ask - 1}:{ask - digits}] == {digits}'d{number};",
        f"  assign {port}_valid = {p}_valid & ~{here};", f"  assign {p}_ready = {here} ? {p}_ar : {port}_ready;",
        f"  assign {port}_who = {p}_who;", f"  assign {port}_ask = {p}_ask;",
        f"  wire {p}_unused;",
        f"  arbiter #(.N(2), .AT(1), .WIDTH({answer_bits}), .FAIR(1)) answers_{port} (.clk(clk), .rst(rst), "
        f".in_valid({{{p}_dv, {port}_done}}), .in_ready({{{p}_dr, {port}_take}}), "
        f".in_data({{{p}_dd, {reply}'d0, {port}_for, {port}_reply}}), .out_valid({p}_done), .out_ready({p}_take), "
        f".out_data({{{p}_unused, {p}_for, {p}_reply}}));",
    ]  # fmt: skip


def _linked() -> list[str]:
    """Return the connections of a module's clock, reset and streams to wires of the same names."""
    ports = [".clk(clk)", ".rst(rst)"]
    return [*ports, *(f".{direction}_{end}({direction}_{end})" for direction in ("in", "out") for end in STREAM)]


def counter_chip_text(flow: int, delay: int) -> str:
    """Return `counter_chip`, a test bench's model of a memory of counters.

    `first_word` gives the initial words; each write is logged in counters_K.txt as address and word.
    """
    place = flow + PLACE
    return f"""module counter_chip #(parameter K = 0) (
  input clk, input rst, input read, input [{place - 1}:0] read_at, output [{COUNTER_BITS - 1}:0] read_data,
  input write, input [{place - 1}:0] write_at, input [{COUNTER_BITS - 1}:0] write_data
);
  reg [{COUNTER_BITS - 1}:0] words [0:{(1 << place) - 1}];
  reg [{COUNTER_BITS - 1}:0] found [0:{delay - 1}];
  reg [8*24:1] name;
  integer file, d;
  initial begin
    $sformat(name, "counters_%0d.txt", K);
    file = $fopen(name, "w");
    for (d = 0; d < {1 << place}; d = d + 1) words[d] = {{d[7:0], d[31:0], ~d[31:0]}};
  end
  always @(posedge clk) begin
    found[0] <= read ? words[read_at] : {COUNTER_BITS}'dx;
    for (d = 1; d < {delay}; d = d + 1) found[d] <= found[d-1];
    if (write & ~rst) begin
      words[write_at] <= write_data;
      $fdisplay(file, "%h %h", write_at, write_data);
    end
  end
  assign read_data = found[{delay - 1}];
endmodule
"""


def first_word(place: int) -> int:
    """Return the initial word of `counter_chip` at a place."""
    return (place & 255) << 64 | place << 32 | ~place & 0xFFFF_FFFF
