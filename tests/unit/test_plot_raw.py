"""Drawings of layouts and of link loads: everything of a layout is on them."""

import pytest

from npexplore.designs import design
from npexplore.designs.raw.larger_layouts import scaled_layout
from npexplore.designs.raw.layouts import layout_names, load_layout
from npexplore.machine.workload_sources import workload
from npexplore.plot import raw as drawings
from npexplore.study.papers.raw.performance import networks


@pytest.mark.parametrize(
    "layout", [*map(load_layout, layout_names()), scaled_layout(8)], ids=lambda layout: layout.file.name
)
def test_a_drawing_has_every_tile_device_and_hop(layout):
    figure = drawings.chip(layout)
    texts = [note.text for note in figure.layout.annotations]
    assert [t for t in texts if t.startswith("<b>")] == [t for t in texts if "<b>" in t]
    assert sum(t.startswith("<b>") for t in texts) == layout.grid.tiles
    assert sum(t.startswith(("in ", "out ")) for t in texts) == len(layout.file.line_card)
    assert sum(t.startswith("DRAM") for t in texts) == len(layout.file.memory)
    assert sum(not t for t in texts) == sum(len(tree.hops) for tree in layout.trees)


def test_loads_of_links_are_told_under_the_pointer():
    made = design("raw")
    loads = networks(made, made.bounds(workload(packet_bytes=64)))
    figure = drawings.contention(load_layout("v2"), loads, "loads")
    told = [text for trace in figure.data if trace.hovertemplate for text in trace.text]
    assert any(text.startswith("13 to 9: ") for text in told)  # the broadcast of pipeline 1
    assert all(0 <= load <= 1 for links in loads.values() for _, _, load in links)
