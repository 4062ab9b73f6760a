"""Disciplines as the engine's rows choose as golden/schedule does, choice for choice; a queue drops what has no room.

rows(packets and choices in any order) = golden(the same), for every port of its own
timed machine = functional router: the same packets leave one link in the same order
"""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npexplore._kernels import engine
from npexplore.engine.model import EngineModel, Token, rows_of
from npexplore.engine.state import State
from npexplore.errors import ModelError, UnknownNameError
from npexplore.golden.diffserv import Arrivals, ClassQueue, DiffServ, OutputPort, Treatment
from npexplore.golden.diffserv import simulate_diffserv as functional
from npexplore.golden.diffserv.queues import QueueLimits
from npexplore.golden.police import LeakyBucket, police_many
from npexplore.golden.schedule import SCHEDULERS, QueuedPacket
from npexplore.golden.token_rate import TokenRate
from npexplore.machine.machine import Machine, Pool, Start
from npexplore.machine.resources import Delay, LineCard, Policer, ScheduledQueue
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.workload import Workload
from npexplore.rows.assembler import Assembler
from npexplore.rows.base import Label
from npexplore.rows.disciplines import NO_ROWS, Queues, discipline_of, disciplines
from npexplore.rows.expressions import Variable
from npexplore.solve.simulate import simulate

CAPACITY, PORTS = 6, 2
AT_ONCE = Start("simultaneous")


def chosen_by_rows(name, weights, script):
    """What the rows choose: `script` has (port, class, bytes) of packets that come, and (port, -1, 0) for choices."""
    asm = Assembler(1e-12)
    table = asm.table(np.array(script, np.int64))
    answers = asm.new_global()
    asm.globals[answers:] = [-1] * len(script)
    step, again, choose, after = Variable("step"), Label(), Label(), Label()
    asm.let(step, 0)
    asm.place(again)
    with asm.scope():
        port, kind, size = asm.load(table, step, ["port", "class", "bytes"])
        queues = Queues(asm, "queues", tuple(weights), CAPACITY, PORTS, port)
        discipline = discipline_of("queues", name)(queues)
        asm.jump(choose, kind < 0)
        queues.enqueue(discipline, kind, size)
        asm.jump(after)
        asm.place(choose)
        queues.dequeue(discipline, kind)
        asm.write(step + answers, kind)
        asm.place(after)
    asm.assign(step, step + 1)
    asm.jump(again, step < len(script))
    asm.emit(engine.END)
    model = EngineModel(
        rows_of(asm.rows), [None] * len(asm.rows), {}, 0, 1e-12, [Token(0)], asm.tables, [], asm.globals, [], 1
    )  # fmt: skip
    state = State(model, 1)
    assert state.advance(1 << 60, 1 << 60, 1 << 60) == engine.FINISHED
    return [int(k) for k in state.G[answers : answers + len(script)]]


def chosen_by_golden(name, weights, wanted):
    """The part of a wish list that can be (room for who comes, somebody to choose), and what golden code chooses."""
    ports, script, answers = [SCHEDULERS[name](weights) for _ in range(PORTS)], [], []
    for number, (port, kind, size) in enumerate(wanted):
        scheduler, answer = ports[port], -1
        if kind >= 0 and len(scheduler.queues[kind]) < CAPACITY:
            scheduler.enqueue(kind, QueuedPacket(number, size, number))
        elif kind < 0 and scheduler.backlog:
            answer = scheduler.dequeue(number)[0]
        else:
            continue
        script.append((port, kind, size))
        answers.append(answer)
    return script, answers


def wishes(classes):
    """Packets and choices (-1) at any port, alone and in runs."""
    size = st.one_of(st.sampled_from([64, 64, 1518]), st.integers(1, 1518))
    one = st.tuples(st.integers(0, PORTS - 1), st.integers(-1, classes - 1), size)
    runs = st.tuples(one, st.integers(1, 8)).map(lambda run: [run[0]] * run[1])
    return st.lists(st.one_of(one.map(lambda x: [x]), runs), min_size=1, max_size=40).map(
        lambda parts: list(itertools.chain.from_iterable(parts))
    )


@pytest.mark.parametrize("name", disciplines())
@settings(max_examples=30)
@given(data=st.data(), classes=st.integers(1, 4))
def test_rows_choose_as_golden_code_does(name, data, classes):
    weights = data.draw(st.lists(st.integers(1, 20) | st.integers(60, 2000), min_size=classes, max_size=classes))
    script, answers = chosen_by_golden(name, weights, data.draw(wishes(classes)))
    if script:
        assert chosen_by_rows(name, weights, script) == answers


@pytest.mark.parametrize("name", disciplines())
def test_a_wrong_row_is_seen(name, monkeypatch):
    """Planted faults: each changes what some script chooses."""
    weights, script = [900, 300, 100] if "drr" in name else [9, 3, 1], []
    rng = np.random.default_rng(1)
    wanted = [
        (0, int(k), int(size)) for k, size in zip(rng.integers(-2, 3, 400), rng.integers(60, 1500, 400), strict=True)
    ]
    script, answers = chosen_by_golden(name, weights, [(port, max(k, -1), size) for port, k, size in wanted])
    assert chosen_by_rows(name, weights, script) == answers
    other = [weights[0], *reversed(weights[1:])] if name != "strict_priority" else weights
    turned = [(port, 2 - k if k >= 0 else k, size) for port, k, size in script] if other == weights else script
    assert chosen_by_rows(name, other, turned) != answers


# ---- a machine with a scheduled queue


def link(name, weights, capacity=CAPACITY, ports=1):
    """Packets of the column `class` to a queue each, one thread that sends what the discipline chooses at 1 byte/ns."""

    def receive(m, packet):
        m.receive.free(bytes=packet.packet_bytes)
        m.queues.put(queue=packet.kind, **({"member": packet.port} if ports > 1 else {}))

    queues = ScheduledQueue("queues", capacity, {f"q{k}": w for k, w in enumerate(weights)}, name, ports)
    pools = [
        Pool("in", 1, receive, priority=4, start=AT_ONCE),
        Pool("out", 1, lambda m, packet: m.card.send(bytes=packet.packet_bytes), gets="queues", start=AT_ONCE),
    ]
    resources = {r.name: r for r in (queues, LineCard("card", 1e9))}
    return Machine("link", pools, Ingress("receive", 1 << 24, 1), resources)


def load(times, kinds, sizes, **more):
    columns = {"packet_bytes": sizes, "class": kinds, "kind": kinds, **more}
    return Workload("packets", {k: np.asarray(v, np.int64) for k, v in columns.items()}, arrivals="timestamps",
                    t_ns=np.asarray(times, np.int64))  # fmt: skip


@pytest.mark.parametrize("name", disciplines())
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), gap=st.sampled_from([1, 2, 3]))
def test_the_timed_machine_sends_what_the_functional_router_sends(name, seed, gap):
    """Three classes into one link: packets of each class, their latency, and what full queues lose.

    Packet n comes n ns after a multiple of 512, lengths are such multiples: no two things happen at one instant.
    """
    rng, weights = np.random.default_rng(seed), [900, 300, 100] if "drr" in name else [4, 2, 1]
    times = 512 * np.cumsum(rng.integers(0, gap + 1, 300)) + np.arange(300)
    kinds, sizes = rng.integers(0, 3, 300), 512 * rng.integers(1, 3, 300)
    names = ("EF", "AF1", "BE")
    port = OutputPort(TokenRate(1, 1), tuple(ClassQueue(w, QueueLimits(CAPACITY)) for w in weights), name)
    router = DiffServ(tuple(Treatment(one) for one in names), (port,), classes=names)
    expected = functional(router, Arrivals.of(times, sizes, kinds))
    seen = simulate(link(name, weights), load(times, kinds, sizes))
    span = seen.about["simulated_s"]
    for k in range(3):
        delays = expected.delay_ns[expected.sent & (kinds == k)]
        assert round(seen.classes[str(k)].rate_pps * span) == len(delays)
        assert seen.classes[str(k)].latency_s.mean == pytest.approx(delays.mean() * 1e-9)
    assert seen.drops["queues"] == 300 - expected.sent.sum()


def test_a_discipline_changes_latency():
    """A load that the link cannot carry: the high class waits for one packet at most, or as long as its share asks."""
    count = 3000
    times, kinds = np.arange(count) * 400, np.arange(count) % 3
    sizes = np.full(count, 500)
    means = {}
    for name in disciplines():
        weights = [2000, 1000, 500] if "drr" in name else [4, 2, 1]
        means[name] = [simulate(link(name, weights, 32), load(times, kinds, sizes)).classes[str(k)].latency_s.mean
                       for k in range(3)]  # fmt: skip
    assert means["strict_priority"][0] < 1.01e-6 < means["strict_priority"][2] / 10
    assert all(means[name][0] < means[name][1] < means[name][2] for name in disciplines())
    assert means["wrr"][2] < means["strict_priority"][2]


def test_ports_are_served_in_turn():
    """Two ports that always have packets send alternately, whatever their classes."""
    count = 400
    ports, kinds = np.arange(count) % 2, np.arange(count) % 3
    made = link("strict_priority", [1, 1, 1], 200, 2)
    columns = load(np.arange(count), kinds, np.full(count, 100), port=ports)
    columns.columns["class"] = ports
    seen = simulate(made, columns)
    assert seen.classes["0"].latency_s.mean == pytest.approx(seen.classes["1"].latency_s.mean, rel=0.01)


@pytest.mark.parametrize(
    ("knobs", "error", "said"),
    [
        (
            {"weights": {"EF": 4, "AF1": 0}},
            ModelError,
            "out: weight of queue 'AF1' must be an integer of at least 1, got 0",
        ),
        ({"weights": {}}, ModelError, "out: a scheduler needs the weight of at least one queue, got none"),
        ({"weights": {"EF": 1}, "ports": 0}, ModelError, "out: ports must be an integer of at least 1, got 0"),
        (
            {"weights": {"EF": 1}, "discipline": "wfq"},
            ModelError,
            "out: discipline 'wfq' has no rows: its virtual time",
        ),
        ({"weights": {"EF": 1}, "discipline": "wr"}, UnknownNameError, "wrr"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(knobs, error, said):
    with pytest.raises(error, match=said) as caught:
        ScheduledQueue("out", 64, **knobs)
    assert "\n" not in str(caught.value)


@settings(max_examples=40)
@given(
    rates=st.lists(st.sampled_from([62_500, 148_810, 1_000_000, 744]), min_size=1, max_size=3), depth=st.integers(1, 8),
    tick_ns=st.sampled_from([1, 1000, 20_000]), seed=st.integers(0, 10**6),
)  # fmt: skip
def test_a_policer_admits_what_golden_code_admits(rates, depth, tick_ns, seed):
    """Leaky buckets, one a flow: the packets that pass, of each flow."""
    rng = np.random.default_rng(seed)
    times, flows = np.cumsum(rng.integers(0, 6000, 200)), rng.integers(0, len(rates), 200)

    def receive(m, packet):
        m.receive.free(bytes=packet.packet_bytes)
        with m.branch(m.police.police(flow=packet.kind) == 0):
            m.police.drop()
        with m.otherwise():
            m.rest.wait(seconds=0)

    resources = {r.name: r for r in (Policer("police", rates, depth, tick_ns * 1e-9), Delay("rest"))}
    made = Machine("edge", Pool("in", 1, receive, start=AT_ONCE), Ingress("receive", 1 << 24, 1), resources)
    seen = simulate(made, load(times, flows, np.full(200, 64)))
    buckets = [LeakyBucket(TokenRate.per_second(rate, "packets"), depth, tick_ns) for rate in rates]
    red = np.asarray(police_many(buckets, flows, times, np.full(200, 64))) == 2
    assert seen.drops["police"] == red.sum()
    passed = [round(one.rate_pps * seen.about["simulated_s"]) for one in seen.classes.values()]
    assert passed == [int((~red & (flows == k)).sum()) for k in range(len(passed))]


def test_every_golden_scheduler_has_rows_or_a_reason():
    assert SCHEDULERS.keys() == {*disciplines(), *NO_ROWS}
