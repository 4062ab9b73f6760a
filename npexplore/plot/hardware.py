"""Draws hardware: the graph of an expression, signals over cycles, LUTs of engines by threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from npexplore.plot import theme
from npexplore.plot.drawing import Drawing
from npexplore.plot.line_plots import SYMBOLS, with_layout

if TYPE_CHECKING:
    import pandas as pd

    from npexplore.hardware.graph import Graph, Node

SIGNS = {"add": "+", "sub": "-", "mul": "*", "and": "and", "or": "or", "xor": "xor", "eq": "=", "lt": "<"}
WIDE, GAP, ROW = 236, 40, 84
HIGH, LANE = 0.62, 1.0
CYCLE_WIDTH = 45  # least pixels of a cycle, so that names of steps fit on a narrow screen
WORD_SIZE = 10  # pixels, of letters


def expression(graph: Graph, root: int, data: pd.DataFrame, *, label: str, names: Mapping[str, str]) -> Drawing:
    """Return a graph of the operations that compute a node, which is at the bottom; arrows go from values to users.

    names: input -> its name in the drawing. Constants and inputs are written inside the operations that use them.
    """
    under = [at for at in graph.under([root]) if graph.nodes[at].op not in ("const", "input")]
    depth: dict[int, int] = {}
    for at in under:
        depth[at] = 1 + max((depth[operand] for operand in graph.nodes[at].args if operand in depth), default=-1)
    users: dict[int, int] = {}
    for at in under:
        for operand in graph.nodes[at].args:
            if operand in depth:
                users[operand] = min(users.get(operand, depth[at]), depth[at])
    level = {at: users[at] - 1 if at in users else depth[at] for at in under}  # directly above its highest user
    rows = [[at for at in under if level[at] == row_number] for row_number in range(max(level.values()) + 1)]
    for y in range(len(rows) - 2, -1, -1):  # sort a row by the order of its users in the row below
        below = [operand for at in rows[y + 1] for operand in graph.nodes[at].args]
        rows[y].sort(key=lambda at: below.index(at) if at in below else len(below))
    width = max(len(row) for row in rows) * (WIDE + GAP) + GAP
    place = {
        at: ((width - len(row) * (WIDE + GAP) + GAP) / 2 + k * (WIDE + GAP), 14 + ROW * y)
        for y, row in enumerate(rows) for k, at in enumerate(row)
    }  # fmt: skip
    d = Drawing(width, ROW * len(rows), data, label=label)
    for at in under:
        operands = [operand for operand in graph.nodes[at].args if operand in place]
        for k, operand in enumerate(operands):
            (x, y), (user_x, user_top) = place[operand], place[at]
            d.arrow((x + WIDE / 2, y + 44), (user_x + WIDE * (k + 1) / (len(operands) + 1), user_top - 2))
    for at, (x, y) in place.items():
        node = graph.nodes[at]
        d.box(x, y, WIDE, 42, fill="#eef4fa", tip=f"{node.lo} to {node.hi}")
        d.text(x + WIDE / 2, y + 18, _words(graph, node, names), bold=True, size=12)
        d.text(x + WIDE / 2, y + 34, f"{node.bits} bit{'s'[: node.bits > 1]}", size=11, colour=theme.GREY)
    return d


def _words(graph: Graph, node: Node, names: Mapping[str, str]) -> str:
    operands = [
        str(arg.value) if arg.op == "const" else names.get(arg.value, str(arg.value)) if arg.op == "input" else "·"
        for arg in (graph.nodes[at] for at in node.args)
    ]
    if node.op == "mux":
        return f"if {operands[0]}: {operands[1]} else {operands[2]}"
    if node.op in SIGNS:
        return f"{operands[0]} {SIGNS[node.op]} {operands[1]}"
    return f"{operands[0]} {node.op} {'' if node.op == 'table' else node.value}".strip()


def waveform(
    signals: Mapping[str, Sequence[int]], lanes: Mapping[str, str], *, title: str,
    words: Mapping[str, Mapping[int, str]],
) -> go.Figure:  # fmt: skip
    """Return signals over cycles, a lane each. lanes: signal name -> label; words: text for a signal's values.

    A signal of one bit is a line, high or low; a signal with words is a row of boxes, one for each run of equal values.
    """
    figure = go.Figure()
    cycles = len(next(iter(signals.values())))
    for number, (name, label) in enumerate(lanes.items()):
        values, bottom = signals[name], -number * LANE
        colour = theme.COLORWAY[number % len(theme.COLORWAY)]
        if name in words:
            for start, end in _stretches(values):
                word = words[name].get(values[start], "")
                if not word:
                    continue
                figure.add_shape(
                    type="rect", x0=start, x1=end, y0=bottom, y1=bottom + HIGH, line={"color": colour, "width": 1.4},
                    fillcolor=theme.PALE,
                )  # fmt: skip
                figure.add_annotation(
                    x=(start + end) / 2, y=bottom + HIGH / 2, text=word, showarrow=False,
                )  # fmt: skip
        levels = [bottom + HIGH * (value > 0) for value in values]
        figure.add_scatter(
            x=list(range(cycles + 1)), y=[*levels, levels[-1]], name=label, mode="lines", line_shape="hv",
            line={"color": colour, "width": 0 if name in words else 2}, showlegend=False,
            customdata=[words.get(name, {}).get(value, value) for value in (*values, values[-1])],
            hovertemplate=f"<b>{label}</b><br>cycle %{{x}}: %{{customdata}}<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(title_text="cycle", range=[0, cycles], dtick=2)
    figure.update_yaxes(
        tickvals=[-k * LANE + HIGH / 2 for k in range(len(lanes))], ticktext=list(lanes.values()), showgrid=False,
        range=[-LANE * (len(lanes) - 1) - 0.3, 1], zeroline=False,
    )  # fmt: skip
    figure.update_layout(meta={"least_width": CYCLE_WIDTH * cycles})
    return with_layout(figure, title, 130 + 40 * len(lanes)).update_annotations(font_size=WORD_SIZE)


def _stretches(values: Sequence[int]) -> list[tuple[int, int]]:
    starts = [cycle for cycle in range(len(values)) if not cycle or values[cycle] != values[cycle - 1]]
    return list(zip(starts, [*starts[1:], len(values)], strict=True))


def luts(curves: Mapping[str, pd.DataFrame], *, title: str) -> go.Figure:
    """Return LUTs of an engine over threads, a curve per table: columns threads, luts; low, high if tools differ."""
    figure = go.Figure()
    for number, (name, table) in enumerate(curves.items()):
        spread = {
            "array": table.high - table.luts, "arrayminus": table.luts - table.low, "thickness": 5, "width": 0
        } if "low" in table else None  # fmt: skip
        printed = name.startswith("printed")
        colour = theme.ORIGIN_COLOURS["published"] if printed else theme.COLORWAY[number]
        figure.add_scatter(
            x=table.threads, y=table.luts, name=name, mode="lines+markers", error_y=spread,
            line={"color": colour, "dash": "dash" if printed else "solid"},
            marker={"symbol": SYMBOLS[number % len(SYMBOLS)], "size": 10},
            hovertemplate=f"<b>{name}</b><br>%{{x}} threads: %{{y:,.0f}} LUTs<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(title_text="threads of an engine", dtick=1)
    figure.update_yaxes(title_text="LUTs of an engine", rangemode="tozero")
    return with_layout(figure, title, 420)


def shares(records: Sequence[Mapping[str, Any]], names: Mapping[str, str], *, title: str) -> go.Figure:
    """Return predicted shares of a device's LUTs in per cent of the printed ones, one line per row of the ledger.

    records: dicts with key, published, unfitted (low and high), scaled; names: key -> label, in drawing order.
    """
    by_key = {row["key"]: row for row in records}
    chosen = [{**by_key[key], "line": f"{name}: <b>{by_key[key]['published']:g} %</b>"} for key, name in names.items()]
    lines = [row["line"] for row in chosen]
    figure = go.Figure(
        go.Scatter(
            x=[100.0] * len(chosen), y=lines, name="published", mode="markers",
            marker={"symbol": "line-ns", "size": 18, "line": {"color": theme.ORIGIN_COLOURS["published"], "width": 3}},
            customdata=[row["key"] for row in chosen], hovertemplate="%{y}<br>%{customdata}<extra></extra>",
        )
    )  # fmt: skip
    drawn = {"unfitted": ("unfitted", "circle", theme.BLUE),
             "scaled": ("with one scale from one cell", "diamond-open", theme.VERMILION)}  # fmt: skip
    for column, (label, symbol, colour) in drawn.items():
        spread = {
            "array": [100 * (row["high"] - row[column]) / row["published"] for row in chosen],
            "arrayminus": [100 * (row[column] - row["low"]) / row["published"] for row in chosen],
            "thickness": 6, "width": 0,
        } if column == "unfitted" else None  # fmt: skip
        figure.add_scatter(
            x=[100 * row[column] / row["published"] for row in chosen], y=lines, name=label, mode="markers",
            error_x=spread,
            marker={"symbol": symbol, "size": 11, "color": colour, "line": {"color": colour, "width": 2}},
            customdata=[row[column] for row in chosen],
            hovertemplate=f"{label}: %{{customdata:.0f}} % of the device<br>%{{y}}<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(title_text="% of the published number", rangemode="tozero", ticksuffix=" %")
    figure.update_yaxes(categoryorder="array", categoryarray=lines[::-1], tickfont_size=12)
    figure = with_layout(figure, title, 130 + 34 * len(chosen))
    return figure.update_layout(title={"xref": "container", "x": 0.02}, legend_font_size=12)
