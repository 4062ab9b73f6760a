"""Drawings of nets: every family once, markings as they are, a step for each entry of the log."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npexplore.errors import RefusedError
from npexplore.machine.petri import load_net
from npexplore.plot import theme
from npexplore.plot.lanes import spread
from npexplore.plot.layers import layered
from npexplore.plot.petri import _layout, _room, draw_net, draw_steps, wrapped
from npexplore.plot.petri_states import draw_markings
from npexplore.solve.petri import find_markings, record


def test_every_family_is_drawn_once_with_its_tokens():
    made = load_net("ixp2400_dram")
    figure = draw_net(made)
    names = [text.strip() for trace in figure.data[:-1] if trace.text for text in trace.text if text.strip()]
    assert len(names) == len(set(names))
    assert {"DRAMReq", "Bank[ ]", "RowAddr<br>    Trans", "CpuTrans"} <= set(names)
    assert "Bank: 4" in figure.data[-1].hovertext
    places = [
        (x, y) for trace in figure.data if trace.mode == "markers+text" for x, y in zip(trace.x, trace.y, strict=True)
    ]
    assert len(set(places[2:])) == len(places[2:])  # two ports are drawn twice; no symbol hides another


@pytest.mark.parametrize("name", ["ixp2400", "ixp2400_dram", "kanban", "polling_server"])
def test_names_stand_beside_one_another(name):
    """Symbols of a layer with their names, as wide as they are written, and the arcs that pass, share no pixel."""
    layout = _layout(load_net(name))
    layers = {}
    for node, (x, y) in layout.at.items():
        layers.setdefault(round(y, 3), []).append((x - _room(node)[0], x + _room(node)[1]))
    for way in layout.ways.values():
        for x, y in way[1:-1]:
            layers.setdefault(round(y, 3), []).append((x, x))
    boxes = [pair for spans in layers.values() for pair in pairwise(sorted(spans))]
    assert len(boxes) > 4
    assert all(a[1] <= b[0] + 1e-6 for a, b in boxes)


def test_arcs_go_from_rim_to_rim_and_heads_stand_where_they_end():
    made = load_net("tandem")
    figure = draw_net(made)
    lines = [line for line in _layout(made).ways if line.kind == "normal"]
    assert len(figure.layout.annotations) == len(lines)
    ends = {shape.path.rsplit(" ", 1)[-1] for shape in figure.layout.shapes}
    assert all(f"{head.x:.0f},{head.y:.2f}" in ends for head in figure.layout.annotations)
    ups = [line for line, way in _layout(made).ways.items() if line.kind == "normal" and way[-1][1] > way[-2][1]]
    assert sum(head.ay > 0 for head in figure.layout.annotations) == len(ups)


def test_long_names_stand_on_two_lines():
    assert wrapped("ReadMemCtrlTransform") == ["ReadMemCtrl", "Transform"]
    assert wrapped("descriptor_words") == ["descriptor_", "words"]
    assert [wrapped(name) for name in ("CpuBus", "lowercaseword")] == [["CpuBus"], ["lowercaseword"]]


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(-40, 40), st.integers(1, 9), st.integers(0, 20)), min_size=1, max_size=7))
def test_spread_is_the_nearest_with_those_gaps(rows):
    """Its conditions (Karush, Kuhn & Tucker): pools touch, each stands at its mean, and no part of one wants away."""
    wishes, weights, gaps = ([float(row[k]) for row in rows] for k in range(3))
    found = spread(wishes, weights, gaps[1:])
    assert all(b - a >= gap - 1e-9 for a, b, gap in zip(found, found[1:], gaps[1:], strict=False))
    push = 0.0
    for k, (x, wish, weight) in enumerate(zip(found, wishes, weights, strict=True)):
        push += weight * (x - wish)  # what the ones to the left press on the next one
        touching = k + 1 < len(found) and found[k + 1] - x < gaps[k + 1] + 1e-9
        assert push <= 1e-6
        if not touching:
            assert push == pytest.approx(0, abs=1e-6)
            push = 0.0


def test_a_slider_has_a_step_for_each_entry_of_the_log():
    log = record(load_net("philosophers"), 4)
    figure = draw_steps(log)
    steps = figure.layout.sliders[0].steps
    assert len(steps) == 5
    assert steps[0].label == "at first"
    shown = [step.args[0]["text"][0] for step in steps]
    assert list(shown[0]) == list(figure.data[-1].text)
    assert shown[0] != shown[1]


def test_a_state_space_is_drawn_with_every_marking_and_what_is_dead():
    made = load_net("philosophers", {"n": 3})
    found = find_markings(made)
    figure = draw_markings(made)
    moves, circles = figure.data
    assert len(circles.x) == found.states == 27
    assert len(set(zip(circles.x, circles.y, strict=True))) == 27
    names = [name for text in moves.hovertext for name in text.split(", ")]
    assert len(names) == found.arcs
    dead = [k for k, text in enumerate(circles.hovertext) if text.endswith("(dead)")]
    assert len(dead) == found.dead_markings == 2
    assert {circles.marker.color[k] for k in dead} == {theme.VERMILION}
    assert sorted(-circles.y[k] for k in dead) == [len(found.deadlock.firings)] * 2  # as far as the shortest way there
    assert len(figure.layout.shapes) == len(moves.hovertext)
    with pytest.raises(RefusedError, match="more than 20 states"):
        draw_markings(made, most=20)


def test_layers_go_downwards_but_for_one_arc_of_a_circle():
    at = layered("abcd", [("a", "b"), ("b", "c"), ("c", "a"), ("a", "d"), ("d", "c")])
    assert [at[node][1] for node in "abdc"] == [0, 1, 1, 2]
    assert at["b"][0] != at["d"][0]
