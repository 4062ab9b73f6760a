"""Saturated: a packet's latency counts from its first bit on the wire; before, its thread is idle."""

import numpy as np
import pytest
from reference.small_machines import packets, received

from npexplore.machine.machine import Pool
from npexplore.machine.resources import LineCard, Processor
from npexplore.machine.under_load import under_load
from npexplore.solve.batch import Batch
from npexplore.solve.queueing_model import queueing, queueing_of
from npexplore.solve.simulate import simulate

BYTE, CORE = 8 / 10e9, 150e-9
ALONE = 2 * 64 * BYTE + CORE  # in, the core, out
LOAD = packets(64)


def machine(threads, ports=1, first="wire", engines=16, half_duplex=False):
    """Threads that receive, compute and send; first: what a thread does first."""

    def program(m, packet):
        member = packet.packet_bytes % ports
        if first == "core":
            m.core.compute(cycles=150)
        m.wire.receive(bytes=packet.packet_bytes, member=member)
        if first != "core":
            m.core.compute(cycles=150)
        m.wire.send(bytes=packet.packet_bytes, member=member)

    wire = LineCard("wire", 1 / BYTE, ports, half_duplex=half_duplex)
    core = Processor("core", engines, 1e9)
    return received("card", [Pool("thread", threads, program, home="core")], None, 64, {"wire": wire, "core": core})


@pytest.mark.parametrize("threads", [5, 16, 60])
@pytest.mark.parametrize("ports", [1, 3])
def test_a_thread_that_waits_for_a_packet_has_none(threads, ports):
    own = machine(threads, ports, engines=64)
    simulated, solved = simulate(own, LOAD, packets=4000, breakdown=True), queueing(own, LOAD)
    assert simulated.rate_pps == pytest.approx(1 / (64 * BYTE))
    assert simulated.latency_s.mean == pytest.approx(ALONE, rel=1e-6)
    assert simulated.breakdown.latency_s == pytest.approx(ALONE, rel=1e-6)
    assert [part.resource for part in simulated.breakdown.parts if part.waiting_s > 0] == []
    assert solved.latency_s.mean == solved.breakdown.latency_s <= threads / solved.rate_pps


def test_waits_behind_the_wire_count():
    threads, own = 40, machine(40, engines=1)
    simulated = simulate(own, LOAD, packets=4000, breakdown=True)
    assert simulated.rate_pps == pytest.approx(1 / CORE)
    waits = {part.resource: part.waiting_s for part in simulated.breakdown.parts}
    assert waits["core"] == pytest.approx(threads * CORE - ALONE, rel=0.01)


@pytest.mark.parametrize("given", [{"first": "core"}, {"half_duplex": True}])
def test_time_spent_before_the_wire_counts(given):
    own = machine(16, engines=16, **given)
    simulated, solved = simulate(own, LOAD, packets=4000, breakdown=True), queueing(own, LOAD)
    assert simulated.latency_s.mean == pytest.approx(16 / simulated.rate_pps, rel=1e-3)
    assert solved.latency_s.mean == pytest.approx(16 / solved.rate_pps)


def test_points_of_a_batch_are_as_alone():
    points = [under_load(machine(threads=16), packets(size)) for size in (64, 300, 1500)]
    together = queueing_of(Batch.of(points)).latency_s
    alone = [float(queueing_of(Batch.of([point])).latency_s[0]) for point in points]
    assert np.allclose(together, alone, rtol=1e-12)
    assert np.all(together < 16 * np.array([64, 300, 1500]) * BYTE)
