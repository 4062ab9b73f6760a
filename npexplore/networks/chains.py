"""Chains of classes: classes between which customers change, taken together, have one throughput of passes.

Visits to (node, class) per pass solve the traffic equations over both. b_r is the share of passes that begin in class
r: for an open chain in proportion to the arrivals; for a closed chain b = b E, with E the probabilities that the pass
after one that begins in r begins in r'.
"""

from dataclasses import dataclass

import numpy as np

from npexplore.errors import InputError
from npexplore.networks.records import HIT, IN, MISS, OUT, Network, ahead
from npexplore.networks.times import AnyTime
from npexplore.solve import queueing
from npexplore.solve.queueing.caches import hit_chances
from npexplore.solve.queueing.inputs import Floats, Ints


@dataclass(frozen=True)
class Chains:
    """The chain of each of R classes, and the visits in a pass of the chain."""

    of: Ints  # (R,), number of each class's chain
    visits: Floats  # (nodes, R), visits per pass of the chain; nodes as in `nodes_of`
    begins: Floats  # (R,), share of the chain's passes that begin in the class
    ends: Floats  # (R,), share of the chain's passes that end in the class
    closed: tuple[bool, ...]  # whether each chain is closed
    first: Floats  # (R, nodes, R), probabilities of the first (node, class), by the class that arrives
    routing: Floats  # (nodes, R, nodes, R), probabilities of the next (node, class)

    @property
    def count(self) -> int:
        """Number of chains."""
        return len(self.closed)

    @property
    def closed_classes(self) -> list[bool]:
        """Whether each class (R,) is closed, that is, in a chain with a population."""
        return [self.closed[c] for c in self.of]


def nodes_of(network: Network) -> list[str]:
    """Return all nodes of routes: stations, forks, and the hits and misses of caches."""
    return [name for name in network.starts if name != IN]


def chains_of(network: Network) -> Chains:
    """Solve the traffic equations; raises InputError if customers can never leave, or change from closed to open."""
    names, nodes = list(network.classes), nodes_of(network)
    R, N = len(names), len(nodes)
    class_routes = [network.routes(name) for name in names]
    of = _connected(names, class_routes)
    chances = cache_chances(network)
    routing, first, leave = np.zeros((N, R, N, R)), np.zeros((R, N, R)), np.zeros((N, R, R))
    empty_passes = np.zeros((R, R))  # passes without visits: class before, class after
    for r, routes in enumerate(class_routes):
        for start, route in routes.items():
            for target, next_class, chance in route:
                to_class = names.index(next_class)
                if target == OUT and start == IN:
                    empty_passes[r, to_class] += chance
                    continue
                if target == OUT:
                    leave[nodes.index(start), r, to_class] += chance
                    continue
                for node in ahead(target, network):
                    share = chance * chances.get(node, 1.0)
                    if start == IN:
                        first[r, nodes.index(node), to_class] += share
                    else:
                        routing[nodes.index(start), r, nodes.index(node), to_class] += share
    visits, begins, ends = np.zeros((N, R)), np.zeros(R), np.zeros(R)
    closed: list[bool] = []
    for c in range(max(of) + 1):
        members = np.flatnonzero(of == c)
        inside = np.ix_(np.arange(N), members, np.arange(N), members)
        table = routing[inside].reshape(N * len(members), -1)
        labels = [node for node in nodes for _ in members]
        starts = [int(r) for r in members if class_routes[r].get(IN)]
        visits_from = {}
        for r in starts:
            try:
                visits_from[r] = queueing.open_rates(table, first[r][:, members].ravel(), labels).reshape(N, -1)
            except InputError as error:
                raise InputError(f"class.{names[r]}: {error}") from None
        customers = [network.classes[names[r]] for r in members]
        populated = [entry.population is not None for entry in customers]
        arriving = [entry.arrivals is not None for entry in customers]
        if any(populated) and any(arriving):
            raise InputError(
                f"class.{names[members[arriving.index(True)]]}: an open class must not become a closed one, or back"
            )
        closed.append(any(populated))
        if not any(populated) and not any(arriving):
            raise InputError(f"class.{names[members[0]]}: no customers come into this class")
        if closed[-1]:
            begin_shares = _shares(members, visits_from, leave, empty_passes, names)
        else:
            begin_shares = np.array([entry.arrivals.rate if entry.arrivals else 0.0 for entry in customers])
            begin_shares = begin_shares / begin_shares.sum()
        for r, begin_share in zip(members.tolist(), begin_shares, strict=True):
            begins[r] = begin_share
            if begin_share:
                visits[:, members] += begin_share * visits_from[r]
        ends[members] = np.einsum("nr,nrs->s", visits[:, members], leave[:, members][:, :, members])
        ends[members] += begins[members] @ empty_passes[np.ix_(members, members)]
    return Chains(of, visits, begins, ends, tuple(closed), first, routing)


def cache_chances(network: Network) -> dict[str, float]:
    """Return the hit and miss probabilities of each cache, by node."""
    probabilities: dict[str, float] = {}
    for name, cache in network.cache.items():
        p = np.array(cache.chances())
        hit = float(p @ hit_chances(p, cache.places, cache.replace).hit)
        probabilities |= {f"{name}{HIT}": hit, f"{name}{MISS}": 1 - hit}
    return probabilities


def _connected(names: list[str], class_routes: list[dict[str, list[tuple[str, str, float]]]]) -> Ints:
    of = np.arange(len(names))
    for r, routes in enumerate(class_routes):
        for route in routes.values():
            for _, next_class, _ in route:
                chain, other_chain = of[r], of[names.index(next_class)]
                of[of == max(chain, other_chain)] = min(chain, other_chain)
    return np.unique(of, return_inverse=True)[1]


def _shares(members: Ints, visits_by: dict[int, Floats], leave: Floats, empty: Floats, names: list[str]) -> Floats:
    """Return the share of passes that begin in each class of a closed chain."""
    n = len(members)
    next_pass = np.zeros((n, n))
    for r, visits in visits_by.items():
        place = int(np.flatnonzero(members == r)[0])
        next_pass[place] = np.einsum("nr,nrs->s", visits, leave[:, members][:, :, members]) + empty[r, members]
    reached = next_pass.sum(axis=0) > 0
    for k in np.flatnonzero(reached & (next_pass.sum(axis=1) == 0)):
        raise InputError(f"class.{names[members[k]]}: a closed class that passes end in needs a route from {IN!r}")
    used = np.flatnonzero(reached)
    table = np.zeros((len(used) + 1, len(used)))
    table[:-1] = next_pass[np.ix_(used, used)].T - np.eye(len(used))
    table[-1] = 1.0
    share = np.zeros(n)
    share[used] = np.linalg.lstsq(table, np.append(np.zeros(len(used)), 1.0), rcond=None)[0]
    return np.maximum(share, 0.0)


def mixture(times: list[AnyTime], weights: Floats) -> tuple[float, float]:
    """Return mean and scv of a mixture of times with these weights."""
    share = weights / weights.sum()
    moments = np.array([time.moments() for time in times])
    mean = float(share @ moments[:, 0])
    square = float(share @ (moments[:, 0] ** 2 * (1 + moments[:, 1])))
    return mean, max(square / mean**2 - 1, 0.0)
