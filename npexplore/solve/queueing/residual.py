"""Closed networks by residual-time mean value analysis, with load-dependent stations and times that overlap.

    single server      R_k(n) = D_k (1 + m_k (Q_k(n-1) + U_k(n-1) (c_k - 1) / 2))
    load dependent     R_k(n) = sum over j of j D_k / a_k(j) p_k(j-1 | n-1)
                       p_k(j | n) = X(n) D_k / a_k(j) p_k(j-1 | n-1)
    all                X(n) = n / (Z + sum R_k(n))      Q_k(n) = X(n) R_k(n)      U_k(n) = X(n) D_k

c_k is the squared coefficient of variation of service: who is met in service stays for D_k (1 + c_k) / 2 (Reiser 1979).
a_k are capacities with j customers. m_k is 1; of several alike servers to each of which some customers belong, the
share of the n - 1 others that belong to one's own. Z may be negative, a surrogate delay (Jacobson and Lazowska, CACM
25, 1982): time that stations count and that the customer does not spend, since its work there goes on without it or
stands at two of them at once. Exact for exponential service and Z >= 0; else an approximation. Where no capacity falls,
no customer more makes a network slower; and none is faster than its slowest station: X(n) <= max a_k / D_k.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from npexplore._kernels.residual import residual_curve
from npexplore.solve.queueing.inputs import Floats

Integers = npt.NDArray[np.int64]


class Home(NamedTuple):
    """Servers to each of which some customers belong; of 1.. customers, the share of the others that meet one there."""

    servers: int
    meets: tuple[float, ...]
    in_turn: bool = False

    @staticmethod
    def of(customers: int, servers: int, in_turn: bool = False) -> Home:
        """Return the home of customers that belong to servers in turn.

        Fewer of them are any of all; or (in_turn) successive ones, as those are who wait in one line for work.
        """
        shares = []
        for n in range(1 if in_turn else customers, customers + 1):
            own = np.bincount(np.arange(n) % servers)
            shares.append(float(own @ (own - 1)) / max(n * (n - 1), 1))
        return Home(min(customers, servers), tuple(shares if in_turn else shares * customers), in_turn)


class Residual(NamedTuple):
    """Throughput (P, N) with 1..N customers, and the mean number at each station (P, K) with N."""

    throughput: Floats
    queue_length: Floats


class Occupancy:
    """Where the customers of the first network are, averaged over how many of them there are.

    weights: chances (N + 1,) of 0..N customers. throughput, and by number of station queue_length (K,); of those that
    are load-dependent also the chances (N + 1,) of 0..N there.
    """

    def __init__(self, weights: Floats) -> None:
        self.weights = weights
        self.throughput = 0.0
        self.queue_length: Floats = np.zeros(0)
        self.chances: dict[int, Floats] = {}

    def begin(self, stations: int, varying: Integers) -> None:
        """Take the stations of a network, and which of them are load-dependent."""
        self.queue_length = np.zeros(stations)
        self.chances = {int(k): np.zeros(len(self.weights)) for k in varying}
        for here in self.chances.values():
            here[0] = self.weights[0]

    def add(self, n: int, queue: Floats, throughput: Floats, p: Floats) -> None:
        """Add n customers: queue (P, K), throughput (P,), chances p (N + 1, P, L) at load-dependent stations."""
        weight = float(self.weights[n])
        if weight:
            self.throughput += weight * float(throughput[0])
            self.queue_length += weight * queue[0]
            for at, here in enumerate(self.chances.values()):
                here[: n + 1] += weight * p[: n + 1, 0, at]


def residual(
    demands: Floats, population: int, think_time: Floats, rates: Floats, scv: Floats, homes: Sequence[Home | None] = (),
    occupancy: Occupancy | None = None, waits: Floats | None = None,
) -> Residual:  # fmt: skip
    """Solve P networks of K stations: demands and scv (P, K), think_time (P,), rates (1 or P, K, M).

    Rates are capacities with 1..M customers in units of one server, the last one beyond; scv counts where all are 1.
    homes: of stations whose customers belong to one of several servers each, how many and m_k. occupancy: is
    told where customers are with 1..N of them. waits: share of m_k that counts where all rates are 1 (P, K), 1 if None.
    """
    P, K = demands.shape
    N = population
    homes = homes or [None] * K
    whose = np.ones((N, K))
    for k, home in enumerate(homes):
        if home is not None:
            whose[:, k] = [*home.meets, *[home.meets[-1]] * N][:N]
    met = whose[:, None, :] * (1.0 if waits is None else waits)
    most, shares = (
        _most(rates, N, waits, bool(np.any(think_time < 0))),
        np.array([1 if home is None else home.servers for home in homes]),
    )
    each = demands / most / shares  # (1 or M, P, K)
    worst = np.argmax(each, axis=2) if K else np.zeros((1, P), dtype=np.int64)
    slowest = np.take_along_axis(each, worst[:, :, None], 2)[:, :, 0] if K else np.zeros((1, P))
    away = np.maximum(think_time, slowest[0] - (demands / rates[:, :, 0]).sum(axis=1))
    members = _members(homes, N)
    varying = np.flatnonzero((rates != 1.0).any(axis=(0, 2)))
    inside = np.argmax(rates[:, varying], axis=2).max(axis=0) + 1  # who are more wait in front
    rising = bool((np.diff(rates, axis=2) >= 0).all())
    extra = demands * (scv - 1.0) / 2
    if occupancy is None:
        throughput, queue_length = np.empty((P, N)), np.empty((P, K))
        d, z, a, e, m, s = (np.ascontiguousarray(one) for one in (demands, away, rates, extra, met, slowest))
        residual_curve(d, z, a, e, m, s, worst, varying, inside, members, int(rising), throughput, queue_length)
        return Residual(throughput, queue_length)
    return populations(demands, away, rates, extra, met, slowest, worst, varying, inside, members, rising, N, occupancy)


def _most(rates: Floats, population: int, waits: Floats | None, overlaps: bool) -> Floats:
    """Return the largest capacities (1 or M, 1 or P, K) with n customers, the last one with more.

    Where they fall with those who wait and nobody comes by chance (waits 0), all who are there wait. overlaps: more
    than n may be there.
    """
    most: Floats = rates.max(axis=2)[None]
    if waits is None or not np.any(waits < 1) or not np.any(np.diff(rates, axis=2)):
        return most
    table, falls = np.moveaxis(rates, 2, 0), (np.diff(rates, axis=2) < 0).any(axis=2)
    reached = np.broadcast_to(most, table.shape) if overlaps else np.maximum.accumulate(table)
    there = np.where(falls, table, reached)
    return np.asarray((waits * reached + (1.0 - waits) * there)[:population])


def _members(homes: Sequence[Home | None], population: int) -> Integers:
    """Return (station, servers, customers in all; 0: one after the other) of the first that customers belong to."""
    for k, home in enumerate(homes):
        if home is not None and home.servers > 1:
            return np.array([k, home.servers, 0 if home.in_turn else population])
    return np.zeros(0, dtype=np.int64)


def populations(
    demands: Floats, away: Floats, rates: Floats, extra: Floats, met: Floats, slowest: Floats, worst: Integers,
    varying: Integers, inside: Integers, members: Integers, rising: bool, N: int, occupancy: Occupancy,
) -> Residual:  # fmt: skip
    """Go through the recursion plainly, and tell where customers are; arrays as in `_kernels/residual.py`."""
    P, K = demands.shape
    points, levels = np.arange(P), np.minimum(np.arange(N), rates.shape[2] - 1)
    # of load-dependent stations: seconds between two that leave with j = 1..N there, probabilities of 0..N (N, P, L)
    apart = np.ascontiguousarray(np.moveaxis(demands[:, varying, None] / rates[:, varying][:, :, levels], 2, 0))
    stays = np.arange(1.0, N + 1)[:, None, None] * apart
    least = stays.copy()  # of those who do not wait in front
    for at, most in enumerate(inside):
        least[most:, :, at] = stays[min(most, N) - 1, :, at]
    p = np.zeros((N + 1, P, len(varying)))
    p[0] = 1.0
    occupancy.begin(K, varying)
    found, queue, x, best = np.empty((P, N)), np.zeros((P, K)), np.zeros(P), np.zeros(P)
    for n in range(1, N + 1):
        residence = demands * (1.0 + met[n - 1] * (queue + x[:, None] * extra))
        if len(varying):
            there = (stays[:n] * p[:n]).sum(axis=0)
            within = (least[:n] * p[:n]).sum(axis=0)
            residence[:, varying] = within + met[n - 1][..., varying] * (there - within)
        total = away + residence.sum(axis=1)
        if len(members):  # those of a member that has more customers than others wait longer
            station, servers, whole = members
            base = n if whole == 0 else whole
            few, part = base // servers, (base % servers, servers - base % servers)
            x = sum(count * at / np.maximum(total, at * demands[:, station])
                    for count, at in zip(part, ((few + 1) * n / base, few * n / base), strict=True))  # fmt: skip
            residence[:, station] += n / x - total
            total = n / x
        limit, which = slowest[min(n, len(slowest)) - 1], worst[min(n, len(worst)) - 1]
        over = n * limit > total  # the slowest station takes the rest
        residence[points[over], which[over]] += n * limit[over] - total[over]
        x = n / np.maximum(total, n * limit)
        queue = x[:, None] * residence
        best = np.maximum(best, x) if rising else x
        found[:, n - 1] = best
        if len(varying):
            p[1 : n + 1] = x[:, None] * apart[:n] * p[:n]
            busy = p[1 : n + 1].sum(axis=0)
            p[0] = np.maximum(1.0 - busy, 0.0)
            p[1 : n + 1] /= np.maximum(busy, 1.0)
        occupancy.add(n, queue, x, p)
    return Residual(found, queue)
