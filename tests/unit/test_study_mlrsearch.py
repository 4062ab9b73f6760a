"""The search for rates within a loss: appendix A of the draft, known edges, noise, what never meets a goal."""

import math

import numpy as np
import pytest

from npexplore.errors import InputError
from npexplore.study.loading.mlrsearch import GROWTH, MAX_SIGN_TRIALS, Goal, Search, Trial, classified

PDR = Goal(loss_ratio=0.005, final=16_384, total=16_384, initial=1024)


def cliff(edge):
    """A machine that forwards `edge` at most, and loses the rest."""
    return each(lambda load: max(0.0, 1 - edge / load))


def each(loss):
    return lambda load, length, numbers: [loss(load) for _ in numbers]


def trials(*shown):
    return [Trial(1.0, length, loss) for length, loss in shown]


@pytest.mark.parametrize(
    ("shown", "exceed", "total", "bound"),
    [
        ([], 0.5, 100, "undecided"),
        ([(100, 0.0)], 0.5, 100, "lower"),
        ([(100, 0.1)], 0.5, 100, "upper"),
        ([(100, 0.1), (100, 0.0)], 0.5, 200, "lower"),  # half of the time may exceed
        ([(100, 0.1), (100, 0.0)], 0.25, 200, "upper"),
        ([(100, 0.1), (100, 0.0)], 0.25, 400, "undecided"),  # two good ones more would do
        ([(100, 0.1), (100, 0.1), (100, 0.0)], 0.5, 400, "undecided"),
        ([(100, 0.1), (100, 0.1), (100, 0.1), (100, 0.0)], 0.5, 400, "upper"),
        ([(10, 0.1)] * 10, 0.5, 100, "upper"),  # short trials can show a bad load
        ([(10, 0.0)] * 10, 0.5, 100, "undecided"),  # but never a good one
        ([(10, 0.1)] * 10 + [(10, 0.0)] * 10, 0.5, 100, "undecided"),  # and good ones balance bad ones
        ([(100, 0.0)] * 3 + [(100, 0.1)], 0.0, 400, "upper"),
        ([(100, 0.0)] * 4, 0.0, 400, "lower"),
    ],
)
def test_loads_are_classified_as_in_appendix_a(shown, exceed, total, bound):
    assert classified(trials(*shown), Goal(exceed_ratio=exceed, final=100, total=total, initial=10)) == bound


def test_trials_grow_and_gaps_narrow_from_phase_to_phase():
    phases = Goal(width=0.01, final=16_384, total=65_536, initial=1024).phases()
    assert [phase.final for phase in phases] == [1024, 4096, 16_384]
    assert [phase.total for phase in phases] == [1024, 4096, 65_536]
    assert [phase.width for phase in phases] == [0.04, 0.02, 0.01]
    assert GROWTH == 4
    assert Goal(initial=None).phases() == [Goal(initial=None)]


@pytest.mark.parametrize("edge", [0.0021, 0.1, 0.37, 0.9, 0.999])
@pytest.mark.parametrize("loss", [0.0, 0.005, 0.1])
def test_a_known_edge_is_found_within_the_width(edge, loss):
    found = Search(cliff(edge), 0.001, 1.0).run(Goal(loss_ratio=loss))
    exact = edge / (1 - loss)
    assert found.low <= found.load <= exact
    assert exact < found.high if exact < 1 else found.load == 1.0
    assert found.load >= 0.995 * min(exact, 1.0) * (1 - 1e-9)
    assert found.conditional == pytest.approx(min(found.load, edge))


def test_goals_share_trials():
    made, asked = Search(cliff(0.4), 0.001, 1.0), []
    made.run(Goal())
    before = sum(map(len, made.trials.values()))
    made.run(Goal())
    assert sum(map(len, made.trials.values())) == before
    alone = Search(lambda *trial: asked.append(trial) or cliff(0.4)(*trial), 0.001, 1.0)
    alone.run(PDR)
    made.run(PDR)
    assert sum(map(len, made.trials.values())) - before < sum(map(len, alone.trials.values()))
    assert {length for _, length, _ in asked} == {1024, 4096, 16_384}


def test_a_machine_that_loses_nothing_is_at_the_highest_load():
    made = Search(cliff(2.0), 0.001, 1.0)
    for goal in (Goal(), PDR):  # loads beyond the highest, which the interval of the first has tried, are no bounds
        found = made.run(goal)
        assert (found.load, found.loses_at, found.low, found.high) == (1.0, None, 1.0, None)
    assert max(made.trials) > 1.0


@pytest.mark.parametrize(("edge", "low"), [(0.1, 0.5), (0.001, 0.01)])
def test_a_loss_that_no_load_meets_is_told(edge, low):
    with pytest.raises(InputError, match=f"no load down to {low} loses a share of 0.005 or less; at {low} it is"):
        Search(cliff(edge), low, 1.0).run(PDR)


def test_a_single_phase_halves():
    asked = []
    Search(each(lambda load: asked.append(load) or max(0.0, 1 - 0.4 / load)), 0.02, 1.0).run(
        Goal(width=0.1, initial=None), confidence=False
    )
    assert asked == pytest.approx([1.0, 0.02, 0.51, 0.265, 0.3875, 0.44875, 0.418125])


def test_a_load_that_loses_below_good_ones_bounds_them():
    """The relevant lower bound is below the smallest load that loses."""

    def dip(load):
        return 0.1 if 0.3 < load < 0.32 or load > 0.8 else 0.0

    made = Search(each(dip), 0.001, 1.0)
    made.trials[0.31] = [Trial(0.31, 16_384, 0.1)] * 6
    found = made.run(Goal())
    assert found.load <= 0.3 < found.loses_at <= 0.31


def test_the_interval_holds_the_truth_where_trials_are_noisy():
    """Losses come in clumps of nine; the loss ratio grows as exp(30 load)."""
    rng, true = np.random.default_rng(7), 1 + math.log(0.1) / 30

    def noisy(load, length, numbers):
        return list(9 * rng.poisson(0.05 * math.exp(30 * (load - 1)) * length / 9, len(numbers)) / length)

    hits, off = 0, []
    for _ in range(100):
        found = Search(noisy, 0.001, 1.0).run(PDR)
        assert found.low <= found.load <= found.high
        hits += found.low <= true <= found.high
        off.append(found.load / true - 1)
    assert hits >= 91
    assert abs(np.mean(off)) < 0.005


def test_no_load_takes_more_trials_than_a_sign_test_may():
    rng = np.random.default_rng(3)
    made = Search(each(lambda load: float(rng.integers(2)) if load > 0.002 else 0.0), 0.001, 1.0)
    made.run(Goal(initial=None))
    assert max(map(len, made.trials.values())) == MAX_SIGN_TRIALS


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: Search(cliff(1), 0.0, 1.0), "0 < low < high, got 0.0 and 1.0"),
        (lambda: Search(cliff(1), 1.0, 0.5), "0 < low < high, got 1.0 and 0.5"),
        (lambda: Goal(loss_ratio=1.0), "loss ratio of a search must be at least 0 and below 1, got 1.0"),
        (lambda: Goal(exceed_ratio=-0.1), "exceed ratio of a search must be at least 0"),
        (lambda: Goal(width=0.0), "width of a search must be between 0 and 1, got 0.0"),
        (lambda: Goal(final=10, total=5, initial=None), "initial <= final <= total, got 10, 10, 5"),
        (
            lambda: Search(each(lambda load: float("nan")), 0.1, 1.0).run(Goal()),
            "loss ratio of a trial must be at least 0",
        ),
    ],
)
def test_what_cannot_be_searched(ask, message):
    with pytest.raises(InputError, match=message):
        ask()
