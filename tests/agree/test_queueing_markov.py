"""Queueing networks against the stationary solution of their Markov chain, state by state, with scipy.sparse."""

from itertools import product

import numpy as np
import pytest
from reference.closed_chains import closed_chain, spread
from scipy.sparse import coo_array

from npexplore.solve.queueing import mixed_network, multiclass_mva, mva

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


def mixed_chain(demands, arrival, population, think, rates, most):
    """Numbers (K, 2) and X of the closed class: class 0 open in tandem, cut at `most` customers; class 1 in a ring."""
    K = len(demands)
    open_states = [s for total in range(most + 1) for s in spread(total, K)]
    states = list(product(open_states, spread(population, K + 1)))
    index = {state: i for i, state in enumerate(states)}
    rows, columns, flows, done = [], [], [], np.zeros(len(states))

    def add(i, after, rate):
        rows.append(i), columns.append(index[after]), flows.append(rate)

    for (free, ring), i in index.items():
        if sum(free) < most:
            add(i, ((free[0] + 1, *free[1:]), ring), arrival)
        for k in range(K):
            total = free[k] + ring[k]
            if not total:
                continue
            alpha = rates[k][min(total, len(rates[k])) - 1]
            if free[k]:
                moved = list(free)
                moved[k] -= 1
                if k + 1 < K:
                    moved[k + 1] += 1
                add(i, (tuple(moved), ring), alpha * free[k] / total / demands[k][0])
            if ring[k]:
                moved = list(ring)
                moved[k] -= 1
                moved[k + 1] += 1
                rate = alpha * ring[k] / total / demands[k][1]
                done[i] += rate * (k == 0)
                add(i, (free, tuple(moved)), rate)
        if ring[K]:
            add(i, (free, (ring[0] + 1, *ring[1:K], ring[K] - 1)), ring[K] / think)
    count = len(states)
    flow = coo_array((flows, (rows, columns)), shape=(count, count)).tocsr()
    out = np.asarray(flow.sum(axis=1)).ravel()
    uniform = out.max() * 1.05
    p = np.full(count, 1 / count)
    turned = flow.T.tocsr()
    for _ in range(20000):
        after = p + (turned @ p - out * p) / uniform
        if abs(after - p).max() < 1e-15:
            break
        p = after
    numbers = np.array([[[free[k], ring[k]] for k in range(K)] for free, ring in states])
    return np.einsum("i,ikr->kr", p / p.sum(), numbers), p @ done / p.sum()


@pytest.mark.parametrize("rates", [[[1], [1]], [[1, 2, 3], [1, 1.5]], [[0.75, 1.25], [1, 1]]])
def test_mixed_open_and_closed(rates):
    demands, arrival = [[0.15, 0.4], [0.25, 0.3]], 0.8
    numbers, x = mixed_chain(demands, arrival, 3, 1.2, rates, 40)
    table = np.ones((2, 3))
    for k, row in enumerate(rates):
        table[k] = (row + [row[-1]] * 3)[:3]
    got = mixed_network(demands, [arrival, 0], [0, 3], [0, 1.2], table)
    np.testing.assert_allclose(got.queue_length[0], numbers, rtol=1e-6)
    np.testing.assert_allclose(got.throughput[0], [arrival, x], rtol=1e-6)
