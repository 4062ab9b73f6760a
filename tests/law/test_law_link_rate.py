"""Departures from links: the batch form is the reference whatever the calls; nothing overtakes, nothing is too fast."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npexplore.golden.diffserv.link_rate import Link, departure_times

frames = st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 1600)), max_size=30)
rates = st.sampled_from((10_000_000, 1_000_000_000, 333_333_333, 100_000_000_000))


@given(frames, rates, st.integers(0, 30), st.sampled_from((0, 1_700_000_000_000_000_000)))
def test_batch_equals_reference(frames, rate, cut, epoch):
    rows = [(epoch + time, size) for time, size in frames]
    link = Link(rate)
    parts = [link.departures(*np.array(part, np.int64).reshape(-1, 2).T.copy()) for part in (rows[:cut], rows[cut:])]
    assert np.concatenate(parts).tolist() == departure_times(rows, rate)


@given(frames, rates)
def test_a_link_carries_no_more_than_its_rate(frames, rate):
    out = departure_times(frames, rate)
    taken = [8e9 * (8 + max(size, 60) + 4) / rate for _, size in frames]
    gap = 8e9 * 12 / rate
    for (arrival, _), left, time in zip(frames, out, taken, strict=True):
        assert left >= arrival + time - 1e-6
    for before, after, time in zip(out, out[1:], taken[1:], strict=False):
        assert after - before >= gap + time - 1 - 1e-6


def test_shortest_frames_at_a_gigabit_are_672_ns_apart():
    assert departure_times([(0, 60)] * 3, 10**9) == [576, 1248, 1920]


@pytest.mark.parametrize(("time", "left"), [(0, 576), (10_000, 10_576)])
def test_a_free_link_sends_at_once(time, left):
    assert departure_times([(time, 40)], 10**9) == [left]
