"""Single queues with exponential service: M/M/1, M/M/c, M/M/c/K, machine repairman (all exact).

M/M/c: W = C(c, a) / (c mu - lambda), with the Erlang C formula from the recursion B(j) = a B(j-1) / (j + a B(j-1)).
M/M/c/K and the repairman are birth-death chains. (Kleinrock, Queueing Systems I, 1975, chapter 3.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from npexplore.records import by_content
from npexplore.solve.queueing.birth_death import steady_state
from npexplore.solve.queueing.inputs import Floats, Ints, numbers, stable, whole


@by_content
@dataclass(frozen=True)
class QueueMeans:
    """Means of single queues (any shape): customers, customers per second, seconds.

    utilization is of each server; mean_number counts customers waiting and in service; mean_wait is before service,
    mean_response with service; loss is the loss ratio; `approximation` names the approximation, None if exact.

    Example:
        >>> from npexplore.queueing import mm1
        >>> float(mm1(0.5, 1.0).mean_number)
        1.0
    """

    throughput: Floats
    utilization: Floats
    mean_number: Floats
    mean_wait: Floats
    mean_response: Floats
    loss: Floats
    approximation: str | None = None


def without_loss(
    arrival_rate: Floats, service: Floats, wait: Floats, servers: Ints | int = 1, approximation: str | None = None
) -> QueueMeans:
    """Return the means of a stable queue by Little's law from its mean wait (seconds)."""
    response = wait + service
    load = np.asarray(arrival_rate * service / servers)
    number = np.asarray(arrival_rate * response)
    return QueueMeans(arrival_rate, load, number, wait, response, np.zeros_like(wait), approximation)


def erlang_b(offered: ArrayLike, servers: ArrayLike) -> Floats:
    """Return the blocking probability (Erlang's B) of `servers` without a queue; offered: load in erlangs."""
    a, c = np.broadcast_arrays(*numbers(offered=offered), *whole(servers=servers))
    blocked = np.ones(a.shape)
    for j in range(1, int(c.max(initial=1)) + 1):
        blocked = np.where(j <= c, a * blocked / (j + a * blocked), blocked)
    return blocked


def mm1(arrival_rate: ArrayLike, service_time: ArrayLike) -> QueueMeans:
    """Return the means of M/M/1; raises InputError if it is unstable."""
    return mmc(arrival_rate, service_time, 1)


def mmc(arrival_rate: ArrayLike, service_time: ArrayLike, servers: ArrayLike) -> QueueMeans:
    """Return the means of M/M/c with FIFO; raises InputError if it is unstable.

    arrival_rate: per second. service_time: mean, in seconds. servers: c. All have one shape, or shapes that broadcast.
    """
    rate, service, c, waits = waiting(arrival_rate, service_time, servers)
    return without_loss(rate, service, np.asarray(waits * service / (c * (1 - rate * service / c))), c)


def waiting(
    arrival_rate: ArrayLike, service_time: ArrayLike, servers: ArrayLike
) -> tuple[Floats, Floats, Ints, Floats]:
    """Return the arguments of a stable M/M/c in one shape, and the probability to wait (Erlang's C)."""
    rate, service = numbers(arrival_rate=arrival_rate, service_time=service_time)
    rate, service, c = np.broadcast_arrays(rate, service, *whole(servers=servers))
    share = np.asarray(rate * service / c)
    stable(share)
    blocked = erlang_b(rate * service, c)
    return rate, service, c, np.asarray(blocked / (1 - share * (1 - blocked)))


def mmck(arrival_rate: ArrayLike, service_time: ArrayLike, servers: ArrayLike, capacity: ArrayLike) -> QueueMeans:
    """Return the means of M/M/c/K; mean_wait is of those admitted. Raises InputError.

    arrival_rate, service_time, servers: as in `mmc`. capacity: K, which counts the customers in service too; with K
    below c the servers beyond K are never used.
    """
    rate, service = numbers(positive=True, arrival_rate=arrival_rate, service_time=service_time)
    rate, service, c, room = np.broadcast_arrays(rate, service, *whole(servers=servers), *whole(capacity=capacity))
    state = np.arange(int(room.max(initial=1)))
    birth = np.where(state < room[..., None], rate[..., None], 0.0)
    return _finite(birth, np.minimum(state + 1, c[..., None]) / service[..., None], service, c)


def machine_repairman(
    machines: ArrayLike, time_to_failure: ArrayLike, service_time: ArrayLike, servers: ArrayLike = 1
) -> QueueMeans:
    """Return the means of a repair queue (exact); raises InputError.

    machines: their number. time_to_failure: exponential running time of each, mean in seconds. service_time: of a
    repair, exponential, mean in seconds. servers: repairers. All have one shape, or shapes that broadcast.

    The same as threads that compute for `time_to_failure` seconds and then visit a memory.
    """
    away, service = numbers(positive=True, time_to_failure=time_to_failure, service_time=service_time)
    away, service, n, c = np.broadcast_arrays(away, service, *whole(machines=machines), *whole(servers=servers))
    state = np.arange(int(n.max(initial=1)))
    birth = np.maximum(n[..., None] - state, 0) / away[..., None]
    return _finite(birth, np.minimum(state + 1, c[..., None]) / service[..., None], service, c, lossless=True)


def _finite(birth: Floats, death: Floats, service: Floats, servers: Floats, *, lossless: bool = False) -> QueueMeans:
    p = steady_state(birth, death)
    states = np.arange(p.shape[-1])
    throughput = np.asarray((p[..., 1:] * death).sum(axis=-1))
    number = np.asarray((p * states).sum(axis=-1))
    response = number / throughput
    full = np.concatenate([birth == 0, np.ones((*birth.shape[:-1], 1), bool)], axis=-1)
    loss = np.zeros_like(number) if lossless else np.asarray((p * full).sum(axis=-1))
    wait = (p * np.maximum(states - servers[..., None], 0)).sum(axis=-1) / throughput
    return QueueMeans(throughput, np.asarray(throughput * service / servers), number, wait, response, loss)
