"""Engines and clusters held to the step program in Verilator: the table data/hardware/proofs.csv, made anew.

Run as a program: `python tests/reference/hardware_proofs.py FOLDER [PACKETS]` (10,000; FOLDER is where it builds). Each
line is what `npexplore hardware gorilla --program NAME --verify PACKETS` finds, half a minute to two of one processor;
with engines 6 label table and flow counters are inside. Lines that the table has are kept, so delete it first.
"""

import argparse
import csv
from functools import cache
from itertools import product
from pathlib import Path

from npexplore.designs import design
from npexplore.designs.gorilla.hardware import EngineFiles, rated_and_hostile
from npexplore.designs.gorilla.hardware_cases import ends, reasons_of
from npexplore.designs.gorilla.system import SystemFiles
from npexplore.designs.gorilla.traffic import router_tables
from npexplore.paths import share

TABLE = ("data", "hardware", "proofs.csv")
FIELDS = ("program", "counting", "engines", "threads", "packets", "differences", "overtaken", "reasons", "unreached",
          "cycles")  # fmt: skip
PROGRAMS = ("ipv4", "ipv6", "mpls", "ipv4+ipv6+mpls")
HEAD = """# Generated hardware held to the step program, stalled and not, by Verilator. engines 1: an engine alone,
# else a cluster with its reorder queue. reasons: that packets were dropped for; unreached: others that the program can
# give. cycles: of a forwarded packet, without stalls.
# Own runs: `python tests/reference/hardware_proofs.py FOLDER`
"""


@cache
def tables(counting):
    """Return a router's tables, as the command has them."""
    return router_tables("deep", counting, pipes=True)


@cache
def cases(program, counting, packets):
    """Return forwarded and hostile packets, and how they end."""
    protocols = program.split("+")
    rated, hostile = rated_and_hostile(tables(counting), protocols, packets)
    return rated, hostile, set(ends(tables(counting), protocols, [*rated, *hostile], counting))


def proof(program, counting, engines, threads, packets, folder):
    """Return the record of one engine or cluster."""
    protocols, told = program.split("+"), "on" if counting else "off"
    p = design("gorilla").with_(engines=engines, threads=threads, flow_counting=told).parameters
    if engines == 1:
        made = EngineFiles(
            tables(counting),
            protocols,
            counting,
            threads,
            round(p.lookup_cycles),
            str(p.scheduler),
            str(p.lut_structures),
        )
    else:
        made = SystemFiles(p, tables(counting), protocols, 1)
    rated, hostile, reached = cases(program, counting, packets)
    made.write(folder)
    found = made.verify(folder, hostile, rated)
    can = {reason.name for reason in reasons_of(made.program, protocols)}
    if found.first:
        print(found.first, flush=True)
    return (program, told, engines, threads, found.packets, found.differences, found.overtaken, len(can & reached),
            " ".join(sorted(can - reached)), round(found.cycles_per_packet, 2))  # fmt: skip


def wanted():
    """Return all rows, as they are made: threads, programs, counting, an engine and a cluster of six."""
    return [(*some, threads) for threads in (4, 2, 1) for some in product(PROGRAMS[::-1], (True, False), (1, 6))]


def make(folder, packets):
    """Make the rows that the table has not, and write it after each."""
    file = share("data", "hardware") / TABLE[-1]
    rows = {}
    if file.exists():
        lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
        rows = {(row[0], row[1] == "on", int(row[2]), int(row[3])): row for row in list(csv.reader(lines))[1:]}
    for one in wanted():
        if one not in rows:
            program, counting, engines, threads = one
            name = f"{program}-{'on' if counting else 'off'}-{engines}-{threads}"
            rows[one] = proof(*one, packets, folder / name)
            print(*rows[one], flush=True)
            write(file, [rows[key] for key in sorted(rows, key=order)])


def order(key):
    """Return where a row stands in the table."""
    program, counting, engines, threads = key
    return PROGRAMS.index(program), counting, engines, threads


def write(file, rows):
    """Write the table."""
    with file.open("w", newline="") as out:
        out.write(HEAD)
        lines = csv.writer(out, lineterminator="\n")
        lines.writerow(FIELDS)
        lines.writerows(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("packets", type=int, nargs="?", default=10_000)
    given = parser.parse_args()
    make(given.folder, given.packets)
