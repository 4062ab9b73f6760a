"""Rules for the IXP2400's published quantities: rates, utilization, bandwidth by scheme, mix, threads (Secs. 4, 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from npexplore.designs import design
from npexplore.designs.ixp2400.design import scratch_bytes_needed
from npexplore.ledger import Row, facts
from npexplore.ledger.rules import rule
from npexplore.machine.mixes import load_mix
from npexplore.solve.prediction import Prediction
from npexplore.study.checking.quantities.base import (
    Conditions,
    Get,
    MissingError,
    Quantity,
    busy,
    busy_of,
    exact,
    knobs_of,
    label_of,
    throughput,
)
from npexplore.study.sweeping.points import Point

SETTINGS, GRID, PEAK, SATURATED = (rule(f"ixp2400.{name}") for name in ("settings", "grid", "peak", "saturated"))
RISES_TO = rule("ixp2400.rises_to")
CONDITIONS = Conditions({"real": rule("ixp2400.real")}, rule("ixp2400.usual_mix"), baseline="scheme")
points_of, baseline_of = CONDITIONS.points, CONDITIONS.baseline_of


def settings_of(row: Row) -> list[Point]:
    """Return the points of an improvement; if the row names no threads, all settings with at least 8 threads."""
    if "threads" in row.conditions:
        return points_of(row)
    return [point.with_(threads=n) for point in points_of(row) for n in SETTINGS.value]


def over_threads(row: Row) -> list[Point]:
    """Return the points of a row over the number of threads."""
    return [point.with_(threads=n) for point in points_of(row) for n in GRID.value]


def bandwidth(prediction: Prediction) -> float:
    """Return the DRAM's bandwidth in bit/s; raises MissingError if it is not counted (some Petri nets)."""
    if "dram.bytes" not in prediction.rates:
        raise MissingError
    return 8 * prediction.rates["dram.bytes"]


def _curves(row: Row, get: Get) -> dict[str, list[float]]:
    """Return by mix the throughput (bit/s) at each number of threads in the rule `grid`."""
    threads = GRID.value
    return {label_of(p): [get(p.with_(threads=n)).throughput_bps for n in threads] for p in points_of(row)}


def _reaches(share: float, curve: Sequence[float]) -> float:
    return float(next(n for n, x in zip(GRID.value, curve, strict=True) if x >= share * max(curve)))


def _rises(curve: Sequence[float]) -> bool:
    return all(b > a for a, b in pairwise(curve[: GRID.value.index(RISES_TO.value) + 1]))


def _narrow(prediction: Prediction) -> float:
    if "dram.narrow" not in prediction.rates:
        raise MissingError
    return prediction.rates["dram.narrow"] / prediction.rates["dram.accesses"]


def _on_chip(row: Row) -> dict[str, float]:
    cell = int(design(row.design).parameters.cell_bytes)
    return {str(p.mix): float(np.mean(load_mix(str(p.mix)).lengths() <= cell)) for p in points_of(row)}


def _doubled(row: Row) -> dict[str, Point]:
    """Return the two experiments of Fig. 15 by the resource that is doubled."""
    point, printed = points_of(row)[0], facts()
    doubled_bits, doubled_banks = (
        int(printed[f"ixp2400.experiment.{name}"].point or 0) for name in ("bus_width", "banks")
    )
    return {"dram.bus": point.with_(bus_bits=doubled_bits), "dram.bank": point.with_(banks=doubled_banks)}


def _figure_15(row: Row) -> list[Point]:
    return [points_of(row)[0], *_doubled(row).values()]


def _drop(row: Row, get: Get) -> dict[str, float]:
    base = get(points_of(row)[0])
    return {
        name: 1 - busy_of(row, get(doubled), name) / busy_of(row, base, name) for name, doubled in _doubled(row).items()
    }


QUANTITIES: Mapping[str, Quantity] = {
    "throughput": CONDITIONS.mean(throughput),
    "utilization": CONDITIONS.utilization(),
    "mean utilization": Quantity(
        _figure_15, lambda row, get: {label_of(p): busy(row, get(p)) for p in _figure_15(row)}
    ),
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
        over_threads, lambda row, get: {k: _reaches(SATURATED.value, c) for k, c in _curves(row, get).items()}
    ),
    "threads at peak": Quantity(
        over_threads, lambda row, get: {k: _reaches(PEAK.value, c) for k, c in _curves(row, get).items()}
    ),
    "throughput against threads": Quantity(
        over_threads, lambda row, get: {k: _rises(c) for k, c in _curves(row, get).items()}
    ),
    "share of accesses": Quantity(
        points_of, lambda row, get: {label_of(p): _narrow(get(p)) for p in points_of(row)}, "exact"
    ),
    "smallest share of packets": exact(lambda row: min(_on_chip(row).values())),
    "largest share of packets": exact(lambda row: max(_on_chip(row).values())),
    "cells per packet": exact(
        lambda row: load_mix(str(row.conditions["mix"])).mean_cells(int(design(row.design).parameters.cell_bytes))
    ),
    "capacity": exact(
        lambda row: float(scratch_bytes_needed(design(row.design).with_(**knobs_of(row)).parameters))
    ),
}  # fmt: skip
