"""Commands of a DRAM controller over time, one lane per bank; shares of time by the reason why the data bus waits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from npexplore.plot import theme
from npexplore.plot.line_plots import SYMBOLS, with_layout

if TYPE_CHECKING:
    import pandas as pd

    from npexplore.machine.resources.dram_run import DramRun

COLOURS = {
    "ACT": theme.BLUE, "RD": theme.GREEN, "WR": theme.VERMILION, "PRE": theme.GREY, "PREA": theme.GREY,
    "REF": theme.PURPLE,
}  # fmt: skip


def commands(run: DramRun, from_s: float, to_s: float, *, title: str, channel: int = 0) -> go.Figure:
    """Return the commands of a channel that began in a window of time, one lane for each bank.

    Only the commands that the run recorded can be drawn; raises ValueError if none of them is in the window.
    """
    recorded = run.commands
    inside = np.flatnonzero((recorded.seconds >= from_s) & (recorded.seconds < to_s) & (recorded.channel == channel))
    if not len(inside):
        raise ValueError(f"a window of kept commands must contain at least one command, got {from_s!r} to {to_s!r} s")
    clock = run.device.t_ck
    names = np.array(recorded.names)
    figure = go.Figure()
    for name, colour in COLOURS.items():
        of_name = inside[names[inside] == name]
        if not len(of_name):
            continue
        clocks = {"ACT": run.device.row_clocks, "RD": run.device.column_clocks, "WR": run.device.column_clocks}
        figure.add_trace(
            go.Bar(
                orientation="h", name=name, y=recorded.bank[of_name], base=recorded.seconds[of_name] * 1e9, width=0.8,
                x=np.full(len(of_name), clocks.get(name, run.device.close_clocks) * clock), marker={"color": colour},
                customdata=np.column_stack([recorded.seconds[of_name] * 1e9, recorded.row[of_name]]),
                hovertemplate=f"<b>{name}</b>, bank %{{y}}, row %{{customdata[1]}}<br>at %{{customdata[0]:.2f}} ns",
            )
        )  # fmt: skip
    banks = run.device.banks * run.device.pseudo_channels
    figure.update_layout(title=title, barmode="overlay", height=150 + 17 * banks, legend_title="command")
    figure.update_xaxes(title="ns", range=[from_s * 1e9, to_s * 1e9])
    figure.update_yaxes(title="bank", range=[banks - 0.4, -0.6], dtick=1)
    return figure


def against_pins(runs: Mapping[tuple[str, str], DramRun], *, title: str) -> go.Figure:
    """Return the bandwidth that runs reached (GB/s), a row for each device, with the data sheet's peak of its pins.

    runs: by device and kind of accesses; each kind has its own colour and mark.
    """
    pins = {name: 1e-9 * run.device.bytes_per_s for (name, _), run in runs.items()}
    figure = go.Figure(
        go.Scatter(
            x=list(pins.values()), y=list(pins), name="pins (data sheet)", mode="markers",
            marker={"symbol": "line-ns", "size": 22, "line": {"color": theme.ORIGIN_COLOURS["published"], "width": 3}},
            hovertemplate="<b>%{y}</b><br>pins: %{x:.1f} GB/s<extra></extra>",
        )
    )  # fmt: skip
    for number, kind in enumerate(dict.fromkeys(kind for _, kind in runs)):
        of_kind = {name: run for (name, run_kind), run in runs.items() if run_kind == kind}
        figure.add_scatter(
            x=[run.gbytes_per_s for run in of_kind.values()], y=list(of_kind), name=kind, mode="markers",
            marker={"symbol": SYMBOLS[number % len(SYMBOLS)], "size": 12, "color": theme.COLORWAY[number]},
            customdata=[run.binds for run in of_kind.values()],
            hovertemplate=f"<b>%{{y}}</b>, {kind}<br>%{{x:.1f}} GB/s; %{{customdata}} binds<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(title_text="GB/s of one channel", rangemode="tozero").update_yaxes(autorange="reversed")
    return with_layout(figure, title, 150 + 44 * len(pins))


def shares(table: pd.DataFrame, *, title: str) -> go.Figure:
    """Return stacked bars of shares of time: a bar for each row of the table, a colour for each column."""
    figure = go.Figure()
    visible = [name for name in table.columns if table[name].max() > 0.005]
    for number, name in enumerate(visible):
        colour = theme.PALE if name == "no access" else theme.COLORWAY[number % len(theme.COLORWAY)]
        pattern = "/" if number >= len(theme.COLORWAY) else ""
        figure.add_trace(
            go.Bar(
                orientation="h", name=name, y=list(table.index), x=table[name],
                marker={"color": colour, "pattern": {"shape": pattern}},
                hovertemplate=f"<b>%{{y}}</b><br>{name}: %{{x:.1%}}<extra></extra>",
            )
        )  # fmt: skip
    figure.update_layout(
        title=title, barmode="stack", height=170 + 34 * len(table), legend_title="time of the data bus"
    )
    figure.update_xaxes(title="share of time", tickformat=".0%", range=[0, 1])
    figure.update_yaxes(autorange="reversed")
    return figure
