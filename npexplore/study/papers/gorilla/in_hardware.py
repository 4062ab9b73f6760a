"""Compares twelve IPv4 configurations of Fig. 10 in the event engine and in generated hardware, with measured cycles.

The event engine uses cycles measured at the interfaces of the hardware (npexplore/designs/gorilla/cycles.py) instead of
cycles fitted to printed rates; nothing is fitted between engine and hardware. Rates of the hardware are recorded
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
COUNTING_MEMORIES = rule("gorilla.counting_memories")  # memories of the embedded test system
TWELVE: Mapping[str, Mapping[str, Value]] = {
    f"16-{engines}-{threads}, counting {counting}": {
        "clusters": 16, "engines": engines, "threads": threads, "proto": "ipv4", "flow_counting": counting,
        "memories": COUNTING_MEMORIES.value if counting == "on" else "external",
    } for counting, engines, threads in product(("off", "on"), (4, 6), (1, 2, 4))
}  # fmt: skip


@dataclass(frozen=True)
class Rate:
    """The result of a run of a generated processor: million packets/s with an interval, latency in cycles.

    offered: million packets/s; 0: as many as the processor takes.
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
    """Return the rates in a CSV file."""
    return tuple(
        Rate(row["name"], *(float(row[name]) for name in ("offered", "mpps", "low", "high", "latency")))
        for row in table_rows(file)
    )


def with_measured(design: Design) -> Design:
    """Return a design with the cycles measured in generated hardware instead of the fitted cycles."""
    return design.with_(**measured_knobs(design.parameters))


def beside(design: Design, recorded: Sequence[Rate] | None = None, seed: int = 1) -> list[dict[str, Any]]:
    """Return a record for each recorded rate (None: all): hardware, event engine with measured and with fitted cycles.

    difference: rate of the event engine with measured cycles / rate of the hardware - 1.
    """
    hardware = rates() if recorded is None else recorded
    machines = {"measured": with_measured(design), "fitted": design}
    points = [{**TWELVE[rate.name], "rate_mpps": rate.offered} for rate in hardware]
    predictions = {cycles: simulated(machine, points, seed) for cycles, machine in machines.items()}
    return [
        {
            "configuration": rate.name, "offered": rate.offered, "hardware": rate.mpps, "low": rate.low,
            "high": rate.high, "measured": predictions["measured"][k].rate_pps / 1e6,
            "fitted": predictions["fitted"][k].rate_pps / 1e6,
            "difference": predictions["measured"][k].rate_pps / 1e6 / rate.mpps - 1,
        } for k, rate in enumerate(hardware)
    ]  # fmt: skip
