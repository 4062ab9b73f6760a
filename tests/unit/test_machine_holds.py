"""Holding servers over other visits: what may be said, what it costs without contention, and when things happen."""

import numpy as np
import pytest
from reference.small_machines import NS, Exponential, dram, machine, packets, solo, told

from npexplore._kernels import engine
from npexplore.engine.model import build
from npexplore.engine.run import run
from npexplore.errors import ModelError, RefusedError, SimulationError, UnknownNameError
from npexplore.machine.machine import RESERVED
from npexplore.machine.program import Give, Priority, Recorder, Take, record, visit
from npexplore.machine.resources import BufferPool, Delay, FifoServer, Lock, Processor
from npexplore.machine.workload import Workload
from npexplore.rows.expressions import Variable
from npexplore.solve.bounds import bounds
from npexplore.solve.queueing_model import queueing
from npexplore.solve.simulate import simulate

LOAD = packets(64)


def servers():
    """Servers to hold: one unit, three units, four members; a lock; a processor shared cycle by cycle; buffers."""
    return [
        FifoServer("bus", 10 * NS), FifoServer("slots", 10 * NS, units=3), FifoServer("bank", 10 * NS, members=4),
        Lock("lock", clock_hz=1e9), Processor("me", 1, 1e9, discipline="ready_every_cycle"), BufferPool("buffers", 9),
        Delay("work"),
    ]  # fmt: skip


def recorded(program):
    return record(program, {r.name: r for r in servers()}, {name: Variable(name) for name in ("packet_bytes", "n")})


# ---- recording


def test_holds_are_steps_in_order():
    def program(m, packet):
        a = m.take("bus")
        b = m.take("slots", units=packet.n)
        m.give(a)
        m.give(b)
        m.give(*m.take_all(("bus", 0), ("bank", packet.n)))
        m.priority(3)

    body = recorded(program)
    assert [type(step) for step in body] == [Take, Take, Give, Give, Take, Give, Give, Priority, Priority]
    assert [len(body[0].holdings), len(body[4].holdings)] == [1, 2]
    assert [body[2].holding.name, body[3].holding.name] == ["'bus'", "'slots'"]
    assert [step.value.value for step in body[-2:]] == [3, 8]  # the next packet begins as every packet


def give_twice(m, p):
    held = m.take("bus")
    m.give(held)
    m.give(held)


def leave_in_loop(m, p):
    with m.loop(3):
        m.take("bus")


def leave_in_branch(m, p):
    with m.branch(p.n > 1, "big"):
        m.take("bus")


def leave_in_otherwise(m, p):
    with m.branch(p.n > 1, "big"):
        pass
    with m.otherwise():
        m.take("bus")


def give_in_branch(m, p):
    held = m.take("bus")
    with m.branch(p.n > 1, "big"):
        m.give(held)


def give_in_loop(m, p):
    held = m.take("bus")
    with m.loop(p.n):
        m.give(held)


def give_in_fork(m, p):
    held = m.take("bus")
    with m.fork():
        m.give(held)


def give_in_part(m, p):
    held = m.take("bus")
    m.parallel(lambda: m.give(held))


def leave_in_fork(m, p):
    with m.fork(m.take("bus")):
        m.work.wait(seconds=0)


def give_after_move(m, p):
    held = m.take("bus")
    with m.fork(held) as moved:
        m.give(moved)
    m.give(held)


def move_inside_branch(m, p):
    held = m.take("bus")
    with m.branch(0.5), m.fork(held) as moved:
        m.give(moved)


def take_too_many(m, p):
    m.take("slots", units=2)
    m.take("slots", units=2)


def acquire_twice(m, p):
    m.lock.acquire()
    m.lock.acquire()


def release_in_branch(m, p):
    m.lock.acquire()
    with m.branch(0.5, "coin"):
        m.lock.release()


OTHER = []


def given_elsewhere(m, p):
    OTHER.append(m.take("bus"))
    m.give(OTHER[0])
    OTHER[0].state = "held"  # as one that another recording left behind
    m.give(OTHER.pop())


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (give_twice, "'bus' cannot be given: it was given before"),
        (given_elsewhere, "'bus' was not taken in this program, or outside the fork that gives it"),
        (lambda m, p: m.give("bus"), "what is given must come from m.take or m.take_all, got 'bus'"),
        (lambda m, p: m.give(None), "what is given must come from m.take or m.take_all, got None"),
        (lambda m, p: m.take("bus"), "'bus' is still held at the end of the program"),
        (leave_in_loop, "'bus' is still held at the end of a loop"),
        (leave_in_branch, "'bus' is still held at the end of branch 'big'"),
        (leave_in_otherwise, "'bus' is still held at the end of the other side of branch 'big'"),
        (leave_in_fork, "'bus' is still held at the end of a fork"),
        (lambda m, p: m.parallel(lambda: m.take("bus")), "'bus' is still held at the end of a parallel part"),
        (give_in_branch, "'bus' was taken in the program and is given in another block; both must be in one block"),
        (give_in_loop, "'bus' was taken in the program and is given in another block"),
        (give_in_fork, "'bus' was not taken in this program, or outside the fork that gives it"),
        (give_in_part, "'bus' was taken in the program and is given in another block"),
        (give_after_move, "'bus' cannot be given: it was moved into a fork before"),
        (move_inside_branch, "'bus' was taken in the program and is given in another block"),
        (lambda m, p: m.take("buss"), "server 'buss' is unknown (nearest: bus)"),
        (lambda m, p: m.take("me"), "server 'me' is unknown"),
        (lambda m, p: m.take("buffers"), "server 'buffers' is unknown"),
        (lambda m, p: m.take("bank"), "take of 'bank' needs member=...: there are 4"),
        (lambda m, p: m.take("bank", member=4), "take of 'bank': member must be an integer in 0..3, got 4"),
        (lambda m, p: m.take("bus", member=-1), "take of 'bus': member must be an integer in 0..0, got -1"),
        (lambda m, p: m.take("slots", units=4), "take of 'slots': units must be an integer in 1..3, got 4"),
        (lambda m, p: m.take("slots", units=0), "take of 'slots': units must be an integer in 1..3, got 0"),
        (lambda m, p: m.take("slots", units=1.5), "take of 'slots': units must be an integer in 1..3, got 1.5"),
        (lambda m, p: m.take("bus", key=1), "take of 'bus' has a key, but its line is first come first served"),
        (take_too_many, "take of 'slots': the packet would hold 4 of 3 and wait for itself"),
        (lambda m, p: m.take_all(("bank", 1), ("bank", 1)), "take_all needs different members, each once, got"),
        (lambda m, p: m.take_all(), "take_all needs different members, each once, got []"),
        (lambda m, p: m.take_all(("bus", 0), ("buns", 0)), "server 'buns' is unknown (nearest: bus, bank)"),
        (lambda m, p: m.priority(16), "priority must be in 0..15, got 16"),
        (lambda m, p: m.lock.release(), "lock is given, but was not taken"),
        (lambda m, p: m.lock.acquire(), "lock is still held at the end of the program"),
        (lambda m, p: m.lock.acquire(5), "lock.acquire takes its operands by name: none"),
        (acquire_twice, "lock is held already: the packet would wait for itself"),
        (release_in_branch, "lock was taken in the program and is given in another block"),
    ],
)  # fmt: skip
def test_holds_that_cannot_be_meant_are_refused_while_recording(program, message):
    with pytest.raises(UnknownNameError if "unknown" in message else ModelError) as error:
        recorded(program)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_words_of_the_recorder_are_no_names_of_resources():
    assert {"take", "take_all", "give", "priority"} <= RESERVED & set(dir(Recorder))
    with pytest.raises(ModelError, match="no resource can be called 'take': programs use that word"):
        machine([Delay("take")], lambda m, p: None)


def test_two_of_different_members_may_be_held():
    def program(m, packet):
        m.give(m.take("bank", member=0), m.take("bank", member=1))

    assert len(recorded(program)) == 4


# ---- what a description of packets makes wrong


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (lambda m, p: m.give(m.take("slots", units=p.n)), "take of 'slots': units of slots must be in 1..3, got 4"),
        (lambda m, p: m.give(m.take("slots", units=p.n * -1)), "units of slots must be in 1..3, got -2"),
        (lambda m, p: m.give(m.take("bank", member=p.n)), "take of 'bank': bank has members 0..3, got 4"),
        (lambda m, p: m.give(*m.take_all(("bank", p.n - 2), ("bank", 0))), "must be of different members"),
        (lambda m, p: m.give(m.take("slots", units=m.draw(3, "x"))), "must not depend on a random choice"),
        (lambda m, p: m.buffers.take(count=p.n * 3), "buffers.take: units of buffers must be in 0..9, got 12"),
    ],
)  # fmt: skip
def test_operands_outside_are_refused_by_bounds(program, message):
    with pytest.raises(ModelError, match=message):
        bounds(machine(servers(), program), packets(64, 64, n=[2, 4]))


def test_operands_outside_end_a_simulation():
    for program, message in (
        (lambda m, p: m.give(m.take("bank", member=p.n)), "take of 'bank': bank has members 0..3"),
        (lambda m, p: m.give(m.take("slots", units=p.n)), "wait for slots"),
    ):
        with pytest.raises(SimulationError, match=message):
            simulate(machine(servers(), program), packets(64, n=[4]))


def test_more_holds_than_the_engine_has_slots():
    def program(m, packet):
        m.give(*[m.take("bank", member=k) for k in range(4)], *[m.take(f"s{k}") for k in range(5)])

    made = machine([*servers(), *(FifoServer(f"s{k}", NS) for k in range(5))], program)
    with pytest.raises(ModelError, match=f"take of 's4': a token holds more than {engine.SLOTS} things at once"):
        build(made, LOAD)


# ---- demands of holds


def both(program, *resources, load=LOAD):
    """Demands, which one thread's simulation must confirm."""

    def and_wait(m, packet):
        program(m, packet)
        m.work.wait(seconds=5000 * NS)

    made = machine([*servers(), *resources], and_wait)
    found, seen = told(made, load), solo(made, load)
    assert found.latency == pytest.approx(seen.latency, rel=1e-9)
    assert {n: s for n, s in seen.servers.items() if s > 0} == pytest.approx(
        {n: d.seconds for n, d in found.servers.items() if d.seconds > 0}, rel=1e-9
    )
    assert sum(found.spent.values()) - sum(found.overlap.values()) == pytest.approx(found.latency)
    return found


def work(m, ns):
    m.work.wait(seconds=ns * NS)


def test_demand_is_the_time_from_take_to_give():
    def program(m, packet):
        a = m.take("bus")
        work(m, 10)
        b = m.take("slots", units=2)
        m.bank.serve(member=1)
        m.give(a)
        work(m, 30)
        m.give(b)

    found = both(program)
    assert found.servers["bus"].seconds == pytest.approx(20 * NS)  # over work and bank
    assert found.own("bus") == pytest.approx(10 * NS)
    assert found.servers["slots"].seconds == pytest.approx(2 * 40 * NS)
    assert found.own("slots") == pytest.approx(30 * NS)
    assert found.own("bank") == pytest.approx(10 * NS)
    assert found.sections["bus"].crossed == {"slots"}
    assert found.servers["bus"].visits == 1
    limits = bounds(machine(servers(), lambda m, p: program(m, p)), LOAD).about
    assert limits["ceiling_pps.bus"] == pytest.approx(1 / (20 * NS))
    assert limits["ceiling_pps.slots"] == pytest.approx(3 / (80 * NS))


def test_holds_over_loops_and_branches():
    def program(m, packet):
        a = m.take("bus")
        with m.loop(packet.n) as i:
            b = m.take("bank", member=i)
            with m.branch(i > 0):
                work(m, 10)
            with m.otherwise():
                work(m, 3)
            m.give(b)
        m.give(a)

    found = both(program, load=packets(64, 64, n=[1, 3]))
    assert found.servers["bus"].seconds == pytest.approx((3 + 23) / 2 * NS)
    assert found.own("bus") == 0  # all of it at the banks, which are held meanwhile
    assert found.servers["bank"].members == pytest.approx({0: 3 * NS, 1: 5 * NS, 2: 5 * NS})
    assert found.own("bank") == pytest.approx(13 * NS)


def test_holds_where_no_packet_comes():
    def program(m, packet):
        with m.branch(packet.n > 9):
            a = m.take("bus")
            b = m.take("slots", units=packet.n)
            with m.fork(a) as moved:
                m.give(moved)
            m.give(b)
        work(m, 10)

    found = both_but_delay(program, packets(64, n=[1]))
    assert (found.servers["bus"].seconds, found.servers["slots"].visits) == (0, 0)


def test_a_fork_takes_a_hold_along():
    def program(m, packet):
        a = m.take("bus")
        work(m, 10)
        with m.fork(a) as moved:
            work(m, 40)
            m.give(moved)
        work(m, 5)

    found = both_but_delay(program)
    assert found.servers["bus"].seconds == pytest.approx(50 * NS)
    assert found.latency == pytest.approx(5015 * NS)
    assert found.sections["bus"].outlives


def both_but_delay(program, load=LOAD):
    """As `both`, for programs that do things side by side."""

    def and_wait(m, packet):
        program(m, packet)
        work(m, 5000)

    made = machine(servers(), and_wait)
    found, seen = told(made, load), solo(made, load)
    assert found.latency == pytest.approx(seen.latency, rel=1e-9)
    assert {n: s for n, s in seen.servers.items() if s > 0} == pytest.approx(
        {n: d.seconds for n, d in found.servers.items() if d.seconds > 0}, rel=1e-9
    )
    return found


def test_a_hold_over_parallel_parts_lasts_as_long_as_the_longest():
    def program(m, packet):
        a = m.take("bus")
        m.parallel(lambda: work(m, 10), lambda: work(m, 25))
        m.give(a)

    assert both_but_delay(program).servers["bus"].seconds == pytest.approx(25 * NS)


def test_a_branch_by_chance_counts_by_its_share():
    def program(m, packet):
        a = m.take("bus")
        with m.branch(0.25, "coin"):
            b = m.take("slots")
            work(m, 40)
            m.give(b)
        m.give(a)

    found = told(machine(servers(), program), LOAD)
    assert found.servers["bus"].seconds == pytest.approx(10 * NS)
    assert found.servers["slots"].seconds == pytest.approx(10 * NS)
    assert found.sections["slots"].at_a_time == 1


def test_buffers_are_a_packet_s_until_each_is_given_back():
    def program(m, packet):
        with m.loop(packet.n):
            m.buffers.take(count=1)
            work(m, 10)
        with m.loop(packet.n):
            work(m, 3)
            m.buffers.give(count=1)

    found = both(program, load=packets(64, n=[3]))
    by_hand = sum((30 + 3 * (k + 1)) - 10 * k for k in range(3))
    assert found.servers["buffers"].seconds == pytest.approx(by_hand * NS)
    assert found.sections["buffers"].scattered
    assert found.sections["buffers"].in_all == 3


@pytest.mark.parametrize(
    "program",
    [
        lambda m, p: m.buffers.take(count=1),
        lambda m, p: m.buffers.give(count=1),
        lambda m, p: (m.buffers.give(count=1), work(m, 10), m.buffers.take(count=1)),
        lambda m, p: m.parallel(lambda: m.buffers.take(count=1), lambda: m.buffers.give(count=1)),
    ],
)
def test_buffers_whose_way_back_is_not_known_set_no_bound(program):
    found = told(machine(servers(), lambda m, p: (program(m, p), work(m, 10))), LOAD)
    assert "buffers" not in found.servers
    assert found.own("") == pytest.approx(found.latency)


def test_buffers_given_by_a_fork():
    def program(m, packet):
        m.buffers.take(count=2)
        work(m, 10)
        with m.fork():
            work(m, 20)
            m.buffers.give(count=2)

    found = both_but_delay(program)
    assert found.servers["buffers"].seconds == pytest.approx(60 * NS)
    assert found.sections["buffers"].outlives


def test_few_buffers_are_the_bottleneck():
    def program(m, packet):
        m.buffers.take(count=3)
        m.bus.serve()
        work(m, 90)
        m.buffers.give(count=3)

    made = machine(servers(), program, threads=32)
    limit, answer = bounds(made, LOAD), simulate(made, LOAD, packets=3000)
    assert (limit.bottleneck, answer.bottleneck) == ("buffers", "buffers")
    assert limit.rate_pps == pytest.approx(3 / (100 * NS))
    assert answer.rate_pps == pytest.approx(limit.rate_pps, rel=0.005)


# ---- when things happen


def schedule(program, arrivals_ns, *resources, threads=4, names=("bus", "slots")):
    """(time in ns, server, units taken or given) of every event at these servers, for packets that arrive at times."""
    n = len(arrivals_ns)
    load = Workload("trace", {"packet_bytes": np.full(n, 64)}, "timestamps", t_ns=np.array(arrivals_ns))

    def with_room(m, packet):
        m.receive.free(bytes=64)
        program(m, packet)

    model = build(machine([*servers(), *resources], with_room, threads=threads), load)
    numbers = {number: name for name, (_, number) in model.servers.items() if name in names}
    log = run(model, 1, n, 1, log_rows=1000).log
    return [(int(t) // 1000, numbers[r], int(change)) for t, r, change, _ in log.tolist() if r in numbers]


def test_two_overlapping_holds_event_for_event():
    def program(m, packet):
        a = m.take("bus")
        work(m, 10)
        b = m.take("slots", units=3)
        work(m, 20)
        m.give(a)
        work(m, 30)
        m.give(b)

    assert schedule(program, [2000, 2005, 2010]) == [
        (2000, "bus", 1), (2010, "slots", 3), (2030, "bus", -1),
        (2030, "bus", 1),  # the second packet; at 2040 it waits for the slots
        (2060, "slots", -3), (2060, "slots", 3), (2080, "bus", -1),
        (2080, "bus", 1), (2110, "slots", -3), (2110, "slots", 3), (2130, "bus", -1), (2160, "slots", -3),
    ]  # fmt: skip


def test_all_or_none_event_for_event():
    """The second packet takes the bus alone; the third waits for both and holds nothing meanwhile."""

    def program(m, packet):
        first = m.turn(2, "kind")
        with m.branch(first == 0):
            held = m.take_all(("bus", 0), ("slots", 0))
            work(m, 50)
            m.give(*held)
        with m.otherwise():
            bus = m.take("bus")
            work(m, 20)
            m.give(bus)

    assert schedule(program, [2000, 2010, 2020, 2030]) == [
        (2000, "bus", 1), (2000, "slots", 1),
        (2050, "bus", -1), (2050, "bus", 1),  # the second; the pool of the third is scanned after the line
        (2050, "slots", -1),
        (2070, "bus", -1), (2070, "bus", 1),  # the fourth stood in the line of the bus, the third in none
        (2090, "bus", -1), (2090, "bus", 1), (2090, "slots", 1), (2140, "bus", -1), (2140, "slots", -1),
    ]  # fmt: skip


def test_a_hold_in_a_fork_event_for_event():
    def program(m, packet):
        a = m.take("bus")
        work(m, 10)
        with m.fork(a) as moved:
            work(m, 20)
            m.give(moved)
        b = m.take("slots", units=3)
        work(m, 5)
        m.give(b)

    assert schedule(program, [2000, 2001]) == [
        (2000, "bus", 1), (2010, "slots", 3), (2015, "slots", -3), (2030, "bus", -1),
        (2030, "bus", 1), (2040, "slots", 3), (2045, "slots", -3),
    ]  # fmt: skip


def test_priority_goes_first_among_simultaneous():
    """All wake at 2050 and want the bus; the later packets have the smaller number."""

    def order(with_priority):
        def run_it(m, packet):
            rank = m.turn(3, "rank")
            if with_priority:
                m.priority(9 - rank)
            m.work.wait(seconds=(50 - rank) * NS)
            held = m.take("slots", units=rank + 1)
            m.give(held)

        return [u for _, _, u in schedule(run_it, [2000, 2001, 2002], names=("slots",)) if u > 0]

    assert order(False) == [1, 2, 3]
    assert order(True) == [3, 2, 1]


# ---- the lock


def locked(kind="suspend", section_ns=10, **costs):
    def program(m, packet):
        m.lock.acquire()
        work(m, section_ns)
        m.lock.release()

    return Lock("lock", kind, clock_hz=1e9, **costs), program


def lock_schedule(lock, program, arrivals_ns, *resources):
    """As `schedule`, for machines with this lock."""
    n = len(arrivals_ns)
    load = Workload("trace", {"packet_bytes": np.full(n, 64)}, "timestamps", t_ns=np.array(arrivals_ns))

    def with_room(m, packet):
        m.receive.free(bytes=64)
        program(m, packet)

    model = build(machine([lock, Delay("work"), *resources], with_room, threads=4), load)
    numbers = {number: name for name, (_, number) in model.servers.items() if not name.startswith("receive")}
    log = run(model, 1, n, 1, log_rows=1000).log
    return [(int(t) // 1000, numbers[r], int(change)) for t, r, change, _ in log.tolist() if r in numbers]


def test_a_release_costs_more_the_more_sleep():
    """4 cycles to acquire, 5 to release; with n asleep 3 + 2 n more."""
    lock, program = locked(acquire_cycles=4, release_cycles=5, wake_cycles=3, waiter_cycles=2)
    assert lock_schedule(lock, program, [2000, 2001, 2002]) == [
        (2004, "lock", 1),
        (2026, "lock", -1), (2026, "lock", 1),  # 10 of the section, 5 + 3 + 2 x 2
        (2046, "lock", -1), (2046, "lock", 1),  # 10, 5 + 3 + 2 x 1
        (2061, "lock", -1),  # 10, 5
    ]  # fmt: skip


def test_sleepers_are_scanned_in_a_memory():
    """Each of those asleep costs a visit of 7 ns to the memory, one after the other."""
    ram = FifoServer("ram", 7 * NS)
    lock, program = locked(memory=visit(ram, "serve"))
    assert lock_schedule(lock, program, [2000, 2001, 2002], ram) == [
        (2000, "lock", 1), (2010, "ram", 1), (2017, "ram", -1), (2017, "ram", 1), (2024, "ram", -1),
        (2024, "lock", -1), (2024, "lock", 1), (2034, "ram", 1), (2041, "ram", -1),
        (2041, "lock", -1), (2041, "lock", 1), (2051, "lock", -1),
    ]  # fmt: skip


def test_a_spin_lock_is_polled():
    """A poll takes 2 ns of the memory, then a gap of 5; whoever polls first after the release has it."""
    ram = FifoServer("ram", 2 * NS)
    lock, program = locked("spin", 10, gap_cycles=5, memory=visit(ram, "serve"))
    events = lock_schedule(lock, program, [2000, 2001], ram)
    polls = [t for t, name, change in events if name == "ram" and change < 0]
    # first: poll done 2002, store done 2014; second: polls done 2004, 2011, 2018 (free), store 2018 + 10 + 2
    assert polls == [2002, 2004, 2011, 2014, 2018, 2030]
    assert [event for event in events if event[1] == "lock"] == [
        (2002, "lock", 1), (2014, "lock", -1), (2018, "lock", 1), (2030, "lock", -1),
    ]  # fmt: skip


def test_lock_operations_on_a_processor_keep_it_busy():
    me = Processor("me", 1, 1e9)
    lock = Lock("lock", processor=me, acquire_cycles=4, release_cycles=6)

    def program(m, packet):
        m.lock.acquire()
        m.lock.release()
        m.work.wait(seconds=5000 * NS)

    made = machine([lock, me, Delay("work")], program, home="me")
    found, seen = told(made, LOAD), solo(made, LOAD)
    assert found.latency == seen.latency == pytest.approx(5010 * NS)
    assert seen.servers["me"] == pytest.approx(found.servers["me"].seconds) == pytest.approx(10 * NS)
    assert seen.servers["lock"] == pytest.approx(found.servers["lock"].seconds) == pytest.approx(6 * NS)
    assert found.own("lock") == 0  # the processor works meanwhile


RAM = FifoServer("ram", 0.0)


def polled_in_no_time():
    def program(m, packet):
        m.l.acquire()
        m.l.release()

    return [Lock("l", "spin", clock_hz=1e9, memory=visit(RAM, "serve")), RAM], program


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Lock("l"), "l: a lock needs clock_hz or a processor, and not both, got None"),
        (lambda: Lock("l", clock_hz=1e9, processor=Processor("me", 1, 1e9)), "and not both, got 1000000000.0"),
        (lambda: Lock("l", "mutex", clock_hz=1e9), "l: kind 'mutex' is unknown"),
        (lambda: Lock("l", "spin", clock_hz=1e9), "l: a spin lock needs memory=visit(...): what each poll visits"),
        (lambda: Lock("l", "spin", clock_hz=1e9, wake_cycles=1, memory=visit(RAM, "serve")),
         "wake_cycles and waiter_cycles belong to suspend"),
        (lambda: Lock("l", clock_hz=1e9, waiter_cycles=1, idle=visit(RAM, "serve")),
         "l: idle belongs to suspend, without memory and waiter_cycles"),
        (lambda: Lock("l", clock_hz=1e9, wake_visits=1), "l: wake_visits are visits of idle=visit(...)"),
        (lambda: Lock("l", clock_hz=1e9, gap_cycles=5), "l: gap_cycles belongs to spin"),
        (lambda: bounds(machine(*polled_in_no_time()), LOAD), "l: polls must take time"),
        (lambda: Lock("l", clock_hz=1e9, acquire_cycles=-1), "l: acquire_cycles must be an integer of at least 0"),
        (lambda: Lock("l", clock_hz=0.0), "l: clock must be a finite rate above 0"),
        (lambda: visit(RAM, "read"), "visit of resource 'ram' 'read' is unknown"),
        (lambda: visit(BufferPool("b", 2), "take"), "b.take needs the operand 'count'"),
    ],
)  # fmt: skip
def test_impossible_locks_are_refused(make, message):
    with pytest.raises(ModelError if "unknown" not in message else UnknownNameError) as error:
        make()
    assert message in str(error.value)


def test_what_a_lock_visits_must_be_in_the_machine():
    lock, program = locked("spin", gap_cycles=5, memory=visit(FifoServer("ram", NS), "serve"))
    for others in ([], [FifoServer("ram", NS)]):  # none, or another of that name
        with pytest.raises(ModelError, match="lock visits 'ram', which is not a resource of this machine"):
            bounds(machine([lock, Delay("work"), *others], program), LOAD)


# ---- queueing: exact, named or refused


def refused(program, *resources, threads=4):
    with pytest.raises(RefusedError) as error:
        queueing(machine([*servers(), Exponential("disk", 30 * NS), *resources], program, threads=threads), LOAD)
    return str(error.value)


def crossing(m, packet):
    a = m.take("bus")
    work(m, 1)
    b = m.take("slots")
    m.give(a)
    work(m, 1)
    m.give(b)


def inside_and_outside(m, packet):
    m.disk.serve()
    a = m.take("bus")
    m.disk.serve()
    m.give(a)


def different_units(m, packet):
    for units in (1, 2):
        a = m.take("slots", units=units)
        work(m, 10)
        m.give(a)


def one_by_one(m, packet):
    a = m.take("slots")
    b = m.take("slots")
    work(m, 10)
    m.give(b)
    m.give(a)


def scattered(m, packet):
    with m.loop(3):
        m.buffers.take(count=1)
    m.disk.serve()
    m.buffers.give(count=3)


def held_and_visited(m, packet):
    a = m.take("bus")
    m.disk.serve()
    m.give(a)
    m.bus.serve()


def members_over_others(m, packet, member=None):
    a = m.take("bank", member=m.draw(4, "bank") if member is None else member)
    m.disk.serve()
    m.give(a)


def one_member_over_others(m, packet):
    members_over_others(m, packet, 0)


def inside_here_and_outside_there(m, packet):
    a = m.take("bus")
    m.lock.acquire()
    work(m, 5)
    m.lock.release()
    m.give(a)
    m.lock.acquire()
    m.lock.release()
    m.lock.acquire()
    work(m, 5)
    m.lock.release()


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (crossing, "queueing: holds of 'bus' and 'slots' overlap, neither inside the other"),
        (one_by_one, "queueing: packets take units of 'slots' while they hold some"),
        (scattered, "queueing: units of 'buffers' are taken and given in different places of the program"),
        (held_and_visited, "queueing: 'bus' is held during other work, and also visited directly"),
        (one_member_over_others, "queueing: members of 'bank', which differ, are held over disk"),
    ],
)
def test_holds_that_queueing_refuses_by_name(program, message):
    assert refused(program) == f"{message}; use `estimate`"


@pytest.mark.parametrize("threads", [2, 4, 16])
@pytest.mark.parametrize("program", [inside_and_outside, inside_here_and_outside_there, members_over_others])
def test_holds_over_what_others_visit_too(program, threads):
    """What is left open is the simulation's interval: a server that all packets pass is full."""
    made = machine([*servers(), Exponential("disk", 30 * NS)], program, threads=threads)
    answer = queueing(made, LOAD)
    assert answer.rate_pps == pytest.approx(simulate(made, LOAD, packets=8000).rate_pps, rel=0.015)


@pytest.mark.parametrize(("threads", "near"), [(2, 0.15), (4, 0.12), (16, 0.12)])
def test_units_taken_in_different_numbers_count_as_their_mean(threads, near):
    """Of 1 and 2 of the units by turns: who wants two waits at the head of the line although one is free.

    Queueing takes numbers for chance. Two threads fall in step instead, one with 1 while the other has 2: 14 % more.
    """
    made = machine([*servers(), Exponential("disk", 30 * NS), Delay("work")], different_units, threads=threads)
    found, answer = queueing(made, LOAD), simulate(made, LOAD, packets=8000)
    assert "units of slots as their mean" in found.approximation
    assert found.rate_pps == pytest.approx(answer.rate_pps, rel=near)


def test_queueing_refuses_a_lock_that_scans_its_waiters():
    ram = FifoServer("ram", NS)
    lock, program = locked(memory=visit(ram, "serve"))
    with pytest.raises(RefusedError, match="queueing: 'lock' scans those who wait, in ram"):
        queueing(machine([lock, ram, Delay("work")], program, threads=2), LOAD)
    assert queueing(machine([lock, ram, Delay("work")], program, threads=1), LOAD).rate_pps > 0  # nobody waits


@pytest.mark.parametrize(("threads", "near"), [(1, 1e-9), (4, 0.04), (8, 0.03), (16, 0.01)])
def test_who_spins_is_in_the_way_of_who_has_the_lock(threads, near):
    """Looks of 2 ns, gaps of 5, sections of 10: sixteen who look take the memory from the one who gives it back."""
    ram = FifoServer("ram", 2 * NS)
    lock, program = locked("spin", gap_cycles=5, memory=visit(ram, "serve"))
    made = machine([lock, ram, Delay("work")], program, threads=threads)
    answer = queueing(made, LOAD)
    assert answer.rate_pps == pytest.approx(simulate(made, LOAD, packets=8000).rate_pps, rel=near)
    assert ("as a loop of looks" in answer.approximation) == (threads > 1)


def test_a_hold_nobody_waits_for_is_no_station():
    """One thread, or buffers for all: holds of any shape are answered, and what is held is a delay."""
    made = machine(servers(), crossing, threads=1)
    answer = queueing(made, LOAD)
    assert answer.rate_pps == pytest.approx(1 / (2 * NS))
    assert answer.approximation == "deterministic event graph"
    assert refused(scattered).endswith("of the program; use `estimate`")
    assert queueing(machine([*servers(), Exponential("disk", 30 * NS)], scattered, threads=3), LOAD).rate_pps == (
        pytest.approx(1 / (30 * NS))
    )


def test_holds_inside_holds_are_levels():
    def program(m, packet):
        m.buffers.take(count=3)  # three packets at a time
        m.lock.acquire()  # one of them
        m.disk.serve()
        m.lock.release()
        m.dram.read(bytes=64, bank=m.draw(4, "bank"))
        m.buffers.give(count=3)
        work(m, 100)

    made = machine([*servers(), Exponential("disk", 30 * NS), dram()], program, threads=12)
    answer = queueing(made, LOAD)
    assert "flow-equivalent station for buffers, lock, dram.slots" in answer.approximation
    assert answer.rate_pps < bounds(made, LOAD).rate_pps
    assert 0.75 < answer.rate_pps / simulate(made, LOAD, packets=8000).rate_pps < 1  # constant service is better
