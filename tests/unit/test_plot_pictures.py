"""Drawings, time lines and figures of one prediction show what their tables and predictions hold."""

import re
import xml.etree.ElementTree as ElementTree

import pandas as pd
import pytest

from npexplore.designs import design
from npexplore.machine.workload_sources import workload
from npexplore.plot import ixp2400, theme
from npexplore.plot.drawing import Drawing, shade
from npexplore.plot.timeline import time_lines
from npexplore.study.papers import tables
from npexplore.study.papers.ixp2400 import tables as study

MACHINE = design("ixp2400")
AMP = workload(mix="amp")


def words(drawing):
    """Return the texts and tips of a drawing, which must be well-formed XML."""
    root = ElementTree.fromstring(drawing.svg())
    return [element.text for element in root.iter() if element.text]


def test_a_drawing_escapes_what_it_is_told():
    drawing = Drawing(10, 10, pd.DataFrame(), label='a "label" & more')
    drawing.box(0, 0, 5, 5, tip="<tip>")
    drawing.text(1, 1, "x < y & z")
    drawing.arrow((0, 0), (1, 1), both=True)
    assert {"<tip>", "x < y & z"} <= set(words(drawing))
    assert len(heads := set(re.findall(r"url\(#(\w+)\)", drawing.svg()))) == 2
    assert heads <= set(re.findall(r'id="(\w+)"', drawing.svg()))


def test_shade_grows_with_the_load():
    assert shade(0.0) == shade(-1.0) == "#ffffff"
    assert shade(1.0) == shade(2.0)
    assert int(shade(0.5)[5:], 16) < 255


def test_the_machine_tells_every_demand_and_its_own_size():
    demands = tables.demands(MACHINE, AMP)
    told = " | ".join(words(ixp2400.machine(demands, MACHINE.parameters)))
    bus = demands.set_index("server").loc["dram.bus"]
    assert f"{bus.ns_per_packet:,.4g} ns a packet" in told
    assert "4 of 8 microengines at 600 MHz" in told
    assert "Data bus, 64 bit" in told


def test_a_part_the_scheme_does_not_use_is_marked():
    demands = tables.demands(MACHINE.with_(scheme="fcb_tb"), workload(packet_bytes=64))
    assert "not used" in words(ixp2400.machine(demands, MACHINE.parameters))


def test_cells_carry_their_bits():
    cut = study.cells((40, 150), 64)
    told = words(ixp2400.cells((40, 150), 64, cut))
    assert told.count("SOP 1   EOP 1") == 1
    assert [told.count(text) for text in ("SOP 1   EOP 0", "SOP 0   EOP 0", "SOP 0   EOP 1", "22 bytes")] == [1] * 4


def test_the_dram_tells_how_long_each_part_is_held():
    alone = design("ixp2400_dram")
    steps = study.access_steps(alone, 64).set_index("server")
    told = " | ".join(words(ixp2400.dram(steps.reset_index(), alone.parameters)))
    assert f"read {steps.loc['dram.bank', 'read_ns']:.3g} ns" in told
    assert f"write {steps.loc['dram.bus', 'write_ns']:.3g} ns" in told


def test_a_time_line_is_cut_at_its_ends_and_keeps_the_order_of_its_lanes():
    table = pd.DataFrame({
        "lane": ["bank", "bus", "bus", "other"], "access": [4, 4, 5, 5],
        "start_ns": [-20.0, 10.0, 60.0, 0.0], "end_ns": [30.0, 40.0, 120.0, 100.0],
    })  # fmt: skip
    figure = time_lines({"wide": table}, {"bank": "bank 0", "bus": "data bus"}, length_ns=100, title="t")
    (bars,) = figure.data
    assert list(bars.y) == ["bank 0", "data bus", "data bus"]
    assert list(bars.base) == [0.0, 10.0, 60.0]
    assert list(bars.x) == [30.0, 30.0, 40.0]
    assert list(bars.text) == [1, 1, 2]
    assert list(figure.layout.yaxis.categoryarray) == ["data bus", "bank 0"]


def test_bounds_plot_their_ceilings_with_the_lowest_marked():
    answer = MACHINE.bounds(AMP)
    figure = answer.plot()
    (bars,) = figure.data
    limits = dict(zip(bars.y, bars.x, strict=True))
    assert min(limits, key=limits.get) == answer.bottleneck
    assert limits[answer.bottleneck] == pytest.approx(answer.throughput_bps / 1e9)
    marked = [name for name, colour in zip(bars.y, bars.marker.color, strict=True) if colour == theme.VERMILION]
    assert marked == [answer.bottleneck]


def test_other_answers_plot_how_busy_each_resource_is():
    answer = MACHINE.simulate(AMP, packets=300)
    work, blocked = answer.plot().data
    for name, at_work, held in zip(work.y, work.x, blocked.x, strict=True):
        assert at_work + held == pytest.approx(answer.utilization[name].busy)
    assert answer.bottleneck in answer.plot().layout.title.text
