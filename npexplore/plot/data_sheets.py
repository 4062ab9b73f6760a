"""Draws peak rates of data sheets as lines, with bounds and simulation as marks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import plotly.graph_objects as go

from npexplore.plot import theme
from npexplore.plot.line_plots import SYMBOLS, with_layout

if TYPE_CHECKING:
    import pandas as pd


def data_sheet_rates(table: pd.DataFrame, x: str, unit: str, *, title: str, x_title: str, y_title: str) -> go.Figure:
    """Return sheet_UNIT over column x, a line for each `setting`; simulated_UNIT as marks, bounds_UNIT on hover.

    table: columns x, setting, sheet_UNIT, simulated_UNIT, bounds_UNIT. x: the column on the horizontal axis. unit:
    the unit in the names of columns. title, x_title, y_title: texts of the figure.
    """
    figure = go.Figure()
    for number, (setting, rows) in enumerate(table.groupby("setting", sort=False)):
        colour = theme.COLORWAY[number % len(theme.COLORWAY)]
        line = {"x": rows[x], "y": rows[f"sheet_{unit}"], "line": {"color": colour, "dash": "dot", "width": 1.6}}
        figure.add_scatter(**line, mode="lines", name=f"{setting}: sheet")
        mark = {"color": colour, "size": 9, "symbol": SYMBOLS[number % len(SYMBOLS)]}
        figure.add_scatter(
            x=rows[x], y=rows[f"simulated_{unit}"], mode="markers", name=f"{setting}: simulated", marker=mark,
            customdata=rows[[f"bounds_{unit}"]],
            hovertemplate=f"<b>{setting}</b><br>{x_title}: %{{x}}<br>simulated: %{{y:.4g}}<br>"
            "bounds: %{customdata[0]:.4g}<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(title_text=x_title).update_yaxes(title_text=y_title, rangemode="tozero")
    return with_layout(figure, title, 440, legend_rows=2)
