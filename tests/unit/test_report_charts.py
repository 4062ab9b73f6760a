"""Figures drawn as SVG: where values come to stand, ticks and their labels, and names from outside."""

import re
from xml.etree import ElementTree

import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plotly.subplots import make_subplots

from npexplore.plot.line_plots import interval_key
from npexplore.plot.theme import TEMPLATE
from npexplore.report.chart_axes import Axis, label
from npexplore.report.chart_marks import hatching, lines
from npexplore.report.charts import WIDTHS, as_pictures, picture
from npexplore.report.shell import figure_div

HOSTILE = '"><script>alert(1)</script><a href="//example.org">x</a>'


def drawn(figure):
    html = as_pictures(figure_div(figure.update_layout(template=TEMPLATE).to_plotly_json(), "figure-1"))
    return ElementTree.fromstring(html), html


def test_bars_are_as_long_as_their_values_and_stack_end_to_end():
    figure = go.Figure([go.Bar(orientation="h", x=x, y=["a", "b"]) for x in ([1, 2], [3, 1])])
    root, _ = drawn(figure.update_layout(barmode="stack", title="Bars"))
    boxes = [[float(one.get(k)) for k in ("x", "width")] for one in root[0].iter("rect")]
    unit = boxes[0][1]
    assert [width / unit for _, width in boxes] == pytest.approx([1, 2, 3, 1], abs=0.01)
    assert boxes[2][0] == pytest.approx(sum(boxes[0]), abs=0.2)
    assert [svg.get("class") for svg in root] == list(WIDTHS)


def test_bars_beside_one_another_have_room_for_their_labels_and_their_own_colours():
    figure = make_subplots(1, 3)
    for column in (1, 2, 3):
        bars = go.Bar(orientation="h", x=[4, 2], y=["a.long.name 1,024", "b"], marker_color=["#111111", "#999999"],
                      error_x={"array": [1, 1], "color": "#777777"})  # fmt: skip
        figure.add_trace(bars, 1, column)
    figure.add_trace(interval_key(), 1, 3)
    root, html = drawn(figure.update_layout(title="Panels"))
    wide, narrow = ([[float(one.get(k)) for k in ("x", "y", "width")] for one in svg.iter("rect")] for svg in root)
    assert len({y for _, y, _ in wide}) == 2
    assert len({y for _, y, _ in narrow}) == 6
    for k in (0, 2, 4):
        assert wide[k][2] == pytest.approx(2 * wide[k + 1][2], abs=0.2)
        assert wide[k][2] > 60
    assert [one.get("fill") for one in root[0].iter("rect")] == ["#111111", "#999999"] * 3
    ends = [one for one in root[0].iter("path") if one.get("stroke") == "#777777"]
    x, _, width = wide[0]
    low, high = (float(part.split()[0][1:]) for part in re.findall(r"[ML][^ML]+", ends[0].get("d"))[:2])
    assert (low - x, high - x) == pytest.approx((0.75 * width, 1.25 * width), abs=0.2)
    assert html.count(">95 % interval</text>") == 2


@given(st.floats(1, 900), st.floats(1, 60), st.sampled_from("/x"))
def test_stripes_stay_inside_their_bar(width, height, shape):
    numbers = [float(one) for one in re.findall(r"-?[\d.]+", hatching(100, 50, width, height, shape))]
    assert all(99.9 <= x <= 100.1 + width for x in numbers[::2])
    assert all(49.9 <= y <= 50.1 + height for y in numbers[1::2])
    assert not hatching(100, 50, width, height, "")


def test_points_stand_where_ticks_say():
    x, y = [1, 10, 100, 1000], [0.0, 0.25, 0.5, 1.0]
    figure = go.Figure(go.Scatter(x=x, y=y, mode="lines+markers")).update_xaxes(type="log")
    root, _ = drawn(figure.update_layout(title="Points", yaxis_range=[0, 1]))
    texts = {one.text: one for one in reversed(list(root[0].iter("text")))}  # "1" of x stands before that of y
    marks = [(float(one.get("cx")), float(one.get("cy"))) for one in root[0].iter("circle")]
    for (across, _), name in zip(marks, ("1", "10", "100", "1,000"), strict=True):
        assert across == pytest.approx(float(texts[name].get("x")), abs=0.2)
    ticks = [float(texts[name].get("y")) - 4.5 for name in ("0.4", "0.8")]
    assert marks[2][1] == pytest.approx(0.75 * ticks[0] + 0.25 * ticks[1], abs=0.3)


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.booleans(), st.sampled_from("xy"))
def test_any_range_has_ticks_inside(low, size, log, letter):
    axis = Axis(f"{letter}axis", {"type": "log" if log else "linear"}, length=300)
    values = [abs(low) + 1e-3, abs(low) + 1e-3 + size] if log else [low, low + size]
    axis.fit(values, from_zero=False)
    ticks = axis.ticks()
    assert 2 <= len(ticks) <= 12
    assert all(-0.01 <= share <= 1.01 for share, _ in ticks)
    assert axis.share(values[0]) < axis.share(values[1]) or values[0] == values[1]


def test_labels_and_lines():
    si = {"exponentformat": "SI"}
    assert [label(v, si) for v in (0, 2000, 1.5e9)] == ["0", "2k", "1.5G"]
    assert label(1e-6, si | {"ticksuffix": "s"}) == "1 µs"
    assert label(0.25, {"tickformat": ".0%"}) == "25%"
    assert lines("FRAGMENTATION_NEEDED it is", 14) == ["FRAGMENTATION_", "NEEDED it is"]


def test_names_from_outside_stay_text():
    bars = go.Figure(go.Bar(x=[1], y=[HOSTILE], orientation="h", name=HOSTILE)).update_layout(title=HOSTILE)
    link = {"source": [0], "target": [1], "value": [3], "color": ["red"]}
    ways = go.Figure(go.Sankey(node={"label": [HOSTILE, "b"], "color": ["red", "red"]}, link=link))
    ways.update_layout(title="Ways")
    for figure in (bars, ways):
        root, html = drawn(figure)
        assert not list(root.iter("script"))
        assert not re.search("<a|<script", html)


def test_a_kind_of_trace_that_is_not_drawn_is_an_error():
    with pytest.raises(KeyError):
        picture({"data": [{"type": "heatmap", "x": [1], "y": [1]}], "layout": {}}, "Heat", "wide")
