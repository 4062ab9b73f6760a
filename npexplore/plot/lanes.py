"""Layered drawings of directed graphs with room for names and arcs around nodes (Sugiyama, Tagawa & Toda, 1981).

An arc over several layers passes a point in each layer between. The order in a layer is the order with the fewest
crossings among the barycentre sweeps; horizontal positions are as near to the neighbours as the order and the gaps
allow: least squares under x[k + 1] - x[k] >= gap, by pooling overlapping nodes.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

from npexplore.plot.layers import depths

Node = TypeVar("Node", bound=Hashable)
SWEEPS, SETTLING = 24, 60
LANE = 14.0  # width of an arc between nodes, in pixels
STRAIGHT = 8.0  # weight of a link between two passing points of an arc, to keep it straight


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
    """Return a layout. arcs: drawn downwards unless they close a cycle. beside: arcs that do not affect the layers.

    room: pixels that a node needs to its left and right.
    """
    layer = depths(nodes, arcs)
    graph = _Graph(nodes, layer, list(dict.fromkeys([*arcs, *beside])), room)
    graph.order()
    x = graph.across()
    at = {node: (x[graph.number[node]], layer[node]) for node in nodes}
    ways = {arc: [(x[point], graph.layer[point]) for point in chain] for arc, chain in graph.chains.items()}
    return Routed(at, ways)


class _Graph(Generic[Node]):
    """Nodes and passing points of arcs, by number; links join points of adjacent layers."""

    def __init__(
        self, nodes: Sequence[Node], layer: Mapping[Node, int], arcs: Sequence[tuple[Node, Node]],
        room: Mapping[Node, tuple[float, float]],
    ) -> None:  # fmt: skip
        self.number = {node: number for number, node in enumerate(nodes)}
        self.layer = [layer[node] for node in nodes]
        self.room = [room[node] for node in nodes]
        self.chains: dict[tuple[Node, Node], list[int]] = {}
        self.links: list[tuple[int, int, float]] = []
        for arc in arcs:
            source, target = self.number[arc[0]], self.number[arc[1]]
            is_reversed = self.layer[source] > self.layer[target]
            top, bottom = (target, source) if is_reversed else (source, target)
            between = range(self.layer[top] + 1, self.layer[bottom])
            chain = [top, *range(len(self.layer), len(self.layer) + len(between)), bottom]
            self.layer += between
            self.room += [(LANE / 2, LANE / 2)] * len(between)
            if self.layer[top] != self.layer[bottom]:
                for upper, lower in pairwise(chain):
                    passing_points = (upper >= len(nodes)) + (lower >= len(nodes))
                    self.links.append((upper, lower, (1.0, 2.0, STRAIGHT)[passing_points]))
            self.chains[arc] = chain[::-1] if is_reversed else chain
        self.above: list[list[tuple[int, float]]] = [[] for _ in self.layer]
        self.below: list[list[tuple[int, float]]] = [[] for _ in self.layer]
        for upper, lower, weight in self.links:
            self.above[lower].append((upper, weight))
            self.below[upper].append((lower, weight))
        self.layers: list[list[int]] = [[] for _ in range(max(self.layer, default=-1) + 1)]
        for point in self._walk():
            self.layers[self.layer[point]].append(point)

    def _walk(self) -> list[int]:
        """Return all points, connected points next to each other."""
        visited: dict[int, None] = {}
        for first in sorted(range(len(self.layer)), key=self.layer.__getitem__):
            stack = [first]
            while stack:
                point = stack.pop()
                if point not in visited:
                    visited[point] = None
                    stack += [neighbour for neighbour, _ in (*self.above[point], *self.below[point])][::-1]
        return list(visited)

    def order(self) -> None:
        """Order the points of each layer by the sweep with the fewest crossings."""
        best, fewest = [list(layer) for layer in self.layers], self.crossings()
        for sweep in range(SWEEPS):
            down = sweep % 2 == 0
            links = self.above if down else self.below
            for layer, fixed_layer in self._pairs(down):
                place = {point: rank for rank, point in enumerate(fixed_layer)}
                barycentre = {
                    point: sum(place[near] for near, _ in links[point]) / len(links[point])
                    if links[point]
                    else float(rank)
                    for rank, point in enumerate(layer)
                }
                layer.sort(key=barycentre.__getitem__)
            crossings = self.crossings()
            if crossings < fewest:
                best, fewest = [list(layer) for layer in self.layers], crossings
        self.layers = best

    def _pairs(self, down: bool) -> list[tuple[list[int], list[int]]]:
        pairs = [(lower, upper) for upper, lower in pairwise(self.layers)]
        return pairs if down else [(upper, lower) for lower, upper in pairs[::-1]]

    def crossings(self) -> int:
        """Return the number of crossings of links."""
        total = 0
        for upper, lower in pairwise(self.layers):
            place = {point: rank for rank, point in enumerate(lower)}
            ends = [sorted(place[target_point] for target_point, _ in self.below[point]) for point in upper]
            earlier: list[int] = []
            for targets in ends:
                total += sum(before > target for target in targets for before in earlier)
                earlier += targets
        return total

    def across(self) -> list[float]:
        """Return the horizontal position of each point, in pixels."""
        x = [0.0] * len(self.layer)
        gaps = [[self.room[left][1] + self.room[right][0] for left, right in pairwise(layer)] for layer in self.layers]
        for layer, gap in zip(self.layers, gaps, strict=True):
            for (left, right), gap_width in zip(pairwise(layer), gap, strict=True):
                x[right] = x[left] + gap_width
        for sweep in range(SETTLING):
            layers_and_gaps = list(zip(self.layers, gaps, strict=True))
            for layer, gap in layers_and_gaps if sweep % 2 == 0 else layers_and_gaps[::-1]:
                wishes, weights = [], []
                for point in layer:
                    links = (*self.above[point], *self.below[point])
                    weight = sum(w for _, w in links)
                    wishes.append(sum(w * x[near] for near, w in links) / weight if links else x[point])
                    weights.append(weight or 0.1)
                for point, place in zip(layer, spread(wishes, weights, gap), strict=True):
                    x[point] = place
        return x


def spread(wishes: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """Return the x that minimise the sum of weight * (x - wish)^2 with x[k + 1] - x[k] >= gaps[k]."""
    offsets = [0.0]
    for gap in gaps:
        offsets.append(offsets[-1] + gap)
    pools: list[tuple[float, float, int]] = []  # (mean, weight, number of points)
    for wish, weight, offset in zip(wishes, weights, offsets, strict=False):
        mean, total, count = wish - offset, weight, 1
        while pools and pools[-1][0] >= mean:
            other, more, number = pools.pop()
            mean, total, count = (mean * total + other * more) / (total + more), total + more, count + number
        pools.append((mean, total, count))
    means = [mean for mean, _, count in pools for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=False)]
