"""Directed graphs in layers, after Sugiyama, Tagawa & Toda (IEEE Trans. SMC 11(2), 1981).

Arcs that would close a cycle are reversed, a node is below everything that leads to it, and the order in a layer
follows the mean position of its neighbours.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from statistics import fmean
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)
SWEEPS = 24


def layered(nodes: Sequence[Node], arcs: Sequence[tuple[Node, Node]]) -> dict[Node, tuple[float, int]]:
    """Return each node's position: its place across, centred at 0, and the number of its layer, 0 at the top."""
    depth = depths(nodes, arcs)
    layers: list[list[Node]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for node in nodes:
        layers[depth[node]].append(node)
    near: dict[Node, list[Node]] = {node: [] for node in nodes}
    for a, b in arcs:
        near[a].append(b)
        near[b].append(a)
    at = {node: k - (len(layer) - 1) / 2 for layer in layers for k, node in enumerate(layer)}
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 == 0 else layers[::-1]:
            wish = {node: fmean([at[other] for other in near[node]] or [at[node]]) for node in layer}
            layer.sort(key=wish.__getitem__)
            shift = fmean(wish.values()) - (len(layer) - 1) / 2
            for k, node in enumerate(layer):
                at[node] = k + shift
    return {node: (at[node], depth[node]) for node in nodes}


def depths(nodes: Sequence[Node], arcs: Sequence[tuple[Node, Node]]) -> dict[Node, int]:
    """Return the length of the longest path to each node, ignoring arcs that close a cycle."""
    after: dict[Node, list[Node]] = {node: [] for node in nodes}
    for a, b in arcs:
        after[a].append(b)
    order: list[Node] = []
    state: dict[Node, int] = {}  # 1: on the way from a root, 2: done
    back: set[tuple[Node, Node]] = set()
    for root in nodes:
        stack = [(root, iter(after[root]))] if root not in state else []
        state.setdefault(root, 1)
        while stack:
            node, rest = stack[-1]
            following = next(rest, None)
            if following is None:
                state[node] = 2
                order.append(node)
                stack.pop()
            elif state.get(following) == 1:
                back.add((node, following))
            elif following not in state:
                state[following] = 1
                stack.append((following, iter(after[following])))
    depth = dict.fromkeys(nodes, 0)
    for node in reversed(order):
        for following in after[node]:
            if (node, following) not in back:
                depth[following] = max(depth[following], depth[node] + 1)
    return depth
