"""Pools of threads joined by bounded queues: hand-over, room, polling, starts, windows, classes, errors."""

import numpy as np
import pytest
from reference.small_machines import NS, machine, packets, received

from npexplore.designs import design
from npexplore.engine.model import build
from npexplore.engine.patience import patience
from npexplore.engine.state import State
from npexplore.errors import InputError, ModelError, RefusedError, SimulationError, UnknownNameError
from npexplore.machine.machine import Machine, Pool, Start
from npexplore.machine.resources import BoundedQueue, BufferPool, Delay, FifoServer, LineCard, Processor
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.under_load import under_load
from npexplore.machine.workload import Workload
from npexplore.solve.bounds import bounds
from npexplore.solve.machine_chain import ctmc
from npexplore.solve.queueing_model import queueing
from npexplore.solve.seeds import replicate
from npexplore.solve.simulate import simulate

LOAD = packets(64)
TOGETHER = Start("simultaneous")


def joined(pools, *resources, capacity_bytes=None, **more):
    return received("line", pools, capacity_bytes, 64, {r.name: r for r in resources}, **more)


def stage(name, takes_ns, puts=None, count=1, start=TOGETHER, **more):
    """A pool whose threads need a time of their own for each packet and then hand it on."""

    def program(m, packet):
        m.work.wait(seconds=takes_ns * NS)
        if puts is not None:
            getattr(m, puts).put()

    return Pool(name, count, program, start=start, **more)


def line(*times, capacity=4, counts=None, **queue):
    """Pools a, b, ... with these times in ns, joined by queues q0, q1, ..."""
    counts, last = counts or [1] * len(times), len(times) - 1
    pools = [
        stage("abcd"[k], t, f"q{k}" if k < last else None, counts[k], gets=f"q{k - 1}" if k else None)
        for k, t in enumerate(times)
    ]
    return joined(pools, Delay("work"), *(BoundedQueue(f"q{k}", capacity, **queue) for k in range(last)))


# ---- packets through pools


def test_one_pool_in_a_list_is_the_pool_alone():
    def program(m, packet):
        m.hash.serve()
        m.work.wait(seconds=(m.turn(7, "t") + 50) * NS)

    alone, listed = (
        simulate(joined(pools, FifoServer("hash", 30 * NS), Delay("work")), LOAD, packets=500)
        for pools in (Pool("p", 3, program), [Pool("p", 3, program)])
    )
    assert (alone.rate_pps, alone.latency_s, alone.utilization) == (
        listed.rate_pps,
        listed.latency_s,
        listed.utilization,
    )


@pytest.mark.parametrize(
    ("counts", "slowest", "interval_ns"),
    [([1, 1, 1], "b", 240), ([1, 3, 1], "a", 100), ([2, 3, 1], "b", 80), ([4, 9, 1], "c", 60)],
)
def test_a_pipeline_is_as_fast_as_its_slowest_pool(counts, slowest, interval_ns):
    made = line(100, 240, 60, counts=counts)
    answer, limit = simulate(made, LOAD, packets=1600), bounds(made, LOAD)
    assert answer.rate_pps == pytest.approx(1 / (interval_ns * NS), rel=1e-3)
    assert limit.rate_pps == pytest.approx(1 / (interval_ns * NS))
    assert answer.bottleneck == limit.bottleneck == f"threads.{slowest}"


def test_latency_counts_from_the_first_pool_to_the_last():
    answer = simulate(line(100, 50, 30), LOAD, packets=160)
    assert answer.latency_s.mean == pytest.approx(180 * NS)
    assert answer.rate_pps == pytest.approx(1e7)


def test_demands_of_all_pools_add_up():
    def first(m, packet):
        m.hash.serve()
        with m.branch(packet.packet_bytes > 100):
            m.q0.put()

    def second(m, packet):
        m.hash.serve()
        m.hash.serve()

    made = joined(
        [Pool("a", 4, first), Pool("b", 2, second, gets="q0")], FifoServer("hash", 10 * NS), BoundedQueue("q0", 3)
    )
    load = packets(64, 1500, 1500, 200)
    found = under_load(made, load)
    assert found.demands.servers["hash"].seconds == pytest.approx((1 + 0.75 * 2) * 10 * NS)
    assert found.residence == pytest.approx({"a": 10 * NS, "b": 15 * NS})
    assert found.ceilings() == pytest.approx({"hash": 4e7, "threads.a": 4e8, "threads.b": 2e9 / 15})
    answer, limit = simulate(made, load, packets=4000), bounds(made, load)
    assert answer.rate_pps == pytest.approx(limit.rate_pps, rel=1e-2)  # the hash unit is always busy
    assert answer.throughput_bps == pytest.approx(answer.rate_pps * 8 * (64 + 2 * 1500 + 200) / 4, rel=1e-2)


def test_what_is_held_from_one_pool_to_the_next_is_named_as_not_waited_for():
    """Units that another pool gives back have no known time: queueing must say that nobody waits for them there."""

    def take(m, packet):
        m.work.wait(seconds=10 * NS)
        m.buffers.take(count=1)
        m.q.put()

    def give(m, packet):
        m.work.wait(seconds=10 * NS)
        m.buffers.give(count=1)

    pools = [Pool("a", 1, take, start=TOGETHER), Pool("b", 1, give, gets="q", start=TOGETHER)]
    one = joined(pools, Delay("work"), BoundedQueue("q", 4), BufferPool("buffers", 2))
    unseen = queueing(one, LOAD).approximation.partition("no waiting for ")[2]
    assert "buffers" in unseen


def test_what_a_queue_carries_is_a_column_of_the_next_pool():
    def cut(m, packet):
        with m.loop(packet.packet_bytes // 64) as cell:
            m.cells.put(packet_bytes=64, cell=cell)
        m.work.wait(seconds=100 * NS)

    def move(m, packet):
        m.work.wait(seconds=(packet.cell * 10 + 10) * NS)

    cells = BoundedQueue("cells", 8, carries=["packet_bytes", "cell"])
    made = joined([Pool("cut", 1, cut), Pool("move", 4, move, gets="cells")], Delay("work"), cells)
    load = packets(256, 128)
    answer = simulate(made, load, packets=1600)
    assert answer.rate_pps == pytest.approx(3e7, rel=1e-3)  # cells: 4 and 2 in 200 ns
    assert answer.throughput_bps / answer.rate_pps == pytest.approx(8 * 64)
    assert answer.latency_s.mean == pytest.approx((10 + 20 + 30 + 40 + 10 + 20) / 6 * NS, rel=1e-3)
    found = under_load(made, load)
    assert (found.finished, found.counted_bits) == pytest.approx((3, 512))


def test_a_pool_that_gets_nothing_of_this_workload_is_no_limit():
    def rarely(m, packet):
        m.work.wait(seconds=10 * NS)
        with m.loop(packet.packet_bytes // 1000):
            m.q0.put()

    made = joined([Pool("a", 1, rarely), stage("b", 500, gets="q0")], Delay("work"), BoundedQueue("q0", 2))
    assert bounds(made, LOAD).rate_pps == simulate(made, LOAD, packets=1600).rate_pps == pytest.approx(1e8)
    assert bounds(made, packets(1500)).rate_pps == pytest.approx(2e6)


def test_carried_numbers_left_to_chance_are_left_to_simulation():
    def first(m, packet):
        m.work.wait(seconds=10 * NS)
        m.q.put(packet_bytes=m.draw(100, "size") + 1)

    queue = BoundedQueue("q", 2, carries=["packet_bytes"])
    made = joined([Pool("a", 1, first), stage("b", 5, gets="q")], Delay("work"), queue)
    with pytest.raises(RefusedError, match="lengths of packets of pool b depend on chance"):
        bounds(made, LOAD)
    answer = simulate(made, LOAD, packets=16_000)
    assert answer.throughput_bps / answer.rate_pps == pytest.approx(8 * 50.5, rel=0.02)


def test_packets_may_be_finished_in_either_pool():
    """Every second packet takes the slow path."""

    def fast(m, packet):
        m.receive.free(bytes=64)
        m.work.wait(seconds=10 * NS)
        with m.branch(packet.slow == 1):
            m.q0.put()

    made = joined([Pool("fast", 1, fast), stage("slow", 15, gets="q0")], Delay("work"), BoundedQueue("q0", 9))
    load = packets(64, 64, slow=[0, 1], **{"class": [0, 1]})
    answer = simulate(made, load, packets=1600)
    assert answer.rate_pps == pytest.approx(1e8, rel=1e-3)
    assert {name: one.latency_s.mean for name, one in answer.classes.items()} == pytest.approx(
        {"0": 10 * NS, "1": 25 * NS}
    )
    assert answer.classes["0"].rate_pps + answer.classes["1"].rate_pps == pytest.approx(answer.rate_pps)


# ---- room


@pytest.mark.parametrize("capacity", [1, 3])
def test_a_full_queue_stalls_the_giver(capacity):
    answer = simulate(line(10, 100, capacity=capacity), LOAD, packets=320)
    assert answer.rate_pps == pytest.approx(1e7)
    assert answer.queue["q0"] == (pytest.approx(capacity), capacity)
    assert answer.utilization["threads.a"] == pytest.approx((1, 0.9))  # 90 of 100 ns with a packet it cannot hand on
    assert answer.latency_s.mean == pytest.approx((capacity + 2) * 100 * NS)


def test_a_stalled_giver_keeps_what_it_holds():
    def hold(m, packet):
        m.buffers.take(count=1)
        m.work.wait(seconds=10 * NS)
        m.q0.put()
        m.buffers.give(count=1)

    made = joined(
        [Pool("a", 3, hold), stage("b", 100, gets="q0")], Delay("work"), BufferPool("buffers", 2), BoundedQueue("q0", 1)
    )
    answer = simulate(made, LOAD, packets=320)
    assert answer.utilization["buffers"].busy == pytest.approx(1, rel=1e-3)
    assert answer.rate_pps == pytest.approx(1e7)


def test_a_full_queue_drops():
    answer = simulate(line(10, 100, capacity=2, when_full="drop"), LOAD, packets=320)
    assert answer.rate_pps == pytest.approx(1e7)
    assert answer.drops["q0"] == pytest.approx(9 * 320, abs=2)
    assert answer.utilization["threads.a"].blocked == 0


@pytest.mark.parametrize("capacity", [1, 2, 8])
def test_credits_come_back_late(capacity):
    """The getter takes a packet at once while it is free; its credit is there again 240 ns later."""
    made = line(1, 100, capacity=capacity, when_full="credits", credit_s=240 * NS)
    assert simulate(made, LOAD, packets=320).rate_pps == pytest.approx(min(capacity / 240, 1 / 100) / NS, rel=1e-2)


def test_room_in_bytes():
    """Two packets of 100 bytes fit, and no third; a packet that never fits is refused before it waits for ever."""
    made = line(10, 100, capacity=299, unit="bytes")
    assert simulate(made, packets(100), packets=160).queue["q0"] == (pytest.approx(2), 2)
    with pytest.raises(ModelError, match="q0: a packet of 300 bytes never fits into 299 bytes"):
        build(made, packets(100, 300))
    lossy = simulate(line(100, 10, capacity=299, unit="bytes", when_full="drop"), packets(100, 300), packets=160)
    assert lossy.drops["q0"] == pytest.approx(160, abs=1)


def test_packets_in_the_receive_buffer_are_a_queue_too():
    def program(m, packet):
        m.receive.free(bytes=64)
        m.work.wait(seconds=100 * NS)

    made = machine([Delay("work")], program)
    answer = simulate(made, LOAD.with_arrivals("batch:5", 1e6), packets=40_000)
    waits = answer.latency_s.mean - 100 * NS
    assert answer.queue["receive"].mean == pytest.approx(answer.rate_pps * waits, rel=1e-2)  # Little
    assert answer.queue["receive"].longest >= 4


# ---- threads without a packet


def polled(idle, poll_cycles=0.0, **more):
    def poller(m, packet):
        m.me.compute(cycles=10)

    def worker(m, packet):
        m.me.compute(cycles=100)
        with m.branch(0.1):
            m.q0.put()

    me = Processor("me", 1, 1e9)
    pools = [
        Pool("worker", 1, worker, home="me"),
        Pool("poller", 1, poller, home="me", gets="q0", idle=idle, poll_cycles=poll_cycles),
    ]
    return joined(pools, me, BoundedQueue("q0", 8), **more)


def test_polling_steals_cycles():
    asleep, awake = (simulate(polled(*how), LOAD, packets=3000) for how in (("sleep",), ("poll", 50)))
    assert asleep.rate_pps == pytest.approx(1e9 / 101, rel=0.01)
    assert awake.rate_pps == pytest.approx(1e9 / 146, rel=0.01)  # behind the worker an empty look, or a packet
    assert awake.utilization["me"].busy == pytest.approx(1)


def test_a_run_of_a_capture_ends_though_threads_poll():
    load = Workload("w", {"packet_bytes": np.full(50, 64)}, "timestamps", t_ns=np.arange(50) * 1000)

    def busy(m, packet):
        m.me.compute(cycles=100)

    for when_full in ("stall", "drop"):
        made = joined(
            [stage("a", 10, "q0"), Pool("b", 2, busy, "me", "q0", idle="poll", poll_cycles=7)],
            Delay("work"), Processor("me", 1, 1e9), BoundedQueue("q0", 1, when_full=when_full),
        )  # fmt: skip
        answer = simulate(made, load)
        assert answer.about["packets"] + answer.drops.get("q0", 0) == 50
        assert answer.about["simulated_s"] == pytest.approx(49e-6, rel=0.01)


def test_a_thread_that_polls_finds_a_packet_at_its_next_look():
    load = Workload("w", {"packet_bytes": np.full(2, 64)}, "timestamps", t_ns=np.array([5, 1000]))

    def program(m, packet):
        m.work.wait(seconds=10 * NS)

    pool = Pool("a", 1, program, "me", idle="poll", poll_cycles=40, start=TOGETHER)
    answer = simulate(joined([pool], Delay("work"), Processor("me", 1, 1e9)), load)
    looks = [40 - 5 + 10, 1010 - 1000 + 10]  # looks at 40 k until the first, then at 50 + 40 k: 1010
    assert answer.latency_s.mean == pytest.approx(sum(looks) / 2 * NS)


def test_the_flag_that_a_thread_polls_takes_its_time():
    """Looks are 55 ns apart, the engine is kept for 40 of them: 5 waits until 55, 1010 from 65 + 17 * 55 to 1055."""
    load = Workload("w", {"packet_bytes": np.full(2, 64)}, "timestamps", t_ns=np.array([5, 1010]))

    def program(m, packet):
        m.work.wait(seconds=10 * NS)

    pool = Pool("a", 1, program, "me", idle="poll", poll_cycles=40, poll_wait_s=15 * NS, start=TOGETHER)
    answer = simulate(joined([pool], Delay("work"), Processor("me", 1, 1e9)), load)
    assert answer.latency_s.mean == pytest.approx((55 - 5 + 10 + 1055 - 1010 + 10) / 2 * NS)


# ---- how threads begin, what a window sees


@pytest.mark.parametrize(
    ("start", "finished"),
    [(TOGETHER, [0, 4, 4, 4]), (Start("staggered", 30 * NS), [0, 4, 4, 4]), (Start("random", 90 * NS), [0, 4, 4, 4])],
)
def test_starts(start, finished):
    """Four threads of 100 ns each: how many packets are finished in each 100 ns, and when the first is."""
    made = joined([stage("a", 100, count=4, start=start)], Delay("work"))
    counts = [
        simulate(made, LOAD, window_s=100 * NS, boot_s=k * 100 * NS).about["packets"] for k in range(len(finished))
    ]
    assert counts == finished
    early = simulate(made, LOAD, window_s=5 * NS, boot_s=100 * NS).about["packets"]
    assert early == {"simultaneous": 4, "staggered": 1}.get(start.how, early)
    assert early < 4 or start.how == "simultaneous"


def test_a_window_holds_its_beginning_but_not_its_end():
    """One thread of 100 ns: packets end at 100, 200, ... ns."""
    made = joined([stage("a", 100)], Delay("work"))
    for boot, window, expected in (
        (0, 100, 0),
        (0, 101, 1),
        (100, 100, 1),
        (100, 101, 2),
        (50, 50, 0),
        (500, 1000, 10),
    ):
        answer = simulate(made, LOAD, window_s=window * NS, boot_s=boot * NS)
        assert answer.about["packets"] == expected
        assert answer.about["simulated_s"] == pytest.approx(window * NS)
        assert answer.rate_pps == pytest.approx(expected / (window * NS))
    assert simulate(made, LOAD, window_s=50 * NS).latency_s == (None,) * 5


def test_a_machine_may_bring_its_window():
    made = joined([stage("a", 100)], Delay("work"), window_s=1000 * NS, boot_s=50 * NS)
    assert simulate(made, LOAD).about["packets"] == 10
    assert simulate(made, LOAD, window_s=200 * NS, boot_s=0.0).about["packets"] == 1
    assert replicate(made, LOAD, [1, 2]).about["packets"] == 10
    with pytest.raises(InputError, match="a boot time needs a window"):
        simulate(joined([stage("a", 100)], Delay("work")), LOAD, boot_s=1.0)


def test_a_design_may_be_asked_for_a_window():
    answer = design("ixp2400").simulate(LOAD, window_s=1e-4, boot_s=1e-5)
    assert answer.about["simulated_s"] == pytest.approx(1e-4)
    assert answer.about["warm_up_batches"] == 0
    assert answer.rate_pps == pytest.approx(design("ixp2400").simulate(LOAD).rate_pps, rel=0.05)


@pytest.mark.parametrize("first", [0, 15])
def test_the_smaller_priority_goes_first_at_one_instant(first):
    """Both pools give and get at the same instants; who goes first decides whether the queue is ever empty."""

    def a(m, packet):
        m.work.wait(seconds=100 * NS)
        m.q0.put()

    made = joined(
        [Pool("a", 1, a, priority=first, start=TOGETHER), stage("b", 100, gets="q0", priority=8)],
        Delay("work"),
        BoundedQueue("q0", 4),
    )
    state = State(build(made, LOAD), 1)
    assert state.T[:2, 8].tolist() == [first, 8]
    assert state.ready_token[:2].tolist() == ([0, 1] if first == 0 else [1, 0])
    answer = simulate(made, LOAD, packets=160)
    assert answer.latency_s.mean == pytest.approx(200 * NS)
    assert answer.queue["q0"].longest == (1 if first == 0 else 0)


# ---- a run that stalls, against the machine's own times


@pytest.mark.filterwarnings("ignore:work.wait:npexplore.units.UnitWarning")
def test_slow_machines_are_not_taken_for_stalled():
    """Three seconds for each packet: longer than any fixed patience that suits a machine of nanoseconds."""
    slow = joined(
        [
            stage("a", 3e9),
        ],
        Delay("work"),
        tick=1e-9,
    )
    answer = simulate(slow, LOAD, packets=32)
    assert answer.rate_pps == pytest.approx(1 / 3)
    fast = joined([stage("a", 100)], Delay("work"))
    slow_s, fast_s = (patience(made, LOAD, under_load(made, LOAD)) for made in (slow, fast))
    assert slow_s > 1000 > 1 > fast_s >= 1000 * 100 * NS


def test_pools_that_wait_for_one_another_name_their_queues():
    def round_and_round(m, packet):
        m.work.wait(seconds=10 * NS)
        m.there.put()

    def back(m, packet):
        m.work.wait(seconds=10 * NS)
        m.back.put()

    made = joined(
        [Pool("a", 1, round_and_round), Pool("b", 1, back, gets="there"), Pool("c", 2, round_and_round, gets="back")],
        Delay("work"), BoundedQueue("there", 2), BoundedQueue("back", 1),
    )  # fmt: skip
    with pytest.raises(SimulationError, match="deadlock") as error:
        simulate(made, LOAD)
    for text in (
        "wait for there.room holding threads.a",
        "wait for there.room holding threads.c",
        "wait for back.room",
    ):
        assert text in str(error.value)
    with pytest.raises(RefusedError, match="packets go round between pools b and c"):
        bounds(made, LOAD)


def test_polling_threads_do_not_hide_that_nothing_moves():
    made = joined(
        [
            Pool("a", 1, lambda m, p: (m.work.wait(seconds=10 * NS), m.buffers.take(count=1), m.q0.put())),
            Pool("b", 1, lambda m, p: m.me.compute(cycles=10), "me", "q0", idle="poll", poll_cycles=10),
        ],
        Delay("work"), Processor("me", 1, 1e9), BufferPool("buffers", 3), BoundedQueue("q0", 2),
    )  # fmt: skip
    with pytest.raises(SimulationError, match=r"stall: 1 token wait for buffers holding threads\.a"):
        simulate(made, LOAD)


# ---- what is refused


def test_queueing_takes_pools_in_the_order_of_packets_however_they_are_listed():
    def listed(order):
        pools = [stage("a", 40, "q0"), stage("b", 30, "q1", gets="q0"), stage("c", 50, gets="q1")]
        return joined([pools[k] for k in order], Delay("work"), BoundedQueue("q0", 4), BoundedQueue("q1", 4))

    first, second = queueing(listed([0, 1, 2]), LOAD), queueing(listed([2, 0, 1]), LOAD)
    assert (first.rate_pps, first.latency_s.mean) == (second.rate_pps, second.latency_s.mean)


def test_queueing_takes_pools_one_after_the_other():
    """Constant times: the slower stage sets the rate, the other waits for room or for packets."""
    for first_ns, second_ns in ((100, 50), (50, 100)):
        found, answer = queueing(line(first_ns, second_ns), LOAD), simulate(line(first_ns, second_ns), LOAD)
        assert "pools one after the other" in found.approximation
        assert found.rate_pps == pytest.approx(answer.rate_pps, rel=0.02)


def test_pools_slow_each_other_at_a_server_that_they_share():
    """One unit of 10 ns for either: 50 Mpps, of which each pool alone would carry 100 Mpps."""

    def both(name):
        return lambda m, p: m.bus.serve() if name == "b" else (m.bus.serve(), m.q0.put())

    made = joined(
        [Pool("a", 8, both("a")), Pool("b", 8, both("b"), gets="q0")],
        FifoServer("bus", 10 * NS), BoundedQueue("q0", 64),
    )  # fmt: skip
    assert queueing(made, LOAD).rate_pps == pytest.approx(simulate(made, LOAD).rate_pps, rel=0.05)


def test_two_pools_at_one_place_are_left_to_simulation():
    made = joined([stage("a", 100), stage("b", 50)], Delay("work"))
    with pytest.raises(RefusedError, match="pools a and b take packets from one place"):
        bounds(made, LOAD)
    assert simulate(made, LOAD, packets=1600).rate_pps == pytest.approx(3e7, rel=1e-2)


Q = BoundedQueue("q0", 2)
REFUSED = {
    "capacity": (lambda: BoundedQueue("q", 0), "q: capacity must be an integer of at least 1, got 0"),
    "unit": (lambda: BoundedQueue("q", 1, "cells"), "q: unit 'cells' is unknown"),
    "when_full": (lambda: BoundedQueue("q", 1, when_full="dropp"), "q: when_full 'dropp' is unknown (nearest: drop)"),
    "credit": (lambda: BoundedQueue("q", 1, credit_s=1.0), "a time of credits needs when_full 'credits', got 'stall'"),
    "no pool": (lambda: joined([]), "line: a machine needs at least one pool of threads, got none"),
    "two names": (lambda: joined([stage("a", 1), stage("a", 1)]), "line: two pools are called 'a'"),
    "count": (lambda: joined([stage("a", 1), stage("b", 1, count=0)]), "threads of pool 'b' must be an integer"),
    "queue": (lambda: joined([stage("a", 1, "q0"), stage("b", 1, gets="q1")], Q),
              "queue that pool 'b' gets from 'q1' is unknown (nearest: q0)"),
    "nobody gets": (lambda: joined([stage("a", 1, "q0")], Q), "line: no pool gets from queue 'q0'"),
    "no source": (lambda: joined([stage("a", 1, gets="q0")], Q), "no pool gets packets from the receive side"),
    "priority": (lambda: joined([stage("a", 1, priority=16)]), "priority of pool 'a' must be in 0..15, got 16"),
    "idle": (lambda: joined([stage("a", 1, idle="pole")]), "idle threads of pool 'a' 'pole' is unknown (nearest: poll"),
    "poll": (lambda: joined([stage("a", 1, idle="poll")]), "poll_cycles of pool 'a' must be greater than 0"),
    "homeless": (lambda: joined([stage("a", 1, idle="poll", poll_cycles=1)]), "pool 'a' polls and needs a home"),
    "no processor": (lambda: joined([stage("a", 1, idle="poll", poll_cycles=1, home="h")], FifoServer("h", 1.0)),
                     "pool 'a' polls: its home 'h' must be a processor"),
    "sleeps": (lambda: joined([stage("a", 1, poll_cycles=1)]), "pool 'a' sleeps, poll_cycles must be 0, got 1"),
    "no look": (lambda: joined([stage("a", 1, poll_wait_s=1.0)]), "pool 'a' sleeps, poll_wait_s must be 0, got 1.0"),
    "start": (lambda: Start("stagered", 1.0), "start of threads 'stagered' is unknown (nearest: staggered)"),
    "start time": (lambda: Start("random", -1.0), "random start of threads must be a finite time"),
    "window": (lambda: joined([stage("a", 1)], window_s=0.0), "line: window must be greater than 0"),
    "class": (lambda: build(joined([stage("a", 1)], Delay("work")), packets(64, **{"class": [64]})),
              "column 'class' of a workload must be in 0..63, got 64..64"),
    "wire": (lambda: LineCard("card", 0.0), "card: bytes must be a finite rate above 0 per second"),
    "drop": (lambda: LineCard("card", 1.0, when_full="drop"), "card: when_full 'drop' needs buffer_bytes, got None"),
}  # fmt: skip


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises((ModelError, UnknownNameError, InputError)) as error:
        make()
    assert message in str(error.value)


def test_a_queue_that_nobody_fills_is_refused():
    made = joined([stage("a", 1), stage("b", 1, gets="q0")], Delay("work"), Q)
    for ask in (bounds, simulate):
        with pytest.raises(ModelError, match="pool 'b' gets from 'q0', but no pool puts into it"):
            ask(made, LOAD)


def test_work_beside_a_thread_cannot_hand_its_packet_on():
    def aside(m, packet):
        with m.fork():
            m.q0.put()

    made = joined([Pool("a", 1, aside), stage("b", 1, gets="q0")], Delay("work"), Q)
    with pytest.raises(ModelError, match=r"q0\.put must not stand in a fork or a parallel part"):
        build(made, LOAD)


# ---- line cards


def test_a_wire_limits_what_goes_through():
    def program(m, packet):
        m.card.receive(bytes=packet.packet_bytes)
        m.card.send(bytes=packet.packet_bytes)

    for half_duplex, share in ((False, 1.0), (True, 0.5)):
        made = machine([LineCard("card", 125e6, half_duplex=half_duplex)], program, threads=8)
        answer = simulate(made, packets(64, 1500), packets=1600)
        assert answer.throughput_bps == pytest.approx(share * 1e9, rel=1e-2)
        assert bounds(made, packets(64, 1500)).throughput_bps == pytest.approx(share * 1e9)


def test_a_buffered_card_sends_by_itself_and_stalls_when_full():
    def program(m, packet):
        m.card.send(bytes=100)
        m.work.wait(seconds=10 * NS)

    made = machine([LineCard("card", 1e9, buffer_bytes=350), Delay("work")], program)
    answer = simulate(made, packets(100), packets=320)
    assert answer.rate_pps == pytest.approx(1e7, rel=1e-3)
    assert answer.utilization["card.room"].busy == pytest.approx(300 / 350, rel=1e-2)
    assert simulate(made, packets(100), window_s=35 * NS, boot_s=0.0).about["packets"] <= 3  # the first three at once
    too_long = machine([LineCard("card", 1e9, buffer_bytes=99), Delay("work")], program)
    with pytest.raises(ModelError, match="card: 100 bytes never fit into the buffer of 99"):
        bounds(too_long, packets(100))
    with pytest.raises(SimulationError, match=r"deadlock: 1 token wait for card\.room"):
        simulate(too_long, packets(100))


def test_packets_lost_at_a_card_are_not_finished():
    def program(m, packet):
        m.work.wait(seconds=10 * NS)
        m.card.send(bytes=100)

    made = machine([LineCard("card", 1e9, buffer_bytes=200, when_full="drop"), Delay("work")], program)
    answer = simulate(made, packets(100), packets=320)
    assert answer.rate_pps == pytest.approx(1e7, rel=1e-3)
    assert answer.drops["card"] == pytest.approx(9 * 320, abs=10)


def test_a_packet_lost_at_a_card_goes_no_further():
    """A mirror port loses most packets; only the others reach the second pool."""

    def program(m, packet):
        m.work.wait(seconds=10 * NS)
        m.card.send(bytes=100)
        m.q0.put()

    card = LineCard("card", 1e9, buffer_bytes=200, when_full="drop")
    made = joined([Pool("a", 1, program), stage("b", 1, gets="q0")], card, Delay("work"), BoundedQueue("q0", 4))
    answer = simulate(made, packets(100), packets=320)
    assert answer.rate_pps + answer.drops["card"] / answer.about["simulated_s"] == pytest.approx(1e8, rel=1e-2)
    assert answer.rate_pps <= 1e7


@pytest.mark.parametrize("home", ["worker", None])
def test_threads_that_live_elsewhere_share_all_engines(home):
    """Eight threads with two engines to visit: thread k computes on engine k mod 2, not all on the first."""

    def program(m, packet):
        m.parser.compute(cycles=40)
        m.worker.compute(cycles=10)

    pool = Pool("p", 8, program, home=home, start=TOGETHER)
    made = joined([pool], Processor("parser", 2, 1e9), Processor("worker", 8, 1e9))
    found = simulate(made, LOAD, packets=2000)
    assert found.rate_pps == pytest.approx(bounds(made, LOAD).rate_pps, rel=1e-3)  # 2 engines / 40 ns
    with pytest.raises(RefusedError, match="threads of pool 'p' compute on 'parser', which is not their home"):
        ctmc(made, LOAD, phases=1)


def test_a_latency_that_still_grows_is_told_and_one_that_has_settled_is_not():
    """The second pool takes 60 ns where the first takes 50: its queue of 500 is full after 3,000 packets."""
    grows, settled = (simulate(line(50, 60, capacity=500), LOAD, packets=packets) for packets in (1600, 64_000))
    assert grows.about["latency_grew"] > 1
    assert grows.approximation.endswith("% while it was measured, for queues were filling: take more packets")
    assert "latency_grew" not in settled.about
    assert "latency_grew" not in simulate(line(60, 50, capacity=500), LOAD, packets=1600).about


def test_resources_may_be_given_without_a_mapping():
    hash_unit, ingress, pool = FifoServer("hash", 9 * NS), Ingress("receive"), stage("thread", 5)
    parts = [hash_unit, Delay("work")]
    assert dict(Machine("m", pool, ingress, parts).resources)["hash"] is hash_unit
    with pytest.raises(ModelError, match="m: two resources have the name 'hash'"):
        Machine("m", pool, ingress, [*parts, hash_unit])
