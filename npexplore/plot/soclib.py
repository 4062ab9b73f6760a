"""Drawings of the SoCLIB multiprocessor: the application, the router, the processing unit (Figs. 1 to 3), a segment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from npexplore.plot import theme
from npexplore.plot.drawing import Drawing

if TYPE_CHECKING:
    import pandas as pd

ACROSS = 6  # elements in a row


def application(path: Sequence[tuple[str, float]], fast: Sequence[str], data: pd.DataFrame) -> Drawing:
    """Return the elements of the longest path with their cycles and exits of packets, and the path from the switch.

    path: (element, cycles) in order. fast: elements of the short path. data: the table of paths.
    """
    rows = -(-len(path) // ACROSS)
    d = Drawing(980, 120 * rows + 170, data, label="Elements of the IPv4 application with their cycles")
    total = sum(cycles for _, cycles in path)
    middle = [(90 + 160 * (number % ACROSS), 55 + 120 * (number // ACROSS)) for number in range(len(path))]
    for number, ((name, cycles), (x, y)) in enumerate(zip(path, middle, strict=True)):
        cycles_text = f"{cycles:,.0f} cycles" if cycles else "not timed"
        share = cycles / total if total else 0.0
        d.block(
            x - 68,
            y - 32,
            136,
            64,
            [name, cycles_text],
            load=min(1.0, 3 * share),
            tip=f"{name}: {share:.1%} of the way",
        )
        if number and number % ACROSS:
            d.arrow((x - 92, y), (x - 69, y))
        elif number:
            previous = middle[number - 1]
            d.arrow((previous[0], previous[1] + 33), (previous[0], y - 46), (x, y - 46), (x, y - 33))
    position_of = {name: place for (name, _), place in zip(path, middle, strict=True)}
    for name, words in {
        "Classifier": "ARP: ToMe", "LookupIPRoute": "own address: ToMe", "CheckIPHeader": "damaged: gone",
        "DecIPTTL": "no time left: ToDevice",
    }.items():  # fmt: skip
        if name in position_of:
            x, y = position_of[name]
            d.text(x - 8, y + 46, words, size=11, anchor="end" if x > 800 else "middle", colour=theme.VERMILION)
    y = 120 * rows + 80
    d.text(22, y - 46, "what another unit has routed already", size=12, anchor="start", colour=theme.GREY)
    for number, name in enumerate(fast):
        x = 90 + 160 * number
        d.block(x - 68, y - 26, 136, 52, [name])
        if number:
            d.arrow((x - 92, y), (x - 69, y))
    return d


def router(npus: int, data: pd.DataFrame) -> Drawing:
    """Return the two-level router: processing units around a switch matrix, each with its Ethernet link."""
    d = Drawing(820, 330, data, label="Router of processing units around a switch matrix")
    d.block(330, 120, 160, 90, ["Switch matrix", "crossbar or fat tree"])
    for number in range(npus):
        is_left, is_top = number % 2 == 0, number < npus / 2
        x, y = (110 if is_left else 550), (30 if is_top else 220)
        d.block(x, y, 160, 80, [f"NPU {number + 1}", "a router of two interfaces"])
        middle = y + 40
        inner, edge = (x + 160, 330) if is_left else (x, 490)
        d.arrow((inner, middle), (edge, 150 if is_top else 180), both=True, colour=theme.BLUE, width=2.2)
        outer = x - 70 if is_left else x + 230
        d.arrow((outer, middle), (x if is_left else x + 160, middle), both=True, width=2)
        d.text(outer, middle - 10, "Ethernet", size=12, anchor="start" if is_left else "end")
    return d


def unit(facts: Any, utilization: Mapping[str, float], data: pd.DataFrame) -> Drawing:
    """Return the processing unit with the busy share of its parts.

    facts: the design's parameters. utilization: by server name. data: the table it shows.
    """
    d = Drawing(940, 400, data, label="Processing unit: processors, memories and engines around the interconnect")
    d.box(60, 180, 820, 34, fill="#eaf2f8", stroke=theme.BLUE)
    d.text(
        470, 202, f"interconnect (VCI): {facts.latency_cycles} cycles there and back, conflicts at the targets alone"
    )
    for number in range(4):
        x = 80 + 130 * number
        name = f"R3000 no. {number + 1}" if number < 3 else f"... {facts.processors} in all"
        d.block(x, 50, 115, 70, [name, "caches, one task"])
        d.arrow((x + 57, 120), (x + 57, 179), both=True)
    for number, (head, direction) in enumerate((("Input engines", "from"), ("Output engines", "to"))):
        x = 620 + 140 * number
        load = utilization.get("egress") if direction == "to" else None
        d.block(x, 50, 125, 70, [head, f"{direction} both links"], load=load)
        d.arrow((x + 62, 120), (x + 62, 179), both=True)
    shared = facts.memory == "shared"
    kind = (
        ["Packet memory", f"{facts.banks} bank for all tasks"]
        if shared
        else ["Packet memory", "a segment for each task"]
    )
    blocks = [
        (kind, utilization.get("packets")),
        (["RAM of global variables", f"lock: {facts.lock}"], utilization.get("globals")),
        (["Lock of the engines", "held"], utilization.get("lock")),
        (["RAM of code", "read through caches"], None),
    ]
    for number, (lines, load) in enumerate(blocks):
        x = 80 + 205 * number
        d.block(x, 275, 185, 80, lines, load=load, tip="" if load is None else f"busy {load:.0%}")
        d.arrow((x + 92, 275), (x + 92, 215), both=True)
    return d


def segment(facts: Any, data: pd.DataFrame) -> Drawing:
    """Return the memory segment of one task: three regions, the second once for each input engine.

    facts: the design's parameters. data: the table it shows.
    """
    d = Drawing(760, 205, data, label="Memory segment of one task: three regions")
    d.block(20, 60, 180, 80, ["data of the task", "stack and variables"])
    for number in range(facts.egress_engines):
        x = 200 + 240 / facts.egress_engines * number
        d.block(x, 60, 240 / facts.egress_engines, 80, [f"in {number + 1}", "packets"])
        d.arrow((x + 120 / facts.egress_engines, 20), (x + 120 / facts.egress_engines, 59), colour=theme.BLUE)
        d.text(x + 120 / facts.egress_engines, 14, f"input engine {number + 1}", size=12)
    d.block(440, 60, 180, 80, ["out", "packets"])
    d.arrow((621, 100), (660, 100), colour=theme.BLUE)
    d.text(667, 104, "output engines", size=12, anchor="start")
    for x, width, words in ((20, 180, "first region"), (200, 240, "second region"), (440, 180, "third region")):
        d.text(x + width / 2, 164, words, size=12, colour=theme.GREY)
    d.text(320, 192, "the task reads and writes all of them, and nobody else's", size=12)
    return d


def mark(figure: go.Figure, points: Mapping[str, tuple[float, float | None]], top: float = 0.0) -> go.Figure:
    """Mark published peaks: a diamond if the throughput is published, a dotted line if only the processors are."""
    for name, (processors, value) in points.items():
        if value is None:
            figure.add_vline(x=processors, line={"dash": "dot", "color": theme.BLACK, "width": 1.4})
            figure.add_annotation(
                x=processors, y=top, text=f"{name}: {processors:g}", showarrow=False, font_size=12,
                xanchor="left", xshift=4,
            )  # fmt: skip
            continue
        figure.add_trace(
            go.Scatter(
                x=[processors], y=[value], mode="markers", name=f"published, {name}",
                marker={"symbol": "diamond", "size": 12, "color": theme.ORIGIN_COLOURS["published"]},
                hovertemplate=f"{name}: %{{y}} at %{{x}}<extra></extra>",
            )
        )  # fmt: skip
    return figure
