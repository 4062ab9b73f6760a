"""Threads whose work varies little keep out of each other's way (solve/regularity.py)."""

import numpy as np
import pytest
from reference.small_machines import NS, machine, packets

from npexplore.machine.resources import Delay, FifoServer, Lock
from npexplore.rows.distributions import Exponential
from npexplore.solve.queueing.multiclass import multiclass_mva
from npexplore.solve.queueing_model import queueing
from npexplore.solve.regularity import in_order, slowed
from npexplore.solve.simulate import simulate

LOAD = packets(64)


def ring(threads, spread_ns, busy_ns=50, think_ns=150, locked=False):
    """Threads that think (constant and, of it, spread_ns exponential) and visit one server, or hold a lock as long."""
    parts = [Delay("think"), Delay("chance", Exponential(mean=spread_ns * NS))]
    parts += [Lock("lock", clock_hz=1e9), Delay("inside")] if locked else [FifoServer("server", busy_ns * NS)]

    def program(m, packet):
        m.think.wait(seconds=(think_ns - spread_ns) * NS)
        m.chance.wait()
        if not locked:
            m.server.serve()
            return
        m.lock.acquire()
        m.inside.wait(seconds=busy_ns * NS)
        m.lock.release()

    return machine(parts, program, threads=threads)


@pytest.mark.parametrize("locked", [False, True])
@pytest.mark.parametrize(("threads", "spread_ns"), [(2, 1), (3, 5), (3, 20), (4, 10), (4, 80), (8, 30)])
def test_waits_grow_with_the_variance_of_a_cycle(threads, spread_ns, locked):
    made = ring(threads, spread_ns, locked=locked)
    answer, simulated = queueing(made, LOAD), simulate(made, LOAD, packets=6000, breakdown=False)
    assert answer.rate_pps == pytest.approx(simulated.rate_pps, rel=0.05)


@pytest.mark.parametrize("locked", [False, True])
@pytest.mark.parametrize(("spread_ns", "busy_ns"), [(30, 100), (60, 130), (100, 150), (100, 170)])
def test_two_threads_wait_as_their_gap_walks(spread_ns, busy_ns, locked):
    """Where a visit takes about as long as the rest of a cycle, it is neither by chance nor regular."""
    made = ring(2, spread_ns, busy_ns, think_ns=100, locked=locked)
    answer, simulated = queueing(made, LOAD), simulate(made, LOAD, packets=20_000, breakdown=False)
    assert answer.rate_pps == pytest.approx(simulated.rate_pps, rel=0.03)


def test_two_threads_hand_a_lock_over():
    """A hand-over is waited for once: of both threads, one has the rest of a section and the hand-over before it."""
    parts = [Delay("chance", Exponential(mean=130 * NS)), Lock("lock", clock_hz=1e9, wake_cycles=20), Delay("inside")]

    def program(m, packet):
        m.chance.wait()
        m.lock.acquire()
        m.inside.wait(seconds=133 * NS)
        m.lock.release()

    made = machine(parts, program, threads=2)
    answer, simulated = queueing(made, LOAD), simulate(made, LOAD, packets=20_000, breakdown=False)
    assert answer.rate_pps == pytest.approx(simulated.rate_pps, rel=0.03)


def test_without_chance_nobody_waits_up_to_the_asymptotic_bound():
    for threads in (1, 3, 4, 9):
        assert queueing(ring(threads, 1e-6), LOAD).rate_pps == pytest.approx(min(threads / 200, 1 / 50) / NS, rel=1e-3)


def test_who_leaves_in_order_waits_for_those_before():
    """Kamoun, Kleinrock and Muntz's time of packets that come at random, against their arrivals played one by one."""
    rng = np.random.default_rng(7)
    for load in (0.2, 1.0, 4.0):
        came, lasts = np.cumsum(rng.exponential(1 / load, 200_000)), rng.exponential(1.0, 200_000)
        left = np.maximum.accumulate(came + lasts)
        assert in_order(np.array([load]), np.array([1.0]))[0] == pytest.approx((left - came - lasts).mean(), rel=0.03)


def test_a_visitor_is_met_as_often_as_exact_mean_value_analysis_has_it():
    """Two customers of classes of their own; at a full server each leaves the other what is left."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        demands, away = rng.uniform(0.1, 1.0, 2), rng.uniform(0.0, 3.0, 2)
        exact = multiclass_mva(demands[None, :], [1, 1], away)
        busy = exact.throughput * demands
        longer = slowed(busy[:, 1], visitors=1.0, own=busy[:, 0])
        assert longer[0] == pytest.approx(1.0 + demands[1] / (demands[1] + away[1]))
    others = np.array([0.1, 0.2, 0.3])  # one visitor is met once at most
    for variability, visitors in ((0.5, 1.0), (0.5, np.inf), (1.0, 3.0), (1.0, np.inf)):
        assert slowed(others, 1, variability, visitors, 1.0 - others) == pytest.approx(1.0 / (1.0 - others))
