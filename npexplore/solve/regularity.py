"""How much less packets wait where work varies little: threads of a closed network keep out of each other's way.

    wait = s^2 (n - 1) / (T - n d)       w = (min(1, 2 s^2 / d^2) + c^2) / (1 + c^2) of the wait behind Poisson arrivals

n threads come to one server every T seconds and stay d there, with squared coefficient of variation c^2; s^2 is the
variance of a thread's time from one visit to the next, at least that of a visit. Gaps between threads wander by 2 s^2 a
cycle, all of them are equally likely, and a gap that would close makes the later thread wait: Brownian queues in a
circle (Harrison and Williams, Annals of Probability 15, 1987), which is Kingman's formula (1962) with 2 s^2 for the
arrivals' variance. From s^2 = d^2 / 2 on, arrivals are as good as Poisson. Exact for constant service and small s;
without chance, a cycle of single visits runs at its asymptotic bound (Muntz and Wong 1974). Members that are chosen by
chance, or share their time, put no distance between threads: w = 1.
"""

import numpy as np

from npexplore.solve.batch import Batch
from npexplore.solve.queueing.markovian import erlang_b
from npexplore.solve.stations import Floats

MOST_BUSY = 0.9  # share of the time: beyond, as many wait as in a closed network
OVERSHOOT = 0.5826  # of a random walk over a barrier, in standard deviations of a step: -zeta(1/2) / sqrt(2 pi)
IDLE_DECAY = 1.4  # of idle times, per standard deviation by which a visit is longer than the rest (fitted)
MAX_UTILIZATION = 0.999  # by an open load: beyond, nobody is slowed more
NEGLIGIBLE_S = 1e-12  # seconds that are rounding


def is_by_chance(batch: Batch, name: str) -> bool:
    """Say whether a server's members are chosen by chance."""
    demand = batch.like.demands.servers[name]
    return batch.like.servers[name].members > 1 and demand.spread > 0 and not demand.members


def variance_of_waits(batch: Batch, name: str, rate: Floats) -> Floats:
    """Return the variance (P,) of a packet's waits for members chosen by chance at a rate (P,): that of M/G/1.

    W^2 + (2/3) d W a visit, for constant d (Takacs 1962).
    """
    server, visits = batch.like.servers[name], np.maximum(batch.visits[name], NEGLIGIBLE_S)
    share, each = np.minimum(rate * batch.largest[name] / server.units, MOST_BUSY), batch.seconds[name] / visits
    wait = each * share * (1.0 + batch.scv[name]) / (2.0 * (1.0 - share))
    return np.asarray(visits * wait * (wait + each * 2 / 3))


def share_of_wait(
    batch: Batch, name: str, units: float, own_members: bool, wandering: Floats, customers: int, local: Floats | float
) -> Floats | float:  # fmt: skip
    """Return w (P,) at a server; units: visits at once. own_members: whether each thread has its member.

    wandering: the variance (P,) of a packet's time. customers: how many threads there are. local: the part of that
    variance, but for that of visits here, that tells here (of two threads).

    Several units are a load-dependent station with exponential service: there w is (c_a^2 + c^2) / 2 (Allen and
    Cunneen 1978).
    """
    if batch.like.servers[name].discipline == "shared" or (is_by_chance(batch, name) and not own_members):
        return 1.0
    visits, scv = np.maximum(batch.visits[name], NEGLIGIBLE_S), batch.scv[name]
    each = batch.seconds[name] / visits / max(units, 1.0)
    visits, latency = visits / batch.share, batch.latency / batch.share  # of one of the pool's packets
    part = visits % 1.0  # packets that come once more than others do so by chance
    variance = wandering / np.minimum(visits, 1.0) + latency**2 * part * (1.0 - part) / visits**3
    if units == 1 and customers == 2:
        here = scv * each**2
        return _share_of_two(latency / visits, each, scv, here + local * np.maximum(variance - here, 0.0))
    variance = np.maximum(variance, scv * each**2)
    arrivals = np.minimum(2.0 * variance / np.maximum(each**2, NEGLIGIBLE_S**2), 1.0)
    if units > 1:
        return np.asarray((arrivals + np.minimum(scv, 1.0)) / 2)
    return np.asarray((arrivals + scv) / (1.0 + scv))


def _share_of_two(cycle: Floats, each: Floats, scv: Floats, variance: Floats) -> Floats:
    """Return w (P,) of two threads that come to a server every `cycle` seconds: their gap walks between two barriers.

    It overshoots each by 0.5826 standard deviations of a step (Siegmund, Advances in Applied Probability 11, 1979).
    Where a visit takes longer than the rest of the cycle, one mostly waits. Gamma times: within 3 % of the rate.
    """
    sd, free, share = np.sqrt(variance), cycle - 2.0 * each, np.minimum(each / cycle, 1.0)
    apart = variance / np.maximum(np.maximum(free, 0.0) + 2.0**1.5 * OVERSHOOT * sd, NEGLIGIBLE_S)
    always = np.maximum(-free, 0.0)
    wait = always + apart * np.exp(-IDLE_DECAY * always / np.maximum(sd, NEGLIGIBLE_S))
    by_chance = each * share * (1.0 + (scv - 1.0) * (1.0 - share) / 2.0)  # behind whoever comes at random
    irregular = scv / (1.0 + scv)  # visits of different lengths, though always the same
    return np.asarray(np.clip(wait / np.maximum(by_chance, NEGLIGIBLE_S**2), irregular, 1.0))


def slowed(
    busy: Floats, units: int = 1, variability: Floats | float = 1.0, visitors: Floats | float = np.inf,
    own: Floats | float = 0.0,
) -> Floats:  # fmt: skip
    """Return how many times longer visits take behind an open load: 1 + v C(c, rho) / (c (1 - rho)), Erlang's C.

    busy: rho (P,), of each of `units` = c servers. variability: v, the part of the wait of exponential times. visitors:
    who come, n of them: of these, one meets n - 1 (Schweitzer, Int. Conf. Stochastic Control 1979), which slows him.
    own: utilization (P,) by those who are slowed. Of one server they find another's visit there by a chance p, as it
    cannot be served while they are: p (1 - own (1 + v p)) = rho - own v p of one visitor, which is exact mean value
    analysis of two customers (v = 1); an n-th of that counts.
    """
    share = np.minimum(busy, MAX_UTILIZATION)
    if units > 1:
        blocked = erlang_b(share * units, np.full(share.shape, units))
        waits = blocked / (1.0 - share * (1.0 - blocked))
        return np.asarray(1.0 + variability * waits / (units * (1.0 - share * (1.0 - 1.0 / np.asarray(visitors)))))
    few = 1.0 / np.asarray(visitors)
    linear = np.maximum(1.0 - (1.0 - few) * share - own * (1.0 - variability), 1.0 - MAX_UTILIZATION)
    root = np.sqrt(np.maximum(linear**2 - 4.0 * few * own * variability * share, 0.0))
    return np.asarray(1.0 + variability * 2.0 * share / (linear + root))


def in_order(rate: Floats, sd: Floats) -> Floats:
    """Return how long packets wait (P,) to leave in the order in which they came, behind times that vary by sd (P,).

    sd (Ein(x) + (1 - e^-x) / x - 1), x = rate x sd: exact for exponential times of packets that come at random and do
    not wait for each other before (Kamoun, Kleinrock and Muntz, IEEE Conf. Distributed Computing Systems, 1981).
    """
    from scipy.special import exp1  # few machines need it, and it takes longer to import than these take to solve

    x = np.maximum(rate * sd, NEGLIGIBLE_S)
    return np.asarray(sd * np.maximum(np.log(x) + np.euler_gamma + exp1(x) - np.expm1(-x) / x - 1.0, 0.0))
