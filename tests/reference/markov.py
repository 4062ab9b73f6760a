"""Markov chains that tests write down state by state, solved directly."""

import math

import numpy as np
from scipy.sparse import csc_array
from scipy.sparse.linalg import spsolve


def stationary(rates):
    """Return the share of each state of a chain: rates[a, b] leads from a to b, and the diagonal counts for nothing.

    All states lead into one class that is never left. Of chances instead of rates these are shares of steps.
    """
    flow = np.array(rates, dtype=float)
    np.fill_diagonal(flow, 0.0)
    balance = flow.T - np.diag(flow.sum(axis=1))
    balance[0] = 1.0  # the balance of one state follows from those of the others
    return spsolve(csc_array(balance), np.eye(len(flow))[0])


def steady(rates):
    """Return the shares by state of a chain given as {(from, to): rate}."""
    states = sorted({state for pair in rates for state in pair})
    index = {state: k for k, state in enumerate(states)}
    flow = np.zeros((len(states), len(states)))
    for (a, b), rate in rates.items():
        flow[index[a], index[b]] += rate
    return dict(zip(states, stationary(flow), strict=True))


def loss_of_constant_service(load, places):
    """Return the share lost by M/D/1/K from the chain of those left behind at departures (Cooper 1981, Sec. 5.8)."""
    came = np.exp(-load) * load ** np.arange(places) / np.array([math.factorial(k) for k in range(places)])
    left = np.zeros((places, places))
    for before in range(places):
        start = max(before - 1, 0)
        left[before, start:-1] = came[: places - 1 - start]
        left[before, -1] = 1 - left[before].sum()
    return 1 - 1 / (stationary(left)[0] + load)
