"""How many hold units at once who take them in different numbers: by hand, and start by start."""

import numpy as np
import pytest

from npexplore.solve.queueing.mixed_units import MAX_EXACT_TAKES, mean_holders


def one_by_one(units, sizes, shares, customers=100_000):
    """Each starts when the last one ends that does not fit beside it: customers an interval of constant holds."""
    each = np.random.default_rng(3).choice(sizes, customers, p=shares)
    taken = np.concatenate([[0], np.cumsum(each)])
    holds = np.zeros(customers)
    for i in range(customers):
        last = np.searchsorted(taken, taken[i + 1] - units) - 1  # who must be gone
        holds[i] = holds[last] + 1 if last >= 0 else 0
    return customers / holds[-1]


def test_sizes_that_need_no_chance():
    assert mean_holders(10, ((5.0, 1.0),)) == 2
    assert mean_holders(11, ((5.0, 0.2),)) == 2
    assert mean_holders(3, ((1.0, 1.0), (2.0, 0.0))) == pytest.approx(3)


def test_one_and_two_in_two_units():
    """A leader of two goes alone and a one leads next with chance 1/2; behind a one either fits (a one) or leads."""
    # leaders: P(2 | 2) = P(2 | 1) = 1/2, P(1 | 2) = 1/2, P(1 | 1) = 1/4 behind a second one, P(2 | 1) = 1/2 + 1/4
    two = 0.6  # two = two / 2 + (1 - two) * 3 / 4
    assert mean_holders(2, ((1.0, 0.5), (2.0, 0.5))) == pytest.approx(two * 1 + (1 - two) * 1.5)


@pytest.mark.parametrize("units", [96, 100, 128, 191, 256, 1024])
def test_credits_by_length(units):
    sizes, shares = np.array([5, 38, 96]), np.array([7, 4, 1]) / 12
    takes = tuple(zip(sizes.astype(float).tolist(), shares.tolist(), strict=True))
    assert mean_holders(units, takes) == pytest.approx(one_by_one(units, sizes, shares), rel=0.015)


def test_many_units_go_on_where_few_end():
    takes = ((5.0, 0.6), (38.0, 0.3), (96.0, 0.1))
    few, more = mean_holders(96 * MAX_EXACT_TAKES, takes), mean_holders(96 * MAX_EXACT_TAKES + 1, takes)
    assert 0 < more - few < 0.2


def test_leaders_that_come_by_turns():
    """Of three units ones and threes by turns lead: the mean does not swing."""
    assert mean_holders(3, ((3.0, 1.0),)) == 1
    assert mean_holders(4, ((2.0, 0.5), (4.0, 0.5))) == pytest.approx(one_by_one(4, [2, 4], [0.5, 0.5]), rel=0.01)
