"""One resource alone: throughput against threads above, mean latency against load below, theory as a line."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from npexplore.plot import theme
from npexplore.plot.line_plots import with_layout
from npexplore.study.laboratory.exploration import Exploration, Point

MOST_LOSS = 0.01  # beyond, latency is that of a full buffer, and would hide all others
LINES: dict[str, dict[str, Any]] = {
    "bounds": {"mode": "lines", "line": {"color": theme.GREY, "dash": "dot"}},
    "theory": {"mode": "lines", "line": {"color": theme.GREEN, "width": 3}},
    "queueing": {
        "mode": "lines+markers",
        "line": {"color": theme.BLUE, "dash": "dash"},
        "marker": {"symbol": "square"},
    },
    "simulation": {"mode": "markers", "marker": {"color": theme.VERMILION, "size": 9}},
}


def resource_figure(closed: Exploration, opened: Exploration) -> go.Figure:
    """Return both explorations of a resource as one figure."""
    figure = make_subplots(2, 1, vertical_spacing=0.16)
    for solver, style in LINES.items():
        named = solver if closed.theory is None or solver != "theory" else f"theory: {closed.theory['name']}"
        rates, times = closed.of(solver), opened.of(solver)
        if rates:
            figure.add_trace(_closed(rates, named, style), 1, 1)
        if times and solver != "bounds":
            carried = [point for point in times if (point.loss or 0.0) <= MOST_LOSS]
            figure.add_trace(_open(carried, opened.ceiling_pps, named, style, not rates), 2, 1)
    figure.add_hline(y=closed.ceiling_pps / 1e6, line={"color": theme.GREY}, row=1, col=1)
    threads = sorted({p.threads for p in closed.points if p.threads is not None})
    figure.update_xaxes(
        title_text="threads", type="log", tickvals=threads, ticktext=list(map(str, threads)), row=1, col=1
    )
    figure.update_yaxes(title_text="throughput, Mpps", rangemode="tozero", row=1, col=1)
    figure.update_xaxes(title_text="load: share of the highest rate", tickformat=".0%", row=2, col=1)
    figure.update_yaxes(title_text="mean latency, ns", rangemode="tozero", row=2, col=1)
    return with_layout(figure, f"{closed.kind} alone", 640, legend_rows=2)


def _closed(points: list[Point], named: str, style: dict[str, Any]) -> go.Scatter:
    return go.Scatter(
        x=[p.threads for p in points], y=[(p.throughput_pps or 0.0) / 1e6 for p in points], name=named,
        error_y=_bars([(p.throughput_pps, p.high_pps) for p in points], 1e-6),
        hovertemplate="%{x} threads: %{y:.4g} Mpps", legendgroup=named, **style,
    )  # fmt: skip


def _open(points: list[Point], ceiling: float, named: str, style: dict[str, Any], in_legend: bool) -> go.Scatter:
    return go.Scatter(
        x=[(p.rate_pps or 0.0) / ceiling for p in points],
        y=[None if p.latency_s is None else p.latency_s * 1e9 for p in points], name=named,
        error_y=_bars([(p.latency_s, p.high_s) for p in points], 1e9), showlegend=in_legend,
        hovertemplate="load %{x:.0%}: %{y:.4g} ns", legendgroup=named, **style,
    )  # fmt: skip


def _bars(ends: list[tuple[float | None, float | None]], scale: float) -> dict[str, Any] | None:
    """Return half widths of intervals, None where no point has one."""
    if all(high is None for _, high in ends):
        return None
    widths = [0.0 if high is None or middle is None else (high - middle) * scale for middle, high in ends]
    return {"type": "data", "array": widths, "thickness": 1.2}
