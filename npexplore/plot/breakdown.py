"""Draws a packet's latency by resource as stacked bars: a bar per solver and quantile, a colour per resource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from npexplore.plot import theme
from npexplore.plot.line_plots import with_layout

if TYPE_CHECKING:
    from npexplore.solve.breakdown import Breakdown

COLOURED_RESOURCES = len(theme.COLORWAY) - 1  # resources with a separate colour; all others share one
KINDS = {  # field of a part -> (label, pattern, opacity)
    "service_s": ("service", "", 1.0), "waiting_s": ("waiting", "/", 0.75), "held_s": ("held by others", "x", 0.5),
}  # fmt: skip


def breakdown(breakdowns: Mapping[str, Breakdown]) -> go.Figure:
    """Return stacked bars of latencies (ns), from top to bottom in the order given, each followed by its quantiles."""
    bars = {}
    for name, broken in breakdowns.items():
        bars[name] = broken
        bars.update({f"{name}, around {q}": around for q, around in broken.quantiles.items()})
    largest_share: dict[str, float] = {}
    for broken in breakdowns.values():
        for part in broken.parts:
            largest_share[part.resource] = max(largest_share.get(part.resource, 0.0), part.total_s / broken.latency_s)
    order = sorted(largest_share, key=lambda name: -largest_share[name])
    figure = go.Figure()
    for number, resource in enumerate(
        [*order[:COLOURED_RESOURCES], None] if len(order) > COLOURED_RESOURCES else order
    ):
        label = "all others" if resource is None else resource or "elsewhere"
        for kind, (kind_label, pattern, opacity) in KINDS.items():
            lengths = [
                1e9 * sum(getattr(part, kind) for part in bar.parts if _belongs(part.resource, resource, order))
                for bar in bars.values()
            ]
            if not any(lengths):
                continue
            figure.add_trace(
                go.Bar(
                    orientation="h", y=list(bars), x=lengths, name=f"{label}, {kind_label}",
                    marker={"color": theme.GREY if resource is None else theme.COLORWAY[number],
                            "pattern": {"shape": pattern, "solidity": 0.25}, "opacity": opacity},
                    hovertemplate=f"%{{y}}<br>{label}, {kind_label}: %{{x:,.4g}} ns<extra></extra>",
                )
            )  # fmt: skip
    figure.update_yaxes(autorange="reversed")
    figure.update_xaxes(title_text="latency (ns)")
    title = "Where a packet's time goes (striped: waiting; crossed: while the resource is blocked)"
    rows = -(-len(figure.data) // 5)
    return with_layout(figure, title, 150 + 34 * len(bars) + 24 * rows, legend_rows=rows).update_layout(
        barmode="stack", legend_traceorder="normal"
    )


def _belongs(resource: str, wanted: str | None, order: list[str]) -> bool:
    return resource == wanted if wanted is not None else resource not in order[:COLOURED_RESOURCES]
