"""Runs a test bench in Icarus Verilog or Verilator, whichever is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from npexplore.errors import InputError

MANY = 3000  # packets from which on Verilator's compilation pays


def simulator(packets: int) -> str:
    """Return the simulator to use, `iverilog` or `verilator`; raises InputError where there is none."""
    order = ("verilator", "iverilog") if packets >= MANY else ("iverilog", "verilator")
    for name in order:
        if shutil.which(name):
            return name
    raise InputError(
        "--verify needs a Verilog simulator on the path, got none; install iverilog or verilator (packages of Debian)"
    )


def run_bench(folder: Path, files: list[str], packets: int, stalls: int, chosen: str = "") -> tuple[list[str], int]:
    """Return the lines that the bench in a folder writes, without the last, and the cycles that one tells.

    Raises InputError where the simulator refuses the files or does not end.
    """
    name = chosen or simulator(packets)
    (folder / "results.txt").unlink(missing_ok=True)
    if name == "iverilog":
        _run(["iverilog", "-g2005", "-Wall", "-o", "bench.vvp", "-s", "bench", *files], folder)
        command = ["vvp", "-n", "bench.vvp"]
    else:
        _run(
            [
                "verilator",
                "--binary",
                "--timing",
                "-O3",
                "-Wno-fatal",
                "--top-module",
                "bench",
                "-Mdir",
                "built",
                *files,
            ],
            folder,
        )
        command = ["built/Vbench"]
    _run([*command, f"+packets={packets}", f"+stalls={stalls}"], folder)
    lines = (folder / "results.txt").read_text().splitlines()
    if not lines or not lines[-1].startswith("cycles "):
        raise InputError(f"the bench in {folder} wrote no count of cycles to results.txt")
    return lines[:-1], int(lines[-1].split()[1])


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=1200, check=False)
    if done.returncode:
        told = (done.stderr or done.stdout).strip().splitlines()
        raise InputError(f"{command[0]} failed: {' / '.join(told[:5])}")
