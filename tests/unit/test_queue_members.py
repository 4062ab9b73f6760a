"""Several alike queues in front of one pool: who puts where, who gets from which, and how homes share them out."""

import pytest

from npexplore.errors import ModelError
from npexplore.machine.machine import Machine, Pool
from npexplore.machine.resources import BoundedQueue, Delay, FifoServer
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.workload_sources import workload
from npexplore.solve.bounds import bounds
from npexplore.solve.simulate import simulate

NS = 1e-9
LOAD = workload(packet_bytes=64).with_arrivals("periodic", 1e8)


def machine(service_ns, engines=4, threads=4, members=2, **knobs):
    """Packets each 10 ns into `members` queues; engine k works `service_ns(m.home)` on one."""

    def split(m, packet):
        m.receive.free(bytes=64)
        m.fifo.put()

    def work(m, packet):
        m.work.wait(seconds=service_ns(m.home) * NS)

    queue = BoundedQueue("fifo", knobs.pop("capacity", 4), members=members, **knobs)
    resources = [queue, Delay("work"), FifoServer("engine", 0.0, members=engines)]
    pools = [Pool("split", 1, split), Pool("engine", threads, work, home="engine", gets="fifo")]
    return Machine("split", pools, Ingress("receive", 6400, 64), {r.name: r for r in resources})


def test_in_turn_every_queue_gets_as_much():
    answer = simulate(machine(lambda home: 40.0), LOAD, packets=2000)
    assert answer.rate_pps == pytest.approx(1e8, rel=1e-3)
    assert answer.utilization["threads.engine"].busy == pytest.approx(1.0, rel=1e-3)


def test_in_turn_the_slow_half_holds_back_all_and_shortest_does_not():
    """Engines 0 and 1 get from queue 0 and take twice as long as the others, who get from queue 1."""

    def slow(home):
        return 80 - 40 * (home // 2)

    static = simulate(machine(slow), LOAD, packets=4000)
    assert static.rate_pps == pytest.approx(2 * 2 / (80 * NS), rel=5e-3)  # twice what the slow pair carries
    dynamic = simulate(machine(slow, select="shortest"), LOAD, packets=4000)
    assert dynamic.rate_pps == pytest.approx(2 / (80 * NS) + 2 / (40 * NS), rel=1e-2)


def test_a_full_queue_loses_what_comes_in_its_turn():
    def slow(home):
        return 80 - 40 * (home // 2)

    answer = simulate(machine(slow, when_full="drop"), LOAD, packets=4000)
    assert answer.rate_pps == pytest.approx(2 / (80 * NS) + 2 / (40 * NS), rel=1e-2)
    lost = answer.drops["fifo"] / (answer.drops["fifo"] + answer.about["packets"])
    assert lost == pytest.approx(0.25, rel=0.03)
    assert answer.queue["fifo"].longest <= 4


def test_bounds_take_members_alike():
    found = bounds(machine(lambda home: 40.0), LOAD.with_arrivals("saturated"))
    assert found.about["ceiling_pps.threads.engine"] == pytest.approx(1e8)


def test_homes_must_share_queues_out():
    with pytest.raises(ModelError, match="must share out 3 queues evenly, got 4 of 'engine'"):
        simulate(machine(lambda home: 40.0, members=3), LOAD, packets=100)
