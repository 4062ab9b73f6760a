"""Laws of runs: Little, utilization, bounds, threads, seeds, snapshots; for random machines and every listed design."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.small_machines import NS, OPTIONS, dram, machine, packets

from npexplore._kernels import engine
from npexplore.designs import design, design_names
from npexplore.engine.intervals import bin_edges
from npexplore.engine.model import build
from npexplore.engine.run import run
from npexplore.machine.resources import Accelerator, BufferPool, Delay, FifoServer, Processor, WordMemory
from npexplore.machine.under_load import under_load
from npexplore.machine.workload import Workload
from npexplore.machine.workload_sources import workload
from npexplore.solve.bounds import bounds, busy_shares
from npexplore.solve.simulate import simulate

VISIT = st.one_of(
    st.tuples(st.just("me"), st.integers(1, 60)),
    st.just(("hash", 0)),
    st.tuples(st.just("think"), st.integers(1, 200)),
    st.tuples(st.just("sram"), st.sampled_from(["read", "write"]), st.integers(1, 32)),
    st.tuples(st.just("dram"), st.sampled_from(["read", "write"]), st.sampled_from(["drawn", "turn", "fixed"])),
)
VISITS = st.lists(VISIT, min_size=1, max_size=6)


def random_machine(visits, threads, options, pool, slots, sizes):
    """A machine whose packets make these visits, keeping a buffer of a pool all the while."""

    def program(m, packet):
        m.receive.free(bytes=64)
        m.buffers.take(count=1)
        for name, *rest in visits:
            if name == "me":
                m.me.compute(cycles=rest[0])
            elif name == "hash":
                m.hash.call()
            elif name == "think":
                m.think.wait(seconds=rest[0] * NS)
            elif name == "sram":
                getattr(m.sram, rest[0])(bytes=rest[1])
            else:
                bank = {"drawn": lambda: m.draw(4, "bank"), "turn": lambda: m.turn(4, "bank"), "fixed": lambda: 1}[
                    rest[1]
                ]
                getattr(m.dram, rest[0])(bytes=packet.packet_bytes, bank=bank())
        m.buffers.give(count=1)

    resources = [
        Processor("me", 2, 1e9), Accelerator("hash", 12 * NS, 20 * NS), Delay("think"), dram(options, slots=slots),
        WordMemory("sram", 4, 3 * NS, latency_s=40 * NS, channels=2, split_ports=True), BufferPool("buffers", pool),
    ]  # fmt: skip
    return machine(resources, program, threads=threads, home="me"), packets(*sizes)


MACHINES = st.builds(
    random_machine, VISITS, st.integers(1, 9), st.sampled_from(OPTIONS), st.integers(1, 9), st.integers(1, 6),
    st.lists(st.integers(1, 128), min_size=1, max_size=3),
)  # fmt: skip
PACKETS = 600


def whole(made, load, seed=1, batches=1, n=PACKETS):
    """The run from time 0: (model, last snapshot, longest latency seen in ticks)."""
    model = build(made, load)
    last = run(model, seed, n, batches).snapshots[-1]
    low, width = bin_edges(np.flatnonzero(last.histogram.sum(axis=0))[-1:])
    longest = float(low[0] + width[0])
    return model, last, longest


@settings(max_examples=60)
@given(case=MACHINES)
def test_littles_law(case):
    """Threads x time is the sum of latencies, but for packets begun and not done at the end."""
    made, load = case
    _, last, longest = whole(made, load)
    spent = int(last.done[0, engine.D_LATENCY])
    threads = made.threads
    assert spent <= threads * last.now
    assert threads * last.now - spent <= threads * longest * 3  # what the next packets of the threads have done so far


@settings(max_examples=60)
@given(case=MACHINES)
def test_utilization_law(case):
    """A server that nobody waits in is busy for (packets x demand); more only by packets under way."""
    made, load = case
    model, last, _ = whole(made, load)
    n, demands = int(last.done[0, engine.D_COUNT]), under_load(made, load).demands
    for name in ("me", "hash", "sram.read", "sram.write", "dram.command", "dram.bus"):
        if name not in demands.servers:
            continue
        server, first = model.servers[name]
        part = slice(first, first + server.members)
        busy = (server.members * last.now - int(last.integral_free[part].sum())) * model.tick
        rounds = n / len(load.packet_bytes)
        longest = max(under_load(made, packets(size)).demands.servers[name].seconds for size in load.packet_bytes)
        slack = (made.threads + len(load.packet_bytes)) * longest
        each = demands.servers[name].seconds * len(load.packet_bytes)
        assert abs(busy - rounds * each) <= slack * (1 + 1e-9)


@settings(max_examples=60)
@given(case=MACHINES)
def test_bounds_are_never_exceeded(case):
    """From time 0 on, no more packets are done than the bound allows, but for unequal packets of one round."""
    made, load = case
    _, last, _ = whole(made, load)
    limit = bounds(made, load).rate_pps * last.now * 1e-12
    slack = 0 if len(set(load.packet_bytes.tolist())) == 1 else made.threads + len(load.packet_bytes)
    assert int(last.done[0, engine.D_COUNT]) <= limit * (1 + 1e-9) + slack


@pytest.mark.parametrize("mix", ["dos", "amp"])
@pytest.mark.parametrize(("arrivals", "rate"), [("saturated", None), ("poisson", "3Gb/s"), ("periodic", 4e5)])
@pytest.mark.parametrize("scheme", ["base", "fcb_tb"])
def test_the_design_stays_below_its_roofline(mix, arrivals, rate, scheme):
    made, load = design("ixp2400").with_(scheme=scheme), workload(mix=mix, arrivals=arrivals, rate=rate)
    limit, answer = made.bounds(load), made.simulate(load, packets=1600)
    half = (answer.ci95["rate_pps"][1] - answer.ci95["rate_pps"][0]) / 2
    assert answer.rate_pps <= limit.rate_pps + half + 1 / answer.about["simulated_s"]
    for name, (busy, blocked) in answer.utilization.items():
        assert 0 <= busy <= 1 + 1e-9, name
        assert -1e-9 <= blocked <= busy + 1e-9, name


@pytest.mark.parametrize("name", design_names())
def test_utilization_law_of_designs(name):
    """Utilization of a server that holds nobody up is rate x demand within the interval of the rate."""
    made = design(name)
    load = None if made.own else workload(mix="amp")
    windowed = made.machine(load).window_s is not None  # one window has no interval
    answer, demands = made.simulate(load, seeds=2 if windowed else 1), made.demands(load)
    low, high = answer.ci95["rate_pps"]
    spread = 0.02 + 2 * (high - low) / answer.rate_pps
    for server in ("me", "hash", "msf", "scratch", "dram.bus", "dram.command"):
        if server in demands.demands.servers:
            expected = busy_shares(demands, answer.rate_pps)[server]
            assert answer.utilization[server].busy == pytest.approx(expected, rel=spread), server


# ---- threads


@settings(max_examples=60)
@given(
    times=st.lists(st.integers(20, 90), min_size=1, max_size=4),
    think=st.integers(0, 300),
    units=st.lists(st.integers(1, 3), min_size=4, max_size=4),
)
def test_plain_servers_reach_the_bound_and_rise_with_threads(times, think, units):
    """Constant times, each server visited once: throughput is the asymptotic bound, which rises with threads."""
    servers = [FifoServer(f"s{k}", t * NS, units=units[k]) for k, t in enumerate(times)]

    def program(m, packet):
        for server in servers:
            getattr(m, server.name).serve()
        m.think.wait(seconds=think * NS)

    rates = []
    for threads in (1, 2, 3, 5, 8):
        made = machine([*servers, Delay("think")], program, threads=threads)
        answer = simulate(made, packets(64), packets=3000)
        assert answer.rate_pps == pytest.approx(bounds(made, packets(64)).rate_pps, rel=0.01)
        rates.append(answer.rate_pps)
    assert all(b >= a * 0.99 for a, b in itertools.pairwise(rates))


# ---- seeds and snapshots


def state(snapshot):
    return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in vars(snapshot).items()}


@settings(max_examples=40)
@given(case=MACHINES, seed=st.integers(0, 2**32), batches=st.integers(2, 30))
def test_same_seed_same_run_however_it_is_cut(case, seed, batches):
    made, load = case
    _, once, _ = whole(made, load, seed)
    _, again, _ = whole(made, load, seed, batches)
    assert state(once) == state(again)


@settings(max_examples=20)
@given(case=MACHINES)
def test_threads_start_apart_by_the_seed(case):
    made, load = case
    times = {whole(made, load, seed, n=20)[1].now for seed in range(6)}
    assert len(times) > 1


def test_another_seed_is_another_run_and_close_to_it():
    made, load = design("ixp2400"), workload(mix="amp")
    answers = [made.simulate(load, seed=seed) for seed in (1, 1, 2)]
    assert answers[0] == answers[1]
    assert answers[0].rate_pps != answers[2].rate_pps
    assert answers[0].rate_pps == pytest.approx(answers[2].rate_pps, rel=0.02)


def test_common_random_numbers_of_two_schemes():
    """The k-th arrival comes at the same time whatever the machine does with it."""
    load = workload(mix="dos", arrivals="poisson", rate="1Mpps")

    def offered(scheme):
        made = design("ixp2400").with_(scheme=scheme).machine()
        model = build(made, load)
        last = run(model, 3, 10**9, 1, until_s=1e-3).snapshots[-1]
        return last.counters[model.counters.index("offered.packets")]

    assert offered("base") == offered("fcb_tb")


@settings(max_examples=30)
@given(
    sizes=st.lists(st.integers(1, 1500), min_size=1, max_size=60),
    gaps=st.lists(st.integers(0, 2000), min_size=60, max_size=60),
    room=st.integers(64, 4096),
    threads=st.integers(1, 4),
)
def test_packets_are_done_or_dropped(sizes, gaps, room, threads):
    """Every offered packet is either finished or dropped, and bytes are those of the finished ones."""
    t_ns = np.cumsum([2000, *gaps])[: len(sizes)]
    load = Workload("trace", {"packet_bytes": np.array(sizes)}, "timestamps", t_ns=t_ns)

    def program(m, packet):
        m.receive.free(bytes=-(-packet.packet_bytes // 64) * 64)
        m.hash.serve()

    made = machine([FifoServer("hash", 700 * NS)], program, threads=threads, capacity_bytes=room)
    model = build(made, load)
    last = run(model, 1, len(sizes), 5).snapshots[-1]
    counts = dict(zip(model.counters, last.counters.tolist(), strict=True))
    assert counts["offered.packets"] == len(sizes)
    assert last.done[0, engine.D_COUNT] + counts["drop.receive"] == len(sizes)
    if not counts["drop.receive"]:
        assert last.done[0, engine.D_BYTES] == sum(sizes)
    buffer, first = model.servers["receive.buffer"]
    assert last.integral_free[first] <= buffer.units * last.now
