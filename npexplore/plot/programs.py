"""Draws packet programs: verdicts over time, paths as a tree, rates by cores, predicted and measured rates."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from npexplore.plot import theme
from npexplore.plot.line_plots import LOG_AXIS, with_layout
from npexplore.programs.decisions import path_tree
from npexplore.programs.result import ProgramRun

if TYPE_CHECKING:
    import pandas as pd

    from npexplore.packets.capture import Capture
    from npexplore.solve.prediction import Prediction

COLOURS = {
    "pass": theme.BLUE, "redirect": theme.GREEN, "tx": theme.SKY, "drop": theme.VERMILION, "aborted": theme.ORANGE,
    "fault": theme.PURPLE,
}  # fmt: skip
BINS = 30
LABEL_CHARACTERS = 8  # in a line of a box


def verdicts(run: ProgramRun, capture: Capture) -> go.Figure:
    """Return packets by verdict over time; capture: the capture of the run."""
    times = (capture.columns["t_ns"] - capture.columns["t_ns"].min()) / 1e9
    edges = np.linspace(0.0, float(times.max()) or 1.0, BINS + 1)
    names = run.to_frame()["verdict"].to_numpy()
    figure = go.Figure()
    for name in sorted(run.verdicts, key=lambda verdict: -run.verdicts[verdict]):
        counts, _ = np.histogram(times[names == name], edges)
        figure.add_bar(
            x=(edges[:-1] + edges[1:]) / 2, y=counts, name=f"{name} {run.verdicts[name]:,}",
            marker_color=COLOURS.get(name, theme.GREY),
            hovertemplate="%{x:.3g} s: %{y} packets<extra>" + name + "</extra>",
        )  # fmt: skip
    figure.update_layout(barmode="stack", bargap=0.05)
    figure.update_xaxes(title_text="time (s)")
    figure.update_yaxes(title_text="packets", rangemode="tozero")
    return with_layout(figure, f"Verdicts of {run.program.name} over time", 420)


def paths(run: ProgramRun) -> go.Figure:
    """Return the tree of paths (`npexplore.programs.path_tree`): a box's height is its share of the packets."""
    rows = path_tree(run)
    figure = go.Figure(go.Icicle(
        ids=[row["id"] for row in rows], parents=[row["parent"] for row in rows],
        labels=["<br>".join(wrap(row["short"], LABEL_CHARACTERS)) for row in rows],
        values=[row["packets"] for row in rows], branchvalues="total",
        text=[f"{row['share']:.0%}" for row in rows], textinfo="label+text",
        customdata=[[row["label"], _counts(row["verdicts"])] for row in rows],
        hovertemplate="%{customdata[0]}<br>%{value:,} packets: %{customdata[1]}<extra></extra>",
        marker={"colors": [COLOURS.get(_most(row["verdicts"]), theme.GREY) for row in rows]},
        tiling={"orientation": "h"}, textfont={"color": "white"},
    ))  # fmt: skip
    figure.update_layout(uniformtext={"minsize": 9, "mode": "hide"})
    return with_layout(figure, f"Paths of {run.program.name}, coloured by verdict", 520, legend_rows=0)


def _most(counts: dict[str, int]) -> str:
    return max(counts, key=lambda name: counts[name])


def _counts(counts: dict[str, Any]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())


def rates(predictions: Mapping[int, Prediction], title: str) -> go.Figure:
    """Return packets per second over the number of cores, with the bottleneck. predictions: cores -> prediction."""
    figure = go.Figure()
    shades = dict(zip(dict.fromkeys(p.bottleneck for p in predictions.values()), theme.COLORWAY, strict=False))
    for name, colour in shades.items():
        points = [(cores, p.rate_pps / 1e6) for cores, p in predictions.items() if p.bottleneck == name]
        figure.add_trace(go.Bar(
            x=[str(cores) for cores, _ in points], y=[mpps for _, mpps in points], name=f"{name} binds",
            marker_color=colour, hovertemplate=f"%{{x}} cores: %{{y:.3g}} Mpps, {name} binds<extra></extra>",
        ))  # fmt: skip
    figure.update_xaxes(title_text="cores", type="category", categoryarray=list(map(str, predictions)))
    figure.update_yaxes(title_text="million packets a second", rangemode="tozero")
    return with_layout(figure.update_layout(barmode="stack"), title, 420)


def proof(rows: pd.DataFrame) -> go.Figure:
    """Return predicted over measured rates, for the model and for a reader without a model; a line marks equality.

    rows: measured `point`, predicted `bounds` and `reader`, packets a second.
    """
    figure, ends = go.Figure(), [0.8e-6 * rows.point.min(), 1.25e-6 * rows.point.max()]
    figure.add_trace(go.Scatter(x=ends, y=ends, mode="lines", name="as measured", line={"color": theme.GREY}))
    for column, name, colour in (
        ("reader", "reader: an instruction is a cycle", theme.ORANGE), ("bounds", "model", theme.BLUE),
    ):  # fmt: skip
        figure.add_trace(go.Scatter(
            x=rows.point / 1e6, y=rows[column] / 1e6, mode="markers", name=name, text=rows.index,
            marker={"color": colour, "size": 7},
            hovertemplate="%{text}<br>measured %{x:.3g}, predicted %{y:.3g} Mpps<extra></extra>",
        ))  # fmt: skip
    figure.update_xaxes(LOG_AXIS, title_text="measured, million packets a second")
    figure.update_yaxes(LOG_AXIS, title_text="predicted")
    return with_layout(figure, "Measured rates that nothing was fitted to, and two predictions", 480)
