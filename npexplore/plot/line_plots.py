"""Draws curves from tables of predictions: a line per series, a panel per value, published points in black."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from npexplore.plot import theme

if TYPE_CHECKING:
    import pandas as pd

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star")
FORMATS = {"%": ":.1%"}
STEPS = 300  # distinct heights of a step curve: about its pixels on a screen
# Rings around predictions of withheld and of blind numbers.
WITHHELD, FROZEN = "withheld: predicted only", "blind: predicted before the value was known"
RING = {"symbol": "circle-open", "color": theme.ORIGIN_COLOURS["simulated"], "size": 19, "line": {"width": 1.6}}
# Ticks of a logarithmic axis: 1, 2, 5 in every decade.
LOG_TICKS = [digit * 10.0**k for k in range(-4, 6) for digit in (1, 2, 5)]
LOG_AXIS = {"type": "log", "tickvals": LOG_TICKS, "ticktext": [f"{tick:,g}" for tick in LOG_TICKS]}


def curves(
    table: pd.DataFrame, x: str, y: str, series: str | None = None, *, title: str = "", x_title: str = "",
    y_title: str = "", panel: str | None = None, panel_names: Mapping[Any, str] | None = None,
    names: Mapping[Any, str] | None = None,
    colours: Mapping[Any, str] | None = None, band: tuple[str, str] | None = None, hover: Sequence[str] = (),
    published: pd.DataFrame | None = None, withheld: pd.DataFrame | None = None, frozen: pd.DataFrame | None = None,
    log_x: bool = False, percent: bool = False, step: bool = False,
    x_values: Sequence[float] | None = None, height: int = 440,
) -> go.Figure:  # fmt: skip
    """Return y over x: a colour and a mark for each value of `series`, and a panel for each value of `panel`.

    band: the two columns of the interval drawn around each line. hover: further columns shown under the pointer.
    published: a table with columns x, y (and panel), hover text in `key`, drawn as black diamonds. withheld: such a
    table of predictions of withheld numbers, drawn as rings; frozen: of predictions made before the number was known.
    percent: y is a fraction, shown in per cent.
    table: one row a point. x, y: columns on the axes. series: the column whose values are lines (None: one line).
    panel: the column whose values are panels (None: one panel). panel_names, names: labels of panels and lines, by
    value. colours: of lines, by value. title, x_title, y_title: texts (empty: names of the columns). log_x:
    logarithmic horizontal axis. step: draw steps. x_values: values marked on the horizontal axis (None: chosen by
    plotly). height: in pixels.
    """
    x_title, y_title = x_title or x.replace("_", " "), y_title or y.replace("_", " ")
    title = title or f"{y_title} over {x_title}"
    if series is None:
        table, series = table.assign(**{"one line": y_title}), "one line"
    panels = list(table[panel].unique()) if panel else [None]
    panel_titles = [str((panel_names or {}).get(value, value)) for value in panels] if panel else None
    figure = make_subplots(1, len(panels), shared_yaxes=True, subplot_titles=panel_titles, horizontal_spacing=0.03)
    series_values = list(table[series].unique())
    shades = {value: (colours or {}).get(value, theme.COLORWAY[number % len(theme.COLORWAY)])
              for number, value in enumerate(series_values)}  # fmt: skip
    for column, of_panel in enumerate(panels, start=1):
        for value in series_values:
            part = table[table[series] == value]
            part = part if panel is None else part[part[panel] == of_panel]
            if part.empty:
                continue
            part = _thinned(part, y) if step else part
            name = str((names or {}).get(value, value))
            if band is not None and part[list(band)].notna().all(axis=None):
                figure.add_trace(_band(part, x, band, shades[value]), 1, column)
            figure.add_trace(
                go.Scatter(
                    x=part[x], y=part[y], name=name, mode="lines" if step else "lines+markers",
                    line={"color": shades[value], "shape": "hv" if step else "linear"},
                    marker={"symbol": SYMBOLS[series_values.index(value) % len(SYMBOLS)]},
                    customdata=part[list(hover)], hovertemplate=_hover(x_title, y_title, name, hover, percent),
                ),
                1, column,
            )  # fmt: skip
        if published is not None:
            chosen = published if panel is None else published[published[panel] == of_panel]
            figure.add_trace(published_points(chosen, x, y, percent=percent), 1, column)
        for name, rings in ((WITHHELD, withheld), (FROZEN, frozen)):
            if rings is not None:
                figure.add_trace(
                    go.Scatter(x=rings[x], y=rings[y], mode="markers", name=name, hoverinfo="skip", marker=RING),
                    1, column,
                )  # fmt: skip
    figure.update_xaxes(title_text=x_title)
    figure.update_yaxes(rangemode="tozero", tickformat=".0%" if percent else None)
    figure.update_yaxes(title_text=y_title, col=1)
    if log_x:
        figure.update_xaxes(type="log")
    if x_values is not None:
        figure.update_xaxes(
            tickvals=list(x_values), ticktext=[f"{value:g}" for value in x_values], minor_showgrid=False
        )
    return with_layout(legend_once(figure), title, height)


def _thinned(part: pd.DataFrame, y: str) -> pd.DataFrame:
    """Return a step curve without steps below 1/STEPS of its height, which no screen shows."""
    values = part[y].to_numpy(float)
    least_step, last_value, indices = np.ptp(values) / STEPS if len(values) else 0.0, np.inf, []
    for row, value in enumerate(values):
        if abs(value - last_value) >= least_step or row == len(values) - 1:
            indices.append(row)
            last_value = value
    return part.iloc[indices]


def published_points(
    rows: pd.DataFrame, x: str, y: str, *, name: str = "published", percent: bool = False
) -> go.Scatter:
    """Return published numbers as black diamonds with their intervals; hovering shows their `key`.

    A row of the ledger has its interval in `lo` and `hi`, in the unit of `point`; y may be in another unit.
    rows: the published rows. x, y: columns on the axes. name: in the legend. percent: y is a fraction, shown in per
    cent.
    """
    return go.Scatter(
        x=rows[x], y=rows[y], name=name, mode="markers", error_y=interval(rows, y),
        marker={"symbol": "diamond", "size": 11, "color": theme.ORIGIN_COLOURS["published"],
                "line": {"width": 1.5, "color": "white"}},
        customdata=rows[["key"]] if "key" in rows else None,
        hovertemplate=f"published: %{{y{FORMATS['%'] if percent else ':.4g'}}}<br>%{{customdata[0]}}<extra></extra>",
    )  # fmt: skip


def interval(rows: pd.DataFrame, of: str) -> dict[str, Any] | None:
    """Return error bars from `lo` to `hi`, scaled from the unit of `point` to that of column `of`; None if unknown."""
    if not {"point", "lo", "hi"} <= set(rows.columns):
        return None
    scale = (rows[of] / rows["point"]).astype(float)
    up, down = ((rows[end] - rows["point"]).abs().astype(float) * scale for end in ("hi", "lo"))
    bars = {"array": up.fillna(0.0), "arrayminus": down.fillna(0.0), "thickness": 2, "width": 6}
    return {**bars, "color": theme.ORIGIN_COLOURS["published"]}


def interval_key(name: str = "95 % interval", width: float = 1.5) -> go.Scatter:
    """Return a trace without points that names the grey interval bars in the legend.

    name: of the bars. width: of the bars, in pixels.
    """
    line = {"color": theme.GREY, "width": width}
    return go.Scatter(x=[None], y=[None], mode="lines", name=name, line=line, showlegend=True)


def legend_once(figure: go.Figure) -> go.Figure:
    """List each kind of trace once in the legend; a click on it hides that kind in all panels."""
    listed: set[str] = set()
    for trace in figure.data:
        if trace.name and len(trace.x):
            trace.update(legendgroup=trace.name, showlegend=trace.name not in listed)
            listed.add(trace.name)
    return figure


def published_levels(figure: go.Figure, x: Sequence[float], rows: pd.DataFrame, y: str, label: str) -> go.Figure:
    """Add published numbers without an x value as dotted horizontal lines from x[0] to x[-1].

    figure: the figure to draw in. x: the two ends of the lines. rows: the published rows. y: the column with their
    heights. label: the column with their names.
    """
    for k, row in enumerate(rows.to_dict("records")):
        figure.add_trace(
            go.Scatter(
                x=[x[0], x[-1]], y=[row[y]] * 2, mode="lines", name=row[label],
                line={"color": (theme.GREY, theme.BLACK)[k // 2 % 2], "dash": ("dot", "dash")[k % 2], "width": 1.6},
                hovertemplate=f"{row[label]}: %{{y}}<extra></extra>",
            )
        )  # fmt: skip
    return figure


def with_layout(figure: go.Figure, title: str, height: int, *, legend_rows: int = 1) -> go.Figure:
    """Give a figure the theme, its title, and a legend below the plot, where it covers nothing.

    figure: the figure to change. title: its title. height: in pixels. legend_rows: rows of the legend.
    """
    figure.update_layout(
        template="npexplore", title=title, height=height, hovermode="closest",
        margin={"t": 96 if figure.layout.annotations else 64, "b": 72 + 24 * legend_rows},
        legend={"orientation": "h", "yref": "container", "y": 0.01, "yanchor": "bottom", "x": 0, "xanchor": "left"},
    )  # fmt: skip
    return figure.update_annotations(font_size=14)


def faint(colour: str, opacity: float) -> str:
    """Return a #rrggbb colour with an opacity, as CSS."""
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def _band(part: pd.DataFrame, x: str, band: tuple[str, str], colour: str) -> go.Scatter:
    low, high = band
    return go.Scatter(
        x=[*part[x], *part[x][::-1]], y=[*part[high], *part[low][::-1]], fill="toself", mode="lines",
        fillcolor=faint(colour, 0.18), line={"width": 0}, hoverinfo="skip", showlegend=False,
    )  # fmt: skip


def _hover(x_title: str, y_title: str, name: str, hover: Sequence[str], percent: bool) -> str:
    extra_lines = "".join(f"<br>{column.replace('_', ' ')}: %{{customdata[{k}]}}" for k, column in enumerate(hover))
    return (
        f"<b>{name}</b><br>{x_title}: %{{x}}<br>{y_title}: "
        f"%{{y{FORMATS['%'] if percent else ':.4g'}}}{extra_lines}<extra></extra>"
    )
