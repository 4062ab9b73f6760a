"""Quantiles of the time in M/M/c and M/M/c/K with FIFO, in closed form.

A customer that finds n >= c others waits for n - c + 1 departures at rate c mu, then is served at rate mu. In M/M/c the
wait of customers that wait is exponential with rate c mu - lambda (Kleinrock, Queueing Systems I, 1975, 3.5); in
M/M/c/K it is an Erlang time mixed over n, and

    P(E_m + S > t) = Q(m, c mu t) + exp(-mu t) (c / (c - 1))^m P(m, (c - 1) mu t),

P and Q the regularized incomplete gamma functions (for c = 1 the sum is itself Erlang: Q(m + 1, mu t)).
"""

from collections.abc import Callable, Sequence

import numpy as np

from npexplore.errors import InputError
from npexplore.solve.queueing.birth_death import steady_state
from npexplore.solve.queueing.inputs import Floats, numbers, whole
from npexplore.solve.queueing.markovian import waiting

HALVINGS = 50  # bisection steps: to 1e-15 of the upper limit


def mmc_quantiles(shares: Sequence[float], arrival_rate: float, service_time: float, servers: int = 1) -> Floats:
    """Return quantiles of the time in M/M/c, in seconds, shape (n,).

    shares: (n,): the quantiles' shares of customers, each between 0 and 1. arrival_rate: per second. service_time:
    mean, in seconds. servers: c. Raises InputError for a share that is not between 0 and 1 and for an unstable queue.
    """
    rate, mean = numbers(positive=True, arrival_rate=arrival_rate, service_time=service_time)
    *_, c, chance = waiting(rate, mean, servers)
    waits, served, moving = float(chance), float(1 / mean), float(c / mean - rate)

    def longer(t: Floats) -> Floats:
        if abs(moving / served - 1) < 1e-9:
            wait_and_service = (1 + served * t) * np.exp(-served * t)
        else:
            wait_and_service = (moving * np.exp(-served * t) - served * np.exp(-moving * t)) / (moving - served)
        return np.asarray((1 - waits) * np.exp(-served * t) + waits * wait_and_service)

    return quantiles_of(shares, longer, float(mean))


def mmck_quantiles(
    shares: Sequence[float], arrival_rate: float, service_time: float, servers: int, capacity: int
) -> Floats:
    """Return quantiles of the time that admitted customers spend in M/M/c/K, in seconds, shape (n,).

    shares, arrival_rate, service_time, servers: as in `mmc_quantiles`. capacity: K, with those in service.
    Raises InputError for a share that is not between 0 and 1.
    """
    from scipy.special import gammaincc

    rate, mean = numbers(positive=True, arrival_rate=arrival_rate, service_time=service_time)
    c, room = whole(servers=servers, capacity=capacity)
    c = np.minimum(c, room)
    state = np.arange(int(room))
    chances = steady_state(np.full(len(state), rate), np.minimum(state + 1, c) / mean)[:-1]
    chances /= chances.sum()
    ahead = np.arange(1.0, int(room - c) + 1)  # departures until a waiting customer is served
    at_once, waiting = chances[: int(c)].sum(), chances[int(c) :]
    mu, fast = float(1 / mean), float(c / mean)

    def longer(t: Floats) -> Floats:
        x = t[..., None]
        if c == 1:
            wait_and_service = gammaincc(ahead + 1, mu * x)
        else:
            wait_and_service = gammaincc(ahead, fast * x) + _served_last(ahead, fast * x, float(c))
        return np.asarray(at_once * np.exp(-mu * t) + (wait_and_service * waiting).sum(axis=-1))

    return quantiles_of(shares, longer, float(mean))


def _served_last(ahead: Floats, x: Floats, servers: float) -> Floats:
    """Return (c / (c - 1))^ahead e^(-x / c) P(ahead, y), y = x (c - 1) / c, c servers.

    The product is at most 1, but for large `ahead` one factor overflows and the other underflows; then it is computed
    by P's confluent hypergeometric series, DLMF 8.5.1.
    """
    from scipy.special import gammainc, gammaln, hyp1f1, xlogy

    y = x * (servers - 1) / servers
    log_stretch = np.where(y < ahead, 0.0, ahead * np.log(servers / (servers - 1)) - x / servers)
    direct = np.exp(np.minimum(log_stretch, 1.0)) * gammainc(ahead, y)
    series = np.exp(xlogy(ahead, x) - x - gammaln(ahead + 1.0)) * hyp1f1(1.0, ahead + 1.0, np.minimum(y, ahead))
    return np.asarray(np.where(y < ahead, series, direct))


def quantiles_of(shares: Sequence[float], longer: Callable[[Floats], Floats], scale: float) -> Floats:
    """Return t with P(T > t) = 1 - share, by bisection; `longer` returns P(T > t), `scale` is any time above 0.

    Raises InputError for a share that is not between 0 and 1.
    """
    wanted = 1 - np.asarray(shares, dtype=np.float64)
    if not ((wanted > 0) & (wanted < 1)).all():
        raise InputError(f"shares of customers must lie between 0 and 1, got {shares!r}")
    low, high = np.zeros(wanted.shape), np.full(wanted.shape, scale)
    while (exceeds := longer(high) > wanted).any():
        high = np.where(exceeds, 2 * high, high)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        exceeds = longer(middle) > wanted
        low, high = np.where(exceeds, middle, low), np.where(exceeds, high, middle)
    return np.asarray((low + high) / 2)
