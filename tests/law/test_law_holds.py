"""Laws of holds: random programs that hold servers over overlapping times, against a plain walk, packet by packet.

The walk knows nothing of recorder, demands or engine: it goes through the random tree with one packet's numbers and a
clock, and adds up units x (time of give - time of take).
"""

from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reference.small_machines import NS, QUIET, machine, packets, solo, told

from npexplore._kernels import engine
from npexplore.engine.model import build
from npexplore.engine.run import run
from npexplore.machine.resources import BufferPool, Delay, FifoServer, Lock
from npexplore.machine.under_load import under_load
from npexplore.rows.expressions import Condition
from npexplore.solve.bounds import bounds

HASH_NS, ACQUIRE_NS, RELEASE_NS, BUFFERS, BANKS = 9, 3, 5, 6, 3
UNITS = {"bus": 1, "slots": 3, "bank": 1, "lock": 1}
RANK = {name: k for k, name in enumerate(UNITS)}


def resources():
    return [
        FifoServer("bus", NS), FifoServer("slots", NS, units=3), FifoServer("bank", NS, members=BANKS),
        Lock("lock", clock_hz=1e9, acquire_cycles=ACQUIRE_NS, release_cycles=RELEASE_NS, wake_cycles=4),
        BufferPool("buffers", BUFFERS), FifoServer("hash", HASH_NS * NS), Delay("work"),
    ]  # fmt: skip


# ---- random programs: wishes, of which `possible` keeps what can be meant

LEAVES = st.one_of(
    st.tuples(st.just("work"), st.integers(0, 90)),
    st.just(("hash",)),
    st.tuples(st.just("take"), st.sampled_from(list(UNITS)), st.integers(1, 3), st.sampled_from([0, 1, "a", "i"])),
    st.tuples(st.just("both"), st.sampled_from([("bus", "slots"), ("slots", "bank"), ("bus", "bank")])),
    st.tuples(st.just("give"), st.integers(0, 3)),
    st.tuples(st.just("some"), st.integers(1, 3)),
    st.tuples(st.just("back"), st.integers(1, 3)),
)
WISHES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.just("loop"), st.one_of(st.integers(0, 3), st.just("b")), st.lists(inner, max_size=4)),
        st.tuples(st.just("branch"), st.sampled_from(["lt", "ge", 0.0, 1.0]), st.lists(inner, max_size=3),
                  st.lists(inner, max_size=3)),
        st.tuples(st.just("fork"), st.booleans(), st.lists(LEAVES, max_size=3)),
    ),
    max_leaves=16,
)  # fmt: skip
PROGRAMS = st.lists(WISHES, min_size=1, max_size=9)
ROWS = st.lists(st.tuples(st.integers(1, 200), st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=3)


class Possible:
    """Keeps of a list of wishes what a packet alone never waits for; gives holdings numbers."""

    def __init__(self, buffers=True, ordered=False):
        self.count, self.buffers, self.ordered = 0, buffers, ordered

    def takes(self, server, taken):
        return server not in taken and (not self.ordered or all(RANK[server] > RANK[other] for other in taken))

    def block(self, wishes, taken, room=BUFFERS, own=()):
        """taken: servers that the packet or what goes on beside it holds; own: holdings that this block must give."""
        out, mine, held, kept = [], list(own), set(taken), 0
        for wish in wishes:
            word = wish[0]
            if word in ("work", "hash"):
                out.append(wish)
            elif word == "take" and self.takes(wish[1], held):
                self.count += 1
                units = min(wish[2], UNITS[wish[1]])
                out.append(("take", [(self.count, wish[1], wish[3], units)]))
                mine.append((self.count, wish[1]))
                held.add(wish[1])
            elif word == "both" and all(self.takes(server, held) for server in wish[1]):
                parts = []
                for server in wish[1]:
                    self.count += 1
                    parts.append((self.count, server, 1, 1))
                    mine.append((self.count, server))
                    held.add(server)
                out.append(("take", parts))
            elif word == "give" and mine:
                number, server = mine.pop(wish[1] % len(mine))
                out.append(("give", number, server))
                held.discard(server)
            elif word == "some" and self.buffers and kept + wish[1] <= room:
                kept += wish[1]
                out.append(wish)
            elif word == "back" and kept:
                out.append(("back", min(wish[1], kept)))
                kept -= min(wish[1], kept)
            elif word in ("loop", "branch"):
                out.append((*wish[:2], *(self.block(part, held, room - kept) for part in wish[2:])))
            elif word == "fork":
                moved = next((one for one in mine if one[1] != "lock"), None) if wish[1] else None
                if moved:
                    mine.remove(moved)
                    self.count += 1
                    renamed = self.count
                    inside = self.block(wish[2], held, 0, [(renamed, moved[1])])
                    out.append(("fork", moved[0], renamed, inside))
                    held.discard(moved[1])  # it is free again when what goes on has ended
                else:
                    out.append(("fork", None, None, self.block(wish[2], held, 0)))
        out += [("give", number, server) for number, server in mine]
        return [*out, ("back", kept)] if kept else out


def member(at, names):
    return names.get(at, at) if isinstance(at, str) else at


# ---- the same tree three times: recorded, and walked


def play(m, packet, steps, names, held):
    for step in steps:
        word = step[0]
        if word == "work":
            m.work.wait(seconds=step[1] * NS)
        elif word == "hash":
            m.hash.serve()
        elif word == "take" and step[1][0][1] == "lock":
            m.lock.acquire()
        elif word == "take" and len(step[1]) > 1:
            holdings = m.take_all(*((server, at if server == "bank" else 0) for _, server, at, _ in step[1]))
            held.update(zip([number for number, *_ in step[1]], holdings, strict=True))
        elif word == "take":
            number, server, at, units = step[1][0]
            more = {"member": (member(at, names) + 0) % BANKS} if server == "bank" else {}
            held[number] = m.take(server, units=units, **more)
        elif word == "give" and step[2] == "lock":
            m.lock.release()
        elif word == "give":
            m.give(held[step[1]])
        elif word in ("some", "back"):
            (m.buffers.take if word == "some" else m.buffers.give)(count=step[1])
        elif word == "loop":
            with m.loop(names.get(step[1], step[1])) as i:
                play(m, packet, step[2], {**names, "i": i}, held)
        elif word == "branch":
            is_sure = isinstance(step[1], float)
            with m.branch(step[1] if is_sure else Condition(step[1], packet.a + 0, packet.b + 0)):
                play(m, packet, step[2], names, held)
            with m.otherwise():
                play(m, packet, step[3], names, held)
        else:
            with m.fork(*([held[step[1]]] if step[1] else [])) as moved:
                held[step[2]] = moved
                play(m, packet, step[3], names, held)
            m.work.wait(seconds=QUIET)


def walk(steps, clock, names, taken, spent):
    """Return the time in ns after these steps; spent: units x ns by server and member, and at the hash unit."""
    for step in steps:
        word = step[0]
        if word == "work":
            clock += step[1]
        elif word == "hash":
            clock += HASH_NS
            spent["hash", 0] += HASH_NS
        elif word == "take":
            for number, server, at, units in step[1]:
                place = (at if len(step[1]) > 1 else member(at, names)) % BANKS if server == "bank" else 0
                clock += ACQUIRE_NS if server == "lock" else 0
                taken[number] = clock, server, place, units
        elif word == "give":
            clock += RELEASE_NS if step[2] == "lock" else 0
            begin, server, place, units = taken.pop(step[1])
            spent[server, place] += units * (clock - begin)
        elif word in ("some", "back"):
            spent["buffers", 0] += (-clock if word == "some" else clock) * step[1]
        elif word == "loop":
            for i in range(names.get(step[1], step[1])):
                clock = walk(step[2], clock, {**names, "i": i}, taken, spent)
        elif word == "branch":
            yes = {"lt": names["a"] < names["b"], "ge": names["a"] >= names["b"], 0.0: False, 1.0: True}[step[1]]
            clock = walk(step[2] if yes else step[3], clock, names, taken, spent)
        else:
            if step[1]:
                taken[step[2]] = taken.pop(step[1])
            walk(step[3], clock, names, taken, spent)
            clock += round(QUIET / NS)
    return clock


def flat(steps):
    """Yield steps with those inside loops, branches and forks."""
    for step in steps:
        yield step
        for part in step[2:]:
            if isinstance(part, list):
                yield from flat(part)


def has_forks(steps):
    return any(step[0] == "fork" for step in flat(steps))


def made(steps, threads=1):
    def program(m, packet):
        m.hash.serve()
        play(m, packet, steps, {"a": packet.a, "b": packet.b, "i": 2}, {})
        m.work.wait(seconds=QUIET if threads == 1 else 0)

    return machine(resources(), program, threads=threads)


@settings(max_examples=50)
@given(wishes=PROGRAMS, rows=ROWS)
def test_demands_of_holds_are_those_of_a_plain_walk_and_of_one_thread(wishes, rows):
    steps = Possible().block(wishes, set())
    size, a, b = (list(column) for column in zip(*rows, strict=True))
    load, one = packets(*size, a=a, b=b), made(steps)
    spent, latency = Counter(), 0
    for _, x, y in rows:
        taken = {}
        latency += walk([("hash",), *steps], 0, {"a": x, "b": y, "i": 2}, taken, spent)
        assert not taken
    found, seen = told(one, load), solo(one, load, rounds=1)
    assert found.latency == pytest.approx((latency / len(rows) + QUIET / NS) * NS)
    assert seen.latency == pytest.approx(found.latency, rel=1e-9)
    by_server = Counter()
    for (server, place), ns in spent.items():
        by_server[server] += ns * NS / len(rows)
        if server == "bank":
            assert found.servers[server].members.get(place, 0.0) == pytest.approx(ns * NS / len(rows), abs=1e-18)
    expected = {server: s for server, s in by_server.items() if s}
    assert {n: d.seconds for n, d in found.servers.items() if d.seconds > 1e-15} == pytest.approx(expected)
    assert {n: s for n, s in seen.servers.items() if s > 0} == pytest.approx(expected)
    # every moment is spent at one server, or at none, or beside the packet
    assert sum(found.spent.values()) - sum(found.overlap.values()) == pytest.approx(found.latency)
    if not has_forks(steps):
        assert not found.overlap
        assert not found.aside
    for name, demand in found.servers.items():
        assert found.own(name) <= demand.seconds * (1 + 1e-9) + 1e-15


def may_starve(steps):
    """Whether forked work takes several units at once: those who take one at a time may always be before it."""
    forked = [inner for step in flat(steps) if step[0] == "fork" for inner in flat(step[3])]
    return any(step[0] == "take" and len(step[1]) > 1 for step in forked)


STARVED = [
    ("fork", False, [("both", ("slots", "bank")), ("hash",)]), ("take", "bank", 1, 1), ("hash",), ("fork", False, []),
]  # fmt: skip


@settings(max_examples=20)
@example(STARVED, [(1, 0, 0)], 2, 0)
@given(wishes=PROGRAMS, rows=ROWS, threads=st.integers(2, 6), seed=st.integers(0, 99))
def test_units_are_conserved_and_bounds_hold(wishes, rows, threads, seed):
    """Servers are taken in one order, so that no circle of waiting packets can close."""
    steps = Possible(buffers=False, ordered=True).block(wishes, set())
    size, a, b = (list(column) for column in zip(*rows, strict=True))
    load, many = packets(*size, a=a, b=b), made(steps, threads)
    model = build(many, load)
    n = 20 * len(rows)
    result = run(model, seed, n, 1, log_rows=20_000)
    last, free = result.snapshots[-1], {}
    for name, (server, number) in model.servers.items():
        if name in UNITS:
            free.update({number + k: server.units for k in range(server.members)})
    limits = dict(free)
    for _, number, change, _ in result.log.tolist():
        if number in free:
            free[number] -= change
            assert 0 <= free[number] <= limits[number]
    done, d = int(last.done[0, engine.D_COUNT]), under_load(many, load)
    rounds = threads + len(rows) + sum(limits.values())  # packets under way, parts of a round, forks that still hold
    assert done <= bounds(many, load).rate_pps * last.now * model.tick * (1 + 1e-9) + rounds
    for name, demand in d.demands.servers.items():  # waiting for others makes a hold longer, never shorter
        server, number = model.servers[name]
        part = slice(number, number + server.members)
        busy = (server.units * server.members * last.now - int(last.integral_free[part].sum())) * model.tick
        most = max(
            under_load(many, packets(s, a=[x], b=[y])).demands.servers.get(name, demand).seconds for s, x, y in rows
        )
        assert busy >= (done - rounds) * demand.seconds - len(rows) * most or may_starve(steps)
        if name == "hash":
            assert busy <= (done + rounds) * demand.seconds + len(rows) * most


@settings(max_examples=30)
@given(wishes=PROGRAMS, rows=ROWS)
def test_weights_of_packets_do_not_matter_to_holds(wishes, rows):
    steps = Possible().block(wishes, set())
    size, a, b = (np.array(column) for column in zip(*rows, strict=True))
    once, thrice = (told(made(steps), packets(*np.tile(size, n), a=np.tile(a, n), b=np.tile(b, n))) for n in (1, 3))
    assert {n: d.seconds for n, d in once.servers.items()} == pytest.approx(
        {n: d.seconds for n, d in thrice.servers.items()}, abs=1e-18
    )
    assert once.sections.keys() == thrice.sections.keys()
    for name, section in once.sections.items():
        assert (section.crossed, section.scattered) == (thrice.sections[name].crossed, thrice.sections[name].scattered)
        assert section.at_a_time == pytest.approx(thrice.sections[name].at_a_time)
