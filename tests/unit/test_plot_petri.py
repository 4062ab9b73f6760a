"""Drawings of nets: every family once, markings as they are, a step for each entry of the log."""

from npexplore.machine.petri import load_net
from npexplore.plot.layers import layered
from npexplore.plot.petri import draw, stepping
from npexplore.solve.petri import record


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


def test_layers_go_downwards_but_for_one_arc_of_a_circle():
    at = layered("abcd", [("a", "b"), ("b", "c"), ("c", "a"), ("a", "d"), ("d", "c")])
    assert [at[node][1] for node in "abdc"] == [0, 1, 1, 2]
    assert at["b"][0] != at["d"][0]
