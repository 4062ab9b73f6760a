"""The IXP2400's published quantities: throughput, utilizations and bandwidths by scheme, mix, threads (Secs. 4, 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean

import numpy as np

from npexplore.designs import design
from npexplore.designs.ixp2400.design import scratch_bytes_needed
from npexplore.ledger import Row
from npexplore.machine.mixes import load_mix
from npexplore.solve.prediction import Prediction
from npexplore.study.checking.quantities.base import Conditions, Get, MissingError, Quantity, busy, knobs_of, throughput
from npexplore.study.sweeping.points import Point

REAL = ("amp", "frg", "psc")
SETTINGS = (8, 16, 32)  # threads of "configurations with 8 or more threads", Sec. 5.1 of the IXP2400 paper
GRID = (1, 2, 4, 8, 16, 32, 64)
PEAK = 0.99  # the fewest threads within 1 % of the highest throughput: what the seeds leave open
SATURATED = 0.98  # a throughput that more threads raise by less than 2 % has saturated

CONDITIONS = Conditions(mixes={"real": REAL}, usual_mix="dos", baseline="scheme")
points_of, baseline_of = CONDITIONS.points, CONDITIONS.baseline_of


def settings_of(row: Row) -> list[Point]:
    """Return the points of an improvement: all settings of 8 and more threads where the row names none."""
    if "threads" in row.conditions:
        return points_of(row)
    return [point.with_(threads=n) for point in points_of(row) for n in SETTINGS]


def over_threads(row: Row) -> list[Point]:
    """Return the points of a row over the number of threads."""
    return [point.with_(threads=n) for point in points_of(row) for n in GRID]


def bandwidth(prediction: Prediction) -> float:
    """Return the DRAM's bits a second."""
    return 8 * prediction.rates["dram.bytes"]


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
    "throughput": CONDITIONS.mean(throughput),
    "utilization": CONDITIONS.utilization(),
    "mean utilization": Quantity(_figure_15, lambda row, get: fmean(busy(row, get(p)) for p in _figure_15(row))),
    "bandwidth": CONDITIONS.mean(bandwidth),
    "bandwidth reduction": CONDITIONS.loss(bandwidth),
    "largest bandwidth improvement": Quantity(
        CONDITIONS.both(points_of),
        lambda row, get: max(bandwidth(get(p)) / bandwidth(get(baseline_of(row, p))) - 1 for p in points_of(row)),
    ),
    "throughput improvement": CONDITIONS.change(throughput, settings_of),
    "throughput ratio": CONDITIONS.ratio(throughput),
    "utilization drop": Quantity(_figure_15, _drop),
    "threads at saturation": Quantity(
        over_threads, lambda row, get: fmean(_reaches(SATURATED, c) for c in _curves(row, get))
    ),
    "threads at peak": Quantity(over_threads, lambda row, get: fmean(_reaches(PEAK, c) for c in _curves(row, get))),
    "throughput against threads": Quantity(over_threads, _rises),
    "share of accesses": Quantity(points_of, lambda row, get: fmean(_narrow(get(p)) for p in points_of(row)), "exact"),
    "smallest share of packets": Quantity(lambda row: [], lambda row, get: min(_on_chip(row)), "exact", points_of),
    "largest share of packets": Quantity(lambda row: [], lambda row, get: max(_on_chip(row)), "exact", points_of),
    "cells per packet": Quantity(
        lambda row: [],
        lambda row, get: load_mix(str(row.conditions["mix"])).mean_cells(int(design(row.design).parameters.cell_bytes)),
        "exact",
        points_of,
    ),
    "capacity": Quantity(
        lambda row: [],
        lambda row, get: float(scratch_bytes_needed(design(row.design).with_(**knobs_of(row)).parameters)),
        "exact",
    ),
}  # fmt: skip
