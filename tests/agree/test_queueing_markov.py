"""Queueing networks against the stationary solution of their Markov chain, state by state, with scipy.sparse."""

from itertools import product

import numpy as np
import pytest
from scipy.sparse import coo_array, csc_array
from scipy.sparse.linalg import spsolve

from npexplore.solve.queueing import multiclass_mva, mva


def stationary(transitions, count):
    """Stationary distribution of a chain given as {(from, to): rate} over `count` states."""
    rows, columns, rates = zip(*((a, b, r) for (a, b), r in transitions.items()), strict=True)
    flow = coo_array((rates, (rows, columns)), shape=(count, count)).toarray()
    balance = flow.T - np.diag(flow.sum(axis=1))
    balance[0] = 1.0
    right = np.zeros(count)
    right[0] = 1.0
    return spsolve(csc_array(balance), right)


def spread(customers, places):
    """All ways to put equal customers into places."""
    if places == 1:
        return [(customers,)]
    return [(first, *rest) for first in range(customers + 1) for rest in spread(customers - first, places - 1)]


def closed_chain(demands, population, think, rates):
    """X (R,) and Q (K, R) of a ring think -> 0 -> 1 ... -> think with processor sharing at capacity alpha(n)."""
    K, R = len(demands), len(population)
    states = list(product(*(spread(population[r], K + 1) for r in range(R))))
    index = {state: i for i, state in enumerate(states)}
    transitions, leaving = {}, np.zeros((len(states), R))
    for state, i in index.items():
        for r in range(R):
            for k in range(K + 1):
                here = state[r][k]
                if not here:
                    continue
                if k == K:
                    rate = here / think[r]
                else:
                    total = sum(state[s][k] for s in range(R))
                    alpha = rates[k][min(total, len(rates[k])) - 1]
                    rate = alpha * here / total / demands[k][r]
                if k == 0:
                    leaving[i, r] = rate
                moved = list(state[r])
                moved[k] -= 1
                moved[(k + 1) % (K + 1)] += 1
                after = index[(*state[:r], tuple(moved), *state[r + 1 :])]
                transitions[i, after] = transitions.get((i, after), 0.0) + rate
    p = stationary(transitions, len(states))
    numbers = np.array([[[state[r][k] for r in range(R)] for k in range(K)] for state in states])
    return p @ leaving, np.einsum("i,ikr->kr", p, numbers)


RATES = [[1, 2, 2], [1, 1, 1], [1, 1.5, 0.75]]


@pytest.mark.parametrize("population", [(3,), (6,)])
def test_single_class_with_multiserver_and_load_dependent_stations(population):
    demands = [[0.7], [0.4], [0.3]]
    x, queue = closed_chain(demands, population, [1.5], RATES)
    got = mva(np.ravel(demands), population[0], 1.5, RATES)
    np.testing.assert_allclose(got.throughput, x, rtol=1e-9)
    np.testing.assert_allclose(got.queue_length[0], queue[:, 0], rtol=1e-9)


@pytest.mark.parametrize("rates", [None, RATES, [[1, 2], [1, 3], [0.5, 0.75]]])
@pytest.mark.parametrize("population", [(1, 1), (2, 3), (4, 1)])
def test_two_classes(population, rates):
    demands, think = [[0.7, 0.2], [0.4, 0.9], [0.3, 0.25]], [1.5, 0.5]
    x, queue = closed_chain(demands, population, think, rates or [[1]] * 3)
    got = multiclass_mva(demands, population, think, rates)
    np.testing.assert_allclose(got.throughput[0], x, rtol=1e-9)
    np.testing.assert_allclose(got.queue_length[0], queue, rtol=1e-9)


def test_three_classes():
    demands, think = [[0.7, 0.2, 0.1], [0.4, 0.9, 1.1]], [1.5, 0.5, 2.0]
    x, queue = closed_chain(demands, (2, 1, 2), think, RATES[:2])
    got = multiclass_mva(demands, (2, 1, 2), think, RATES[:2])
    np.testing.assert_allclose(got.throughput[0], x, rtol=1e-9)
    np.testing.assert_allclose(got.queue_length[0], queue, rtol=1e-9)
