"""A test bench for a processor of whole frames: words in by lanes, words and verdicts out, handshakes stalled.

    +stalls=S     of 16 cycles so many are stalled, at each valve by itself (0: none)
    +packets=N    verdicts after which the bench ends, once nothing more leaves
    +wordsK=W     words of wordsK.hex, which lane K is sent

Written to results.txt: `t K verdict` and `w K word` as they leave lane K, then `cycles N`, from the first word to
what left last.
"""

from __future__ import annotations

from collections.abc import Sequence

from npexplore.hardware.templates.bench import Beside, Unit, units_around
from npexplore.hardware.templates.bodies import Framing
from npexplore.hardware.templates.group import valve

MOST_WORDS = 1 << 19  # of a lane
QUIET, STUCK = 300, 5000  # cycles in which nothing leaves: at the end, before it


def frame_bench_text(
    top: str, lanes: Sequence[str], framing: Framing, units: Sequence[Unit], reads_a_cycle: int, call_log: bool,
    beside: Beside | None,
) -> str:  # fmt: skip
    """Return the bench with its valves and units, as `bench_text` does."""
    texts, wires, links = units_around(units, reads_a_cycle, call_log, beside)
    starts, writes, leaving, coming = list[str](), list[str](), list[str](), list[str]()
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
            one = f"{name}{k}"
            wires += [
                f"  wire {one}_v, {one}_r, {one}_there;", f"  wire [{bits - 1}:0] {one}_d, {one}_left;",
                valve(
                    f"{name}_way{k}", (500_000 if name == "out" else 550_000) + number, bits,
                    (f"{one}_v", f"{one}_r", f"{one}_d"), (f"{one}_there", "~rst", f"{one}_left"),
                ),
            ]  # fmt: skip
            links += [f".{name}{lane}_{end}({one}_{end[0]})" for end in ("valid", "ready", "data")]
            writes.append(f'      if ({one}_there) $fdisplay(file, "{letter} {number} %h", {one}_left);')
            leaving.append(f"{one}_there")
        starts += [
            f'    if (!$value$plusargs("words{number}=%d", count{k})) count{k} = 0;',
            f'    if (count{k} != 0) $readmemh("words{number}.hex", words{k}, 0, count{k} - 1);', f"    at{k} = 0;",
        ]  # fmt: skip
        writes.append(f"      if (offer{k} & taken{k}) at{k} <= at{k} + 32'd1;")
        coming.append(f"(offer{k} & taken{k})")
    told_of = " + ".join(f"{{31'd0, told_{k}_there}}" for k in range(len(lanes)))
    return "\n".join([
        *texts, "module bench;", "  reg clk = 1'b0;", "  reg rst = 1'b1;", "  always #5 clk = ~clk;",
        "  integer packets, file;", "  reg [31:0] left, cycles, latest, idle, clocks;", *wires,
        f"  {top} the_top ({', '.join(links)});", "  initial begin",
        '    if (!$value$plusargs("packets=%d", packets)) packets = 0;', '    file = $fopen("results.txt", "w");',
        *starts, "    left = 0; cycles = 0; latest = 0; idle = 0; clocks = 0;", "  end",
        "  always @(posedge clk) begin", "    clocks <= clocks + 32'd1;", "    rst <= clocks < 32'd4;",
        "    if (!rst) begin", *writes, "      cycles <= cycles + 32'd1;", f"      left <= left + {told_of};",
        f"      if ({' | '.join(leaving)}) latest <= cycles + 32'd1;",
        f"      if ({' | '.join([*leaving, *coming])}) idle <= 32'd0;", "      else idle <= idle + 32'd1;",
        f"      if (idle > 32'd{STUCK} || (left >= packets && idle > 32'd{QUIET})) begin",
        '        $fdisplay(file, "cycles %0d", latest);', "        $fclose(file);", "        $finish;", "      end",
        "    end", "  end", "endmodule", "",
    ])  # fmt: skip
