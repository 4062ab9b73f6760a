"""Every visit of every listed kind and part: latency by hand, one thread's simulation the same, servers as it says."""

from typing import ClassVar

import pytest
from reference.small_machines import CASES, EXAMPLES, NS, QUIET, busy, machine, packets, solo, told

from npexplore.designs import design
from npexplore.engine.model import build
from npexplore.errors import ModelError, NpexploreError
from npexplore.machine.described.part_files import PARTS, shelf_part
from npexplore.machine.described.parts import Part, part
from npexplore.machine.lone import unloaded_visit
from npexplore.machine.program import visit
from npexplore.machine.resources import KINDS, BufferPool, Delay, FifoServer, Processor, WordMemory
from npexplore.machine.resources.base import Resource, Server, count_of, kept_visits, rate_of, time_of
from npexplore.rows.server import MOST_MEMBERS, place_of
from npexplore.solve.simulate import simulate

EVERY = [*CASES, *EXAMPLES]


def with_case(case):
    home = case.resource.name if case.kind == "processor" else None

    def program(m, packet):
        m.quiet.wait(seconds=QUIET)  # what the visit before has left behind is over
        if case.program is None:
            getattr(getattr(m, case.resource.name), case.method)(**case.operands)
        else:
            case.program(m)

    return machine([case.resource, *case.beside, Delay("quiet")], program, home=home)


def test_listed_means_tested():
    """A visit of a listed kind, or of a part of the shelf, without a case fails here."""
    tested = {(case.kind, case.method) for case in EVERY}
    kinds = {(name, method) for name, kind in KINDS.items() for method in kind.VISITS}
    assert tested == kinds | {(name, method) for name in PARTS for method in shelf_part(name).visits}
    for case in EXAMPLES:
        assert "unloaded_visit(visit(" in KINDS[case.kind].__doc__, f"an example of {case.kind} with its latency"
    for case in CASES:
        assert type(case.resource) is KINDS.get(case.kind, Part)
        assert case.kind in KINDS or case.resource.kind == case.kind


@pytest.mark.parametrize("case", CASES, ids=str)
def test_latency_is_the_one_by_hand(case):
    assert float(unloaded_visit(visit(case.resource, case.method, **case.operands)).latency) == pytest.approx(
        case.latency_ns * NS, rel=1e-12
    )


@pytest.mark.parametrize("case", EVERY, ids=str)
def test_simulation_of_one_thread_takes_that_latency(case):
    assert solo(with_case(case), packets(64)).latency == pytest.approx(QUIET + case.latency_ns * NS, rel=1e-12)


@pytest.mark.parametrize("case", EVERY, ids=str)
def test_servers_are_busy_as_long_as_the_visit_says(case):
    made, load = with_case(case), packets(64)
    found, seen = told(made, load), solo(made, load)
    assert found.latency == pytest.approx(seen.latency, rel=1e-12)
    expected = {n: d.seconds for n, d in found.servers.items() if d.seconds}
    # whole ticks of 1 ps; behind its last flit a link of a mesh waits for that flit's place before the next message
    within = 1.001 * case.resource.cycle * case.resource.hop if case.kind == "mesh" else 1e-11
    assert busy(made, seen, found) == pytest.approx(expected, rel=1e-12, abs=within)
    assert seen.counts == {name: found.counts.get(name, 0) for name in seen.counts}


@pytest.mark.parametrize("case", EVERY, ids=str)
def test_what_a_visit_uses_is_declared(case):
    visited = [case.resource, *case.resource.visited()]
    declared = {server.name for resource in visited for server in resource.servers()}
    uses = unloaded_visit(visit(case.resource, case.method, **case.operands))
    assert {hold.server for hold in uses.holds} <= declared
    assert {server for _, server in uses.spent if server} <= declared
    spent = sum(float(s) for s in uses.spent.values()) - sum(float(s) for s in uses.overlap.values())
    assert spent == pytest.approx(float(uses.latency), rel=1e-9, abs=1e-18)


def test_channels_are_used_in_turn():
    memory = WordMemory("sram", 4, 10 * NS, channels=2)

    def program(m, packet):
        m.sram.read(bytes=4)
        m.sram.read(bytes=4)

    made = machine([memory], program, threads=4)
    answer = simulate(made, packets(64), packets=2000)
    assert answer.rate_pps == pytest.approx(1e8, rel=1e-3)  # two channels, two words of 10 ns a packet
    assert answer.utilization["sram"].busy == pytest.approx(1, rel=1e-3)


def test_threads_keep_to_their_engine():
    """Three threads on two engines: one engine serves two of them, so that three cannot use more than both."""

    def program(m, packet):
        m.me.compute(cycles=100)

    made = machine([Processor("me", 2, 1e9)], program, threads=3, home="me")
    assert simulate(made, packets(64), packets=2000).rate_pps == pytest.approx(2e7, rel=1e-3)
    alone = machine([Processor("me", 2, 1e9)], program, threads=1, home="me")
    assert simulate(alone, packets(64), packets=2000).rate_pps == pytest.approx(1e7, rel=1e-3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Processor("me", 0, 1e9), "me: engines must be an integer of at least 1, got 0"),
        (lambda: Processor("me", 2, 0.0), "me: clock must be a finite rate above 0 per second, got 0.0"),
        (lambda: Processor("two words", 2, 1e9), "name of a resource must be an identifier, got 'two words'"),
        (lambda: FifoServer("hash", -1e-9), "hash: service time must be a finite time of at least 0 s, got -1e-09"),
        (lambda: WordMemory("sram", 4, float("nan")), "sram: time per word must be a finite time of at least 0 s"),
        (lambda: WordMemory("sram", 4, 1e-9, channels=1.5), "sram: channels must be an integer of at least 1, got 1.5"),
        (lambda: count_of("x", 3, least=4), "x must be an integer of at least 4, got 3"),
        (lambda: time_of("x", float("inf")), "x must be a finite time of at least 0 s, got inf"),
        (lambda: rate_of("x", -1.0), "x must be a finite rate above 0 per second, got -1.0"),
        (lambda: Processor("me", 2, 1e300), "me: clock must be at most 1e+18 per second, got 1e+300"),
    ],
)
def test_impossible_facts_are_refused(make, message):
    with pytest.raises(ModelError) as error:
        make()
    assert message in str(error.value)


def test_pool_makes_packets_wait():
    """Two buffers, four threads that keep one for 100 ns: 2 packets in 100 ns."""

    def program(m, packet):
        m.buffers.take(count=1)
        m.work.wait(seconds=100 * NS)
        m.buffers.give(count=1)

    made = machine([BufferPool("buffers", 2), Delay("work")], program, threads=4)
    answer = simulate(made, packets(64), packets=2000)
    assert answer.rate_pps == pytest.approx(2e7, rel=1e-3)
    assert answer.utilization["buffers"].busy == pytest.approx(1, rel=1e-3)
    assert answer.queue["buffers"].longest == 2


class Told(Resource):
    """A kind whose tables tests change, each time in a class of its own."""

    VISITS: ClassVar = {"go": ("bytes", "bank")}
    OPTIONAL: ClassVar = {"bank": 0}

    def servers(self):
        return [Server("told", **self.more)]

    def act(self, m, visit, v):
        m.serve("told", 1 * NS)
        self.word(m)

    def word(self, m):
        """Nothing more."""


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"VISITS": {"go": "bytes"}}, "VISITS['go'] must be a tuple of operands, got the text 'bytes'"),
        ({"OPTIONAL": ("bank",)}, "OPTIONAL must be operands with their values, got ('bank',)"),
        ({"OPTIONAL": {"bnak": 0}}, "operand in Changed.OPTIONAL 'bnak' is unknown (nearest: bank"),
        ({"CHANCE": frozenset({"bnak"})}, "operand in Changed.CHANCE 'bnak' is unknown (nearest: bank"),
        ({"more": {"role": "limits"}}, "role of server told 'limits' is unknown (nearest: limit"),
        ({"more": {"discipline": "fif"}}, "discipline of server told 'fif' is unknown (nearest: fifo"),
        ({"more": {"members": 0}}, "server told: members must be at least 1, got 0"),
        ({"more": {"members": MOST_MEMBERS + 1}}, f"server told: members must be at most {MOST_MEMBERS}, got "),
        ({"more": {"units": 0}}, "server told: units must be at least 1, got 0"),
        ({"more": {"units": -1}}, "server told: units must be at least 0, got -1"),
        ({"word": lambda self, m: m.wiat(1)}, "word or resource inside told 'wiat' is unknown (nearest: wait"),
    ],
)
def test_faults_of_a_kind_of_ones_own_are_told(changes, message):
    kind = type("Changed", (Told,), {"more": {}, **changes})
    with pytest.raises(NpexploreError) as found:
        unloaded_visit(
            visit(kind("told"), "go", **{name: 1 for name in ("bytes", "bank") if name in kind.VISITS["go"]})
        )
    assert message in str(found.value)


def test_servers_have_most_members_and_links_of_a_network_are_one_place():
    assert Server("told", members=MOST_MEMBERS).members == MOST_MEMBERS
    links = (Server("net.east", kept_waiting=waits) for waits in (True, False))
    assert [place_of(link) for link in links] == ["net", "net.east"]


def test_equal_resources_share_what_is_known_of_their_visits():
    def link(lanes):
        return part("pcie_link", "link", generation=3, lanes=lanes)

    assert FifoServer("hash", NS).shared_visits is FifoServer("hash", NS).shared_visits
    assert link(8).shared_visits is link(8).shared_visits
    others = [FifoServer("hash", NS), FifoServer("hash", 2 * NS), FifoServer("sram", NS), Delay("hash"), link(4)]
    others += [link(8), Told("hash"), Told("hash")]  # a kind of one's own may hang on anything
    assert len({id(one.shared_visits) for one in others}) == len(others)


def test_a_number_set_later_is_that_of_one_resource():
    first, second, third = (FifoServer("hash", 7 * NS) for _ in range(3))
    second.service = 14 * NS  # before anybody visits it
    assert unloaded_visit(visit(first, "serve")).latency == pytest.approx(7 * NS)
    assert unloaded_visit(visit(second, "serve")).latency == pytest.approx(14 * NS)
    first.service = 21 * NS
    assert [unloaded_visit(visit(one, "serve")).latency / NS for one in (first, third)] == pytest.approx([21, 7])


@pytest.mark.parametrize("name", ["ixp2400", "smartnic", "server"])
def test_a_machine_is_the_same_whatever_was_made_before_it(name):
    """Each number of a machine is doubled behind other machines, and with nothing kept."""
    base = design(name)
    load = base.workload(None if base.own is not None else packets(64))
    for key, known in base.parameters.file.parameter.items():
        found = []
        for fresh in (False, True):
            if fresh:
                kept_visits.cache_clear()
            try:
                changed = base if isinstance(known.value, str) else base.with_(**{key: known.value * 2 or 1})
                model = build(changed.machine(), load)
                found.append((model.rows.tolist(), model.under_load.ceilings()))
            except NpexploreError as error:
                found.append(str(error))
        assert found[0] == found[1], key
