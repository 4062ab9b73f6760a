"""Shorter waits of threads in a closed network whose service times vary little.

    wait = s^2 (n - 1) / (T - n d)       w = (min(1, 2 s^2 / d^2) + c^2) / (1 + c^2) of the wait behind Poisson arrivals

Each of n threads visits a server every T seconds, for d seconds with squared coefficient of variation c^2; s^2 is the
variance of a thread's time from one visit to the next, at least that of a visit. The gaps between threads change with
variance 2 s^2 per cycle, and a gap that would become negative makes the later thread wait: Brownian queues in a circle
(Harrison and Williams, Annals of Probability 15, 1987), which is Kingman's formula (1962) with 2 s^2 for the arrivals'
variance. For s^2 >= d^2 / 2, arrivals count as Poisson. Exact for constant service and small s; with constant times, a
cycle of single visits runs at its asymptotic bound (Muntz and Wong 1974). Members chosen at random, and processor
sharing, do not space threads out: w = 1.
"""

import numpy as np

from npexplore.solve.batch import Batch
from npexplore.solve.queueing.markovian import erlang_b
from npexplore.solve.stations import Floats

MOST_BUSY = 0.9  # cap on the utilization in this formula: above it, waits are limited as in a closed network
OVERSHOOT = 0.5826  # of a random walk over a barrier, in standard deviations of a step: -zeta(1/2) / sqrt(2 pi)
IDLE_DECAY = 1.4  # of idle times, per standard deviation by which a visit is longer than the rest (fitted)
MAX_UTILIZATION = 0.999  # cap on the utilization by an open load
NEGLIGIBLE_S = 1e-12  # rounding error, in seconds


def is_by_chance(batch: Batch, name: str) -> bool:
    """Say whether packets choose a server's members at random."""
    demand = batch.like.demands.servers[name]
    return batch.like.servers[name].members > 1 and demand.spread > 0 and not demand.members


def variance_of_waits(batch: Batch, name: str, rate: Floats) -> Floats:
    """Return the variance (P,) of a packet's waits for members chosen at random, at a rate (P,): that of M/G/1.

    Per visit W^2 + (2/3) d W, for constant d (Takacs 1962).
    """
    server, visits = batch.like.servers[name], np.maximum(batch.visits[name], NEGLIGIBLE_S)
    busy, visit_s = np.minimum(rate * batch.largest[name] / server.units, MOST_BUSY), batch.seconds[name] / visits
    wait = visit_s * busy * (1.0 + batch.scv[name]) / (2.0 * (1.0 - busy))
    return np.asarray(visits * wait * (wait + visit_s * 2 / 3))


def share_of_wait(
    batch: Batch, name: str, units: float, own_members: bool, wandering: Floats, customers: int, local: Floats | float
) -> Floats | float:  # fmt: skip
    """Return w (P,) at a server.

    units: visits that it serves at once. own_members: whether each thread belongs to a member. wandering: the variance
    (P,) of a packet's time. customers: number of threads. local: for two threads, the part of that variance, without
    the variance of visits here, that counts here.

    Several units are a load-dependent station with exponential service, where w is (c_a^2 + c^2) / 2 (Allen and
    Cunneen 1978).
    """
    if batch.like.servers[name].discipline == "shared" or (is_by_chance(batch, name) and not own_members):
        return 1.0
    visits, scv = np.maximum(batch.visits[name], NEGLIGIBLE_S), batch.scv[name]
    visit_s = batch.seconds[name] / visits / max(units, 1.0)
    visits, latency = visits / batch.share, batch.latency / batch.share  # per packet of the pool
    fraction = visits % 1.0  # this fraction of the packets makes one more visit, at random
    variance = wandering / np.minimum(visits, 1.0) + latency**2 * fraction * (1.0 - fraction) / visits**3
    if units == 1 and customers == 2:
        here = scv * visit_s**2
        return _share_of_two(latency / visits, visit_s, scv, here + local * np.maximum(variance - here, 0.0))
    variance = np.maximum(variance, scv * visit_s**2)
    arrival_scv = np.minimum(2.0 * variance / np.maximum(visit_s**2, NEGLIGIBLE_S**2), 1.0)
    if units > 1:
        return np.asarray((arrival_scv + np.minimum(scv, 1.0)) / 2)
    return np.asarray((arrival_scv + scv) / (1.0 + scv))


def _share_of_two(cycle: Floats, visit_s: Floats, scv: Floats, variance: Floats) -> Floats:
    """Return w (P,) of two threads that each visit a server once per `cycle` seconds.

    Their gap is a random walk between two barriers, which it overshoots by 0.5826 standard deviations of a step
    (Siegmund, Advances in Applied Probability 11, 1979). If a visit takes longer than the rest of the cycle, a thread
    nearly always waits. With gamma times, the rate is within 3 %.
    """
    sd, free, cycle_share = np.sqrt(variance), cycle - 2.0 * visit_s, np.minimum(visit_s / cycle, 1.0)
    walk_wait = variance / np.maximum(np.maximum(free, 0.0) + 2.0**1.5 * OVERSHOOT * sd, NEGLIGIBLE_S)
    always_waited_s = np.maximum(-free, 0.0)
    wait = always_waited_s + walk_wait * np.exp(-IDLE_DECAY * always_waited_s / np.maximum(sd, NEGLIGIBLE_S))
    random_wait = visit_s * cycle_share * (1.0 + (scv - 1.0) * (1.0 - cycle_share) / 2.0)  # behind random arrivals
    least_share = scv / (1.0 + scv)  # visits of different lengths in a fixed order
    return np.asarray(np.clip(wait / np.maximum(random_wait, NEGLIGIBLE_S**2), least_share, 1.0))


def slowed(
    busy: Floats, units: int = 1, variability: Floats | float = 1.0, visitors: Floats | float = np.inf,
    own: Floats | float = 0.0,
) -> Floats:  # fmt: skip
    """Return how many times longer visits take behind an open load: 1 + v C(c, rho) / (c (1 - rho)), Erlang's C.

    busy: rho (P,), utilization by the load of each of `units` = c servers. variability: v, the wait as a share of that
    of exponential times. visitors: n, the number of threads of the load; each of them meets the n - 1 others, which
    slows it (Schweitzer, Int. Conf. Stochastic Control 1979). own: utilization (P,) by the slowed packets. At a single
    server these find a visitor with probability p, since it is not served while they are: for one visitor
    p (1 - own (1 + v p)) = rho - own v p, which is exact mean value analysis of two customers (v = 1); for n visitors
    1/n of that correction counts.
    """
    rho = np.minimum(busy, MAX_UTILIZATION)
    if units > 1:
        blocked = erlang_b(rho * units, np.full(rho.shape, units))
        wait_share = blocked / (1.0 - rho * (1.0 - blocked))
        return np.asarray(1.0 + variability * wait_share / (units * (1.0 - rho * (1.0 - 1.0 / np.asarray(visitors)))))
    inverse_visitors = 1.0 / np.asarray(visitors)
    linear_term = np.maximum(1.0 - (1.0 - inverse_visitors) * rho - own * (1.0 - variability), 1.0 - MAX_UTILIZATION)
    root = np.sqrt(np.maximum(linear_term**2 - 4.0 * inverse_visitors * own * variability * rho, 0.0))
    return np.asarray(1.0 + variability * 2.0 * rho / (linear_term + root))


def in_order(rate: Floats, sd: Floats) -> Floats:
    """Return the wait (P,) of packets that leave in the order of arrival; sd (P,): standard deviation of their times.

    sd (Ein(x) + (1 - e^-x) / x - 1), x = rate x sd: exact for exponential times of packets that arrive at random and do
    not wait for each other before (Kamoun, Kleinrock and Muntz, IEEE Conf. Distributed Computing Systems, 1981).
    """
    from scipy.special import exp1  # imported here: few machines need it, and the import takes longer than solving

    x = np.maximum(rate * sd, NEGLIGIBLE_S)
    return np.asarray(sd * np.maximum(np.log(x) + np.euler_gamma + exp1(x) - np.expm1(-x) / x - 1.0, 0.0))
