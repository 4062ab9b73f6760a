"""Elasticities as bars: per cent more throughput for one per cent more of a parameter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from npexplore.plot import theme
from npexplore.plot.line_plots import with_layout

if TYPE_CHECKING:
    from npexplore.study.explaining.sensitivity import Sensitivity


def elasticities(sensitivities: Mapping[str, Sensitivity], *, title: str) -> go.Figure:
    """Return simulated elasticities with their noise, a colour for each named setting; only those above it."""
    largest: dict[str, float] = {}
    for changes in sensitivities.values():
        for e in changes.found:
            largest[e.knob] = max(largest.get(e.knob, 0.0), abs(e.elasticity))
    order = sorted(largest, key=largest.__getitem__)
    figure = go.Figure()
    for number, (name, changes) in enumerate(sensitivities.items()):
        known = {e.knob: e for e in changes.found}
        shown = [known[knob] for knob in order if knob in known]
        figure.add_trace(
            go.Bar(
                orientation="h", name=name, y=[e.knob for e in shown], x=[e.elasticity for e in shown],
                error_x={"array": [e.noise or 0.0 for e in shown], "thickness": 1.2, "width": 3},
                marker_color=theme.COLORWAY[number],
                customdata=[
                    (f"{e.value:g} {e.unit}", e.kind, e.low, e.high, _gain(e.less), _gain(e.more)) for e in shown
                ],
                hovertemplate="<b>%{y}</b> = %{customdata[0]} (%{customdata[1]})<br>"
                "throughput: 1 % less gains %{customdata[4]}, 1 % more gains %{customdata[5]}"
                "<br>tried %{customdata[2]:.4g} to %{customdata[3]:.4g}<extra></extra>",
            )
        )  # fmt: skip
    figure.update_yaxes(categoryorder="array", categoryarray=order)
    figure.update_xaxes(title_text="throughput gained (%) for 1 % more of the parameter")
    return with_layout(figure, title, 172 + 30 * len(order))


def _gain(value: float | None) -> str:
    return "?" if value is None else f"{value:+.2f} %"
