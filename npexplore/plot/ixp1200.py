"""Drawings of the IXP1200: hardware, path of a packet, threads on engines, test bed (Figs. 1, 2, 3, 5), bottlenecks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from npexplore.plot import theme
from npexplore.plot.drawing import Drawing
from npexplore.plot.line_plots import legend_once, with_layout

if TYPE_CHECKING:
    import pandas as pd

BINDING = {"waiting for memory": 0, "engines": 1, "engines and SRAM": 2, "SRAM": 3}
SHADES = ("#E5E7EB", theme.ORANGE, theme.VERMILION, theme.SKY)


def machine(demands: pd.DataFrame, facts: Any) -> Drawing:
    """Return the block diagram of Fig. 1: each block shows its demand per packet, shaded by its load.

    The load is at the machine's upper bound; a block of two engines or directions shows their sum.

    demands: table of study.papers.tables.demands. facts: the design's parameters.
    """
    d = Drawing(940, 460, demands, label="IXP1200 block drawing: StrongARM, microengines, memory units, IX bus")
    by_server = demands.set_index("server")

    def block(x: float, y: float, w: float, h: float, servers: Sequence[str], *lines: str) -> None:
        rows = by_server.loc[[name for name in servers if name in by_server.index]]
        if rows.empty:
            d.block(x, y, w, h, lines)
            return
        demand_text = f"{rows['ns_per_packet'].sum():,.0f} ns a packet"
        full_text = f"full at {rows['ceiling_mpps'].min():.3g} Mpps"
        tip = f"{', '.join(rows.index)}: {demand_text} in {rows['visits'].sum():.3g} visits; {full_text}"
        d.block(x, y, w, h, [*lines, demand_text], load=float(rows["load"].max()), tip=tip)

    d.box(230, 30, 480, 400, fill="#fafbfc", dash="6 4", radius=12)
    d.text(242, 50, "IXP1200", size=12, anchor="start", colour=theme.GREY)
    d.block(250, 65, 170, 66, ["StrongARM core", f"{facts.core_clock_mhz:g} MHz", "timer, slow path"])
    block(250, 160, 170, 76, ["sdram"], "SDRAM unit", "64 bit, packets")
    block(250, 265, 170, 76, ["sram"], "SRAM unit", "32 bit, tables, queues")
    block(500, 65, 190, 66, ["me0", "me1"], "Microengines 1 and 2", "receivers")
    block(500, 140, 190, 66, ["me_gbe"], "Microengines 3 and 4", "receivers")
    block(500, 215, 190, 66, ["me2", "me_tx_gbe"], "Microengines 5 and 6", "transmitters, scheduler")
    block(500, 345, 190, 70, ["ix_in", "ix_out"], "IX bus interface", "RFIFO, TFIFO")
    block(250, 360, 170, 55, ["ready_bus"], "Ready bus sequencer")
    d.arrow((422, 198), (460, 198), (460, 98), (498, 98), both=True)
    d.arrow((422, 303), (472, 303), (472, 173), (498, 173), both=True)
    d.arrow((472, 248), (498, 248), both=True)
    d.arrow((595, 283), (595, 343), both=True)
    d.arrow((422, 395), (498, 395), both=True)
    d.block(30, 160, 130, 76, ["SDRAM", "up to 256 MB"])
    d.block(30, 265, 130, 76, ["SRAM", "2 of up to 8 MB"])
    d.block(30, 65, 130, 66, ["Host", "PCI, 32 bit"])
    for y in (98, 198, 303):
        d.arrow((162, y), (248, y), both=True)
    d.block(770, 300, 140, 60, [f"{facts.fe_ports} MACs", f"{facts.fe_mbps:g} Mb/s"])
    d.block(770, 375, 140, 55, ["1 MAC", f"{facts.gbe_mbps:g} Mb/s"])
    d.arrow((692, 370), (730, 370), (730, 330), (768, 330), both=True, width=2.4, colour=theme.BLUE)
    d.arrow((692, 390), (768, 400), both=True, width=2.4, colour=theme.BLUE)
    d.text(730, 452, f"IX bus, 64 bit, {facts.ix_bus_mhz:g} MHz", size=12)
    return d


STEPS = (
    ("MAC buffer", "flag is set"), ("RFIFO", "64-byte MPs"), ("verify", "header, TTL"),
    ("classify", "five fields"), ("police", "leaky bucket"), ("mark", "DSCP"), ("look up", "longest prefix"),
    ("enqueue", "descriptor, SDRAM"), ("schedule", "choose transmitter"), ("dequeue", "weighted DRR"),
    ("TFIFO", "MP by MP"), ("MAC", "line out"),
)  # fmt: skip
ADDED = {"classify", "police", "mark", "schedule", "dequeue", "enqueue"}  # steps that DiffServ adds to forwarding


def flow(data: pd.DataFrame) -> Drawing:
    """Return the path of a packet (Fig. 2); steps that DiffServ adds are shaded. data: the table shown."""
    d = Drawing(940, 250, data, label="Way of a packet through receiver, scheduler and transmitter")
    for number, (name, detail) in enumerate(STEPS):
        row, column = divmod(number, 6)
        x, y = 20 + 153 * column, 50 + 110 * row
        d.box(x, y, 130, 58, fill="#fdf3d8" if name in ADDED else "white", stroke=theme.GREY)
        d.text(x + 65, y + 25, name, bold=True)
        d.text(x + 65, y + 44, detail, size=11)
        if column < 5:
            d.arrow((x + 132, y + 29), (x + 151, y + 29))
    d.arrow((850, 110), (850, 134), (85, 134), (85, 158))
    d.text(20, 28, "receiver thread, bound to a port", size=12, anchor="start", colour=theme.GREY)
    d.text(180, 238, "scheduler and transmitters, not bound to ports; shaded: what DiffServ adds", size=12,
           anchor="start", colour=theme.GREY)  # fmt: skip
    return d


def roles(data: pd.DataFrame, facts: Any) -> Drawing:
    """Return the roles of the engines (Fig. 3): their four threads and the control store that they use."""
    d = Drawing(940, 250, data, label="Roles of the threads on six microengines")
    size = {"receiver": facts.code_receiver, "transmitter": facts.code_transmitter, "scheduler": facts.code_scheduler}
    groups = [("fast Ethernet", 1, ["receiver"] * 4), ("fast Ethernet", 2, ["receiver"] * 4),
              ("gigabit", 3, ["receiver"] * 4), ("gigabit", 4, ["receiver"] * 4),
              ("fast Ethernet", 5, ["transmitter"] * 3 + ["scheduler"]),
              ("gigabit", 6, ["transmitter"] * 3 + ["scheduler"])]  # fmt: skip
    fills = {"receiver": "#d6e8f5", "transmitter": "#fde3cf", "scheduler": "#d9f0e6"}
    for number, (group, engine, threads) in enumerate(groups):
        x = 20 + 153 * number
        d.box(x, 30, 140, 200, fill="#fafbfc")
        d.text(x + 70, 50, f"Microengine {engine}", bold=True)
        d.text(x + 70, 66, group, size=11, colour=theme.GREY)
        for slot, role in enumerate(threads):
            d.box(x + 10, 76 + 27 * slot, 120, 22, fill=fills[role])
            d.text(x + 70, 92 + 27 * slot, role, size=12)
        used = sum(size[role] for role in dict.fromkeys(threads))
        d.text(x + 70, 204, f"{used} of {facts.control_store}", size=12)
        d.text(x + 70, 219, "instructions", size=11, colour=theme.GREY)
    return d


def test_bed(data: pd.DataFrame) -> Drawing:
    """Return the test bed (Fig. 5)."""
    d = Drawing(720, 160, data, label="Test bed: host PC, IXP1200, traffic generator")
    d.block(20, 50, 160, 70, ["Host PC", "loads programs, controls"])
    d.block(280, 50, 160, 70, ["IXP1200", "router under test"])
    d.block(540, 50, 160, 70, ["SmartBits", "makes, counts packets"])
    d.arrow((182, 85), (278, 85), both=True)
    d.text(230, 75, "Ethernet", size=12)
    d.arrow((442, 70), (538, 70), both=True, width=2.4, colour=theme.BLUE)
    d.arrow((442, 100), (538, 100), both=True, width=2.4, colour=theme.BLUE)
    d.text(490, 60, "ports", size=12)
    return d


def bottlenecks(table: pd.DataFrame, *, title: str) -> go.Figure:
    """Return a map of the bottleneck: threads across, rules down, a colour per bottleneck, utilization as text.

    table: columns of study.papers.ixp1200.performance.over_threads.
    """
    rules = sorted(table["rules"].unique(), reverse=True)
    columns = list(table["configuration"].unique())
    cells = table.set_index(["rules", "configuration"])
    text = [
        [
            f"{cells.loc[(n, c), 'throughput_mbps']:.0f} Mb/s<br>engines {cells.loc[(n, c), 'engines']:.0%}"
            f"<br>SRAM {cells.loc[(n, c), 'sram']:.0%}"
            for c in columns
        ]
        for n in rules
    ]
    figure = go.Figure(
        go.Heatmap(
            x=columns, y=[f"{n} rules" if n > 1 else "1 rule" for n in rules],
            z=[[BINDING[cells.loc[(n, c), "binds"]] for c in columns] for n in rules],
            zmin=-0.5, zmax=3.5, xgap=3, ygap=3, text=text, texttemplate="%{text}", textfont={"size": 13},
            hovertemplate="%{x}, %{y}<br>%{text}<extra></extra>",
            colorscale=[[edge / 4, SHADES[shade]] for shade in range(4) for edge in (shade, shade + 1)],
            colorbar={"tickvals": [0, 1, 2, 3], "ticktext": ["waiting for<br>memory", "engines", "both", "SRAM"]},
        )
    )  # fmt: skip
    figure.update_xaxes(ticktext=[label.replace(", ", "<br>") for label in columns], tickvals=columns, tickangle=0)
    figure.update_layout(meta={"least_width": 800})
    return with_layout(figure, title, 150 + 84 * len(rules), legend_rows=0)


def remedies(table: pd.DataFrame, *, title: str) -> go.Figure:
    """Return the gain of each remedy, ranked, with the bottleneck that remains; a panel for each number of rules.

    table: of study.papers.ixp1200.remedies.remedies.
    """
    rule_counts = list(table["rules"].unique())
    names = ["1 rule" if count == 1 else f"{count} rules" for count in rule_counts]
    ranked = table[table["rules"] == rule_counts[-1]].sort_values("throughput_mbps")["remedy"].tolist()
    figure = make_subplots(1, len(rule_counts), shared_yaxes=True, subplot_titles=names, horizontal_spacing=0.08)
    for column, count in enumerate(rule_counts, start=1):
        rows = table[table["rules"] == count]
        for name, shade in BINDING.items():
            part = rows[rows["binds"] == name]
            figure.add_trace(
                go.Bar(
                    x=part["throughput_mbps"], y=part["remedy"], orientation="h", name=name,
                    text=[f"{gain:+.0%}" for gain in part["gain"]], textposition="outside", cliponaxis=False,
                    marker_color=SHADES[shade], hovertemplate="%{y}: %{x:.0f} Mb/s<extra></extra>",
                ),
                1, column,
            )  # fmt: skip
        figure.update_xaxes(title_text="throughput (Mb/s)", range=[0, 1.25 * rows["throughput_mbps"].max()],
                            nticks=5, row=1, col=column)  # fmt: skip
    figure.update_yaxes(categoryorder="array", categoryarray=ranked)
    figure.update_layout(barmode="overlay", legend_title_text="what binds then: ")
    return with_layout(legend_once(figure), title, 190 + 34 * len(ranked), legend_rows=1)
