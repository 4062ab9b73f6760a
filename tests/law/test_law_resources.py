"""Laws of resource kinds, on random machines and read from logs: order, fairness, rates, turns, bounds."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reference.resource_logs import Mark, takes
from reference.small_machines import NS, TICK, machine, packets

from npexplore._kernels import engine
from npexplore.engine.model import build
from npexplore.engine.run import run
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
from npexplore.solve.bounds import bounds

LOAD = packets(64)
THINK = Delay("think")
SEEDS = st.integers(0, 1000)
ROUND = 97  # what `scrambled` repeats after


def scrambled(m, factor, below):
    """A number below a limit that differs from visit to visit, and in `told` the one of the k-th visit."""
    return m.turn(ROUND, "scrambled") * factor % below


def told(k, factor, below):
    return k % ROUND * factor % below


# ---- accelerator


@settings(max_examples=60)
@example(interval=9, more=0, word=3, threads=2, factor=1, below=4, in_order=True, seed=0)  # two leave at one instant
@given(
    interval=st.integers(1, 9), more=st.integers(0, 40), word=st.integers(0, 9), threads=st.integers(1, 12),
    factor=st.integers(1, 50), below=st.integers(1, 12), in_order=st.booleans(), seed=SEEDS,
)  # fmt: skip
def test_replies_come_when_they_are_ready_and_in_order(
    interval, more, word, threads, factor, below, in_order, seed
):  # fmt: skip
    """reply_n = start_n + latency_n, or in order the largest of these so far; at one instant in either order."""

    def program(m, packet):
        m.trie.call(words=scrambled(m, factor, below))
        m.out.see()
        m.think.wait(seconds=m.draw(20, "think") * NS)

    trie = Accelerator("trie", interval * NS, (interval + more) * NS, word * NS, in_order)
    log = takes(machine([trie, Mark("out"), THINK], program, threads), LOAD, seed=seed)
    starts, out = log["trie"], log["out"]
    latency = np.array([interval + more + word * told(k, factor, below) for k in range(len(starts))])
    ready = starts[:, 0] + 1000 * latency
    if in_order:
        ready = np.maximum.accumulate(ready)
        early = out[:, 0] < out[-1, 0]  # of the last instant some may be missing
        expected = sorted(zip(ready.tolist(), starts[:, 2].tolist(), strict=True))
        assert sorted(out[early][:, [0, 2]].tolist()) == [list(one) for one in expected[: early.sum()]]
    assert out[:, 0].tolist() == sorted(ready.tolist())[: len(out)]
    assert np.all(np.diff(starts[:, 0]) >= 1000 * interval)


@settings(max_examples=30)
@given(window=st.integers(1, 5), threads=st.integers(1, 9), below=st.integers(1, 12), seed=SEEDS)
def test_window_bounds_what_is_in_flight(window, threads, below, seed):
    def program(m, packet):
        m.trie.call(words=scrambled(m, 5, below))
        m.out.see()

    trie = Accelerator("trie", 3 * NS, 20 * NS, 4 * NS, in_order=True, window=window)
    log = takes(machine([trie, Mark("out")], program, threads), LOAD, seed=seed)
    accepted, out = log["trie.window"][:, 0], log["out"][:, 0]
    later = accepted[window : window + len(out)]
    assert np.all(later >= out[: len(later)])  # request n + window is accepted when reply n has left


# ---- channel


@settings(max_examples=60)
@given(
    rate=st.sampled_from([3e8, 1e8, 133.3e6, 7e6]), depth=st.integers(1, 6), threads=st.integers(1, 9),
    think=st.sampled_from([1, 9, 200]), tokens=st.integers(1, 3), clock=st.sampled_from([None, 1e8, 66e6]), seed=SEEDS,
)  # fmt: skip
def test_never_more_tokens_than_the_rate(rate, depth, threads, think, tokens, clock, seed):
    """In any time t at most depth + rate t tokens; at edges, what was made since the edge before may wait to go too.

    Between two visits the tokens of the later ones pass, and the last of the first.
    """
    edge = "free" if clock is None else "aligned"

    def program(m, packet):
        m.qdr.take(tokens=tokens)
        m.out.see()
        m.think.wait(seconds=m.draw(think, "think") * NS)

    channel = TokenChannel("qdr", rate, depth, edge, clock)
    log = takes(machine([channel, Mark("out"), THINK], program, threads), LOAD, packets=120, seed=seed)
    out = log["out"][:, 0]
    first, last = np.triu_indices(len(out))
    at_once = max(depth - tokens + 1, 1 if clock is None else rate / clock + 1)
    most = at_once + rate * ((out[last] - out[first] + 1) * TICK)
    assert np.all(tokens * (last - first) + 1 <= most + 1e-6)
    if clock is not None:
        edges = np.round(out * TICK * clock)
        assert np.all(np.abs(out - edges / clock / TICK) <= 1)


@pytest.mark.parametrize(("rate", "each"), [(3e8, 3), (2e8, 2), (1e8, 1), (1e9 / 3 / 2, 5 / 3)])
def test_saturated_channel_passes_its_rate_at_each_edge(rate, each):
    """300 M tokens a second at 100 MHz: three at every edge, for ever."""

    def program(m, packet):
        m.qdr.take()
        m.out.see()

    log = takes(machine([TokenChannel("qdr", rate, 1, "aligned", 1e8), Mark("out")], program, 9), LOAD, packets=9000)
    edges, passed = np.unique(log["out"][:, 0], return_counts=True)
    assert np.all(edges % 10_000 == 0)
    assert np.all(np.diff(edges) == 10_000)
    inner = passed[1000:-1]
    assert set(inner.tolist()) <= {int(np.floor(each)), int(np.ceil(each))}
    assert inner.mean() == pytest.approx(each, rel=1e-3)


# ---- arbiter


def asked(arbiter, requesters, packets_each=150):
    """Grants in order, as requester numbers, while every requester always asks; the start is cut."""

    def program(m, packet):
        with m.loop(packets_each):
            m.grant.request(requester=packet.who)
            m.mark.see(member=packet.who)

    made = machine([arbiter, Mark("mark", requesters)], program, requesters)
    load = packets(*[64] * requesters, who=list(range(requesters)))
    return takes(made, load, packets=1)["mark"][:, 1][200 * requesters // requesters :].tolist()


def windows(values, length):
    return [values[k : k + length] for k in range(len(values) - length + 1)]


@settings(max_examples=25)
@given(requesters=st.integers(2, 8))
def test_fair_grants_go_round(requesters):
    grants = asked(Arbiter("grant", requesters, 10 * NS), requesters)
    assert grants
    assert all(len(set(window)) == requesters for window in windows(grants, requesters))
    assert all((b - a) % requesters == 1 % requesters for a, b in itertools.pairwise(grants))


@settings(max_examples=25)
@given(groups=st.integers(2, 4), size=st.integers(2, 4), within=st.sampled_from(["fair", "fixed", "first_come"]))
def test_groups_get_equal_shares_and_so_do_their_members_if_fair(groups, size, within):
    """Fixed priority within a group: two take turns (one asks again while the other is served), the rest starve."""
    requesters = groups * size
    grants = asked(Arbiter("grant", requesters, 10 * NS, groups=groups, within=within), requesters)
    assert all(len({who // size for who in window}) == groups for window in windows(grants, groups))
    for group in range(groups):
        own = [who for who in grants if who // size == group]
        served = size if within != "fixed" else 2
        assert all(len(set(window)) == served for window in windows(own, served))
        assert set(own) == {group * size + k for k in range(served)}


@settings(max_examples=15)
@given(requesters=st.integers(2, 8))
def test_fixed_priority_starves_all_but_the_first_two(requesters):
    """One interval after its grant requester 0 asks again: requester 1 has the grant in between, nobody else ever."""
    grants = asked(Arbiter("grant", requesters, 10 * NS, discipline="fixed"), requesters)
    assert Counter(grants)[0] == pytest.approx(len(grants) / 2, abs=1)
    assert set(grants) == {0, 1}


# ---- reorder queue


@settings(max_examples=60)
@given(
    places=st.integers(1, 6), threads=st.integers(1, 9), work=st.integers(1, 300), members=st.integers(1, 3), seed=SEEDS
)
def test_packets_leave_in_the_order_in_which_they_entered(places, threads, work, members, seed):
    """left_n = max(left_(n-1), ready_n) in each queue; never more inside than places; nobody is lost."""

    def program(m, packet):
        queue = m.draw(members, "queue")
        m.think.wait(seconds=m.draw(30, "before") * NS)
        ticket = m.order.enter(member=queue)
        m.entered.see(member=queue)
        m.think.wait(seconds=m.draw(work, "work") * NS)
        m.ready.see(member=queue)
        m.order.leave(ticket=ticket, member=queue)
        m.left.see(member=queue)

    marks = [Mark(name, members) for name in ("entered", "ready", "left")]
    made = machine([ReorderQueue("order", places, members), THINK, *marks], program, threads)
    log = takes(made, LOAD, seed=seed)
    assert len(log["left"]) >= 399
    for queue in range(members):
        entered, ready, left = (log[name][log[name][:, 1] == queue] for name in ("entered", "ready", "left"))
        assert left[:, 2].tolist() == entered[: len(left), 2].tolist()
        turn = Counter()
        when = {}
        for time, _, token in ready.tolist():
            when[token, turn[token]] = time
            turn[token] += 1
        turn.clear()
        last = 0
        for time, _, token in left.tolist():
            last = max(last, when[token, turn[token]])
            turn[token] += 1
            assert time == last
        later = entered[places:, 0][: len(left)]
        assert np.all(later >= left[: len(later), 0])


# ---- balancer


@settings(max_examples=40)
@given(
    policy=st.sampled_from(["in_turn", "random", "key", "shortest"]), members=st.integers(1, 5),
    threads=st.integers(1, 9), seed=SEEDS,
)  # fmt: skip
def test_balancer_keeps_to_its_policy(policy, members, threads, seed):
    def program(m, packet):
        m.think.wait(seconds=m.draw(40, "think") * NS)
        key = {"key": packet.key} if policy == "key" else {}
        chosen = m.spread.choose(**key)
        m.mark.see(member=chosen)
        m.cluster.serve(member=chosen)
        m.done.see(member=chosen)

    resources = [
        Balancer("spread", "cluster", members, policy), FifoServer("cluster", 17 * NS, members=members),
        Mark("mark", members), Mark("done", members), THINK,
    ]  # fmt: skip
    log = takes(machine(resources, program, threads), packets(64, 64, 64, key=[8, 8, 8]), seed=seed)
    chosen = log["mark"][:, 1].tolist()
    if policy == "in_turn":
        assert chosen == [k % members for k in range(len(chosen))]
    elif policy == "key":
        assert set(chosen) == {8 % members}
    elif policy == "random":
        assert set(chosen) == set(range(members))
    else:
        inside = Counter()
        events = [(t, 1, at) for t, at, _ in log["mark"].tolist()] + [(t, 0, at) for t, at, _ in log["done"].tolist()]
        times = Counter(t for t, *_ in events)
        for time, come, at in sorted(events):
            if come and times[time] == 1:
                assert inside[at] == min(inside[k] for k in range(members))
            inside[at] += 1 if come else -1


# ---- processor


@settings(max_examples=40)
@given(
    engines=st.integers(1, 3), threads=st.integers(1, 9), work=st.integers(1, 40), stall=st.integers(1, 200),
    switch=st.integers(0, 5), seed=SEEDS,
)  # fmt: skip
def test_strict_turns_go_round_whatever_stalls(engines, threads, work, stall, switch, seed):
    """Always packets: visits of an engine are those of its threads in turn, and the next waits for its thread."""

    def program(m, packet):
        m.me.compute(cycles=1 + m.draw(work, "work"))
        m.think.wait(seconds=m.draw(stall, "stall") * NS)

    me = Processor("me", engines, 1e9, switch, "strict_round_robin", threads=threads)
    log = takes(machine([me, THINK], program, threads, home="me"), LOAD, packets=4000, seed=seed)["me"]
    log = log[log[:, 0] > 1_100_000]  # threads start within 1 us; those that have not begun are passed over
    assert len(log)
    for engine_number in range(engines):
        own = [k for k in range(threads) if k % engines == engine_number]
        order = log[log[:, 1] == engine_number][:, 2].tolist()
        assert all(own[(own.index(a) + 1) % len(own)] == b for a, b in itertools.pairwise(order))


@settings(max_examples=40)
@given(
    engines=st.integers(1, 2), threads=st.integers(1, 7), rate=st.sampled_from([2e6, 2e7, 2e8]),
    visits=st.integers(1, 3), stall=st.integers(1, 150), seed=SEEDS,
)  # fmt: skip
def test_strict_turns_pass_over_nobody_but_threads_without_a_packet(engines, threads, rate, visits, stall, seed):
    """Between two visits of an engine in a row, each thread in between had no packet all the time or came meanwhile."""

    def program(m, packet):
        m.receive.free(bytes=64)
        with m.loop(visits):
            m.asks.see()
            m.me.compute(cycles=1 + m.draw(30, "work"))
            m.ends.see()
            m.think.wait(seconds=m.draw(stall, "stall") * NS)
        m.done.see()

    me = Processor("me", engines, 1e9, 0, "strict_round_robin", threads=threads)
    made = machine([me, THINK, Mark("asks"), Mark("ends"), Mark("done")], program, threads, home="me")
    log = takes(made, LOAD.with_arrivals("poisson", rate), seed=seed)
    events = sorted(
        (row[0], order, k, name, row[2])
        for order, name in enumerate(("done", "ends", "asks", "me"))
        for k, row in enumerate(log[name].tolist())
    )
    awake = {}  # thread: since when it has a packet and has asked for the engine
    last = {}  # engine: (thread, end of its visit)
    for time, _, _, name, thread in events:
        if name == "asks":
            awake.setdefault(thread, time)
        elif name == "done":
            awake.pop(thread, None)
        elif name == "ends":
            last[thread % engines] = thread, time
        elif thread % engines in last:
            before, ended = last[thread % engines]
            between, k = [], (before + engines) % (-(-threads // engines) * engines)
            while k != thread:
                between.append(k)
                k = (k + engines) % (-(-threads // engines) * engines)
            assert not [k for k in between if awake.get(k, time) < ended]


@settings(max_examples=40)
@given(
    threads=st.integers(2, 9), work=st.integers(1, 60), stall=st.integers(1, 200), seed=SEEDS,
    discipline=st.sampled_from(["ready_on_stall", "ready_round_robin"]),
)  # fmt: skip
def test_ready_threads_are_chosen_by_the_discipline(threads, work, stall, seed, discipline):
    """A visit's start is that of the first to ask, or of the first in cyclic order among those who asked before."""

    def program(m, packet):
        m.asks.see()
        m.me.compute(cycles=1 + m.draw(work, "work"))
        m.think.wait(seconds=m.draw(stall, "stall") * NS)

    me = Processor("me", 1, 1e9, 3, discipline)
    log = takes(machine([me, THINK, Mark("asks")], program, threads, home="me"), LOAD, seed=seed)
    asked_at, starts = log["asks"].tolist(), log["me"].tolist()
    waiting, at, served = {}, 0, -1
    for time, _, thread in starts:
        while at < len(asked_at) and asked_at[at][0] < time:
            waiting[asked_at[at][2]] = asked_at[at][0]
            at += 1
        unsure = {row[2] for row in asked_at[at:] if row[0] == time}  # asked at the same tick
        if waiting and not unsure:
            first = min(waiting, key=waiting.get)
            if discipline == "ready_round_robin":
                first = min(waiting, key=lambda k: (k - served - 1) % threads)
            elif list(waiting.values()).count(waiting[first]) > 1:
                first = thread
            assert thread == first
        while at < len(asked_at) and asked_at[at][0] <= time:
            waiting[asked_at[at][2]] = asked_at[at][0]
            at += 1
        del waiting[thread]
        served = thread


# ---- bounds


KINDS = ["trie", "lookup", "qdr", "grant", "order", "cluster", "hashed", "me", "sram"]
VISITS = st.lists(st.sampled_from(KINDS), min_size=1, max_size=6)
PROCESSORS = [
    Processor("me", 2, 1e9, 2),
    Processor("me", 2, 1e9, 2, "ready_round_robin"),
    Processor("me", 2, 1e9, 2, "strict_round_robin", threads=9),
    Processor("me", 2, 1e9, 0, "ready_every_cycle", pipeline=3),
]


def play(m, packet, visits):
    for name in visits:
        if name in ("trie", "lookup"):
            getattr(m, name).call(words=packet.words)
        elif name == "qdr":
            m.qdr.take(tokens=2)
        elif name == "grant":
            m.grant.request(requester=packet.words % 4)
        elif name == "order":
            ticket = m.order.enter()
            m.think.wait(seconds=packet.words * (7 * NS))
            m.order.leave(ticket=ticket)
        elif name == "cluster":
            m.cluster.serve(member=m.spread.choose())
        elif name == "hashed":
            m.cluster.serve(member=m.hashed.choose(key=packet.words))
        elif name == "me":
            m.me.compute(cycles=11)
        else:
            m.sram.read(bytes=20, address=packet.words * 8)


@settings(max_examples=100)
@given(
    visits=VISITS, threads=st.integers(1, 9), processor=st.sampled_from(PROCESSORS), words=st.integers(1, 6), seed=SEEDS
)
def test_bounds_are_never_exceeded(visits, threads, processor, words, seed):
    """From time 0 on no more packets are done than the bound allows; tokens saved at the start are the only credit."""
    resources = [
        Accelerator("trie", 3 * NS, 9 * NS, 4 * NS, in_order=True), TokenChannel("qdr", 125e6, 4),
        Accelerator("lookup", 3 * NS, 9 * NS, 4 * NS, window=2), Arbiter("grant", 4, 7 * NS, 9 * NS, groups=2),
        ReorderQueue("order", 3), FifoServer("cluster", 13 * NS, members=3), processor, THINK,
        Balancer("spread", "cluster", 3, "shortest"), Balancer("hashed", "cluster", 3, "key"),
        WordMemory("sram", 4, 2 * NS, 1 * NS, 10 * NS, 2, burst_words=2, efficiency=0.8, select="key"),
    ]  # fmt: skip
    made = machine(resources, lambda m, packet: play(m, packet, visits), threads, home="me")
    load = packets(64, words=[words])
    model = build(made, load)
    last = run(model, seed, 400, 1).snapshots[-1]
    limit = bounds(made, load)
    allowed = limit.rate_pps * last.now * TICK * (1 + 1e-9) + (2 if limit.bottleneck == "qdr" else 0)
    assert int(last.done[0, engine.D_COUNT]) <= allowed
