"""Machines that nobody designed: a seeded generator over every kind and part, for laws of solvers and their truths.

A machine has 1 to 4 pools of 1 to 64 threads in a row, joined by finite queues; programs of visits, branches, loops,
forks, parallel parts, nested holds (buffers, locks, ordered sections, servers that are taken); constant and exponential
work; finite receive buffers. Holds nest in the order of their numbers, so that no circle of waiting can close.

Nothing here knows of any solver but simulation, which must run: a machine that cannot is drawn anew.
"""

import random
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from reference.random_kinds import BY_HAND, NS, drawn

from npexplore.designs import Design
from npexplore.errors import InputError, ModelError, RefusedError, SimulationError
from npexplore.machine.machine import Machine, Pool
from npexplore.machine.mixes import load_mix
from npexplore.machine.parameters import MachineFile, Parameters
from npexplore.machine.resources import BoundedQueue, BufferPool, Delay, FifoServer, Lock, Processor, ReorderQueue
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.under_load import under_load
from npexplore.machine.workload import Workload
from npexplore.rows.distributions import Deterministic, Exponential

QUEUES = ("queue", "scheduled_queue")
KINDS = tuple(sorted(set(BY_HAND) - {*QUEUES, "processor", "server"}))
MAX_DEPTH = 2  # of structures inside structures
MAX_STEPS = 6  # of a pool's program, structures counted once
CHECKED_PACKETS = 500  # that a machine must finish when saturated
MAX_DRAWS = 40
MAX_THREADS = 64  # of a pool
MIXES = ("64 bytes", "imix", "two lengths")


@dataclass
class RandomMachine:
    """A machine by its seed. features: which of the generator's parts it has, such as "lock", "fork", "dram"."""

    seed: int
    design: Design
    mix: str
    features: set = field(default_factory=set)

    def workload(self, arrivals="saturated", rate=None):
        """Return its packets."""
        return packets_of(self.mix).with_arrivals(arrivals, rate)


@lru_cache
def packets_of(mix):
    """Return one of the three mixes, saturated; the second and third in an order that every seed draws."""
    if mix != "two lengths":
        return load_mix(mix).workload(1 if mix == "64 bytes" else 8192)
    lengths = np.repeat([40, 1500], [5120, 3072])
    return Workload(mix, {"packet_bytes": lengths}, ordered=False)


class _Draw:
    """One attempt at a machine: resources so far, and the programs that visit them."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.resources, self.leaves, self.features = {}, [], set()
        self.mix = self.r.choice(MIXES)
        self.holds = 0

    def add(self, *resources):
        self.resources.update((one.name, one) for one in resources)
        return resources[0]

    def name(self, start):
        return f"{start}{len(self.resources)}"

    # ---- visits

    def leaf(self, home, beside=False):
        """Return a visit of one resource, new or visited before. beside: by work that goes on beside its thread."""
        r = self.r
        if home is not None and not beside and r.random() < 0.5:
            return self.compute(home)
        usable = [(name, act, ok) for name, act, ok in self.leaves if ok or not beside]
        if usable and r.random() < 0.25:
            return r.choice(usable)[1]
        if r.random() < 0.6:
            return self.server()
        kind = r.choice([kind for kind in KINDS if not beside or kind not in ("lock", "reorder", "pool", "policer")])
        part = drawn(kind, r, self.name("r"))
        self.add(*part.resources)
        self.features.add(kind)
        self.leaves.append((kind, part.act, kind not in ("lock", "reorder", "pool", "policer")))
        return part.act

    def compute(self, home):
        base, by_length = self.r.randint(2, 120), self.r.choice([0, 0, 0, 16, 64])

        def act(m, packet):
            more = packet.packet_bytes // by_length if by_length else 0
            getattr(m, home).compute(cycles=base + more)

        return lambda m: act(m, m.packet)

    def server(self):
        """Return a visit of a server or a delay, of constant or exponential time."""
        r, name, mean = self.r, self.name("s"), self.r.choice([5, 20, 45, 110, 300]) * NS * self.r.uniform(0.6, 1.5)
        law = Exponential(mean=mean) if r.random() < 0.5 else Deterministic(mean=round(mean * 1e9) * NS)
        self.features.add("exponential" if isinstance(law, Exponential) else "constant")
        if r.random() < 0.3:
            self.add(Delay(name, law))
            act = lambda m: getattr(m, name).wait()  # noqa: E731
        else:
            members = r.choice([1, 1, 2, 4])
            self.add(FifoServer(name, law, r.choice([1, 1, 1, 2, 4]), members))
            act = lambda m: getattr(m, name).serve(member=m.draw(members, name))  # noqa: E731
        self.leaves.append(("server", act, True))
        return act

    # ---- structures: what stands inside them is drawn before, so that recording draws nothing

    def steps(self, home, depth, beside=False, most=MAX_STEPS):
        """Return a few steps, each a function of the recorder."""
        return [self.step(home, depth, beside) for _ in range(self.r.randint(1, most))]

    def step(self, home, depth, beside):
        r = self.r
        if depth >= MAX_DEPTH or r.random() < 0.5:
            return self.leaf(home, beside)
        kinds = ["branch", "loop"] if beside else ["branch", "loop", "hold", "hold", "hold", "hold", "fork", "parallel"]
        kind = r.choice(kinds)
        self.features.add(kind)
        return getattr(self, kind)(home, depth + 1, beside)

    def branch(self, home, depth, beside):
        share, source = self.r.choice([0.05, 0.3, 0.5, None]), self.name("b")
        then, other = self.steps(home, depth, beside, 2), self.steps(home, depth, beside, 2) * self.r.choice([0, 1])
        self.resources[source] = None  # the name is used

        def act(m):
            with m.branch(m.packet.packet_bytes > 200 if share is None else share, source):
                run(m, then)
            if other:
                with m.otherwise():
                    run(m, other)

        return act

    def loop(self, home, depth, beside):
        times, body = self.r.choice([2, 3, 5, None]), self.steps(home, depth, beside, 2)

        def act(m):
            with m.loop(m.packet.packet_bytes // 512 + 1 if times is None else times):
                run(m, body)

        return act

    def hold(self, home, depth, beside):
        """Return a section of a lock, of buffers, of a reorder queue, or of a server taken; inner ones come later."""
        r, name = self.r, self.name("h")
        kind = r.choice(["lock", "lock", "buffers", "ordered", "taken"])
        if kind == "lock":
            costs = {"acquire_cycles": r.randint(0, 9), "release_cycles": r.randint(0, 9)}
            where = {"processor": self.resources[home]} if home and r.random() < 0.5 else {"clock_hz": 1e9}
            self.add(Lock(name, wake_cycles=r.choice([0, 0, 20]), **costs, **where))
        elif kind == "buffers":
            self.add(BufferPool(name, r.choice([1, 2, 4, 8, 16])))
        elif kind == "ordered":
            self.add(ReorderQueue(name, r.choice([2, 4, 8, 16])))
        else:
            self.add(FifoServer(name, 9 * NS, r.choice([1, 2])))
        self.features.add("lock" if kind == "lock" else kind)
        body = self.steps(home, depth, beside, 3)

        def act(m):
            held = getattr(m, name)
            if kind == "lock":
                held.acquire()
                run(m, body)
                held.release()
            elif kind == "buffers":
                held.take(count=1)
                run(m, body)
                held.give(count=1)
            elif kind == "ordered":
                ticket = held.enter()
                run(m, body)
                held.leave(ticket=ticket)
            else:
                taken = m.take(name)
                run(m, body)
                m.give(taken)

        return act

    def fork(self, home, depth, beside):
        body = self.steps(home, depth, True, 2)

        def act(m):
            with m.fork():
                run(m, body)

        return act

    def parallel(self, home, depth, beside):
        bodies = [self.steps(home, depth, True, 2) for _ in range(self.r.randint(2, 3))]
        return lambda m: m.parallel(*(lambda body=body: run(m, body) for body in bodies))

    # ---- pools

    def machine(self):
        r = self.r
        pools, count = [], r.choice([1, 1, 1, 1, 2, 2, 3, 4])
        self.features.add(f"{count} pool" + "s" * (count > 1))
        homes = []
        gets, freed = None, False
        for k in range(count):
            if not homes or r.random() < 0.6:
                homes.append(self.home(k))
            home, threads = r.choice(homes), round(MAX_THREADS ** r.uniform(0, 1))
            body = self.steps(home, 0)
            last = k == count - 1
            puts = None if last else f"q{k}"
            early = not last and r.random() < 0.3
            put = None if last else self.queue(puts)
            frees = not freed and (last or self.resources[puts].when_full == "drop")
            pools.append(Pool(f"pool{k}", threads, program_of(body, puts, put, early, frees, freed), home, gets))
            gets, freed = puts, freed or frees
        ingress = Ingress("receive", r.choice([4096, 65536, 1 << 20]), r.choice([1, 64]))
        resources = {name: one for name, one in self.resources.items() if one is not None}
        built = Machine("random", pools, ingress, resources)
        if r.random() < 0.9:
            self.near_the_knee(built)
        return built

    def near_the_knee(self, built):
        """Give every pool about as many threads as keep the fullest server busy: where waiting matters most."""
        load = under_load(built, packets_of(self.mix))
        ceilings = load.ceilings()
        rate = min((pps for name, pps in ceilings.items() if not name.startswith("threads")), default=0.0)
        for pool in built.pools:
            knee = rate * load.residence[pool.name]
            if knee:
                pool.count = round(min(max(knee * 2 ** self.r.uniform(-0.4, 0.3), 1), MAX_THREADS))

    def home(self, k):
        """Return a processor where a pool's threads live, or None: their steps need no processor."""
        r = self.r
        if r.random() < 0.15:
            return None
        shared = r.random() < 0.2
        discipline = "ready_every_cycle" if shared else r.choice(["ready_on_stall"] * 3 + ["ready_round_robin"])
        switch = 0 if shared else r.choice([0, 0, 1, 3])
        made = Processor(f"me{k}", r.choice([1, 2, 4, 8]), r.choice([1e9, 5e8, 1.4e9]), switch, discipline)
        self.features.add(discipline)
        return self.add(made).name

    def queue(self, name):
        """Add a queue between two pools; return what puts a packet into it."""
        r = self.r
        if r.random() < 0.2:
            part = drawn("scheduled_queue", r, name)
            self.features.add("scheduled_queue")
            self.add(*part.resources)
            return part.act
        when = r.choice(["stall", "stall", "credits", "drop"])
        self.features.add(f"queue {when}")
        self.add(BoundedQueue(name, r.choice([1, 4, 16, 64]), when_full=when))
        return lambda m: getattr(m, name).put()


def run(m, steps):
    """Record steps one after the other."""
    for step in steps:
        step(m)


class _WithPacket:
    """The recorder, with the packet beside it."""

    def __init__(self, recorder, packet):
        self.recorder, self.packet = recorder, packet

    def __getattr__(self, name):
        return getattr(self.recorder, name)


def program_of(body, puts, put, early, frees, freed):
    """Return a pool's program: the body, then the packet is handed on (put) or leaves; early: a fifth leaves here.

    frees: all packets leave the receive buffer here (before a queue that drops, or at the end). freed: they have.
    """

    def program(recorder, packet):
        m = _WithPacket(recorder, packet)
        run(m, body)
        if frees:
            m.receive.free(bytes=packet.packet_bytes)
        if puts is None:
            return
        if not early:
            put(m)
            return
        with m.branch(0.2, f"out before {puts}"):
            if not frees and not freed:
                m.receive.free(bytes=packet.packet_bytes)
        with m.otherwise():
            put(m)

    return program


redraws = []  # (seed, attempt, error) of machines that were drawn anew


def random_machine(seed):
    """Return the machine of a seed; of those drawn for it the first that simulation can run, saturated."""
    for attempt in range(MAX_DRAWS):
        draw = _Draw(f"{seed}/{attempt}")
        try:
            built = draw.machine()
            name = f"random{seed}"
            built.name = name
            design = Design(name, Parameters(MachineFile(name=name, title=f"random machine {seed}")), lambda _: built)  # noqa: B023
            load = packets_of(draw.mix)
            design.simulate(load, packets=CHECKED_PACKETS, breakdown=False)
        except (ModelError, InputError, RefusedError, SimulationError) as error:
            redraws.append((seed, attempt, error))
            continue
        return RandomMachine(seed, design, draw.mix, draw.features)
    raise AssertionError(f"no machine for seed {seed} in {MAX_DRAWS} draws")
