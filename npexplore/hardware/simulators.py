"""Builds and runs a test bench with Icarus Verilog or Verilator."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from npexplore.errors import InputError

LONGEST_S = 1200  # time limit of a simulation, and of its compilation
VERILATOR_FROM_PACKETS = 3000  # from this many packets on, Verilator's compilation pays off
OPTIMISED_FROM_PACKETS = 10_000  # with fewer, unoptimised C++ is faster in total, though it runs six times as long
MAIN = "main.cpp"  # with hierarchical blocks, Verilator 5.006 generates one main per block, which do not link
MAIN_TEXT = """#include "Vbench.h"
#include "verilated.h"

int main(int argc, char** argv) {
    const std::unique_ptr<VerilatedContext> context{new VerilatedContext};
    context->commandArgs(argc, argv);
    const std::unique_ptr<Vbench> top{new Vbench{context.get()}};
    while (!context->gotFinish()) {
        top->eval();
        if (!top->eventsPending()) break;
        context->time(top->nextTimeSlot());
    }
    top->final();
    return 0;
}
"""


def simulator(packets: int) -> str:
    """Return the simulator to use for this many packets, `iverilog` or `verilator`; raises InputError without one."""
    order = ("verilator", "iverilog") if packets >= VERILATOR_FROM_PACKETS else ("iverilog", "verilator")
    for name in order:
        if shutil.which(name):
            return name
    raise InputError(
        "--verify needs a Verilog simulator on the path, got none; install iverilog or verilator (packages of Debian)"
    )


def build_bench(
    folder: Path, files: Sequence[str], name: str, apart: bool = False, packets: int = OPTIMISED_FROM_PACKETS
) -> list[str]:  # fmt: skip
    """Build the bench in a folder with the simulator `name`, and return the command that runs it.

    apart: Verilator compiles each module marked as a hierarchical block only once. packets: the number to simulate; for
    few packets, the C++ is compiled without optimisation. Raises InputError if the simulator rejects the files.
    """
    if name == "iverilog":
        _run(["iverilog", "-g2005", "-Wall", "-o", "bench.vvp", "-s", "bench", *files], folder)
        return ["vvp", "-n", "bench.vvp"]
    (folder / MAIN).write_text(MAIN_TEXT, encoding="utf-8")
    level = "-O1" if packets >= OPTIMISED_FROM_PACKETS else "-O0"
    settings = ["VM_PARALLEL_BUILDS=0", f"OPT_FAST={level}", f"OPT_GLOBAL={level}"]  # each file includes all headers
    options = ["--cc", "--exe", "--timing", "-O3", "-Wno-fatal", "--top-module", "bench", "-Mdir", "built"]
    _run(["verilator", *options, *(["--hierarchical"] if apart else []), *files, MAIN], folder)
    if apart:  # one job: with two, a rule with two targets runs twice at the same time, on the same files
        _run(["make", "-C", "built", "-f", "Vbench_hier.mk", "hier_verilation", *settings], folder)
    makefile = "Vbench_hier.mk" if apart else "Vbench.mk"
    _run(["make", "-j", "2", "-C", "built", "-f", makefile, *(["hier_build"] if apart else []), *settings], folder)
    return ["built/Vbench"]


def run_built(folder: Path, command: Sequence[str], **settings: int) -> tuple[list[str], int]:
    """Run a built bench; return the lines of results.txt but the last, and the cycles that the last line reports.

    settings: the bench's plus arguments. Raises InputError if it does not end.
    """
    (folder / "results.txt").unlink(missing_ok=True)
    _run([*command, *(f"+{name}={value}" for name, value in settings.items())], folder)
    lines = (folder / "results.txt").read_text(encoding="utf-8").splitlines()
    if not lines or not lines[-1].startswith("cycles "):
        raise InputError(f"the bench in {folder} wrote no count of cycles to results.txt")
    return lines[:-1], int(lines[-1].split()[1])


def _run(command: list[str], folder: Path) -> None:
    try:
        process = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LONGEST_S, check=False)
    except subprocess.TimeoutExpired as timeout:
        raise InputError(f"{command[0]} in {folder} has not come to an end after {LONGEST_S} s") from timeout
    if process.returncode:
        messages = (process.stderr or process.stdout).strip().splitlines()
        messages = [line for line in messages if "rror" in line] or messages
        raise InputError(f"{command[0]} failed: {' / '.join(messages[:5])}")
