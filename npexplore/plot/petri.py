"""Petri nets drawn as the IXP2400 paper draws them: places as circles, ports double, thin and thick bars.

Places and transitions of one family are one symbol, with the tokens of all its members. Arcs to places that a
transition takes and gives back are grey lines; an inhibitor ends in a small circle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import plotly.graph_objects as go

from npexplore.machine.petri import Net
from npexplore.plot import theme
from npexplore.plot.layers import layered
from npexplore.solve.petri import Log

Kind = Literal["normal", "held", "inhibitor"]
Node = tuple[str, str]  # "place" or "transition", and its family
ROW, COLUMN, GAP = 46, 165, 1.0  # pixels a layer and across, about
NAME = 0.15  # of a wide net's width: room for a name


class Line(NamedTuple):
    """An arc between two symbols."""

    source: Node
    target: Node
    kind: Kind


def family(name: str) -> str:
    """Return the name of a family: without its indexes."""
    return name.partition("[")[0]


def draw(net: Net, marking: Mapping[str, int] | None = None, title: str = "") -> go.Figure:
    """Return a drawing of a net with a marking (None: the one at first)."""
    lines = list(dict.fromkeys(_lines(net)))
    at = _places(net, lines)
    figure = go.Figure()
    depth = max(-y for _, y in at.values())
    _arcs(figure, at, lines)
    _symbols(figure, net, at)
    figure.add_trace(_tokens(net, at, net.marking(net.initial) if marking is None else marking))
    across = [x for x, _ in at.values()]
    figure.update_xaxes(
        visible=False, range=[min(across) - 0.3, max(across) + max(0.6, NAME * (max(across) - min(across)))]
    )
    figure.update_yaxes(visible=False, range=[-depth - 0.7, 0.7])
    figure.update_layout(
        title=title or net.name, height=int(ROW * (depth + 2) + 90), showlegend=False, hovermode="closest",
        margin={"l": 10, "r": 10},
    )  # fmt: skip
    return figure


def stepping(log: Log, title: str = "") -> go.Figure:
    """Return a drawing with a slider over the steps of a log, forwards and back; it needs no Python."""
    net = log.net
    figure = draw(net, title=title)
    at = _places(net, list(dict.fromkeys(_lines(net))))
    last = len(figure.data) - 1
    steps = []
    marks = [("at first", net.marking(net.initial))]
    marks += [(f"{one.time:g}: {one.transition} {one.how}", one.marking) for one in log.steps()]
    for label, marking in marks:
        shown = _tokens(net, at, marking)
        change = {"text": [list(shown.text)], "hovertext": [list(shown.hovertext)]}
        steps.append({"label": label, "method": "restyle", "args": [change, [last]]})
    figure.update_layout(
        sliders=[{"active": 0, "steps": steps, "ticklen": 0, "minorticklen": 0, "font": {"color": "rgba(0,0,0,0)"},
                  "currentvalue": {"prefix": "time ", "font": {"color": theme.BLACK}}}]
    )  # fmt: skip
    return figure


def _lines(net: Net) -> Iterator[Line]:
    for one in net.transitions:
        bar = ("transition", family(one.name))
        taken = {family(net.places[arc.place].name) for arc in one.take}
        given = {family(net.places[arc.place].name) for arc in one.give}
        for name in sorted(taken & given):
            yield Line(("place", name), bar, "held")
        for arc in one.take:
            if (name := family(net.places[arc.place].name)) not in given:
                yield Line(("place", name), bar, "normal")
        for arc in one.give:
            if (name := family(net.places[arc.place].name)) not in taken:
                yield Line(bar, ("place", name), "normal")
        for arc in one.test:
            yield Line(("place", family(net.places[arc.place].name)), bar, "held")
        for arc in one.inhibit:
            yield Line(("place", family(net.places[arc.place].name)), bar, "inhibitor")


def _places(net: Net, lines: list[Line]) -> dict[Node, tuple[float, float]]:
    """Return where symbols stand; places that are only held or looked at beside those that do."""
    moved = {node for line in lines if line.kind == "normal" for node in (line.source, line.target)}
    nodes: list[Node] = list(dict.fromkeys(("place", family(one.name)) for one in net.places))
    nodes += dict.fromkeys(("transition", family(one.name)) for one in net.transitions)
    arcs = [(line.source, line.target) for line in lines if line.kind == "normal"]
    found = layered([node for node in nodes if node in moved or node[0] == "transition"], arcs)
    at = {node: (GAP * x, -float(y)) for node, (x, y) in found.items()}
    right = max((x for x, _ in at.values()), default=0.0)
    beside = max(0.7 * GAP, NAME * (right - min((x for x, _ in at.values()), default=0.0)))
    aside = [node for node in nodes if node not in at]
    for node in aside:
        bars = [at[line.target][1] for line in lines if line.source == node]
        y = sum(bars) / len(bars) if bars else 0.0
        while any(x > right and abs(other - y) < 1 for x, other in at.values()):
            y -= 0.5
        at[node] = (right + beside, y)
    return at


def _arcs(figure: go.Figure, at: Mapping[Node, tuple[float, float]], lines: list[Line]) -> None:
    """Draw all arcs at once: plotly looks at a whole layout anew for each part that is added to it."""
    shapes: list[dict[str, Any]] = []
    heads: list[dict[str, Any]] = []
    rings: list[tuple[float, float]] = []
    for line in lines:
        _arc(at, line, shapes, heads, rings)
    figure.update_layout(shapes=shapes, annotations=heads)
    if rings:
        figure.add_trace(go.Scatter(
            x=[x for x, _ in rings], y=[y for _, y in rings], mode="markers", hoverinfo="skip",
            marker={"size": 8, "color": "white", "line": {"color": theme.VERMILION, "width": 1.5}},
        ))  # fmt: skip


def _arc(
    at: Mapping[Node, tuple[float, float]], line: Line, shapes: list[dict[str, Any]], heads: list[dict[str, Any]],
    rings: list[tuple[float, float]],
) -> None:  # fmt: skip
    (x0, y0), (x1, y1) = at[line.source], at[line.target]
    far = line.kind == "normal" and (y0 - y1 > 1.5 or y1 > y0)
    bend = (0.35 + 0.05 * abs(y0 - y1)) * (-1 if y1 > y0 else 1) if far else 0.0
    xm, ym = (x0 + x1) / 2 + bend, (y0 + y1) / 2
    colour = theme.GREY if line.kind != "inhibitor" else theme.VERMILION
    shapes.append({
        "type": "path", "path": f"M {x0},{y0} Q {xm},{ym} {x1},{y1}", "layer": "below",
        "line": {"color": colour if line.kind != "held" else theme.PALE, "width": 1.3},
    })  # fmt: skip
    t = 0.62  # the head stands on the way, where it is not hidden by a symbol
    x, y = ((1 - t) ** 2 * a + 2 * t * (1 - t) * m + t**2 * b for a, m, b in ((x0, xm, x1), (y0, ym, y1)))
    if line.kind == "inhibitor":
        rings.append((x, y))
    elif line.kind == "normal":
        dx, dy = (2 * (1 - t) * (m - a) + 2 * t * (b - m) for a, m, b in ((x0, xm, x1), (y0, ym, y1)))
        right, down = COLUMN * dx, -ROW * dy
        length = max((right**2 + down**2) ** 0.5, 1e-9)
        heads.append({
            "x": x, "y": y, "ax": -12 * right / length, "ay": -12 * down / length, "text": "",
            "showarrow": True, "arrowhead": 2, "arrowsize": 1.4, "arrowwidth": 1.3, "arrowcolor": colour,
        })  # fmt: skip


def _symbols(figure: go.Figure, net: Net, at: Mapping[Node, tuple[float, float]]) -> None:
    ports = {("place", family(one.name)) for one in net.places if one.port}
    timed = {("transition", family(one.name)) for one in net.transitions if one.timed}
    many = {("place", family(one.name)) for one in net.places if "[" in one.name}
    groups = (
        (list(ports), "circle-open", 30, theme.BLACK),
        ([node for node in at if node[0] == "place"], "circle", 22, "white"),
        ([node for node in at if node[0] == "transition" and node in timed], "line-ew", 26, theme.BLACK),
        ([node for node in at if node[0] == "transition" and node not in timed], "line-ew", 26, theme.BLACK),
    )
    for k, (nodes, symbol, size, colour) in enumerate(groups):
        width = 5 if k == 2 else 1.5
        names = [f"{name}[ ]" if (what, name) in many else name for what, name in nodes] if k else [""] * len(nodes)
        figure.add_trace(go.Scatter(
            x=[at[node][0] for node in nodes], y=[at[node][1] for node in nodes], mode="markers+text",
            text=[f"    {name}" for name in names], textposition="middle right", hoverinfo="skip",
            textfont={"size": 11, "color": theme.BLUE if k == 1 else theme.BLACK},
            marker={"symbol": symbol, "size": size, "color": colour, "line": {"color": theme.BLACK, "width": width}},
        ))  # fmt: skip


def _tokens(net: Net, at: Mapping[Node, tuple[float, float]], marking: Mapping[str, int]) -> go.Scatter:
    sums: dict[str, int] = {}
    for one in net.places:
        sums[family(one.name)] = sums.get(family(one.name), 0) + marking.get(one.name, 0)
    nodes = [("place", name) for name in sums]
    dots = {0: "", 1: "●", 2: "●●"}
    return go.Scatter(
        x=[at[node][0] for node in nodes], y=[at[node][1] for node in nodes], mode="text",
        text=[dots.get(n, str(n)) for n in sums.values()], textfont={"size": 10, "color": theme.VERMILION},
        hovertext=[f"{name}: {n}" for name, n in sums.items()], hoverinfo="text",
    )  # fmt: skip
