"""Rules and errors of accelerators, channels, arbiters, reorder queues, balancers, processors and word memories."""

import numpy as np
import pytest
from reference.resource_logs import Mark, takes
from reference.small_machines import NS, machine, packets

from npexplore.errors import ModelError, SimulationError, UnknownNameError
from npexplore.machine.lone import unloaded_visit
from npexplore.machine.program import visit
from npexplore.machine.resources import (
    Accelerator,
    Arbiter,
    Balancer,
    Delay,
    FifoServer,
    Processor,
    ReorderQueue,
    TokenChannel,
    WordMemory,
)
from npexplore.machine.under_load import under_load
from npexplore.solve.bounds import bounds
from npexplore.solve.queueing_model import queueing
from npexplore.solve.simulate import simulate
from npexplore.units import UnitWarning

LOAD = packets(64)


def latency(made, load=LOAD):
    """Mean latency in ns of a run."""
    return simulate(made, load, packets=320).latency_s.mean / NS


# ---- what a visit does, at the limit and beside it


def test_window_admits_its_number_and_not_one_more():
    """Three calls of 40 ns, window 2: the third is accepted at 40 ns and answered at 80."""
    trie = Accelerator("trie", 1 * NS, 40 * NS, window=2)
    made = machine([trie, Mark("out")], lambda m, packet: [m.trie.call(), m.out.see()], threads=3)
    log = takes(made, LOAD, packets=30)
    assert np.all(log["trie.window"][2:, 0] >= log["out"][: len(log["trie.window"]) - 2, 0])
    assert latency(made) == pytest.approx(60, rel=0.01)  # three in two places


def test_saved_tokens_are_spent_at_once_and_no_more_than_depth():
    """Five tokens of 8 ns, three saved: the visit takes 16 ns, and 8 ns more with two saved."""
    for depth, expected in ((5, 0), (4, 8), (3, 16), (2, 24), (1, 32)):
        channel = TokenChannel("qdr", 125e6, depth)
        made = machine([channel, Delay("rest")], lambda m, packet: [m.qdr.take(tokens=5), m.rest.wait(seconds=1e-6)])
        assert latency(made) == pytest.approx(1000 + expected)
        assert under_load(made, LOAD).demands.latency == pytest.approx((1000 + expected) * NS)


def test_no_tokens_take_no_time():
    made = machine(
        [TokenChannel("qdr", 125e6), Delay("rest")],
        lambda m, packet: [m.qdr.take(tokens=0), m.rest.wait(seconds=1e-7)], threads=4,
    )  # fmt: skip
    assert latency(made) == pytest.approx(100)


def test_aligned_caller_waits_for_an_edge():
    """Work of 3 ns and edges every 10 ns: one packet an edge, whatever the rate of the channel beyond."""
    channel = TokenChannel("qdr", 1e9, 4, "aligned", 1e8)
    made = machine([channel, Delay("rest")], lambda m, packet: [m.qdr.take(), m.rest.wait(seconds=3 * NS)])
    assert latency(made) == pytest.approx(10)


def test_grant_latency_does_not_hold_the_next_grant_up():
    arbiter = Arbiter("grant", 8, 10 * NS, 80 * NS)
    made = machine([arbiter], lambda m, packet: m.grant.request(requester=packet.who), threads=8)
    answer = simulate(made, packets(*[64] * 8, who=range(8)), packets=4000)
    assert answer.rate_pps == pytest.approx(1e8, rel=2e-3)
    assert answer.latency_s.mean == pytest.approx(80 * NS, rel=2e-3)


def test_members_work_side_by_side():
    """Two of each: twice the rate of one."""

    def program(m, packet):
        m.trie.call(member=packet.at)
        m.qdr.take(member=packet.at)
        m.grant.request(requester=0, member=packet.at)
        ticket = m.order.enter(member=packet.at)
        m.order.leave(ticket=ticket, member=packet.at)

    parts = [
        Accelerator("trie", 10 * NS, 10 * NS, members=2, in_order=True), TokenChannel("qdr", 1e8, members=2),
        Arbiter("grant", 2, 10 * NS, members=2, groups=2), ReorderQueue("order", 4, members=2),
    ]  # fmt: skip
    made, load = machine(parts, program, threads=8), packets(64, 64, at=[0, 1])
    assert bounds(made, load).rate_pps == pytest.approx(2e8)
    assert simulate(made, load, packets=4000).rate_pps == pytest.approx(2e8, rel=5e-3)


def test_reorder_queue_shows_its_occupancy():
    """Four threads that are inside for 30 of 40 ns: three of eight places on average."""

    def program(m, packet):
        ticket = m.order.enter()
        m.work.wait(seconds=30 * NS)
        m.order.leave(ticket=ticket)
        m.work.wait(seconds=10 * NS)

    made = machine([ReorderQueue("order", 8), Delay("work")], program, threads=4)
    answer = simulate(made, LOAD, packets=2000)
    assert answer.utilization["order"].busy == pytest.approx(3 / 8, rel=1e-6)


def test_a_packet_that_never_leaves_is_a_deadlock_and_named():
    made = machine([ReorderQueue("order", 2), Delay("work")], lambda m, packet: m.order.enter(), threads=3)
    with pytest.raises(SimulationError, match="3 tokens wait for order"):
        simulate(made, LOAD, packets=100)


def test_a_balancer_s_visits_take_turns_together():
    def program(m, packet):
        m.mark.see(member=m.spread.choose())
        m.work.wait(seconds=1 * NS)
        m.mark.see(member=m.spread.choose())
        m.work.wait(seconds=1 * NS)

    parts = [Balancer("spread", "cluster", 3), FifoServer("cluster", 1 * NS, members=3), Mark("mark", 3), Delay("work")]
    order = takes(machine(parts, program), LOAD, packets=20)["mark"][:, 1].tolist()
    assert order == [k % 3 for k in range(len(order))]


@pytest.mark.parametrize(
    ("select", "shares"), [("in_turn", [1, 1, 1]), ("random", [1, 1, 1]), ("shortest", [1, 1, 1]), ("key", [2, 1, 0])]
)
def test_channel_of_a_memory(select, shares):
    """Addresses 0, 8, 24 with 8-byte interleaving on three channels: channels 0, 1, 0."""
    memory = WordMemory("sram", 4, 5 * NS, channels=3, select=select, interleave_bytes=8)

    def program(m, packet):
        m.sram.read(bytes=4, **({"address": packet.at} if select == "key" else {}))

    made = machine([memory], program, threads=6)
    log = takes(made, packets(64, 64, 64, at=[0, 8, 24]), packets=3000)["sram"]
    found = np.bincount(log[:, 1], minlength=3) / len(log)
    assert found == pytest.approx(np.array(shares) / 3, abs=0.05)


def test_bursts_and_efficiency_lengthen_what_is_occupied():
    memory = WordMemory("sram", 4, 5 * NS, 2 * NS, 30 * NS, burst_words=4, efficiency=0.8)
    for size, bursts in ((1, 1), (16, 1), (17, 2), (32, 2)):
        uses = unloaded_visit(visit(memory, "read", bytes=size))
        assert float(uses.holds[0].seconds) == pytest.approx((2 + bursts * 4 * 5 / 0.8) * NS)
        assert float(uses.latency - uses.holds[0].seconds) == pytest.approx(30 * NS)


def test_read_and_write_ports_work_side_by_side():
    def program(m, packet):
        m.sram.read(bytes=4)
        m.sram.write(bytes=4)

    for split, rate in ((True, 1e8), (False, 5e7)):
        made = machine([WordMemory("sram", 4, 10 * NS, split_ports=split)], program, threads=4)
        assert simulate(made, LOAD, packets=3000).rate_pps == pytest.approx(rate, rel=2e-3)


# ---- bounds know what a choice by load can do


def test_the_shortest_line_goes_where_there_is_room():
    """One packet in two must go to member 0, the others choose: all members can be busy."""
    parts = [Balancer("spread", "cluster", 2, "shortest"), FifoServer("cluster", 10 * NS, members=2)]

    def program(m, packet):
        m.cluster.serve(member=0)
        m.cluster.serve(member=m.spread.choose())

    made = machine(parts, program, threads=12)
    assert bounds(made, LOAD).rate_pps == pytest.approx(1e8)
    assert simulate(made, LOAD, packets=4000).rate_pps <= 1e8 * (1 + 1e-3)


def test_a_number_that_depends_on_a_load_decides_nothing_else():
    parts = [Balancer("spread", "cluster", 2, "shortest"), FifoServer("cluster", 10 * NS, members=2), Delay("work")]

    def branches(m, packet):
        with m.branch(m.spread.choose() == 0):
            m.work.wait(seconds=1 * NS)

    def loops(m, packet):
        with m.loop(m.spread.choose()):
            m.work.wait(seconds=1 * NS)

    for program in (branches, loops, lambda m, packet: m.work.wait(seconds=m.spread.choose() * NS)):
        with pytest.raises(ModelError, match="must not depend on a random choice"):
            bounds(machine(parts, program), LOAD)


# ---- queueing names what it does not see


@pytest.mark.parametrize(
    ("resource", "visit", "words"),
    [
        (TokenChannel("qdr", 1e8), lambda m: m.qdr.take(), "tokens not saved (qdr)"),
        (TokenChannel("qdr", 1e8, 1, "aligned", 1e8), lambda m: m.qdr.take(), "no waiting for clock edges (qdr)"),
        (Arbiter("grant", 2, 1e-8), lambda m: m.grant.request(requester=1), "first come first served (grant)"),
        (Accelerator("trie", 1e-8, 2e-8, 1e-9, True), lambda m: m.trie.call(words=1), "replies out of order (trie)"),
        (
            Processor("me", 1, 1e9, 0, "strict_round_robin", threads=32),
            lambda m: m.me.compute(cycles=5),
            "threads in the order in which they are ready (me)",
        ),
    ],
)
def test_approximations_are_named(resource, visit, words):
    made = machine([resource], lambda m, packet: visit(m), threads=32)
    assert words in queueing(made, LOAD).approximation


def test_what_is_exact_has_no_such_name():
    parts = [
        FifoServer("hash", 1e-8), Accelerator("trie", 1e-8, 2e-8), Arbiter("grant", 2, 1e-8, discipline="first_come"),
        Processor("me", 1, 1e9, 0, "ready_every_cycle"),
    ]  # fmt: skip

    def program(m, packet):
        m.hash.serve()
        m.trie.call()
        m.grant.request(requester=0)
        m.me.compute(cycles=4)

    assert "(" not in queueing(machine(parts, program), LOAD).approximation.replace("(exponential service)", "")


# ---- errors


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Accelerator("trie", 2e-9, 1e-9),
            "trie: latency less the interval must be a finite time of at least 0",
        ),
        (lambda: Accelerator("trie", 2e-9, 2e-9, window=0), "trie: window must be an integer of at least 1, got 0"),
        (lambda: Accelerator("trie", 2e-9, 2e-9, -1.0), "trie: time per word must be a finite time of at least 0 s"),
        (lambda: TokenChannel("qdr", 0.0), "qdr: rate must be a finite rate above 0 per second, got 0.0"),
        (lambda: TokenChannel("qdr", 1e8, 0), "qdr: depth must be an integer of at least 1, got 0"),
        (lambda: TokenChannel("qdr", 1e8, edge="aligned"), "qdr: aligned edges need clock_hz, free ones have none"),
        (lambda: TokenChannel("qdr", 1e8, clock_hz=1e8), "qdr: aligned edges need clock_hz, free ones have none"),
        (lambda: TokenChannel("qdr", 1e8, edge="alined"), "qdr: edge 'alined' is unknown (nearest: aligned)"),
        (lambda: Arbiter("grant", 0, 1e-9), "grant: requesters must be an integer of at least 1, got 0"),
        (lambda: Arbiter("grant", 6, 1e-9, groups=4), "grant: 6 requesters cannot be divided into 4 equal groups"),
        (lambda: Arbiter("grant", 6, 1e-9, within="fixed"), "grant: a discipline within groups needs more than one"),
        (lambda: Arbiter("grant", 6, 2e-9, 1e-9), "grant: latency less the interval must be a finite time"),
        (lambda: Arbiter("grant", 6, 1e-9, discipline="fare"), "grant: discipline 'fare' is unknown (nearest: fair)"),
        (lambda: ReorderQueue("order", 0), "order: places must be an integer of at least 1, got 0"),
        (
            lambda: Balancer("spread", "x", 2, "shortst"),
            "spread: policy 'shortst' is unknown (nearest: shortest)",
        ),
        (lambda: Processor("me", 1, 1e9, discipline="strict"), "me: discipline 'strict' is unknown"),
        (lambda: Processor("me", 1, 1e9, discipline="strict_round_robin"), "me: threads are given for strict_round"),
        (lambda: Processor("me", 1, 1e9, threads=4), "me: threads are given for strict_round_robin and for no other"),
        (lambda: Processor("me", 1, 1e9, 2, "ready_every_cycle"), "me: ready_every_cycle has no switch time, got 2"),
        (lambda: Processor("me", 1, 1e9, pipeline=4), "me: only ready_every_cycle has a pipeline, got 4"),
        (lambda: WordMemory("sram", 4, 1e-9, efficiency=0.0), "sram: efficiency must be above 0 and at most 1, got 0"),
        (lambda: WordMemory("sram", 4, 1e-9, efficiency=1.1), "sram: efficiency must be above 0 and at most 1, got 1"),
        (lambda: WordMemory("sram", 4, 1e-9, burst_words=0), "sram: burst_words must be an integer of at least 1"),
        (lambda: WordMemory("sram", 4, 1e-9, select="adress"), "sram: channel selection 'adress' is unknown"),
    ],
)
def test_impossible_facts_are_refused(make, message):
    with pytest.raises(ModelError if "unknown" not in message else UnknownNameError) as error:
        make()
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("resources", "program", "message"),
    [
        ([FifoServer("h", 1e-8, members=2)], lambda m: m.h.serve(), "h.serve needs the operand 'member': there are 2"),
        ([ReorderQueue("o", 2, 2)], lambda m: m.o.enter(), "o.enter needs the operand 'member': there are 2"),
        ([ReorderQueue("o", 2)], lambda m: m.o.leave(), "o.leave needs the operand 'ticket'"),
        ([Arbiter("g", 2, 1e-8)], lambda m: m.g.request(), "g.request needs the operand 'requester'"),
        ([Balancer("s", "x", 2, "key")], lambda m: m.s.choose(), "s.choose needs operand 'key' with policy 'key'"),
        ([Balancer("s", "x", 2)], lambda m: m.s.choose(key=1), "s.choose has no operand 'key' with policy 'in_turn'"),
        (
            [WordMemory("sram", 4, 1e-9, select="key")],
            lambda m: m.sram.read(bytes=4),
            "sram.read needs operand 'address' with policy 'key'",
        ),
    ],
)
def test_wrong_visits_are_refused_by_every_solver(resources, program, message):
    for solve in (bounds, simulate):
        with pytest.raises(ModelError) as error:
            solve(machine([*resources, FifoServer("x", 1e-9, members=2)], lambda m, packet: program(m)), LOAD)
        assert message in str(error.value)


def test_a_balancer_is_over_servers_that_are_there():
    for over, members, error, message in (
        ("clutser", 2, UnknownNameError, "server to choose a member of 'clutser' is unknown .nearest: cluster"),
        ("cluster", 3, ModelError, "cluster has 2 members, got 3"),
    ):
        parts = [Balancer("spread", over, members), FifoServer("cluster", 1e-9, members=2)]
        made = machine(parts, lambda m, packet: m.cluster.serve(member=m.spread.choose()))
        with pytest.raises(error, match=message):
            simulate(made, LOAD)


def test_a_requester_beyond_the_last_is_refused_by_every_solver():
    made = machine([Arbiter("grant", 4, 1e-8)], lambda m, packet: m.grant.request(requester=packet.who))
    load = packets(64, who=[4])
    with pytest.raises(ModelError, match=r"grant has requesters 0\.\.3, got 4"):
        bounds(made, load)
    with pytest.raises(SimulationError, match=r"grant has requesters 0\.\.3, the program asks for another"):
        simulate(made, load)


def test_forked_work_has_no_turn():
    def program(m, packet):
        with m.fork():
            m.me.compute(cycles=4)

    me = Processor("me", 1, 1e9, 0, "strict_round_robin", threads=2)
    with pytest.raises(ModelError, match="me: with strict turns forked work cannot compute"):
        simulate(machine([me], program, home="me"), LOAD)


def test_parallel_parts_share_a_turn():
    def program(m, packet):
        m.parallel(*[lambda: m.me.compute(cycles=10)] * 3)

    me = Processor("me", 1, 1e9, 0, "strict_round_robin", threads=4)
    made = machine([me], program, threads=4, home="me")
    assert simulate(made, LOAD, packets=2000).rate_pps == pytest.approx(1e9 / 30, rel=2e-3)


@pytest.mark.filterwarnings("ignore:.*outside 1e-14")
def test_numbers_that_no_visit_can_have_are_refused_by_all_solvers():
    servers = [FifoServer("one", 9 * NS, members=2), Delay("work")]
    for program, message in (
        (lambda m, packet: m.one.serve(member=m.draw(3, "one")), "one has members 0"),
        (lambda m, packet: m.work.wait(seconds=1e300), "1e[+]300"),
    ):
        for solve in (bounds, simulate):
            with pytest.raises((ModelError, SimulationError), match=message):
                solve(machine(servers, program), LOAD)


def test_a_time_of_a_step_that_is_not_credible_is_a_warning_with_the_likely_unit():
    with pytest.warns(UnitWarning, match="work.wait: seconds is 20 s, outside 1e-14..1 s; is it '20 ns'"):
        bounds(machine([Delay("work")], lambda m, packet: m.work.wait(seconds=20)), LOAD)


def test_fewer_turns_than_the_machine_has_threads_are_refused_whoever_computes_there():
    def machine_of(home):
        me = Processor("me", 1, 1e9, 0, "strict_round_robin", threads=2)
        return machine([me, FifoServer("other", 9 * NS)], lambda m, packet: m.other.serve(), threads=3, home=home)

    for home in ("me", "other"):
        with pytest.raises(ModelError, match="me: strict_round_robin needs threads = 3, all threads of the machine, g"):
            machine_of(home)
