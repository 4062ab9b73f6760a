"""What a packet of each measured path does on an NFP-4000: counts, made from a user's own copy of the programs.

    python tests/reference/nfp_demands.py PROGRAMS [--predict]

PROGRAMS: a folder with the measured objects, PROGRAM.bpf.o (github johannes-krude/nfp-pred-artifacts 6132d4b,
data-paper/programs, AGPL-3.0), and drop, lookup4, lookup8, lookup12 and slow, compiled from its examples. Each runs on
the example frame of each path; numbers alone are kept, in data/programs/nfp_demands.csv. --predict also writes
nfp_predicted.csv: rates of the withheld rows, which are never made again once their values are known.
"""

import csv
import gzip
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import npexplore as npx
from npexplore.ledger import load
from npexplore.paths import share
from npexplore.programs import read_costs
from npexplore.study.checking.quantities.nfp4000 import demands, point_of

PRICED = ("instruction", "branch_taken", "read.packet", "write.packet", "read.map", "write.map")
COLUMNS = ("key", *PRICED, "commands", "map_reads", "map_adds")
PLAIN = bytes(12) + b"\x08\x00\x45" + bytes(45)  # an IPv4 frame of 60 bytes, for programs that have one path
MEMORY_BYTES = 8 << 30  # maps of up to 1 GB


def lines(folder: Path) -> list[dict[str, object]]:
    """Return the counts of every row of the ledger."""
    with gzip.open(share("data", "programs", "nfp_frames.csv.gz"), "rt") as stream:
        frames = {line["key"]: bytes.fromhex(line["frame"].replace("--", "00")) for line in csv.DictReader(stream)}
    by_program = defaultdict(list)
    for row in load().select(paper="nfp"):
        by_program[str(row.conditions["program"])].append(row.key)
    table, costs = [], read_costs("nfp4000")
    for program, keys in by_program.items():
        path = folder / f"{program.replace('count-min-', 'count-min.')}.bpf.o"
        packets = [frames.get(key, PLAIN) for key in keys]
        run = npx.program(path).run(packets, keep=False, memory_bytes=MEMORY_BYTES, contents=False)
        events = costs.events_of(run)
        for key, route in zip(keys, run.to_frame()["path"].tolist(), strict=True):
            work = events[route]
            table.append({
                "key": key, **{name: f"{work.get(name, 0):g}" for name in PRICED},
                "commands": f"{sum(work.get(name, 0) for name in PRICED[2:]):g}",
                "map_reads": f"{work.get('read_word', 0) + work.get('write_word', 0):g}",
                "map_adds": f"{work.get('add_word', 0):g}",
            })  # fmt: skip
    return table


def predicted() -> list[dict[str, object]]:
    """Return the rates of the withheld rows as the machine's bounds give them."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True).stdout
    rows = []
    for row in load().select(paper="nfp", roles=["withheld"]):
        point = point_of(row)
        rate = npx.design(point.design).with_(**dict(point.knobs)).bounds(npx.workload(mix=point.mix)).rate_pps
        rows.append({"key": row.key, "predicted": f"{rate:.0f}", "unit": "pps", "solver": "bounds",
                     "label": "predicted", "commit": commit.strip()})  # fmt: skip
    return rows


def write(name: str, rows: list[dict[str, object]]) -> None:
    """Write a table of data/programs."""
    with share("data", "programs").joinpath(name).open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    write("nfp_demands.csv", lines(Path(sys.argv[1])))
    demands.cache_clear()
    if "--predict" in sys.argv:
        write("nfp_predicted.csv", predicted())
