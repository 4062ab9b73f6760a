"""Bank interference against the chain over all placements of requests, and published head-of-line limits."""

from itertools import product

import numpy as np
import pytest
from reference.markov import stationary

from npexplore.errors import InputError, RefusedError, UnknownNameError
from npexplore.solve.queueing import bank_bandwidth, crossbar_limit, mva
from npexplore.solve.queueing.banks import LARGE_CROSSBAR


def placements(n, m):
    """Busy banks from the chain over which bank holds how many requests, banks told apart, nothing lumped."""
    states = [s for s in product(range(n + 1), repeat=m) if sum(s) == n]
    index = {s: i for i, s in enumerate(states)}
    move = np.zeros((len(states), len(states)))
    for state, i in index.items():
        left = [max(count - 1, 0) for count in state]
        served = n - sum(left)
        for choice in product(range(m), repeat=served):
            after = left.copy()
            for bank in choice:
                after[bank] += 1
            move[i, index[tuple(after)]] += m**-served
    return stationary(move) @ [sum(count > 0 for count in state) for state in states]


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 4), (4, 1), (2, 2), (3, 2), (2, 3), (4, 3), (3, 4), (5, 2)])
def test_exact_chain(n, m):
    np.testing.assert_allclose(bank_bandwidth(n, m), placements(n, m), rtol=1e-9)


@pytest.mark.parametrize(("ports", "limit"), [(1, 1.0), (2, 0.75), (3, 0.6825), (4, 0.6553), (8, 0.6184)])
def test_head_of_line_limit_as_published(ports, limit):
    # Karol, Hluchyj, Morgan 1987, table I
    assert crossbar_limit(ports) == pytest.approx(limit, abs=1e-4)


def test_large_crossbar_is_where_the_exact_values_go():
    assert pytest.approx(0.5858, abs=1e-4) == LARGE_CROSSBAR
    gaps = [crossbar_limit(n) - LARGE_CROSSBAR for n in (4, 8, 16)]
    assert gaps[0] > gaps[1] > gaps[2] > 0
    assert gaps[2] < 0.02


@pytest.mark.parametrize(("n", "m"), [(4, 4), (8, 4), (6, 12), (16, 8)])
def test_approximations_are_near_the_exact_chain(n, m):
    exact = bank_bandwidth(n, m)
    assert bank_bandwidth(n, m, "Baskett-Smith") == pytest.approx(exact, rel=0.03)
    assert exact <= bank_bandwidth(n, m, "Strecker") < exact * 1.12


def test_exponential_banks_are_a_closed_network():
    # requesters circulate over m equal stations: throughput in requests per service time
    assert bank_bandwidth(7, 4, "exponential") == pytest.approx(mva(np.full(4, 0.25), 7).throughput[0])


def test_errors():
    with pytest.raises(RefusedError, match="40 requesters on 40 banks"):
        bank_bandwidth(40, 40)
    with pytest.raises(InputError, match="banks must be at least 1"):
        bank_bandwidth(4, 0)
    with pytest.raises(UnknownNameError, match="Strecker"):
        bank_bandwidth(4, 4, "strecker")
