"""Nets at times after their beginning: closed forms, the matrix exponential, and the steady state behind it."""

import math

import numpy as np
import pytest
from scipy.linalg import expm

from npexplore.errors import InputError
from npexplore.machine.petri import load_net, net
from npexplore.solve.petri import solve_chain, solve_transient
from npexplore.solve.petri.ctmc import reduced
from npexplore.solve.queueing import transient

TIMES = (0.0, 0.3, 2.0, 50.0)


def test_two_states_by_the_closed_form():
    made = net(
        timing="race",
        place={"Up": 1, "Down": 0},
        transition={"fail": "Up -> Down, rate 0.5", "mend": "Down -> Up, rate 3"},
    )
    found = solve_transient(made, TIMES)
    for time, up, mend in zip(TIMES, found.places["Up"], found.transitions["mend"], strict=True):
        truth = 3 / 3.5 + 0.5 / 3.5 * math.exp(-3.5 * time)
        assert up.low <= truth <= up.high
        assert mend.throughput == pytest.approx(3 * (1 - truth), abs=1e-13)
    assert found.error < 1e-11


def test_a_queue_equals_the_solver_of_births_and_deaths():
    made = net(
        timing="race",
        place={"Queue": {"capacity": 6}},
        transition={"come": "-> Queue, rate 2", "go": "Queue ->, rate 3"},
    )
    truth = transient([2.0] * 6, [3.0] * 6, np.eye(7)[0], TIMES[1:]).probability
    found = solve_transient(made, TIMES[1:], only=["Queue"])
    assert [one.mean for one in found.places["Queue"]] == pytest.approx(list(truth @ np.arange(7)), rel=1e-9)
    assert found.transitions == {}


def test_chances_decide_where_a_net_without_time_at_first_begins():
    lines = {"left": "A -> L, weight 3", "right": "A -> R", "again": "A -> A, weight 4", "go": "L -> R, rate 2"}
    found = solve_transient(net(timing="race", place={"A": 1, "L": 0, "R": 0}, transition=lines), TIMES)
    for time, one in zip(TIMES, found.places["L"], strict=True):
        assert one.low <= 0.75 * math.exp(-2 * time) <= one.high


@pytest.mark.parametrize(
    ("name", "constants", "long"),
    [("kanban", {"t": 1}, 100), ("fms_stochastic", {}, 5000), ("polling_server", {}, 200)],
)
def test_worked_nets_equal_the_matrix_exponential_and_end_in_the_steady_state(name, constants, long):
    made = load_net(name, constants)
    chain, start, rewards, places, transitions, _ = reduced(made, 10_000, None, None)
    Q = np.zeros((chain.states, chain.states))
    for k in range(chain.states):
        Q[k, chain.target[chain.begin[k] : chain.begin[k + 1]]] = chain.rate[chain.begin[k] : chain.begin[k + 1]]
    Q -= np.diag(Q.sum(axis=1))
    found = solve_transient(made, (0.0, 1.5, long))
    truth = start @ expm(1.5 * Q) @ rewards
    means = [found.places[one][1].mean for one in places]
    means += [found.transitions[one][1].throughput for one in transitions]
    assert means == pytest.approx(truth.tolist(), abs=1e-10)
    steady = solve_chain(made)
    for place, tokens in zip(made.places, made.initial, strict=True):
        begin, _, end = found.places[place.name]
        assert begin.mean == pytest.approx(tokens, abs=1e-12)
        assert end.mean == pytest.approx(steady.places[place.name].mean, abs=1e-4)


def test_what_has_no_answer_is_told():
    made = net(timing="race", place={"A": 1}, transition={"t": "A -> A, for 3"})
    assert "exponential" in solve_transient(made, [1]).refused
    made = net(timing="race", place={"A": 1, "B": 0}, transition={"t": "A -> B, rate 1", "u": "B -> A, rate 1"})
    assert "steps of the chain" in solve_transient(made, [1e9]).refused
    with pytest.raises(InputError, match="times must be numbers of at least 0, got"):
        solve_transient(made, [-1])
