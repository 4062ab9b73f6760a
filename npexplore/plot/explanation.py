"""Draws an explanation: ceilings of all resources, their utilization, and the gains of single changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from npexplore.plot import theme
from npexplore.plot.line_plots import interval_key, with_layout
from npexplore.plot.tables import number
from npexplore.study.explaining.words import value_text

if TYPE_CHECKING:
    from npexplore.study.explaining.findings import Findings
    from npexplore.study.explaining.whatif import Change

MAX_BARS = 12  # bars in a panel


def explanation_figure(e: Findings) -> go.Figure:
    """Return up to three panels side by side; a panel without an answer of its solver is left out."""
    headroom, best = e.headroom, e.best
    changes = [] if e.what_if is None else _one_a_value(list(e.what_if.changes))
    panels = [
        name for name, is_available in (
            ("Reached of the ceiling (Gb/s)", headroom is not None), ("Share of time busy", bool(best.utilization)),
            ("Gain by a single change", bool(changes)),
        ) if is_available
    ]  # fmt: skip
    figure = make_subplots(1, max(len(panels), 1), subplot_titles=panels, horizontal_spacing=0.16)
    rows = 1
    for column, name in enumerate(panels, start=1):
        if name.startswith("Reached") and headroom is not None:
            rows = max(rows, _ceilings(figure, column, headroom.ceilings, best.bottleneck, best.throughput_bps))
        elif name.startswith("Share"):
            rows = max(rows, _busy(figure, column, e))
        else:
            rows = max(rows, _gains(figure, column, changes))
    title = f"{e.design} under {e.workload.name}: {best.throughput_bps / 1e9:.4g} Gb/s, {best.bottleneck} binds"
    return with_layout(figure, title, 190 + 26 * rows).update_layout(barmode="stack", legend_traceorder="normal")


def _ceilings(figure: go.Figure, column: int, ceilings: dict[str, float], bottleneck: str, reached: float) -> int:
    bars = list(ceilings.items())[:MAX_BARS][::-1]
    names = [f"{name} {number(bps / 1e9, 3)}" for name, bps in bars]
    figure.add_trace(
        go.Bar(
            orientation="h", x=[reached / bps for _, bps in bars], y=names, showlegend=False,
            marker_color=[theme.VERMILION if name == bottleneck else theme.BLUE for name, _ in bars],
            hovertemplate="%{y} Gb/s: %{x:.1%} of it is reached<extra></extra>",
        ),
        1, column,
    )  # fmt: skip
    figure.update_xaxes(range=[0, 1.02], tickformat=".0%", col=column)
    return len(bars)


def _busy(figure: go.Figure, column: int, e: Findings) -> int:
    shares = sorted(e.best.utilization.items(), key=lambda item: item[1].busy)[-MAX_BARS:]
    for name, part, colour in (
        ("at work", [u.busy - u.blocked for _, u in shares], theme.BLUE),
        ("held, its holder waits", [u.blocked for _, u in shares], theme.SKY),
    ):
        figure.add_trace(
            go.Bar(
                orientation="h", x=part, y=[server for server, _ in shares], name=name, marker_color=colour,
                hovertemplate=f"%{{y}}, {name}: %{{x:.1%}}<extra></extra>",
            ),
            1, column,
        )  # fmt: skip
    figure.update_xaxes(range=[0, 1.02], tickformat=".0%", col=column)
    return len(shares)


def _one_a_value(changes: list[Change]) -> list[Change]:
    """Return the changes with the largest effects, gains first."""
    return sorted(sorted(changes, key=lambda c: -abs(c.gain))[:MAX_BARS], key=lambda c: c.gain)


def _gains(figure: go.Figure, column: int, changes: list[Change]) -> int:
    names = [f"{c.knob} {value_text(c.value)}" for c in changes]
    half = [0.0 if c.low is None or c.high is None else (c.high - c.low) / 2 for c in changes]
    figure.add_trace(
        go.Bar(
            orientation="h", x=[c.gain for c in changes], y=names, showlegend=False,
            marker_color=[theme.GREEN if c.gain > 0 else theme.ORANGE for c in changes],
            error_x={"array": half, "thickness": 1.2, "width": 3, "color": theme.GREY},
            customdata=[(f"{value_text(c.present)} to {value_text(c.value)} {c.unit}", c.bottleneck) for c in changes],
            hovertemplate="<b>%{y}</b>: %{customdata[0]}<br>throughput %{x:+.1%}, then %{customdata[1]} binds"
            "<extra></extra>",
        ),
        1, column,
    )  # fmt: skip
    if any(half):
        figure.add_trace(interval_key(), 1, column)
    figure.update_xaxes(tickformat="+.0%", col=column)
    return len(changes)
