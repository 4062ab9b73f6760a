"""Closed networks by residual-time mean value analysis, with load-dependent stations and times that overlap.

    single server      R_k(n) = D_k (1 + m_k (Q_k(n-1) + U_k(n-1) (c_k - 1) / 2))
    load dependent     R_k(n) = sum over j of j D_k / a_k(j) p_k(j-1 | n-1)
                       p_k(j | n) = X(n) D_k / a_k(j) p_k(j-1 | n-1)
    all                X(n) = n / (Z + sum R_k(n))      Q_k(n) = X(n) R_k(n)      U_k(n) = X(n) D_k

c_k is the squared coefficient of variation of service: the residual life of a service is D_k (1 + c_k) / 2 (Reiser
1979). a_k(j) is the capacity with j customers. m_k is 1, unless each customer belongs to one of several identical
servers: with a of N customers at its own server, a customer meets (a - 1) / a N / (N - 1) of those at the station;
servers with one more customer form a class that shares all other stations. Z may be negative, a surrogate delay
(Jacobson and Lazowska, CACM 25, 1982): time that stations count but the customer does not spend, because its work there
goes on without it or counts at two stations at once. Exact for exponential service and Z >= 0, else an approximation.
If no capacity falls, throughput does not fall with more customers; it never exceeds the slowest station's:
X(n) <= max a_k / D_k.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from npexplore._kernels.residual import residual_curve
from npexplore.solve.queueing.inputs import Floats

MOST_COUNTED = 20_000  # customers x servers, or x customers of one server; above it customers count as spread evenly
Integers = npt.NDArray[np.int64]


class Home(NamedTuple):
    """Servers among which customers are divided in turn: customer k belongs to server k mod servers.

    fewer: which customers are present if not all are: the same share of each server's customers ("part"); successive
    ones, like threads that wait in one line for work ("in_turn"); or random ones, like threads that got one of a few
    units before they visit their server ("any").
    """

    servers: int
    customers: int
    fewer: Literal["part", "in_turn", "any"] = "part"

    @property
    def own(self) -> Integers:
        """The number of customers of each server (servers,)."""
        return np.bincount(np.arange(self.customers) % self.servers, minlength=self.servers)

    def met(self) -> float:
        """Return the share of the other customers that belong to the same server as a customer."""
        return float(self.own @ (self.own - 1)) / max(self.customers * (self.customers - 1), 1)

    def shared(self, most: int) -> Floats:
        """Return, for 1..most customers (most, W, 2): numbers at a server, and how many servers have each number.

        W is 0 if the same share of each server's customers is present.
        """
        counted = most * int(self.own.max())
        if self.fewer == "part" or (self.fewer == "any" and (most >= self.customers or counted > MOST_COUNTED)):
            return np.zeros((most, 0, 2))
        return self._successive(most) if self.fewer == "in_turn" else self._drawn(most)

    def _drawn(self, most: int) -> Floats:
        """Return `shared` for customers drawn at random: hypergeometric."""
        n, k = np.arange(1.0, most + 1)[:, None], np.arange(self.own.max() + 1.0)[None, :]
        counts = np.zeros((most, k.size))
        for own, count in zip(*np.unique(self.own, return_counts=True), strict=True):
            possible = (k <= own) & (k <= n) & (n - k <= self.customers - own)
            log = _log_ways(own, k) + _log_ways(self.customers - own, n - k) - _log_ways(self.customers, n)
            counts += count * np.where(possible, np.exp(np.where(possible, log, 0.0)), 0.0)
        return np.stack([np.broadcast_to(k, counts.shape), counts], axis=2)

    def _successive(self, most: int) -> Floats:
        """Return `shared` for successive customers from any start, cyclically: numbers differ by at most 2."""
        total = self.customers
        if total * self.servers > MOST_COUNTED:
            total = -(-total // self.servers) * self.servers  # rounded up: the same number for each server
        line = np.arange(most + total) % total % self.servers
        before = np.zeros((len(line) + 1, self.servers), dtype=np.int64)
        np.cumsum(line[:, None] == np.arange(self.servers), axis=0, out=before[1:])
        starts = np.arange(total if total % self.servers else 1)
        successive = np.zeros((most, 3, 2))
        for n in range(1, most + 1):
            counts = before[starts + n] - before[starts]
            lowest = int(counts.min())
            successive[n - 1, :, 0] = lowest + np.arange(3)
            successive[n - 1, :, 1] = np.bincount((counts - lowest).ravel(), minlength=3)[:3] / len(starts)
        return successive


def _log_ways(of: float, chosen: Floats) -> Floats:
    """Return the logarithm of the binomial coefficient; undefined values where chosen > of."""
    from scipy.special import gammaln  # imported here: slow to import, and few machines need it

    return np.asarray(gammaln(of + 1.0) - gammaln(np.abs(chosen) + 1.0) - gammaln(np.abs(of - chosen) + 1.0))


class Occupancy(NamedTuple):
    """Means of the first network, averaged over its number of customers.

    throughput: per second. queue_length (K,): mean number at each station. chances: by index of load-dependent station,
    the probabilities (N + 1,) of 0..N customers there.
    """

    throughput: float
    queue_length: Floats
    chances: dict[int, Floats]


class Residual(NamedTuple):
    """Throughput (P, N) with 1..N customers, mean number at each station (P, K) with N, and the occupancy if wanted."""

    throughput: Floats
    queue_length: Floats
    occupancy: Occupancy | None = None


def residual(
    demands: Floats, population: int, think_time: Floats, rates: Floats, scv: Floats, homes: Sequence[Home | None] = (),
    weights: Floats | None = None, waits: Floats | None = None,
) -> Residual:  # fmt: skip
    """Solve P networks of K stations: demands and scv (P, K), think_time (P,), rates (1 or P, K, M).

    rates: capacities with 1..M customers in units of one server, constant beyond M; scv counts only where all are 1.
    homes: by station, the servers to which its customers belong, from which m_k follows. weights: probabilities
    (N + 1,) of 0..N customers, over which `occupancy` is the mean (None: no occupancy). waits: factor of m_k (P, K)
    where all rates are 1 (None: 1).
    """
    P, K = demands.shape
    N = population
    homes = homes or [None] * K
    met_shares = np.ones((N, K))
    members = _members(homes)
    shared = homes[members[0]].shared(N) if len(members) else np.zeros((N, 0, 2))
    for k, home in enumerate(homes):
        if home is not None and k not in members[:1]:
            met_shares[:, k] = home.met()
    met = met_shares[:, None, :] * (1.0 if waits is None else waits)
    capacities, shares = (
        _most(rates, N, waits, bool(np.any(think_time < 0))),
        np.array([1 if home is None else min(home.servers, home.customers) for home in homes]),
    )
    station_s = demands / capacities / shares  # (1 or M, P, K)
    worst = np.argmax(station_s, axis=2) if K else np.zeros((1, P), dtype=np.int64)
    slowest = np.take_along_axis(station_s, worst[:, :, None], 2)[:, :, 0] if K else np.zeros((1, P))
    away = np.maximum(think_time, slowest[0] - (demands / rates[:, :, 0]).sum(axis=1))
    varying = np.flatnonzero((rates != 1.0).any(axis=(0, 2)))
    inside = np.argmax(rates[:, varying], axis=2).max(axis=0) + 1  # further customers wait in front
    rising = bool((np.diff(rates, axis=2) >= 0).all())
    extra = demands * (scv - 1.0) / 2
    throughput, queue_length = np.empty((P, N)), np.empty((P, K))
    means, chances = np.zeros(K + 1), np.zeros((len(varying), N + 1))
    d, z, a, e, m, s, w = (
        np.ascontiguousarray(array)
        for array in (demands, away, rates, extra, met, slowest, np.zeros(0) if weights is None else weights)
    )
    residual_curve(d, z, a, e, m, s, worst, varying, inside, members, shared, int(rising), w, throughput, queue_length,
                   means, chances)  # fmt: skip
    occupancy = (
        None
        if weights is None
        else Occupancy(float(means[0]), means[1:], dict(zip(varying.tolist(), chances, strict=True)))
    )
    return Residual(throughput, queue_length, occupancy)


def _most(rates: Floats, population: int, waits: Floats | None, overlaps: bool) -> Floats:
    """Return the largest capacities (1 or M, 1 or P, K) that a station can have with n customers, constant beyond M.

    If capacities fall with the number of waiting customers and arrivals are not random (waits 0), all customers present
    wait. overlaps: more than n may be present.
    """
    largest: Floats = rates.max(axis=2)[None]
    if waits is None or not np.any(waits < 1) or not np.any(np.diff(rates, axis=2)):
        return largest
    table, is_falling = np.moveaxis(rates, 2, 0), (np.diff(rates, axis=2) < 0).any(axis=2)
    reached = np.broadcast_to(largest, table.shape) if overlaps else np.maximum.accumulate(table)
    present = np.where(is_falling, table, reached)
    return np.asarray((waits * reached + (1.0 - waits) * present)[:population])


def _members(homes: Sequence[Home | None]) -> Integers:
    """Return (station, servers, customers) of the first home of several servers."""
    for k, home in enumerate(homes):
        if home is not None and home.servers > 1:
            return np.array([k, home.servers, home.customers])
    return np.zeros(0, dtype=np.int64)
