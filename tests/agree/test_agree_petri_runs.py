"""Simulated nets against their Markov chains, against formulas, and against their own log."""

from itertools import pairwise

import numpy as np
import pytest

from npexplore.errors import InputError, SimulationError
from npexplore.machine.petri import load_net, net
from npexplore.solve.petri import record, simulate_net, solve_chain

SYSTEM = {"Idle": 3, "Queue": 0, "Serving": 0, "Server": 1}
LINES = {
    "ask": "Idle -> Queue, rate 1",
    "begin": "Queue + Server -> Serving",
    "end": "Serving -> Idle + Server, rate 2",
}
TIMINGS = {  # race: one clock asks for all of them; duration: each firing has its own
    "race": net(timing="race", place=SYSTEM, transition=LINES),
    "duration": net(timing="duration", place={"Idle": 3, "Queue": 0, "Server": 1}, transition={
        "ask": "Idle -> Queue, rate 1", "serve": "Queue -> Idle, using Server, rate 2"}),
}  # fmt: skip


@pytest.mark.parametrize("timing", TIMINGS)
@pytest.mark.parametrize("seeds", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_intervals_hold_the_truth_as_often_as_they_say(timing, seeds):
    made = TIMINGS[timing]
    truth = solve_chain(made).transitions["ask"].throughput
    held = 0
    for seed in range(seeds):
        rate = simulate_net(made, [seed], firings=20_000).transitions["ask"]
        held += rate.low <= truth <= rate.high
    assert 0.9 <= held / seeds <= 1.0 - 0.01 * (seeds >= 200)


def test_timing_decides():
    """M/M/1//3 against a single customer's clock: closed forms of both."""
    rates = {timing: simulate_net(made, range(4)).transitions["ask"] for timing, made in TIMINGS.items()}
    assert rates["race"].throughput == pytest.approx(14 / 15, rel=0.01)  # the line is full with 1/15: M/M/1/3, 1/2
    weights = np.array([1, 3 / 2, 6 / 4, 6 / 8])  # machine repair: 3 ask at rate 1 each, one is served at 2
    assert rates["duration"].throughput == pytest.approx(2 * (1 - weights[0] / weights.sum()), rel=0.01)


def test_conflicts_are_settled_by_weight_and_even_between_equals():
    lines = {f"t{k}": f"A -> A, for 1, weight {w}" for k, w in enumerate((1, 2, 5))}
    found = simulate_net(net(timing="duration", place={"A": 1}, transition=lines)).transitions
    assert [found[f"t{k}"].throughput for k in range(3)] == pytest.approx([1 / 8, 2 / 8, 5 / 8], abs=0.005)
    lines = {"go": "A -> B, if i < 70, using R[i], for 1", "back": "B -> A"}
    many = net(timing="duration", index={"i": 80}, place={"A": 1, "B": 0, "R[i]": 1}, transition=lines)
    shares = [one for name, one in simulate_net(many, firings=700_000).transitions.items() if name.startswith("go")]
    held = [one.low <= 1 / 70 <= one.high for one in shares]
    assert len(held) == 70
    assert sum(held) >= 62  # of intervals that hold in 95 of 100: fewer once in 120
    assert all(3 * abs(one.throughput - 1 / 70) <= 4 * (one.high - one.low) for one in shares)


def test_tokens_carry_what_steers_delay_guard_and_target():
    made = net(
        timing="duration", index={"b": 2}, token={"job": {"bank": "b", "size": "number"}},
        place={"Free": 1, "Ready": {"of": "job"}, "At[b]": {"of": "job"}, "Bank[b]": 1},
        transition={
            "come": "Free -> Ready, set bank = draw(2), set size = 8 if chance(0.25) else 4",
            "go": "Ready -> At[bank]",
            "short": "At[b] -> Free, if size == 4, using Bank[b], for size / 4",
            "long": "At[b] -> Free, if size == 8, using Bank[b], for 2 * size",
        },
    )  # fmt: skip
    found = simulate_net(made, firings=400_000)
    mean = 0.75 * 1 + 0.25 * 16
    assert found.transitions["come"].throughput == pytest.approx(1 / mean, rel=0.01)
    assert found.utilization["Bank[0]"].busy == pytest.approx(0.5, abs=0.02)
    assert found.transitions["long[1]"].throughput == pytest.approx(0.125 / mean, rel=0.03)
    assert (found.latency["long[0]"].mean, found.latency["short[1]"].p50) == pytest.approx((16, 1), rel=0.02)


def test_a_log_replays():
    made = load_net("fms_stochastic")
    log = record(made, 200)
    steps = list(log.steps())
    assert len(steps) == 200
    assert all(a.time <= b.time for a, b in pairwise(steps))
    log.rows[:, 1] = log.rows[::-1, 1]
    with pytest.raises(InputError, match="takes a token that is not in"):
        list(log.steps())


@pytest.mark.slow
def test_nothing_goes_on_for_ever_unnoticed():
    lines = {"t": "A -> B, for 2", "u": "B -> A", "v": "A -> B, priority 1"}
    loop = net(timing="duration", place={"A": 1, "B": 0}, transition=lines)
    with pytest.raises(SimulationError, match=r"endless instant: transition '\w' and others fire for ever in zero"):
        simulate_net(loop)
    grows = net(timing="duration", token={"d": {"x": 2}}, place={"A": 1, "D": {"of": "d"}},
                transition={"t": "A -> A + 999 D, set x = 1, for 1"})  # fmt: skip
    with pytest.raises(InputError, match=r"fills up without end: .* most at place 'D'"):
        simulate_net(grows)
    dead = simulate_net(load_net("philosophers")).dead
    assert sum(dead.marking.values()) == 5


def test_a_net_with_several_closed_sets_of_markings_has_no_long_run():
    lines = {
        "left": "Start -> A, rate 1",
        "right": "Start -> B, rate 2",
        "go": "A -> C, rate 1",
        "back": "C -> A, rate 3",
    }
    made = net(timing="race", place={"Start": 1, "A": 0, "B": 0, "C": 0, "D": 0}, transition={
        **lines, "on": "B -> D, rate 1", "off": "D -> B, rate 1"})  # fmt: skip
    assert "2 sets of states (2, 2) are never left; a run stays in the one" in simulate_net(made, range(3)).refused
