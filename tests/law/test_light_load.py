"""Bursts alone in an empty machine, and two that meet: by hand, and as the first terms of closed forms."""

import numpy as np
import pytest
from reference.small_machines import NS, machine, packets

from npexplore.machine.itinerary import itinerary
from npexplore.machine.resources import Delay, FifoServer, Processor
from npexplore.rows.distributions import OnOff
from npexplore.solve.light_load import light_batches, light_spans

SIZE = 8


def way(resources, program, load=None, threads=64):
    return itinerary(machine(resources, program, threads=threads), load or packets(64))


def light(way, size=SIZE, geometric=False, slowest=1.0):
    """B and D of batches, and those at one server of so many ns."""
    return light_batches(way, size, geometric, np.full(len(way.shares), slowest * NS))


def line(*times_ns):
    """Servers that each packet visits once, one after another."""

    def program(m, packet):
        m.receive.free(bytes=packet.packet_bytes)
        for k in range(len(times_ns)):
            getattr(m, f"s{k}").serve()

    return way([FifoServer(f"s{k}", t * NS) for k, t in enumerate(times_ns)], program)


def twice(first, second, between=0.0, threads=64):
    """A server that each packet visits twice, for so many ns."""

    def program(m, packet):
        m.receive.free(bytes=packet.packet_bytes)
        m.s.compute(cycles=first)
        if between:
            m.away.wait(seconds=between * NS)
        m.s.compute(cycles=second)

    return way([Processor("s", 1, 1e9), Delay("away")], program, threads=threads)


@pytest.mark.parametrize(("geometric", "within"), [(False, (SIZE - 1) / 2), (True, SIZE - 1.0)])
@pytest.mark.parametrize("times", [(50,), (40, 50), (50, 30, 50)])
def test_first_terms_are_those_of_constant_services_in_a_row(times, geometric, within):
    """M^X/D/1 at the slowest alone (Burke 1975, Friedman 1965): (b + b l S + l S^2 / 2) S and higher powers of l."""
    slowest = max(times) * NS
    found = light(line(*times), SIZE, geometric, max(times))
    assert found.wait == pytest.approx(found.alone_wait, rel=1e-6)
    assert found.slope == pytest.approx(found.alone_slope, rel=1e-6)
    assert found.wait == pytest.approx(within * slowest, rel=0.03 if geometric else 1e-9)
    assert found.slope == pytest.approx((within + 0.5) * slowest**2, rel=0.1 if geometric else 2e-3)


@pytest.mark.parametrize(("first", "second"), [(50, 50), (80, 10), (10, 80)])
def test_a_batch_meets_itself_where_it_comes_again(first, second):
    """All first visits are done before the first second one; behind a long way back nobody is left."""
    at_once, later = light(twice(first, second)), light(twice(first, second, 1e5))
    half = (SIZE - 1) / 2
    assert at_once.wait == pytest.approx(((SIZE - 1) * first + half * second) * NS, rel=1e-9)
    assert later.wait == pytest.approx(half * max(first, second) * NS, rel=1e-9)


def test_a_batch_waits_for_threads():
    found = light(twice(30, 20, threads=1))
    assert found.wait == pytest.approx((SIZE - 1) / 2 * 50 * NS, rel=1e-9)


def test_packets_that_are_on_their_way_for_longer_come_later():
    """A tenth of what packets alike wait: they come to a server of 1 ns hardly ever two at a time."""

    def program(m, packet):
        m.receive.free(bytes=packet.packet_bytes)
        m.away.wait(seconds=packet.packet_bytes * NS)
        m.s.serve()

    resources = [FifoServer("s", 1 * NS), Delay("away")]
    apart, alike = (light(way(resources, program, packets(*sizes))).wait for sizes in (range(64, 1088, 4), [64]))
    assert alike == pytest.approx(3.5 * NS)
    assert apart < 0.1 * alike


def test_spans_in_a_row_wait_as_at_the_slowest_alone():
    process = OnOff(rate=5e6, on=1e-6, off=2e-6)
    found = light_spans(line(40, 50, 30), process, np.array([50 * NS]))
    assert found.wait == pytest.approx(found.alone_wait, rel=1e-9)
    assert found.wait > 0


def test_packets_that_come_by_turns_are_drawn_so():
    """Long and short ones by turns, two at a time: the other one is always of the other length."""

    def program(m, packet):
        m.receive.free(bytes=packet.packet_bytes)
        m.s.compute(cycles=packet.packet_bytes)

    resources = [Processor("s", 1, 1e9)]
    turns = light(way(resources, program, packets(64, 1064)), 2).wait
    assert turns == pytest.approx(1128 / 4 * NS, rel=0.1)  # either may come first
    assert way(resources, program, packets(*range(64, 128))).turns is None


def test_what_is_not_known_beforehand_has_no_way():
    def program(m, packet):
        m.receive.free(bytes=packet.packet_bytes)
        with m.fork():
            m.s.serve()

    assert way([FifoServer("s", 1 * NS)], program) is None
