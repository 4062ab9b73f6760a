"""Draws one prediction: the ceilings of bounds, or the utilizations of queueing and simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import plotly.graph_objects as go

from npexplore.plot import theme
from npexplore.plot.line_plots import LOG_AXIS, with_layout

if TYPE_CHECKING:
    from npexplore.solve.prediction import Prediction


def prediction_figure(prediction: Prediction) -> go.Figure:
    """Return the ceilings of all resources for bounds, otherwise the utilization of every resource."""
    return ceilings(prediction) if prediction.solver == "bounds" else utilizations(prediction)


def ceilings(prediction: Prediction) -> go.Figure:
    """Return the throughput that each resource alone would allow (logarithmic); the lowest is the machine's bound."""
    bits = prediction.throughput_bps / prediction.rate_pps
    limits = sorted(((pps * bits / 1e9, name) for name, pps in prediction.ceilings_pps.items()), reverse=True)
    figure = go.Figure(
        go.Bar(
            orientation="h", x=[limit for limit, _ in limits], y=[name for _, name in limits],
            marker_color=[theme.VERMILION if name == prediction.bottleneck else theme.BLUE for _, name in limits],
            text=[f"{limit:,.3g}" for limit, _ in limits], textposition="outside", cliponaxis=False,
            hovertemplate="%{y} alone allows %{x:,.4g} Gb/s<extra></extra>",
        )
    )  # fmt: skip
    figure.add_vline(x=prediction.throughput_bps / 1e9, line={"color": theme.BLACK, "dash": "dot"})
    figure.update_xaxes(LOG_AXIS, title_text=f"throughput (Gb/s of {prediction.counted})")
    title = f"Ceilings: {prediction.bottleneck} binds at {prediction.throughput_bps / 1e9:.3g} Gb/s"
    return with_layout(figure, title, 150 + 28 * len(limits), legend_rows=0).update_layout(margin_r=64)


def utilizations(prediction: Prediction) -> go.Figure:
    """Return the utilization of every resource; the blocked part (its holder waits) is drawn separately."""
    shares = sorted(prediction.utilization.items(), key=lambda item: item[1].busy)
    names = [name for name, _ in shares]
    parts = (
        ("at work", [u.busy - u.blocked for _, u in shares], theme.BLUE),
        ("held, its holder waits", [u.blocked for _, u in shares], theme.SKY),
    )
    figure = go.Figure([
        go.Bar(orientation="h", x=part, y=names, name=name, marker_color=colour,
               hovertemplate=f"%{{y}}, {name}: %{{x:.1%}}<extra></extra>")
        for name, part, colour in parts
    ])  # fmt: skip
    figure.update_xaxes(range=[0, 1.02], tickformat=".0%", title_text="share of time")
    figure.update_layout(barmode="stack", legend_traceorder="normal")
    title = f"{prediction.solver}: {prediction.throughput_bps / 1e9:.3g} Gb/s, bottleneck {prediction.bottleneck}"
    return with_layout(figure, title, 172 + 26 * len(names))
