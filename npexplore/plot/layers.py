"""Places the nodes of directed graphs in layers, after Sugiyama, Tagawa & Toda (IEEE Trans. SMC 11(2), 1981).

Arcs that would close a cycle are reversed, a node is below all its predecessors, and nodes of a layer are ordered by
the mean position of their neighbours.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from statistics import fmean
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)
SWEEPS = 24


def layered(nodes: Sequence[Node], arcs: Sequence[tuple[Node, Node]]) -> dict[Node, tuple[float, int]]:
    """Return each node's position: horizontal, centred at 0, and the number of its layer, 0 at the top."""
    depth = depths(nodes, arcs)
    layers: list[list[Node]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for node in nodes:
        layers[depth[node]].append(node)
    neighbours: dict[Node, list[Node]] = {node: [] for node in nodes}
    for source, target in arcs:
        neighbours[source].append(target)
        neighbours[target].append(source)
    at = {node: rank - (len(layer) - 1) / 2 for layer in layers for rank, node in enumerate(layer)}
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 == 0 else layers[::-1]:
            mean_position = {
                node: fmean([at[neighbour] for neighbour in neighbours[node]] or [at[node]]) for node in layer
            }
            layer.sort(key=mean_position.__getitem__)
            shift = fmean(mean_position.values()) - (len(layer) - 1) / 2
            for rank, node in enumerate(layer):
                at[node] = rank + shift
    return {node: (at[node], depth[node]) for node in nodes}


def depths(nodes: Sequence[Node], arcs: Sequence[tuple[Node, Node]]) -> dict[Node, int]:
    """Return the length of the longest path to each node, ignoring arcs that close a cycle."""
    successors: dict[Node, list[Node]] = {node: [] for node in nodes}
    for source, target in arcs:
        successors[source].append(target)
    order: list[Node] = []
    state: dict[Node, int] = {}  # 1: on the path from a root, 2: finished
    closing: set[tuple[Node, Node]] = set()
    for root in nodes:
        stack = [(root, iter(successors[root]))] if root not in state else []
        state.setdefault(root, 1)
        while stack:
            node, remaining = stack[-1]
            successor = next(remaining, None)
            if successor is None:
                state[node] = 2
                order.append(node)
                stack.pop()
            elif state.get(successor) == 1:
                closing.add((node, successor))
            elif successor not in state:
                state[successor] = 1
                stack.append((successor, iter(successors[successor])))
    depth = dict.fromkeys(nodes, 0)
    for node in reversed(order):
        for successor in successors[node]:
            if (node, successor) not in closing:
                depth[successor] = max(depth[successor], depth[node] + 1)
    return depth
