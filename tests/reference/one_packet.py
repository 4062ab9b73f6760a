"""One packet through an engine of one thread, recorded in Icarus: data/hardware/one_packet.vcd.

Run as a program, it records anew: `python tests/reference/one_packet.py` (needs iverilog).
"""

import subprocess
import tempfile
from pathlib import Path

from npexplore.designs.gorilla.hardware import BENCH, ENGINE, EngineFiles, rated_and_hostile
from npexplore.designs.gorilla.traffic import router_tables
from npexplore.paths import share

FOLDER = ("data", "hardware")
NAME = "one_packet.vcd"
SIGNALS = (
    "clk", "rst", "in_valid", "in_ready", "the_engine.busy", "the_engine.found", "the_engine.at[0]",
    "the_engine.done[0]", "the_engine.owed[0]", "lookup4_0_valid", "lookup4_0_done", "out_valid",
)  # fmt: skip
HEAD = "$comment an IPv4 packet through an engine of one thread; by tests/reference/one_packet.py $end\n"
DUMP = "dump.v"
TEXT = f"""module dump;
  initial begin
    $dumpfile("{NAME}");
    $dumpvars(0, {", ".join(f"bench.{name}" for name in SIGNALS)});
  end
endmodule
"""


def engine():
    """Return the engine that is recorded."""
    return EngineFiles(router_tables(), threads=1)


def recorded():
    """Return the dump of a fresh run, without date and tool."""
    made = engine()
    packet, _ = rated_and_hostile(made.box, made.protocols, 1)
    with tempfile.TemporaryDirectory() as folder:
        made.write(Path(folder))
        made.verify(Path(folder), packet, packet, "iverilog")
        Path(folder, DUMP).write_text(TEXT)
        files = [ENGINE, BENCH, DUMP]
        subprocess.run(
            ["iverilog", "-g2005", "-o", "one.vvp", "-s", "bench", "-s", "dump", *files], cwd=folder, check=True
        )
        subprocess.run(["vvp", "-n", "one.vvp", "+packets=1"], cwd=folder, check=True, capture_output=True)
        text = Path(folder, NAME).read_text()
    return HEAD + text[text.index("$timescale") :]


if __name__ == "__main__":
    (share(*FOLDER) / NAME).write_text(recorded())
