"""The SoCLIB NPU: simulation against arithmetic, load-dependent MVA, birth-death chains in time, the paper's peaks."""

import numpy as np
import pytest

from npexplore.designs import design
from npexplore.designs.soclib.design import bits_per_cycle, conflict_cycles, words_read
from npexplore.designs.soclib.unit import alone_cycles, section_cycles
from npexplore.machine.pools import Start
from npexplore.machine.resources import Lock
from npexplore.machine.workload import workload
from npexplore.solve.queueing.birth_death import transient
from npexplore.solve.queueing_model import queueing
from npexplore.solve.simulate import simulate
from npexplore.study.papers.soclib.performance import ARCHITECTURES, LockChain, ensemble, two_states
from tests.reference.small_machines import NS, Exponential, machine

NPU = design("soclib")
APART = NPU.with_(memory="distributed")
LOAD = workload(packet_bytes=100)
SEEDS = range(11, 14)  # others than those of the fit


def peak(name, counts, seed):
    rates = [(bits_per_cycle(at.parameters, at.simulate(seed=seed)), n) for n in counts
             for at in [NPU.with_(**ARCHITECTURES[name], processors=n)]]  # fmt: skip
    return max(rates)[1], max(rates)[0]


# ---- arithmetic


@pytest.mark.parametrize("memory", ["shared", "distributed"])
@pytest.mark.parametrize("lock", ["mutex", "spin", "none"])
def test_one_processor_alone_takes_the_cycles_of_its_parts(memory, lock):
    at = NPU.with_(memory=memory, lock=lock, jitter=0)
    extra = 0 if lock != "spin" else 4 * at.parameters.global_cycles  # an acquire and a release poll once each
    cycles = alone_cycles(at.parameters) + extra
    answer = at.simulate()
    assert answer.latency_s.mean * 1e8 == pytest.approx(cycles, abs=1)
    whole = (2_000_000 - 16_000) // cycles
    assert words_read(at.parameters, answer) == pytest.approx(14 * whole, abs=14)
    assert answer.rate_pps <= at.bounds().rate_pps


def test_without_lock_and_shared_memory_processors_add_up():
    one, many = (APART.with_(lock="none", processors=n, jitter=0) for n in (1, 40))
    assert many.simulate().rate_pps == pytest.approx(40 * one.simulate().rate_pps, rel=1e-3)


def test_conflict_cycles_are_the_time_asleep_and_at_the_ram():
    at = APART.with_(processors=40)
    answer = at.simulate()
    held = answer.queue["lock"].mean + answer.queue["globals"].mean
    assert conflict_cycles(at.parameters, answer) == pytest.approx(held * 1_984_000)
    assert 0.8 * 40 * 1_984_000 < conflict_cycles(at.parameters, answer) < 40 * 1_984_000
    assert conflict_cycles(at.parameters, at.bounds()) is None


# ---- chains


@pytest.mark.parametrize("processors", [5, 20, 27, 40])
def test_load_dependent_mva_is_the_steady_state_of_the_lock_chain(processors):
    """Two sections a packet: each hand-over costs its own sleepers."""
    at = APART.with_(processors=processors)
    rate = bits_per_cycle(at.parameters, at.queueing()) * 2_000_000 / 1_984_000
    assert rate == pytest.approx(LockChain.of(at.parameters).steady(), rel=1e-3)


@pytest.mark.parametrize("visits", [1, 2, 5])
def test_hand_over_is_paid_at_every_visit_to_the_lock(visits):
    lock = Lock("lock", clock_hz=1e9, wake_cycles=6, waiter_cycles=4)
    parts = [Exponential("section", 30 * NS, units=12), Exponential("think", 200 * NS, units=12)]

    def program(m, packet):
        with m.loop(visits):
            m.think.serve()
            m.lock.acquire()
            m.section.serve()
            m.lock.release()

    made = machine([lock, *parts], program, threads=12)
    answer = queueing(made, LOAD).rate_pps
    simulated = [simulate(made, LOAD, seed=seed, packets=8000 // visits).rate_pps for seed in SEEDS]
    assert answer == pytest.approx(np.mean(simulated), rel=0.02)


@pytest.mark.parametrize("window_us", [2, 4, 20])
def test_a_window_from_a_full_lock_is_the_transient_chain(window_us):
    """All threads at the lock at time 0: the mean over an ensemble against exp(Q t), within four standard errors."""
    threads, think, section = 10, 2000 * NS, 150 * NS
    parts = [Exponential("section", section, units=threads), Exponential("think", think, units=threads)]

    def program(m, packet):
        m.lock.acquire()
        m.section.serve()
        m.lock.release()
        m.think.serve()

    made = machine([Lock("lock", clock_hz=1e9), *parts], program, threads=threads)
    made.pools[0].start = Start("simultaneous")
    busy = [simulate(made, LOAD, seed=seed, window_s=window_us * 1e-6).utilization["lock"].busy for seed in range(300)]
    births = (threads - np.arange(threads)) / think
    chain = transient(births, np.full(threads, 1 / section), threads, [window_us * 1e-6])
    exact = 1 - chain.average[0][0]
    error = 4 * np.std(busy, ddof=1) / len(busy) ** 0.5
    assert np.mean(busy) == pytest.approx(exact, abs=max(error, 2e-3))
    assert error < 0.04 * exact


def test_two_states_last_long_near_the_peak_and_not_below():
    table = two_states(NPU, (10, 27)).set_index("processors")
    assert "unstable" not in table.loc[10, "rests"]
    assert table.loc[27, "rests"].count("stable") - table.loc[27, "rests"].count("unstable") == 2
    assert table.loc[27, "from_empty"] > table.loc[27, "from_full"]
    assert table.loc[10, "from_empty"] == pytest.approx(table.loc[10, "from_full"], rel=0.01)


@pytest.mark.parametrize("window_us", [15, 40])
def test_two_states_outlast_a_window_in_the_chain_and_in_simulation(window_us):
    """A lock whose hand-over costs 40 ns a sleeper, started full and started empty, against the transient chain.

    Scans take a constant time here and an exponential one in the chain, which therefore leaves the fast state earlier.
    """
    threads, think, section, waiter = 20, 4000, 100, 40
    parts = [Exponential("section", section * NS, units=threads), Exponential("think", think * NS, units=threads)]

    def program(full):
        def run(m, packet):
            if not full:
                m.think.serve()
            m.lock.acquire()
            m.section.serve()
            m.lock.release()
            if full:
                m.think.serve()

        return run

    j = np.arange(threads)
    births, deaths = (threads - j) / think, 1 / (section + waiter * j)
    ratio, exact = {}, {}
    for full in (True, False):
        made = machine([Lock("lock", clock_hz=1e9, waiter_cycles=waiter), *parts], program(full), threads=threads)
        made.pools[0].start = Start("simultaneous")
        runs = [simulate(made, LOAD, seed=seed, window_s=window_us * 1e-6) for seed in range(120)]
        done = np.mean([run.utilization["section"].busy * threads / section for run in runs])
        share = transient(births, deaths, threads if full else 0, [window_us * 1e3]).average[0]
        exact[full] = float(share[1:] @ deaths)
        ratio[full] = done / exact[full]
    assert LockChain(births, deaths, 1.0).rests() == [(1, "stable"), (6, "unstable"), (14, "stable")]
    assert exact[False] > 1.5 * exact[True]
    assert ratio[True] == pytest.approx(1, abs=0.05)
    assert 0.98 < ratio[False] < 1.14


# ---- the paper


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "printed", "counts"),
    [
        ("one bank, mutex", 8, range(5, 14)),
        ("distributed, mutex", 27, range(24, 32)),
        ("distributed, spin", 45, range(41, 50)),
    ],
)
def test_peaks_are_where_the_paper_has_them(name, printed, counts):
    found = [peak(name, counts, seed)[0] for seed in SEEDS]
    assert np.mean(found) == pytest.approx(printed, abs=1)


@pytest.mark.slow
def test_the_fall_behind_the_mutex_peak_is_abrupt_and_spin_locks_do_not_have_it():
    runs = ensemble(NPU, (24, 27, 30), starts=("simultaneous",), seeds=(11, 12))
    mean = runs.groupby(["architecture", "processors"])["throughput"].mean()
    assert mean["distributed, mutex", 30] < 0.5 * mean["distributed, mutex", 27]
    assert mean["distributed, mutex", 27] == pytest.approx(0.3, rel=0.1)
    assert mean["distributed, spin", 30] > mean["distributed, spin", 27]
    assert mean["distributed, spin", 24] == pytest.approx(mean["distributed, mutex", 24], rel=0.05)


@pytest.mark.slow
def test_near_the_peak_the_start_decides():
    runs = ensemble(NPU, (28,), {"mutex": ARCHITECTURES["distributed, mutex"]}, seeds=(11, 12, 13))
    by_start = runs.groupby("start")["throughput"]
    assert by_start.max()["staggered"] > 2 * by_start.max()["simultaneous"]


def test_section_is_what_the_lock_is_held():
    at = APART.with_(jitter=0)
    busy = at.simulate().utilization["lock"].busy
    assert busy == pytest.approx(2 * section_cycles(at.parameters) / alone_cycles(at.parameters), rel=0.03)
