"""Closed networks with several classes of customers: exact mean value analysis over all population vectors.

Product form (BCMP, JACM 22, 1975): FIFO with one exponential service time for all classes, or PS, delay and preemptive
LIFO with any. Capacity of a load-dependent station depends on its total number of customers. Recursions:
`npexplore/_kernels/queueing_multiclass.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from npexplore._kernels import queueing_multiclass as kernels
from npexplore.errors import InputError, RefusedError
from npexplore.records import by_content
from npexplore.solve.queueing.inputs import (
    SHORTEST,
    Booleans,
    Floats,
    Ints,
    as_floats,
    delay_flags,
    nonnegative,
    pick,
    rate_cube,
    refuse_first,
)

MAX_STATES = 20_000_000  # population vectors of one point; each holds one number per station or level


@by_content
@dataclass(frozen=True)
class MultiMva:
    """Means of P closed networks of K stations and R classes; seconds, customers, customers per second.

    throughput, response_time (P, R); queue_length, residence_time, utilization (P, K, R), as in `Mva`; a class without
    customers has zeros. `approximation` names the approximation, None if exact.

    Example:
        >>> from npexplore.queueing import multiclass_mva
        >>> found = multiclass_mva([[1.0, 0.5], [0.2, 0.4]], [1, 2])
        >>> found.throughput.shape
        (1, 2)
    """

    throughput: Floats
    queue_length: Floats
    residence_time: Floats
    utilization: Floats
    response_time: Floats
    approximation: str | None = None


@dataclass(frozen=True)
class ClosedModel:
    """Checked arguments of a multi-class solver: demands (P, K, R), population and think time (P, R), rates (., K, M).

    delays and varying (K,) flag the stations without queueing and those whose capacity depends on the load.
    """

    demands: Floats
    population: Ints
    think_time: Floats
    rates: Floats
    delays: Booleans
    varying: Booleans
    names: Sequence[str] | None

    @classmethod
    def read(
        cls,
        demands: ArrayLike,
        population: ArrayLike,
        think_time: ArrayLike,
        rates: ArrayLike | None,
        delay: ArrayLike | None,
        names: Sequence[str] | None,
        *,
        empty: bool = False,
    ) -> ClosedModel:
        """Check the arguments of `multiclass_mva`; `empty` allows a population of zero in every class."""
        axes = ("point", "station", "class")
        table = as_floats("demand", demands)
        table = table[None] if table.ndim == 2 else table
        if table.ndim != 3:
            raise InputError(f"demands must have the axes (points, stations, classes), got shape {table.shape}")
        nonnegative("demand", table, names, axes)
        P, K, R = table.shape
        counts, Z = class_row("population", population, P, R), class_row("think time", think_time, P, R)
        refuse_first(counts != np.floor(counts), counts, "population", "a whole number", None, ("point", "class"))
        if not empty:
            total = counts.sum(axis=1)
            refuse_first(total == 0, total, "population of all classes", "at least 1", None, ("point",))
        cycle = table.sum(axis=1) + Z
        idle = (cycle <= SHORTEST) & (counts > 0)
        refuse_first(idle, cycle, "sum of demands and think time", f"above {SHORTEST} s", None, ("point", "class"))
        cube = np.ones((1, K, 1)) if rates is None else rate_cube(rates, P, K, names)
        delays = delay_flags(delay, K)
        varying = (cube != 1.0).any(axis=(0, 2)) & ~delays
        return cls(table, counts.astype(np.int64), Z, cube, delays, varying, names)

    @property
    def away(self) -> Floats:
        """Return the seconds (P, R) spent without queueing: think time and delay stations."""
        total: Floats = self.think_time + self.demands[:, self.delays].sum(axis=1)
        return total

    def result(
        self, throughput: Floats, queue: Floats, approximation: str | None = None, capacity: Floats | None = None
    ) -> MultiMva:
        """Return the means that follow from X (P, R) and Q (P, K, R) by Little's law and the utilization law.

        capacity: (K,) or (P, K) (None: the largest of the rates).
        """
        busy = throughput[:, None, :] * self.demands
        queue = np.where(self.delays[:, None], busy, queue)
        with np.errstate(invalid="ignore", divide="ignore"):
            residence = np.where(throughput[:, None, :] > 0, queue / throughput[:, None, :], 0.0)
        limits = np.where(self.delays, 1.0, self.rates.max(axis=2) if capacity is None else capacity)
        return MultiMva(throughput, queue, residence, busy / limits[..., :, None], residence.sum(axis=1), approximation)


def class_row(subject: str, values: ArrayLike, points: int, classes: int) -> Floats:
    """Return a nonnegative number for every point and class (P, R), from one number, one per class, or all."""
    row = as_floats(subject, values)
    if row.shape not in ((), (1,), (classes,), (1, classes), (points, classes)):
        raise InputError(f"{subject} must be one per class ({classes}) or (P, R), got shape {row.shape}")
    return nonnegative(subject, np.ascontiguousarray(np.broadcast_to(row, (points, classes))), None, ("point", "class"))


def multiclass_mva(
    demands: ArrayLike,
    population: ArrayLike,
    think_time: ArrayLike = 0.0,
    rates: ArrayLike | None = None,
    *,
    delay: ArrayLike | None = None,
    names: Sequence[str] | None = None,
) -> MultiMva:
    """Solve P closed networks of several classes exactly.

    demands: (P, K, R) or (K, R): service time of a customer at each station per cycle, in seconds. population: (R,) or
    (P, R) customers. think_time: (R,) or (P, R) seconds. rates, delay, names: as in `mva`.

    Cost and memory grow with the product of (population + 1) over classes; for large populations use `approximate_mva`.
    Raises InputError for an empty network and for negative or NaN values (naming station and value); RefusedError for
    too many population vectors and for load-dependent networks beyond double precision.
    """
    model = ClosedModel.read(demands, population, think_time, rates, delay, names)
    throughput, queue, _ = solve_closed(model)
    return model.result(throughput, queue)


def solve_closed(model: ClosedModel) -> tuple[Floats, Floats, Floats]:
    """Return X (P, R), Q (P, K, R) and the marginals (P, L, M + 1) of the load-dependent stations of a model."""
    states = float(np.prod(model.population + 1.0, axis=1).max())
    if states > MAX_STATES:
        raise RefusedError(
            f"exact multi-class MVA: {states:.3g} population vectors are more than {MAX_STATES}; "
            "use approximate_mva (Schweitzer or Linearizer)"
        )
    P, K, R = model.demands.shape
    varying = model.varying
    fixed = ~varying & ~model.delays
    throughput, queue = np.empty((P, R)), np.zeros((P, K, R))
    queue_fixed = np.empty((P, int(fixed.sum()), R))
    marginal = np.empty((P, int(varying.sum()), model.rates.shape[2] + 1))
    if varying.any():
        scale = _scale(model)
        queue_varying = np.empty((P, int(varying.sum()), R))
        failed_point = kernels.load_dependent(
            pick(model.demands * scale[:, None], fixed),
            pick(model.demands * scale[:, None], varying),
            1.0 / pick(model.rates, varying),
            model.population,
            model.away * scale,
            throughput,
            queue_fixed,
            queue_varying,
            marginal,
        )
        if failed_point >= 0:
            raise RefusedError(
                f"exact multi-class MVA: point {failed_point} with load-dependent rates leaves double precision with "
                f"{model.population[failed_point].sum()} customers; use approximate_mva or smaller populations"
            )
        throughput *= scale
        queue[:, varying] = queue_varying
    else:
        kernels.load_independent(pick(model.demands, fixed), model.population, model.away, throughput, queue_fixed)
    queue[:, fixed] = queue_fixed
    return throughput, queue, marginal


def _scale(model: ClosedModel) -> Floats:
    """Return a rough estimate (P, R) of X from asymptotic bounds, in proportion to populations; 1 for empty classes."""
    capacity = np.where(model.delays, np.inf, model.rates.max(axis=2))
    load = model.population / np.maximum(model.demands.sum(axis=1) + model.think_time, SHORTEST)
    stretch = ((model.demands * load[:, None]).sum(axis=2) / capacity).max(axis=1, initial=0.0)
    guess: Floats = np.where(model.population > 0, load / np.maximum(stretch, 1.0)[:, None], 1.0)
    return guess
