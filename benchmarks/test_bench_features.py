"""Each single feature against SimPy in the same run, with the engine's default statistics on and SimPy bare.

Networks are the worked examples and features of the tests, run by the public solver with one seed; what only machines
have (inhibition, all or none, polling, locks, choices) is a small program of the engine. Goal: 20 times SimPy each;
M/M/1 50 (aim 60). Ratios of processor time, the best of several rounds. Ciw where it has the feature.
NPEXPLORE_BENCH_PACKETS sets another number of customers than 200,000.
"""

import os

import numpy as np
import pytest
import simpy
from reference.network_truths import EXAMPLES, example, feature
from reference.timing import seconds

from npexplore._kernels import engine
from npexplore.engine.model import EngineModel, Token, rows_of
from npexplore.engine.rows_check import check_rows
from npexplore.engine.run import run
from npexplore.networks.simulation import BATCHES, simulate_network
from npexplore.rows.assembler import Assembler
from npexplore.rows.base import Label
from npexplore.rows.expressions import Variable
from npexplore.rows.server import Server

CUSTOMERS = int(os.environ.get("NPEXPLORE_BENCH_PACKETS", "200_000"))
FEWER, THREADS = 20, 8
WARM_UP = 1  # batches that these networks simulate before the measured ones


# ---- SimPy: every peer ends when so many customers are done


class Peer:
    """A SimPy world with prepared random numbers."""

    def __init__(self, customers):
        self.env, self.rng = simpy.Environment(), np.random.default_rng(1)
        self.customers, self.done, self.enough = customers, 0, self.env.event()
        self.times = self.rng.exponential(1.0, 4 * customers + 1000).tolist()
        self.chances = self.rng.random(4 * customers + 1000).tolist()

    def finish(self):
        self.done += 1
        if self.done == self.customers:
            self.enough.succeed()

    def arrive(self, rate, customer, size=1):
        def source():
            while True:
                yield self.env.timeout(self.times.pop() * size / rate)
                for _ in range(size):
                    self.env.process(customer())

        self.env.process(source())
        self.env.run(self.enough)

    def circulate(self, count, customer):
        for number in range(count):
            self.env.process(customer(number))
        self.env.run(self.enough)

    def serve(self, resource, mean=1.0, **how):
        with resource.request(**how) as request:
            yield request
            yield self.env.timeout(mean * self.times.pop())


def fifo(p, rate=0.8, servers=1, size=1):
    server = simpy.Resource(p.env, servers)

    def customer():
        yield from p.serve(server)
        p.finish()

    p.arrive(rate, customer, size)


def priorities(p):
    server = simpy.PriorityResource(p.env)

    def customer():
        yield from p.serve(server, 1.0, priority=p.chances.pop() < 0.6)
        p.finish()

    p.arrive(0.8, customer)


def preemptive(p):
    server = simpy.PreemptiveResource(p.env)

    def customer():
        priority, left = int(p.chances.pop() < 0.57), p.times.pop()
        while left > 0:
            with server.request(priority=priority) as request:
                yield request
                began = p.env.now
                try:
                    yield p.env.timeout(left)
                    left = 0
                except simpy.Interrupt:
                    left -= p.env.now - began
        p.finish()

    p.arrive(0.7, customer)


def drop(p):
    server = simpy.Resource(p.env)

    def customer():
        if server.count + len(server.queue) < 5:
            yield from p.serve(server)
        p.finish()

    p.arrive(0.9, customer)


def block(p):
    first, second, room = simpy.Resource(p.env), simpy.Resource(p.env), simpy.Resource(p.env, 2)

    def customer():
        if first.count + len(first.queue) < 4:
            mine = first.request()
            yield mine
            yield p.env.timeout(p.times.pop())
            place = room.request()
            yield place
            first.release(mine)
            yield from p.serve(second)
            room.release(place)
        p.finish()

    p.arrive(0.8, customer)


def share(p, speeds=(1.0,), rate=0.7):
    """One process does the work of all; whoever comes or ends changes the speed of the others."""
    left, changed = {}, [p.env.event()]

    def speed():
        return speeds[min(len(left), len(speeds)) - 1] / len(left)

    def processor():
        while True:
            if not left:
                yield changed[0]
                changed[0] = p.env.event()
                continue
            began, each = p.env.now, speed()
            key = min(left, key=left.get)
            yield p.env.timeout(left[key] / each) | changed[0]
            for other in left:
                left[other] -= (p.env.now - began) * each
            if changed[0].triggered:
                changed[0] = p.env.event()
                for event in waiting:
                    left[event] = p.times.pop()
                waiting.clear()
            if key in left and left[key] <= 1e-12:
                del left[key]
                key.succeed()

    waiting = []

    def customer():
        event = p.env.event()
        if left:
            waiting.append(event)
        else:
            left[event] = p.times.pop()
        if not changed[0].triggered:
            changed[0].succeed()
        yield event
        p.finish()

    p.env.process(processor())
    p.arrive(rate, customer)


def loops(p):
    first, second = simpy.Resource(p.env), simpy.Resource(p.env, 2)

    def customer():
        at = first
        while at:
            yield from p.serve(at, 0.35 if at is first else 1.4)
            chance = p.chances.pop() if p.chances else 1.0
            if at is first:
                at = first if chance < 0.25 else second if chance < 0.75 else None
            else:
                at = first if chance < 0.5 else None
        p.finish()

    p.arrive(1.0, customer)


def fork(p):
    left, right = simpy.Resource(p.env), simpy.Resource(p.env)

    def branch(server):
        yield from p.serve(server)

    def customer():
        yield p.env.process(branch(left)) & p.env.process(branch(right))
        p.finish()

    p.arrive(0.6, customer)


NETWORKS = {
    "mm1": fifo, "mmc": lambda p: fifo(p, 2.4, 3), "mm1k": drop, "blocking_tandem": block, "priorities": priorities,
    "fork_join": fork, "batch": lambda p: fifo(p, 0.7, 1, 3), "loops": loops, "preemptive": preemptive,
    "ps exponential": share, "ps rates": lambda p: share(p, (0.5, 0.9, 1.2)),
    "fifo rates": lambda p: share(p, (0.5, 0.9, 1.2)),  # as much work for SimPy: one speed for all that changes
}  # fmt: skip


# ---- programs of the engine that circulate; times in ticks


def served(asm, server, mean=1000, member=0):
    with asm.scope():
        place = asm.operand(asm.number(server) + member)
        asm.emit(engine.SERVE, place, (mean, 0), x=engine.EXPONENTIAL, source=server)


def slept(asm, mean=1000):
    asm.emit(engine.WAIT, (mean, 0), x=engine.EXPONENTIAL, source="away")


def inhibition(asm):
    slept(asm)
    bank = asm.take("bank")
    asm.wait_window(20_000, 500)
    asm.wait(700)
    asm.give(bank)


def inhibition_peer(p):
    bank = simpy.Resource(p.env)

    def thread(_):
        while True:
            yield p.env.timeout(p.times.pop())
            with bank.request() as request:
                yield request
                inside = p.env.now % 20
                if inside < 0.5:
                    yield p.env.timeout(0.5 - inside)
                yield p.env.timeout(0.7)
            p.finish()

    p.circulate(THREADS, thread)


def all_or_none(asm):
    slept(asm)
    member = Variable("member")
    asm.draw(member, 3, "pair")
    holds = asm.take_all([("bank", member), ("bus", 0)])
    asm.wait(300)
    for hold in holds:
        asm.give(hold)


def all_or_none_peer(p):
    free, freed = {0: 1, 1: 1, 2: 1, "bus": 1}, [p.env.event()]

    def thread(_):
        while True:
            yield p.env.timeout(p.times.pop())
            member = int(3 * p.chances.pop())
            while not (free[member] and free["bus"]):
                yield freed[0]
            free[member] = free["bus"] = 0
            yield p.env.timeout(0.3)
            free[member] = free["bus"] = 1
            freed[0].succeed()
            freed[0] = p.env.event()
            p.finish()

    p.circulate(THREADS, thread)


def polling(asm):
    slept(asm)
    again, busy, over = Label(), Label(), Label()
    asm.place(again)
    hold = asm.try_take("bank", busy)
    asm.wait(200)
    asm.give(hold)
    asm.jump(over)
    asm.place(busy)
    asm.wait(100)
    asm.jump(again)
    asm.place(over)


def polling_peer(p):
    bank = simpy.Resource(p.env)

    def thread(_):
        while True:
            yield p.env.timeout(p.times.pop())
            while bank.count:
                yield p.env.timeout(0.1)
            with bank.request() as request:
                yield request
                yield p.env.timeout(0.2)
            p.finish()

    p.circulate(THREADS, thread)


def lock(asm):
    slept(asm)
    hold = asm.take("bus")
    served(asm, "bank", 100)
    asm.give(hold)


def lock_peer(p):
    held, memory = simpy.Resource(p.env), simpy.Resource(p.env)

    def thread(_):
        while True:
            yield p.env.timeout(p.times.pop())
            with held.request() as request:
                yield request
                yield from p.serve(memory, 0.1)
            p.finish()

    p.circulate(THREADS, thread)


def chosen(choice):
    def program(asm):
        slept(asm)
        served(asm, "bank", 600, asm.pick("bank", choice))

    return program


def chosen_peer(pick):
    def peer(p):
        banks, turn = [simpy.Resource(p.env) for _ in range(3)], [0]

        def thread(_):
            while True:
                yield p.env.timeout(p.times.pop())
                turn[0] = (turn[0] + 1) % 3
                yield from p.serve(pick(banks, turn[0]), 0.6)
                p.finish()

        p.circulate(THREADS, thread)

    return peer


def shortest(banks, _):
    return min(banks, key=lambda bank: bank.count + len(bank.queue))


PROGRAMS = {
    "periodic inhibition": (inhibition, inhibition_peer),
    "all or none": (all_or_none, all_or_none_peer),
    "polling": (polling, polling_peer),
    "lock around a memory": (lock, lock_peer),
    "member in turn": (chosen(engine.ROTATE), chosen_peer(lambda banks, turn: banks[turn])),
    "shortest line": (chosen(engine.SHORTEST), chosen_peer(shortest)),
}


def model(program):
    """Eight tokens that go through the program for ever; three banks and a bus."""
    asm = Assembler(1e-3)
    asm.declare(Server("bank", members=3))
    asm.declare(Server("bus"))
    again = Label()
    asm.place(again)
    with asm.scope():
        program(asm)
    asm.emit(engine.DONE)
    asm.jump(again)
    return check_rows(
        EngineModel(
            rows=rows_of(asm.rows), sources=[row.source for row in asm.rows], servers=asm.servers,
            n_resources=asm.n_resources, tick=asm.tick, tokens=[Token(0)] * THREADS, tables=asm.tables, rings=asm.rings,
            globals=asm.globals, counters=asm.counters, spare_tokens=0,
        )
    )  # fmt: skip


def compared(benchmark, ours, peer):
    """Record customers a second of both, and their ratio."""

    def both():
        ours(1000)  # warm
        each = seconds(lambda: ours(CUSTOMERS)) / (CUSTOMERS * (BATCHES + WARM_UP) / BATCHES)
        other = seconds(lambda: peer(Peer(CUSTOMERS // FEWER))) / (CUSTOMERS // FEWER)
        numbers = {"million_customers_per_s": 1e-6 / each, "times_simpy": other / each}
        benchmark.extra_info.update(numbers)
        print(", ".join(f"{name} {number:.4g}" for name, number in numbers.items()))

    benchmark.pedantic(both, rounds=1, iterations=1)


@pytest.mark.parametrize("name", NETWORKS)
def test_network_feature(benchmark, name):
    network = example(name) if name in EXAMPLES else feature(name)
    compared(benchmark, lambda customers: simulate_network(network, [1], customers), NETWORKS[name])


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_feature(benchmark, name):
    program, peer = PROGRAMS[name]
    made = model(program)
    parts = BATCHES + WARM_UP

    def ours(customers):
        return run(made, 1, customers * parts // BATCHES, parts, stall_s=1e9)

    some, theirs = CUSTOMERS // FEWER, Peer(CUSTOMERS // FEWER)
    peer(theirs)
    last = ours(some).snapshots[-1]
    assert last.done[0, engine.D_COUNT] / last.now * 1e3 == pytest.approx(some / theirs.env.now, rel=0.05)
    compared(benchmark, ours, peer)


@pytest.mark.parametrize("name", ["mm1", "mmc", "priorities"])
def test_ratio_to_ciw(benchmark, name):
    ciw = pytest.importorskip("ciw", reason="Ciw is not installed")
    servers, customers = {"mmc": 3}.get(name, 1), max(CUSTOMERS // 100, 100)
    rates = {"Voice": 0.3, "Data": 0.5} if name == "priorities" else {"All": 0.8 * servers}
    arrivals = {kind: [ciw.dists.Exponential(rate)] for kind, rate in rates.items()}
    network = ciw.create_network(
        arrival_distributions=arrivals, service_distributions={kind: [ciw.dists.Exponential(1.0)] for kind in rates},
        number_of_servers=[servers], priority_classes={kind: k for k, kind in enumerate(rates)},
    )  # fmt: skip

    def theirs():
        ciw.seed(1)
        ciw.Simulation(network).simulate_until_max_customers(customers, method="Finish")

    def both():
        simulate_network(example(name), [1], 1000)
        each = seconds(lambda: simulate_network(example(name), [1], CUSTOMERS)) / (
            CUSTOMERS * (BATCHES + WARM_UP) / BATCHES
        )
        benchmark.extra_info["times_ciw"] = seconds(theirs) / customers / each
        print(f"times_ciw {benchmark.extra_info['times_ciw']:.4g}")

    benchmark.pedantic(both, rounds=1, iterations=1)
