"""Single queues with renewal arrivals, batches or loss: GI/M/c, M^X/M/1, M/G/c/c; the probability to wait in M/M/c.

GI/M/c (Kleinrock, Queueing Systems I, 1975, 6.2 to 6.5): sigma is the root in (0, 1) of A*(c mu (1 - sigma)) = sigma,
A* the Laplace transform of the time between arrivals; the wait of customers that wait is exponential with mean
1 / (c mu (1 - sigma)). With one server the probability to wait is sigma.
M^X/M/1 (the same, 4.5): N = rho (1 + E X^2 / E X) / (2 (1 - rho)).
M/G/c/c: the loss is Erlang's B for every distribution of service (Sevastyanov, Theory of Probability 2, 1957).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb

import numpy as np
from numpy.typing import ArrayLike

from npexplore.errors import InputError
from npexplore.solve.queueing.inputs import Floats, numbers, stable, whole
from npexplore.solve.queueing.markovian import QueueMeans, erlang_b, waiting, without_loss

Transform = Callable[[float], float]

MOST_CUSTOMERS, NEGLIGIBLE = 1_000_000, 1e-14  # truncation of a chain: states, last relative part of the mean number


def gm1_root(transform: Transform, arrival_rate: float, drain: float) -> float:
    """Return sigma, the root in (0, 1) of A*(drain (1 - sigma)) = sigma.

    transform: s -> E exp(-s T), T the time between arrivals in seconds. arrival_rate: per second, 1 / E T. drain: the
    rate of all servers together, per second. Raises InputError if the queue is unstable.
    """
    from scipy.optimize import brentq

    stable(np.asarray(arrival_rate / drain))

    def gap(sigma: float) -> float:
        return transform(drain * (1 - sigma)) - sigma

    high = 1.0
    for _ in range(60):  # just below 1, where the difference is negative
        high = (1 + high) / 2 if high < 1 else 1 - (1 - arrival_rate / drain) / 4
        if gap(high) < 0:
            return float(brentq(gap, 0.0, high, xtol=1e-15, rtol=8.9e-16))
    raise InputError(f"GI/M/1: no root below 1 at a load of {arrival_rate / drain:.12g}")


def gm1(transform: Transform, arrival_rate: float, service_time: float) -> QueueMeans:
    """Return the means of GI/M/1 with FIFO, exact for every distribution of the time between arrivals.

    transform, arrival_rate: as in `gm1_root`. service_time: mean, in seconds.
    """
    rate, service = numbers(positive=True, arrival_rate=arrival_rate, service_time=service_time)
    sigma = gm1_root(transform, float(rate), 1 / float(service))
    return without_loss(rate, service, np.asarray(service * sigma / (1 - sigma)))


def gmc(transform: Transform, arrival_rate: float, service_time: float, servers: int) -> tuple[QueueMeans, float]:
    """Return the exact means of GI/M/c with FIFO, and the probability to wait.

    transform, arrival_rate: as in `gm1_root`. service_time: mean, in seconds. servers: c.

    Probabilities of fewer than c customers on arrival come from Takacs' sum (Introduction to the Theory of Queues,
    1962, 2.3): W = D / (c mu (1 - sigma)^2), D the factor of the geometric probabilities from c - 1 on.
    """
    rate, service = numbers(positive=True, arrival_rate=arrival_rate, service_time=service_time)
    (c,) = whole(servers=servers)
    mu, n = 1 / float(service), int(c)
    sigma = gm1_root(transform, float(rate), n * mu)
    a = [transform(j * mu) for j in range(n + 1)]
    total, product = 0.0, 1.0
    for j in range(1, n + 1):
        ratio = (1 - a[j]) / a[j]  # C_j = prod A*_i / (1 - A*_i)
        product *= ratio
        total += comb(n, j) * product * (n * (1 - a[j]) - j) / (n * (1 - sigma) - j) / (1 - a[j])
    height = 1 / (1 / (1 - sigma) + total)
    waits = height / (1 - sigma)
    return without_loss(rate, service, np.asarray(waits / (n * mu * (1 - sigma))), c), waits


def mxm1(
    arrival_rate: ArrayLike, service_time: ArrayLike, batch_mean: ArrayLike, batch_square: ArrayLike
) -> QueueMeans:
    """Return the means of M^X/M/1, batches of X customers; raises InputError if it is unstable.

    arrival_rate: customers, not batches, per second. service_time: mean, in seconds. batch_mean, batch_square: E X and
    E X^2. All have one shape, or shapes that broadcast.
    """
    rate, service, mean, square = numbers(
        arrival_rate=arrival_rate, service_time=service_time, batch_mean=batch_mean, batch_square=batch_square
    )
    return mxg1(rate, service, np.asarray(1.0), mean, square)


def mxg1(
    arrival_rate: ArrayLike, service_time: ArrayLike, scv: ArrayLike, batch_mean: ArrayLike, batch_square: ArrayLike
) -> QueueMeans:
    """Return the means of M^X/G/1 with FIFO (Burke, Operations Research 23, 1975).

    arrival_rate, service_time, batch_mean, batch_square: as in `mxm1`. scv: squared coefficient of variation of
    service.

    W = rho s (1 + scv) / (2 (1 - rho)) + s (E X^2 / E X - 1) / (2 (1 - rho)): wait for other batches, and for the own.
    """
    rate, service, variation, mean, square = numbers(
        arrival_rate=arrival_rate, service_time=service_time, scv=scv, batch_mean=batch_mean, batch_square=batch_square
    )
    load = np.asarray(rate * service)
    stable(load)
    wait = (load * service * (1 + variation) + service * (square / mean - 1)) / (2 * (1 - load))
    return without_loss(rate, service, np.asarray(wait))


def mxgc(rate: float, service_time: float, scv: float, servers: int, size: float, geometric: bool) -> float:
    """Return the mean wait (seconds) of M^X/G/c with FIFO: exact for exponential service (scv 1).

    rate: customers per second, in batches of exactly `size`, or (geometric) with this mean. Balance of levels:
    p(n+1) min(n + 1, c) / s = batches per second x sum over j <= n of p(j) P(X > n - j). For other service the wait is
    scaled by (I + scv) / (I + 1), I = E X^2 / E X, as in the formula of one server near saturation.
    """
    stable(np.asarray(rate * service_time / servers))
    batches, go_on = rate / size, 1.0 - 1.0 / size
    p, up, total, number, window = 1.0, 0.0, 1.0, 0.0, [1.0]
    for n in range(MOST_CUSTOMERS):
        up = (up * go_on if geometric else up - (window[n - int(size)] if n >= size else 0.0)) + p
        p = batches * up * service_time / min(n + 1, servers)
        if not geometric:
            window.append(p)
        total, number = total + p, number + (n + 1) * p
        if n > servers + size and p * (n + 1) < NEGLIGIBLE * number:
            break
    spread = 2.0 * size - 1.0 if geometric else size
    return max(number / total / rate - service_time, 0.0) * (spread + scv) / (spread + 1.0)


def mgcc(arrival_rate: ArrayLike, service_time: ArrayLike, servers: ArrayLike) -> QueueMeans:
    """Return the means of M/G/c/c, servers without a queue: the same for every distribution of service.

    arrival_rate: per second. service_time: mean, in seconds. servers: c. All have one shape, or shapes that broadcast.
    """
    rate, service = numbers(positive=True, arrival_rate=arrival_rate, service_time=service_time)
    rate, service, c = np.broadcast_arrays(rate, service, *whole(servers=servers))
    loss = erlang_b(rate * service, c)
    through = np.asarray(rate * (1 - loss))
    zero = np.zeros_like(loss)
    return QueueMeans(through, np.asarray(through * service / c), np.asarray(through * service), zero, service, loss)


def chance_to_wait(arrival_rate: ArrayLike, service_time: ArrayLike, servers: ArrayLike) -> Floats:
    """Return the probability that an arrival of M/M/c waits (Erlang's C). Raises InputError if it is unstable.

    arrival_rate: per second. service_time: mean, in seconds. servers: c. All have one shape, or shapes that broadcast.
    """
    return waiting(arrival_rate, service_time, servers)[3]


def deterministic_cycle(demands: Sequence[float], population: int, servers: Sequence[int] | None = None) -> float:
    """Return the customers per second of a closed cycle with constant service times: min(N / sum s, min c / s).

    demands: (K,): the seconds s at each station. population: N. servers: (K,): c of each station (None: one each).

    Below saturation no customer waits once the bottleneck has spaced them out: the cycle reaches its asymptotic bound
    (Muntz and Wong, 1974).
    """
    (service_s,) = numbers(demands=demands)
    (count,) = whole(servers=np.ones(len(service_s), int) if servers is None else servers)
    with np.errstate(divide="ignore"):
        return float(min(population / service_s.sum(), (count / service_s).min()))
