"""Mean latency under open load: constant servers one after another, lengths that differ, threads that wake in turn.

Constant servers and lengths have closed forms (within 1 and 2 %). Threads that wake in turn have none: their reference
is the mean of four simulations, within 5 %.
"""

import numpy as np
import pytest
from reference.small_machines import NS, machine, packets

from npexplore.machine.machine import Machine, Pool
from npexplore.machine.resources import Delay, FifoServer, LineCard, Processor
from npexplore.machine.resources.ingress import Ingress
from npexplore.solve.queueing_model import queueing
from npexplore.solve.simulate import simulate


@pytest.mark.parametrize("busy", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("times_ns", [(50, 40), (40, 50), (30, 50, 45), (50, 50)])
def test_constant_servers_one_after_another_wait_as_the_slowest_alone(times_ns, busy):
    """M/D/1 at the slowest and no wait elsewhere, wherever it stands (Friedman 1965)."""

    def program(m, packet):
        m.receive.free(bytes=64)
        for k in range(len(times_ns)):
            getattr(m, f"s{k}").serve()

    made = machine([FifoServer(f"s{k}", t * NS) for k, t in enumerate(times_ns)], program, threads=64)
    slowest = max(times_ns) * NS
    exact = sum(times_ns) * NS + busy * slowest / (2 * (1 - busy))
    load = packets(64).with_arrivals("poisson", busy / slowest)
    assert queueing(made, load).latency_s.mean == pytest.approx(exact, rel=0.01)


@pytest.mark.parametrize("busy", [0.3, 0.6, 0.9])
def test_lengths_differ_at_a_line_more_than_over_the_whole_way(busy):
    """M/G/1 (Pollaczek-Khinchine) at the line; the long way behind it is the same for all."""

    def program(m, packet):
        m.line.send(bytes=packet.packet_bytes)
        m.receive.free(bytes=packet.packet_bytes)
        m.work.wait(seconds=2000 * NS)

    made = Machine(
        "line", [Pool("thread", 256, program)], Ingress("receive", 1 << 20, 64),
        {r.name: r for r in (LineCard("line", 1e9), Delay("work"))},
    )  # fmt: skip
    sizes = np.array([64, 64, 64, 1472])
    mean, squares = sizes.mean() * NS, (sizes**2.0).mean() * NS**2
    load = packets(*sizes).with_arrivals("poisson", busy / mean)
    exact = 2000 * NS + mean + busy * squares / (2 * mean * (1 - busy))
    assert queueing(made, load).latency_s.mean == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize("threads", [8, 32])
def test_threads_of_an_engine_wake_in_turn(threads):
    """Four engines get packets nearly in turn: less wait than behind an engine drawn at random."""

    def program(m, packet):
        m.receive.free(bytes=64)
        m.engine.compute(cycles=100)

    made = machine([Processor("engine", 4, 1e9)], program, threads=threads, home="engine", capacity_bytes=1 << 16)
    load = packets(64).with_arrivals("poisson", 0.7 * 4e7)
    runs = np.array([simulate(made, load, seed=seed, packets=20_000).latency_s.mean for seed in range(1, 5)])
    assert queueing(made, load).latency_s.mean == pytest.approx(runs.mean(), rel=0.05)
