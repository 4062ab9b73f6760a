"""A packet has its place in the receive buffer until the program frees it: losses by queueing beside closed forms."""

import numpy as np
import pytest
from reference.small_machines import NS, machine, packets

import npexplore as npx
from npexplore.machine.resources import Delay, FifoServer
from npexplore.rows.distributions import Exponential
from npexplore.solve.queueing import mmck
from npexplore.solve.queueing_model import queueing

MEAN = 100 * NS


@pytest.mark.parametrize("load", [0.5, 0.9, 1.3])
@pytest.mark.parametrize("places", [1, 3, 8, 20])
def test_who_frees_last_leaves_no_more_packets_than_places(places, load):
    """M/M/1/K, though there are eight threads: what they work at stands in the buffer."""
    made = machine(
        [FifoServer("work", Exponential(mean=MEAN))], lambda m, p: (m.work.serve(), m.receive.free(bytes=64)),
        threads=8, capacity_bytes=64 * places,
    )  # fmt: skip
    told = queueing(made, packets(64).with_arrivals("poisson", load / MEAN))
    exact = mmck(load / MEAN, MEAN, 1, places)
    assert told.loss == pytest.approx(float(exact.loss), rel=1e-6)
    assert told.latency_s.mean == pytest.approx(float(exact.mean_response), rel=1e-6)


@pytest.mark.parametrize("places", [1, 4, 6])
def test_who_frees_halfway_leaves_room_for_as_many_as_are_past_it(places):
    """M/G/c/c of the way to the free alone, whatever comes behind it (Erlang): packets carried within 9 %."""
    parts = [Delay("before"), Delay("behind")]
    made = machine(
        parts,
        lambda m, p: (m.before.wait(seconds=4 * MEAN), m.receive.free(bytes=64), m.behind.wait(seconds=2 * MEAN)),
        threads=32, capacity_bytes=64 * places,
    )  # fmt: skip
    rate = 0.7 * places / (4 * MEAN)
    exact = mmck(rate, 4 * MEAN, places, places)
    told = queueing(made, packets(64).with_arrivals("poisson", rate))
    assert 1 - told.loss == pytest.approx(1 - float(exact.loss), rel=0.09)
    assert told.latency_s.mean == pytest.approx(6 * MEAN, rel=1e-6)


def test_cells_of_a_packet_leave_one_by_one():
    """Of a loop that frees as it goes, half is past: as with the free in its middle."""

    def one_by_one(m, packet):
        with m.loop(8):
            m.work.wait(seconds=MEAN)
            m.receive.free(bytes=64)

    def halfway(m, packet):
        m.work.wait(seconds=4 * MEAN)
        m.receive.free(bytes=512)
        m.work.wait(seconds=4 * MEAN)

    told = [
        queueing(machine([Delay("work")], program, threads=16, capacity_bytes=512 * 4), load).loss
        for program in (one_by_one, halfway)
        for load in [packets(512).with_arrivals("poisson", 5 / (8 * MEAN))]
    ]
    assert told[0] == pytest.approx(told[1], rel=1e-6)
    assert told[0] > 0.01


@pytest.mark.parametrize("load", [0.3, 0.6, 0.9])
def test_a_ring_of_one_loses_all_that_come_while_its_core_works(load):
    """Erlang's loss, r / (1 + r); eight more packets under way made it 4 instead of 55 %."""
    one = npx.design("server").with_(ring=1, cores=1)
    packet = npx.workload(packet_bytes=64)
    rate = load * one.bounds(packet).rate_pps
    told = one.queueing(packet.with_arrivals("poisson", rate))
    r = rate * told.latency_s.mean
    assert told.loss == pytest.approx(r / (1 + r), rel=1e-6)
    assert np.isclose(told.latency_s.mean, one.queueing(packet.with_arrivals("poisson", 1.0)).latency_s.mean)
