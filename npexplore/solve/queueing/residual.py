"""Closed networks by residual-time mean value analysis, with load-dependent stations and times that overlap.

    single server      R_k(n) = D_k (1 + m_k (Q_k(n-1) + U_k(n-1) (c_k - 1) / 2))
    load dependent     R_k(n) = sum over j of j D_k / a_k(j) p_k(j-1 | n-1)
                       p_k(j | n) = X(n) D_k / a_k(j) p_k(j-1 | n-1)
    all                X(n) = n / (Z + sum R_k(n))      Q_k(n) = X(n) R_k(n)      U_k(n) = X(n) D_k

c_k is the squared coefficient of variation of service: who is met in service stays for D_k (1 + c_k) / 2 (Reiser 1979).
a_k are capacities with j customers. m_k is 1. Of several alike servers to each of which some customers belong, a of N
to one's own, a customer meets (a - 1) / a N / (N - 1) of those who are there; servers with one more customer are a
class of their own, which shares all other stations. Z may be negative, a surrogate delay (Jacobson and Lazowska, CACM
25, 1982): time that stations count and that the customer does not spend, since its work there goes on without it or
stands at two of them at once. Exact for exponential service and Z >= 0; else an approximation. Where no capacity falls,
no customer more makes a network slower; and none is faster than its slowest station: X(n) <= max a_k / D_k.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from npexplore._kernels.residual import residual_curve
from npexplore.solve.queueing.inputs import Floats

MOST_COUNTED = 20_000  # customers times servers, or times customers of one: more are as if spread evenly
Integers = npt.NDArray[np.int64]


class Home(NamedTuple):
    """Servers to each of which some of all customers belong, in turn. Fewer than all of them are:

    the same part of each server's own ("part"); successive ones, as those are who wait in one line for work
    ("in_turn"); or any ("any"), as those who got one of few units over which they go to their servers.
    """

    servers: int
    customers: int
    fewer: Literal["part", "in_turn", "any"] = "part"

    @property
    def own(self) -> Integers:
        """How many of all customers belong to each server (servers,)."""
        return np.bincount(np.arange(self.customers) % self.servers, minlength=self.servers)

    def met(self) -> float:
        """Return the share of all others that belong to one's own server."""
        return float(self.own @ (self.own - 1)) / max(self.customers * (self.customers - 1), 1)

    def shared(self, most: int) -> Floats:
        """Return for 1..most customers (most, W, 2): numbers on one server, and how many servers have as many.

        W is 0 where the same part of each server's own is there.
        """
        counted = most * int(self.own.max())
        if self.fewer == "part" or (self.fewer == "any" and (most >= self.customers or counted > MOST_COUNTED)):
            return np.zeros((most, 0, 2))
        return self._successive(most) if self.fewer == "in_turn" else self._drawn(most)

    def _drawn(self, most: int) -> Floats:
        """Count those of n drawn of all customers: hypergeometric."""
        n, k = np.arange(1.0, most + 1)[:, None], np.arange(self.own.max() + 1.0)[None, :]
        servers = np.zeros((most, k.size))
        for own, count in zip(*np.unique(self.own, return_counts=True), strict=True):
            possible = (k <= own) & (k <= n) & (n - k <= self.customers - own)
            log = _log_ways(own, k) + _log_ways(self.customers - own, n - k) - _log_ways(self.customers, n)
            servers += count * np.where(possible, np.exp(np.where(possible, log, 0.0)), 0.0)
        return np.stack([np.broadcast_to(k, servers.shape), servers], axis=2)

    def _successive(self, most: int) -> Floats:
        """Count n successive customers, from any one on, the first behind the last: numbers differ by at most 2."""
        whole = self.customers
        if whole * self.servers > MOST_COUNTED:
            whole = -(-whole // self.servers) * self.servers  # as if each had as many
        line = np.arange(most + whole) % whole % self.servers
        before = np.zeros((len(line) + 1, self.servers), dtype=np.int64)
        np.cumsum(line[:, None] == np.arange(self.servers), axis=0, out=before[1:])
        starts = np.arange(whole if whole % self.servers else 1)
        successive = np.zeros((most, 3, 2))
        for n in range(1, most + 1):
            there = before[starts + n] - before[starts]
            least = int(there.min())
            successive[n - 1, :, 0] = least + np.arange(3)
            successive[n - 1, :, 1] = np.bincount((there - least).ravel(), minlength=3)[:3] / len(starts)
        return successive


def _log_ways(of: float, chosen: Floats) -> Floats:
    """Return the logarithm of how many ways there are to choose some; anything where there is none."""
    from scipy.special import gammaln  # slow to import, and few machines need it

    return np.asarray(gammaln(of + 1.0) - gammaln(np.abs(chosen) + 1.0) - gammaln(np.abs(of - chosen) + 1.0))


class Occupancy(NamedTuple):
    """Where the customers of the first network are, averaged over how many of them there are.

    throughput, and by number of station queue_length (K,); of those that are load-dependent also the chances (N + 1,)
    of 0..N there.
    """

    throughput: float
    queue_length: Floats
    chances: dict[int, Floats]


class Residual(NamedTuple):
    """Throughput (P, N) with 1..N customers, and the mean number at each station (P, K) with N; if asked, where."""

    throughput: Floats
    queue_length: Floats
    occupancy: Occupancy | None = None


def residual(
    demands: Floats, population: int, think_time: Floats, rates: Floats, scv: Floats, homes: Sequence[Home | None] = (),
    weights: Floats | None = None, waits: Floats | None = None,
) -> Residual:  # fmt: skip
    """Solve P networks of K stations: demands and scv (P, K), think_time (P,), rates (1 or P, K, M).

    Rates are capacities with 1..M customers in units of one server, the last one beyond; scv counts where all are 1.
    homes: of stations whose customers belong to one of several servers each, how many and m_k. weights: chances
    (N + 1,) of 0..N customers, over which `occupancy` is the mean (None: it is not told). waits: share of m_k that
    counts where all rates are 1 (P, K), 1 if None.
    """
    P, K = demands.shape
    N = population
    homes = homes or [None] * K
    whose = np.ones((N, K))
    members = _members(homes)
    shared = homes[members[0]].shared(N) if len(members) else np.zeros((N, 0, 2))
    for k, home in enumerate(homes):
        if home is not None and k not in members[:1]:
            whose[:, k] = home.met()
    met = whose[:, None, :] * (1.0 if waits is None else waits)
    most, shares = (
        _most(rates, N, waits, bool(np.any(think_time < 0))),
        np.array([1 if home is None else min(home.servers, home.customers) for home in homes]),
    )
    each = demands / most / shares  # (1 or M, P, K)
    worst = np.argmax(each, axis=2) if K else np.zeros((1, P), dtype=np.int64)
    slowest = np.take_along_axis(each, worst[:, :, None], 2)[:, :, 0] if K else np.zeros((1, P))
    away = np.maximum(think_time, slowest[0] - (demands / rates[:, :, 0]).sum(axis=1))
    varying = np.flatnonzero((rates != 1.0).any(axis=(0, 2)))
    inside = np.argmax(rates[:, varying], axis=2).max(axis=0) + 1  # who are more wait in front
    rising = bool((np.diff(rates, axis=2) >= 0).all())
    extra = demands * (scv - 1.0) / 2
    throughput, queue_length = np.empty((P, N)), np.empty((P, K))
    means, chances = np.zeros(K + 1), np.zeros((len(varying), N + 1))
    d, z, a, e, m, s, w = (
        np.ascontiguousarray(one)
        for one in (demands, away, rates, extra, met, slowest, np.zeros(0) if weights is None else weights)
    )
    residual_curve(d, z, a, e, m, s, worst, varying, inside, members, shared, int(rising), w, throughput, queue_length,
                   means, chances)  # fmt: skip
    where = (
        None
        if weights is None
        else Occupancy(float(means[0]), means[1:], dict(zip(varying.tolist(), chances, strict=True)))
    )
    return Residual(throughput, queue_length, where)


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


def _members(homes: Sequence[Home | None]) -> Integers:
    """Return (station, servers, customers) of the first home of several servers."""
    for k, home in enumerate(homes):
        if home is not None and home.servers > 1:
            return np.array([k, home.servers, home.customers])
    return np.zeros(0, dtype=np.int64)
