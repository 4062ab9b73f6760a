"""Small machines by their Markov chains, an oracle of engine and queueing: chains made by hand, closed forms, runs."""

from math import comb, factorial
from typing import ClassVar

import numpy as np
import pytest
from reference.small_machines import NS, machine, packets

from npexplore import design
from npexplore.errors import RefusedError
from npexplore.machine.machine import Machine, Pool
from npexplore.machine.program import visit
from npexplore.machine.resources import (
    BoundedQueue,
    BufferPool,
    Delay,
    FifoServer,
    Lock,
    Processor,
    ReorderQueue,
    WordMemory,
)
from npexplore.machine.resources.base import Resource, Server
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.workload_sources import workload
from npexplore.rows.distributions import Erlang, Exponential, Hyperexponential, Uniform
from npexplore.solve.bounds import bounds
from npexplore.solve.chains import explore, stationary
from npexplore.solve.machine_chain import ctmc, machine_chain
from npexplore.solve.queueing_model import queueing
from npexplore.solve.simulate import simulate

LOAD = packets(64)
SEEDS = range(1, 9)
COMPUTE, READ = 40.0, 25.0  # ns


def server(name, mean_ns, **more):
    return FifoServer(name, Exponential(mean=mean_ns * NS), **more)


def held(threads):
    """Compute, read the memory, then hold the bus over a second read of the same memory."""

    def program(m, packet):
        m.receive.free(bytes=64)
        m.engine.serve()
        m.memory.serve()
        bus = m.take("bus")
        m.memory.serve()
        m.give(bus)

    resources = [server("engine", COMPUTE), server("memory", READ), FifoServer("bus", NS)]
    return machine(resources, program, threads=threads)


def follows(threads):
    """States: (in the memory's line, place in it of the one who holds the bus or 0, waiting for the bus)."""

    def successors(states):
        found = []
        for origin, (line, holder, waiting) in enumerate(states.tolist()):
            if line + waiting < threads:
                found.append((origin, (line + 1, holder, waiting), 1 / COMPUTE))
            if not line:
                continue
            if holder == 1 and waiting:  # done: the next takes the bus and joins the line
                after = (line, line, waiting - 1)
            elif holder == 1:
                after = (line - 1, 0, 0)
            elif holder:
                after = (line - 1, holder - 1, waiting + 1)
            else:
                after = (line, line, waiting)
            found.append((origin, after, 1 / READ))
        origins, rows, rates = zip(*found, strict=True)
        return np.array(origins), np.array(rows, np.int32), np.array(rates)

    return successors


def within_runs(made, load, truth, packets=8000, most=0.05):
    """Rate, latency, busy shares and loss of runs of the engine are those of the chain, within four deviations."""
    runs = [simulate(made, load, seed=seed, packets=packets) for seed in SEEDS]
    told = {"rate": lambda run: run.rate_pps}
    if truth.latency_s.mean is not None:
        told["latency"] = lambda run: run.latency_s.mean
    told |= {name: (lambda run, name=name: run.utilization[name].busy) for name in truth.utilization}
    if truth.loss is not None:
        told["loss"] = lambda run: run.loss
    for name, of in told.items():
        values = np.array([of(run) for run in runs])
        error = 4 * values.std(ddof=1) / len(values) ** 0.5 + 1e-3 * of(truth) + 1e-4 * (name == "loss")
        assert abs(values.mean() - of(truth)) <= error, (name, values.mean(), of(truth))
        assert error < max(most * of(truth), 1e-2 if name == "loss" else 0), name


@pytest.mark.parametrize("threads", [1, 2, 5, 9])
def test_a_bus_held_over_a_memory(threads):
    states, chain = explore([[0, 0, 0]], follows(threads))
    done, busy = states[:, 1] == 1, states[:, 0] > 0
    answer = stationary(chain, np.stack([done / READ, busy, states[:, 1] > 0], axis=1))
    assert (answer.error < 1e-9).all()
    made = held(threads)
    found = ctmc(made, LOAD)
    assert found.exact
    assert found.about["error"] < 1e-9
    seen = [found.rate_pps * NS, found.utilization["memory"].busy, found.utilization["bus"].busy]
    assert seen == pytest.approx(answer.mean.tolist(), rel=1e-9)
    within_runs(made, LOAD, found)
    assert found.rate_pps <= bounds(made, LOAD).rate_pps * (1 + 1e-9)
    # of two kinds of visits of one memory, each is open load to the other
    assert queueing(made, LOAD).rate_pps == pytest.approx(found.rate_pps, rel=0.006)


@pytest.mark.parametrize(("servers", "waiting", "load"), [(1, 0, 0.8), (2, 3, 1.4), (3, 8, 0.7)])
def test_losses_of_poisson_packets_are_those_of_m_m_c_k(servers, waiting, load):
    """Threads are servers, the receive buffer is the room behind them (Gross et al., 2008, 2.5)."""
    made = machine(
        [Delay("work", Exponential(mean=100 * NS))], lambda m, p: (m.receive.free(bytes=64), m.work.wait()),
        threads=servers, capacity_bytes=64 * max(waiting, 1),
    )  # fmt: skip
    rate = load * servers / (100 * NS)
    found = ctmc(made, LOAD.with_arrivals("poisson", rate))
    room = servers + max(waiting, 1)  # a packet takes room before a thread can free it: at least one
    a = load * servers
    weights = [a**n / factorial(n) if n < servers else a**n / factorial(servers) / servers ** (n - servers)
               for n in range(room + 1)]  # fmt: skip
    p = np.array(weights) / sum(weights)
    assert found.loss == pytest.approx(p[-1], rel=1e-9)
    assert found.rate_pps == pytest.approx(rate * (1 - p[-1]), rel=1e-9)
    assert found.latency_s.mean == pytest.approx(np.arange(room + 1) @ p / (rate * (1 - p[-1])), rel=1e-9)


@pytest.mark.parametrize(("threads", "repairers"), [(1, 1), (6, 1), (7, 3)])
def test_machine_repairmen(threads, repairers):
    """Threads think and are served (the machine repairman, Gross et al., 2008, 2.7); queueing is exact there, too."""
    made = machine(
        [Delay("think", Exponential(mean=90 * NS)), server("station", 40, units=repairers)],
        lambda m, p: (m.think.wait(), m.station.serve()), threads=threads,
    )  # fmt: skip
    a = 40 / 90
    weights = [comb(threads, n) * a**n * (1 if n < repairers else factorial(n) / factorial(repairers)
               / repairers ** (n - repairers)) for n in range(threads + 1)]  # fmt: skip
    p = np.array(weights) / sum(weights)
    found = ctmc(made, LOAD)
    rate = np.minimum(np.arange(threads + 1), repairers) @ p / (40 * NS)
    assert found.rate_pps == pytest.approx(rate, rel=1e-9)
    assert found.latency_s.mean == pytest.approx(threads / rate, rel=1e-9)
    assert found.queue["station"].mean == pytest.approx(np.maximum(np.arange(threads + 1) - repairers, 0) @ p, rel=1e-8)
    assert queueing(made, LOAD).rate_pps == pytest.approx(rate, rel=1e-9)


@pytest.mark.parametrize("service", [
    Erlang(mean=50 * NS, stages=3), Hyperexponential(means=(20 * NS, 200 * NS), probability=0.9), 50e-9,
])  # fmt: skip
def test_one_server_of_phases_is_that_of_pollaczek_and_khinchine(service):
    made = machine(
        [FifoServer("station", service)],
        lambda m, p: (m.receive.free(bytes=64), m.station.serve()),
        capacity_bytes=64 * 90,
    )
    rate = 0.4 / (50 * NS) if not isinstance(service, Hyperexponential) else 0.4 / service.moments()[0]
    found = ctmc(made, LOAD.with_arrivals("poisson", rate), phases=4)
    mean, scv = (service, 1 / 4) if isinstance(service, float) else service.moments()
    wait = rate * mean**2 * (1 + scv) / 2 / (1 - rate * mean)
    assert found.latency_s.mean == pytest.approx(wait + mean, rel=1e-6)
    assert found.exact == (not isinstance(service, float))


class Slow(Resource):
    """Requests take a place that work going on by itself gives back; answers come after an exponential time."""

    VISITS: ClassVar = {"ask": ()}

    def servers(self):
        return [Server(self.name), Server(f"{self.name}.places", units=2, role="limit")]

    def act(self, m, visit, v):
        place = m.take("places")
        m.serve(self.name, Exponential(mean=20 * NS))
        with m.fork(place) as place:
            m.wait(Erlang(mean=60 * NS, stages=2))
            m.give(place)


def by_chance(m, p):
    """A branch, members at random and in turn, buffers that are given elsewhere, a fork with what is held, a loop."""
    m.receive.free(bytes=64)
    m.engine.serve()
    m.buffers.take(count=1)
    with m.branch(0.3):
        m.slow.ask()
    with m.otherwise(), m.loop(2):
        m.channels.serve(member=m.turn(2, "turns"))
    m.sides.serve(member=m.draw(2, "sides"))
    m.buffers.give(count=1)


def two_pools(when_full):
    parts = [server("first", 50, units=2), server("second", 40), BoundedQueue("queue", 2, when_full=when_full)]
    pools = [
        Pool("front", 2, lambda m, p: (m.receive.free(bytes=64), m.first.serve(), m.queue.put())),
        Pool("back", 1, lambda m, p: m.second.serve(), gets="queue"),
    ]
    return Machine("two", pools, Ingress("receive", 64 * 8, 64), {part.name: part for part in parts})


def locked(m, p):
    m.think.wait()
    m.lock.acquire()
    m.station.serve()
    m.lock.release()


def small(case):
    """A machine and its packets."""
    think = Delay("think", Exponential(mean=90 * NS))
    if case == "chance":
        parts = [server("engine", 25), server("channels", 15, members=2), server("sides", 30, members=2)]
        return machine([*parts, BufferPool("buffers", 3), Slow("slow")], by_chance, threads=4), LOAD
    if case in ("stall", "drop"):
        return two_pools(case), LOAD.with_arrivals("poisson", 22e6)
    if case == "spin":
        ram = server("ram", 10)
        lock = Lock("lock", "spin", clock_hz=1e9, memory=visit(ram, "serve"))
        return machine([think, server("station", 30), ram, lock], locked, threads=3), LOAD
    if case == "shared":  # whatever the distribution of the work: processor sharing
        core = Processor("core", 1, 1e9, discipline="ready_every_cycle", pipeline=2)
        return machine([think, core], lambda m, p: (m.think.wait(), m.core.compute(cycles=30)), threads=6), LOAD
    made = machine(
        [server("engine", 60)], lambda m, p: (m.engine.serve(), m.receive.free(bytes=64)), 2, capacity_bytes=64 * 6
    )
    return made, LOAD.with_arrivals("batch:3", 14e6)


@pytest.mark.parametrize("case", ["chance", "stall", "drop", "spin", "shared", "batches"])
def test_what_the_engine_runs_is_what_the_chain_says(case):
    made, load = small(case)
    within_runs(made, load, ctmc(made, load, phases=1))


@pytest.mark.slow
def test_constant_times_come_near_with_more_phases():
    """A listed design: one core of the server, whose rings nobody else uses; and a repairman of constant work."""
    made = machine([Delay("think"), FifoServer("station", 40 * NS)],
                   lambda m, p: (m.think.wait(seconds=90 * NS), m.station.serve()), threads=4)  # fmt: skip
    truth = simulate(made, LOAD, packets=2000).rate_pps
    off = [abs(ctmc(made, LOAD, phases=k).rate_pps / truth - 1) for k in (1, 4, 16)]
    assert off[0] > 1.6 * off[1] > 2.6 * off[2]
    one = design("server").with_(cores=1)
    load = workload(packet_bytes=64)
    bound = one.bounds(load).rate_pps
    assert 0.9999 * bound < one.chain(load, phases=1).rate_pps < bound * (1 + 1e-12)


def test_a_number_is_forgotten_at_the_end_of_its_block():
    def program(m, p):
        with m.loop(1):
            m.sides.serve(member=m.draw(4, "sides"))
        m.think.wait()

    parts = [Delay("think", Exponential(mean=90 * NS)), server("sides", 30, members=4)]
    assert len(machine_chain(machine(parts, program, threads=1), LOAD).states) == 4 + 1


def test_what_has_no_chain_is_named():
    made, load = small("shared")
    with pytest.raises(RefusedError, match=r"constant time of 6e-08 s at 'core' has no phases; phases=k"):
        machine_chain(made, load)
    with pytest.raises(RefusedError, match=r"small: more than 5 states \(known so far: 6\)"):
        machine_chain(made, load, 1, most_states=5)
    with pytest.raises(RefusedError, match=r"small: more than \d+ states, the next step needs .* GB of memory"):
        machine_chain(made, load, 1, most_bytes=1000)
    for parts, program, why in (
        ([ReorderQueue("order", 4)], lambda m, p: m.order.leave(ticket=0), r"'order' \(a ticket leaves when"),
        ([FifoServer("one", Uniform(low=0.0, high=NS))], lambda m, p: m.one.serve(), "uniform time at 'one'"),
        ([Processor("core", 1, 1e9, discipline="ready_round_robin")], lambda m, p: m.core.compute(cycles=1),
         "core is taken in order of keys or turns"),
        ([WordMemory("ram", 4, NS, channels=2, select="shortest")], lambda m, p: m.ram.read(bytes=4),
         "ram is chosen by the shortest line"),
    ):  # fmt: skip
        with pytest.raises(RefusedError, match=f"^chain: small: .*{why}"):
            machine_chain(machine(parts, program), load, 1)
