"""Draws latency and loss over the offered load: all solvers, and the load at which the machine saturates."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from npexplore.plot import theme
from npexplore.plot.line_plots import faint, with_layout
from npexplore.study.loading.curve import LoadCurve
from npexplore.study.loading.points import LoadPoint

QUANTILES = {"p50": "half are faster", "p99": "99 % are faster", "p999": "99.9 % are faster"}
SHADES = dict(zip(QUANTILES, (theme.ORANGE, theme.PURPLE, theme.BLACK), strict=True))
LEAST_LOSS = 0.01  # least upper end of the axis of losses
DASHES = {"estimate": "solid", "simulation": "solid", "queueing": "dash"}


def load_figure(curve: LoadCurve) -> go.Figure:
    """Return mean and quantiles of the latency (above) and the share lost (below) over the offered Mpps."""
    figure = make_subplots(2, 1, shared_xaxes=True, row_heights=[0.65, 0.35], vertical_spacing=0.06)
    percentile_solver = "estimate" if curve.of("estimate") else "simulation"  # the solver whose percentiles are drawn
    for solver, dash in DASHES.items():
        points = curve.of(solver)
        if solver == "simulation" and solver != percentile_solver:
            dash = "dot"
        if not points:
            continue
        colour = theme.ORIGIN_COLOURS[solver]
        line: dict[str, Any] = {"color": colour, "dash": dash}
        with_interval = [p for p in points if p.ci95["latency_s"] is not None]
        if with_interval and solver in (percentile_solver, "queueing"):
            figure.add_trace(_band(curve, with_interval, colour), 1, 1)
        figure.add_trace(_line(curve, solver, "mean", f"mean, {solver}", line), 1, 1)
        for name, label in QUANTILES.items() if solver == percentile_solver else ():
            figure.add_trace(_line(curve, solver, name, label, {"color": SHADES[name], "width": 1.4}), 1, 1)
        figure.add_trace(
            go.Scatter(
                **_over_rates(curve, {p.offered_pps: p.loss for p in points}), line=line, mode="lines+markers",
                name=f"loss, {solver}", showlegend=False,
                hovertemplate=f"{solver}<br>offered %{{x:.4g}} Mpps<br>lost %{{y:.3%}}<extra></extra>",
            ),
            2, 1,
        )  # fmt: skip
    full = curve.full
    if full is not None:
        for row in (1, 2):
            figure.add_vline(x=full.rate_pps / 1e6, line={"color": theme.GREY, "dash": "dot"}, row=row, col=1)
        figure.add_annotation(
            x=full.rate_pps / 1e6, y=1.0, yref="y domain", xanchor="right", text=f"saturated: {full.bottleneck}",
            showarrow=False, font={"color": theme.GREY},
        )  # fmt: skip
    figure.update_yaxes(type="log", title_text="latency, ns", exponentformat="none", row=1, col=1)
    max_loss = max((p.loss for p in curve.points if p.loss is not None), default=0.0)
    figure.update_yaxes(tickformat=".1%", range=[0, max(1.05 * max_loss, LEAST_LOSS)], title_text="lost", row=2, col=1)
    figure.update_xaxes(rangemode="tozero")
    figure.update_xaxes(title_text="offered load, Mpps", row=2, col=1)
    title = f"{curve.design} with {curve.workload}, {curve.arrivals} arrivals"
    return with_layout(figure, title, 620, legend_rows=2)


def _over_rates(curve: LoadCurve, values: Mapping[float, float | None]) -> dict[str, list[float | None]]:
    """Return x (Mpps) and y of values by offered rate: no line bridges a rate at which a solver has no answer."""
    rates = sorted({p.offered_pps for p in curve.points})
    return {"x": [rate / 1e6 for rate in rates], "y": [values.get(rate) for rate in rates]}


def _line(curve: LoadCurve, solver: str, name: str, label: str, line: dict[str, Any]) -> go.Scatter:
    latencies = {p.offered_pps: p.latency_s[name] for p in curve.of(solver)}
    return go.Scatter(
        **_over_rates(curve, {rate: s * 1e9 for rate, s in latencies.items() if s is not None}), name=label,
        mode="lines+markers", line=line, marker={"size": 5},
        hovertemplate=f"{label}<br>offered %{{x:.4g}} Mpps<br>%{{y:,.0f}} ns<extra></extra>",
    )  # fmt: skip


def _band(curve: LoadCurve, points: list[LoadPoint], colour: str) -> go.Scatter:
    """Return the intervals as areas, one for each span of neighbouring rates."""
    rates = sorted({p.offered_pps for p in curve.points})
    x: list[float | None] = []
    y: list[float | None] = []
    for _, span in groupby(enumerate(points), key=lambda at: rates.index(at[1].offered_pps) - at[0]):
        part = [point for _, point in span]
        mpps, ends = [p.offered_pps / 1e6 for p in part], [p.ci95["latency_s"] or (0.0, 0.0) for p in part]
        x += [*mpps, *mpps[::-1], None]
        y += [*(1e9 * high for _, high in ends), *(1e9 * max(low, 1e-12) for low, _ in ends[::-1]), None]
    return go.Scatter(
        x=x, y=y, fill="toself", mode="lines", fillcolor=faint(colour, 0.18), line={"width": 0}, hoverinfo="skip",
        showlegend=False,
    )  # fmt: skip
