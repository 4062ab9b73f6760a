"""Draws time lines: a lane per bank, command bus, gating and data bus; a block per hold, with its access number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from npexplore.plot import theme
from npexplore.plot.line_plots import with_layout

if TYPE_CHECKING:
    import pandas as pd


def time_lines(
    tables: Mapping[str, pd.DataFrame], lanes: Mapping[str, str], *, length_ns: float, title: str
) -> go.Figure:
    """Return time lines stacked vertically, one for each named table (columns lane, access, start_ns, end_ns).

    lanes: lane -> label, from top to bottom.
    tables: the accesses by the name of their time line. length_ns: length of the time axis. title: of the figure.
    """
    height = 130 + len(tables) * (50 + 27 * len(lanes))
    figure = make_subplots(
        len(tables), 1, shared_xaxes=True, subplot_titles=list(tables), vertical_spacing=48 / (height - 130)
    )
    for row, table in enumerate(tables.values(), start=1):
        part = table[table["lane"].isin(lanes) & (table["end_ns"] > 0) & (table["start_ns"] < length_ns)]
        first_access = int(part["access"].min())
        start, end = part["start_ns"].clip(lower=0), part["end_ns"].clip(upper=length_ns)
        figure.add_trace(
            go.Bar(
                orientation="h", y=part["lane"].map(lanes), base=start, x=end - start, width=0.78, showlegend=False,
                marker={"color": [theme.COLORWAY[access % 6] for access in part["access"] - first_access],
                        "line": {"color": "white", "width": 1}},
                text=part["access"] - first_access + 1, textposition="inside", insidetextanchor="middle", textangle=0,
                textfont={"color": "white", "size": 11}, customdata=part[["start_ns", "end_ns"]],
                hovertemplate="<b>%{y}</b>, access %{text}<br>held %{customdata[0]:.1f} to %{customdata[1]:.1f} ns"
                "<extra></extra>",
            ),
            row, 1,
        )  # fmt: skip
        figure.update_yaxes(categoryorder="array", categoryarray=list(lanes.values())[::-1], row=row, col=1)
    figure.update_xaxes(range=[0, length_ns])
    figure.update_xaxes(title_text="time (ns)", row=len(tables), col=1)
    figure.update_layout(barmode="overlay", uniformtext={"minsize": 9, "mode": "hide"})
    return with_layout(figure, title, height, legend_rows=0)
