"""Traffic equations: the rate or visit ratio of each station, from routing probabilities.

Open: lambda_k = gamma_k + sum over i of lambda_i P_ik. Closed: v = v P with v = 1 at the reference station.
(Jackson, Operations Research 5, 1957; Gordon and Newell, Operations Research 15, 1967.)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from npexplore.errors import InputError
from npexplore.solve.queueing.inputs import Booleans, Floats, label, nonnegative

_DUST = 1e-9


def _routing(routing: ArrayLike, names: Sequence[str] | None) -> Floats:
    table = nonnegative("routing probability", routing, names, ("station", "next station"))
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise InputError(f"routing must be a square table, shape (stations, stations), got shape {table.shape}")
    for k, total in enumerate(table.sum(axis=1)):
        if total > 1 + _DUST:
            raise InputError(
                f"routing probabilities out of station {label(k, names)} must add up to 1 at most, got {total}"
            )
    return table


def _reachable(routing: Floats, start: Booleans) -> Booleans:
    reached = start
    for _ in range(len(routing)):
        reached = reached | (routing[reached] > 0).any(axis=0)
    return reached


def open_rates(routing: ArrayLike, arrivals: ArrayLike, names: Sequence[str] | None = None) -> Floats:
    """Return the customers per second (K,) through each station of an open network.

    routing: (K, K): probabilities from a row's station to each next one; 1 minus the sum of a row leaves the network.
    arrivals: (K,): customers per second from outside. names: of the stations, for errors.
    Raises InputError if arriving customers can never leave.
    """
    table = _routing(routing, names)
    K = len(table)
    outside = nonnegative("arrival rate", arrivals, names, ("station",))
    if outside.shape != (K,):
        raise InputError(f"arrivals must be one per station ({K}), got shape {outside.shape}")
    reached = _reachable(table, outside > 0)
    leaves = 1 - table.sum(axis=1) > _DUST
    exits = _reachable(table.T, leaves)
    for k in np.flatnonzero(reached & ~exits):
        raise InputError(f"routing from station {label(int(k), names)} must lead out of the network, got no way out")
    rates = np.zeros(K)
    inner = np.ix_(reached, reached)
    rates[reached] = np.linalg.solve(np.eye(int(reached.sum())) - table[inner].T, outside[reached])
    return rates


def closed_visits(routing: ArrayLike, reference: int = 0, names: Sequence[str] | None = None) -> Floats:
    """Return the visit ratios (K,): visits to each station per visit to a reference station.

    routing: (K, K): probabilities from a row's station to each next one; each row adds up to 1. reference: the number
    of the reference station. names: of the stations, for errors. Raises InputError if a row does not add up to 1, or if
    a station has no path back to `reference`.
    """
    table = _routing(routing, names)
    K = len(table)
    if not 0 <= reference < K:
        raise InputError(f"reference station must be one of 0..{K - 1}, got {reference}")
    start = np.arange(K) == reference
    reached = _reachable(table, start)
    for k in np.flatnonzero(reached):
        total = table[k].sum()
        if abs(total - 1) > _DUST:
            raise InputError(
                f"routing probabilities out of station {label(int(k), names)} of a closed network must add up to 1, "
                f"got {total}"
            )
    back = _reachable(table.T, start)
    for k in np.flatnonzero(reached & ~back):
        raise InputError(
            f"routing from station {label(int(k), names)} must lead back to station {label(reference, names)}"
        )
    # visits to other stations between two visits to the reference: an open network fed by its departures
    visits = np.zeros(K)
    visits[reference] = 1.0
    others = reached & ~start
    if others.any():
        inner = table[np.ix_(others, others)]
        visits[others] = np.linalg.solve(np.eye(len(inner)) - inner.T, table[reference, others])
    return visits
