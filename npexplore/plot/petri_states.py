"""Draws the reachability graph of a small net: a circle per marking, the initial one at the top, firings as arcs.

The layer of a marking is the least number of firings that reach it; arcs back up are bent. Dead markings are vermilion,
vanishing ones (an immediate transition is enabled) grey. Transitions are named if there are few, otherwise on hover.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import plotly.graph_objects as go

from npexplore.machine.petri import Net
from npexplore.plot import theme
from npexplore.plot.layers import layered
from npexplore.solve.petri.graph import Graph, find_graph

MAX_MARKINGS = 300  # markings that a picture can hold
MAX_NAMED_ARCS = 60  # arcs up to which names are written
ROW = 90  # pixels a layer


class Move(NamedTuple):
    """An arc of the graph: from one marking to another, with all transitions that fire there."""

    source: int
    target: int
    names: tuple[str, ...]


def draw_markings(net: Net, most: int = MAX_MARKINGS, title: str = "") -> go.Figure:
    """Return a drawing of all markings that a net can reach; raises RefusedError for more than `most` of them.

    net: the net to explore. most: the largest number of markings. title: of the figure.
    """
    graph = find_graph(net, most)
    moves = _moves(graph)
    layout = layered(range(len(graph.states)), _downwards(moves))
    at = {node: (x, -float(y)) for node, (x, y) in layout.items()}
    named = len(moves) <= MAX_NAMED_ARCS
    shapes: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    arc_labels: list[tuple[float, float, str]] = []
    for move in moves:
        (x0, y0), (x1, y1) = at[move.source], at[move.target]
        bend = 0.0 if y1 < y0 else 0.3 + 0.08 * abs(y1 - y0)
        xm, ym = (x0 + x1) / 2 - bend, (y0 + y1) / 2 + (0.6 if move.source == move.target else 0.0)
        t = 0.6
        x, y = ((1 - t) ** 2 * a + 2 * t * (1 - t) * m + t**2 * b for a, m, b in ((x0, xm, x1), (y0, ym, y1)))
        dx, dy = (2 * (1 - t) * (m - a) + 2 * t * (b - m) for a, m, b in ((x0, xm, x1), (y0, ym, y1)))
        length = max((dx**2 + dy**2) ** 0.5, 1e-9)
        shapes.append({
            "type": "path", "path": f"M {x0},{y0} Q {xm},{ym} {x1},{y1}", "layer": "below",
            "line": {"color": theme.GREY, "width": 1.1},
        })  # fmt: skip
        notes.append({
            "x": x, "y": y, "ax": -10 * dx / length, "ay": 10 * dy / length, "text": "", "showarrow": True,
            "arrowhead": 2, "arrowsize": 1.2, "arrowwidth": 1.1, "arrowcolor": theme.GREY,
        })  # fmt: skip
        arc_labels.append((x, y, ", ".join(move.names)))
    figure = go.Figure()
    figure.add_trace(go.Scatter(
        x=[x for x, _, _ in arc_labels], y=[y for _, y, _ in arc_labels], mode="markers+text" if named else "markers",
        text=[f"  {name}" for _, _, name in arc_labels], textposition="middle right", textfont={"size": 10},
        hovertext=[name for _, _, name in arc_labels], hoverinfo="text", marker={"size": 8, "opacity": 0},
    ))  # fmt: skip
    figure.add_trace(_circles(net, graph.states, at, set(graph.dead.tolist()), graph.vanishing))
    depth = max(-y for _, y in at.values())
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False, range=[-depth - 0.6, 0.7])
    figure.update_layout(
        shapes=shapes, annotations=notes, title=title or f"{net.name}: {len(graph.states)} markings",
        height=int(ROW * (depth + 2) + 60), showlegend=False, hovermode="closest", margin={"l": 10, "r": 10},
    )  # fmt: skip
    return figure


def _moves(graph: Graph) -> list[Move]:
    """Return the arcs of a graph; firings between the same two markings are one arc."""
    sources = graph.origin().tolist()
    moves: dict[tuple[int, int], list[str]] = {}
    for source, target, transition in zip(sources, graph.target.tolist(), graph.which.tolist(), strict=True):
        moves.setdefault((source, target), []).append(graph.firing.net.transitions[transition].name)
    return [Move(source, target, tuple(names)) for (source, target), names in moves.items()]


def _downwards(moves: list[Move]) -> list[tuple[int, int]]:
    """Return the arcs from a marking to markings one layer below, by a breadth-first search."""
    successors: dict[int, list[int]] = {}
    for move in moves:
        successors.setdefault(move.source, []).append(move.target)
    depth, queue = {0: 0}, [0]
    for node in queue:
        for target in successors.get(node, []):
            if target not in depth:
                depth[target] = depth[node] + 1
                queue.append(target)
    return [(move.source, move.target) for move in moves if depth[move.target] == depth[move.source] + 1]


def _circles(net: Net, states: Any, at: dict[int, tuple[float, float]], dead: set[int], vanishing: Any) -> go.Scatter:
    def colour(node: int) -> str:
        return theme.VERMILION if node in dead else theme.PALE if vanishing[node] else "white"

    marks = [
        ", ".join(f"{name}: {tokens}" for name, tokens in net.marking(row).items()) or "no tokens" for row in states
    ]
    nodes = range(len(states))
    return go.Scatter(
        x=[at[node][0] for node in nodes], y=[at[node][1] for node in nodes], mode="markers",
        hovertext=[f"{mark}{' (dead)' if node in dead else ''}" for node, mark in zip(nodes, marks, strict=True)],
        hoverinfo="text",
        marker={"opacity": 1, "size": [18 if node == 0 else 13 for node in nodes],
                "color": [colour(node) for node in nodes],
                "line": {"color": theme.BLACK, "width": [3 if node == 0 else 1.3 for node in nodes]}},
    )  # fmt: skip
