"""Drawings of the RAW chip: tiles by stage, line cards and memories at the pins, streams, loads of links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import plotly.graph_objects as go
from plotly.colors import sample_colorscale

from npexplore.designs.raw.layouts import Layout
from npexplore.plot import theme

TINTS = ("#F3F4F6", "#CFE3F2", "#F6DCCB", "#CDEBE0", "#F2DFEA")  # no owner, stages 1 to 4
CARD, DRAM = "#FBE8C6", "#DDEFFA"
SCALE = "Cividis"
OUTSIDE = {"north": (0, 1), "south": (0, -1), "west": (-1, 0), "east": (1, 0)}
CROWDED = 5  # most tiles in a row with full labels
STAGES = {1: "look up", 2: "verify", 3: "update", 4: "queue"}


def centre(layout: Layout, tile: int) -> tuple[float, float]:
    """Return the position of a tile in the drawing; row 0 is at the top."""
    return float(tile % layout.file.columns), float(layout.file.rows - 1 - tile // layout.file.columns)


@dataclass
class _Drawing:
    """Boxes and arrows, which a figure gets all at once, because each addition checks all existing ones."""

    shapes: list[dict[str, Any]] = field(default_factory=list)
    annotations: list[dict[str, Any]] = field(default_factory=list)

    def box(
        self, at: tuple[float, float], half: tuple[float, float], colour: str, text: str, size: int = 10
    ) -> None:  # fmt: skip
        x, y = at
        self.shapes.append({
            "type": "rect", "x0": x - half[0], "x1": x + half[0], "y0": y - half[1], "y1": y + half[1],
            "fillcolor": colour, "opacity": 0.85, "line": {"color": theme.GREY, "width": 1}, "layer": "below",
        })  # fmt: skip
        self.annotations.append({"x": x, "y": y, "text": text, "showarrow": False, "font": {"size": size}})

    def arrow(self, a: tuple[float, float], b: tuple[float, float], colour: str, width: float) -> None:
        self.annotations.append({
            "x": b[0], "y": b[1], "ax": a[0], "ay": a[1], "xref": "x", "yref": "y", "axref": "x", "ayref": "y",
            "text": "", "showarrow": True, "arrowhead": 2, "arrowsize": 1, "arrowwidth": width, "arrowcolor": colour,
        })  # fmt: skip


def pin(layout: Layout, tile: int, side: str, shift: float = 0.0) -> tuple[float, float]:
    """Return the position of a device at a tile's pins; `shift` moves it along the chip's edge."""
    (x, y), (dx, dy) = centre(layout, tile), OUTSIDE[side]
    return x + dx + (shift if dy else 0.0), y + dy + (shift if dx else 0.0)


def chip(layout: Layout, title: str = "") -> go.Figure:
    """Return a layout as a drawing: tiles by stage, devices at the pins, static streams as arrows.

    Each tile shows its number, stage and pipeline, shortened where a row has many tiles.
    """
    figure, drawing = go.Figure(), _Drawing()
    crowded = layout.file.columns > CROWDED
    owner = {
        tile: (stage, number)
        for number, pipeline in enumerate(layout.file.pipeline)
        for stage, tile in enumerate(pipeline.stages, 1)
    }
    for tile in range(layout.grid.tiles):
        stage, number = owner.get(tile, (0, 0))
        hover_text = f"<br>{stage}: {STAGES.get(stage, 'stage')}<br>pipeline {number}"
        if crowded:
            hover_text = f"<br>{STAGES.get(stage, 'stage')}<br>{number}"
        text = f"<b>{tile}</b>" + (hover_text if stage else "")
        drawing.box(centre(layout, tile), (0.36, 0.36), TINTS[stage % len(TINTS)], text, 9 if crowded else 10)
    _devices(drawing, layout)
    colours = {"static1": theme.BLUE, "static2": theme.ORANGE}
    for stream, tree in zip(layout.file.stream, layout.trees, strict=True):
        shift = 0.05 if stream.network == "static2" else -0.05
        for source, target in tree.hops:
            (ax, ay), (bx, by) = centre(layout, source), centre(layout, target)
            start = ax + 0.37 * (bx - ax) + shift, ay + 0.37 * (by - ay) + shift
            end = ax + 0.63 * (bx - ax) + shift, ay + 0.63 * (by - ay) + shift
            drawing.arrow(start, end, colours[stream.network], 2.0)
    for network, colour in colours.items():
        if any(stream.network == network for stream in layout.file.stream):
            carried = sorted({stream.carries for stream in layout.file.stream if stream.network == network})
            name = f"{network.replace('static', 'static network ')}: {', '.join(carried)}"
            figure.add_scatter(x=[None], y=[None], mode="lines", line={"color": colour, "width": 3}, name=name)
    figure.update_layout(shapes=drawing.shapes, annotations=drawing.annotations)
    return _framed(figure, layout, title or layout.file.title)


def _devices(drawing: _Drawing, layout: Layout) -> None:
    cards = {(card.tile, card.side): card for card in layout.file.line_card}
    shares_side = len(cards) < len(layout.file.line_card)
    for card in layout.file.line_card:
        place = pin(layout, card.tile, card.side, 0.0 if not shares_side else (-0.2 if card.direction == "in" else 0.2))
        half = (0.18 if shares_side else 0.32, 0.15)
        drawing.box(place, half, CARD, f"{card.direction} {card.port}", 8 if shares_side else 10)
    for memory in layout.file.memory:
        noun = "ports" if len(memory.ports) > 1 else "port"
        text = f"{noun} {', '.join(map(str, memory.ports))}" if memory.use == "packets" else "routes"
        drawing.box(pin(layout, memory.tile, memory.side), (0.38, 0.2), DRAM, f"DRAM<br>{text}")


def _framed(figure: go.Figure, layout: Layout, title: str) -> go.Figure:
    hidden = {"visible": False, "constrain": "domain"}  # ranges stay if a narrow screen widens the figure
    columns, rows = layout.file.columns, layout.file.rows
    figure.update_layout(
        title=title, height=int(min(95.0, 560 / columns) * (rows + 2)) + 150,
        xaxis={**hidden, "range": [-1.6, columns + 0.6]},
        yaxis={**hidden, "range": [-1.5, rows + 0.5], "scaleanchor": "x"}, showlegend=True,
        legend={"orientation": "h", "y": -0.02}, meta={"least_width": 100 * (columns + 2)},
    )  # fmt: skip
    return figure


def contention(
    layout: Layout,
    loads: Mapping[str, Sequence[tuple[int | None, int | None, float]]],
    title: str,
    top: float | None = None,
) -> go.Figure:
    """Return the loads of links between tiles as colours, a drawing for each network.

    loads: network name -> list of (source tile, target tile, load 0 to 1); links to terminals are left out.
    top: the load at the end of the colour scale, to compare drawings (None: the highest load here).
    """
    from plotly.subplots import make_subplots

    across = 2  # panels in a row
    down = -(-len(loads) // across)
    figure = make_subplots(
        down, across, subplot_titles=list(loads), horizontal_spacing=0.06, vertical_spacing=0.12 / down
    )  # fmt: skip
    top = top or max((load for links in loads.values() for _, _, load in links), default=1.0) or 1.0
    traces: list[go.Scatter] = []
    rows: list[int] = []
    columns: list[int] = []
    for number, links in enumerate(loads.values()):
        first_trace = len(traces)
        tiles = [centre(layout, tile) for tile in range(layout.grid.tiles)]
        traces.append(go.Scatter(
            x=[x for x, _ in tiles], y=[y for _, y in tiles], mode="markers+text",
            text=[str(tile) for tile in range(len(tiles))], marker={"symbol": "square", "size": 22, "color": TINTS[0]},
            hoverinfo="skip", showlegend=False,
        ))  # fmt: skip
        middles: list[tuple[float, float, float, str]] = []
        for a, b, load in links:
            if a is None or b is None:
                continue
            (ax, ay), (bx, by) = centre(layout, a), centre(layout, b)
            offset = 0.09 if (ax, ay) < (bx, by) else -0.09  # the two directions side by side
            sx, sy = (0.0, offset) if ay == by else (offset, 0.0)
            traces.append(go.Scatter(
                x=[ax + 0.25 * (bx - ax) + sx, bx - 0.25 * (bx - ax) + sx],
                y=[ay + 0.25 * (by - ay) + sy, by - 0.25 * (by - ay) + sy], mode="lines", hoverinfo="skip",
                showlegend=False,
                line={"color": sample_colorscale(SCALE, min(load / top, 1.0))[0], "width": 6},
            ))  # fmt: skip
            middles.append(((ax + bx) / 2 + sx, (ay + by) / 2 + sy, load, f"{a} to {b}: {load:.1%}"))
        traces.append(go.Scatter(
            x=[m[0] for m in middles], y=[m[1] for m in middles], mode="markers", text=[m[3] for m in middles],
            hovertemplate="%{text}<extra></extra>", showlegend=False,
            marker={
                "size": 9, "opacity": 0.01, "color": [m[2] for m in middles], "colorscale": SCALE, "cmin": 0,
                "cmax": top, "showscale": number == 0, "colorbar": {"title": "load", "tickformat": ".0%"},
            },
        ))  # fmt: skip
        rows += [number // across + 1] * (len(traces) - first_trace)
        columns += [number % across + 1] * (len(traces) - first_trace)
    figure.add_traces(traces, rows, columns)
    figure.update_xaxes(visible=False, constrain="domain").update_yaxes(visible=False, constrain="domain")
    for number in range(len(loads)):
        axis = "x" if number == 0 else f"x{number + 1}"
        figure.update_yaxes(scaleanchor=axis, row=number // across + 1, col=number % across + 1)
    return figure.update_layout(title=title, height=140 + 320 * down)
