"""A test bench for a processor of whole frames: it sends words by lanes, collects words and verdicts, and stalls.

    +stalls=S     stall each valve independently in S of 16 cycles on average (0: never)
    +packets=N    number of verdicts after which the bench ends, once nothing more leaves
    +wordsK=W     number of words in wordsK.hex, which are sent to lane K

The bench writes `t K verdict` and `w K word` to results.txt as they leave lane K, then `cycles N`, counted from the
first word to the last output.
"""

from __future__ import annotations

from collections.abc import Sequence

from npexplore.hardware.templates.bench import Beside, Unit, units_around
from npexplore.hardware.templates.bodies import Framing
from npexplore.hardware.templates.group import valve

MOST_WORDS = 1 << 19  # words of a lane
QUIET, STUCK = 300, 5000  # idle cycles after which the bench ends: with all verdicts, and without


def frame_bench_text(
    top: str, lanes: Sequence[str], framing: Framing, units: Sequence[Unit], reads_a_cycle: int, call_log: bool,
    beside: Beside | None,
) -> str:  # fmt: skip
    """Return the bench with its valves and units, as `bench_text` does."""
    texts, wires, links = units_around(units, reads_a_cycle, call_log, beside)
    start_lines, write_lines, exits, entries = list[str](), list[str](), list[str](), list[str]()
    for number, lane in enumerate(lanes):
        k = f"_{number}"
        wires += [
            f"  reg [{framing.into - 1}:0] words{k} [0:{MOST_WORDS - 1}];", f"  integer count{k};",
            f"  reg [31:0] at{k};", f"  wire offer{k}, taken{k}, iv{k}, ir{k};",
            f"  wire [{framing.into - 1}:0] id{k};",
            f"  assign offer{k} = ~rst & (at{k} < count{k});",
            valve(
                f"words_in{k}", 400_000 + number, framing.into, (f"offer{k}", f"taken{k}", f"words{k}[at{k}]"),
                (f"iv{k}", f"ir{k}", f"id{k}"),
            ),
        ]  # fmt: skip
        links += [f".in{lane}_valid(iv{k})", f".in{lane}_ready(ir{k})", f".in{lane}_data(id{k})"]
        for name, letter, bits in (("out", "w", framing.out), ("told", "t", framing.verdict)):
            stream = f"{name}{k}"
            wires += [
                f"  wire {stream}_v, {stream}_r, {stream}_there;", f"  wire [{bits - 1}:0] {stream}_d, {stream}_left;",
                valve(
                    f"{name}_way{k}", (500_000 if name == "out" else 550_000) + number, bits,
                    (f"{stream}_v", f"{stream}_r", f"{stream}_d"), (f"{stream}_there", "~rst", f"{stream}_left"),
                ),
            ]  # fmt: skip
            links += [f".{name}{lane}_{end}({stream}_{end[0]})" for end in ("valid", "ready", "data")]
            write_lines.append(f'      if ({stream}_there) $fdisplay(file, "{letter} {number} %h", {stream}_left);')
            exits.append(f"{stream}_there")
        start_lines += [
            f'    if (!$value$plusargs("words{number}=%d", count{k})) count{k} = 0;',
            f'    if (count{k} != 0) $readmemh("words{number}.hex", words{k}, 0, count{k} - 1);', f"    at{k} = 0;",
        ]  # fmt: skip
        write_lines.append(f"      if (offer{k} & taken{k}) at{k} <= at{k} + 32'd1;")
        entries.append(f"(offer{k} & taken{k})")
    verdicts = " + ".join(f"{{31'd0, told_{k}_there}}" for k in range(len(lanes)))
    return "\n".join([
        *texts, "module bench;", "  reg clk = 1'b0;", "  reg rst = 1'b1;", "  always #5 clk = ~clk;",
        "  integer packets, file;", "  reg [31:0] left, cycles, latest, idle, clocks;", *wires,
        f"  {top} the_top ({', '.join(links)});", "  initial begin",
        '    if (!$value$plusargs("packets=%d", packets)) packets = 0;', '    file = $fopen("results.txt", "w");',
        *start_lines, "    left = 0; cycles = 0; latest = 0; idle = 0; clocks = 0;", "  end",
        "  always @(posedge clk) begin", "    clocks <= clocks + 32'd1;", "    rst <= clocks < 32'd4;",
        "    if (!rst) begin", *write_lines, "      cycles <= cycles + 32'd1;", f"      left <= left + {verdicts};",
        f"      if ({' | '.join(exits)}) latest <= cycles + 32'd1;",
        f"      if ({' | '.join([*exits, *entries])}) idle <= 32'd0;", "      else idle <= idle + 32'd1;",
        f"      if (idle > 32'd{STUCK} || (left >= packets && idle > 32'd{QUIET})) begin",
        '        $fdisplay(file, "cycles %0d", latest);', "        $fclose(file);", "        $finish;", "      end",
        "    end", "  end", "endmodule", "",
    ])  # fmt: skip
