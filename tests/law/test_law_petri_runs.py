"""Running nets: the kernel equals a plain interpreter firing by firing on random nets with every feature."""

import numpy as np
import pytest
from reference.petri_nets import random_run_net
from reference.petri_runs import EndlessError, PlainRun

from npexplore.errors import InputError, SimulationError
from npexplore.solve.petri.run import Run

FIRINGS = 120


def compare(made, seed):
    """Return how many entries of both logs are alike; what one refuses, the other does."""
    run = Run.of(made, seed, logged=FIRINGS)
    plain = PlainRun(made, seed, run.program.ticks)
    try:
        while len(plain.log) < FIRINGS and plain.step():
            pass
    except EndlessError:
        pass
    told = ""
    try:
        run.advance(firings=FIRINGS)
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
@pytest.mark.parametrize("count", [75, pytest.param(500, marks=pytest.mark.slow)])
def test_kernel_equals_the_plain_interpreter(timing, count):
    rng = np.random.default_rng(count)
    long = 0
    for seed in range(count):
        made = random_run_net(rng, timing)
        long += compare(made, seed) >= FIRINGS - 2
    assert long > count / 4
