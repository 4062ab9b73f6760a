"""From a published row to numbers: the design points it speaks of, and how its quantity follows from predictions there.

A row's conditions are knobs of its design, a mix (`real` stands for three), `baseline...` for the other side of a
comparison, and `resource` for utilizations. Values are in SI base units, ratios as fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

import numpy as np

from npexplore.designs import design
from npexplore.designs.ixp2400 import scratch_bytes_needed
from npexplore.ledger import Row
from npexplore.machine.mixes import load_mix
from npexplore.machine.parameters import Value
from npexplore.solve.prediction import Prediction
from npexplore.study.points import Point

REAL = ("amp", "frg", "psc")
SETTINGS = (8, 16, 32)  # threads of "configurations with 8 or more threads", Sec. 5.1 of the IXP2400 paper
GRID = (1, 2, 4, 8, 16, 32, 64)
PEAK = 0.99  # the fewest threads within 1 % of the highest throughput: what the seeds leave open
SATURATED = 0.98  # a throughput that more threads raise by less than 2 % has saturated

Get = Callable[[Point], Prediction]


class MissingError(Exception):
    """A solver gives no value for what a quantity needs."""


@dataclass(frozen=True)
class Quantity:
    """points: the points a row needs; value: its number (or claim) from predictions there.

    solver: which solver the design recommends; "exact" quantities follow from the description without contention.
    """

    points: Callable[[Row], list[Point]]
    value: Callable[[Row, Get], float | bool]
    solver: str = "simulation"


def knobs_of(row: Row) -> dict[str, Value]:
    """Return the conditions that are parameters of the row's design, in the parameters' own types."""
    parameters = design(row.design).parameters.file.parameter
    return {k: parameters[k].check(k, v) for k, v in row.conditions.items() if k in parameters and ".." not in str(v)}


def points_of(row: Row) -> list[Point]:
    """Return the points of a row: one a mix."""
    mix = row.conditions.get("mix")
    mixes: tuple[str | None, ...] = REAL if mix == "real" else (None if mix is None else str(mix),)
    if mix is None and design(row.design).own is None:
        mixes = ("dos",)
    return [Point.of(row.design, name, knobs_of(row)) for name in mixes]


def baseline_of(row: Row, point: Point) -> Point:
    """Return the other side of a comparison: `baseline` is a scheme, `baseline_KNOB` a knob's or mix's value."""
    changed: dict[str, Value] = {}
    parameters = design(row.design).parameters.file.parameter
    mix = None
    for name, value in row.conditions.items():
        if name == "baseline":
            changed["scheme"] = str(value)
        elif name == "baseline_mix":
            mix = str(value)
        elif name.startswith("baseline_"):
            knob = name.removeprefix("baseline_")
            changed[knob] = parameters[knob].check(knob, value)
    return point.with_(mix, **changed)


def settings_of(row: Row) -> list[Point]:
    """Return the points of an improvement: all settings of 8 and more threads where the row names none."""
    if "threads" in row.conditions:
        return points_of(row)
    return [point.with_(threads=n) for point in points_of(row) for n in SETTINGS]


def over_threads(row: Row) -> list[Point]:
    """Return the points of a row over the number of threads."""
    return [point.with_(threads=n) for point in points_of(row) for n in GRID]


def with_baseline(points: Callable[[Row], list[Point]]) -> Callable[[Row], list[Point]]:
    """Return a rule that adds the other side of each comparison."""
    return lambda row: [p for point in points(row) for p in (point, baseline_of(row, point))]


def bandwidth(prediction: Prediction) -> float:
    """Return the DRAM's bits a second."""
    return 8 * prediction.rates["dram.bytes"]


def _busy(row: Row, prediction: Prediction) -> float:
    return prediction.utilization[str(row.conditions["resource"])].busy


def _curves(row: Row, get: Get) -> list[list[float]]:
    return [[get(point.with_(threads=n)).throughput_bps for n in GRID] for point in points_of(row)]


def _reaches(share: float, curve: Sequence[float]) -> int:
    return next(n for n, x in zip(GRID, curve, strict=True) if x >= share * max(curve))


def _rises(row: Row, get: Get) -> bool:
    last = GRID.index(8) + 1
    return all(b > a for curve in _curves(row, get) for a, b in pairwise(curve[:last]))


def _narrow(prediction: Prediction) -> float:
    if "dram.narrow" not in prediction.rates:
        raise MissingError
    return prediction.rates["dram.narrow"] / prediction.rates["dram.accesses"]


def _on_chip(row: Row) -> list[float]:
    cell = int(design(row.design).parameters.cell_bytes)
    return [float(np.mean(load_mix(point.mix or "dos").lengths() <= cell)) for point in points_of(row)]


def _drop(row: Row, get: Get) -> float:
    point = points_of(row)[0]
    base = get(point)
    pairs = (("dram.bus", point.with_(bus_bits=128)), ("dram.bank", point.with_(banks=8)))
    return fmean(1 - get(doubled).utilization[name].busy / base.utilization[name].busy for name, doubled in pairs)


def _figure_15(row: Row) -> list[Point]:
    point = points_of(row)[0]
    return [point, point.with_(bus_bits=128), point.with_(banks=8)]


QUANTITIES: Mapping[str, Quantity] = {
    "throughput": Quantity(points_of, lambda row, get: fmean(get(p).throughput_bps for p in points_of(row))),
    "utilization": Quantity(points_of, lambda row, get: fmean(_busy(row, get(p)) for p in points_of(row))),
    "mean utilization": Quantity(_figure_15, lambda row, get: fmean(_busy(row, get(p)) for p in _figure_15(row))),
    "bandwidth": Quantity(points_of, lambda row, get: fmean(bandwidth(get(p)) for p in points_of(row))),
    "bandwidth reduction": Quantity(
        with_baseline(points_of),
        lambda row, get: fmean(1 - bandwidth(get(p)) / bandwidth(get(baseline_of(row, p))) for p in points_of(row)),
    ),
    "largest bandwidth improvement": Quantity(
        with_baseline(points_of),
        lambda row, get: max(bandwidth(get(p)) / bandwidth(get(baseline_of(row, p))) - 1 for p in points_of(row)),
    ),
    "throughput improvement": Quantity(
        with_baseline(settings_of),
        lambda row, get: fmean(
            get(p).throughput_bps / get(baseline_of(row, p)).throughput_bps - 1 for p in settings_of(row)
        ),
    ),
    "throughput ratio": Quantity(
        with_baseline(points_of),
        lambda row, get: fmean(
            get(p).throughput_bps / get(baseline_of(row, p)).throughput_bps for p in points_of(row)
        ),
    ),
    "utilization drop": Quantity(_figure_15, _drop),
    "threads at saturation": Quantity(
        over_threads, lambda row, get: fmean(_reaches(SATURATED, c) for c in _curves(row, get))
    ),
    "threads at peak": Quantity(over_threads, lambda row, get: fmean(_reaches(PEAK, c) for c in _curves(row, get))),
    "throughput against threads": Quantity(over_threads, _rises),
    "share of accesses": Quantity(points_of, lambda row, get: fmean(_narrow(get(p)) for p in points_of(row)), "exact"),
    "smallest share of packets": Quantity(lambda row: [], lambda row, get: min(_on_chip(row)), "exact"),
    "largest share of packets": Quantity(lambda row: [], lambda row, get: max(_on_chip(row)), "exact"),
    "cells per packet": Quantity(
        lambda row: [],
        lambda row, get: load_mix(str(row.conditions["mix"])).mean_cells(int(design(row.design).parameters.cell_bytes)),
        "exact",
    ),
    "capacity": Quantity(
        lambda row: [],
        lambda row, get: float(scratch_bytes_needed(design(row.design).with_(**knobs_of(row)).parameters)),
        "exact",
    ),
}  # fmt: skip
