"""Intervals of rates from batches of unequal length."""

from itertools import pairwise

import numpy as np
import pytest

from npexplore.engine.intervals import interval, ratio_interval, student
from npexplore.solve.modes import SURE, quantile


def test_a_steady_rate_has_no_width_however_long_the_batches():
    times = np.array([1.0, 2.0, 7.0])
    assert ratio_interval(5.0 * times, times) == pytest.approx((5.0, 5.0))


def test_batches_of_one_length_give_the_interval_of_a_mean():
    amounts = np.array([3.0, 4.0, 8.0, 5.0])
    assert ratio_interval(amounts, np.full(4, 2.0)) == pytest.approx(interval(amounts / 2.0))


def test_a_burst_does_not_move_the_rate():
    low, high = ratio_interval(np.full(3, 10.0), np.array([1e-6, 1.0, 1.0]))
    assert low <= 15.0 <= high < 100.0  # 30 in 2 s; the mean of the batches' rates would be 3 million
    assert low >= 0.0


def test_the_interval_covers_the_true_rate_of_random_arrivals():
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(1000):
        ends = np.cumsum(rng.exponential(0.5, 2000))[99::100]
        times = np.array([b - a for a, b in pairwise(ends)])
        low, high = ratio_interval(np.full(len(times), 100.0), times)
        covered += low <= 2.0 <= high
    assert 920 <= covered <= 975


def test_quantiles_are_scipys():
    from scipy.special import fdtri, stdtrit

    assert quantile(8, 16) == pytest.approx(float(fdtri(7, 8 * 15, SURE)), 1e-12)

    freedoms = [*range(1, 40), 127]
    assert [student(n) for n in freedoms] == pytest.approx([float(stdtrit(n, 0.975)) for n in freedoms], 1e-9)
