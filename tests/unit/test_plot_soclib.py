"""Drawings of the SoCLIB multiprocessor say what they show."""

import pandas as pd
import plotly.graph_objects as go

from npexplore.designs import design
from npexplore.golden.elements import Graph
from npexplore.paths import share
from npexplore.plot import soclib
from npexplore.study.papers.soclib import performance as study

NPU = design("soclib")
GRAPH = Graph.load(share("models", "graphs", "soclib_ipv4.click"))
DATA = pd.DataFrame({"x": [1]})


def test_the_application_tells_every_element_and_its_cycles():
    way = study.way_of(NPU, GRAPH, "eth0", "switch")
    picture = soclib.application(way, ["FromSwitch", "Strip", "ToDevice"], DATA).svg()
    assert all(f">{name}<" in picture for name, _ in way)
    assert all(f"{cycles:,.0f} cycles" in picture for _, cycles in way if cycles)
    assert sum(cycles for _, cycles in way) == 112_502
    assert "FromSwitch" in picture
    assert picture.count("not timed") == 2


def test_the_router_has_its_units():
    picture = soclib.router(4, DATA).svg()
    assert all(f"NPU {k}" in picture for k in range(1, 5))
    assert picture.count("Ethernet") == 4


def test_the_unit_tells_its_own_memory_and_lock():
    shared = soclib.unit(NPU.with_(processors=8).parameters, {"packets": 0.5}, DATA).svg()
    assert "1 bank for all tasks" in shared
    assert "8 in all" in shared
    assert "busy 50%" in shared
    apart = soclib.unit(NPU.with_(memory="distributed", lock="spin").parameters, {}, DATA).svg()
    assert "a segment for each task" in apart
    assert "lock: spin" in apart


def test_printed_peaks_are_marked():
    figure = soclib.mark(go.Figure(), {"one": (8, None), "two": (27, 0.3)}, 0.1)
    assert len(figure.layout.shapes) == 1
    assert (figure.data[0].x[0], figure.data[0].y[0]) == (27, 0.3)


def test_a_segment_has_three_regions_and_a_section_for_each_input_engine():
    picture = soclib.segment(NPU.parameters, DATA).svg()
    assert all(f"{n} region" in picture for n in ("first", "second", "third"))
    assert [picture.count(f"input engine {k}") for k in (1, 2, 3)] == [1, 1, 0]
