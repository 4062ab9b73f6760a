"""Draws Petri nets in the style of the IXP2400 paper: places as circles, ports double, thin and thick bars.

Places and transitions of one family (names that differ only in their index) are one symbol, with the tokens of all
members. An arc to a place whose token a transition takes and gives back is grey; an inhibitor ends in a small circle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import plotly.graph_objects as go

from npexplore.machine.petri import Net
from npexplore.plot import theme
from npexplore.plot.lanes import routed, spread
from npexplore.solve.petri import Log

Kind = Literal["normal", "held", "inhibitor"]
Node = tuple[str, str]  # "place" or "transition", and its family
Point = tuple[float, float]  # pixels across, layers above the first
ROW, TITLE, NARROW = 46, 60, 700  # pixels: height of a layer, height of the title, least width
LEFT, BAR = 20.0, 10.0  # pixels: room to the left of a symbol's middle; half the width of a bar for arcs
LETTER, LONG = 6.2, 9  # width of a letter in pixels; longest name on one line in letters


class Line(NamedTuple):
    """An arc between two symbols."""

    source: Node
    target: Node
    kind: Kind


class Layout(NamedTuple):
    """The positions of symbols, and the points that lines pass."""

    at: dict[Node, Point]
    ways: dict[Line, list[Point]]


def family(name: str) -> str:
    """Return the name of a family: without its indexes."""
    return name.partition("[")[0]


def draw_net(net: Net, marking: Mapping[str, int] | None = None, title: str = "") -> go.Figure:
    """Return a drawing of a net with a marking (None: the initial one).

    net: the net to draw. marking: tokens by place. title: of the figure.
    """
    return _drawn(net, _layout(net), net.marking(net.initial) if marking is None else marking, title)


def _drawn(net: Net, layout: Layout, marking: Mapping[str, int], title: str) -> go.Figure:
    at = layout.at
    figure = go.Figure()
    depth = max(-y for _, y in at.values())
    _arcs(figure, layout)
    _symbols(figure, net, at)
    figure.add_trace(_tokens(net, at, marking))
    xs = [x for points in layout.ways.values() for x, _ in points]
    left = min([at[node][0] - _room(node)[0] for node in at] + xs)
    right = max([at[node][0] + _room(node)[1] for node in at] + xs)
    right = max(right, left + NARROW)
    figure.update_xaxes(visible=False, range=[left, right])
    figure.update_yaxes(visible=False, range=[-depth - 0.7, 0.7])
    figure.update_layout(
        title=title or net.name, height=int(ROW * (depth + 1.4) + TITLE), showlegend=False, hovermode="closest",
        margin={"l": 10, "r": 10, "t": TITLE - 10, "b": 10}, meta={"least_width": int(right - left) + 20},
    )  # fmt: skip
    return figure


def draw_steps(log: Log, title: str = "") -> go.Figure:
    """Return a drawing with a slider that steps through a log of firings; the page needs no Python."""
    net = log.net
    layout = _layout(net)
    figure, at = _drawn(net, layout, net.marking(net.initial), title), layout.at
    token_trace = len(figure.data) - 1
    steps = []
    marks = [("at first", net.marking(net.initial))]
    marks += [(f"{step.time:g}: {step.transition} {step.how}", step.marking) for step in log.steps()]
    for label, marking in marks:
        tokens = _tokens(net, at, marking)
        change = {"text": [list(tokens.text)], "hovertext": [list(tokens.hovertext)]}
        steps.append({"label": label, "method": "restyle", "args": [change, [token_trace]]})
    figure.update_layout(
        sliders=[{"active": 0, "steps": steps, "ticklen": 0, "minorticklen": 0, "font": {"color": "rgba(0,0,0,0)"},
                  "currentvalue": {"prefix": "time ", "font": {"color": theme.BLACK}}}]
    )  # fmt: skip
    return figure


def _lines(net: Net) -> Iterator[Line]:
    for transition in net.transitions:
        bar = ("transition", family(transition.name))
        take_families = {family(net.places[arc.place].name) for arc in transition.take}
        give_families = {family(net.places[arc.place].name) for arc in transition.give}
        for name in sorted(take_families & give_families):
            yield Line(("place", name), bar, "held")
        for arc in transition.take:
            if (name := family(net.places[arc.place].name)) not in give_families:
                yield Line(("place", name), bar, "normal")
        for arc in transition.give:
            if (name := family(net.places[arc.place].name)) not in take_families:
                yield Line(bar, ("place", name), "normal")
        for arc in transition.test:
            yield Line(("place", family(net.places[arc.place].name)), bar, "held")
        for arc in transition.inhibit:
            yield Line(("place", family(net.places[arc.place].name)), bar, "inhibitor")


def _layout(net: Net) -> Layout:
    """Return the positions of symbols and the points of lines; places that are only held or tested are at the right."""
    lines = list(dict.fromkeys(_lines(net)))
    moved = {node for line in lines if line.kind == "normal" for node in (line.source, line.target)}
    nodes: list[Node] = list(dict.fromkeys(("place", family(place.name)) for place in net.places))
    nodes += dict.fromkeys(("transition", family(transition.name)) for transition in net.transitions)
    inside = [node for node in nodes if node in moved or node[0] == "transition"]
    arcs = [(line.source, line.target) for line in lines if line.kind == "normal"]
    inhibitors = [(line.source, line.target) for line in lines if line.kind == "inhibitor" and line.source in moved]
    layout = routed(inside, arcs, inhibitors, {node: _room(node) for node in inside})
    at = {node: (x, -float(y)) for node, (x, y) in layout.at.items()}
    right = max((x + _room(node)[1] for node, (x, _) in at.items()), default=0.0) + LEFT
    aside = [node for node in nodes if node not in at]
    target_layers = {node: [at[line.target][1] for line in lines if line.source == node] for node in aside}
    aside.sort(key=lambda node: -sum(target_layers[node]) / max(len(target_layers[node]), 1))
    heights = [-sum(target_layers[node]) / max(len(target_layers[node]), 1) for node in aside]
    for node, y in zip(aside, spread(heights, [1.0] * len(aside), [1.0] * (len(aside) - 1)), strict=True):
        at[node] = (right, -y)
    ways = {}
    for line in lines:
        points = layout.ways.get((line.source, line.target)) if line.kind != "held" else None
        ways[line] = [at[line.source], at[line.target]] if points is None else [(x, -float(y)) for x, y in points]
    return Layout(at, ways)


def wrapped(name: str) -> list[str]:
    """Return a name on one line or two: divided before a capital or after an underscore near its middle."""
    breaks = [
        position
        for position in range(2, len(name) - 1)
        if (name[position].isupper() and not name[position - 1].isupper()) or name[position - 1] == "_"
    ]
    if len(name) <= LONG or not breaks:
        return [name]
    middle = min(breaks, key=lambda position: abs(2 * position - len(name)))
    return [name[:middle], name[middle:]]


def _room(node: Node) -> tuple[float, float]:
    """Return the pixels that a symbol with its name needs to its left and right."""
    return LEFT, LEFT + 8 + LETTER * (max(map(len, wrapped(node[1]))) + 2)


def _arcs(figure: go.Figure, layout: Layout) -> None:
    """Draw all arcs at once, because plotly checks the whole layout again for each part that is added."""
    shapes: list[dict[str, Any]] = []
    heads: list[dict[str, Any]] = []
    rings: list[tuple[float, float]] = []
    for line, line_points in layout.ways.items():
        colour = {"normal": theme.GREY, "held": theme.PALE, "inhibitor": theme.VERMILION}[line.kind]
        points = line_points if line.kind == "held" else _ends(line, line_points)
        shapes.append({
            "type": "path", "path": _path(points, curved=line.kind != "held"), "layer": "below",
            "line": {"color": colour, "width": 1.3},
        })  # fmt: skip
        (x, y), goes_up = points[-1], points[-1][1] > points[-2][1]
        if line.kind == "inhibitor":
            rings.append((x, y))
        elif line.kind == "normal":
            heads.append({
                "x": x, "y": y, "ax": 0, "ay": 9 if goes_up else -9, "text": "", "showarrow": True, "arrowhead": 2,
                "arrowsize": 1.2, "arrowwidth": 1.3, "arrowcolor": colour,
            })  # fmt: skip
    figure.update_layout(shapes=shapes, annotations=heads)
    if rings:
        figure.add_trace(go.Scatter(
            x=[x for x, _ in rings], y=[y for _, y in rings], mode="markers", hoverinfo="skip",
            marker={"size": 8, "color": "white", "line": {"color": theme.VERMILION, "width": 1.5}},
        ))  # fmt: skip


def _ends(line: Line, way: Sequence[Point]) -> list[Point]:
    """Return an arc from rim to rim of its symbols; at a bar, arcs end on the side that they come from."""
    points = list(way)
    for end, next_end, node in ((0, 1, line.source), (-1, -2, line.target)):
        (x, y), (next_x, next_y) = way[end], way[next_end]
        rim = (4 if node[0] == "transition" else 12 if line.kind == "normal" or end == 0 else 14) / ROW
        shift = max(-BAR, min(BAR, (next_x - x) / 6)) if node[0] == "transition" else 0.0
        points[end] = (x + shift, y + (rim if next_y > y else -rim if next_y < y else 0.0))
    return points


def _path(points: Sequence[Point], *, curved: bool) -> str:
    """Return points as an SVG path: a smooth curve through all points (Catmull & Rom, 1974), vertical at the ends."""
    parts = [f"M{points[0][0]:.0f},{points[0][1]:.2f}"]
    slopes = [(after[0] - before[0], after[1] - before[1]) for before, after in zip(points, points[2:], strict=False)]
    slopes = [(0.0, 1.5 * (points[1][1] - points[0][1])), *slopes, (0.0, 1.5 * (points[-1][1] - points[-2][1]))]
    for (x0, y0), (x1, y1), (u0, v0), (u1, v1) in zip(points, points[1:], slopes, slopes[1:], strict=False):
        bent = f"C{x0 + u0 / 6:.0f},{y0 + v0 / 6:.2f} {x1 - u1 / 6:.0f},{y1 - v1 / 6:.2f} {x1:.0f},{y1:.2f}"
        parts.append(bent if curved else f"L{x1:.0f},{y1:.2f}")
    return "".join(parts)


def _symbols(figure: go.Figure, net: Net, at: Mapping[Node, tuple[float, float]]) -> None:
    ports = {("place", family(place.name)) for place in net.places if place.port}
    timed = {("transition", family(transition.name)) for transition in net.transitions if transition.timed}
    numbered = {("place", family(place.name)) for place in net.places if "[" in place.name}
    groups = (
        (list(ports), "circle-open", 30, theme.BLACK),
        ([node for node in at if node[0] == "place"], "circle", 22, "white"),
        ([node for node in at if node[0] == "transition" and node in timed], "line-ew", 26, theme.BLACK),
        ([node for node in at if node[0] == "transition" and node not in timed], "line-ew", 26, theme.BLACK),
    )
    for number, (nodes, symbol, size, colour) in enumerate(groups):
        width = 5 if number == 2 else 1.5
        names = ["<br>    ".join(wrapped(name)) + "[ ]" * ((kind, name) in numbered) for kind, name in nodes]
        figure.add_trace(go.Scatter(
            x=[at[node][0] for node in nodes], y=[at[node][1] for node in nodes], mode="markers+text",
            text=[f"    {name}" if number else "" for name in names], textposition="middle right", hoverinfo="skip",
            textfont={"size": 11, "color": theme.BLUE if number == 1 else theme.BLACK},
            marker={"symbol": symbol, "size": size, "color": colour, "line": {"color": theme.BLACK, "width": width}},
        ))  # fmt: skip


def _tokens(net: Net, at: Mapping[Node, tuple[float, float]], marking: Mapping[str, int]) -> go.Scatter:
    sums: dict[str, int] = {}
    for place in net.places:
        sums[family(place.name)] = sums.get(family(place.name), 0) + marking.get(place.name, 0)
    nodes = [("place", name) for name in sums]
    dots = {0: "", 1: "●", 2: "●●"}
    return go.Scatter(
        x=[at[node][0] for node in nodes], y=[at[node][1] for node in nodes], mode="text",
        text=[dots.get(n, str(n)) for n in sums.values()], textfont={"size": 10, "color": theme.VERMILION},
        hovertext=[f"{name}: {n}" for name, n in sums.items()], hoverinfo="text",
    )  # fmt: skip
