"""The twelve IPv4 configurations of Fig. 10 in the event engine and in generated hardware, both with measured cycles.

The event engine takes the cycles that trials at the doors of the hardware give (npexplore/designs/gorilla/cycles.py)
in place of those fitted to printed rates; nothing is fitted between the two. Rates of the hardware are recorded
(data/hardware/rates.csv, `python tests/reference/hardware_cycles.py --rates FOLDER`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from npexplore.designs import Design
from npexplore.designs.gorilla.cycles import measured_knobs
from npexplore.ledger.rules import rule
from npexplore.machine.parameters import Value
from npexplore.paths import share, table_rows
from npexplore.study.papers.gorilla.performance import simulated

RATES = ("data", "hardware", "rates.csv")
COUNTING_MEMORIES = rule("gorilla.counting_memories")  # of the embedded test system
TWELVE: Mapping[str, Mapping[str, Value]] = {
    f"16-{engines}-{threads}, counting {counting}": {
        "clusters": 16, "engines": engines, "threads": threads, "proto": "ipv4", "flow_counting": counting,
        "memories": COUNTING_MEMORIES.value if counting == "on" else "external",
    } for counting, engines, threads in product(("off", "on"), (4, 6), (1, 2, 4))
}  # fmt: skip


@dataclass(frozen=True)
class Rate:
    """The result of a run of a generated processor: million packets a second, with an interval; latency in cycles.

    offered: million packets a second, 0: as many as the processor takes.
    """

    name: str
    offered: float
    mpps: float
    low: float
    high: float
    latency: float


@cache
def rates() -> tuple[Rate, ...]:
    """Return the recorded rates."""
    return rates_of(share(*RATES))


def rates_of(file: Path) -> tuple[Rate, ...]:
    """Return the rates of a table."""
    return tuple(
        Rate(row["name"], *(float(row[name]) for name in ("offered", "mpps", "low", "high", "latency")))
        for row in table_rows(file)
    )


def with_measured(design: Design) -> Design:
    """Return a design with the cycles of generated hardware in place of the fitted ones."""
    return design.with_(**measured_knobs(design.parameters))


def beside(design: Design, recorded: Sequence[Rate] | None = None, seed: int = 1) -> list[dict[str, Any]]:
    """Return a record for each recorded rate (None: all): hardware, event engine with measured and with fitted cycles.

    difference: of the event engine with measured cycles, as a share of the hardware's rate.
    """
    wanted = rates() if recorded is None else recorded
    ways = {"measured": with_measured(design), "fitted": design}
    points = [{**TWELVE[one.name], "rate_mpps": one.offered} for one in wanted]
    predictions = {way: simulated(machine, points, seed) for way, machine in ways.items()}
    return [
        {
            "configuration": one.name, "offered": one.offered, "hardware": one.mpps, "low": one.low, "high": one.high,
            "measured": predictions["measured"][k].rate_pps / 1e6, "fitted": predictions["fitted"][k].rate_pps / 1e6,
            "difference": predictions["measured"][k].rate_pps / 1e6 / one.mpps - 1,
        } for k, one in enumerate(wanted)
    ]  # fmt: skip
