"""Estimates of random machines against stored long runs (reference/estimate_truths.py): their intervals hold."""

import pytest
from reference.estimate_truths import inside, numbers, points
from reference.random_machines import random_machine

STRIDE = 36  # of the stored points: every machine's first, second, ... in turn
RUNS = 8
pytestmark = pytest.mark.slow
LEAST = {"rate": 0.88, "mean": 0.88, "p50": 0.86, "p95": 0.84, "p99": 0.82, "loss": 0.75}  # 95 % less chance in some 40


def judged(stride, change=lambda number: number):
    """Return, by name, whether each truth lies inside; change: a fault put into estimates."""
    hits = {}
    for machine, arrivals, _, rate, true in points()[::stride]:
        drawn = random_machine(machine)
        found = numbers(drawn.design.estimate(drawn.workload(arrivals, rate), seed=2, runs=RUNS))
        for name, hit in inside({one: change(number) for one, number in found.items()}, true).items():
            hits.setdefault(name, []).append(hit)
    return {name: sum(these) / len(these) for name, these in hits.items()}


def test_intervals_hold_the_truth():
    shares = judged(STRIDE)
    assert all(shares[name] >= least for name, least in LEAST.items() if name in shares), shares


def test_intervals_that_are_too_narrow_are_found():
    shares = judged(126, change=lambda number: (number[0], *(number[0] + (end - number[0]) / 20 for end in number[1:])))
    assert shares["mean"] < LEAST["mean"]


def test_lower_ends_are_not_above_the_bounds():
    """Of machines that lose nothing: what is left of lossy ones is not the mix of the bounds."""
    for machine, arrivals, _, rate, true in points()[::116]:
        drawn = random_machine(machine)
        load = drawn.workload(arrivals, rate)
        answer = drawn.design.estimate(load, seed=3, runs=RUNS)
        if not any(answer.drops.values()):
            low = answer.ci95["rate_pps"][0]
            assert low <= drawn.design.bounds(load).rate_pps * (1 + 1e-9), (machine, arrivals, rate, true)
