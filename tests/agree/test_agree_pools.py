"""Pools joined by queues, losses and bursts of arrivals against queueing theory.

Where there is randomness, tolerances are four standard errors of the replications: a fault shows, luck does not.
"""

import numpy as np
import pytest
from reference.markov import loss_of_constant_service, steady
from reference.small_machines import NS, Exponential, machine, packets

from npexplore.engine.model import build
from npexplore.engine.state import State
from npexplore.machine.machine import Machine, Pool
from npexplore.machine.resources import BoundedQueue, FifoServer, LineCard
from npexplore.machine.resources.ingress import Ingress
from npexplore.solve.bounds import bounds
from npexplore.solve.queueing_model import queueing
from npexplore.solve.simulate import simulate

LOAD = packets(64)
SEEDS = range(1, 9)


def replicated(made, load, value, n=8000):
    """Mean over seeds and four standard errors."""
    values = np.array([value(simulate(made, load, seed=seed, packets=n)) for seed in SEEDS])
    return float(values.mean()), 4 * float(values.std(ddof=1)) / len(values) ** 0.5


def tandem(first_ns, second_ns, capacity, when_full="stall", buffer_packets=1000):
    """One thread behind the receive buffer, a queue, one thread: exponential times."""

    def first(m, packet):
        m.receive.free(bytes=64)
        m.first.serve()
        m.queue.put()

    def second(m, packet):
        m.second.serve()

    resources = Exponential("first", first_ns * NS), Exponential("second", second_ns * NS)
    queue = BoundedQueue("queue", capacity, when_full=when_full)
    return Machine(
        "tandem", [Pool("a", 1, first), Pool("b", 1, second, gets="queue")],
        Ingress("receive", 64 * buffer_packets, 64), {r.name: r for r in (*resources, queue)},
    )  # fmt: skip


def blocking_chain(arrival, first, second, room, capacity):
    """States (in stage one, behind it): up to 1 + room there; behind it one served, `capacity` queued, one blocked."""
    rates = {}
    for i in range(room + 2):
        for n in range(capacity + 3):
            blocked = n == capacity + 2
            if blocked and i == 0:
                continue  # who is blocked is still in stage one
            if i <= room:
                rates[(i, n), (i + 1, n)] = arrival
            if i and not blocked:
                last = n == capacity + 1  # the queue is full: the thread keeps its packet
                rates[(i, n), (i if last else i - 1, n + 1)] = first
            if n:
                rates[(i, n), (i - 1 if blocked else i, n - 1)] = second
    return steady(rates)


@pytest.mark.parametrize("capacity", [1, 4])
@pytest.mark.parametrize(("first_ns", "second_ns"), [(100, 100), (60, 100), (100, 60)])
def test_a_saturated_tandem_with_a_finite_queue(capacity, first_ns, second_ns):
    """Packets behind the first stage are a birth-death chain on 0 .. capacity + 2."""
    made = tandem(first_ns, second_ns, capacity)
    p = (second_ns / first_ns) ** np.arange(capacity + 3)
    p /= p.sum()
    rate, error = replicated(made, LOAD, lambda a: a.rate_pps)
    assert rate == pytest.approx((1 - p[0]) / (second_ns * NS), abs=error)
    assert error < 0.03 * rate
    assert rate < bounds(made, LOAD).rate_pps
    assert queueing(made, LOAD).rate_pps == pytest.approx((1 - p[0]) / (second_ns * NS), rel=1e-9)
    queued, error = replicated(made, LOAD, lambda a: a.queue["queue"].mean)
    inside = np.clip(np.arange(capacity + 3) - 1, 0, capacity)
    assert queued == pytest.approx(float(inside @ p), abs=error)
    blocked, error = replicated(made, LOAD, lambda a: a.queue["queue.room"].mean)
    assert blocked == pytest.approx(p[-1], abs=error)


@pytest.mark.parametrize(("room", "capacity"), [(3, 1), (2, 2)])
def test_an_open_tandem_that_blocks_and_loses(room, capacity):
    made, load = tandem(80, 100, capacity, buffer_packets=room), LOAD.with_arrivals("poisson", 0.9e7)
    p = blocking_chain(0.9e7, 1 / (80 * NS), 1 / (100 * NS), room, capacity)
    loss = sum(share for (i, _), share in p.items() if i == room + 1)
    rate, error = replicated(made, load, lambda a: a.rate_pps)
    assert rate == pytest.approx(0.9e7 * (1 - loss), abs=error)
    inside = sum(share * (i + n - (n == capacity + 2)) for (i, n), share in p.items())  # the blocked one stands in both
    latency, error = replicated(made, load, lambda a: a.latency_s.mean)
    assert latency == pytest.approx(inside / (0.9e7 * (1 - loss)), abs=error)


@pytest.mark.parametrize(("when_full", "in_front"), [("drop", 0.0), ("stall", 1000.0)])
def test_a_queue_that_drops_holds_up_nobody_before_it(when_full, in_front):
    """More than the second stage carries: 20 packets in the queue, and those in front only if it stalls."""
    made, load = tandem(20, 50, 20, when_full), LOAD.with_arrivals("poisson", 30e6)
    latency, error = replicated(made, load, lambda a: a.latency_s.mean, 20_000)
    said = queueing(made, load).latency_s.mean
    assert said == pytest.approx(latency, abs=error + 0.06 * latency)
    assert said / (50 * NS) == pytest.approx(in_front + 21, rel=0.06)


@pytest.mark.parametrize("capacity", [1, 5])
@pytest.mark.parametrize("load", [0.8, 1.5])
def test_loss_of_a_queue_that_drops(capacity, load):
    """M/M/1/K with K = capacity + 1: the first pool takes no time."""

    def first(m, packet):
        m.receive.free(bytes=64)
        m.queue.put()

    resources = Exponential("second", 100 * NS), BoundedQueue("queue", capacity, when_full="drop")
    pools = [Pool("a", 1, first), Pool("b", 1, lambda m, p: m.second.serve(), gets="queue")]
    made = Machine("loss", pools, Ingress("receive", 64 * 1000, 64), {r.name: r for r in resources})
    shares = load ** np.arange(capacity + 2)
    expected = shares[-1] / shares.sum()
    offered = LOAD.with_arrivals("poisson", load * 1e7)
    lost, error = replicated(made, offered, lambda a: a.drops["queue"] / (a.drops["queue"] + a.about["packets"]))
    assert lost == pytest.approx(expected, abs=error)
    rate, error = replicated(made, offered, lambda a: a.rate_pps)
    assert rate == pytest.approx(load * 1e7 * (1 - expected), abs=error)
    inside = float(np.arange(capacity + 2) @ shares / shares.sum())
    latency, error = replicated(made, offered, lambda a: a.latency_s.mean)
    assert latency == pytest.approx(inside / (load * 1e7 * (1 - expected)), abs=error)


@pytest.mark.parametrize("places", [2, 5])
@pytest.mark.parametrize("load", [0.7, 1.2])
def test_loss_of_a_line_card(places, load):
    """M/D/1/K: constant times on the wire, room for K packets with the one that leaves."""

    def program(m, packet):
        m.receive.free(bytes=64)
        m.card.send(bytes=100)

    card = LineCard("card", 1e9, buffer_bytes=100 * places + 99, when_full="drop")
    made = machine([card], program, capacity_bytes=64 * 1000)
    offered = LOAD.with_arrivals("poisson", load * 1e7)
    lost, error = replicated(made, offered, lambda a: a.drops["card"] / (a.drops["card"] + a.about["packets"]))
    assert lost == pytest.approx(loss_of_constant_service(load, places), abs=error)
    assert error < 0.2 * lost


# ---- arrivals


def one_server(kind="exponential"):
    server = Exponential("server", 100 * NS) if kind == "exponential" else FifoServer("server", 100 * NS)

    def program(m, packet):
        m.receive.free(bytes=64)
        m.server.serve()

    return machine([server], program, capacity_bytes=64 * 100_000)


@pytest.mark.parametrize("load", [0.3, 0.7])
@pytest.mark.parametrize(("arrivals", "spread"), [("batch:1", 1), ("batch:4", 4), ("batch:4:geometric", 7)])
def test_batches(arrivals, spread, load):
    """M[X]/M/1: time = service x (1 + E[X^2] / E[X]) / 2 / (1 - load)."""
    offered = LOAD.with_arrivals(arrivals, load * 1e7)
    latency, error = replicated(one_server(), offered, lambda a: a.latency_s.mean, 40_000)
    assert latency == pytest.approx(100 * NS * (1 + spread) / 2 / (1 - load), abs=error)
    assert error < 0.15 * latency
    rate, error = replicated(one_server(), offered, lambda a: a.rate_pps)
    assert rate == pytest.approx(load * 1e7, abs=error)


def test_on_off_arrivals_have_their_mean_rate_and_the_wait_of_their_renewal_process():
    """GI/M/1: time = service / (1 - s) with s = A*(1/service x (1 - s)), A* the transform of the times between."""
    offered = LOAD.with_arrivals("on_off:2us:6us", 0.5e7)
    rate, error = replicated(one_server(), offered, lambda a: a.rate_pps, 40_000)
    assert rate == pytest.approx(0.5e7, abs=error)
    assert error < 0.05 * rate
    interval = offered.process().interval()
    (a, b), p = interval.means, interval.probability
    s = 0.5
    for _ in range(200):
        x = (1 - s) * 1e7
        s = p / (1 + a * x) + (1 - p) / (1 + b * x)
    latency, error = replicated(one_server(), offered, lambda a: a.latency_s.mean, 40_000)
    assert latency == pytest.approx(100 * NS / (1 - s), abs=error)
    assert latency > 4 * 100 * NS / (1 - 0.5)  # bursts of twice what the server can do


def test_periodic_arrivals_begin_at_random():
    """One queue, constant service: no waiting, whatever the phase; the first packet comes within a period."""
    offered = LOAD.with_arrivals("periodic", 0.9e7)
    found = [simulate(one_server("constant"), offered, seed=seed, packets=2000) for seed in range(20)]
    assert {round(a.latency_s.mean / NS, 3) for a in found} == {100.0}
    model, come = build(one_server(), LOAD.with_arrivals("periodic", 1e6)), []
    for seed in range(20):
        state = State(model, seed)
        for until in (500, 1000, 2000):
            state.advance(until * 1000, 10**9, 10**15)
            come.append(int(state.counters[model.counters.index("offered.packets")]))
    assert set(come[0::3]) == {0, 1}
    assert (set(come[1::3]), set(come[2::3])) == ({1}, {2})
