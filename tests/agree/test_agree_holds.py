"""Holds and locks: simulation and queueing against closed forms and exact chains; the roofline above both.

Tolerances of simulations are four standard errors of the replications, and 2 % where a formula is itself approximate.
"""

from math import comb

import numpy as np
import pytest
from reference.markov import stationary
from reference.small_machines import NS, Exponential, dram, machine, packets

from npexplore.machine.program import visit
from npexplore.machine.resources import BufferPool, Delay, FifoServer, Lock
from npexplore.solve.bounds import bounds
from npexplore.solve.queueing_model import queueing
from npexplore.solve.simulate import simulate

LOAD = packets(64)
SEEDS = range(1, 7)


def replicated(made, packets=20_000, value=lambda answer: answer.rate_pps):
    """Mean over seeds and four standard errors."""
    values = np.array([value(simulate(made, LOAD, seed=seed, packets=packets)) for seed in SEEDS])
    return float(values.mean()), 4 * float(values.std(ddof=1)) / len(values) ** 0.5


def repairman(threads, think, service):
    """Throughput of a finite source: threads that think (exponential), one server of mean service(n) with n there."""
    p = np.ones(threads + 1)
    for n in range(1, threads + 1):
        p[n] = p[n - 1] * (threads - n + 1) / think * service(n)
    p /= p.sum()
    return sum(p[n] / service(n) for n in range(1, threads + 1))


def locked(threads, lock, section_ns=30, think_ns=200):
    """Threads that think, then hold a lock for an exponential time; nobody waits for anything but the lock."""
    parts = [Exponential("section", section_ns * NS, units=threads), Exponential("think", think_ns * NS, units=threads)]

    def program(m, packet):
        m.think.serve()
        m.lock.acquire()
        m.section.serve()
        m.lock.release()

    return machine([lock, *parts], program, threads=threads)


@pytest.mark.parametrize("threads", [1, 4, 9, 20])
def test_a_lock_is_a_machine_repairman(threads):
    made = locked(threads, Lock("lock", clock_hz=1e9))
    exact = repairman(threads, 200 * NS, lambda n: 30 * NS)
    assert queueing(made, LOAD).rate_pps == pytest.approx(exact, rel=1e-9)
    rate, error = replicated(made)
    assert rate == pytest.approx(exact, abs=error)
    assert error < 0.02 * exact
    assert exact <= bounds(made, LOAD).rate_pps * (1 + 1e-12)
    busy, error = replicated(made, value=lambda answer: answer.utilization["lock"].busy)
    assert busy == pytest.approx(exact * 30 * NS, abs=error)


@pytest.mark.parametrize("threads", [5, 20])
def test_a_held_server_is_a_lock(threads):
    """`take` and `give` of a server do what a lock does that costs nothing."""
    parts = [Exponential("section", 30 * NS, units=threads), Exponential("think", 200 * NS, units=threads)]

    def program(m, packet):
        m.think.serve()
        held = m.take("bus")
        m.section.serve()
        m.give(held)

    made = machine([FifoServer("bus", NS), *parts], program, threads=threads)
    other = locked(threads, Lock("lock", clock_hz=1e9))
    assert simulate(made, LOAD, packets=2000).rate_pps == simulate(other, LOAD, packets=2000).rate_pps
    assert queueing(made, LOAD).rate_pps == pytest.approx(queueing(other, LOAD).rate_pps, rel=1e-12)


def hand_over_chain(threads, think, section, wake, per_waiter):
    """Exact throughput: the number left behind at each release is a Markov chain.

    A section of exponential length, in which threads arrive; then, with n asleep, a hand-over of wake + n per_waiter,
    in which more arrive (each that thinks with probability 1 - exp(-length / think)).
    """
    states = range(threads)  # asleep when the next holder gets the lock, or 0 if nobody is there
    grow = np.zeros((threads, threads))  # asleep at the end of the section from asleep at its begin
    for first in states:
        at = 1.0
        for n in range(first, threads):
            away = threads - 1 - n
            done = (1 / section) / (1 / section + away / think)
            grow[first, n] = at * done
            at *= 1 - done
    step, length = np.zeros((threads, threads)), np.zeros(threads)
    for n in states:
        extra = wake * (n > 0) + per_waiter * n
        away = threads - 1 - n
        arrives = 1 - np.exp(-extra / think)
        length[n] = section + extra
        for more in range(away + 1):
            chance = comb(away, more) * arrives**more * (1 - arrives) ** (away - more)
            left = n + more
            if left:
                step[n, left - 1] += chance
            else:  # the lock is free until the first of all threads comes
                step[n, 0] += chance
                length[n] += chance * think / threads
    return 1 / float(stationary(grow @ step) @ grow @ length)


@pytest.mark.parametrize(
    ("threads", "wake", "per_waiter"), [(4, 0, 2), (8, 10, 0), (8, 5, 3), (12, 0, 4), (16, 20, 5), (24, 0, 10)]
)
def test_a_lock_that_costs_more_with_more_waiters(threads, wake, per_waiter):
    made = locked(threads, Lock("lock", clock_hz=1e9, wake_cycles=wake, waiter_cycles=per_waiter))
    exact = hand_over_chain(threads, 200 * NS, 30 * NS, wake * NS, per_waiter * NS)
    rate, error = replicated(made)
    assert rate == pytest.approx(exact, abs=error)
    assert error < 0.02 * exact
    load_dependent = repairman(threads, 200 * NS, lambda n: (30 + wake * (n > 1) + per_waiter * (n - 1)) * NS)
    answer = queueing(made, LOAD)
    assert answer.rate_pps == pytest.approx(load_dependent, rel=1e-9)
    assert "load-dependent station for lock" in answer.approximation
    assert load_dependent == pytest.approx(exact, rel=0.02)
    assert rate < bounds(made, LOAD).rate_pps + error


def test_throughput_falls_where_hand_over_takes_longest():
    """With think times of 200 ns and hand-over of 40 ns a sleeper, more threads forward less; without it, more."""
    rates = {
        cost: [
            simulate(locked(n, Lock("lock", clock_hz=1e9, waiter_cycles=cost)), LOAD, packets=4000).rate_pps
            for n in (4, 12, 24)
        ]
        for cost in (0, 40)
    }
    assert rates[0][0] < rates[0][1] < rates[0][2] * 1.01
    assert rates[40][0] > 1.5 * rates[40][1] > 1.5 * 1.5 * rates[40][2]
    answer = queueing(locked(24, Lock("lock", clock_hz=1e9, waiter_cycles=40)), LOAD)
    assert answer.bottleneck == "lock"
    assert answer.utilization["lock"].busy == pytest.approx(1, abs=0.01)


# ---- limits on the number of packets


def limited(threads, buffers, each=1, think_ns=0):
    """Two exponential servers, 30 and 50 ns, while buffers are held; then a think time without."""
    parts = [Exponential("a", 30 * NS), Exponential("b", 50 * NS), Exponential("think", think_ns * NS, units=threads)]

    def program(m, packet):
        m.buffers.take(count=each)
        m.a.serve()
        m.b.serve()
        m.buffers.give(count=each)
        if think_ns:
            m.think.serve()

    return machine([BufferPool("buffers", buffers), *parts], program, threads=threads)


def two_servers(customers, a, b):
    """Throughput of a closed ring of two exponential servers, by its normalising constants."""
    constant = [sum(a**k * b ** (n - k) for k in range(n + 1)) for n in range(customers + 1)]
    return constant[customers - 1] / constant[customers]


@pytest.mark.parametrize(("buffers", "each"), [(1, 1), (3, 1), (7, 2), (40, 1)])
def test_buffers_limit_the_packets_under_way(buffers, each):
    """Threads that always have a packet: as many are under way as there are buffers for, exactly."""
    made = limited(10, buffers, each)
    exact = two_servers(min(10, buffers // each), 30 * NS, 50 * NS)
    assert queueing(made, LOAD).rate_pps == pytest.approx(exact, rel=1e-9)
    rate, error = replicated(made)
    assert rate == pytest.approx(exact, abs=error)
    assert error < 0.02 * exact
    assert exact <= bounds(made, LOAD).rate_pps * (1 + 1e-12)


@pytest.mark.parametrize("buffers", [1, 2, 4])
def test_flow_equivalent_servers_of_held_buffers(buffers):
    made = limited(12, buffers, think_ns=300)
    answer = queueing(made, LOAD)
    assert "flow-equivalent station for buffers" in answer.approximation
    rate, _ = replicated(made)
    assert answer.rate_pps == pytest.approx(rate, rel=0.02)


def test_a_hold_around_a_limit_is_a_level_more():
    """Two packets at a time may be at the DRAM, of which the controller takes eight: never more than two are there."""

    def program(m, packet):
        held = m.take("gate")
        m.dram.read(bytes=64, bank=m.draw(4, "bank"))
        m.give(held)

    few, all_ = (
        machine([FifoServer("gate", NS, units=units), dram()], program, threads=threads)
        for units, threads in ((2, 9), (9, 2))
    )
    assert queueing(few, LOAD).rate_pps == pytest.approx(queueing(all_, LOAD).rate_pps, rel=1e-9)
    assert simulate(few, LOAD, packets=4000).rate_pps == pytest.approx(
        simulate(all_, LOAD, packets=4000).rate_pps, rel=0.03
    )


# ---- polling


def polled(threads, kind, gap=0):
    """Threads visit a memory ten times in 200 ns, then hold a lock for 100 ns; polls visit that memory or another."""
    ram, other = FifoServer("ram", 10 * NS), FifoServer("other", 10 * NS)
    costs = {"gap_cycles": gap, "memory": visit(ram if kind == "same" else other, "serve")} if kind != "suspend" else {}
    lock = Lock("lock", "suspend" if kind == "suspend" else "spin", clock_hz=1e9, **costs)

    def program(m, packet):
        with m.loop(10):
            m.ram.serve()
            m.work.wait(seconds=10 * NS)
        m.lock.acquire()
        m.ram.serve()
        m.work.wait(seconds=90 * NS)
        m.lock.release()

    return machine([lock, ram, other, Delay("work")], program, threads=threads)


def test_polls_are_in_the_way_of_others():
    """Polls at the memory of the work slow the holder down; at another memory, or with long gaps, they do not."""
    asleep = simulate(polled(12, "suspend"), LOAD, packets=2000)
    other = simulate(polled(12, "other", gap=100), LOAD, packets=2000)
    same = simulate(polled(12, "same"), LOAD, packets=2000)
    rare = simulate(polled(12, "same", gap=2000), LOAD, packets=2000)
    assert asleep.utilization["lock"].busy > 0.95
    assert other.rate_pps > 0.8 * asleep.rate_pps  # each hand-over waits for the next poll
    assert same.rate_pps < 0.7 * other.rate_pps
    assert same.utilization["ram"].busy > 0.99 > 1.2 * rare.utilization["ram"].busy
    assert rare.rate_pps > 1.2 * same.rate_pps
    for answer, made in (
        (asleep, polled(12, "suspend")),
        (other, polled(12, "other", 100)),
        (same, polled(12, "same")),
    ):
        assert answer.rate_pps <= bounds(made, LOAD).rate_pps * 1.001
