"""Markov chains: brackets hold for any h, states and rates come from anywhere, sweeps equal a dense solution."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import markov

from npexplore._kernels import chains as kernels
from npexplore.errors import InputError, RefusedError
from npexplore.jit import plain
from npexplore.solve.chains import chain, explore, stationary
from npexplore.solve.chains.stationary import _at_once, _brackets, _probabilities


def random_chain(rng, n):
    """A ring with random arcs across."""
    more = rng.integers(0, n, (2, 2 * n))
    source = np.concatenate([np.arange(n), more[0]])
    target = np.concatenate([(np.arange(n) + 1) % n, more[1]])
    return chain(n, source, target, rng.exponential(size=len(source)))


def generator(one):
    Q = np.zeros((one.states, one.states))
    np.add.at(Q, (np.repeat(np.arange(one.states), np.diff(one.begin)), one.target), one.rate)
    return Q - np.diag(Q.sum(axis=1))


def truth(one):
    return markov.stationary(generator(one))


@settings(max_examples=50)
@given(st.integers(2, 30), st.integers(0, 10**6))
def test_any_h_brackets_the_mean(n, seed):
    rng = np.random.default_rng(seed)
    one = random_chain(rng, n)
    reward, h = rng.normal(size=(n, 3)), rng.normal(size=(n, 3)) * rng.choice([0, 1, 1e6])
    low, high = np.empty(3), np.empty(3)
    kernels.bracket(one.begin, one.target, one.rate, reward, h, low, high)
    mean = truth(one) @ reward
    assert (low <= mean).all()
    assert (mean <= high).all()
    expected = reward + generator(one) @ h
    np.testing.assert_allclose(low, expected.min(axis=0), rtol=1e-6, atol=1e-6)


@settings(max_examples=25)
@given(st.integers(2, 60), st.integers(0, 10**6))
def test_sweeps_and_the_dense_solution_agree_and_are_certified(n, seed):
    rng = np.random.default_rng(seed)
    one = random_chain(rng, n)
    reward = rng.normal(size=(n, 2))
    pi, low, high = _at_once(one, reward)
    np.testing.assert_allclose(pi, truth(one), atol=1e-10)
    assert (high - low < 1e-9).all()
    swept, pace = _probabilities(one, 10_000)
    np.testing.assert_allclose(swept, pi, atol=1e-9)
    low, high = _brackets(one, reward, swept, 1e-9, 10_000, pace)
    assert (low <= pi @ reward + 1e-12).all()
    assert (pi @ reward - 1e-12 <= high).all()
    assert (high - low < 1e-6).all()


def test_kernels_equal_their_plain_functions():
    rng = np.random.default_rng(3)
    one = random_chain(rng, 12)
    begin, source, rate = one.by_target()
    first, second = np.full(12, 1 / 12), np.full(12, 1 / 12)
    for way in (kernels.FORTH, kernels.BACK, kernels.TURNS):
        kernels.sweep_probabilities(begin, source, rate, one.out, first, 3, way, 1.2)
        plain(kernels.sweep_probabilities)(begin, source, rate, one.out, second, 3, way, 1.2)
        np.testing.assert_allclose(first, second, rtol=1e-13)
    reward, gain = rng.normal(size=(12, 2)), np.zeros(2)
    h, h2 = np.zeros((12, 2)), np.zeros((12, 2))
    for way in (kernels.FORTH, kernels.BACK, kernels.TURNS):
        kernels.sweep_values(one.begin, one.target, one.rate, one.out, reward, gain, h, 2, way, 1.2)
        plain(kernels.sweep_values)(one.begin, one.target, one.rate, one.out, reward, gain, h2, 2, way, 1.2)
        np.testing.assert_allclose(h, h2, rtol=1e-12)


@settings(max_examples=20)
@given(st.integers(1, 40), st.integers(0, 10**6))
def test_arcs_by_their_targets_are_the_same_arcs(n, seed):
    one = random_chain(np.random.default_rng(seed), n)
    begin, source, rate = one.by_target()
    target = np.repeat(np.arange(n), np.diff(begin))
    rows = np.repeat(np.arange(n), np.diff(one.begin))
    assert sorted(zip(rows, one.target, one.rate, strict=True)) == sorted(zip(source, target, rate, strict=True))


@pytest.mark.parametrize("n", [2, 3, 50])
def test_a_ring_that_sweeps_one_way_pass_in_one_go(n):
    """Where one way's sweeps gain everything or nothing, the pace still ends in the truth."""
    ring = chain(n, np.arange(n), (np.arange(n) + 1) % n, 1.0 + np.arange(n))
    pi, pace = _probabilities(ring, 10_000)
    expected = 1 / (1.0 + np.arange(n))
    np.testing.assert_allclose(pi, expected / expected.sum(), rtol=1e-10)
    low, high = _brackets(ring, np.eye(n), pi, 1e-9, 10_000, pace)
    assert (high - low < 1e-8).all()


def tandem(limit):
    """What follows on (at the first, at the second) of two M/M/1 in a row that hold `limit` customers."""

    def successors(states):
        found = []
        for delta, rate, possible in (
            ((1, 0), 0.5, states.sum(axis=1) < limit),
            ((-1, 1), 1.0, states[:, 0] > 0),
            ((0, -1), 0.8, states[:, 1] > 0),
        ):
            origin = np.flatnonzero(possible)
            found.append((origin, states[origin] + np.array(delta, np.int32), np.full(len(origin), rate)))
        return tuple(np.concatenate(part) for part in zip(*found, strict=True))

    return successors


def test_states_and_rates_from_anywhere():
    """Two queues in a row: with room for many the answer is Jackson's."""
    states, found = explore([[0, 0]], tandem(120))
    assert len(states) == 121 * 122 // 2
    answer = stationary(found, states)
    np.testing.assert_allclose(answer.mean, [0.5 / 0.5, 0.625 / 0.375], rtol=1e-9)
    assert (answer.error < 1e-7).all()
    assert (answer.low <= answer.mean).all()
    assert (answer.mean <= answer.high).all()


def test_memory_is_told_before_it_is_taken():
    with pytest.raises(RefusedError, match=r"more than \d+ states, the next step needs .* GB of memory, 0.0005 GB"):
        explore([[0, 0]], tandem(10_000), most_bytes=500_000)
    with pytest.raises(RefusedError, match="more than 1000 states"):
        explore([[0, 0]], tandem(10_000), most_states=1000)


def test_chains_that_end_are_told():
    one = chain(4, [0, 0, 3], [1, 2, 0], [1.0, 1.0, 1.0])
    with pytest.raises(RefusedError, match="2 sets of states"):
        stationary(one, np.ones(4))
    absorbing = chain(2, [0], [1], [1.0])
    assert stationary(absorbing, [5.0, 7.0]).mean == 7.0
    with pytest.raises(InputError, match="rates must be finite"):
        chain(2, [0], [1], [-1.0])
    with pytest.raises(InputError, match=r"target must be a state in 0\.\.1, got 2"):
        chain(2, [0], [2], [1.0])
    with pytest.raises(InputError, match="one per state"):
        stationary(absorbing, [1.0])
