"""Draws a router's run: the paths of its packets, and the reasons of drops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import plotly.graph_objects as go

from npexplore.plot import theme
from npexplore.plot.line_plots import with_layout

if TYPE_CHECKING:
    import pandas as pd

COLOUR = {"in": theme.GREY, "sent": theme.BLUE, "dropped": theme.VERMILION}
NODE_PIXELS, LEAST_PIXELS = 46, 300


def ways(table: pd.DataFrame) -> go.Figure:
    """Return input ports (left) joined to output ports and drop reasons (right) by bands as wide as their packets.

    table: columns from, to, kind (`sent` or `dropped`), packets, clause; a row for each band.
    """
    inputs = list(dict.fromkeys(table["from"]))
    exits = list(dict.fromkeys(zip(table["kind"], table["to"], strict=True)))
    packets_in, packets_out = table.groupby("from")["packets"].sum(), table.groupby(["kind", "to"])["packets"].sum()
    labels = [f"{name} in, {packets_in[name]:,}" for name in inputs]
    labels += [f"{name}{' out' if kind == 'sent' else ''}, {packets_out[kind, name]:,}" for kind, name in exits]
    clause = dict(zip(zip(table["kind"], table["to"], strict=True), table["clause"], strict=True))
    node = {
        "label": labels, "pad": 16, "thickness": 16, "line": {"width": 0},
        "color": [COLOUR["in"]] * len(inputs) + [COLOUR[kind] for kind, _ in exits],
        "customdata": [""] * len(inputs) + [clause[key] for key in exits],
        "hovertemplate": "%{label}<br>%{customdata}<extra></extra>",
    }  # fmt: skip
    ends = [len(inputs) + exits.index(key) for key in zip(table["kind"], table["to"], strict=True)]
    link = {
        "source": [inputs.index(name) for name in table["from"]], "target": ends, "value": table["packets"],
        "color": [_faint(COLOUR[kind]) for kind in table["kind"]],
        "customdata": table["clause"],
        "hovertemplate": "%{source.label} → %{target.label}: %{value:,} packets<br>%{customdata}<extra></extra>",
    }  # fmt: skip
    figure = go.Figure(go.Sankey(node=node, link=link, arrangement="snap", textfont={"size": 13, "shadow": "none"}))
    height = 75 + max(LEAST_PIXELS, NODE_PIXELS * max(len(inputs), len(exits)))
    return with_layout(figure, "Where the packets went", height).update_layout(margin={"l": 10, "r": 10, "b": 10})


def drops(table: pd.DataFrame) -> go.Figure:
    """Return packets dropped by reason, a colour for each input port.

    table: columns reason, port, packets; reasons in the order in which to draw them.
    """
    figure = go.Figure()
    for number, (port, part) in enumerate(table.groupby("port", sort=False)):
        figure.add_trace(
            go.Bar(
                orientation="h", x=part["packets"], y=part["reason"], name=str(port),
                marker_color=theme.COLORWAY[number % len(theme.COLORWAY)],
                hovertemplate=f"%{{y}}, in by {port}: %{{x:,}} packets<extra></extra>",
            )
        )  # fmt: skip
    reasons = list(dict.fromkeys(table["reason"]))
    figure.update_yaxes(categoryorder="array", categoryarray=reasons[::-1], type="category")
    figure.update_xaxes(title_text="packets", exponentformat="SI", minexponent=3, rangemode="tozero")
    figure.update_layout(barmode="stack", bargap=0.35, legend={"title": {"text": "in by port"}})
    figure.update_layout(showlegend=table["port"].nunique() > 1)
    return with_layout(figure, "Packets dropped, by reason", 170 + 34 * len(reasons))


def _faint(colour: str) -> str:
    """Return a colour with the opacity of a band."""
    red, green, blue = (int(colour[position : position + 2], 16) for position in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.28)"
