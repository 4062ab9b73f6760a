"""Queues behind batches and on-off spans: closed forms, the generator solved as a whole, limits without bursts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from npexplore.rows.distributions import OnOff
from npexplore.solve.queueing.bursty_queue import batch_queues, in_a_row, on_off_queues, on_off_wait
from npexplore.solve.queueing.finite_queue import finite_queues

ROOM = 3000  # places that nobody misses
ONE = np.ones(1)


def stationary(moves, states):
    """Return the chances of states of a chain: moves (from, to) -> rate."""
    generator = np.zeros((states, states))
    for (a, b), rate in moves.items():
        generator[a, b] += rate
        generator[a, a] -= rate
    return np.linalg.lstsq(np.vstack([generator.T, np.ones(states)]), np.append(np.zeros(states), 1.0), rcond=None)[0]


def answer(p, n, curve, rate):
    served = float(p @ np.array([0.0 if k == 0 else curve[min(k, len(curve)) - 1] for k in n]))
    return served, float(p @ n) / served, 1 - served / rate


curves = st.lists(st.floats(0.2, 3.0), min_size=1, max_size=5).map(
    lambda row: np.cumsum(sorted(row, reverse=True))[None, :]  # nobody is slower alone
)


@pytest.mark.parametrize("load", [0.3, 0.9])
@pytest.mark.parametrize("scv", [0.0, 0.25, 1.0, 3.0])
@pytest.mark.parametrize(("geometric", "second"), [(False, 16.0), (True, 28.0)])
def test_batches_before_one_server_wait_as_in_mxg1(load, scv, geometric, second):
    """Burke 1975: load (1 + c^2) / 2 and (E[X^2] / E[X] - 1) / 2 services over what is left, and the service itself."""
    wait = (load * (1 + scv) / 2 + (second / 4 - 1) / 2) / (1 - load)
    rate, mean, loss = batch_queues(
        load * ONE, ONE[None, :], ROOM, 4, geometric, scv * ONE, in_a_row([(ONE, ONE)], 4, geometric)
    )
    assert mean[0] == pytest.approx(1 + wait, rel=1e-3)
    assert rate[0] == pytest.approx(load, rel=1e-9)
    assert loss[0] == pytest.approx(0, abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(
    curve=curves, rate=st.floats(0.1, 8.0), size=st.integers(1, 5), geometric=st.booleans(), places=st.integers(5, 12)
)
def test_batches_are_those_of_the_whole_generator(curve, rate, size, geometric, places):
    """With any rates by number inside, losses included: a batch loses what finds no place."""
    moves = {}
    chance = {k: (1 - 1 / size) ** (k - 1) / size for k in range(1, 400)} if geometric else {size: 1.0}
    for n in range(places + 1):
        if n:
            moves[n, n - 1] = curve[0][min(n, curve.shape[1]) - 1]
        for k, p in chance.items():
            if (to := min(n + k, places)) != n:
                moves[n, to] = moves.get((n, to), 0.0) + rate / size * p
    expected = answer(stationary(moves, places + 1), np.arange(places + 1), curve[0], rate)
    found = batch_queues(rate * ONE, curve, places, size, geometric, ONE)
    assert [one[0] for one in found] == pytest.approx(list(expected), rel=1e-6, abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(
    curve=curves, rate=st.floats(0.1, 4.0), on=st.floats(0.05, 20.0), off=st.floats(0.05, 20.0),
    places=st.integers(5, 12),
)  # fmt: skip
def test_on_off_spans_are_those_of_the_whole_generator(curve, rate, on, off, places):
    moves = {}
    for n in range(places + 1):
        moves[2 * n, 2 * n + 1], moves[2 * n + 1, 2 * n] = 1 / on, 1 / off
        if n < places:
            moves[2 * n, 2 * n + 2] = rate * (on + off) / on
        if n:
            served = curve[0][min(n, curve.shape[1]) - 1]
            moves[2 * n, 2 * n - 2] = moves[2 * n + 1, 2 * n - 1] = served
    p = stationary(moves, 2 * places + 2)
    expected = answer(p, np.repeat(np.arange(places + 1), 2), curve[0], rate)
    found = on_off_queues(rate * ONE, curve, places, on, off, ONE)
    assert [one[0] for one in found] == pytest.approx(list(expected), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(("on", "off", "load"), [(3.0, 5.0, 0.6), (0.5, 40.0, 0.3), (20.0, 1.0, 0.9)])
def test_on_off_is_a_renewal_process_before_one_server(on, off, load):
    """GI/M/1: 1 / (1 - s) services, s the root of the transform of the time between packets (Kuczura 1973)."""
    gap = OnOff(rate=load, on=on, off=off).interval()
    a, b = gap.means
    root = brentq(
        lambda s: gap.probability / (1 + (1 - s) * a) + (1 - gap.probability) / (1 + (1 - s) * b) - s, 0, 1 - 1e-9
    )
    found = on_off_queues(load * ONE, ONE[None, :], ROOM, on, off, ONE)
    assert found[1][0] == pytest.approx(1 / (1 - root), rel=1e-6)


@pytest.mark.parametrize("scv", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(("on", "off", "load"), [(1e-4, 1e-4, 0.3), (1e5, 1e5, 0.6)])
def test_spans_that_are_very_short_or_very_long_are_poisson(on, off, load, scv):
    """Short ones: of the mean rate; long ones: each packet meets the rate while on (M/G/1, Pollaczek-Khinchine)."""
    found = on_off_queues(0.3 * ONE, ONE[None, :], 500, on, off, scv * ONE)
    assert found[1][0] == pytest.approx(1 + load / (1 - load) * (1 + scv) / 2, rel=1e-3)


def test_batches_of_one_are_single_packets():
    curve, rate = np.array([[1.0, 1.8, 2.4]]), np.array([2.0])
    for scv in (0.0, 1.0):
        expected = finite_queues(rate, curve, 40, np.array([(1 + scv) / 2]), 1 / curve[:, 0])
        found = batch_queues(rate, curve, 40, 1, False, scv * ONE)
        assert found[1] == pytest.approx(expected[1], rel=1e-3)


def test_a_batch_in_a_row_waits_for_the_slowest_station():
    fast, slow, four = (ONE, 0.5 * ONE), (ONE, ONE), (4 * ONE, 6 * ONE)
    assert in_a_row([fast, slow], 5, False)[0] == pytest.approx(2.0)  # 0, 1, 2, 3, 4
    assert in_a_row([slow], 5, True)[0] == pytest.approx(4.0, rel=1e-6)  # (E[X^2] / E[X] - 1) / 2
    assert in_a_row([fast, four], 8, False)[0] == pytest.approx(((0 + 0.5 + 1 + 1.5) + (6 + 6.5 + 7 + 7.5)) / 8)


def test_several_points_are_answered_as_each_alone():
    rate, scv = np.array([0.4, 0.7]), np.array([0.0, 2.0])
    curve = np.array([[0.6, 1.0], [0.5, 0.9]])
    for solve, more in ((batch_queues, (4, True)), (on_off_queues, (2.0, 3.0))):
        both = solve(rate, curve, 200, *more, scv)
        for k in range(2):
            one = solve(rate[k : k + 1], curve[k : k + 1], 200, *more, scv[k : k + 1])
            assert [part[k] for part in both] == pytest.approx([part[0] for part in one], rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(("on", "off", "load"), [(3.0, 5.0, 0.6), (0.5, 40.0, 0.3), (20.0, 1.0, 0.9)])
def test_exact_wait_behind_spans_is_that_of_the_chain_for_exponential_services(on, off, load):
    """Many lengths stand for exponential ones."""
    shares = np.full(4000, 1 / 4000)
    times = -np.log((np.arange(4000) + 0.5) / 4000)
    found = on_off_wait(OnOff(rate=load, on=on, off=off), shares, times)
    assert found == pytest.approx(on_off_queues(load * ONE, ONE[None, :], ROOM, on, off, ONE)[1][0] - 1, rel=4e-3)


@pytest.mark.parametrize(("on", "off", "load"), [(1e-4, 1e-4, 0.3), (1e5, 1e5, 0.6)])
def test_exact_wait_behind_very_short_or_very_long_spans_is_pollaczek_and_khinchines(on, off, load):
    shares, times = np.array([0.75, 0.25]), np.array([0.5, 2.5])
    found = on_off_wait(OnOff(rate=0.3, on=on, off=off), shares, times)
    assert found == pytest.approx(load * (shares @ times**2) / 2 / (1 - load), rel=1e-3)
    assert on_off_wait(OnOff(rate=1.01, on=on, off=off), shares, times) == np.inf
