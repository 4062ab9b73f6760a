"""60 processors of the SoCLIB unit for 2,000,000 cycles on one core, beside SimPy with the same tasks and polls."""

import random

import pytest
import simpy
from reference.timing import best, record, seconds

from npexplore.designs import design
from npexplore.designs.soclib.design import words_read
from npexplore.designs.soclib.unit import in_bursts
from npexplore.engine.model import build
from npexplore.solve.simulate import simulate

SPIN = design("soclib").with_(memory="distributed", lock="spin", processors=60)
MUTEX = design("soclib").with_(memory="distributed", lock="mutex", processors=60)
CYCLES = 100_000  # of SimPy's window, which takes seconds


def peer(p, cycles, seed=1):
    """Return the words read in a window: each task polls, works, and puts words out, in processes of SimPy."""
    env, rng, words = simpy.Environment(), random.Random(seed), [0]
    ram, code, held = simpy.Resource(env), simpy.Resource(env), [False]
    engines = [simpy.Resource(env) for _ in range(p.egress_engines)]

    def visit(resource, time):
        with resource.request() as request:
            yield request
            yield env.timeout(time)

    def section():
        while True:
            yield from visit(ram, p.global_cycles)
            if not held[0]:
                break
            yield env.timeout(p.gap_cycles + p.latency_cycles)
        held[0] = True
        yield env.timeout(p.section_cycles)
        for _ in range(p.global_accesses):
            yield from visit(ram, p.global_cycles)
            yield env.timeout(p.latency_cycles)
        yield env.timeout(p.section_accesses * (p.latency_cycles + p.bank_cycles))
        yield from visit(ram, p.global_cycles)
        held[0] = False

    def task():
        work = p.compute_cycles / p.bursts
        access = p.latency_cycles + p.bank_cycles
        misses, accesses = in_bursts(p, p.code_misses), in_bursts(p, p.memory_accesses) * access
        while True:
            yield from section()
            yield env.timeout(14 * access)
            for _ in range(int(p.bursts * rng.choice((0.5, 1.0)))):
                yield env.timeout(work + accesses + misses * p.latency_cycles)
                yield from visit(code, misses * p.line_cycles)
            yield from section()
            engine = rng.choice(engines)
            for _ in range(14):
                yield from visit(engine, p.egress_word_cycles)
                words[0] += 1

    for _ in range(p.processors):
        env.process(task())
    env.run(cycles)
    return words[0]


def test_the_peer_does_the_same():
    """With a lock that is far from full the two agree."""
    cycles = 500_000
    at = SPIN.with_(processors=20, window_cycles=cycles + int(SPIN.parameters.boot_cycles))
    ours = words_read(at.parameters, at.simulate())
    assert peer(at.parameters, cycles) == pytest.approx(ours, rel=0.03)


@pytest.mark.parametrize("at", [SPIN, MUTEX], ids=["spin", "mutex"])
def test_a_window_of_60_processors(benchmark, at):
    made = build(at.machine(), at.workload())
    simulate(at.machine(), at.workload(), model=made)

    def both():
        time, answer = best(lambda: simulate(at.machine(), at.workload(), seed=2, model=made))
        record(benchmark, seconds=time, million_events_a_second=answer.about["events"] / time / 1e6)
        if at is SPIN:
            theirs = seconds(lambda: peer(at.parameters, CYCLES), rounds=1) / CYCLES * 2_000_000
            record(benchmark, times_simpy=theirs / time)

    benchmark.pedantic(both, rounds=1, iterations=1)
