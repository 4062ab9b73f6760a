"""Costs: counted from a machine's resources, every fact with its source."""

import pytest

from npexplore.designs import DESIGNS, design
from npexplore.errors import ModelError, UnknownNameError
from npexplore.machine.resources import BoundedQueue, DdrController, Dram, DramTiming, Mesh, ReorderQueue
from npexplore.machine.resources.dram_timing import dram_parts
from npexplore.study.optimising.costs import COSTS, UNITS, costs, counted, fact, multiplexer, parts, proxies, sources


@pytest.mark.parametrize("name", DESIGNS)
def test_every_listed_design_has_every_cost(name):
    found = costs(design(name))
    assert tuple(found) == COSTS == tuple(UNITS)
    assert all(amount >= 0 for amount in found.values())
    assert found["threads"] == design(name).machine().threads


def test_the_pins_of_the_packet_buffer_are_its_bus():
    """64 bits at 200 million transfers a second are 64 pins of DDR-200; the SRAM adds two ports on each channel."""
    made = parts(design("ixp2400").machine())
    assert made["bus_pins", "dram"] == pytest.approx(64)
    assert made["bus_pins", "sram"] == 2 * 2 * 32
    wide = parts(design("ixp2400").with_(bus_bits=128, banks=8).machine())
    assert wide["bus_pins", "dram"] == pytest.approx(128)
    assert wide["banks", "dram"] == 8
    assert wide["luts", "dram"] == pytest.approx(8 / 4 * 128)


@pytest.mark.parametrize("change", [{"bus_clock_mhz": 400}, {"bus_clock_mhz": 100}, {"dram_part": "ddr_400"}])
def test_a_faster_bus_has_no_more_pins(change):
    assert parts(design("ixp2400").with_(**change).machine())["bus_pins", "dram"] == 64


def test_a_bus_of_no_stated_width_has_the_pins_that_its_rate_needs():
    timing = DramTiming.of(dram_parts()["ddr_200"])  # 10-ns clock: 200 million transfers a second
    assert counted(Dram("d", timing, 4, 1.6e9, 0, 8))["bus_pins"] == pytest.approx(64)
    assert counted(Dram("d", timing, 4, 1.6e9, 0, 8, bus_bits=32))["bus_pins"] == 32
    with pytest.raises(ModelError, match="d: bus_bits must be"):
        Dram("d", timing, 4, 1.6e9, 0, 8, bus_bits=0)


def test_segments_in_scratchpad_are_memory():
    """Sec. 4.2 of the paper: two segments of 64 bytes for each of 16 threads."""
    base, kept = costs(design("ixp2400")), costs(design("ixp2400").with_(scheme="fcb_tb"))
    assert kept["memory_bits"] - base["memory_bits"] == 8 * 2 * 64 * 16
    pool = costs(design("ixp2400").with_(scheme="fcb_tb", segments="dynamic"))
    assert pool["memory_bits"] - base["memory_bits"] == 8 * 16384


def test_engines_and_threads_are_luts():
    one, two = (costs(design("ixp2400").with_(engines=n))["luts"] for n in (1, 2))
    assert two - one == fact("engine_luts")
    few, many = (costs(design("ixp2400").with_(threads=n)) for n in (4, 8))
    assert many["luts"] - few["luts"] == 4 * 32 * 32 / 64
    assert many["memory_bits"] - few["memory_bits"] == 4 * 32 * 32


def test_other_kinds_count_what_they_hold():
    timing = DramTiming.of(next(iter(dram_parts().values())))
    ddr = counted(DdrController("d", timing, banks=4, bus_bytes=8, slots=4, channels=2))
    assert (ddr["banks"], ddr["bus_pins"]) == (8, pytest.approx(128))
    assert counted(BoundedQueue("q", 100, unit="bytes")) == {"memory_bits": 800}
    assert counted(BoundedQueue("q", 10, carries=("mark",))) == {"memory_bits": 10 * 2 * 32}
    assert counted(ReorderQueue("r", 8, members=2)) == {"memory_bits": 16 * 32}
    mesh = Mesh("m", 2, 1, 1e9, fifo_depth=4)
    assert counted(mesh) == {"memory_bits": len(mesh.links()) * 4 * 32}


def test_multiplexers_are_those_of_the_user_guide():
    assert [multiplexer(n, 1) for n in (1, 4, 8, 16)] == [0, 1, 2, 4]


def test_every_fact_has_a_source_and_a_unit():
    assert all(proxy.source and proxy.about and proxy.unit and proxy.value > 0 for proxy in proxies().values())
    assert set(sources()) == set(COSTS)
    assert "UG474" in sources(("luts",))["luts"]
    with pytest.raises(UnknownNameError, match="nearest: bus_pins"):
        sources(("bus_pin",))
