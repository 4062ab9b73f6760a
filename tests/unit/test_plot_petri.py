"""Drawings of nets: every family once, markings as they are, a step for each entry of the log."""

import pytest

from npexplore.errors import RefusedError
from npexplore.machine.petri import load_net
from npexplore.plot import theme
from npexplore.plot.layers import layered
from npexplore.plot.petri import draw, stepping
from npexplore.plot.petri_states import draw_markings
from npexplore.solve.petri import find_markings, record


def test_every_family_is_drawn_once_with_its_tokens():
    made = load_net("ixp2400_dram")
    figure = draw(made)
    names = [text.strip() for trace in figure.data[:-1] if trace.text for text in trace.text if text.strip()]
    assert len(names) == len(set(names))
    assert {"DRAMReq", "Bank[ ]", "RowAddrTrans", "CpuTrans"} <= set(names)
    assert "Bank: 4" in figure.data[-1].hovertext
    places = [
        (x, y) for trace in figure.data if trace.mode == "markers+text" for x, y in zip(trace.x, trace.y, strict=True)
    ]
    assert len(set(places[2:])) == len(places[2:])  # two ports are drawn twice; no symbol hides another


def test_a_slider_has_a_step_for_each_entry_of_the_log():
    log = record(load_net("philosophers"), 4)
    figure = stepping(log)
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
