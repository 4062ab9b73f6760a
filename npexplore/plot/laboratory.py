"""Draws a single resource: throughput over threads above, mean latency over load below, theory as a line."""

from __future__ import annotations

from math import isfinite
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from npexplore.plot import theme
from npexplore.plot.line_plots import with_layout
from npexplore.study.laboratory.points import Exploration, Point

MOST_LOSS = 0.01  # points with more loss are left out: their latency, that of a full buffer, would hide the others
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


def resource_figure(closed: Exploration | None, opened: Exploration | None) -> go.Figure:
    """Return the explorations of a resource, at least one, as one figure."""
    explorations = [exploration for exploration in (closed, opened) if exploration is not None]
    figure = make_subplots(len(explorations), 1, vertical_spacing=0.16)
    for solver, style in LINES.items():
        theory = explorations[0].theory
        label = solver if theory is None or solver != "theory" else f"theory: {theory['name']}"
        rates = [] if closed is None else closed.of(solver)
        if rates:
            figure.add_trace(_closed(rates, label, style), 1, 1)
        if opened is not None and opened.of(solver) and solver != "bounds":
            figure.add_trace(_open(opened, solver, label, style, not rates), len(explorations), 1)
    if closed is not None:
        if isfinite(closed.ceiling_pps):
            figure.add_hline(y=closed.ceiling_pps / 1e6, line={"color": theme.GREY}, row=1, col=1)
        threads = sorted({point.threads for point in closed.points if point.threads is not None})
        figure.update_xaxes(
            title_text="threads", type="log", tickvals=threads, ticktext=list(map(str, threads)), row=1, col=1
        )
        figure.update_yaxes(title_text="throughput, Mpps", rangemode="tozero", row=1, col=1)
    if opened is not None:
        has_ceiling, panel = isfinite(opened.ceiling_pps), {"row": len(explorations), "col": 1}
        x_title = "load: share of the highest rate" if has_ceiling else "offered, Mpps"
        figure.update_xaxes(title_text=x_title, tickformat=".0%" if has_ceiling else None, **panel)
        y_title = "mean latency, ns" if has_ceiling else "share of the packets lost"
        figure.update_yaxes(title_text=y_title, rangemode="tozero", tickformat=None if has_ceiling else ".0%", **panel)
    return with_layout(figure, f"{explorations[0].kind} alone", 320 * len(explorations), legend_rows=2)


def _closed(points: list[Point], named: str, style: dict[str, Any]) -> go.Scatter:
    return go.Scatter(
        x=[p.threads for p in points], y=[(p.throughput_pps or 0.0) / 1e6 for p in points], name=named,
        error_y=_bars([(p.throughput_pps, p.high_pps) for p in points], 1e-6),
        hovertemplate="%{x} threads: %{y:.4g} Mpps", legendgroup=named, **style,
    )  # fmt: skip


def _open(opened: Exploration, solver: str, label: str, style: dict[str, Any], in_legend: bool) -> go.Scatter:
    """Return latency over load; without a highest rate, the loss ratio over the offered rate."""
    bounded = isfinite(opened.ceiling_pps)
    points = [point for point in opened.of(solver) if not bounded or (point.loss or 0.0) <= MOST_LOSS]
    scale = opened.ceiling_pps if bounded else 1e6
    latencies = [None if p.latency_s is None else p.latency_s * 1e9 for p in points]
    return go.Scatter(
        x=[(p.rate_pps or 0.0) / scale for p in points],
        y=latencies if bounded else [p.loss or 0.0 for p in points], name=label,
        error_y=_bars([(p.latency_s, p.high_s) for p in points], 1e9) if bounded else None, showlegend=in_legend,
        hovertemplate="load %{x:.0%}: %{y:.4g} ns" if bounded else "%{x:.4g} Mpps: %{y:.2%} lost", legendgroup=label,
        **style,
    )  # fmt: skip


def _bars(ends: list[tuple[float | None, float | None]], scale: float) -> dict[str, Any] | None:
    """Return half widths of intervals; None if no point has an interval."""
    if all(high is None for _, high in ends):
        return None
    widths = [0.0 if high is None or middle is None else (high - middle) * scale for middle, high in ends]
    return {"type": "data", "array": widths, "thickness": 1.2}
