"""Draws the figures of a capture from the tables of npexplore.packets.statistics.tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from npexplore.packets.capture import Capture
from npexplore.packets.length_cdf import LengthCdf
from npexplore.plot import theme
from npexplore.plot.line_plots import with_layout

if TYPE_CHECKING:
    import pandas as pd

# Lengths that dominate classic wide-area traces (Thompson, Miller, Wilder, IEEE Network 11(6), 1997).
CLASSIC_LENGTHS = (40, 576, 1500)
TICKS = {"exponentformat": "SI", "minexponent": 3}
TIME_TICKS = {"exponentformat": "SI", "minexponent": 0, "ticksuffix": "s"}


def lengths(table: pd.DataFrame | LengthCdf | Capture) -> go.Figure:
    """Return the cumulative distribution of lengths; lines mark the classic modes if there are IP packets.

    table: a table of `length_shares`, a capture, or its `length_cdf()`.
    """
    if isinstance(table, Capture):
        table = table.length_cdf()
    if isinstance(table, LengthCdf):
        table = table.to_frame().assign(counted="all packets")
    figure = go.Figure()
    for counted, part in table.groupby("counted", sort=False):
        x, y = [part["length_bytes"].iloc[0], *part["length_bytes"]], [0.0, *part["share"]]
        figure.add_trace(_line(x, y, str(counted), "%{x} bytes or less: %{y:.1%}", step=True))
    if "IP packets" in set(table["counted"]):
        for length in CLASSIC_LENGTHS:
            figure.add_vline(
                x=length, line={"color": theme.GREY, "dash": "dot", "width": 1.2}, annotation_text=str(length),
                annotation_position="top", annotation_font={"size": 12, "color": theme.GREY},
            )  # fmt: skip
    longest = float(table["length_bytes"].max())
    figure.update_xaxes(title_text="length (bytes)", range=[0, max(1600.0, min(longest * 1.03, 9200.0))])
    return _percent(figure, "share up to this length", "Cumulative distribution of lengths")


def rates(table: pd.DataFrame) -> go.Figure:
    """Return packets and bits per second over time (`rate_table`)."""
    figure = make_subplots(2, 1, shared_xaxes=True, vertical_spacing=0.07)
    bin_s = float(table["time_s"].iloc[1]) if len(table) > 1 else 0.0
    columns = (("packets_per_s", "packets/s", theme.BLUE), ("bits_per_s", "bit/s", theme.VERMILION))
    for row, (column, name, colour) in enumerate(columns, start=1):
        trace = _line(table["time_s"], table[column], name, f"%{{x:.6~g}} s: %{{y:.4~s}}{name}", step=True)
        figure.add_trace(trace.update(fill="tozeroy", line={"color": colour, "width": 1.2}), row, 1)
        figure.update_yaxes(title_text=name, rangemode="tozero", exponentformat="SI", row=row, col=1)
    figure.update_xaxes(title_text="time (s)", row=2, col=1)
    return with_layout(figure, f"Rate over time, bins of {seconds(bin_s)}", 496, legend_rows=0).update_layout(
        showlegend=False
    )


def gaps(table: pd.DataFrame) -> go.Figure:
    """Return the distribution of times between packets (`gap_shares`) and that of a Poisson process."""
    figure = go.Figure()
    part = table[table["gap_s"] > 0]
    figure.add_trace(_line(part["gap_s"], part["share"], "this capture", "%{x:.3~s}s or less: %{y:.1%}"))
    figure.add_trace(
        _line(part["gap_s"], part["poisson"], "Poisson with the same rate", "%{x:.3~s}s or less: %{y:.1%}").update(
            line={"color": theme.GREY, "dash": "dash"}
        )
    )
    figure.update_xaxes(title_text="time between packets", **_log(part["gap_s"]), **TIME_TICKS)
    return _percent(figure, "share up to this time", "Cumulative distribution of the times between packets")


def bursts(variance: pd.DataFrame, dispersion: pd.DataFrame) -> go.Figure:
    """Return the variance-time plot and the index of dispersion (`variances`, `dispersions`), both logarithmic."""
    figure = make_subplots(1, 2, subplot_titles=("Variance of the rate", "Index of dispersion"), horizontal_spacing=0.1)
    hover_text = "bins of %{x:.3~s}s: %{y:.3~g}"
    curves = [("variance", "this capture", theme.BLUE, "solid"), ("poisson", "Poisson (slope -1)", theme.GREY, "dash")]
    curves += [("fitted", "slope of the Hurst estimate", theme.VERMILION, "dot")] if "fitted" in variance else []
    for column, name, colour, dash in curves:
        trace = _line(variance["bin_s"], variance[column], name, hover_text).update(
            line={"color": colour, "dash": dash}
        )
        figure.add_trace(trace.update(mode="lines+markers" if dash == "solid" else "lines"), 1, 1)
    trace = _line(dispersion["bin_s"], dispersion["value"], "this capture", hover_text)
    figure.add_trace(trace.update(line={"color": theme.BLUE}, mode="lines+markers", showlegend=False), 1, 2)
    figure.add_hline(y=1, line={"color": theme.GREY, "dash": "dash"}, row=1, col=2)
    figure.update_xaxes(title_text="width of a bin", **_log(variance["bin_s"]), **TIME_TICKS)
    lowest = variance[[column for column, *_ in curves]].stack()
    figure.update_yaxes(title_text="relative to the finest bin", exponentformat="power", **_log(lowest), row=1, col=1)
    figure.update_yaxes(title_text="variance / mean", **_log(dispersion["value"]), **TICKS, row=1, col=2)
    return with_layout(figure, "Burstiness over scales of time", 480)


def flows(sizes: Mapping[str, pd.DataFrame], carried: pd.DataFrame) -> go.Figure:
    """Return the tails of flow sizes and durations (a `ccdf` each), and bytes by share of flows (`lorenz_curve`)."""
    heads = [*(f"{name.capitalize()} of a flow" for name in sizes), "Elephants and mice"]
    figure = make_subplots(2, 2, subplot_titles=heads, horizontal_spacing=0.1, vertical_spacing=0.2)
    for number, (name, part) in enumerate(sizes.items()):
        panel = {"row": number // 2 + 1, "col": number % 2 + 1}
        positive = part[part["value"] > 0]
        trace = _line(positive["value"], positive["share"], name, "%{x:.4~s} or more: %{y:.2%} of the flows")
        trace.update(line={"color": theme.BLUE}, mode="lines+markers", marker={"size": 4})
        figure.add_trace(trace, **panel)
        ticks = TIME_TICKS if name == "duration" else TICKS
        figure.update_xaxes(title_text=f"at least so many {name}" if ticks is TICKS else "at least so long",
                            **_log(positive["value"]), **ticks, **panel)  # fmt: skip
        figure.update_yaxes(title_text="share of flows", tickformat="~%", **_log(positive["share"]), **panel)
    panel = {"row": len(sizes) // 2 + 1, "col": len(sizes) % 2 + 1}
    trace = _line(carried["flows"], carried["bytes"], "bytes", "largest %{x:.3~%} of flows: %{y:.1%} of bytes")
    trace.update(line={"color": theme.VERMILION}, mode="lines+markers", marker={"size": 4})
    figure.add_trace(trace, **panel)
    figure.update_xaxes(title_text="largest flows", tickformat="~%", **_log(carried["flows"]), **panel)
    figure.update_yaxes(title_text="bytes they carry", tickformat=".0%", range=[0, 1.05], **panel)
    return with_layout(figure, "Sizes of flows, and who carries the bytes", 736, legend_rows=0).update_layout(
        showlegend=False
    )


def hit_ratios(table: pd.DataFrame) -> go.Figure:
    """Return the hit ratio of an LRU route cache over its size (`hit_ratio_table`)."""
    figure = go.Figure()
    dashes = ("solid", "dash", "dot")  # curves of few destinations coincide
    for number, (key, part) in enumerate(table.groupby("key", sort=False)):
        name = "destination addresses" if key == "addresses" else f"destination {key}"
        trace = _line(part["entries"], part["hit_ratio"], name, "%{x} entries: %{y:.1%} hits")
        figure.add_trace(trace.update(mode="lines+markers", line={"dash": dashes[number % 3]}))
    figure.update_xaxes(title_text="entries of the cache", **_doublings(table["entries"]))
    return _percent(figure, "hit ratio", "Hit ratio of an LRU cache, empty at first")


def trains(table: pd.DataFrame) -> go.Figure:
    """Return the lengths of packet trains for several largest gaps within a train (`train_shares`)."""
    figure = go.Figure()
    for gap, part in table.groupby("gap_s"):
        hover_text = "%{x} packets or more: %{y:.2%} of the trains"
        name = f"gaps up to {seconds(float(gap))}"
        figure.add_trace(
            _line(part["value"], part["share"], name, hover_text).update(mode="lines+markers", marker_size=4)
        )
    figure.update_xaxes(title_text="packets in a train", **_doublings(table["value"]))
    figure.update_yaxes(title_text="share of trains at least so long", tickformat="~%", **_log(table["share"]))
    return with_layout(figure, "Packet trains between two hosts", 440)


def talkers(ends: Mapping[str, pd.DataFrame]) -> go.Figure:
    """Return the addresses with the most bytes, senders and receivers side by side (`talkers`)."""
    figure = make_subplots(1, len(ends), subplot_titles=[name.capitalize() for name in ends], horizontal_spacing=0.22)
    for column, (name, part) in enumerate(ends.items(), start=1):
        figure.add_trace(
            go.Bar(
                orientation="h", x=part["share"], y=part["address"], marker_color=theme.COLORWAY[column - 1],
                customdata=part[["bytes", "packets"]], name=name,
                hovertemplate="%{y}: %{x:.1%}, %{customdata[0]:,} bytes, %{customdata[1]:,} packets<extra></extra>",
            ),
            1, column,
        )  # fmt: skip
    figure.update_yaxes(type="category", autorange="reversed")
    figure.update_xaxes(tickformat="~%", rangemode="tozero", title_text="share of IP bytes")
    longest = max(len(part) for part in ends.values())
    return with_layout(figure, "Addresses with the most bytes", 166 + 26 * longest, legend_rows=0).update_layout(
        showlegend=False
    )


def shares(table: pd.DataFrame) -> go.Figure:
    """Return a stacked bar for each kind (layer, protocol, DSCP, checksum), divided by its names (`shares`)."""
    figure = go.Figure()
    kinds = list(dict.fromkeys(table["kind"]))[::-1]
    ranked = table.assign(rank=table.groupby("kind").cumcount())
    for rank, part in ranked.groupby("rank"):
        label = [f"{row.name_} {row.share:.1%}" if row.share >= 0.06 else "" for row in
                 part.rename(columns={"name": "name_"}).itertuples()]  # fmt: skip
        figure.add_trace(
            go.Bar(
                orientation="h", x=part["share"], y=part["kind"], text=label, textposition="inside",
                insidetextanchor="middle", textangle=0, constraintext="none",
                marker={"color": theme.COLORWAY[int(rank) % 6], "line": {"color": "white", "width": 1.5}},
                customdata=part[["name", "packets"]], textfont={"color": "white", "size": 13},
                hovertemplate="%{y}: %{customdata[0]} %{x:.2%}, %{customdata[1]:,} packets<extra></extra>",
            )
        )  # fmt: skip
    figure.update_yaxes(categoryorder="array", categoryarray=kinds, showline=False, ticks="")
    figure.update_xaxes(tickformat=".0%", range=[0, 1.001])
    figure.update_layout(barmode="stack", bargap=0.35)
    return with_layout(figure, "Shares of packets", 126 + 55 * len(kinds), legend_rows=0).update_layout(
        showlegend=False
    )


def narrow_shares(table: pd.DataFrame) -> go.Figure:
    """Return the share of packet-buffer accesses that move less than a cell, over the cell's size."""
    trace = _line(table["cell_bytes"], table["share"], "narrow", "cells of %{x} bytes: %{y:.1%} narrow")
    figure = go.Figure(trace.update(mode="lines+markers", marker_size=4))
    figure.add_vline(x=64, line={"color": theme.GREY, "dash": "dot"}, annotation_text="64", annotation_position="top")
    figure.update_xaxes(title_text="cell (bytes)", range=[0, float(table["cell_bytes"].max()) * 1.02])
    return _percent(figure, "share of accesses", "Accesses narrower than a cell").update_layout(showlegend=False)


def machines(table: pd.DataFrame) -> go.Figure:
    """Return the rate of every machine by every solver (`npexplore.study.explaining.on_capture.packet_rates`)."""
    figure = go.Figure()
    for solver, part in table.groupby("solver"):
        figure.add_trace(
            go.Bar(
                orientation="h", x=part["mpps"], y=part["machine"], name=str(solver),
                marker_color=theme.ORIGIN_COLOURS[str(solver)],
                hovertemplate=f"%{{y}}, {solver}: %{{x:.3g}}<extra></extra>",
            )
        )  # fmt: skip
    figure.update_xaxes(title_text="million packets a second", rangemode="tozero")
    figure.update_yaxes(autorange="reversed", type="category")
    return with_layout(figure, "Packets a second, one always waiting", 190 + 80 * table["machine"].nunique())


def seconds(value: float) -> str:
    """Return a time as text with its SI unit: 0.0005 is 500 µs."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def _line(x: object, y: object, name: str, hover_text: str, *, step: bool = False) -> go.Scatter:
    return go.Scatter(
        x=x, y=y, name=name, mode="lines", line_shape="hv" if step else "linear",
        hovertemplate=f"{hover_text}<extra>{name}</extra>",
    )  # fmt: skip


def _log(values: pd.Series) -> dict[str, object]:
    """Return the settings of a logarithmic axis: ticks at powers of ten; at 1, 2, 5 for less than two decades."""
    positive = values[values > 0]
    span = positive.max() / positive.min() if len(positive) else 1.0
    if span >= 100:
        return {"type": "log", "dtick": 1, "minorloglabels": "none"}
    return {"type": "log", "dtick": "D2"} if span >= 8 else {"type": "log"}


def _doublings(values: pd.Series) -> dict[str, object]:
    """Return the settings of a logarithmic axis whose ticks are powers of two, at most a dozen."""
    max_exponent = max(1, int(values.max()).bit_length())
    ticks = [2**exponent for exponent in range(0, max_exponent + 1, 1 + max_exponent // 12)]
    return {"type": "log", "tickvals": ticks, "ticktext": [f"{tick:,}" for tick in ticks]}


def _percent(figure: go.Figure, y_title: str, title: str) -> go.Figure:
    figure.update_yaxes(tickformat=".0%", range=[0, 1.03], title_text=y_title)
    return with_layout(figure, title, 440)
