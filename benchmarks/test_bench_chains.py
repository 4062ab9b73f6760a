"""Markov chains of networks, Petri nets and machines: states found a second, and seconds to a certified answer."""

import os
import resource
import time

import msgspec
import numpy as np
from reference.timing import record

from npexplore.machine.machine import Machine, Pool
from npexplore.machine.petri import load_net
from npexplore.machine.resources import FifoServer
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.workload_sources import workload
from npexplore.networks.chain_tables import ChainTables
from npexplore.networks.ctmc import find_states
from npexplore.networks.records import Network
from npexplore.rows.distributions import Erlang
from npexplore.solve.chains import stationary
from npexplore.solve.machine_chain import machine_chain
from npexplore.solve.petri import solve_chain

KANBAN = int(os.environ.get("NPEXPLORE_BENCH_KANBAN", "3"))
MEANS = ("in1", "w1", "w2", "w3", "w4")


def once(benchmark, run):
    return benchmark.pedantic(run, rounds=1, iterations=1)


def closed(stations, customers):
    """Customers at stations of two servers, each of which goes to any other: no product form is used."""
    names = [f"s{k}" for k in range(stations)]
    service = {name: {"distribution": "exponential", "mean": 0.5 + k / 4} for k, name in enumerate(names)}
    route = {name: {other: 0.9 / (stations - 1) for other in names if other != name} | {"out": 0.1} for name in names}
    return msgspec.convert({
        "name": "closed", "station": {name: {"servers": 2} for name in names},
        "class": {"c": {"population": customers, "service": service, "route": {"in": {names[0]: 1.0}} | route}},
    }, Network)  # fmt: skip


def chain_of(network, customers):
    return find_states(ChainTables(network, customers), 2_000_000, None)


def test_states_found_and_solved(benchmark):
    """Eight thousand states: every mean between two numbers that hold for certain."""
    network = closed(6, 13)
    chain_of(closed(3, 3), 3)
    began = time.perf_counter()
    states, chain, rewards = chain_of(network, 13)
    found = time.perf_counter() - began
    answer = once(benchmark, lambda: stationary(chain, rewards[:, :12]))
    solved = time.perf_counter() - began - found
    error = float((answer.error / np.maximum(answer.mean, 1e-3)).max())
    record(
        benchmark,
        states=len(states),
        arcs=len(chain.rate),
        states_per_s=len(states) / found,
        solve_s=solved,
        error=error,
    )
    assert error < 1e-6


def test_kanban(benchmark):
    """The Kanban net of four cells: t = 3 has 58,400 states; NPEXPLORE_BENCH_KANBAN=5 asks for 2,546,432."""
    net = load_net("kanban", {"t": KANBAN})
    solve_chain(load_net("kanban", {"t": 1}), only=MEANS)
    began = time.process_time()
    found = once(benchmark, lambda: solve_chain(net, only=MEANS))
    took = time.process_time() - began
    record(
        benchmark,
        t=KANBAN,
        states=found.states,
        processor_s=took,
        error=found.error,
        peak_gb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    )
    assert found.error < 1e-6


def test_a_machine_s_states(benchmark):
    """Eight threads that compute, read a memory twice, the second time with a bus held: states found a second."""

    def program(m, packet):
        m.engine.serve()
        m.memory.serve()
        bus = m.take("bus")
        m.memory.serve()
        m.give(bus)

    parts = [FifoServer("engine", Erlang(mean=40e-9, stages=3)), FifoServer("memory", Erlang(mean=25e-9, stages=3)),
             FifoServer("bus", 1e-9)]  # fmt: skip
    machine = Machine("held", Pool("thread", 9, program), Ingress("receive"), {one.name: one for one in parts})
    began = time.process_time()
    found = once(benchmark, lambda: machine_chain(machine, workload(packet_bytes=64)))
    took = time.process_time() - began
    record(benchmark, states=len(found.states), states_per_s=len(found.states) / took)
