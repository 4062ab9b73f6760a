"""Closed networks with one class of customers: exact mean value analysis, and flow-equivalent stations.

N customers circulate over K stations; per cycle, a customer has demand D_k = visits x service time. Exact for
product form (BCMP: exponential FIFO, or any service under PS, delay or preemptive LIFO). The recursions are in
`npexplore/_kernels/mva.py` (Reiser and Lavenberg, JACM 27, 1980); flow equivalence is Chandy, Herzog and Woo,
"Parametric analysis of queuing networks", IBM J. Res. Dev. 19, 1975.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from npexplore._kernels.mva import LANES, load_dependent, load_independent
from npexplore.errors import InputError, RefusedError
from npexplore.records import by_content
from npexplore.solve.queueing.inputs import (
    SHORTEST,
    Booleans,
    Floats,
    Ints,
    as_floats,
    delay_flags,
    demand_table,
    label,
    nonnegative,
    per_point,
    pick,
    population_row,
    rate_cube,
    refuse_first,
)

MOST_CUSTOMERS = 50_000_000  # one step of the recursion each
MOST_BYTES = 1 << 29  # of the tables over all populations, for load-dependent stations
# a probability that underflows must stay below exp(-60)
_LOG_RANGE = 640.0


@by_content
@dataclass(frozen=True)
class Mva:
    """Means of P closed single-class networks of K stations; times in seconds, rates per second.

    throughput (P,): customers per second around the network; queue_length, residence_time (P, K): customers and seconds
    (over all visits) at a station, waiting and in service; utilization (P, K): throughput x demand / largest capacity,
    hence the busy share of a server, but the mean number of customers at a delay station; response_time (P,): of the
    network without the think time. `approximation` names the approximation, None if exact.

    Example:
        >>> from npexplore.queueing import mva
        >>> float(mva([1.0, 0.5], 1).throughput[0])
        0.6666666666666666
    """

    throughput: Floats
    queue_length: Floats
    residence_time: Floats
    utilization: Floats
    response_time: Floats
    approximation: str | None = None


def multiserver_rates(servers: ArrayLike, population_max: int) -> Floats:
    """Return the capacity multipliers (K, M) of stations with `servers` (K,) equal servers: min(j, servers).

    M is no larger than the largest number of servers or customers.
    """
    count = np.atleast_1d(as_floats("servers", servers))
    refuse_first(
        ~(count >= 1) | (count != np.floor(count)), count, "servers", "a whole number >= 1", None, ("station",)
    )
    levels = int(min(count.max(initial=1), population_max))
    capacity: Floats = np.minimum(np.arange(1.0, levels + 1), count[:, None])
    return capacity


def stack_rates(*parts: ArrayLike) -> Floats:
    """Return the capacities of several stations as one table (K, M), or (P, K, M) if a part has points.

    A part is one station (M,), several (K, M), or several per point (P, K, M); shorter parts are continued at their
    last capacity. Raises InputError for parts that do not fit.
    """
    cubes = [as_floats("rate", part) for part in parts]
    if not cubes or any(cube.ndim > 3 or not cube.size for cube in cubes):
        raise InputError(f"rates must be (M,), (K, M) or (P, K, M), got {[np.shape(part) for part in parts]}")
    cubes = [cube.reshape((1,) * (3 - cube.ndim) + cube.shape) for cube in cubes]
    levels, points = max(cube.shape[2] for cube in cubes), max(cube.shape[0] for cube in cubes)
    if any(cube.shape[0] not in (1, points) for cube in cubes):
        raise InputError(f"rates must be of the same points, got {[np.shape(part) for part in parts]}")
    padded = [np.pad(cube, ((0, 0), (0, 0), (0, levels - cube.shape[2])), mode="edge") for cube in cubes]
    table = np.concatenate([np.broadcast_to(cube, (points, *cube.shape[1:])) for cube in padded], axis=1)
    return table[0] if points == 1 else table


def _variation(scv: ArrayLike | None, points: int, stations: int, names: Sequence[str] | None) -> Floats:
    """Return scv as (1, K) or (P, K), or an empty table if all service is exponential."""
    if scv is None:
        return np.zeros((0, 0))
    table = nonnegative("scv", np.atleast_2d(as_floats("scv", scv)), names)
    if table.shape not in ((1, stations), (points, stations)):
        raise InputError(f"scv must be (K,) or (P, K) with K = {stations} stations, got shape {np.shape(scv)}")
    return table if (table != 1.0).any() else np.zeros((0, 0))


def _refuse_wide_rates(cube: Floats, population: int, stations: Ints, names: Sequence[str] | None) -> None:
    """Raise RefusedError for rates with which a probability that underflows could later become significant."""
    used = cube[:, :, : min(population, cube.shape[2])]
    growth = np.log(used.max(axis=2, keepdims=True) / used)
    total = growth.sum(axis=2) + growth[:, :, -1] * (population - used.shape[2])
    if (total > _LOG_RANGE).any():
        station = int(stations[np.argwhere(total > _LOG_RANGE)[0][1]])
        raise RefusedError(
            f"exact MVA: load-dependent rates of station {label(station, names)} spread too widely for {population} "
            "customers in double precision; use a delay station or fewer rate levels"
        )


def _away_and_cycle(table: Floats, think_time: Floats, delays: Booleans) -> tuple[Floats, Floats]:
    """Return the seconds (P,) away from all queues, and those of the whole cycle of a customer alone.

    Sums along rows add a point's demands in one order for any number of points; a matrix product does not.
    """
    away = think_time + np.sum(np.where(delays, table, 0.0), axis=1)
    return away, away + np.sum(np.where(delays, 0.0, table), axis=1)


def mva(
    demands: ArrayLike,
    population: ArrayLike,
    think_time: ArrayLike = 0.0,
    rates: ArrayLike | None = None,
    *,
    delay: ArrayLike | None = None,
    scv: ArrayLike | None = None,
    names: Sequence[str] | None = None,
) -> Mva:
    """Solve P closed single-class networks by mean value analysis.

    Args:
        demands: (P, K) or (K,): service time of a customer at each station per cycle, in seconds.
        population: (P,) or one number of customers.
        think_time: (P,) or one number: seconds away from all stations.
        rates: (K, M) or (P, K, M): capacity with j = 1..M customers, in units of one server; the last holds beyond M.
            All ones is a single server, min(j, c) are c servers (`multiserver_rates`), a measured throughput curve is a
            flow-equivalent station.
        delay: (K,): flags of stations without queueing (infinite servers).
        scv: (K,) or (P, K): squared coefficient of variation of FIFO service. With any value but 1 the result is the
            approximation "residual-time MVA" (Reiser 1979): the residual life of service is s (1 + scv) / 2.
        names: of the stations, for errors.

    Raises InputError for a zero population, a negative or NaN demand (naming station and value), demands that are all
    zero; RefusedError for scv together with load-dependent rates and for rates spread beyond double precision.
    """
    table = demand_table(demands, names)
    P, K = table.shape
    N, Z = population_row(population, P), per_point("think time", think_time, P)
    if N.max(initial=1) > MOST_CUSTOMERS:
        raise RefusedError(f"exact MVA: {N.max()} customers are more than {MOST_CUSTOMERS}; use approximate_mva")
    delays = delay_flags(delay, K)
    cube = np.ones((1, K, 1)) if rates is None else rate_cube(rates, P, K, names)
    variation = _variation(scv, P, K, names)
    away, cycle = _away_and_cycle(table, Z, delays)
    refuse_first(cycle <= SHORTEST, cycle, "sum of demands and think time", f"above {SHORTEST} s", None, ("point",))

    varying = (cube != 1.0).any(axis=(0, 2)) & ~delays
    fixed = ~varying & ~delays
    x, queue = np.empty(P), np.empty((P, K))
    queue_fixed = queue if fixed.all() else np.empty((P, int(fixed.sum())))
    if varying.any():
        if variation.size:
            raise RefusedError("residual-time MVA: load-dependent rates with a coefficient of variation of service")
        used = pick(cube, varying)
        tables = (int(N.max(initial=1)) + 1) * (3 * int(varying.sum()) + 4) * LANES * 8
        if tables > MOST_BYTES:
            raise RefusedError(
                f"exact MVA: load-dependent stations with {N.max()} customers need {tables >> 20} MB; "
                "use approximate_mva with servers, or fewer customers"
            )
        _refuse_wide_rates(used, int(N.max(initial=1)), np.flatnonzero(varying), names)
        queue_varying = np.empty((P, int(varying.sum())))
        load_dependent(pick(table, fixed), pick(table, varying), used, N, away, x, queue_fixed, queue_varying)
        queue[:, varying] = queue_varying
    else:
        load_independent(pick(table, fixed), N, away, pick(variation, fixed), x, queue_fixed, np.empty((P, 0)))
    busy = x[:, None] * table
    if queue_fixed is not queue:
        queue[:, fixed] = queue_fixed
        queue[:, delays] = busy[:, delays]
    residence = queue / x[:, None]
    busy /= np.where(delays, 1.0, cube.max(axis=2))
    approximation = "residual-time MVA" if variation.size else None
    return Mva(x, queue, residence, busy, np.einsum("pk->p", residence), approximation)


def flow_equivalent(
    demands: ArrayLike,
    population_max: int,
    rates: ArrayLike | None = None,
    think_time: ArrayLike = 0.0,
    *,
    delay: ArrayLike | None = None,
    names: Sequence[str] | None = None,
) -> Floats:
    """Return the throughput (P, N) of the short-circuited sub-network with 1..N customers inside.

    demands, rates, think_time, delay, names: as in `mva`, with the same errors. population_max: N.

    A group of stations held together is replaced by one station of demand 1 and these capacities: pass them in `rates`
    of `mva`. Exact if the whole network has product form, else an approximation. A simulated throughput curve is passed
    in the same way.
    """
    table = demand_table(demands, names)
    limit = int(population_row(population_max, 1)[0])
    P, K = table.shape
    Z, delays = per_point("think time", think_time, P), delay_flags(delay, K)
    if rates is None:  # one recursion gives all populations
        away, cycle = _away_and_cycle(table, Z, delays)
        refuse_first(cycle <= SHORTEST, cycle, "sum of demands and think time", f"above {SHORTEST} s", None, ("point",))
        fixed, curve = pick(table, ~delays), np.empty((P, limit))
        every, none = np.full(P, limit), np.zeros((0, 0))
        load_independent(fixed, every, away, none, np.empty(P), np.empty(fixed.shape), curve)
        return curve
    counts = np.arange(1, limit + 1)
    cube = rate_cube(rates, P, K, names)
    rates = np.repeat(cube, limit, axis=0) if len(cube) > 1 else cube
    every = np.repeat(table, limit, axis=0)
    solved = mva(every, np.tile(counts, P), np.repeat(Z, limit), rates, delay=delay, names=names)
    return solved.throughput.reshape(P, limit)
