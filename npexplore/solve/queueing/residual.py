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

SHORTEST_S = 1e-300  # that is divided by
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
    if occupancy is None:
        throughput, queue_length = np.empty((P, N)), np.empty((P, K))
        d, z, a, e, m, s = (np.ascontiguousarray(one) for one in (demands, away, rates, extra, met, slowest))
        residual_curve(d, z, a, e, m, s, worst, varying, inside, members, shared, int(rising), throughput, queue_length)
        return Residual(throughput, queue_length)
    return populations(
        demands, away, rates, extra, met, slowest, worst, varying, inside, members, shared, rising, N, occupancy
    )


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


class _Members:
    """Members of a home, some with one customer more than the others: numbers there and throughput of one of each."""

    def __init__(self, members: Integers, shared: Floats, demands: Floats, extra: Floats) -> None:
        self.station, self.servers, self.customers = (int(one) for one in members)
        station, self.shared = self.station, shared
        self.seconds, self.extra = demands[:, station], extra[:, station]
        self.there, self.flow = np.zeros((2, 2, len(demands)))

    def step(self, n: int, total: Floats, residence: Floats, queue: Floats, x: Floats, waits: Floats) -> Floats:
        """Put the mean residence of n customers into a column (P,) and return their time in all (P,)."""
        others = total - residence[:, self.station]
        passed = self._of_parts(n, others, waits) if not self.shared.size else np.zeros(len(total))
        seen = queue[:, self.station] + x * self.extra
        for same, servers in self.shared[n - 1]:  # as many customers on one server
            if same and servers:
                stays = others + self.seconds * (1.0 + waits * (same - 1) / max(n - 1, 1) * seen)
                passed += servers * same / np.maximum(stays, same * self.seconds)
        residence[:, self.station] = n / passed - others
        return np.asarray(n / passed)

    def _of_parts(self, n: int, others: Floats, waits: Floats) -> Floats:
        """Return the throughput (P,) of n customers, the same part of each member's own."""
        whole, passed = self.customers, np.zeros(len(others))
        for more in range(2):
            count, own = whole % self.servers, whole // self.servers + more
            count = count if more else self.servers - count
            if count and own:
                at, meets = own * n / whole, (own - 1) / own * whole / max(whole - 1, 1)
                stays = 1.0 + waits * meets * (self.there[more] + self.flow[more] * self.extra)
                self.flow[more] = at / np.maximum(others + self.seconds * stays, at * self.seconds)
                self.there[more] = at - self.flow[more] * others
                passed += count * self.flow[more]
        return passed

    def slow_down(self, share: Floats, slowest: Integers) -> None:
        """Let a slower station (P,) leave a share (P,) of the throughput."""
        self.flow *= share
        self.there *= np.where(slowest == self.station, 1.0, share)


def populations(
    demands: Floats, away: Floats, rates: Floats, extra: Floats, met: Floats, slowest: Floats, worst: Integers,
    varying: Integers, inside: Integers, members: Integers, shared: Floats, rising: bool, N: int, occupancy: Occupancy,
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
    home = _Members(members, shared, demands, extra) if len(members) else None
    throughput, queue, x, best = np.empty((P, N)), np.zeros((P, K)), np.zeros(P), np.zeros(P)
    for n in range(1, N + 1):
        residence = demands * (1.0 + met[n - 1] * (queue + x[:, None] * extra))
        if len(varying):
            there = (stays[:n] * p[:n]).sum(axis=0)
            within = (least[:n] * p[:n]).sum(axis=0)
            residence[:, varying] = within + met[n - 1][..., varying] * (there - within)
        total = away + residence.sum(axis=1)
        if home is not None:
            total = home.step(n, total, residence, queue, x, met[n - 1, :, home.station])
        limit, which = slowest[min(n, len(slowest)) - 1], worst[min(n, len(worst)) - 1]
        over = n * limit > total  # the slowest station takes the rest
        residence[points[over], which[over]] += n * limit[over] - total[over]
        if home is not None:
            home.slow_down(np.minimum(total / np.maximum(n * limit, SHORTEST_S), 1.0), which)
        x = n / np.maximum(total, n * limit)
        queue = x[:, None] * residence
        best = np.maximum(best, x) if rising else x
        throughput[:, n - 1] = best
        if len(varying):
            p[1 : n + 1] = x[:, None] * apart[:n] * p[:n]
            busy = p[1 : n + 1].sum(axis=0)
            p[0] = np.maximum(1.0 - busy, 0.0)
            p[1 : n + 1] /= np.maximum(busy, 1.0)
        occupancy.add(n, queue, x, p)
    return Residual(throughput, queue)
