"""Runs a test bench in Icarus Verilog or Verilator, whichever is installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from npexplore.errors import InputError

LONGEST_S = 1200  # of a simulation or of its compilation
VERILATOR_FROM_PACKETS = 3000  # packets from which on Verilator's compilation pays
OPTIMISED_FROM_PACKETS = 10_000  # fewer: C++ compiled without optimisation ends first, though it runs six times as long
MAIN = "main.cpp"  # its own: of modules compiled apart Verilator 5.006 makes one for each, which do not link
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
    """Return the simulator to use, `iverilog` or `verilator`; raises InputError where there is none."""
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
    """Return the command that runs the bench in a folder, built by a simulator of this name.

    apart: Verilator compiles the modules that say so once for all that are alike. packets: how many are to be run; for
    few the C++ is compiled without optimisation. Raises InputError where the simulator refuses the files.
    """
    if name == "iverilog":
        _run(["iverilog", "-g2005", "-Wall", "-o", "bench.vvp", "-s", "bench", *files], folder)
        return ["vvp", "-n", "bench.vvp"]
    (folder / MAIN).write_text(MAIN_TEXT, encoding="utf-8")
    level = "-O1" if packets >= OPTIMISED_FROM_PACKETS else "-O0"
    settings = ["VM_PARALLEL_BUILDS=0", f"OPT_FAST={level}", f"OPT_GLOBAL={level}"]  # each file has all headers
    options = ["--cc", "--exe", "--timing", "-O3", "-Wno-fatal", "--top-module", "bench", "-Mdir", "built"]
    _run(["verilator", *options, *(["--hierarchical"] if apart else []), *files, MAIN], folder)
    if apart:  # one job: the makefile has a rule of two targets, which two jobs run twice, one into the other's files
        _run(["make", "-C", "built", "-f", "Vbench_hier.mk", "hier_verilation", *settings], folder)
    makefile = "Vbench_hier.mk" if apart else "Vbench.mk"
    _run(["make", "-j", "2", "-C", "built", "-f", makefile, *(["hier_build"] if apart else []), *settings], folder)
    return ["built/Vbench"]


def run_built(folder: Path, command: Sequence[str], **settings: int) -> tuple[list[str], int]:
    """Return the lines that a built bench writes, without the last, and the cycles that one tells.

    settings: what it takes behind `+`. Raises InputError where it does not end.
    """
    (folder / "results.txt").unlink(missing_ok=True)
    _run([*command, *(f"+{name}={value}" for name, value in settings.items())], folder)
    lines = (folder / "results.txt").read_text(encoding="utf-8").splitlines()
    if not lines or not lines[-1].startswith("cycles "):
        raise InputError(f"the bench in {folder} wrote no count of cycles to results.txt")
    return lines[:-1], int(lines[-1].split()[1])


def _run(command: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LONGEST_S, check=False)
    except subprocess.TimeoutExpired as late:
        raise InputError(f"{command[0]} in {folder} has not come to an end after {LONGEST_S} s") from late
    if done.returncode:
        messages = (done.stderr or done.stdout).strip().splitlines()
        messages = [line for line in messages if "rror" in line] or messages
        raise InputError(f"{command[0]} failed: {' / '.join(messages[:5])}")
