"""Asymptotic and balanced-job bounds of closed networks from demands alone, with the station that sets them.

One class (Lazowska, Zahorjan, Graham, Sevcik, Quantitative System Performance, 1984, chapter 5), D = sum D_k:
asymptotic N / (N D + Z) <= X <= min(N / (D + Z), c_k / D_k); balanced-job, for single servers,

    N / (D + Z + (N - 1) D_max / (1 + Z / (N D))) <= X <= min(1 / D_max, N / (D + Z + (N - 1) D_avg / (1 + Z / D)))

Several classes: the arrival theorem R_kr = D_kr (1 + Q_k(N - e_r)), for the lower bound with all |N| - 1 other
customers at the station with the largest demand of the class, for the upper bound with those that cannot be thinking at
the station with the smallest. Asymptotic upper bounds need no assumption about distributions; all others hold for
product form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from npexplore.errors import RefusedError
from npexplore.records import by_content
from npexplore.solve.queueing.inputs import Floats, Ints, demand_table, per_point, population_row, refuse_first, whole
from npexplore.solve.queueing.multiclass import ClosedModel


@by_content
@dataclass(frozen=True)
class JobBounds:
    """Bounds of throughput, customers per second, with the bottleneck.

    Arrays (P,), or (P, R) for several classes. bottleneck: index of the station that saturates first. knee: the
    population from which that station, not the population, sets the asymptotic upper bound.

    Example:
        >>> from npexplore.queueing import balanced_job_bounds
        >>> bounds = balanced_job_bounds([1.0, 0.5], 4)
        >>> float(bounds.lower[0]) < float(bounds.upper[0])
        True
    """

    lower: Floats
    upper: Floats
    bottleneck: Ints
    knee: Floats


def asymptotic_bounds(
    demands: ArrayLike,
    population: ArrayLike,
    think_time: ArrayLike = 0.0,
    servers: ArrayLike = 1,
    *,
    names: Sequence[str] | None = None,
) -> JobBounds:
    """Bound P closed single-class networks by their demands alone; raises InputError.

    demands: (P, K): service time of a customer at each station per cycle, in seconds. population: (P,) or one number
    of customers. think_time: (P,) or one number of seconds. servers: of each station, (K,) or one number. names: of
    the stations, for errors.
    """
    table = demand_table(demands, names)
    N, Z = population_row(population, len(table)), per_point("think time", think_time, len(table))
    total, count = table.sum(axis=1), np.broadcast_to(whole(servers=servers)[0], table.shape)
    refuse_first(total == 0, total, "sum of demands", "greater than 0", None, ("point",))
    shares = table / count
    worst = shares.max(axis=1)
    upper = np.minimum(N / (total + Z), 1 / worst)
    return JobBounds(N / (N * total + Z), upper, shares.argmax(axis=1), (total + Z) / worst)


def balanced_job_bounds(
    demands: ArrayLike,
    population: ArrayLike,
    think_time: ArrayLike = 0.0,
    servers: ArrayLike = 1,
    *,
    names: Sequence[str] | None = None,
) -> JobBounds:
    """Bound P closed single-class product-form networks of single servers more tightly.

    demands, population, think_time, servers, names: as in `asymptotic_bounds`.

    Raises InputError; RefusedError for stations of several servers.
    """
    wide = asymptotic_bounds(demands, population, think_time, servers, names=names)
    if (whole(servers=servers)[0] > 1).any():
        raise RefusedError("balanced-job bounds: stations with several servers; use asymptotic_bounds")
    table = demand_table(demands, names)
    N, Z = population_row(population, len(table)), per_point("think time", think_time, len(table))
    total, worst = table.sum(axis=1), table.max(axis=1)
    lower = N / (total + Z + (N - 1) * worst / (1 + Z / (N * total)))
    upper = N / (total + Z + (N - 1) * (total / table.shape[1]) / (1 + Z / total))
    return JobBounds(lower, np.minimum(upper, 1 / worst), wide.bottleneck, wide.knee)


def multiclass_asymptotic_bounds(
    demands: ArrayLike,
    population: ArrayLike,
    think_time: ArrayLike = 0.0,
    servers: ArrayLike = 1,
    *,
    names: Sequence[str] | None = None,
) -> JobBounds:
    """Bound each class of P closed networks by their demands alone; raises InputError.

    demands: (P, K, R): service time of a customer at each station per cycle, in seconds. population: (R,) or (P, R)
    customers. think_time: (R,) or (P, R) seconds. servers: of each station, (K,) or one number. names: of the
    stations, for errors.

    For the lower bound, each customer of a class finds all others before it at the station with its largest demand.
    """
    model = ClosedModel.read(demands, population, think_time, None, None, names)
    N, Z, total = model.population, model.think_time, model.demands.sum(axis=1)
    shares = model.demands / np.broadcast_to(whole(servers=servers)[0], model.demands.shape[1])[:, None]
    worst = shares.max(axis=1)
    others = np.maximum(N.sum(axis=1, keepdims=True) - 1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        upper = np.where(N > 0, np.minimum(N / (total + Z), 1 / worst), 0.0)
        lower = np.where(N > 0, N / (total + Z + others * model.demands.max(axis=1)), 0.0)
        knee = (total + Z) / worst
    return JobBounds(lower, upper, shares.argmax(axis=1), knee)


def multiclass_balanced_bounds(
    demands: ArrayLike,
    population: ArrayLike,
    think_time: ArrayLike = 0.0,
    *,
    names: Sequence[str] | None = None,
) -> JobBounds:
    """Bound each class of P closed product-form networks of single servers more tightly.

    demands, population, think_time, names: as in `multiclass_asymptotic_bounds`, with the same errors.

    The upper bound counts the customers that must be queueing, since each class thinks at most its share of the time.
    """
    wide = multiclass_asymptotic_bounds(demands, population, think_time, names=names)
    model = ClosedModel.read(demands, population, think_time, None, None, names)
    N, Z, total = model.population, model.think_time, model.demands.sum(axis=1)
    R = N.shape[1]
    without = N[:, None, :] - np.eye(R, dtype=np.int64)  # (P, the class that left, R)
    with np.errstate(divide="ignore", invalid="ignore"):
        thinking = np.where(Z > 0, Z / (total + Z), 0.0)
        queued = np.maximum((without * (1 - thinking[:, None, :])).sum(axis=2), 0.0)
        upper = np.where(N > 0, N / (total + Z + queued * model.demands.min(axis=1)), 0.0)
    return JobBounds(wide.lower, np.minimum(wide.upper, upper), wide.bottleneck, wide.knee)
