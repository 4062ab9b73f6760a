"""Draws elasticities as bars: per cent of throughput gained for one per cent more of a parameter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from npexplore.plot import theme
from npexplore.plot.line_plots import with_layout

if TYPE_CHECKING:
    from npexplore.study.explaining.sensitivity import Sensitivity


def elasticities(sensitivities: Mapping[str, Sensitivity], *, title: str) -> go.Figure:
    """Return the simulated elasticities above their noise, with error bars; a colour for each named setting."""
    largest: dict[str, float] = {}
    for changes in sensitivities.values():
        for change in changes.found:
            largest[change.knob] = max(largest.get(change.knob, 0.0), abs(change.elasticity))
    order = sorted(largest, key=largest.__getitem__)
    figure = go.Figure()
    for number, (name, changes) in enumerate(sensitivities.items()):
        by_knob = {e.knob: e for e in changes.found}
        ordered = [by_knob[knob] for knob in order if knob in by_knob]
        figure.add_trace(
            go.Bar(
                orientation="h", name=name, y=[e.knob for e in ordered], x=[e.elasticity for e in ordered],
                error_x={"array": [e.noise or 0.0 for e in ordered], "thickness": 1.2, "width": 3},
                marker_color=theme.COLORWAY[number],
                customdata=[
                    (f"{e.value:g} {e.unit}", e.kind, e.low, e.high, _gain(e.less), _gain(e.more)) for e in ordered
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
