"""The engine as Verilog: threads with their contexts, a scheduler, the three parts of a step (Gorilla, Secs. 3.3, 4.1).

A packet takes a free thread. In each cycle, one ready thread runs: it spends a cycle of the request builder on each
piece of its step (reading a word of the scratchpad; calls go out with the last piece), and, when all replies have
arrived, one cycle on context edit and jump. A thread that is about to call is not ready while any port is busy. Packets
leave as they finish. All streams are ready/valid: valid data stays until it is taken.

scheduler (Sec. 4.5.2)   the thread of a cycle
ready            the next ready thread, in every cycle
ready_on_stall   the same thread until it is not ready, then the next ready thread
round_robin      strict turns: the next thread with a packet, ready or not, after the current one has called or finished
packet_end       the same thread until its packet is finished

The registers of a thread are one word of a memory with one write port: a packet enters in a cycle without a context
edit, and may leave in any cycle. `stores` selects what memories are made of: LUTs (`lut_ram`) or flip-flops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from npexplore.errors import one_of
from npexplore.hardware.lowering import LoweredProgram
from npexplore.hardware.places import Places
from npexplore.hardware.verilog import Packed, Ports, step_module

STRICT = {"round_robin": "asks | ends", "packet_end": "ends"}  # scheduler -> condition for the next thread's turn
SCHEDULERS = ("ready", "ready_on_stall", *STRICT)
STORES = {"lut_ram": "distributed", "registers": "registers"}  # material of memories -> the synthesis tools' name


def store(stores: str) -> str:
    """Return the Verilog attribute of a memory by which tools implement it with LUTs or with flip-flops."""
    return f'(* ram_style = "{STORES[one_of("stores", stores, STORES)]}" *)'


def engine_text(
    program: LoweredProgram, pieces: Mapping[str, int], context: Places, ports: Ports, begins: Packed,
    results: Packed, scheduler: str = "ready", stores: str = "registers", apart: bool = False,
) -> str:  # fmt: skip
    """Return the Verilog of the engine and its steps.

    pieces: request cycles of each step; context: the places of registers; begins, results: registers of packets that
    enter and leave; apart: Verilator compiles identical engines only once.

    Raises UnknownNameError for a scheduler not in `SCHEDULERS` or a store not in `STORES`.
    """
    steps = [step_module(program, step, context, ports) for step in program.steps.values()]
    one_of("scheduler", scheduler, SCHEDULERS)
    text = _engine(program, pieces, context, ports, begins, results, scheduler, store(stores))
    return "\n".join([*steps, text.replace("\n);\n", "\n);\n  /*verilator hier_block*/\n", 1) if apart else text])


class _PortLines(NamedTuple):
    """Verilog lines for the accelerators' ports: declarations, wires, free ports, calls, answers, reset."""

    heads: list[str]
    wires: list[str]
    free: list[str]
    taken: list[str]
    answers: list[str]
    reset: list[str]


def _port_lines(ports: Ports, made_of: str) -> _PortLines:
    heads, wires, free, taken, answers, reset = [], [], [], [], [], []
    for k, (port, bits) in enumerate(ports.asks.items()):
        reply_bits = ports.replies[port].bits
        heads += [
            f"  output reg {port}_valid", f"  input {port}_ready", f"  output reg [WHO-1:0] {port}_who",
            f"  output reg [{bits - 1}:0] {port}_ask", f"  input {port}_done", f"  output {port}_take",
            f"  input [WHO-1:0] {port}_for",
            f"  input [{reply_bits - 1}:0] {port}_reply",
        ]  # fmt: skip
        wires += [f"  {made_of} reg [{reply_bits - 1}:0] reply_{port} [0:THREADS-1];", f"  reg when_{port};"]
        wires += [f"  reg [{bits - 1}:0] ask_{port};", f"  assign {port}_take = 1'b1;"]
        free.append(f"~{port}_valid")
        taken += [
            f"        if (when_{port}) begin", f"          {port}_valid <= 1'b1;", f"          {port}_who <= chosen;",
            f"          {port}_ask <= ask_{port};", f"          owed[chosen][{k}] <= 1'b1;", "        end",
        ]  # fmt: skip
        answers += [
            f"      if ({port}_valid && {port}_ready) {port}_valid <= 1'b0;", f"      if ({port}_done) begin",
            f"        reply_{port}[{port}_for] <= {port}_reply;", f"        owed[{port}_for][{k}] <= 1'b0;",
            "      end",
        ]  # fmt: skip
        reset.append(f"      {port}_valid <= 1'b0;")
    return _PortLines(heads, wires, free, taken, answers, reset)


def _step_lines(
    names: Sequence[str], pieces: Mapping[str, int], ports: Ports, wide: int, width: int, count: int
) -> tuple[list[str], list[str]]:
    """Return the wires and instances of the steps, and the `case` branches that select one."""
    wires, choose = [], []
    for k, name in enumerate(names):
        connections = [
            f".held(at[chosen] == {width}'d{k} ? now : {wide}'d0)",
            f".after(after_{name})",
            f".following(following_{name})",
        ]
        wires += [f"  wire [{wide - 1}:0] after_{name};", f"  wire [{width - 1}:0] following_{name};"]
        chosen = [f"        after = after_{name};", f"        following = following_{name};"]
        chosen.append(f"        pieces = {count}'d{pieces[name]};")
        for port in ports.of[name]:
            wires.append(f"  wire when_{port}_{name};")
            wires.append(f"  wire [{ports.asks[port] - 1}:0] ask_{port}_{name};")
            connections += [f".reply_{port}(reply_{port}[chosen])", f".when_{port}(when_{port}_{name})"]
            connections.append(f".ask_{port}(ask_{port}_{name})")
            chosen += [f"        when_{port} = when_{port}_{name};", f"        ask_{port} = ask_{port}_{name};"]
        wires.append(f"  step_{name} of_{name} ({', '.join(connections)});")
        choose += [f"      {width}'d{k}: begin", *chosen, "      end"]
    return wires, choose


def _turn_lines(scheduler: str, ports: Ports, steps: int, width: int, count: int) -> list[str]:
    """Return the lines that compute whose turn is next."""
    if scheduler not in STRICT:
        return ["  wire [WHO-1:0] next_turn = chosen;"]
    asks = " | ".join(f"when_{port}" for port in ports.asks) or "1'b0"
    return [
        f"  wire asks = ~editing & (done[chosen] + {count}'d1 == pieces) & ({asks});",
        f"  wire ends = editing & (following == {width}'d{steps});",
        "  wire [WHO-1:0] beside = (chosen == THREADS - 1) ? 0 : chosen + 1'b1;",
        f"  wire [WHO-1:0] next_turn = (found & ({STRICT[scheduler]})) ? beside : chosen;",
    ]


def _choice_lines(scheduler: str) -> list[str]:
    """Return the lines that choose the running thread of a cycle."""
    wanted = "busy[index] & ~over[index]" if scheduler in STRICT else "ready[index]"
    offset = "1 + " if scheduler == "ready" else ""
    return [
        "  always @* begin", "    chosen = turn; found = 1'b0;",
        "    for (k = THREADS - 1; k >= 0; k = k - 1) begin",
        f"      index = ({{{{(32-WHO){{1'b0}}}}, turn}} + {offset}k) % THREADS;",
        "      ready[index] = busy[index] & ~over[index] & (owed[index] == 0)",
        "        & (ports_free | ~asking(at[index], done[index]));",
        f"      if ({wanted}) begin chosen = index[WHO-1:0]; found = ready[index]; end", "    end", "  end",
    ]  # fmt: skip


def _clocked_lines(
    ports: _PortLines, out: Sequence[str], names: Sequence[str], start: str, width: int, count: int
) -> list[str]:
    """Return the clocked block: replies arrive, a thread advances, packets enter and leave."""
    return [
        "  always @(posedge clk) begin", "    if (rst) begin",
        "      busy <= 0; over <= 0; turn <= 0; out_valid <= 1'b0;",
        *ports.reset, "      for (k2 = 0; k2 < THREADS; k2 = k2 + 1) begin",
        "        owed[k2] <= 0; done[k2] <= 0; at[k2] <= 0;",
        "      end", "    end else begin", *ports.answers, "      turn <= next_turn;", "      if (found) begin",
        "        if (editing) begin",
        "          at[chosen] <= following;", f"          done[chosen] <= {count}'d0;",
        f"          if (following == {width}'d{len(names)}) over[chosen] <= 1'b1;", "        end else begin",
        f"          done[chosen] <= done[chosen] + {count}'d1;",
        f"          if (done[chosen] + {count}'d1 == pieces) begin", *(f"    {line}" for line in ports.taken),
        "          end",
        "        end", "      end", "      if (entering) begin", "        tag[free] <= in_tag;",
        f"        at[free] <= {width}'d{names.index(start)};",
        f"        done[free] <= {count}'d0;", "        busy[free] <= 1'b1;", "      end",
        "      if (out_valid && out_ready) out_valid <= 1'b0;",
        "      if (some_over && (~out_valid || out_ready)) begin",
        "        out_valid <= 1'b1;", "        out_tag <= tag[leaving];", *out, "        busy[leaving] <= 1'b0;",
        "        over[leaving] <= 1'b0;", "      end", "    end", "  end",
    ]  # fmt: skip


def _engine(
    program: LoweredProgram, pieces: Mapping[str, int], context: Places, ports: Ports, begins: Packed,
    results: Packed, scheduler: str, made_of: str,
) -> str:  # fmt: skip
    names, wide = list(program.steps), context.bits
    width, count = len(program.steps).bit_length(), max(1, max(pieces[name] for name in program.steps).bit_length())
    port_count = max(1, len(ports.asks))
    heads = [
        "  input clk", "  input rst", "  input in_valid", "  output in_ready", "  input [TAG-1:0] in_tag",
        f"  input [{begins.bits - 1}:0] in_packet", "  output reg out_valid", "  input out_ready",
        "  output reg [TAG-1:0] out_tag", f"  output reg [{results.bits - 1}:0] out_packet",
    ]  # fmt: skip
    port_lines = _port_lines(ports, made_of)
    heads += port_lines.heads
    free = " & ".join(port_lines.free) or "1'b1"
    wires, choose = _step_lines(names, pieces, ports, wide, width, count)
    defaults = [
        line for port in ports.asks for line in (f"    when_{port} = 1'b0;", f"    ask_{port} = {ports.asks[port]}'d0;")
    ]
    asking = " | ".join(
        f"((step == {width}'d{number}) & (piece == {count}'d{pieces[name] - 1}))"
        for number, name in enumerate(names) if ports.of[name]
    ) or "1'b0"  # fmt: skip
    turn = _turn_lines(scheduler, ports, len(names), width, count)
    leaving_lines = [
        f"        out_packet{results.slice(name)} <= {context.read(name, 'leaving_context')};" for name in results.at
    ]
    lines = [
        f"module engine #(parameter THREADS = 4, parameter WHO = 2, parameter TAG = 16) (\n{_joined(heads)}\n);",
        f"  {made_of} reg [{wide - 1}:0] contexts [0:THREADS-1];", f"  reg [{width - 1}:0] at [0:THREADS-1];",
        f"  reg [{count - 1}:0] done [0:THREADS-1];", f"  reg [{port_count - 1}:0] owed [0:THREADS-1];",
        "  reg [TAG-1:0] tag [0:THREADS-1];", "  reg [THREADS-1:0] busy, over, ready;",
        "  reg [WHO-1:0] chosen, turn, free, leaving;", "  reg found, some_free, some_over;",
        f"  reg [{wide - 1}:0] after;", f"  reg [{width - 1}:0] following;", f"  reg [{count - 1}:0] pieces;",
        f"  wire [{wide - 1}:0] now = contexts[chosen];", f"  wire [{wide - 1}:0] leaving_context = contexts[leaving];",
        *port_lines.wires, *wires, "  integer k, index, t;", f"  wire ports_free = {free};",
        "  wire editing = found & (done[chosen] == pieces);",
        f"  function asking;\n    input [{width - 1}:0] step;\n    input [{count - 1}:0] piece;",
        f"    asking = {asking};\n  endfunction",
        "  assign in_ready = some_free & ~editing;", "  wire entering = in_valid & in_ready;",
        "  wire [WHO-1:0] written = editing ? chosen : free;",
        f"  wire [{wide - 1}:0] entered;", *entered(context, begins), *turn, *_choice_lines(scheduler),
        "  always @* begin", "    free = 0; some_free = 1'b0; leaving = 0; some_over = 1'b0;",
        "    for (t = THREADS - 1; t >= 0; t = t - 1) begin",
        "      if (~busy[t]) begin free = t[WHO-1:0]; some_free = 1'b1; end",
        "      if (over[t]) begin leaving = t[WHO-1:0]; some_over = 1'b1; end", "    end", "  end",
        "  always @* begin", "    after = now;", f"    following = {width}'d{len(names)};", f"    pieces = {count}'d1;",
        *defaults, "    case (at[chosen])", *choose, "      default: ;", "    endcase", "  end",
        *_clocked_lines(port_lines, leaving_lines, names, program.start, width, count),
        "  always @(posedge clk) if (editing | entering) contexts[written] <= editing ? after : entered;",
        "  integer k2;", "endmodule",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def entered(context: Places, begins: Packed) -> list[str]:
    """Return the assignments of a new packet's context: its registers, and zeros; adjacent bits are one assignment."""
    lines = []
    brought = {place: bit for place, bit in context.enters.items() if bit[0] in begins.at}
    for low, count, bit in context.put(brought):
        first = begins.at[bit[0]][0] + bit[1] if bit is not None else 0
        value = f"{count}'d0" if bit is None else f"in_packet[{first + count - 1}:{first}]"
        lines.append(f"  assign entered[{low + count - 1}:{low}] = {value};")
    return lines


def _joined(heads: list[str]) -> str:
    return ",\n".join(heads)
