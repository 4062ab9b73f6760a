"""Closed networks the long way: the Markov chain over all states, and the product form summed over all of them."""

import math
from itertools import product

import numpy as np
from reference.markov import stationary


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
    flow, leaving = np.zeros((len(states), len(states))), np.zeros((len(states), R))
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
                flow[i, after] += rate
    p = stationary(flow)
    numbers = np.array([[[state[r][k] for r in range(R)] for k in range(K)] for state in states])
    return p @ leaving, np.einsum("i,ikr->kr", p, numbers)


def product_form(demands, population, think, rates):
    """The same X and Q by the normalizing constant: the weights of all states, added up (Buzen, CACM 16, 1973)."""
    K, R = len(demands), len(population)

    def weight(state):  # state[r][k], the last place is thinking
        found = 1.0
        for k in range(K):
            total = sum(state[r][k] for r in range(R))
            found *= math.factorial(total)
            for j in range(1, total + 1):
                found /= rates[k][min(j, len(rates[k])) - 1]
            for r in range(R):
                found *= demands[k][r] ** state[r][k] / math.factorial(state[r][k])
        for r in range(R):
            found *= think[r] ** state[r][K] / math.factorial(state[r][K])
        return found

    def constant(count):
        states = list(product(*(spread(count[r], K + 1) for r in range(R))))
        return states, np.array([weight(state) for state in states])

    states, weights = constant(population)
    fewer = [constant([n - (s == r) for s, n in enumerate(population)])[1].sum() for r in range(R)]
    numbers = np.array([[[state[r][k] for r in range(R)] for k in range(K)] for state in states])
    return np.array(fewer) / weights.sum(), np.einsum("i,ikr->kr", weights, numbers) / weights.sum()
