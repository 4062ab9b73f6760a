"""Classes that customers change between, taken together: a chain of classes has one throughput of passes.

Visits to (node, class) a pass solve the traffic equations over both. A pass begins in class r with share b_r: open, in
proportion to the arrivals; closed, b = b E with E the chances that a pass that begins in r makes the next begin in r'.
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
    """Which chain each of R classes belongs to, and what happens in one pass of the chain."""

    of: Ints  # (R,), the number of each class's chain
    visits: Floats  # (nodes, R) a pass of the chain; nodes as in `nodes_of`
    begins: Floats  # (R,), share of the chain's passes that begin in the class
    ends: Floats  # (R,), share of the passes that end in it
    closed: tuple[bool, ...]  # by chain
    first: Floats  # (R, nodes, R), chances to begin at a node as a class, by the class that comes
    routing: Floats  # (nodes, R, nodes, R), chances to go on

    @property
    def count(self) -> int:
        """Return how many chains there are."""
        return len(self.closed)

    @property
    def closed_classes(self) -> list[bool]:
        """Flag the classes (R,) whose customers start again: those of a chain with a population."""
        return [self.closed[c] for c in self.of]


def nodes_of(network: Network) -> list[str]:
    """Return all nodes that customers pass: stations, forks, and both ends of caches."""
    return [name for name in network.starts if name != IN]


def chains_of(network: Network) -> Chains:
    """Solve the traffic equations; raises InputError where customers can never leave, or change from closed to open."""
    names, nodes = list(network.classes), nodes_of(network)
    R, N = len(names), len(nodes)
    ways = [network.routes(name) for name in names]
    of = _connected(names, ways)
    chances = cache_chances(network)
    routing, first, leave = np.zeros((N, R, N, R)), np.zeros((R, N, R)), np.zeros((N, R, R))
    at_once = np.zeros((R, R))  # passes that visit nothing: class before, class behind
    for r, routes in enumerate(ways):
        for start, route in routes.items():
            for target, other, chance in route:
                into = names.index(other)
                if target == OUT and start == IN:
                    at_once[r, into] += chance
                    continue
                if target == OUT:
                    leave[nodes.index(start), r, into] += chance
                    continue
                for node in ahead(target, network):
                    share = chance * chances.get(node, 1.0)
                    if start == IN:
                        first[r, nodes.index(node), into] += share
                    else:
                        routing[nodes.index(start), r, nodes.index(node), into] += share
    visits, begins, ends = np.zeros((N, R)), np.zeros(R), np.zeros(R)
    closed: list[bool] = []
    for c in range(max(of) + 1):
        members = np.flatnonzero(of == c)
        inside = np.ix_(np.arange(N), members, np.arange(N), members)
        table = routing[inside].reshape(N * len(members), -1)
        labels = [node for node in nodes for _ in members]
        starts = [int(r) for r in members if ways[r].get(IN)]
        each = {}
        for r in starts:
            try:
                each[r] = queueing.open_rates(table, first[r][:, members].ravel(), labels).reshape(N, -1)
            except InputError as error:
                raise InputError(f"class.{names[r]}: {error}") from None
        customers = [network.classes[names[r]] for r in members]
        populated = [one.population is not None for one in customers]
        arriving = [one.arrivals is not None for one in customers]
        if any(populated) and any(arriving):
            raise InputError(
                f"class.{names[members[arriving.index(True)]]}: an open class must not become a closed one, or back"
            )
        closed.append(any(populated))
        if not any(populated) and not any(arriving):
            raise InputError(f"class.{names[members[0]]}: no customers come into this class")
        if closed[-1]:
            portion = _shares(members, each, leave, at_once, names)
        else:
            portion = np.array([one.arrivals.rate if one.arrivals else 0.0 for one in customers])
            portion = portion / portion.sum()
        for r, part in zip(members.tolist(), portion, strict=True):
            begins[r] = part
            if part:
                visits[:, members] += part * each[r]
        ends[members] = np.einsum("nr,nrs->s", visits[:, members], leave[:, members][:, :, members])
        ends[members] += begins[members] @ at_once[np.ix_(members, members)]
    return Chains(of, visits, begins, ends, tuple(closed), first, routing)


def cache_chances(network: Network) -> dict[str, float]:
    """Return the chances of both ends of each cache."""
    probabilities: dict[str, float] = {}
    for name, cache in network.cache.items():
        p = np.array(cache.chances())
        hit = float(p @ hit_chances(p, cache.places, cache.replace).hit)
        probabilities |= {f"{name}{HIT}": hit, f"{name}{MISS}": 1 - hit}
    return probabilities


def _connected(names: list[str], ways: list[dict[str, list[tuple[str, str, float]]]]) -> Ints:
    of = np.arange(len(names))
    for r, routes in enumerate(ways):
        for route in routes.values():
            for _, other, _ in route:
                a, b = of[r], of[names.index(other)]
                of[of == max(a, b)] = min(a, b)
    return np.unique(of, return_inverse=True)[1]


def _shares(members: Ints, each: dict[int, Floats], leave: Floats, at_once: Floats, names: list[str]) -> Floats:
    """Return the share of passes that begin in each class of a closed chain."""
    n = len(members)
    again = np.zeros((n, n))
    for r, visits in each.items():
        at = int(np.flatnonzero(members == r)[0])
        again[at] = np.einsum("nr,nrs->s", visits, leave[:, members][:, :, members]) + at_once[r, members]
    reached = again.sum(axis=0) > 0
    for k in np.flatnonzero(reached & (again.sum(axis=1) == 0)):
        raise InputError(f"class.{names[members[k]]}: a closed class that passes end in needs a route from {IN!r}")
    used = np.flatnonzero(reached)
    table = np.zeros((len(used) + 1, len(used)))
    table[:-1] = again[np.ix_(used, used)].T - np.eye(len(used))
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
