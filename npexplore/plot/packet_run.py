"""Draws a run of packets: rates, losses and backlog over time, and the waits of the slowest packets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from npexplore.plot import theme
from npexplore.plot.line_plots import with_layout
from npexplore.solve.packet_timeline import WINDOWS, timeline

if TYPE_CHECKING:
    import pandas as pd

    from npexplore.solve.packet_run import PacketRun

TIME_PREFIXES = {1.0: "s", 1e-3: "ms", 1e-6: "µs", 1e-9: "ns"}


def timeline_figure(result: PacketRun, windows: int = WINDOWS) -> go.Figure:
    """Return rates of arrivals, departures and losses (above) and the largest backlog (below) of each window.

    windows: largest number of windows.
    """
    table = timeline(result, windows)
    width_s = float(table.start_s[1]) if len(table) > 1 else result.fates.model.tick
    scale = next((size for size in TIME_PREFIXES if table.start_s.max() >= size), min(TIME_PREFIXES))
    unit = TIME_PREFIXES[scale]
    time = table.start_s / scale
    figure = make_subplots(2, 1, shared_xaxes=True, row_heights=[0.6, 0.4], vertical_spacing=0.08)
    shades = {"arrivals": theme.GREY, "departures": theme.BLUE, "losses": theme.ORANGE, "backlog": theme.PURPLE}
    for name, colour in shades.items():
        is_backlog = name == "backlog"
        values = table[name] if is_backlog else table[name] / width_s / 1e6
        hover = f"{name}<br>%{{x:.6g}} {unit}<br>%{{y:.4g}} {'packets' if is_backlog else 'Mpps'}<extra></extra>"
        trace = go.Scatter(x=time, y=values, name=name, line={"color": colour, "shape": "hv", "width": 1.3},
                           mode="lines", hovertemplate=hover)  # fmt: skip
        figure.add_trace(trace, 2 if is_backlog else 1, 1)
    figure.update_yaxes(title_text="Mpps", rangemode="tozero", row=1, col=1)
    figure.update_yaxes(title_text="packets", rangemode="tozero", row=2, col=1)
    figure.update_xaxes(title_text=f"time, {unit}", row=2, col=1)
    return with_layout(figure, f"Packets over time in {result.design}", 560, legend_rows=1)


def waits_figure(worst: pd.DataFrame, design: str) -> go.Figure:
    """Return a stacked bar for each packet: its waiting times (held up included) by resource, and its service time.

    worst: rows of a run with times by resource, the packet with the largest latency first.
    """
    ends = (".waiting_s", ".held_s")
    places = dict.fromkeys(name.rpartition(".")[0] for name in worst.columns if name.endswith(ends))
    waits = {
        place: worst[[f"{place}{end}" for end in ends if f"{place}{end}" in worst]].sum(axis=1) for place in places
    }
    largest = sorted(waits, key=lambda place: -float(waits[place].sum()))[:6]
    served = worst[[name for name in worst.columns if name.endswith(".service_s")]].sum(axis=1)
    parts = {f"waiting at {place}": waits[place] for place in largest if waits[place].any()}
    if other_places := [place for place in waits if place not in largest]:
        parts["waiting elsewhere"] = sum((waits[place] for place in other_places), start=0 * served)
    parts["service"] = served
    figure = go.Figure()
    rank = np.arange(1, len(worst) + 1)
    for name, seconds in parts.items():
        figure.add_trace(
            go.Bar(
                x=rank, y=seconds * 1e6, name=name, customdata=worst.index,
                marker_color=theme.GREY if name == "service" else None,
                hovertemplate=f"packet %{{customdata}}<br>{name}: %{{y:.4g}} µs<extra></extra>",
            )
        )  # fmt: skip
    figure.update_layout(barmode="stack", bargap=0.1)
    figure.update_xaxes(title_text="packets, the largest latency first")
    figure.update_yaxes(title_text="time, µs")
    return with_layout(figure, f"Waits of the worst packets in {design}", 460, legend_rows=2)
