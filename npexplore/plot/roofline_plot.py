"""Draws the roofline: the ceiling of each resource over a knob; no machine runs above the lowest ceiling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import plotly.graph_objects as go

from npexplore.plot import theme
from npexplore.plot.line_plots import LOG_AXIS, with_layout

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 5.0  # ceilings above this multiple of the lowest are left out, because they never bind


def roofline(ceilings: pd.DataFrame, answers: pd.DataFrame, knob: str, *, title: str, x_title: str) -> go.Figure:
    """Return the ceilings of all resources as lines, the lowest one thick, and the solvers' answers as dots.

    ceilings: columns knob, resource, ceiling_gbps, binding, counted. answers: the table of a sweep over the knob.
    knob: the column on the horizontal axis. title, x_title: texts of the figure.
    """
    figure = go.Figure()
    lowest = ceilings[ceilings["binding"]]
    is_near = ceilings.groupby("resource")["ceiling_gbps"].min() < SHOWN * lowest["ceiling_gbps"].max()
    figure.add_trace(
        go.Scatter(
            x=lowest[knob], y=lowest["ceiling_gbps"], name="lowest ceiling", mode="lines",
            line={"color": theme.PALE, "width": 12}, hoverinfo="skip",
        )
    )  # fmt: skip
    for number, resource in enumerate(name for name, visible in is_near.items() if visible):
        part = ceilings[ceilings["resource"] == resource]
        colour = theme.COLORWAY[number % len(theme.COLORWAY)]
        figure.add_trace(
            go.Scatter(
                x=part[knob], y=part["ceiling_gbps"], name=str(resource), mode="lines",
                line={"color": colour, "dash": ("solid", "dash")[number // len(theme.COLORWAY)], "width": 1.8},
                hovertemplate=f"<b>{resource}</b> alone allows %{{y:.2f}} Gb/s<br>{x_title}: %{{x}}<extra></extra>",
            )
        )  # fmt: skip
    for solver, symbol, fill in (("queueing", "square", "white"), ("simulation", "circle", None)):
        part = answers[answers["solver"] == solver]
        colour = theme.ORIGIN_COLOURS[solver]
        figure.add_trace(
            go.Scatter(
                x=part[knob], y=part["throughput_bps"] / 1e9, name=solver, mode="markers",
                marker={"symbol": symbol, "size": 10, "color": fill or colour, "line": {"color": colour, "width": 2}},
                customdata=part[["bottleneck"]],
                hovertemplate=f"<b>{solver}</b>: %{{y:.2f}} Gb/s<br>{x_title}: %{{x}}"
                "<br>bottleneck: %{customdata[0]}<extra></extra>",
            )
        )  # fmt: skip
    for name, part in lowest.groupby("resource", sort=False):
        middle = part.iloc[len(part) // 2]
        figure.add_annotation(
            x=_log(middle[knob]), y=_log(middle["ceiling_gbps"]), text=f"<b>{name}</b> binds", showarrow=True,
            ax=34, ay=58, arrowcolor=theme.GREY, font={"size": 13}, bgcolor="rgba(255,255,255,0.85)",
        )  # fmt: skip
    ticks = sorted(ceilings[knob].unique())
    figure.update_xaxes(type="log", title_text=x_title, tickvals=ticks, ticktext=[f"{tick:g}" for tick in ticks])
    figure.update_yaxes(LOG_AXIS, title_text=f"throughput (Gb/s of {ceilings['counted'].iloc[0]})")
    return with_layout(figure, title, 560, legend_rows=3).update_layout(margin_t=64)


def _log(value: float) -> float:
    """Return the coordinate of an annotation on a logarithmic axis."""
    import math

    return math.log10(value)
