"""What every run is held against: Little's law to the tick, busy times against demands; a broken law ends the run."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reference.small_machines import NS, machine, packets

from npexplore._kernels import engine
from npexplore.designs import design, design_names
from npexplore.engine import laws
from npexplore.engine.model import build
from npexplore.engine.run import run
from npexplore.engine.state import Snapshot, State
from npexplore.errors import SimulationError
from npexplore.machine.machine import Start
from npexplore.machine.resources import BoundedQueue, Delay, FifoServer, LineCard, Processor
from npexplore.machine.under_load import under_load
from npexplore.machine.workload import Workload
from npexplore.machine.workload_sources import workload
from npexplore.solve.simulate import simulate


def served(threads=3, service=100 * NS, start=None, longest_idle=0, **options):
    """Return a machine; packets of at most `longest_idle` bytes take it no time."""

    def program(m, packet):
        m.receive.free(bytes=-(-packet.packet_bytes // 64) * 64)
        with m.branch(packet.packet_bytes > longest_idle):
            m.hash.serve()
            m.work.wait(seconds=packet.packet_bytes * NS)

    made = machine([FifoServer("hash", service), Delay("work")], program, threads=threads, **options)
    if start is not None:
        made.pools[0].start = start
    return made


ARRIVALS = st.sampled_from(["saturated", "poisson", "periodic", "batch:4", "batch:3:geometric", "on_off:2us:6us"])
STARTS = st.sampled_from([Start(), Start("simultaneous"), Start("staggered", 37 * NS)])


@settings(max_examples=60)
@given(
    arrivals=ARRIVALS, rate=st.floats(1e5, 3e7), threads=st.integers(1, 9), start=STARTS, seed=st.integers(0, 2**32),
    sizes=st.lists(st.integers(1, 900), min_size=1, max_size=4), cut=st.integers(0, 3), idle=st.sampled_from([0, 450]),
)  # fmt: skip
@example(arrivals="batch:4", rate=3e7, threads=9, start=Start("simultaneous"), seed=1, sizes=[40, 40, 900], cut=0,
         idle=450)  # fmt: skip
def test_no_tick_is_lost_whatever_arrives(arrivals, rate, threads, start, seed, sizes, cut, idle):
    load = Workload("sizes", {"packet_bytes": np.array([*sizes, 900] if idle else sizes)})  # else time stands still
    load = load.with_arrivals(arrivals, None if arrivals == "saturated" else rate)
    model = build(served(threads, start=start, longest_idle=idle), load)
    shots = run(model, seed, 300, 6).snapshots
    for a, b in itertools.combinations(shots[cut:], 2):
        gap = laws.little_gap(model, a, b)
        settled = a.now > model.census.start
        assert gap == 0 or not settled
        assert abs(gap) * (b.now - a.now) <= 300 * model.census.start


@settings(max_examples=30)
@given(gaps=st.lists(st.integers(0, 900), min_size=1, max_size=80), threads=st.integers(1, 5))
def test_no_tick_is_lost_of_a_trace(gaps, threads):
    load = Workload("trace", {"packet_bytes": np.full(len(gaps), 64)}, "timestamps", t_ns=np.cumsum([2000, *gaps[1:]]))
    made = served(threads, capacity_bytes=256)
    answer = simulate(made, load)  # would raise an error
    assert answer.about["packets"] + answer.drops["receive"] == len(gaps)
    assert "little_gap" in answer.about


@pytest.mark.parametrize("name", design_names())
def test_laws_of_designs(name):
    made = design(name)
    about = made.simulate(None if made.own else workload(mix="amp"), packets=2000).about
    if len(made.machine().pools) == 1:
        assert about["little_gap"] == 0
        assert about.get("least_busy", 1.0) >= 0.97  # absent where too few packets are done
    else:
        assert not {"little_gap", "least_busy"} & set(about)


@pytest.mark.parametrize("packets_", [1001, 8192, 262_144])
def test_above_the_bound_is_the_windows_edge_alone(packets_):
    """Packets that finish in clumps are counted a few too many or too few, whatever their number."""
    made, load = design("pcie"), workload(packet_bytes=64)
    answer = made.simulate(load, packets=packets_, breakdown=False)
    assert answer.about["packets"] == packets_
    over = packets_ - answer.about["simulated_s"] * made.bounds(load).rate_pps
    assert abs(over) < made.machine().threads / 8
    low, _ = answer.ci95["rate_pps"]
    assert low <= made.bounds(load).rate_pps * (1 + 1e-6)


def test_a_run_tells_what_it_forwarded():
    answer = simulate(served(counted="cells", cell_bytes=64), packets(65, 100), packets=1000)
    about = answer.about
    assert about["packets"] == 1000
    assert about["packet_bytes"] == pytest.approx(82.5 * 1000, abs=100)
    assert about["padded_cells"] == 2000
    assert about["least_busy_at"] == "hash"
    assert about["least_busy"] == pytest.approx(1, abs=0.01)


def test_what_a_program_loses_is_the_gap():
    def program(m, packet):
        m.work.wait(seconds=100 * NS)
        m.card.send(bytes=packet.packet_bytes)
        m.work.wait(seconds=100 * NS)

    card = LineCard("card", 64 / (400 * NS), buffer_bytes=128, when_full="drop")
    answer = simulate(machine([card, Delay("work")], program, threads=4), packets(64), packets=1000)
    assert answer.drops["card"] > 0
    assert 0 < answer.about["little_gap"] < 1


def test_packets_are_not_counted_where_nobody_can():
    def program(m, packet):
        m.receive.free(bytes=64)
        m.me.compute(cycles=100)

    made = machine([Processor("me", 1, 1e9)], program, threads=2, home="me")
    made.pools[0].idle, made.pools[0].poll_cycles = "poll", 10
    assert "little_gap" in simulate(made, packets(64), packets=500).about
    answer = simulate(made, packets(64).with_arrivals("poisson", 1e6), packets=500)
    assert "little_gap" not in answer.about
    assert answer.about["least_busy"] > 1.5  # polls keep it busy beyond what packets need


def test_a_trace_that_is_not_run_through_says_nothing_of_means():
    load = Workload("trace", {"packet_bytes": np.arange(1, 5001)})
    assert "least_busy" not in simulate(served(), load, packets=500).about
    assert "least_busy" in simulate(served(), load, packets=5000).about


def test_a_buffer_that_prefers_short_packets_says_nothing_of_means():
    load = workload(mix="amp", arrivals="poisson", rate=2e6)
    answer = design("ixp2400").simulate(load, packets=2000)
    assert answer.drops["receive"] > 500
    assert answer.about["little_gap"] == 0
    assert "least_busy" not in answer.about


def test_a_long_warm_up_is_run_through_at_once():
    """Many threads behind a short window are warmed up for thousands of its batches."""
    model = build(served(9), packets(64))
    each, at_once = (run(model, 1, 3000, 300, cut=290, at_once=one) for one in (False, True))
    assert (len(each.snapshots), len(at_once.snapshots)) == (301, 12)
    assert [shot.now for shot in at_once.snapshots[1:]] == [shot.now for shot in each.snapshots[290:]]
    assert at_once.snapshots[-1].age == each.snapshots[-1].age


def test_ages_of_many_threads_are_summed_beyond_64_bits():
    model = build(served(9, start=Start("simultaneous")), packets(64))
    state, births = State(model, 1, accounts=True), 2**62 - np.arange(9) * (2**32 + 7)
    state.T[:9, engine.T_BIRTH] = births
    assert state.snapshot(2**62).age == sum(2**62 - birth for birth in births.tolist())
    assert len(state.account) == 9 + 2 * engine.FEW_ACCOUNTS  # packets that are there, not all that could be


# ---- broken laws


def shots(made, load, n=2000):
    model = build(made, load)
    return model, run(model, 1, n, 10).snapshots


def test_a_latency_too_many_ends_the_run():
    model, seen = shots(served(), packets(64))
    wrong: Snapshot = replace(seen[-1], done=seen[-1].done + 1)
    with pytest.raises(SimulationError, match=r"law: Little's law is broken: -1 of \d+ ticks"):
        laws.little_gap(model, seen[1], wrong)


@pytest.mark.parametrize("factor", [0.5, 1.5])
def test_a_server_that_is_not_as_busy_as_its_packets_ask_ends_the_run(factor):
    """A description whose bounds and rows disagree: the demands are those of another service time."""
    load, made = packets(64), served()
    model, seen = shots(made, load)
    other = under_load(served(service=factor * 100 * NS), load)
    if factor < 1:
        assert laws.shortfall(model, other, seen)[0] == pytest.approx(1 / factor, rel=0.01)
        return
    with pytest.raises(
        SimulationError, match=r"law: the utilization law is broken: hash was busy for .* s, \d+ packets"
    ):
        laws.shortfall(model, other, seen)


def test_several_pools_are_held_to_no_law_of_one():
    from reference.small_machines import machine as one

    made = one([FifoServer("hash", 10 * NS), BoundedQueue("q", 4)], lambda m, packet: m.q.put(), threads=1)
    from npexplore.machine.machine import Machine, Pool

    pools = [made.pools[0], Pool("rest", 1, lambda m, packet: m.hash.serve(), gets="q")]
    both = Machine("two", pools, made.ingress, {"hash": made.resources["hash"], "q": made.resources["q"]})
    about = simulate(both, packets(64), packets=500).about
    assert "little_gap" not in about
    assert "least_busy" not in about
