"""Laws of programs: the demands a record tells are the times one thread takes, whatever the program; arithmetic agrees.

Random programs over one machine with every listed kind. Times are whole nanoseconds, hence exact in the engine's ticks.
"""

import numpy as np
import pytest
from hypothesis import example, given, reject, settings
from hypothesis import strategies as st
from reference.example_kinds import visits_of
from reference.random_kinds import BY_HAND
from reference.small_machines import NS, OPTIONS, QUIET, STRICT, Probe, busy, ddr, dram, machine, packets, solo, told

from npexplore.errors import ModelError
from npexplore.machine.demands import demands
from npexplore.machine.described.kinds import shown
from npexplore.machine.resources import (
    KINDS,
    Accelerator,
    Arbiter,
    Balancer,
    BankedMemory,
    BoundedQueue,
    BufferPool,
    Delay,
    DramController,
    FifoServer,
    LineCard,
    Lock,
    Policer,
    Processor,
    ReorderQueue,
    ScheduledQueue,
    TokenChannel,
    WordMemory,
)
from npexplore.machine.resources.dram_device import dram_device
from npexplore.machine.resources.matrix import SwitchMatrix
from npexplore.machine.resources.mesh import Mesh
from npexplore.machine.resources.streams import StaticStreams
from npexplore.machine.workload import Workload
from npexplore.rows.expressions import CONDITIONS, FUNCTIONS, Condition, Variable, ceildiv, evaluate, function

# ---- expressions: NumPy against the engine


def numbers(low=-40, high=40):
    return st.integers(low, high)


def expressions(depth):
    leaf = st.one_of(st.sampled_from(["a", "b"]), numbers())
    if not depth:
        return leaf
    inner = expressions(depth - 1)
    divisor = st.sampled_from([1, 2, 3, 7, 64, -3])
    return st.one_of(
        leaf,
        st.tuples(st.sampled_from(["add", "sub", "mul", "min", "max"]), inner, inner),
        st.tuples(st.sampled_from(["div", "ceildiv", "mod"]), inner, divisor),
        st.tuples(st.just("right"), inner, st.integers(0, 5)),
    )


def made_of(tree, named):
    if isinstance(tree, tuple):
        name, left, right = tree
        return function(name, made_of(left, named), made_of(right, named))
    return named[tree] if isinstance(tree, str) else tree


@given(tree=expressions(4), rows=st.lists(st.tuples(numbers(), numbers()), min_size=1, max_size=4))
def test_arithmetic_of_the_engine_is_that_of_demands(tree, rows):
    a, b = (list(column) for column in zip(*rows, strict=True))

    def program(m, packet):
        m.probe.see(value=made_of(tree, {"a": packet.a, "b": packet.b}))
        m.quiet.wait(seconds=QUIET)

    made, load = machine([Probe("probe"), Delay("quiet")], program), packets(*[64] * len(rows), a=a, b=b)
    assert solo(made, load, rounds=1).counts["probe.sum"] == pytest.approx(told(made, load).counts["probe.sum"])


PYTHON = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a // b,
    "ceildiv": lambda a, b: -(-a // b), "mod": lambda a, b: a % b, "min": min, "max": max, "right": lambda a, b: a >> b,
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
@given(a=st.integers(-(2**40), 2**40), b=st.integers(1, 40))
def test_functions_are_those_of_python_s_integers(name, a, b):
    x, y = Variable("x"), Variable("y")
    at = {x: np.array([float(a)]), y: np.array([float(b)])}
    assert evaluate(function(name, x, y), at).tolist() == [PYTHON[name](a, b)]
    assert evaluate(function(name, a, b), at) == PYTHON[name](a, b)  # folded


@pytest.mark.parametrize("name", CONDITIONS)
@given(values=st.lists(numbers(-3, 3), min_size=1, max_size=6), limit=numbers(-3, 3))
def test_conditions_choose_the_same_packets(name, values, limit):
    def program(m, packet):
        with m.branch(Condition(name, packet.a + 0, packet.a * 0 + limit)):
            m.probe.see(value=1)
        with m.otherwise():
            m.probe.see(value=1000)
        m.quiet.wait(seconds=QUIET)

    made, load = machine([Probe("probe"), Delay("quiet")], program), packets(*[64] * len(values), a=values)
    chosen = sum(bool(CONDITIONS[name](v, limit)) for v in values)
    expected = (chosen + 1000 * (len(values) - chosen)) / len(values)
    assert told(made, load).counts["probe.sum"] == pytest.approx(expected)
    assert solo(made, load, rounds=1).counts["probe.sum"] == pytest.approx(expected)


# ---- programs: demands against the time one thread takes


def parts(options, processor=None):
    """One resource of every listed kind; names are the kinds'."""
    memory = WordMemory("memory", 4, 5 * NS, 2 * NS, 30 * NS, channels=2, split_ports=True)
    listed = [
        processor or Processor("processor", 2, 1e9, switch_cycles=2), FifoServer("server", 9 * NS, units=2, members=3),
        Accelerator("accelerator", 9 * NS, 21 * NS, 3 * NS, in_order=True, window=2), TokenChannel("channel", 125e6, 2),
        Arbiter("arbiter", 4, 10 * NS, 12 * NS, groups=2), ReorderQueue("reorder", 2), Delay("delay"),
        Balancer("balancer", "server", 3), memory, dram(options), ddr(timing=STRICT), BufferPool("pool", 4),
        BoundedQueue("queue", 2),
        DramController("dram_controller", dram_device("ddr4_3200")),
        BankedMemory("banked_memory", 8, 5 * NS, 2, 9 * NS, 7 * NS, 30 * NS), Policer("policer", [1e9]),
        ScheduledQueue("scheduled_queue", 2, {"high": 2, "low": 1}),
        LineCard("line_card", 1e9, 2, 4, 12, buffer_bytes=4000),
        Lock("lock", clock_hz=1e9, acquire_cycles=3, release_cycles=5),
        Mesh("mesh", 2, 2, 1e9, 2, hop_cycles=2, ports=[1, 1]),
        StaticStreams("streams", 2, 2, 1e9, [[[0], [0, 1]], [[3, 2]]]),
        SwitchMatrix("matrix", 5, 7 * NS, 3 * NS, arity=2),
    ]  # fmt: skip
    return [*listed, *[shown(kind) for kind in KINDS if kind not in {r.name for r in listed}], Probe("probe")]


def hand_on(m, packet):
    """To one of the two queues: a packet can be handed on once."""
    with m.branch(packet.a % 2 == 0):
        m.queue.put()
    with m.otherwise():
        m.scheduled_queue.put(queue=1)


PROCESSORS = [
    Processor("processor", 2, 1e9, switch_cycles=2),
    Processor("processor", 2, 1e9, 2, "ready_round_robin"),
    Processor("processor", 2, 1e9, 0, "ready_every_cycle", pipeline=3),
]
OTHERS = {kind: visits_of(shown(kind)) for kind in sorted({*KINDS} - {*BY_HAND})}
SMALL = st.one_of(st.integers(0, 9), st.sampled_from(["a", "b", "i"]))
VISITS = st.one_of(
    st.tuples(st.just("processor"), SMALL),
    st.tuples(st.just("server"), st.integers(0, 2)),
    st.tuples(st.just("accelerator"), SMALL),
    st.tuples(st.just("channel"), st.integers(0, 5)),
    st.tuples(st.just("arbiter"), st.sampled_from([0, 3, "b"])),
    st.just(("reorder",)),
    st.just(("balancer",)),
    st.tuples(st.just("delay"), st.integers(0, 300)),
    st.tuples(st.sampled_from(["read", "write"]), SMALL),
    st.tuples(
        st.sampled_from(["dram read", "dram write", "ddr read", "ddr write"]),
        SMALL,
        st.sampled_from([0, 3, "a", "drawn", "turn"]),
    ),
    st.tuples(st.just("pool"), st.integers(0, 4)),
    st.tuples(st.sampled_from(["card receive", "card send"]), SMALL),
    st.just(("lock",)),
    st.tuples(st.sampled_from(["mesh send", "mesh deliver"]), SMALL, st.sampled_from([0, 5, "a"])),
    st.tuples(st.just("streams"), SMALL, st.sampled_from([0, 1, "a"])),
    st.tuples(st.just("matrix"), SMALL, st.sampled_from([0, 4, "a"])),
    st.tuples(st.just("probe"), SMALL),
    *[st.tuples(st.just(kind), SMALL, st.sampled_from([*visits])) for kind, visits in OTHERS.items()],
)
STEPS = st.recursive(
    VISITS,
    lambda inner: st.one_of(
        st.tuples(st.just("loop"), st.one_of(st.integers(0, 3), st.just("b")), st.lists(inner, max_size=3)),
        st.tuples(st.just("branch"), st.sampled_from(["lt", "ge", "eq", 0.0, 1.0]), st.lists(inner, max_size=2),
                  st.lists(inner, max_size=2)),
        st.tuples(st.just("let"), st.lists(inner, max_size=2)),
        st.tuples(st.just("parallel"), st.lists(inner, max_size=2)),
        st.tuples(st.just("fork"), st.lists(VISITS, max_size=2)),
    ),
    max_leaves=10,
)  # fmt: skip
PROGRAMS = st.lists(STEPS, max_size=5)
ROWS = st.lists(st.tuples(st.integers(1, 200), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=3)


def play(m, packet, steps, names):
    """Record a random program; after each DRAM access comes quiet, so that no bank is busy when it is asked."""
    for step in steps:
        word = step[0]
        x = names.get(step[1], step[1]) if len(step) > 1 and not isinstance(step[1], list) else None
        if word == "processor":
            m.processor.compute(cycles=x)
        elif word == "server":
            m.server.serve(member=x)
        elif word == "accelerator":
            m.accelerator.call(words=x)
        elif word == "channel":
            m.channel.take(tokens=x)
            m.delay.wait(seconds=QUIET)  # the bucket fills
        elif word == "arbiter":
            m.arbiter.request(requester=x)
        elif word == "reorder":
            m.reorder.leave(ticket=m.reorder.enter())
        elif word == "balancer":
            m.server.serve(member=m.balancer.choose())
        elif word == "delay":
            m.delay.wait(seconds=x * NS)
        elif word in ("read", "write"):
            getattr(m.memory, word)(bytes=x)
        elif word.startswith(("dram ", "ddr ")):
            name, way = word.split()
            bank = m.draw(4, "bank") if step[2] == "drawn" else m.turn(4, "bank") if step[2] == "turn" else step[2]
            bank = names.get(bank, bank) if isinstance(bank, str) else bank
            getattr(getattr(m, name), way)(bytes=x * 9 + 1, bank=bank)
            m.delay.wait(seconds=QUIET)
        elif word == "pool":
            m.pool.take(count=x)
            m.pool.give(count=x)
        elif word.startswith("card"):
            getattr(m.line_card, word[5:])(bytes=x, member=names["i"] % 2)
        elif word == "lock":
            m.lock.acquire()
            m.delay.wait(seconds=7 * NS)
            m.lock.release()
        elif word.startswith("mesh"):
            getattr(m.mesh, word[5:])(source=names["b"], target=names.get(step[2], step[2]), words=x)
            m.delay.wait(seconds=QUIET)  # a message that was sent is still on its way
        elif word == "streams":
            m.streams.stream(path=names.get(step[2], step[2]) % 2, words=x)
        elif word == "matrix":
            m.matrix.send(source=names["b"], target=names.get(step[2], step[2]) % 5, words=x)
        elif word == "probe":
            m.probe.see(value=x)
        elif word in OTHERS:
            drawn = {key: x for key, value in KINDS[word].EXAMPLE.operands.items() if value != "random"}
            getattr(getattr(m, word), step[2])(**{**OTHERS[word][step[2]], **drawn})
        elif word == "loop":
            with m.loop(x) as i:
                play(m, packet, step[2], {**names, "i": i})
        elif word == "branch":
            condition = Condition(x, packet.a + 0, packet.b + 0) if isinstance(x, str) else x
            with m.branch(condition):
                play(m, packet, step[2], names)
            with m.otherwise():
                play(m, packet, step[3], names)
        elif word == "let":
            play(m, packet, step[1], {**names, "i": m.let(ceildiv(packet.packet_bytes, 64))})
        elif word == "parallel":  # one part: side by side with nothing, so that no part is in another's way
            m.parallel(lambda step=step: play(m, packet, step[1], names))
        else:
            with m.fork():
                play(m, packet, step[1], names)
            m.delay.wait(seconds=5 * QUIET)  # what goes on by itself is done before the packet goes on


MESH_PACE = 1.5  # times as long as a message of few flits: (hop + 1) / depth of the mesh here


@settings(max_examples=80)
@given(steps=PROGRAMS, rows=ROWS, options=st.sampled_from(OPTIONS), processor=st.sampled_from(PROCESSORS))
@example([("branch", "lt", [("matrix", 1, 4)], []), ("matrix", 1, 4)], [(1, 0, 0)], OPTIONS[0], PROCESSORS[0])
def test_one_thread_takes_the_time_that_demands_tell(steps, rows, options, processor):
    size, a, b = (list(column) for column in zip(*rows, strict=True))
    load = packets(*size, a=a, b=b)

    def program(m, packet):
        play(m, packet, steps, {"a": packet.a, "b": packet.b, "i": 2})
        m.delay.wait(seconds=QUIET)
        hand_on(m, packet)

    made = machine(parts(options, processor), program, home="processor")
    try:
        found, seen = told(made, load), solo(made, load, rounds=1)
    except ModelError as error:
        if "numbers at once" not in str(error):  # deep loops with many lets: more than there are registers
            raise
        reject()
    assert seen.latency == pytest.approx(found.latency, rel=1e-9)
    expected = {n: d.seconds for n, d in found.servers.items() if d.seconds > 0}
    for link in [
        name for name in expected if name.startswith("mesh.")
    ]:  # its FIFO keeps the next message off it longer
        expected[link] = max(expected[link] / MESH_PACE, min(expected[link], busy(made, seen, found)[link]))
    assert busy(made, seen, found) == pytest.approx(expected, rel=1e-6)
    assert seen.counts == pytest.approx({name: found.counts.get(name, 0) for name in seen.counts}, rel=1e-9)
    assert sum(found.spent.values()) - sum(found.overlap.values()) == pytest.approx(found.latency)


HELD = {  # each with its own end behind the loops, if it has one
    "some": lambda m, i: (m.pool.take(count=i % 3), m.pool.give(count=i % 3)),
    "more than given": lambda m, i: m.pool.take(count=1),
    "less than given": lambda m, i: m.pool.give(count=1),
    "as much in all": lambda m, i: (
        m.pool.take(count=1), m.pool.take(count=1), m.pool.give(count=i % 2 + 1), m.delay.wait(seconds=NS),
        m.pool.give(count=1 - i % 2),
    ),
    "a member": lambda m, i: m.give(m.take("server", member=i % 3, units=i % 2 + 1)),
    "crossed": lambda m, i: m.give(m.take("processor", member=0), m.take("server", member=i % 3)),
    "given by a fork": lambda m, i: given_by_a_fork(m, m.take("server", member=i % 3)),
    "elsewhere": lambda m, i: (m.reorder.enter(), m.delay.wait(seconds=NS), m.reorder.leave(ticket=0)),
    "at another member": lambda m, i: (m.lanes.enter(member=0), m.lanes.leave(ticket=0, member=1)),
    "put": lambda m, i: m.queue.put(),
}  # fmt: skip


def given_by_a_fork(m, held):
    with m.fork(held) as kept:
        m.delay.wait(seconds=NS)
        m.give(kept)


def looped(m, packet, steps, held):
    """Loops, one in another, whose turns do the same but for their number, and hold what they like."""
    with m.loop(3) as i:
        play(m, packet, steps, {"a": packet.a, "b": packet.b, "i": i})
        for word in held:
            HELD[word](m, i)
    with m.loop(packet.b), m.loop(packet.a) as i:
        for word in held:
            HELD[word](m, i + packet.b)
        play(m, packet, steps, {"a": packet.a, "b": packet.b, "i": i})
    if "more than given" in held:
        m.pool.give(count=packet.a * packet.b + 3)


def recorded(program, rows):
    """The body of a program, and the columns of its packets by variable."""
    size, a, b = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    columns = {name: Variable(name) for name in ("packet_bytes", "a", "b")}
    body = machine([*parts(None), Delay("quiet"), ReorderQueue("lanes", 2, members=2)], program).record(columns)
    return body, dict(zip(columns.values(), (size, a, b), strict=True))


@settings(max_examples=40)
@given(steps=PROGRAMS, held=st.lists(st.sampled_from(list(HELD)), max_size=2, unique=True), rows=ROWS,
       at_once=st.sampled_from([2, 5, 7, 4096]))  # fmt: skip
@example(steps=[], held=["more than given"], rows=[(1, 2, 2)], at_once=7)
@example(steps=[], held=["as much in all"], rows=[(1, 2, 2)], at_once=7)
@example(steps=[("delay", 3)], held=["at another member"], rows=[(1, 2, 2)], at_once=7)
@example(steps=[], held=["put"], rows=[(1, 2, 2)], at_once=7)
@example(
    steps=[("loop", "b", [("loop", 2, [("accelerator", "a")])])], held=[], rows=[(1, 0, 3), (1, 2, 1)], at_once=4096
)
@example(steps=[("branch", "ge", [("mesh deliver", "i", 0)], [])], held=[], rows=[(1, 0, 0)], at_once=5)
def test_turns_side_by_side_are_turns_one_by_one(steps, held, rows, at_once):
    body, columns = recorded(lambda m, packet: looped(m, packet, steps, held), rows)
    weights = np.arange(1.0, len(rows) + 1)
    fast, plain = (demands(body, columns, weights / weights.sum(), together) for together in (at_once, 1))
    assert_same(fast, plain)


def assert_same(a, b):
    """All that demands tell is equal, but for rounding."""
    assert a.clock == pytest.approx(b.clock, rel=1e-9)
    assert list(a.servers) == list(b.servers)
    for name, demand in a.servers.items():
        other = b.servers[name]
        for one in ("seconds", "squares", "visits", "spread", "chosen"):
            assert getattr(demand, one) == pytest.approx(getattr(other, one), rel=1e-9, abs=1e-18), (name, one)
        visited = [{member: s for member, s in each.members.items() if s} for each in (demand, other)]
        assert visited[0] == pytest.approx(visited[1], rel=1e-9), name
    for name, section in a.sections.items():
        other = b.sections[name]
        for one in ("least", "most", "at_a_time", "in_all"):
            assert getattr(section, one) == pytest.approx(getattr(other, one), rel=1e-9), (name, one)
        for one in ("crossed", "scattered", "outlives"):
            assert getattr(section, one) == getattr(other, one), (name, one)
    assert (a.untied, a.sections.keys(), a.side_by_side) == (b.untied, b.sections.keys(), b.side_by_side)
    for name, puts in a.handed.items():
        assert [weights.tolist() for weights, _ in puts] == [weights.tolist() for weights, _ in b.handed[name]]
    for one in ("counts", "spent", "overlap", "aside", "latency", "freed"):
        assert above_rounding(getattr(a, one)) == pytest.approx(above_rounding(getattr(b, one)), rel=1e-9, abs=1e-18), (
            one
        )


def above_rounding(values):
    """Return numbers by name without those that are 0 but for rounding; a number as it is."""
    return {name: x for name, x in values.items() if abs(x) > 1e-18} if isinstance(values, dict) else values


@settings(max_examples=40)
@given(steps=PROGRAMS, rows=ROWS)
def test_packets_beside_change_nothing(steps, rows):
    """Demands of several packets are the sums of those of each."""
    body, columns = recorded(lambda m, packet: looped(m, packet, steps, []), rows)
    together = demands(body, columns, np.ones(len(rows)))
    alone = [demands(body, {v: column[[k]] for v, column in columns.items()}, np.ones(1)) for k in range(len(rows))]
    assert together.clock == pytest.approx(np.concatenate([each.clock for each in alone]), rel=1e-9)
    for name, demand in together.servers.items():
        for one in ("seconds", "squares", "visits"):
            parts_of = [getattr(each.servers[name], one) for each in alone if name in each.servers]
            assert getattr(demand, one) == pytest.approx(sum(parts_of), rel=1e-9, abs=1e-18), (name, one)


@settings(max_examples=50)
@given(steps=PROGRAMS, rows=ROWS)
def test_distinct_packets_stand_for_all(steps, rows):
    """A workload and the same with every packet thrice have the same demands."""
    size, a, b = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))

    def program(m, packet):
        play(m, packet, steps, {"a": packet.a, "b": packet.b, "i": 2})
        hand_on(m, packet)

    made = machine(parts(None), program)
    once, thrice = (
        told(made, Workload("w", {"packet_bytes": np.tile(size, n), "a": np.tile(a, n), "b": np.tile(b, n)}))
        for n in (1, 3)
    )
    assert once.latency == pytest.approx(thrice.latency)
    assert {n: d.seconds for n, d in once.servers.items()} == pytest.approx(
        {n: d.seconds for n, d in thrice.servers.items()}
    )
