"""Rules for measurements of the NFP-4000: packets/s of program paths, and by the number of microengines."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache

from npexplore.errors import InputError
from npexplore.ledger import Row
from npexplore.ledger.rules import rule
from npexplore.machine.parameters import Value
from npexplore.paths import share
from npexplore.programs.costs import read_costs
from npexplore.reads import Read, note
from npexplore.study.checking.quantities.base import Quantity, knobs_of
from npexplore.study.sweeping.points import Point

SHARE = rule("nfp4000.share")
NOT_PRICED = ("key", "commands", "map_reads", "map_adds")


@cache
def demands() -> Mapping[str, Mapping[str, float]]:
    """Return the work of one packet of each row, by key: counts computed by tests/reference/nfp_demands.py.

    Columns are the events of the cost table, and the machine's knobs `commands`, `map_reads`, `map_adds`.
    """
    with share("data", "programs", "nfp_demands.csv").open(encoding="utf-8", newline="") as stream:
        return {
            line["key"]: {name: float(count) for name, count in line.items() if name != "key"}
            for line in csv.DictReader(stream)
        }


def point_of(row: Row) -> Point:
    """Return the point of a row: frames of one length, with the work of the row's path."""
    if row.key not in demands():
        raise InputError(f"row {row.key}: data/programs/nfp_demands.csv has no work of its path")
    work = demands()[row.key]
    priced = {name: count for name, count in work.items() if name not in NOT_PRICED and count}
    work_knobs: dict[str, Value] = {
        "program_cycles": read_costs("nfp4000").cycles(priced), **{name: int(work[name]) for name in NOT_PRICED[1:]}
    }  # fmt: skip
    for name, value in work_knobs.items():
        note(Read(f"{name} of {row.key}", "work", value, "nfp_demands.csv, priced by models/processors/nfp4000.toml"))
    knobs: dict[str, Value] = {**knobs_of(row), **work_knobs}
    return Point.of("nfp4000", f"{int(row.conditions['packet_bytes'])} bytes", knobs, SHARE.value)


QUANTITIES: Mapping[str, Quantity] = {
    "packet rate": Quantity(lambda row: [point_of(row)], lambda row, get: get(point_of(row)).rate_pps)
}
