"""Draws the errors of published rows before (grey ring) and after (coloured dot) a machine was changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from npexplore.plot import theme
from npexplore.plot.line_plots import with_layout

COLOURS = {"agrees": theme.GREEN, "breaks": theme.VERMILION, "moves": theme.BLUE, "same": theme.GREY}
NAMES = {"agrees": "agrees now", "breaks": "breaks", "moves": "moves", "same": "as before"}


def errors(rows: Sequence[Mapping[str, Any]], title: str, most: int = 40) -> go.Figure:
    """Return the rows whose error changes most (study/checking/changed.py), largest change first, in per cent."""
    complete = [row for row in rows if row["error_before"] is not None and row["error_after"] is not None]
    largest = sorted(complete, key=lambda row: -abs(row["error_after"] - row["error_before"]))[:most]
    names = [str(row["key"]) for row in largest]
    before = [100 * row["error_before"] for row in largest]
    after = [100 * row["error_after"] for row in largest]
    figure = go.Figure()
    line_ends = [end for pair in zip(before, after, strict=True) for end in (*pair, None)]
    figure.add_trace(go.Scatter(
        x=line_ends, y=[name for name in names for _ in range(3)], mode="lines", showlegend=False, hoverinfo="skip",
        line={"color": theme.PALE, "width": 5},
    ))  # fmt: skip
    figure.add_trace(go.Scatter(
        x=before, y=names, mode="markers", name="before", hovertemplate="%{y}: %{x:+.1f} %<extra>before</extra>",
        marker={"color": theme.GREY, "size": 9, "symbol": "circle-open", "line": {"width": 2}},
    ))  # fmt: skip
    for change, colour in COLOURS.items():
        at = [k for k, row in enumerate(largest) if row["change"] == change]
        if at:
            figure.add_trace(go.Scatter(
                x=[after[k] for k in at], y=[names[k] for k in at], mode="markers", name=NAMES[change],
                hovertemplate="%{y}: %{x:+.1f} %<extra>after</extra>", marker={"color": colour, "size": 9},
            ))  # fmt: skip
    figure.update_yaxes(categoryorder="array", categoryarray=names[::-1], range=[-0.6, max(len(names), 1) - 0.4])
    figure.update_xaxes(title_text="error against the published number, %", zeroline=True, zerolinewidth=2)
    return with_layout(figure, title, 190 + 24 * len(names))
