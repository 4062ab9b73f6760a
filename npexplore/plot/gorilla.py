"""Drawings of Gorilla (Figs. 1 to 5, 8) and maps of rates: the program, its compilation, the machine, the lookup."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from npexplore.plot import theme
from npexplore.plot.drawing import Drawing
from npexplore.plot.line_plots import with_layout

if TYPE_CHECKING:
    import pandas as pd

CALLS = "#fdeadd"  # fill of steps that call accelerators
COLUMNS: Mapping[str, int] = {"mpls": 0, "ipv4": 1, "ipv6": 2}
ROWS = ("extract", "check", "lookup", "modify")


def program(calls: Mapping[str, Sequence[str]], pieces: Mapping[str, int], data: pd.DataFrame) -> Drawing:
    """Return the router's steps and jumps (Fig. 1). calls, pieces: step -> accelerators, steps after splitting."""
    d = Drawing(920, 610, data, label="Steps of the router program for IPv4, IPv6 and MPLS")

    def box(name: str, x: float, y: float) -> None:
        calls_text = ", ".join(calls.get(name, ())) or "computes"
        steps_text = f" ({pieces[name]} steps)" if pieces.get(name, 1) > 1 else ""
        d.box(x - 92, y - 24, 184, 48, fill=CALLS if calls.get(name) else "white", tip=name)
        d.text(x, y - 3, name + steps_text, bold=True)
        d.text(x, y + 14, calls_text, size=12)

    places: dict[str, tuple[float, float]] = {"dispatch": (460, 36), "ethernet": (460, 116)}
    for protocol, column in COLUMNS.items():
        steps = [row for row in ROWS if f"{protocol}_{row}" in pieces]
        for number, row in enumerate(steps):
            places[f"{protocol}_{row}"] = (150 + 310 * column, 206 + (80 if len(steps) > 3 else 107) * number)
    places |= {"control": (150, 560), "emit": (460, 560), "exception": (770, 560)}
    d.arrow((460, 61), (460, 91))
    for protocol, column in COLUMNS.items():
        x = 150 + 310 * column
        d.arrow((460, 141), (460, 162), (x, 162), (x, 181))
        column_steps = [places[f"{protocol}_{row}"] for row in ROWS if f"{protocol}_{row}" in pieces]
        for (_, above), (_, below) in itertools.pairwise(column_steps):
            d.arrow((x, above + 25), (x, below - 25))
        d.arrow((x, column_steps[-1][1] + 25), (x, 504), (460, 504), (460, 535), colour=theme.BLUE)
    first_y, last_y = places["mpls_extract"][1], places["mpls_modify"][1]
    d.arrow((58, last_y), (26, last_y), (26, first_y), (57, first_y), colour=theme.VERMILION, width=2)
    d.text(34, first_y - 34, "next label", size=11, anchor="start", colour=theme.VERMILION)
    d.arrow((243, last_y), (304, last_y), (304, 206), (367, 206), colour=theme.VERMILION)
    d.text(252, last_y - 10, "last one popped", size=11, anchor="start", colour=theme.VERMILION)
    for name, place in places.items():
        box(name, *place)
    d.text(860, 520, "any step may go to exception or control", size=11, anchor="end", colour=theme.GREY)
    return d


def flow(
    stages: Sequence[tuple[str, Sequence[str]]], label: str, data: pd.DataFrame, back: str = "", back_from: int = -1
) -> Drawing:
    """Return stages from left to right, each a heading with lines.

    back: label of an arrow back to the first stage, from stage number `back_from`.
    """
    width = 190
    d = Drawing(40 + width * len(stages), 190 if back else 150, data, label=label)
    for number, (head, lines) in enumerate(stages):
        x = 20 + width * number
        d.block(x, 20, width - 34, 104, [head, *lines])
        if number:
            d.arrow((x - 33, 72), (x - 1, 72))
    if back:
        first_x = 20 + (width - 34) / 2
        back_x = first_x + width * range(len(stages))[back_from]
        d.arrow((back_x, 125), (back_x, 165), (first_x, 165), (first_x, 125), colour=theme.BLUE)
        d.text((first_x + back_x) / 2, 158, back, size=12, colour=theme.BLUE)
    return d


def architecture(facts: Any, busy: Mapping[str, float], data: pd.DataFrame) -> Drawing:
    """Return the processor with the busy shares of its parts (Fig. 4)."""
    d = Drawing(980, 430, data, label="Pre-processor, clusters of engines, accelerators, post-processor")
    d.block(10, 40, 130, 84, ["Pre-processor", "metadata, split"], load=busy.get("pre"))
    d.block(10, 280, 130, 84, ["Body buffer", f"{facts.body_kib} KiB"], load=busy.get("bodies"))
    d.block(200, 40, 120, 84, ["Balancing", facts.balancing.replace("_", " ")])
    d.arrow((141, 82), (199, 82))
    d.arrow((75, 125), (75, 279))
    d.text(92, 205, "body", size=11, anchor="start")
    for number in range(3):
        y = 20 + 118 * number
        name = f"cluster {number + 1}" if number < 2 else f"cluster {facts.clusters}"
        d.box(370, y, 300, 104, fill="#f6f8fa")
        if number == 2:
            d.text(520, y - 4, f"{facts.clusters} clusters in all", size=10, colour=theme.GREY)
        d.text(520, y + 17, name, bold=True, size=12)
        d.block(380, y + 26, 62, 66, ["FIFO", f"{facts.fifo_packets}"])
        d.block(450, y + 26, 122, 66, [f"{facts.engines} engines", f"{facts.threads} threads"], load=busy.get("engine"))
        d.block(580, y + 26, 80, 66, ["labels", "local"], load=busy.get("labels"))
        d.arrow((321, 82), (345, 82), (345, y + 58), (379, y + 58))
        d.arrow((671, y + 58), (700, y + 58), (700, 82), (730, 82), both=True, colour=theme.BLUE)
    d.block(731, 40, 110, 84, ["Arbiters", f"{facts.local_arbiter} local", f"{facts.global_arbiter} global"])
    d.block(866, 40, 104, 84, [f"{facts.channels} channels", facts.memory.upper()], load=busy.get("qdr"))
    d.arrow((842, 82), (865, 82), both=True, colour=theme.BLUE)
    d.block(731, 280, 239, 84, ["Post-processor", "order of arrival, body back"], load=busy.get("order"))
    d.arrow((671, 322), (730, 322))
    d.arrow((75, 365), (75, 400), (850, 400), (850, 365))
    return d


def lookup(levels: Sequence[int], facts: Any, data: pd.DataFrame) -> Drawing:
    """Return the pipelined lookup with its arbiters (Fig. 5). levels: bits of the address each stage takes."""
    step = 200
    d = Drawing(300 + step * len(levels), 250, data, label="Trie lookup as a pipeline over one memory channel")
    d.block(10, 50, 130, 70, ["Requests", facts.global_arbiter + " arbiter"])
    for number, bits in enumerate(levels):
        x = 190 + step * number
        d.block(x, 50, 140, 70, [f"level {number + 1}", f"{bits} bits, stop at a leaf"])
        d.arrow((x - 49 if number == 0 else x - 59, 85), (x - 1, 85))
        d.arrow((x + 70, 121), (x + 70, 169), both=True, colour=theme.BLUE)
    end = 190 + step * len(levels)
    d.arrow((end - 59, 85), (end - 1, 85))
    d.block(end, 50, 100, 70, ["Replies", "to threads"])
    d.block(190, 170, step * len(levels) - 60, 56, [
        f"rate adaptation: {facts.core_mhz} MHz to {facts.qdr_mhz} MHz, {facts.qdr_mhz // facts.core_mhz} reads a cycle"
    ])  # fmt: skip
    hover_text = f"a packet waits {facts.lookup_cycles:g} cycles, {facts.ipv6_delay_ratio} times that for IPv6"
    d.text(190, 26, hover_text, size=12, anchor="start", colour=theme.GREY)
    return d


def rates(table: pd.DataFrame, *, title: str, source: float, names: Mapping[str, str]) -> go.Figure:
    """Return rates as maps: configurations by traffic, one map without and one with flow counting (Figs. 9, 10)."""
    panels = {"off": "without flow counting", "on": "with flow counting"}
    present = [name for name in panels if name in set(table["flow_counting"])]
    figure = make_subplots(
        1, len(present), shared_yaxes=True, subplot_titles=[panels[name] for name in present], horizontal_spacing=0.03
    )
    for column, name in enumerate(present, start=1):
        part = table[table["flow_counting"] == name]
        grid = part.pivot_table("mpps", "configuration", "traffic", sort=False)
        limit = part.pivot_table("bottleneck", "configuration", "traffic", aggfunc="first", sort=False)
        figure.add_trace(
            go.Heatmap(
                z=grid.to_numpy(), x=[names.get(t, t) for t in grid.columns], y=list(grid.index), zmin=0, zmax=source,
                colorscale=[[0, "#b2182b"], [0.7, "#fddbc7"], [0.97, "#f7f7f7"], [1, "#92c5de"]],
                text=grid.to_numpy(), texttemplate="%{text:.0f}", customdata=limit.to_numpy(),
                hovertemplate="%{y}, %{x}: %{z:.1f} Mpps<br>limited by %{customdata}<extra></extra>",
                showscale=column == len(present), colorbar={"title": "Mpps"},
            ),
            1, column,
        )  # fmt: skip
    figure.update_yaxes(autorange="reversed", type="category")
    figure.update_xaxes(tickangle=-35, dtick=1)
    return with_layout(figure, title, 430).update_layout(meta={"least_width": 800})


def groups(table: pd.DataFrame, *, title: str) -> go.Figure:
    """Return areas of virtual routers by method (Fig. 14). Columns: configuration, method, area, groups."""
    figure = go.Figure()
    for number, (method, part) in enumerate(table.groupby("method", sort=False)):
        figure.add_trace(
            go.Bar(
                x=part["configuration"], y=part["area"], name=str(method), marker_color=theme.COLORWAY[number],
                customdata=part[["groups"]], hovertemplate="%{x}: %{y:.1%}<br>%{customdata[0]}<extra></extra>",
            )
        )  # fmt: skip
    figure.update_layout(barmode="group")
    figure.update_yaxes(title_text="share of the Virtex-7's LUTs", tickformat=".0%")
    figure.update_xaxes(title_text="routers for MPLS, IPv4, both", type="category")
    return with_layout(figure, title, 400)


def budget(table: pd.DataFrame, limit: float, *, title: str, names: Mapping[str, str]) -> go.Figure:
    """Return the memory channels needed, by traffic and by what is built; a dashed line marks the channels available.

    Columns: traffic, built, reads, channels.
    """
    figure = go.Figure()
    for number, (built, part) in enumerate(table.groupby("built", sort=False)):
        figure.add_trace(
            go.Bar(
                x=[names.get(traffic, traffic) for traffic in part["traffic"]], y=part["channels"], name=str(built),
                marker_color=theme.COLORWAY[number], customdata=part[["reads"]], text=part["channels"],
                texttemplate="%{text:.1f}", textposition="outside",
                hovertemplate=f"%{{x}}, {built}: %{{y:.2f}} channels, %{{customdata[0]:.2f}} reads<extra></extra>",
            )
        )  # fmt: skip
    figure.add_hline(limit, line={"color": theme.VERMILION, "dash": "dash"})
    figure.update_layout(barmode="group")
    figure.update_yaxes(title_text="memory channels", range=[0, 1.15 * float(table["channels"].max())])
    return with_layout(figure, title, 400)


def admitted(table: pd.DataFrame, chosen: tuple[float, float], *, title: str) -> go.Figure:
    """Return a map of how many claims hold, by cycles per step and lookup delay; a ring marks the model's values."""
    grid = table.pivot_table("right", "lookup_cycles", "cycles_per_step")
    wrong = table.pivot_table("wrong", "lookup_cycles", "cycles_per_step", aggfunc="first")
    claims = int(table["claims"].iloc[0])
    figure = go.Figure(
        go.Heatmap(
            z=grid.to_numpy(), x=list(grid.columns), y=list(grid.index), colorscale="Blues", text=grid.to_numpy(),
            texttemplate="%{text:.0f}", customdata=wrong.to_numpy(), colorbar={"title": f"of {claims}"},
            hovertemplate="%{x} cycles a step, lookup %{y}: %{z} right<br>wrong: %{customdata}<extra></extra>",
        )
    )  # fmt: skip
    figure.add_trace(
        go.Scatter(x=[chosen[0]], y=[chosen[1]], mode="markers", hoverinfo="skip", showlegend=False, marker={
            "symbol": "circle-open", "size": 26, "color": theme.VERMILION, "line": {"width": 3}})
    )  # fmt: skip
    figure.update_xaxes(title_text="cycles a step")
    figure.update_yaxes(title_text="cycles of a lookup")
    return with_layout(figure, title, 420)
