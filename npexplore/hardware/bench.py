"""The test bench of one engine, as Verilog: it sends packets, collects verdicts, answers lookups, stalls at random.

    +stalls=S    stall each handshake independently in S of 16 cycles on average (0: never)
    +packets=N   number of packets in packets.hex; each line holds the initial registers of a packet

The bench writes `tag registers` to results.txt in the order in which packets leave, then `cycles N`, counted from the
first packet's entry to the last one's exit. A unit that only counts writes its calls to PORT.txt. Lookup units compare
prefixes, the longest first, instead of walking a trie, so that they do not share errors with the trie. An answer stays
valid until the engine takes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from npexplore.hardware.verilog import Packed, Ports

Routes = Sequence[tuple[int, int, int]]  # value, length, next hop; the longest prefixes first
MOST_PACKETS = 1 << 16
ENDS = ("valid", "ready", "who", "ask", "done", "take", "for", "reply")  # the signals of a port
DEPTH = 16  # calls that may wait in a lookup unit


def unit_text(port: str, ask_bits: int, reply: Packed, routes: Routes | None, address_bits: int) -> str:
    """Return a unit that answers calls in order, `DELAY` cycles after each; routes: None for a unit that counts."""
    rows = []
    for value, length, hop in routes or ():
        low = address_bits - length
        test = f"address[{address_bits - 1}:{low}] == {length}'h{value >> low:x}" if length else "1'b1"
        rows.append(f"    if (!hit && {test}) begin hit = 1'b1; hop = 32'd{hop}; end")
    answer = [
        f"    {_set(reply, '.kind', 'hit')}", f"    {_set(reply, '.is1', 'hop')}"
    ] if routes is not None else ["    answer = 1'b0;"]  # fmt: skip
    address = f"  wire [{address_bits - 1}:0] address = asked[head][{address_bits - 1}:0];"
    declarations = ["  reg hit;", "  reg [31:0] hop;", address] if routes is not None else ["  integer told;"]
    opened = [] if routes is not None else [f'  initial told = $fopen("{port}.txt", "w");']
    log_lines = [] if routes is not None else ['        $fdisplay(told, "%h", ask);']
    body = ["    hit = 1'b0; hop = 32'd0;", *rows] if routes is not None else []
    lines = [
        f"module unit_{port} #(parameter WHO = 2, parameter DELAY = 12) (",
        f"  input clk, input rst, input stall_ask, input stall_reply, input valid, output ready, input [WHO-1:0] who,\n"
        f"  input [{ask_bits - 1}:0] ask, output done, input take, output [WHO-1:0] for_whom,",
        f"  output [{reply.bits - 1}:0] reply\n);",
        f"  reg [{ask_bits - 1}:0] asked [0:{DEPTH - 1}];", f"  reg [WHO-1:0] whose [0:{DEPTH - 1}];",
        f"  reg [31:0] due [0:{DEPTH - 1}];", "  reg [31:0] now;", "  reg [3:0] head, tail;", "  reg [4:0] held;",
        f"  reg [{reply.bits - 1}:0] answer;", "  reg offered;", *declarations,
        f"  assign ready = (held != 5'd{DEPTH}) & ~stall_ask;",
        "  assign done = (held != 5'd0) & (now >= due[head]) & (offered | ~stall_reply);",
        "  assign for_whom = whose[head];", "  assign reply = answer;", *opened, "  always @* begin", *body, *answer,
        "  end",
        "  always @(posedge clk) begin",
        "    if (rst) begin", "      now <= 0; head <= 0; tail <= 0; held <= 0; offered <= 1'b0;",
        "    end else begin", "      now <= now + 32'd1;", "      offered <= done & ~take;",
        "      if (valid && ready) begin",
        "        asked[tail] <= ask; whose[tail] <= who; due[tail] <= now + DELAY; tail <= tail + 4'd1;",
        *log_lines, "      end",
        "      if (done & take) head <= head + 4'd1;",
        "      held <= held + {4'd0, valid & ready} - {4'd0, done & take};", "    end", "  end", "endmodule",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _set(reply: Packed, name: str, value: str) -> str:
    low, bits = reply.at[name]
    return f"answer[{low + bits - 1}:{low}] = {value}{'' if value == 'hit' else f'[{bits - 1}:0]'};"


def bench_text(
    ports: Ports, begins: Packed, results: Packed, routes: Mapping[str, Routes | None], address_bits: Mapping[str, int],
    threads: int, delay: int,
) -> str:  # fmt: skip
    """Return the bench with a unit per port. routes, address_bits: by accelerator; delay: cycles of an answer."""
    who = max(1, (threads - 1).bit_length())
    units, wires, links = [], [], []
    for k, (port, bits) in enumerate(ports.asks.items()):
        name, reply = ports.accelerator[port], ports.replies[port]
        units.append(unit_text(port, bits, reply, routes[name], address_bits[name]))
        wires += [
            f"  wire {port}_valid, {port}_ready, {port}_done, {port}_take;",
            f"  wire [{who - 1}:0] {port}_who, {port}_for;",
            f"  wire [{bits - 1}:0] {port}_ask;", f"  wire [{reply.bits - 1}:0] {port}_reply;",
            f"  unit_{port} #(.WHO({who}), .DELAY({delay})) the_{port} (.clk(clk), .rst(rst), "
            f".stall_ask(stall[{2 + 2 * k}]), .stall_reply(stall[{3 + 2 * k}]), .valid({port}_valid), "
            f".ready({port}_ready), .who({port}_who), .ask({port}_ask), .done({port}_done), .take({port}_take), "
            f".for_whom({port}_for), .reply({port}_reply));",
        ]  # fmt: skip
        links += [f".{port}_{end}({port}_{end})" for end in ENDS]
    stalls = 2 + 2 * len(ports.asks)
    links = [
        ".clk(clk)", ".rst(rst)", ".in_valid(in_valid)", ".in_ready(in_ready)", ".in_tag(sent[15:0])",
        ".in_packet(in_packet)", ".out_valid(out_valid)", ".out_ready(out_ready)", ".out_tag(out_tag)",
        ".out_packet(out_packet)", *links,
    ]  # fmt: skip
    lines = [
        "`timescale 1ns/1ns", "module bench;", "  reg clk = 1'b0;", "  reg rst = 1'b1;", "  always #5 clk = ~clk;",
        f"  reg [{begins.bits - 1}:0] packets [0:{MOST_PACKETS - 1}];", "  integer stalls, count, file, s;",
        "  reg [31:0] sent, left, cycles, idle;", "  reg [63:0] dice;", f"  reg [{stalls - 1}:0] stall;",
        "  reg in_valid;", "  wire in_ready, out_valid;", "  wire [15:0] out_tag;",
        f"  wire [{begins.bits - 1}:0] in_packet = packets[sent[15:0]];", f"  wire [{results.bits - 1}:0] out_packet;",
        "  wire out_ready = ~stall[1];", *wires,
        f"  engine #(.THREADS({threads}), .WHO({who}), .TAG(16)) the_engine ({', '.join(links)});",
        "  initial begin", "    stalls = 0; count = 0;", '    if (!$value$plusargs("stalls=%d", stalls)) stalls = 0;',
        '    if (!$value$plusargs("packets=%d", count)) count = 0;',
        '    $readmemh("packets.hex", packets, 0, count - 1);',
        '    file = $fopen("results.txt", "w");', "    sent = 0; left = 0; cycles = 0; idle = 0;",
        "    in_valid = 1'b0; stall = 0; dice = 64'h9e3779b97f4a7c15;", "  end",
        "  always @(posedge clk) begin", "    rst <= cycles + idle < 32'd4 && sent == 0 && left == 0 && !in_valid;",
        "    if (rst) idle <= idle + 32'd1;", "    else begin",
        f"      for (s = 0; s < {stalls}; s = s + 1) stall[s] <= ({{28'd0, dice[4*s +: 4]}} < stalls);",
        "      dice <= {dice[62:0], dice[63] ^ dice[62] ^ dice[60] ^ dice[59]} ^ (dice << 7);",
        "      if (sent != 0) cycles <= cycles + 32'd1;", "      if (in_valid && in_ready) begin",
        "        sent <= sent + 32'd1;", "        in_valid <= (sent + 32'd1 < count) && !stall[0];",
        "      end else if (!in_valid) in_valid <= (sent < count) && !stall[0];",
        "      if (out_valid && out_ready) begin", '        $fdisplay(file, "%h %h", out_tag, out_packet);',
        "        left <= left + 32'd1;", "        idle <= 32'd0;", "      end else idle <= idle + 32'd1;",
        "      if (left == count || idle > 32'd20000) begin", '        $fdisplay(file, "cycles %0d", cycles);',
        "        $fclose(file);", "        $finish;", "      end", "    end", "  end", "endmodule",
    ]  # fmt: skip
    return "\n".join(units) + "\n" + "\n".join(lines) + "\n"


def write_files(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    """Write texts (file name -> text) into a folder, which is created if missing; return the files' paths."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in texts]
