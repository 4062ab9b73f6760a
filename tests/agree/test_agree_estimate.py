"""Estimates of random machines against stored long runs (reference/estimate_truths.py): their intervals hold."""

import pytest
from reference.estimate_truths import inside, numbers, points
from reference.random_machines import random_machine

STRIDE = 36  # of the stored points: every machine's first, second, ... in turn
RUNS = 8
pytestmark = pytest.mark.slow
LEAST = {"rate": 0.88, "mean": 0.88, "p50": 0.86, "p95": 0.84, "p99": 0.82, "loss": 0.75}  # 95 % less chance in some 40


def shares(found, narrower=1):
    """Return, by name, how often the truth lies inside an interval; narrower: a fault put into estimates."""
    hits = {}
    for answer, true in found:
        ends = {one: (mid, *(mid + (end - mid) / narrower for end in two)) for one, (mid, *two) in answer.items()}
        for name, hit in inside(ends, true).items():
            hits.setdefault(name, []).append(hit)
    return {name: sum(these) / len(these) for name, these in hits.items()}


def test_intervals_hold_the_truth_and_no_rate_is_above_the_bounds():
    """Rates of machines that lose nothing: what is left of lossy ones is not the mix of the bounds."""
    found = []
    for machine, arrivals, _, rate, true in points()[::STRIDE]:
        drawn = random_machine(machine)
        load = drawn.workload(arrivals, rate)
        answer = drawn.design.estimate(load, seed=2, runs=RUNS)
        found.append((numbers(answer), true))
        if not any(answer.drops.values()):
            low = answer.ci95["rate_pps"][0]
            assert low <= drawn.design.bounds(load).rate_pps * (1 + 1e-9), (machine, arrivals, rate, true)
    held = shares(found)
    assert all(held[name] >= least for name, least in LEAST.items() if name in held), held
    assert shares(found, narrower=20)["mean"] < LEAST["mean"]  # intervals that are too narrow show
