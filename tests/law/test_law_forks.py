"""Programs that fork: what queueing answers about them agrees with the event graph, and the rest is refused by name."""

import random
from contextlib import nullcontext

import pytest

from npexplore.errors import RefusedError, SimulationError
from npexplore.machine import Delay, Deterministic, Exponential, FifoServer, Ingress, Machine, Pool
from npexplore.machine.workload_sources import workload
from npexplore.solve.bounds import bounds
from npexplore.solve.queueing_model import queueing
from npexplore.solve.simulate import simulate

NS = 1e-9
LOADS = (None, 0.01, 0.4, 0.8)  # None: saturated
PLACES = 1 << 20  # of the receive buffer, in bytes


def forking_machine(seed, threads, waits):
    """A machine of one pool, whose program forks at least once; waits: it has steps of its own too."""
    r = random.Random(f"forks/{seed}")
    laws = [(Exponential if r.random() < 0.4 else Deterministic)(mean=r.choice([10, 40, 100, 300]) * NS) for _ in "abc"]
    servers = [FifoServer(f"s{k}", law, r.choice([1, 1, 2, 4])) for k, law in enumerate(laws)]
    parts = [*servers, Delay("wait", Deterministic(mean=50 * NS))]

    def visits():
        return r.choices(parts, k=r.randint(1, 3))

    body = [(r.random() < 0.5 or not waits, visits()) for _ in range(r.randint(1, 3))]
    body += [(True, visits())] + [(False, visits())] * waits
    r.shuffle(body)

    def visit(m, steps):
        for one in steps:
            getattr(getattr(m, one.name), "wait" if isinstance(one, Delay) else "serve")()

    def program(m, packet):
        for forked, steps in body:
            with m.fork() if forked else nullcontext():
                visit(m, steps)
        m.receive.free(bytes=packet.packet_bytes)

    resources = {one.name: one for one in parts}
    return Machine("forks", Pool("thread", threads, program), Ingress("receive", PLACES), resources)


def offered(machine, load):
    if load is None:
        return workload(packet_bytes=64)
    return workload(
        packet_bytes=64, arrivals="poisson", rate=f"{load * bounds(machine, workload(packet_bytes=64)).rate_pps:.3f}pps"
    )


@pytest.mark.slow
def test_what_is_answered_of_programs_that_fork_agrees_with_the_event_graph():
    answered = dict.fromkeys(LOADS, 0)
    for seed in range(36):
        machine = forking_machine(seed, (1, 2, 3, 4, 8, 32)[seed % 6], waits=True)
        for load in LOADS:
            packets = offered(machine, load)
            try:
                said = queueing(machine, packets)
                true = simulate(machine, packets, seed=1, packets=6000, breakdown=False)
            except (RefusedError, SimulationError):  # simulation: more is forked than its server can do
                continue
            answered[load], close = answered[load] + 1, 0.1 if load == 0.01 else 0.2
            assert said.rate_pps == pytest.approx(true.rate_pps, rel=close), (seed, load)
            latency = true.latency_s.mean
            assert said.latency_s.mean == pytest.approx(latency, rel=close), (seed, load)
    assert min(answered.values()) >= 4, answered


@pytest.mark.parametrize("load", [None, 0.01])
def test_programs_that_only_fork_are_refused_by_name(load):
    machine = forking_machine(1, 4, waits=False)
    with pytest.raises(
        RefusedError, match=r"^queueing: forks: a packet alone takes no time of its own; use `estimate`$"
    ):
        queueing(machine, offered(machine, load))
