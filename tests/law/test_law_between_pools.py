"""What one pool takes and another gives sets a ceiling, by Little's law: units over the unit-seconds of a packet."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.small_machines import NS

import npexplore as npx
from npexplore.machine.machine import Machine, Pool
from npexplore.machine.resources import BoundedQueue, BufferPool, Delay, FifoServer, Lock, ReorderQueue
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.under_load import under_load
from npexplore.machine.workload import Workload
from npexplore.rows.distributions import Deterministic, Exponential
from npexplore.solve.bounds import bounds
from npexplore.solve.queueing_model import queueing
from npexplore.solve.simulate import simulate

PACKETS = 4000
WALKS = st.lists(st.tuples(st.integers(1, 400), st.integers(0, 9)), min_size=1, max_size=5, unique=True)


def made_of(places, words, threads, exit_ns=0, drops=False):
    """A splitter, walkers through one exit, who wait for earlier ones: places in the order, words of bodies."""

    def split(m, packet):
        m.parse.serve()
        m.bodies.take(count=packet.body_words)
        m.receive.free(bytes=packet.packet_bytes)
        m.headers.put(ticket=m.order.enter())

    def walk(m, packet):
        m.step.wait(seconds=packet.walk_ns * NS)
        m.exit.serve()
        with m.fork():
            m.order.leave(ticket=packet.ticket)
            m.bodies.give(count=packet.body_words)

    def lost(m, packet):
        m.parse.serve()
        m.bodies.take(count=1)
        m.receive.free(bytes=packet.packet_bytes)
        with m.branch(packet.body_words > 0):
            m.bodies.give(count=1)
            m.drop.serve()
        with m.otherwise():
            m.headers.put(ticket=0)

    def rest(m, packet):
        m.step.wait(seconds=packet.walk_ns * NS)
        m.bodies.give(count=1)

    parts = [
        FifoServer("parse", 5 * NS), FifoServer("exit", exit_ns * NS), FifoServer("drop", 1 * NS), Delay("step"),
        BufferPool("bodies", words), ReorderQueue("order", places),
        BoundedQueue("headers", 16, carries=("ticket",)),
    ]  # fmt: skip
    pools = [Pool("split", 1, lost if drops else split), Pool("walk", threads, rest if drops else walk, gets="headers")]
    return Machine("across", pools, Ingress("receive", 1 << 16, 64), {one.name: one for one in parts})


def walking(walks):
    """Packets that walk so many nanoseconds and have bodies of so many words, in random order."""
    ns, words = (np.array(column, np.int64) for column in zip(*walks, strict=True))
    columns = {"packet_bytes": np.full(len(walks), 64, np.int64), "walk_ns": ns, "body_words": words}
    return Workload("walks", columns, ordered=False)


@settings(max_examples=60, deadline=None)
@given(
    walks=WALKS, places=st.integers(1, 40), words=st.integers(9, 200), threads=st.integers(1, 48),
    exit_ns=st.integers(0, 20), seed=st.integers(0, 99),
)  # fmt: skip
def test_no_simulation_exceeds_the_ceilings_of_what_is_kept(walks, places, words, threads, exit_ns, seed):
    made, load = made_of(places, words, threads, exit_ns), walking(walks)
    walk, body = (np.array(column, float) for column in zip(*walks, strict=True))
    ceilings = under_load(made, load).ceilings()
    assert ceilings["order"] == pytest.approx(places / (walk + exit_ns).mean() / NS)
    if body.any():
        assert ceilings["bodies"] == pytest.approx(words / (body * (walk + exit_ns)).mean() / NS)
    limit, found = bounds(made, load), simulate(made, load, seed=seed, packets=PACKETS)
    begun_before = min(places, threads + 17) / (found.about["simulated_s"] * limit.rate_pps)
    drawn = 4 * walk.std() / walk.mean() / np.sqrt(PACKETS) + 4 * (body.std() / max(body.mean(), 1)) / np.sqrt(PACKETS)
    assert found.rate_pps <= limit.rate_pps * (1 + 1e-4 + begun_before + drawn)
    assert queueing(made, load).rate_pps <= limit.rate_pps * (1 + 1e-9)


@pytest.mark.parametrize(
    ("places", "words", "binds"), [(6, 200, "order"), (40, 30, "bodies"), (40, 200, "threads.walk")]
)
def test_where_all_packets_walk_alike_the_ceiling_is_reached(places, words, binds):
    made, load = made_of(places, words, 12, 3), walking([(300, 5)])
    limit = bounds(made, load)
    assert limit.bottleneck == binds
    assert simulate(made, load, packets=PACKETS).rate_pps == pytest.approx(limit.rate_pps, rel=5e-3)
    assert limit.utilization["order"].busy == pytest.approx(303 * NS * limit.rate_pps / places)


def test_what_not_every_packet_takes_along_has_no_ceiling():
    """Half of them end with the splitter: nothing tells the time that the others had spent there."""
    ceilings = under_load(made_of(4, 8, 2, drops=True), walking([(100, 0), (100, 1)])).ceilings()
    assert "parse" in ceilings
    assert "bodies" not in ceilings


@pytest.mark.parametrize(("knobs", "length", "binds"), [
    ({"reorder_places": 64}, None, "order"),
    ({"reorder_places": 16, "protocols": "ipv4"}, None, "order"),
    ({"body_kib": 4}, 512, "bodies"),
])  # fmt: skip
def test_gorilla_s_queues_bind_in_the_bounds_too(knobs, length, binds):
    design = npx.design("gorilla").with_(boot_us=20, window_us=40, **knobs)
    load = None if length is None else npx.workload(packet_bytes=length)
    limit, found = design.bounds(load), design.simulate(load)
    assert limit.bottleneck == found.bottleneck == binds
    assert 0.5 * limit.rate_pps < found.rate_pps <= 1.01 * limit.rate_pps


def sharing(memory, step, threads, room=16):
    """Two pools of so many threads, joined by a queue, that read one memory in turn."""

    def first(m, packet):
        m.memory.serve()
        m.receive.free(bytes=packet.packet_bytes)
        m.step.wait()
        m.headers.put()

    def second(m, packet):
        m.step.wait()
        m.memory.serve()

    parts = [FifoServer("memory", memory), Delay("step", step), BoundedQueue("headers", room)]
    pools = [Pool("first", threads, first), Pool("second", threads, second, gets="headers")]
    return Machine("shared", pools, Ingress("receive", 1 << 16, 64), {one.name: one for one in parts})


@pytest.mark.parametrize("share", [0.1, 0.4])
def test_pools_that_share_a_server_are_slowed_by_what_comes_alone(share):
    """One memory that two pools read in turn: slowed as if saturated, each would wait for a full one at any load."""
    made = sharing(40 * NS, Deterministic(mean=50 * NS), 4)
    load = npx.workload(packet_bytes=64)
    offered = load.with_arrivals("poisson", share * bounds(made, load).rate_pps)
    seen = simulate(made, offered, packets=40_000).latency_s.mean
    assert queueing(made, offered).latency_s.mean == pytest.approx(seen, rel=0.1)


@pytest.mark.parametrize(("law", "step_ns", "threads", "room"), [
    (Exponential, 30, 1, 64), (Exponential, 30, 2, 4), (Exponential, 100, 1, 4), (Deterministic, 100, 2, 4),
])  # fmt: skip
def test_pools_that_share_a_server_meet_while_neither_is_served(law, step_ns, threads, room):
    """Others were met by their share of all time (+7 %), and the slower of two pools was not eased (-16 %)."""
    made = sharing(law(mean=50 * NS), Exponential(mean=step_ns * NS), threads, room)
    load = npx.workload(packet_bytes=64)
    true = simulate(made, load, packets=20_000, breakdown=False).rate_pps
    assert queueing(made, load).rate_pps == pytest.approx(true, rel=0.04)


@pytest.mark.parametrize("threads", [1, 3, 16])
@pytest.mark.parametrize("load", [0.5, 0.8, 0.95])
def test_what_waits_behind_a_pool_that_is_never_full_waits_as_alone(threads, load):
    """M/D/1 behind a pool of a delay: threads that wait inside waited as if service were exponential (+54 %)."""

    def first(m, packet):
        m.receive.free(bytes=packet.packet_bytes)
        m.far.wait(seconds=400 * NS)
        m.between.put()

    def second(m, packet):
        m.wire.serve()

    parts = [Delay("far"), FifoServer("wire", 100 * NS), BoundedQueue("between", 4096)]
    pools = [Pool("first", 256, first), Pool("second", threads, second, gets="between")]
    made = Machine("behind", pools, Ingress("receive", 1 << 20, 64), {one.name: one for one in parts})
    offered = Workload("64 bytes", {"packet_bytes": np.array([64])}).with_arrivals("poisson", load / (100 * NS))
    alone = 400 * NS + 100 * NS * (1 + load / 2 / (1 - load))
    assert queueing(made, offered).latency_s.mean == pytest.approx(alone, rel=0.01)


def near_full(first, second, parts, threads):
    """Two pools, joined by a queue, at 0.8 of their simulated rate: the latency by queueing, in those of simulation."""
    made_of_parts = {one.name: one for one in (*parts, BoundedQueue("between", 64))}
    pools = [Pool("first", threads[0], first), Pool("second", threads[1], second, gets="between")]
    made, load = Machine("full", pools, Ingress("receive", 1 << 20, 64), made_of_parts), npx.workload(packet_bytes=64)
    most = simulate(made, load, packets=20_000, breakdown=False).rate_pps
    offered = load.with_arrivals("poisson", 0.8 * most)
    seen = simulate(made, offered, packets=60_000, breakdown=False).latency_s.mean
    return queueing(made, offered).latency_s.mean / seen


def test_a_pool_is_as_full_as_work_under_a_lock_beside_it_and_of_others_makes_its_server():
    """Slowed one by one, its visits left the pool more than the server has: latencies were 48 % too short."""

    def first(m, packet):
        m.engine.serve()
        m.key.acquire()
        with m.loop(4):
            m.engine.serve()
        m.key.release()
        with m.loop(2):
            m.engine.serve()
        m.receive.free(bytes=packet.packet_bytes)
        m.between.put()

    def second(m, packet):
        m.engine.serve()

    parts = [FifoServer("engine", 74 * NS), Lock("key", clock_hz=1e9)]
    assert near_full(first, second, parts, (6, 2)) == pytest.approx(1.0, rel=0.2)


def test_rare_forked_work_at_a_server_of_another_pool_makes_no_packet_wait():
    """Its spread was taken for that of the pool that forks it: latencies were 79 % too long."""

    def first(m, packet):
        m.engine.serve()
        m.receive.free(bytes=packet.packet_bytes)
        m.between.put()

    def second(m, packet):
        m.far.wait()
        with m.branch(0.05, "rare"), m.fork():
            m.engine.serve()

    parts = [FifoServer("engine", 140 * NS), Delay("far", 500 * NS)]
    assert near_full(first, second, parts, (1, 4)) == pytest.approx(1.0, rel=0.12)
