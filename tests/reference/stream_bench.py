"""Templates of hardware between random sources and sinks, in Icarus: words in, words out, every handshake stalled.

What is valid must stay, with its data, until it is taken; a template that breaks this writes a line to broken.txt.
"""

import subprocess
from dataclasses import dataclass

ENDLESS, IDLE = 200_000, 400  # cycles; of which so many with nothing taken are the end

PARTS = """`timescale 1ns/1ps
module source #(parameter WIDTH = 1, parameter SEED = 1, parameter NUMBER = 0) (
  input clk, input rst, output reg valid, input ready, output [WIDTH-1:0] data
);
  reg [WIDTH-1:0] words [0:16383];
  reg [8*16:1] file;
  integer count, at, stalls, dice;
  initial begin
    $sformat(file, "in%0d.hex", NUMBER);
    if (!$value$plusargs("stalls=%d", stalls)) stalls = 0;
    $readmemh(file, words);
    valid = 1'b0; at = 0; dice = SEED;
    count = words[0];
  end
  assign data = valid ? words[at + 1] : {WIDTH{1'bx}};
  always @(posedge clk) if (!rst) begin
    if (valid & ready) at <= at + 1;
    if (!valid | ready) valid <= at + (valid & ready) < count && ($random(dice) & 15) >= stalls;
  end
endmodule

module sink #(parameter WIDTH = 1, parameter SEED = 1, parameter NUMBER = 0) (
  input clk, input rst, input valid, output reg ready, input [WIDTH-1:0] data, output reg took
);
  reg waits;
  reg [WIDTH-1:0] was;
  reg [8*16:1] file;
  integer out, broken, stalls, dice;
  initial begin
    $sformat(file, "out%0d.txt", NUMBER);
    out = $fopen(file, "w");
    $sformat(file, "broken%0d.txt", NUMBER);
    broken = $fopen(file, "w");
    if (!$value$plusargs("sinks=%d", stalls)) stalls = 0;
    ready = 1'b0; waits = 1'b0; dice = SEED; took = 1'b0;
  end
  always @(posedge clk) if (!rst) begin
    took <= valid & ready;
    if (valid & ready) $fdisplay(out, "%h", data);
    if (valid === 1'bx || (waits && (!valid || was !== data))) $fdisplay(broken, "%h", data);
    waits <= valid & ~ready; was <= data;
    ready <= ($random(dice) & 15) >= stalls;
  end
endmodule
"""


@dataclass(frozen=True)
class Stream:
    """A stream of a template's ports: its name, bits, clock."""

    name: str
    bits: int
    clock: str = "clk"


def bench(top, inputs, outputs, clocks):
    """Return a bench around a module. clocks: picoseconds of a period, by name; `rst` is of `clk`, X_rst of X_clk."""
    lines, links = ["module bench;"], []
    for name, period in clocks.items():
        rst = "rst" if name == "clk" else name.replace("clk", "rst")
        lines += [f"  reg {name} = 0, {rst} = 1;", f"  always #{period / 2000:.3f} {name} = ~{name};"]
        lines += [f"  initial begin repeat (8) @(posedge {name}); {rst} <= 0; end"]
        links += [f".{name}({name})", f".{rst}({rst})"]
    for k, one in enumerate([*inputs, *outputs]):
        rst = "rst" if one.clock == "clk" else one.clock.replace("clk", "rst")
        n, kind = (k, "source") if k < len(inputs) else (k - len(inputs), "sink")
        took = f", .took(took{n})" if kind == "sink" else ""
        lines += [f"  wire took{n};"] if took else []
        lines += [
            f"  wire {one.name}_valid, {one.name}_ready;", f"  wire [{one.bits - 1}:0] {one.name}_data;",
            f"  {kind} #(.WIDTH({one.bits}), .SEED({17 * k + 5}), .NUMBER({n})) the_{one.name} (.clk({one.clock}), "
            f".rst({rst}), .valid({one.name}_valid), .ready({one.name}_ready), .data({one.name}_data){took});",
        ]  # fmt: skip
        links += [f".{one.name}_{end}({one.name}_{end})" for end in ("valid", "ready", "data")]
    busy = " | ".join(f"took{n}" for n in range(len(outputs)))
    return "\n".join([
        *lines, f"  {top} dut ({', '.join(links)});", "  integer cycles = 0, idle = 0;",
        "  always @(posedge clk) begin",
        f"    cycles = cycles + 1; idle = (({busy}) === 1'b1) ? 0 : idle + 1;",
        f"    if (idle > {IDLE} || cycles > {ENDLESS}) begin $display(\"cycles %0d\", cycles - idle); $finish; end",
        "  end", "endmodule", "",
    ])  # fmt: skip


@dataclass(frozen=True)
class Ran:
    """What sinks took, by stream; whether what was valid stayed; cycles until the last word."""

    words: list
    broken: bool
    cycles: int


def run(folder, text, top, inputs, outputs, words, stalls=5, clocks=None, sinks=None):
    """Return what a template makes of words, a list for each input; an undefined word is None.

    stalls: of 16 cycles so many, at sources, and at sinks if there is no other number for them.
    """
    ends = f"+stalls={stalls}", f"+sinks={stalls if sinks is None else sinks}"
    made = PARTS + text + bench(top, inputs, outputs, clocks or {"clk": 10_000})
    (folder / "bench.v").write_text(made)
    for k, (one, given) in enumerate(zip(inputs, words, strict=True)):
        assert len(given) < 1 << min(one.bits, 13)
        (folder / f"in{k}.hex").write_text("\n".join(f"{word:x}" for word in [len(given), *given]) + "\n")
    for command in (
        ["iverilog", "-g2005", "-o", "bench.vvp", "bench.v"],
        ["vvp", "-n", "bench.vvp", *ends],
    ):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr + done.stdout
    took = [[_word(line) for line in (folder / f"out{k}.txt").read_text().split()] for k in range(len(outputs))]
    broken = any((folder / f"broken{k}.txt").read_text() for k in range(len(outputs)))
    return Ran(took, broken, int(done.stdout.split()[-1]))


def _word(line):
    return None if set(line.lower()) & set("xz") else int(line, 16)
