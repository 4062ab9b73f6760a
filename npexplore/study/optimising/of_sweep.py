"""Computes the front of a sweep's rows: the cost of each point's machine, and the points that are worth their cost.

front = points that gain more than the tolerance over every kept point that costs no more     (pareto.worth_their_cost)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from npexplore.designs import Design
from npexplore.errors import InputError, one_of
from npexplore.study.optimising.costs import COSTS, costs
from npexplore.study.optimising.pareto import worth_their_cost
from npexplore.study.optimising.prices import PriceFile, priced

if TYPE_CHECKING:
    import pandas as pd

MERITS = {"throughput": "throughput_bps", "latency": "latency_mean_ns"}
COST = "cost"  # name of the sum over a price file, and column of the chosen cost


def split_front(text: str, prices: PriceFile | None) -> tuple[str, str]:
    """Return merit and cost of `MERIT:COST`; raises InputError, UnknownNameError."""
    merit, colon, cost = text.partition(":")
    if not colon:
        raise InputError(f"--front needs MERIT:COST, as in throughput:luts, got {text!r}")
    one_of("merit of a front", merit, MERITS)
    price_names = [] if prices is None else [COST, prices.name]
    if cost == COST and prices is None:
        raise InputError("--front throughput:cost needs --prices TOML, what a unit of each resource costs")
    return merit, one_of("cost of a front", cost, [*COSTS, *price_names])


def front_of(
    rows: pd.DataFrame, design: Design, knobs: Sequence[str], merit: str, cost: str, prices: PriceFile | None = None,
    tolerance: float = 0.05,
) -> pd.DataFrame:  # fmt: skip
    """Return the rows on the front, best first, with the column `cost`; rows of one point (seeds) are averaged.

    rows: rows of a sweep over knobs. Raises InputError for rows of several workloads or solvers.
    """
    for name in ("workload", "solver"):
        if rows[name].nunique() > 1:
            raise InputError(f"a front needs rows of one {name}, got {', '.join(map(str, rows[name].unique()))}")
    column = MERITS[merit]
    answered = rows.dropna(subset=[column])
    if answered.empty:
        return answered.assign(**{COST: []})
    numbers = [name for name in ("throughput_bps", "rate_mpps", "latency_mean_ns") if name in rows]
    first = dict.fromkeys(("solver", "bottleneck"), "first")
    points = answered.groupby(list(knobs), sort=False, as_index=False).agg(dict.fromkeys(numbers, "mean") | first)
    points[COST] = [_cost(design, dict(zip(knobs, values, strict=True)), cost, prices)
                    for values in points[list(knobs)].itertuples(index=False, name=None)]  # fmt: skip
    value = points[column].to_numpy(float)
    front = worth_their_cost(points[[COST]].to_numpy(float), (value if merit == "throughput" else 1 / value)[:, None],
                            tolerance)  # fmt: skip
    return points.iloc[front].reset_index(drop=True)


def _cost(design: Design, knobs: dict[str, Any], cost: str, prices: PriceFile | None) -> float:
    """Return the cost of a design with some knobs changed."""
    point = design.with_(**{name: getattr(value, "item", lambda value=value: value)() for name, value in knobs.items()})
    values = costs(point)
    if cost in values:
        return values[cost]
    assert prices is not None
    return float(priced(prices, point, {name: np.array([value]) for name, value in values.items()}, {})[0])
