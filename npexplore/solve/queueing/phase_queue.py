"""Exact mean waits of a queue with phase-type arrivals and service: a quasi-birth-and-death chain.

    pi_(n+1) = pi_n R,  A0 + R A1 + R^2 A2 = 0          mean number = pi_1 (I - R)^-2 1

(Neuts, Matrix-Geometric Solutions in Stochastic Models, 1981, chapter 3; R by logarithmic reduction, Latouche and
Ramaswami, Journal of Applied Probability 30, 1993). Times with known mean and variance only are represented by mixtures
of Erlang times (scv below 1) or of two exponential times with balanced means (scv above 1): Tijms, Stochastic Models,
1994, chapter 4.
"""

import numpy as np

from npexplore.rows.phases import Phases, in_a_row
from npexplore.solve.queueing.birth_death import long_run
from npexplore.solve.queueing.inputs import Floats
from npexplore.solve.queueing.markovian import mmc
from npexplore.solve.queueing.renewal import gmc

FEWEST_SCV = 0.1  # for a smaller scv, waits are extrapolated linearly from this scv and twice this scv
STEPS, TOLERANCE = 60, 1e-13


def two_moments(mean: float, scv: float) -> Phases:
    """Return phases with this mean (seconds) and squared coefficient of variation, at least 0.005."""
    if scv > 1.0:
        p = (1 + np.sqrt((scv - 1) / (scv + 1))) / 2
        return Phases(np.array([p, 1 - p]), -np.diag([2 * p / mean, 2 * (1 - p) / mean]))
    stages = max(int(np.ceil(1 / scv - 1e-9)), 1)
    fewer = (stages * scv - np.sqrt(max(stages * (1 + scv) - stages**2 * scv, 0.0))) / (1 + scv) if stages > 1 else 0.0
    row = in_a_row([mean / (stages - fewer)] * stages, [1.0] * (stages - 1))
    first = np.zeros(stages)
    first[0], first[min(1, stages - 1)] = (1 - fewer, fewer) if stages > 1 else (1.0, 1.0)
    return Phases(first, row.rates)


def phase_wait(quiet: Floats, arrive: Floats, service: Phases) -> float:
    """Return the mean wait (seconds) of one server; quiet, arrive: rates between phases without and with an arrival."""
    a, s = len(quiet), len(service.first)
    ends = -service.rates.sum(axis=1)
    up = np.kron(arrive, np.eye(s))
    down = np.kron(np.eye(a), np.outer(ends, service.first))
    within = np.kron(quiet, np.eye(s)) + np.kron(np.eye(a), service.rates)
    low, high = np.linalg.solve(-within, down), np.linalg.solve(-within, up)  # logarithmic reduction
    g, t = low.copy(), high.copy()
    for _ in range(STEPS):
        u = np.eye(a * s) - high @ low - low @ high
        low, high = np.linalg.solve(u, low @ low), np.linalg.solve(u, high @ high)
        g, t = g + t @ low, t @ high
        if np.max(np.abs(1.0 - g.sum(axis=1))) < TOLERANCE or np.max(t) < TOLERANCE**2:
            break
    r = up @ np.linalg.inv(-(within + up @ g))
    sum_of_powers = np.linalg.inv(np.eye(a * s) - r)
    table = np.zeros((a + a * s, a + a * s))  # the levels of 0 and 1 customers
    table[:a, :a], table[:a, a:] = quiet, np.kron(arrive, service.first[None, :])
    table[a:, :a], table[a:, a:] = np.kron(np.eye(a), ends[:, None]), within + r @ down
    table[:, 0] = np.concatenate([np.ones(a), sum_of_powers.sum(axis=1)])
    p = np.linalg.solve(table.T, np.eye(a + a * s)[0])
    number = float(p[a:] @ sum_of_powers @ sum_of_powers.sum(axis=1))
    rate = float(long_run(quiet + arrive) @ arrive.sum(axis=1))
    return max(number / rate - service.moments()[0], 0.0)


def wait(rate: float, mean: float, arrival_scv: float, scv: float, servers: int = 1) -> float:
    """Return the mean wait (seconds) of GI/G/c from two moments of intervals and of service, with matching phases."""
    if abs(arrival_scv - 1.0) < 1e-12:
        return mmc(rate, mean, servers).mean_wait.item() * (1.0 + scv) / 2  # M/G/1 is exact
    single = _by_moments(rate, mean / servers, arrival_scv, scv)
    return single * of_several(two_moments(1 / rate, max(arrival_scv, FEWEST_SCV)), mean, servers)


def of_several(interval: Phases, mean: float, servers: int) -> float:
    """Return the ratio of the wait at c servers to that at one server of c times the speed: W(GI/M/c) / W(GI/M/1)."""
    if servers == 1:
        return 1.0
    rate, ends, ones = 1 / interval.moments()[0], -interval.rates.sum(axis=1), np.eye(len(interval.first))

    def transform(s: float) -> float:
        return float(interval.first @ np.linalg.solve(s * ones - interval.rates, ends))

    several, single = (gmc(transform, rate, mean / divisor, c)[0] for c, divisor in ((servers, 1), (1, servers)))
    return several.mean_wait.item() / single.mean_wait.item()


def wait_of(quiet: Floats, arrive: Floats, mean: float, scv: float) -> float:
    """Return the mean wait (seconds) of one server from mean and scv of its service; arrivals as in `phase_wait`."""
    if scv < FEWEST_SCV:  # linear extrapolation
        near, far = (wait_of(quiet, arrive, mean, larger_scv) for larger_scv in (FEWEST_SCV, 2 * FEWEST_SCV))
        return max(near + (scv / FEWEST_SCV - 1.0) * (far - near), 0.0)
    return phase_wait(quiet, arrive, two_moments(mean, scv))


def _by_moments(rate: float, mean: float, arrival_scv: float, scv: float) -> float:
    """Return the mean wait (seconds) of one server from two moments of intervals and of service."""
    if arrival_scv < FEWEST_SCV:
        near, far = (_by_moments(rate, mean, larger_scv, scv) for larger_scv in (FEWEST_SCV, 2 * FEWEST_SCV))
        return max(near + (arrival_scv / FEWEST_SCV - 1.0) * (far - near), 0.0)
    arrivals = two_moments(1 / rate, arrival_scv)
    return wait_of(arrivals.rates, np.outer(-arrivals.rates.sum(axis=1), arrivals.first), mean, scv)
