"""Mean waits at all stations of an open network, with the variability of the streams between the stations.

    W_r = V + sum over r' of s_r' G_rr'         a class waits for the mean work V, plus the work of customers that come
    V = sum of rate s^2 (1 + c^2) / 2 + rho W   before it more often than on average; Brumelle, J. Appl. Prob. 8, 1971
    t = rho / V (1 - load of the others)        discount rate: arrivals u seconds before have the weight exp(-t u)

G_rr' is the discounted excess of class r' before an arrival of class r (solve/queueing/departures.py). Exact for
Poisson arrivals of any classes, batches and GI/M/1, where V has an exponential tail of rate t; a good approximation for
several streams that each lose their memory at their own arrivals. A customer that returns to a station is modelled as
one that stays for the service of all its visits (Whitt and You, INFORMS J. Computing 34, 2022):

    service of all visits: mean s / (1 - q), scv (1 - q) c^2 + q          wait of a visit: (1 - q) W of first visits
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from npexplore.networks.arrivals import AnyArrivals, arrival_phases
from npexplore.networks.chains import nodes_of
from npexplore.networks.traffic import Traffic
from npexplore.rows.distributions import Batch, Poisson
from npexplore.solve.queueing.departures import departure_weight, phase_excess, renewal_excess
from npexplore.solve.queueing.inputs import Booleans, Floats
from npexplore.solve.queueing.markovian import mmc
from npexplore.solve.queueing.phase_queue import FEWEST_SCV, of_several, two_moments, wait
from npexplore.solve.queueing.renewal import mxgc

MOST_ROUNDS, TOLERANCE, LEAST_DIVISOR, LEAST_CHANCE, ROUNDING = 500, 1e-11, 1e-300, 1e-9, 1e-9
MOST_TYPES = 40  # nodes x classes up to which streams that split and merge again are modelled
SCALES = 3.0  # time scale of departures in multiples of 1 / t: the best of 1, 3 and 9 for random networks


@dataclass(frozen=True)
class Streams:
    """Customers per second of R classes of the file between N nodes, and the service of nodes as one quick server."""

    rate: Floats  # (N, R)
    external: Floats  # (N, R), the part of the rate that comes from outside
    excess: dict[tuple[int, int], Callable[[Floats], Floats]]  # G of arrivals from outside, by (node, class)
    edges: dict[tuple[int, int], Floats]  # probabilities (R, R) from class to class, by (node, next node)
    mean: Floats  # (N, R), seconds, divided by the number of servers
    scv: Floats  # (N, R)
    servers: Floats  # (N,)
    line: Booleans  # (N,), nodes where customers wait

    @property
    def load(self) -> Floats:
        """Return the load of a server by each class (N, R); 0 at nodes without waiting."""
        return np.where(self.line[:, None], self.rate * self.mean, 0.0)

    def variability(self, node: int) -> float:
        """Return the squared coefficient of variation of service over all classes of a node."""
        rate, mean = self.rate[node], self.mean[node]
        square = float(rate @ (mean**2 * (1 + self.scv[node])))
        return max(square * float(rate.sum()) / float(rate @ mean) ** 2 - 1, 0.0)


@dataclass
class Line:
    """The queue of a station, in which a returning customer stays for all its visits.

    chance: (R,), probability to return. work: V in seconds. more: (R,), seconds of excess work before a customer of
    each class. discount: (R,), t per second. passes: (R, N), weight with which departures of a node vary as its
    arrivals do.
    """

    node: int
    chance: Floats
    rate: Floats
    mean: Floats
    scv: Floats
    work: float
    more: Floats
    discount: Floats
    passes: Floats
    external: Floats  # (N, R), share that comes from outside
    back: dict[tuple[int, int], Floats]  # probabilities (R, R) of their previous class, by edge
    pairs: Floats  # as in `_met`
    seen: Floats  # (R, N, R, R): by discount of a class here, node, class, other class: G at the node

    @property
    def own(self) -> float:
        """Return the work (seconds) of Poisson arrivals without waiting: rate s^2 (1 + c^2) / 2 over all classes."""
        return float(self.rate @ (self.mean**2 * (1 + self.scv))) / 2


def streams_of(flows: Traffic) -> Streams:
    """Return the streams of an open network."""
    file, nodes, chains = flows.file, nodes_of(flows.file), flows.chains
    shape = (len(nodes), len(file.classes))
    external, excess = np.zeros(shape), {}
    mean, scv, servers, line = np.zeros(shape), np.ones(shape), np.ones(shape[0]), np.zeros(shape[0], dtype=np.bool_)
    for r, arrivals in enumerate(customers.arrivals for customers in file.classes.values()):
        if arrivals is not None:
            for n, into in np.argwhere(chains.first[r]).tolist():
                external[n, into] += arrivals.rate * chains.first[r, n, into]
                excess[n, into] = _excess(arrivals, chains.first[r, n, into])
    edges = {(i, m): chains.routing[i, :, m] for i, m in np.argwhere(chains.routing.any(axis=(1, 3))).tolist()}
    for name, station in file.station.items():
        n = nodes.index(name)
        servers[n], line[n] = station.servers, station.discipline != "delay"
        for r, customers in enumerate(file.classes.values()):
            if name in customers.service:
                mean[n, r], scv[n, r] = customers.service[name].moments()
    rate = flows.rate[chains.of] * chains.visits
    return Streams(rate, external, excess, edges, mean / servers[:, None], scv, servers, line)


def _excess(arrivals: AnyArrivals, share: float) -> Callable[[Floats], Floats]:
    """Return G of a randomly chosen share of arrivals, as a function of the discount rates."""
    if isinstance(arrivals, Batch):
        batch_excess = (arrivals.dispersion() - 1.0) / 2.0
        return lambda discount: np.full(discount.shape, share * batch_excess)
    phase_rates = None if isinstance(arrivals, Poisson) else arrival_phases(arrivals)
    if phase_rates is not None:
        return lambda discount: share * phase_excess(*phase_rates, discount)
    return lambda discount: share * renewal_excess(1 / arrivals.rate, arrivals.dispersion(), discount)


def lines_of(streams: Streams) -> dict[int, Line]:
    """Return the queue of each node where customers wait, by node."""
    lines = {node: _line(streams, node) for node, load in enumerate(streams.load) if load.any()}
    _settle(streams, lines)
    return lines


def _table(streams: Streams, left_out: int | None = None) -> Floats:
    """Return the routing probabilities, (N R, N R), without those out of one node."""
    n, r = streams.rate.shape
    table = np.zeros((n, r, n, r))
    for (i, m), chances in streams.edges.items():
        if i != left_out:
            table[i, :, m] = chances
    return table.reshape(n * r, n * r)


def _chance(streams: Streams, node: int) -> Floats:
    """Return the probabilities (R,) to return to a node as the same class; all 0 if some return as another class."""
    (n, r), table = streams.rate.shape, _table(streams)
    at = slice(node * r, (node + 1) * r)
    leave, arrive = table[at].copy(), table[:, at].copy()
    table[at], table[:, at], arrive[at] = 0.0, 0.0, np.eye(r)
    returns = leave @ np.linalg.solve(np.eye(n * r) - table, arrive)
    changed = np.any(returns - np.diag(np.diag(returns)) > LEAST_CHANCE)
    return np.zeros(len(returns)) if changed else np.clip(np.diag(returns), 0.0, 1.0)


def _line(streams: Streams, node: int) -> Line:
    (n, r), chance = streams.rate.shape, _chance(streams, node)
    stays = 1.0 - chance
    left_out = node if chance.any() else None
    rate = streams.rate.copy()
    if left_out is not None:  # only customers that have not been there
        rate[:] = np.linalg.solve(np.eye(n * r) - _table(streams, node).T, streams.external.ravel()).reshape(n, r)
    back = {
        (i, m): (rate[i][:, None] * chances / np.maximum(rate[m], LEAST_DIVISOR)).T
        for (i, m), chances in streams.edges.items()
        if i != left_out
    }
    mean, scv = streams.mean[node] / stays, stays * streams.scv[node] + chance
    line = Line(
        node, chance, streams.rate[node] * stays, mean, scv, 0.0, np.zeros(r), np.ones(r), np.ones((r, n)),
        streams.external / np.maximum(rate, LEAST_DIVISOR), back, np.zeros(0), np.zeros((r, n, r, r)),
    )  # fmt: skip
    line.work = line.own / (1.0 - float(streams.load[node].sum()))
    return line


def _settle(streams: Streams, lines: dict[int, Line]) -> None:
    """Iterate over all queues until their work and excess no longer change."""
    total = np.maximum(streams.rate.sum(axis=1), LEAST_DIVISOR)
    share, load = streams.rate / total[:, None], streams.load.sum(axis=1)
    nodes = range(len(load))
    variability = np.array([streams.variability(node) if node in lines else 1.0 for node in nodes])
    several = np.array([_several(streams, lines[node]) if node in lines else 1.0 for node in nodes])
    spacing = {edge: _steady(streams, edge, variability[edge[0]]) for edge in streams.edges}
    meeting = meets_again(streams) and streams.rate.size <= MOST_TYPES
    for _ in range(MOST_ROUNDS):
        work = np.array([lines[node].work if node in lines else 1.0 for node in nodes]) * several
        pace = np.where(load > 0, (1 - load) * load / np.maximum(work, LEAST_DIVISOR), np.inf)
        change = 0.0
        for line in lines.values():
            loads = streams.load[line.node]
            line.discount = loads.sum() / line.work * (1 - loads.sum() + loads)
            tau = SCALES / 2 * pace / line.discount[:, None]
            line.passes = np.where(load > 0, departure_weight(tau), 1.0)
            service_excess = np.array([renewal_excess(*pair, line.discount) for pair in zip(
                streams.servers / total, variability, strict=True)]).T  # fmt: skip
            departures = line.passes[..., None, None] * line.seen
            departures += ((1 - line.passes) * service_excess)[..., None, None] * share[:, None, :]
            seen = np.zeros_like(line.seen)
            for (n, r), excess in streams.excess.items():
                seen[:, n, r, r] = line.external[n, r] * excess(line.discount)
            for (i, m), back in line.back.items():
                departing = departures[:, i]
                if spacing[i, m] and i in lines:
                    departing = departing + spacing[i, m] * (_spaced(line, lines[i], share[i]) - departing)
                seen[:, m] += back @ departing @ streams.edges[i, m]
            if meeting:
                seen += _met(streams, line, departures)
            classes = np.arange(len(loads))
            line.more = np.maximum(seen[classes, line.node, classes] @ line.mean, -line.work)
            new_work = max((line.own + loads @ line.more) / (1 - loads.sum()), line.own)
            change = max(change, float(np.max(np.abs(seen - line.seen))), abs(new_work / line.work - 1))
            line.seen, line.work = (seen + line.seen) / 2, (new_work * line.work) ** 0.5
        if change < TOLERANCE:
            break


def _met(streams: Streams, line: Line, departures: Floats) -> Floats:
    """Return the part of G that two branches of one stream cause when they meet again, shaped as `Line.seen`.

    line.pairs: G between customers that leave two different nodes; external sources are numbered after the nodes.
    """
    (n, r), count = streams.rate.shape, streams.rate.size
    back, onward, single_excess = np.eye(2 * count), np.eye(2 * count), np.zeros((r, 2 * count, 2 * count))
    back[:count], onward[:, :count] = 0.0, 0.0
    for (i, m), chances in line.back.items():
        at_node, at_next = slice(i * r, i * r + r), slice(m * r, m * r + r)
        back[at_next, at_node], onward[at_node, at_next] = chances, streams.edges[i, m]
    for i in range(n):
        single_excess[:, i * r : i * r + r, i * r : i * r + r] = departures[:, i]
    for (i, k), excess in streams.excess.items():
        at = i * r + k
        back[at, count + at], onward[count + at, at] = line.external[i, k], 1.0
        single_excess[:, count + at, count + at] = excess(line.discount)
    if line.pairs.shape != single_excess.shape:
        line.pairs = np.zeros_like(single_excess)
    staying = np.concatenate([np.repeat(line.passes, r, axis=1), np.ones((r, count))], axis=1)
    different_nodes = np.kron(1 - np.eye(2 * n), np.ones((r, r)))
    pair_excess = back @ (single_excess + line.pairs) @ onward
    met = back @ line.pairs @ onward
    line.pairs = (line.pairs + different_nodes * staying[:, :, None] * staying[:, None, :] * pair_excess) / 2
    return np.stack([met[:, i * r : i * r + r, i * r : i * r + r] for i in range(n)], axis=1)


def _steady(streams: Streams, edge: tuple[int, int], variability: float) -> float:
    """Return in 0..1 how much waits at a node shorten the next wait: 1 for a constant server that feeds one node."""
    (i, m), total = edge, np.maximum(streams.rate.sum(axis=1), LEAST_DIVISOR)
    flow = float((streams.rate[i] @ streams.edges[edge]).sum())
    single_server = streams.line[i] and streams.servers[i] == 1
    return max(1.0 - variability, 0.0) * flow**2 / float(total[i] * total[m]) if single_server else 0.0


def _spaced(line: Line, before: Line, share: Floats) -> Floats:
    """Return G before customers that leave a constant server for a line: a wait there shortens the wait here.

    The wait in a series of constant servers is the wait at the slowest one (Friedman, Operations Research 13, 1965).
    """
    mean, load = float(share @ line.mean), float(line.rate @ line.mean)
    seen = line.seen[:, before.node]
    waited = (before.work - before.own) / float(before.rate @ before.mean)
    excess_work = seen @ line.mean
    reduction = excess_work - np.maximum(excess_work - waited * (1 - load), -load * mean / 2)
    return np.asarray(seen - reduction[..., None] * share / max(mean, LEAST_DIVISOR))


def _several(streams: Streams, line: Line) -> float:
    """Return the wait at the station's servers relative to one server of their total speed, for Poisson arrivals."""
    rate, load, c = float(line.rate.sum()), float(streams.load[line.node].sum()), int(streams.servers[line.node])
    return (mmc(rate, load / rate * c, c).mean_wait / mmc(rate, load / rate, 1).mean_wait).item()


def waits(streams: Streams, line: Line) -> Floats:
    """Return the mean waits (R,) of a visit, in seconds.

    V contains the service of all remaining visits of the customers ahead, of which a visit waits for one; every visit
    has the same share of V.
    """
    loads, c = streams.load[line.node], int(streams.servers[line.node])
    rate, load, stays = float(line.rate.sum()), float(loads.sum()), 1 - line.chance
    mean, visits = load / rate, float(np.sum(loads / stays))
    each = np.maximum(line.work * load / visits + stays * line.more, 0.0)
    total = float(loads @ line.more) / load / mean
    if total > -ROUNDING:
        server_ratio = 1.0 if c == 1 else (
            mxgc(rate, mean * c, 1.0, c, 1 + total, True) / mxgc(rate, mean, 1.0, 1, 1 + total, True)
        )  # fmt: skip
        return each * server_ratio
    discount = np.array([loads @ line.discount / load])  # regular arrivals: independent times with the same G

    def gap(scv: float) -> float:
        return renewal_excess(1 / rate, scv, discount).item() - total

    scv = 0.0 if gap(0.0) >= 0 else brentq(gap, 0.0, 1.0, xtol=1e-12)
    served = max(2 * line.own * rate / load**2 - 1, 0.0)
    each = np.maximum(each + (wait(rate, mean, scv, served) * load - float(loads / stays @ each)) / visits, 0.0)
    return each * of_several(two_moments(1 / rate, max(scv, FEWEST_SCV)), mean * c, c)


def too_many_meet(streams: Streams) -> bool:
    """Return whether streams split and merge again in a network too large to model this."""
    return streams.rate.size > MOST_TYPES and meets_again(streams)


def meets_again(streams: Streams) -> bool:
    """Return whether some stream splits and its parts merge again at a station."""
    (n, r), has_external = streams.rate.shape, streams.external > 0
    for m in np.flatnonzero(streams.line):
        reach = np.linalg.inv(np.eye(n * r) - _table(streams, int(m))) > LEAST_CHANCE
        passing, beginning = np.zeros(n * r), np.zeros(r)  # nodes before m that each stream passes, or begins before
        for (i, target), chances in streams.edges.items():
            if target == m and i != m:
                before = reach[:, i * r + np.flatnonzero(chances.any(axis=1))].any(axis=1).reshape(n, r)
                before = before & (streams.rate > 0) & (np.arange(n) != m)[:, None]
                passing, beginning = passing + before.ravel(), beginning + (before & has_external).any(axis=0)
        if passing.max() > 1 or np.max(beginning + has_external[m]) > 1:
            return True
    return False
