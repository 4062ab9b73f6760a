"""Networks whose servers stay busy after a customer has left: banks that recover from an access.

A customer holds one of m members and leaves it; the member recovers for t more seconds. Recovery delays other customers
and the customer itself, like asynchronous tasks that a program starts (Heidelberger and Trivedi, IEEE Trans. Computers
C-31, 1982). With throughput X, the number Y of recovering members is binomial, each with probability X t / m:

    X = E[C(N + Y)]        C(n): throughput of the network with n customers that stay until the member has recovered;
                           the members are one flow-equivalent station with Baskett and Smith's bandwidth (banks.py)

A customer that holds a member waits for the inner server (s seconds, visited while the member is held) behind holders
of other members:

    w = a s / 2 min(1 / (1 - a), min(m, N) - 1),  a = X s (m - 1) / m (N - 1) / N

(at most those of the other members), and C is taken at times longer by 1 + w / D, D the time at the members.

With Poisson arrivals, M(D) the wait of M/G/1, and u = X D / m the utilization of a member of D seconds with recovery:

    apart = M(D) at a member + M(s) of the inner server - M(s) of a member's share (else counted twice)
    in step = v + M(D + v),  v = b s / (2 (1 - b)) (1 - u'^2),  b = X s (m - 1) / m,  u' = X (D + v) / m

("in step": members that are always busy take regular turns at the inner server and no longer collide.) The wait is the
mean of both. If the members together could use more than the inner server provides, m s > D, it is
apart + u^3 X s (M(s) - M(s) of a share).

Compared with 259 exact chains with constant times (1 to 8 members, t up to 16 s, 1 to 24 customers): within 5 % in
89 %, up to 19 % above where times are multiples of each other. Compared with simulations of four million customers of
200 machines with constant times and arrivals of 5 to 95 % load: within 5 % in 19 of 20; up to 25 % above where m s = D
with two or three members, and 25 % below where m s is slightly above D at 95 % load.
"""

from collections.abc import Sequence
from math import comb

import numpy as np

from npexplore.solve.queueing.inputs import Floats

BISECTIONS = 50
MAX_UTILIZATION = 0.999
LEAST_DIVISOR = 1e-30  # lower limit of divisors, against division by 0
ROUNDING = 1e-9


def recovering_open(rate: Floats, members: int, seconds: Floats, scv: Floats, inside: Sequence[Floats]) -> Floats:
    """Return the mean wait (P,) with Poisson arrivals at a rate (P,), infinite above the members' capacity.

    seconds, scv: at the members, with recovery (P,). inside: as in `recovering`.
    """
    each = rate / members
    load = each * seconds
    excess = [_wait(rate, s, 0.0) - _wait(each, s, 0.0) for s in inside]
    apart = _wait(each, seconds, scv) + sum(excess)
    inner_loads = [np.minimum(rate * s * (members - 1) / members, MAX_UTILIZATION) for s in inside]
    extra = each * sum(share * s / 2 / (1 - share) for share, s in zip(inner_loads, inside, strict=True))
    busy = 2 * (load + extra) / (1 + np.sqrt(1 + 4 * extra * (load + extra)))  # u' = u + extra (1 - u'^2)
    wait = (busy - load) / np.maximum(each, LEAST_DIVISOR)
    in_step = wait + _wait(each, seconds + wait, scv)
    crowded = apart + load**3 * sum(rate * s * excess_s for s, excess_s in zip(inside, excess, strict=True))
    full = np.any([seconds < 0.0, *(members * s > seconds * (1 + ROUNDING) for s in inside)], axis=0)
    return np.asarray(np.where(full, crowded, (apart + in_step) / 2))


def _wait(rate: Floats, seconds: Floats, scv: Floats | float) -> Floats:
    """Return the mean wait of M/G/1, infinite without a steady state."""
    load = rate * seconds
    return np.where(load < 1, load * seconds * (1 + scv) / 2 / np.maximum(1 - load, LEAST_DIVISOR), np.inf)


def recovering(
    curve: Floats, customers: int, members: int, recovery: Floats, seconds: Floats, inside: Sequence[Floats],
    lost: Floats | float = 0.0,
) -> Floats:  # fmt: skip
    """Return the throughput (P,) of a closed network of `customers` customers.

    curve: throughput (P, at least customers + members) of 1.. customers that stay until the member has recovered.
    recovery: seconds per customer (P,). seconds: at the members, with recovery (P,). inside: seconds at each server
    visited while a member is held (P,). lost: seconds of these without service (refresh), not part of `seconds`.
    """
    highest = np.min([curve[:, -1], *(1 / np.maximum(inner_s, 1e-30) for inner_s in inside)], axis=0)
    low, high = np.zeros_like(highest), highest.copy()
    recovering_members = np.arange(members + 1)
    binomials = np.array([comb(members, k) for k in recovering_members], dtype=float)
    curve_above = curve[:, customers - 1 : customers + members]
    others = (members - 1) / members * (customers - 1) / customers
    at_most = min(members, customers) - 1
    for _ in range(BISECTIONS):
        rate = (low + high) / 2
        share = np.minimum(rate * recovery / members, 1.0)[:, None]
        chance = binomials * share**recovering_members * (1 - share) ** (members - recovering_members)
        wait = np.zeros_like(rate)
        for inner_s in inside:
            busy = np.minimum(rate * inner_s * others, MAX_UTILIZATION)
            wait += inner_s * busy / 2 * np.minimum(1 / (1 - busy), at_most)
        served = np.sum(chance * curve_above, axis=1) / (1 + (wait + lost) / seconds)
        low, high = np.where(served > rate, rate, low), np.where(served > rate, high, rate)
    return np.asarray((low + high) / 2)
