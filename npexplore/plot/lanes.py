"""Directed graphs in layers with room for names, arcs led around nodes between (Sugiyama, Tagawa & Toda, 1981).

An arc over several layers passes a point in each layer between. The order in a layer is the one with the fewest
crossings among sweeps of barycentres; places across are the nearest to the neighbours that keep that order and its
gaps: least squares under x[k + 1] - x[k] >= gap, by pooling what would overlap.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

from npexplore.plot.layers import depths

Node = TypeVar("Node", bound=Hashable)
SWEEPS, SETTLING = 24, 60
LANE = 14.0  # pixels for an arc that passes by
STRAIGHT = 8.0  # how much more an arc wants to be straight between two points of its own


class Routed(NamedTuple, Generic[Node]):
    """The position of each node (pixels across, layer), and the points that each arc passes, from its source."""

    at: dict[Node, tuple[float, int]]
    ways: dict[tuple[Node, Node], list[tuple[float, int]]]


def routed(
    nodes: Sequence[Node],
    arcs: Sequence[tuple[Node, Node]],
    beside: Sequence[tuple[Node, Node]],
    room: Mapping[Node, tuple[float, float]],
) -> Routed[Node]:
    """Return a layout. arcs: lead downwards unless they close a cycle. beside: arcs that do not affect the layers.

    room: pixels that a node needs to its left and right.
    """
    layer = depths(nodes, arcs)
    graph = _Graph(nodes, layer, list(dict.fromkeys([*arcs, *beside])), room)
    graph.order()
    x = graph.across()
    at = {node: (x[graph.number[node]], layer[node]) for node in nodes}
    ways = {arc: [(x[k], graph.layer[k]) for k in chain] for arc, chain in graph.chains.items()}
    return Routed(at, ways)


class _Graph(Generic[Node]):
    """Nodes and the points between them by number; links lead from one layer to the next."""

    def __init__(
        self, nodes: Sequence[Node], layer: Mapping[Node, int], arcs: Sequence[tuple[Node, Node]],
        room: Mapping[Node, tuple[float, float]],
    ) -> None:  # fmt: skip
        self.number = {node: k for k, node in enumerate(nodes)}
        self.layer = [layer[node] for node in nodes]
        self.room = [room[node] for node in nodes]
        self.chains: dict[tuple[Node, Node], list[int]] = {}
        self.links: list[tuple[int, int, float]] = []
        for arc in arcs:
            a, b = self.number[arc[0]], self.number[arc[1]]
            turned = self.layer[a] > self.layer[b]
            top, bottom = (b, a) if turned else (a, b)
            between = range(self.layer[top] + 1, self.layer[bottom])
            chain = [top, *range(len(self.layer), len(self.layer) + len(between)), bottom]
            self.layer += between
            self.room += [(LANE / 2, LANE / 2)] * len(between)
            if self.layer[top] != self.layer[bottom]:
                for one, other in pairwise(chain):
                    own = (one >= len(nodes)) + (other >= len(nodes))
                    self.links.append((one, other, (1.0, 2.0, STRAIGHT)[own]))
            self.chains[arc] = chain[::-1] if turned else chain
        self.above: list[list[tuple[int, float]]] = [[] for _ in self.layer]
        self.below: list[list[tuple[int, float]]] = [[] for _ in self.layer]
        for one, other, weight in self.links:
            self.above[other].append((one, weight))
            self.below[one].append((other, weight))
        self.layers: list[list[int]] = [[] for _ in range(max(self.layer, default=-1) + 1)]
        for k in self._walk():
            self.layers[self.layer[k]].append(k)

    def _walk(self) -> list[int]:
        """Return all points so that those that hang together stand together."""
        visited: dict[int, None] = {}
        for first in sorted(range(len(self.layer)), key=self.layer.__getitem__):
            stack = [first]
            while stack:
                k = stack.pop()
                if k not in visited:
                    visited[k] = None
                    stack += [other for other, _ in (*self.above[k], *self.below[k])][::-1]
        return list(visited)

    def order(self) -> None:
        """Put the points of each layer in the order of the fewest crossings that is found."""
        best, fewest = [list(layer) for layer in self.layers], self.crossings()
        for sweep in range(SWEEPS):
            down = sweep % 2 == 0
            near = self.above if down else self.below
            for layer, other in self._pairs(down):
                place = {k: n for n, k in enumerate(other)}
                wish = {
                    k: sum(place[m] for m, _ in near[k]) / len(near[k]) if near[k] else float(n)
                    for n, k in enumerate(layer)
                }
                layer.sort(key=wish.__getitem__)
            now = self.crossings()
            if now < fewest:
                best, fewest = [list(layer) for layer in self.layers], now
        self.layers = best

    def _pairs(self, down: bool) -> list[tuple[list[int], list[int]]]:
        pairs = [(lower, upper) for upper, lower in pairwise(self.layers)]
        return pairs if down else [(upper, lower) for lower, upper in pairs[::-1]]

    def crossings(self) -> int:
        """Return how often links cross."""
        total = 0
        for upper, lower in pairwise(self.layers):
            place = {k: n for n, k in enumerate(lower)}
            ends = [sorted(place[m] for m, _ in self.below[k]) for k in upper]
            met: list[int] = []
            for targets in ends:
                total += sum(before > target for target in targets for before in met)
                met += targets
        return total

    def across(self) -> list[float]:
        """Return where each point stands across, in pixels."""
        x = [0.0] * len(self.layer)
        gaps = [[self.room[a][1] + self.room[b][0] for a, b in pairwise(layer)] for layer in self.layers]
        for layer, gap in zip(self.layers, gaps, strict=True):
            for (a, b), wide in zip(pairwise(layer), gap, strict=True):
                x[b] = x[a] + wide
        for sweep in range(SETTLING):
            both = list(zip(self.layers, gaps, strict=True))
            for layer, gap in both if sweep % 2 == 0 else both[::-1]:
                wishes, weights = [], []
                for k in layer:
                    near = (*self.above[k], *self.below[k])
                    weight = sum(w for _, w in near)
                    wishes.append(sum(w * x[m] for m, w in near) / weight if near else x[k])
                    weights.append(weight or 0.1)
                for k, place in zip(layer, spread(wishes, weights, gap), strict=True):
                    x[k] = place
        return x


def spread(wishes: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """Return x of the least sum of weight * (x - wish)^2 with x[k + 1] - x[k] >= gaps[k]."""
    offsets = [0.0]
    for gap in gaps:
        offsets.append(offsets[-1] + gap)
    pools: list[tuple[float, float, int]] = []  # mean, weight, how many
    for wish, weight, offset in zip(wishes, weights, offsets, strict=False):
        mean, heavy, count = wish - offset, weight, 1
        while pools and pools[-1][0] >= mean:
            other, more, many = pools.pop()
            mean, heavy, count = (mean * heavy + other * more) / (heavy + more), heavy + more, count + many
        pools.append((mean, heavy, count))
    means = [mean for mean, _, count in pools for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=False)]
