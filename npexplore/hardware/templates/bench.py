"""A test bench for a group or a processor: it sends packets by lanes, collects verdicts, answers calls and stalls.

    +stalls=S    stall each valve independently in S of 16 cycles on average (0: never)
    +packets=N   number of packets; +pool=D: packet n is line n mod D of packets.hex (0 or none: D = N)
    +rate=R      the largest number of packets offered in 1,000,000 cycles (0 or none: unlimited)
    +quiet=1     leave out the registers of verdicts

The bench writes `tag registers left entered` (cycles of exit and entry) to results.txt for each packet, in order of
exit, then `cycles N`, counted from the first packet's entry to the last one's exit. Packet n enters lane n mod L; with
reorder queues, packets are taken from the lanes in the same order. Units compare prefixes, the longest first, instead
of walking a trie; a kind with its own module answers by that module. With a call log, asked.txt has a line `unit call`
for each call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from npexplore.hardware.bench import MOST_PACKETS, Routes
from npexplore.hardware.templates.group import at, valve
from npexplore.hardware.templates.streams import STALLING_VALVE
from npexplore.hardware.verilog import Packed

DEPTH = 64  # calls that may wait in a unit
PATIENCE = 3000  # cycles without entry or exit of a packet, after which remaining packets count as lost


@dataclass(frozen=True)
class Kind:
    """The bench's model of an accelerator. delay: cycles from call to answer; reads: memory reads per call.

    routes: None for an accelerator that only counts. module: the text of a module `answers_NAME` from a stream of
    (who, ask) to a stream of (who, reply), with parameters WHO and DELAY; empty if routes give the answer.
    """

    name: str
    delay: int
    reads: int
    address_bits: int
    reply: Packed
    routes: Routes | None = None
    module: str = ""


@dataclass(frozen=True)
class Unit:
    """A unit that answers one port. who, ask, reply: bits of caller, call (with the kind, if several) and answer."""

    port: str
    who: int
    ask: int
    reply: int
    kinds: tuple[Kind, ...]


@dataclass(frozen=True)
class Beside:
    """Additions to a bench: text of modules, lines that instantiate them, and connections to the top module's ports."""

    text: str = ""
    wires: tuple[str, ...] = ()
    links: tuple[str, ...] = ()


LINE = f"""module line #(parameter DELAY = 12, parameter WIDTH = 1) (
  input clk, input rst, input in_valid, output in_ready, input [WIDTH-1:0] in_data,
  output out_valid, input out_ready, output [WIDTH-1:0] out_data
);
  reg [WIDTH-1:0] asked [0:{DEPTH - 1}];
  reg [31:0] due [0:{DEPTH - 1}];
  reg [31:0] now;
  reg [{at(DEPTH) - 1}:0] head, tail;
  reg [{at(DEPTH)}:0] held;
  assign in_ready = held != {DEPTH};
  assign out_valid = (held != 0) & (now >= due[head]);
  assign out_data = asked[head];
  always @(posedge clk)
    if (rst) begin
      now <= 0; head <= 0; tail <= 0; held <= 0;
    end else begin
      now <= now + 32'd1;
      if (in_valid & in_ready) begin
        asked[tail] <= in_data; due[tail] <= now + DELAY; tail <= tail + 1'b1;
      end
      if (out_valid & out_ready) head <= head + 1'b1;
      held <= held + (in_valid & in_ready) - (out_valid & out_ready);
    end
endmodule
"""


def answer_text(kind: Kind, bits: int) -> str:
    """Return the module that answers a call with the next hop of the longest matching prefix, or with none."""
    head = f"module answer_{kind.name} (input [{kind.address_bits - 1}:0] address, output"
    if kind.routes is None:
        return f"{head} [{bits - 1}:0] answer);\n  assign answer = {bits}'d0;\nendmodule\n"
    rows = []
    for value, length, hop in kind.routes:
        low = kind.address_bits - length
        test = f"address[{kind.address_bits - 1}:{low}] == {length}'h{value >> low:x}" if length else "1'b1"
        rows.append(f"    if (!hit && {test}) begin hit = 1'b1; hop = 32'd{hop}; end")
    lines = [
        f"{head} reg [{bits - 1}:0] answer);", "  reg hit;", "  reg [31:0] hop;", "  always @* begin",
        "    hit = 1'b0; hop = 32'd0; answer = 0;", *rows,
    ]  # fmt: skip
    for name, field in ((".kind", "hit"), (".is1", "hop")):
        low, size = kind.reply.at[name]
        lines.append(f"    answer[{low + size - 1}:{low}] = {field}{f'[{size - 1}:0]' if field == 'hop' else ''};")
    return "\n".join([*lines, "  end", "endmodule", ""])


def unit_text(unit: Unit, name: str, reads_a_cycle: int) -> str:
    """Return a unit that accepts a call per cycle, or fewer if its memory has fewer reads a cycle (0: unlimited)."""
    kinds, width = unit.kinds, unit.who + unit.ask
    digits = at(len(kinds)) if len(kinds) > 1 else 0
    costs = " : ".join(f"(kind == {j}) ? 16'd{kind.reads}" for j, kind in enumerate(kinds))
    lines = [
        f"module {name} (",
        f"  input clk, input rst, input valid, output ready, input [{unit.who - 1}:0] who, "
        f"input [{unit.ask - 1}:0] ask,",
        f"  output done, input take, output [{unit.who - 1}:0] for_whom, output [{unit.reply - 1}:0] reply\n);",
        f"  wire [{max(1, digits) - 1}:0] kind = "
        f"{f'ask[{unit.ask - 1}:{unit.ask - digits}]' if digits else chr(49) + chr(39) + 'd0'};",
        f"  wire [{len(kinds) - 1}:0] room, there;", "  reg [15:0] debt;", f"  wire [15:0] cost = {costs} : 16'd0;",
    ]  # fmt: skip
    first = "1'b0"
    whom, answers = f"{unit.who}'d0", f"{unit.reply}'d0"
    for j, kind in enumerate(kinds):
        taken = (
            f".clk(clk), .rst(rst), .in_valid(valid & ready & (kind == {j})), .in_ready(room[{j}]), "
            f".in_data({{who, ask}}), .out_valid(there[{j}]), .out_ready(take & ~({first}))"
        )
        first = f"{first} | there[{j}]"
        if kind.module:
            lines += [
                f"  wire [{unit.who + unit.reply - 1}:0] data{j};",
                f"  answers_{kind.name} #(.WHO({unit.who}), .DELAY({kind.delay})) line{j} "
                f"({taken}, .out_data(data{j}));",
            ]
            continue
        lines += [
            f"  wire [{width - 1}:0] data{j};", f"  wire [{unit.reply - 1}:0] answer{j};",
            f"  line #(.DELAY({kind.delay}), .WIDTH({width})) line{j} ({taken}, .out_data(data{j}));",
            f"  answer_{kind.name} answers{j} (.address(data{j}[{kind.address_bits - 1}:0]), .answer(answer{j}));",
        ]  # fmt: skip
    for j, kind in reversed(list(enumerate(kinds))):
        low = unit.reply if kind.module else unit.ask
        whom = f"there[{j}] ? data{j}[{unit.who + low - 1}:{low}] : {whom}"
        answers = f"there[{j}] ? {f'data{j}[{unit.reply - 1}:0]' if kind.module else f'answer{j}'} : {answers}"
    spend = f"debt + (valid & ready ? cost : 16'd0) > 16'd{reads_a_cycle}"
    return "\n".join([
        *lines, "  assign done = |there;", f"  assign for_whom = {whom};", f"  assign reply = {answers};",
        f"  assign ready = room[kind] & {f'(debt < 16{chr(39)}d{reads_a_cycle})' if reads_a_cycle else '(debt == 0)'};",
        "  always @(posedge clk)", "    if (rst) debt <= 0;",
        *([f"    else debt <= ({spend}) ? debt + (valid & ready ? cost : 16'd0) - 16'd{reads_a_cycle} : 16'd0;"]
          if reads_a_cycle else []),
        "endmodule", "",
    ])  # fmt: skip


def units_around(
    units: Sequence[Unit], reads_a_cycle: int, call_log: bool, beside: Beside | None = None
) -> tuple[list[str], list[str], list[str]]:
    """Return a bench's modules, the lines that instantiate valves and units, and connections to the top's ports.

    call_log: calls are written to a file. Units with the same widths and kinds share a module.
    """
    module_by_signature: dict[tuple[object, ...], str] = {}
    extras = beside or Beside()
    texts, wires, links = list[str](), [*extras.wires], [".clk(clk)", ".rst(rst)", *extras.links]
    answers_by_kind = dict[str, str]()
    for k, unit in enumerate(units):
        signature = unit.who, unit.ask, unit.reply, tuple(kind.name for kind in unit.kinds)
        if signature not in module_by_signature:
            module_by_signature[signature] = f"unit{len(module_by_signature)}"
            texts.append(unit_text(unit, module_by_signature[signature], reads_a_cycle))
        new_kinds = [kind for kind in unit.kinds if kind.name not in answers_by_kind]
        answers_by_kind |= {kind.name: kind.module or answer_text(kind, unit.reply) for kind in new_kinds}
        p = unit.port
        wires += [
            f"  wire {p}_valid, {p}_ready, {p}_done, {p}_take;", f"  wire [{unit.who - 1}:0] {p}_who, {p}_for;",
            f"  wire [{unit.ask - 1}:0] {p}_ask;", f"  wire [{unit.reply - 1}:0] {p}_reply;",
            f"  wire {p}_v, {p}_r, {p}_d, {p}_t;", f"  wire [{unit.who + unit.ask - 1}:0] {p}_a;",
            f"  wire [{unit.who + unit.reply - 1}:0] {p}_b;",
            valve(
                f"before_{p}", 300_000 + 2 * k, unit.who + unit.ask,
                (f"{p}_valid", f"{p}_ready", f"{{{p}_who, {p}_ask}}"), (f"{p}_v", f"{p}_r", f"{p}_a"),
            ),
            f"  {module_by_signature[signature]} the_{p} (.clk(clk), .rst(rst), .valid({p}_v), .ready({p}_r), "
            f".who({p}_a[{unit.who + unit.ask - 1}:{unit.ask}]), .ask({p}_a[{unit.ask - 1}:0]), .done({p}_d), "
            f".take({p}_t), .for_whom({p}_b[{unit.who + unit.reply - 1}:{unit.reply}]), "
            f".reply({p}_b[{unit.reply - 1}:0]));",
            valve(
                f"behind_{p}", 300_001 + 2 * k, unit.who + unit.reply, (f"{p}_d", f"{p}_t", f"{p}_b"),
                (f"{p}_done", f"{p}_take", f"{{{p}_for, {p}_reply}}"),
            ),
        ]  # fmt: skip
        if call_log:
            wires.append(
                f'  always @(posedge clk) if (!rst & {p}_v & {p}_r) $fdisplay(asked, "%0d %h", {k}, '
                f"{p}_a[{unit.ask - 1}:0]);"
            )
        links += [f".{p}_{end}({p}_{end})" for end in ("valid", "ready", "who", "ask", "done", "take", "for", "reply")]
    time_unit = "ps" if any(kind.module for unit in units for kind in unit.kinds) else "ns"  # modules have own clocks
    log_lines = ["  integer asked;", '  initial asked = $fopen("asked.txt", "w");'] if call_log else []
    texts = [
        f"`timescale 1ns/1{time_unit}", STALLING_VALVE, LINE, *answers_by_kind.values(), *texts,
        *([extras.text] if beside else []),
    ]  # fmt: skip
    return texts, [*log_lines, *wires], links


def bench_text(
    top: str, lanes: Sequence[str], widths: tuple[int, int, int], units: Sequence[Unit], in_order: bool,
    reads_a_cycle: int = 0, call_log: bool = False, beside: Beside | None = None,
) -> str:  # fmt: skip
    """Return the bench with its valves and units. call_log: calls are written to a file.

    top: the name of the top module, followed by its parameters if any. lanes: for each lane, the suffix of `in` and
    `out` in port names. widths: bits of a tag, of a packet that enters, and of one that leaves.
    """
    n, (tag, begins, results) = len(lanes), widths
    texts, wires, links = units_around(units, reads_a_cycle, call_log, beside)
    for k, lane in enumerate(lanes):
        wires += [
            f"  wire iv{k}, ir{k}, ov{k}, or{k};", f"  wire [{tag + begins - 1}:0] id{k};",
            f"  wire [{tag + results - 1}:0] od{k};", f"  wire [31:0] number{k} = sent[{k}] * {n} + {k};",
            f"  wire [31:0] row{k} = number{k} % pool;",
            valve(
                f"way_in{k}", 400_000 + k, tag + begins,
                (f"offer[{k}]", f"taken[{k}]", f"{{number{k}[{tag - 1}:0], packets[row{k}]}}"),
                (f"iv{k}", f"ir{k}", f"id{k}"),
            ),
            valve(
                f"way_out{k}", 500_000 + k, tag + results, (f"ov{k}", f"or{k}", f"od{k}"),
                (f"there[{k}]", f"take[{k}]", f"left_data[{(k + 1) * (tag + results) - 1}:{k * (tag + results)}]"),
            ),
            f"  assign offer[{k}] = ~rst & (number{k} < count) & (number{k} < allowed);",
        ]  # fmt: skip
        links += [
            f".in{lane}_valid(iv{k})", f".in{lane}_ready(ir{k})", f".in{lane}_tag(id{k}[{tag + begins - 1}:{begins}])",
            f".in{lane}_packet(id{k}[{begins - 1}:0])", f".out{lane}_valid(ov{k})", f".out{lane}_ready(or{k})",
            f".out{lane}_tag(od{k}[{tag + results - 1}:{results}])", f".out{lane}_packet(od{k}[{results - 1}:0])",
        ]  # fmt: skip
    return "\n".join([*texts, *_sink(top, n, widths, wires, links, in_order)])


def _sink(
    top: str, n: int, widths: tuple[int, int, int], wires: Sequence[str], links: Sequence[str], in_order: bool
) -> list[str]:
    """Return the module `bench`: clock, source, sink and output files."""
    tag, begins, results = widths
    whole = tag + results
    place = f"left_data[l*{whole} + {results} +: {tag}]"
    settings: Mapping[str, str] = {"packets": "count", "pool": "pool", "rate": "rate", "quiet": "quiet"}
    return [
        "module bench;", "  reg clk = 1'b0;", "  reg rst = 1'b1;", "  always #5 clk = ~clk;",
        f"  reg [{begins - 1}:0] packets [0:{MOST_PACKETS - 1}];", "  integer count, pool, rate, quiet, file, l, k, s;",
        f"  reg [31:0] sent [0:{n - 1}];", f"  reg [31:0] entered [0:{(1 << tag) - 1}];",
        "  reg [31:0] left, cycles, idle, turn, next_turn, clocks;", "  reg [63:0] budget;",
        "  wire [31:0] allowed = rate == 0 ? count : budget / 1000000;",
        f"  wire [{n - 1}:0] offer, taken, there;", f"  reg [{n - 1}:0] take;",
        f"  wire [{n * whole - 1}:0] left_data;",
        "  reg go, begun;", *wires, f"  {top} the_top ({', '.join(links)});", "  initial begin",
        "    count = 0; pool = 0; rate = 0; quiet = 0;",
        *(f'    if (!$value$plusargs("{name}=%d", {into})) {into} = 0;' for name, into in settings.items()),
        "    if (pool == 0) pool = count;", '    $readmemh("packets.hex", packets, 0, pool - 1);',
        '    file = $fopen("results.txt", "w");',
        f"    for (s = 0; s < {n}; s = s + 1) sent[s] = 0;",
        "    left = 0; cycles = 0; idle = 0; turn = 0; clocks = 0; budget = 0; begun = 1'b0; take = 0;", "  end",
        "  always @* begin", "    go = 1'b1; take = 0; next_turn = turn;", f"    for (k = 0; k < {n}; k = k + 1) begin",
        f"      l = (turn + k) % {n};", "      take[l] = go;",
        *(["      if (there[l] & go) next_turn = (l + 1) % " + str(n) + ";", "      go = go & there[l];"]
          if in_order else []),
        "    end", "  end", "  integer j, o;", "  reg [31:0] now_left;",
        "  always @(posedge clk) begin", "    clocks <= clocks + 32'd1;", "    rst <= clocks < 32'd4;",
        "    if (!rst) begin", "      turn <= next_turn;", "      budget <= budget + rate;",
        "      if (begun || offer != 0) begin begun <= 1'b1; cycles <= cycles + 32'd1; end",
        f"      for (j = 0; j < {n}; j = j + 1)",
        "        if (offer[j] & taken[j]) begin",
        f"          entered[(sent[j] * {n} + j) & {(1 << tag) - 1}] <= cycles;",
        "          sent[j] <= sent[j] + 32'd1;",
        "        end", "      now_left = left;", f"      for (j = 0; j < {n}; j = j + 1) begin",
        f"        o = (turn + j) % {n};", "        if (there[o] & take[o]) begin", "          now_left = now_left + 1;",
        "          if (quiet != 0)",
        f'            $fdisplay(file, "%h 0 %0d %0d", {place.replace("l*", "o*")}, cycles, '
        f'entered[{place.replace("l*", "o*")}]);',
        f'          else $fdisplay(file, "%h %h %0d %0d", {place.replace("l*", "o*")}, '
        f'left_data[o*{whole} +: {results}], cycles, entered[{place.replace("l*", "o*")}]);',
        "        end", "      end", "      left <= now_left;",
        "      if (now_left != left) idle <= 32'd0;",  # an unknown `ready` counts as 0; ?: would merge both results
        "      else if ((offer & taken) != 0) idle <= 32'd0;", "      else idle <= idle + 32'd1;",
        f"      if (now_left == count || idle > 32'd{PATIENCE}) begin",
        '        $fdisplay(file, "cycles %0d", cycles);',
        "        $fclose(file);", "        $finish;", "      end", "    end", "  end", "endmodule", "",
    ]  # fmt: skip
