"""Draws predictions of published numbers in any unit: each in per cent of the published number, with its interval.

share = 100 x value / published      (relative to the bound if only a bound is published)
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from math import isfinite
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from npexplore.plot import theme
from npexplore.plot.line_plots import interval_key, with_layout
from npexplore.plot.tables import number, printed

if TYPE_CHECKING:
    import pandas as pd

INTERVAL_WIDTH = 9  # pixels
SEEN_INTERVAL = 1.0  # per cent: the mark hides a narrower interval
OPEN_END = 60.0  # per cent: length of a one-sided interval towards its open end


def cross_check(rows: pd.DataFrame, names: Mapping[str, str], *, title: str) -> go.Figure:
    """Return a dot plot of the rows of a cross-check (`Check.to_frame()`) that have a name, a line each, in order.

    The published number is at 100 %, its interval a bar; bounds, queueing and simulation are marks relative to it.
    rows: the table of a cross-check. names: key of a row -> its label. title: of the figure.
    A long number is rounded in its label; hovering shows all its digits.
    """
    by_key = {row["key"]: row for row in rows.to_dict("records")}
    chosen = [by_key[key] | {"name": name} for key, name in names.items() if _reference(by_key[key])]
    lines = [_line(row) for row in chosen]
    figure = go.Figure()
    ends = [_interval(row) for row in chosen]
    figure.add_trace(
        go.Scatter(
            x=[100.0] * len(chosen), y=lines, name="published", mode="markers",
            marker={"symbol": "line-ns", "size": 18, "line": {"color": theme.ORIGIN_COLOURS["published"], "width": 3}},
            error_x={"array": [high - 100 for _, high in ends], "arrayminus": [100 - low for low, _ in ends],
                     "thickness": INTERVAL_WIDTH, "width": 0, "color": theme.GREY},
            customdata=[[row["key"], _with_unit(row, row["published"])] for row in chosen],
            hovertemplate="published: %{customdata[1]}<br>%{customdata[0]}<extra></extra>",
        )
    )  # fmt: skip
    marks = {"bounds": ("triangle-up-open", "bound"), "queueing": ("diamond-open", "queueing"),
             "simulated": ("circle", "simulated")}  # fmt: skip
    for solver, (symbol, label) in marks.items():
        marked = [(row, line) for row, line in zip(chosen, lines, strict=True) if _number(row[solver])]
        if not marked:
            continue
        figure.add_trace(
            go.Scatter(
                x=[100 * row[solver] / _reference(row) for row, _ in marked], y=[line for _, line in marked],
                name=label, mode="markers", marker={"symbol": symbol, "size": 11, "color": theme.ORIGIN_COLOURS[solver],
                                        "line": {"color": theme.ORIGIN_COLOURS[solver], "width": 2}},
                customdata=[[row["key"], _with_unit(row, number(row[solver], 3))] for row, _ in marked],
                hovertemplate=f"{label}: %{{customdata[1]}}<br>%{{customdata[0]}}<extra></extra>",
            )
        )  # fmt: skip
    if any(high - low > SEEN_INTERVAL for low, high in ends):
        figure.add_trace(interval_key("interval", INTERVAL_WIDTH))
    figure.update_xaxes(title_text="% of the published number", rangemode="tozero", ticksuffix=" %")
    figure.update_yaxes(categoryorder="array", categoryarray=lines[::-1], tickfont_size=12)
    figure = with_layout(figure, title, 130 + 34 * len(chosen))
    title_position = {"xref": "container", "x": 0.02}  # at the left edge of the labels, not of the axis
    return figure.update_layout(title=title_position, legend={**title_position, "font": {"size": 12}})


def _line(row: Mapping[str, Any]) -> str:
    return f"{row['name']}: <b>{escape(_with_unit(row, printed(row)), quote=False)}</b>"


def _with_unit(row: Mapping[str, Any], value: str) -> str:
    return str(value) if row["unit"] in (None, "1") else f"{value} {row['unit']}"


def _reference(row: Mapping[str, Any]) -> float:
    """Return the published number of a row that is 100 %; 0 if there is none."""
    return next((float(row[end]) for end in ("point", "lo", "hi") if _number(row[end]) and row[end]), 0.0)


def _interval(row: Mapping[str, Any]) -> tuple[float, float]:
    """Return both ends in per cent of the published number; an open end is drawn OPEN_END away."""
    low, high = (100 * row[end] / _reference(row) if _number(row[end]) else None for end in ("lo", "hi"))
    if low is None and high is None:
        return 100.0, 100.0
    return min(100.0, 100 - OPEN_END if low is None else low), max(100.0, 100 + OPEN_END if high is None else high)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
