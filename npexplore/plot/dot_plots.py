"""Draws published and predicted numbers row by row: the published number, and marks for bounds, queueing, simulation.

The published number is drawn with its interval. Bounds are upper bounds; queueing is an estimate that may be above or
below the true value, so no line joins the two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from npexplore.plot import theme
from npexplore.plot.line_plots import FROZEN, RING, WITHHELD, interval, legend_once, with_layout

if TYPE_CHECKING:
    import pandas as pd


def comparison(
    rows: pd.DataFrame, label: Callable[[Any], str], *, panels: Sequence[tuple[str, str]], title: str
) -> go.Figure:
    """Return dot plots side by side, one for each panel; lines: rows of a cross-check (study.papers.tables.compared).

    label: function that returns a row's name on the vertical axis. panels: (query that selects rows, axis title).
    rows: a table with columns key, label, verdict, point, lo, hi, bounds, queueing, simulated, ci95. title: of the
    figure.
    """
    narrow = len(panels) > 2
    figure = make_subplots(
        1, len(panels), horizontal_spacing=0.02 if narrow else 0.03, shared_yaxes=True,
        column_widths=[1.4 if narrow else 1.0] + [1.0] * (len(panels) - 1),
    )  # fmt: skip
    names = list(dict.fromkeys(label(row) for row in rows.itertuples()))[::-1]
    for column, (query, axis) in enumerate(panels, start=1):
        part = rows.query(query)
        for trace in _traces(part.assign(line=[label(row) for row in part.itertuples()])):
            figure.add_trace(trace, 1, column)
        figure.update_xaxes(title_text=axis, row=1, col=column)
    figure.update_yaxes(categoryorder="array", categoryarray=names, range=[-0.6, len(names) - 0.4])
    figure.update_xaxes(tickangle=0, tickformat=",", nticks=12 // len(panels) + 2)
    return with_layout(legend_once(figure), title, 172 + 30 * len(names))


def _traces(part: pd.DataFrame) -> list[go.Scatter]:
    marks = {"bounds": ("line-ns", "upper bound"), "queueing": ("diamond-open", "queueing")}
    simulated = part.dropna(subset=["simulated"])
    half = [(float(pair[1]) - float(pair[0])) / 2 if isinstance(pair, tuple | list) else 0.0 for pair in part["ci95"]]
    half = [
        half_width for half_width, is_simulated in zip(half, part["simulated"].notna(), strict=True) if is_simulated
    ]
    published, withheld = part[part["point"].notna()], simulated[simulated["role"] == "withheld"]
    blind = part.dropna(subset=["frozen"])
    return [
        *(
            go.Scatter(
                x=predicted[solver], y=predicted["line"], mode="markers", name=name,
                marker={"symbol": symbol, "size": 11, "color": theme.ORIGIN_COLOURS[solver],
                        "line": {"color": theme.ORIGIN_COLOURS[solver], "width": 2}},
                hovertemplate=f"%{{y}}: %{{x:.4g}}<extra>{name}</extra>",
            )
            for solver, (symbol, name) in marks.items()
            for predicted in [part.dropna(subset=[solver])]
        ),
        go.Scatter(
            x=simulated["simulated"], y=simulated["line"], mode="markers", name="simulated, 95 % interval",
            error_x={"array": half, "thickness": 1.5, "width": 4},
            marker={"color": theme.ORIGIN_COLOURS["simulated"], "size": 10},
            customdata=simulated[["key", "label", "verdict"]],
            hovertemplate="%{y}<br>simulated: %{x:.4g}<br>%{customdata[1]}, %{customdata[2]}"
            "<br>%{customdata[0]}<extra></extra>",
        ),
        go.Scatter(
            x=withheld["simulated"], y=withheld["line"], mode="markers", name=WITHHELD,
            hoverinfo="skip", marker=RING,
        ),
        go.Scatter(
            x=blind["frozen"], y=blind["line"], mode="markers", name=FROZEN, marker=RING,
            hovertemplate="%{y}<br>predicted before the value was known: %{x:.4g}<extra></extra>",
        ),
        go.Scatter(
            x=published["point"], y=published["line"], mode="markers", name="published",
            customdata=published[["key", "role"]], error_x=interval(published, "point"),
            marker={"symbol": "line-ns", "size": 17, "line": {"color": theme.ORIGIN_COLOURS["published"], "width": 3}},
            hovertemplate="%{y}<br>published: %{x:.4g} (%{customdata[1]})<br>%{customdata[0]}<extra></extra>",
        ),
    ]  # fmt: skip
