"""Computes LUTs of Figs. 11, 12 and Sec. 4.6 from synthesised engines: unfitted, and scaled to one calibration cell.

    share = clusters x engines x LUTs of an engine (threads, stores) / LUTs of the device      (x scale)
    scale = published share / share, of one calibration cell

Only engines are counted. The calibration cells alone determine the memory of the contexts: the memory whose ratio of
LUTs with four threads to LUTs with one is nearest to the published ratio.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from statistics import fmean
from typing import Any

from npexplore.errors import one_of
from npexplore.hardware.area import Luts, engine_luts, syntheses
from npexplore.ledger import facts, load
from npexplore.machine.parameters import Parameters

ONE, FOUR = "gorilla.fig12.v6hx380t.e4.t1", "gorilla.fig12.v6hx380t.e4.t4"
CELLS = (ONE, FOUR, "gorilla.fig12.v7855t.e4.t4")  # calibration rows
DEVICES: Mapping[str, str] = {
    "v5tx240t": "luts_v5tx240t", "v6hx380t": "luts_v6hx380t", "v6lx240t": "luts_v6lx240t", "v7855t": "luts_v7855t",
}  # fmt: skip
STORES = ("lut_ram", "registers")


@dataclass(frozen=True)
class Cell:
    """One configuration on one device; `share` of the device's LUTs in per cent, `low` and `high` over the tools."""

    low: float
    share: float
    high: float


def shares(p: Parameters, conditions: Mapping[str, Any], stores: str, program: str = "ipv4") -> Cell:
    """Return the share of a device's LUTs of a configuration's engines; conditions: the conditions of a ledger row."""
    engines = float(conditions["clusters"]) * float(conditions["engines"])
    device = float(p[DEVICES[one_of("device", str(conditions["device"]), DEVICES)]])
    engine: Luts = engine_luts(program, int(float(conditions["threads"])), stores)
    return Cell(*(100 * engines * luts / device for luts in (engine.low, engine.mean, engine.high)))


def printed(cell: str) -> float:
    """Return the published share of a calibration cell, in per cent; raises InputError for a row of role check."""
    return float(facts()[cell].point or math.nan)


def scale(p: Parameters, stores: str, cell: str = ONE) -> float:
    """Return the published share of a calibration cell over the share of the synthesised engines."""
    row = facts()[cell]
    return printed(cell) / shares(p, row.conditions, stores).share


def chosen_store(p: Parameters) -> str:
    """Return the store of contexts whose growth from one thread to four is nearest to the published growth."""
    published = printed(FOUR) / printed(ONE)
    growth = {store: scale(p, store, ONE) * published / scale(p, store, FOUR) for store in STORES}
    return min(STORES, key=lambda store: abs(math.log(growth[store] / published)))


@cache
def _calibration() -> dict[str, tuple[Mapping[str, Any], float]]:
    return {key: (facts()[key].conditions, printed(key)) for key in CELLS}


def constant() -> float:
    """Return the baseline without a model for every cell: the mean of the calibration cells."""
    return fmean(value for _, value in _calibration().values())


def nearest(conditions: Mapping[str, Any]) -> float:
    """Return the share of the nearest calibration cell: on the same device if possible, then by engines and threads."""

    def distance(other: Mapping[str, Any]) -> float:
        logarithms = sum(abs(math.log(float(other[k]) / float(conditions[k]))) for k in ("engines", "threads"))
        return logarithms + (10.0 if other["device"] != conditions["device"] else 0.0)

    _, value = min(_calibration().values(), key=lambda cell: distance(cell[0]))
    return value


def cells(p: Parameters, stores: str) -> list[dict[str, Any]]:
    """Return a record for each published share of LUTs: the printed share, ours, and two baselines.

    Rows with a number of threads for which no engine was synthesised are left out. Only `published` and `role` of a
    record depend on rows of role check.
    """
    by_one = scale(p, stores)
    records = []
    threads = {
        s.threads for s in syntheses() if (s.program, s.stores, s.family) == ("ipv4", stores, "xc7")
        and s.scheduler == "ready"
    }  # fmt: skip
    for row in load():
        if row.quantity != "LUT utilization" or row.design != "gorilla":
            continue
        if int(float(row.conditions["threads"])) not in threads:
            continue
        cell = shares(p, row.conditions, stores)
        records.append({
            "key": row.key, "role": row.role, "published": row.point, "unfitted": cell.share, "low": cell.low,
            "high": cell.high, "scaled": by_one * cell.share, "constant": constant(),
            "nearest": nearest(row.conditions),
        })  # fmt: skip
    return records
