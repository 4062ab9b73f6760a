"""Running nets: the kernel equals a plain interpreter firing by firing on random nets with every feature."""

import numpy as np
import pytest
from reference.petri_nets import random_plain_net, random_run_net
from reference.petri_runs import EndlessError, PlainRun

from npexplore._kernels import petri as kernel
from npexplore.errors import InputError, SimulationError
from npexplore.machine.petri import net
from npexplore.solve.petri.run import Run

FIRINGS = 120


def compare(made, seed, firings=FIRINGS):
    """Return how many entries of both logs are alike; what one refuses, the other does."""
    run = Run.of(made, seed, logged=firings)
    plain = PlainRun(made, seed, run.program.ticks)
    try:
        while len(plain.log) < firings and plain.step():
            pass
    except EndlessError:
        pass
    told = ""
    try:
        run.advance(firings=firings)
    except (SimulationError, InputError) as error:
        told = str(error)
    assert not told or "for ever in zero time" in told or "at most 1000000000" in told
    n = min(len(plain.log), len(run.firings))
    assert len(plain.log) == len(run.firings) or plain.instant > 1000 or told
    np.testing.assert_array_equal(
        run.firings[:n], np.array(plain.log, dtype=np.int64).reshape(-1, run.log.shape[1])[:n]
    )
    return n


@pytest.mark.parametrize("timing", ["duration", "race"])
@pytest.mark.parametrize("count", [75, pytest.param(300, marks=pytest.mark.slow)])
def test_kernel_equals_the_plain_interpreter(timing, count):
    rng = np.random.default_rng(count)
    long = 0
    for seed in range(count):
        made = random_run_net(rng, timing)
        long += compare(made, seed) >= FIRINGS - 2
    assert long > count / 5


@pytest.mark.parametrize("count", [75, pytest.param(300, marks=pytest.mark.slow)])
def test_kernel_equals_the_plain_interpreter_where_nothing_but_tokens_decides(count):
    """Such nets have a loop of their own in the kernel."""
    rng = np.random.default_rng(count)
    long = 0
    for seed in range(count):
        made = random_plain_net(rng)
        assert Run.of(made).state.Q[kernel.Q_PLAIN]
        long += compare(made, seed) >= FIRINGS - 2
    assert long > count / 5


def test_more_under_way_than_there_is_room_for_at_first():
    lines = {"come": "S -> S + A, for 1", "go": "A ->, for uniform(1200, 1400)"}
    assert compare(net(timing="duration", place={"S": 1, "A": 0}, transition=lines), 3, firings=5000) == 5000


def test_times_and_tokens_equal_the_plain_interpreters():
    """Tokens x time by place, and firings by transition, after advances of many lengths."""
    rng = np.random.default_rng(8)
    for seed in range(20):
        made = random_plain_net(rng)
        run, plain = Run.of(made, seed), PlainRun(made, seed, 0)
        plain.ticks = run.program.ticks
        going = True
        for firings in (1, 2, 30):
            wanted = sum(how > 0 for _, _, _, how in plain.log) + firings
            try:
                while going and sum(how > 0 for _, _, _, how in plain.log) < wanted:
                    going = plain.step()
                run.advance(firings=firings)
            except (EndlessError, SimulationError):
                break
            counted = run.snapshot()
            assert counted.time == plain.now
            area = np.array(plain.area, dtype=float) + np.array(plain.tokens) * float(plain.now)
            np.testing.assert_allclose(counted.area, area, rtol=1e-12, atol=1e-3)
            fired = [t for _, t, _, how in plain.log if how > 0]
            np.testing.assert_array_equal(counted.fired, np.bincount(fired, minlength=len(made.transitions)))
