"""Waits behind recorded arrivals: by hand, against the textbook, and with too little room."""

import numpy as np
import pytest

from npexplore.solve.queueing.recorded import Line, inside, kept, longest, waits

AT = np.array([0.0, 1.0, 1.0, 2.0, 9.0, 9.0])


def test_waits_by_hand():
    assert waits(AT, Line(1, np.full(6, 2.0))).tolist() == [0, 1, 3, 4, 0, 2]
    assert waits(AT, Line(2, np.full(6, 2.0))).tolist() == [0, 0, 1, 1, 0, 0]
    assert waits(AT, Line(9, np.full(6, 2.0))).tolist() == [0] * 6
    assert waits(AT, Line(1, np.array([5.0, 1, 1, 1, 1, 1]))).tolist() == [0, 4, 5, 5, 0, 1]


def test_a_row_waits_as_its_slowest_makes_it():
    fast, slow = Line(1, np.full(6, 1.0)), Line(1, np.full(6, 2.0))
    assert longest(AT, [fast, slow]).tolist() == waits(AT, slow).tolist()
    assert longest(AT, []).tolist() == [0] * 6


def test_random_instants_wait_as_the_textbook_says():
    at = np.cumsum(np.random.default_rng(4).exponential(1 / 0.7, 400_000))
    assert waits(at, Line(1, np.ones(len(at)))).mean() == pytest.approx(0.7 / 2 / 0.3, rel=0.03)  # M/D/1


def test_room():
    alone = np.full(6, 2.0)
    leave = AT + waits(AT, Line(1, alone)) + alone
    assert inside(AT, leave) == 3
    come, waited = kept(AT, [Line(1, alone)], alone, 3)
    assert come.all()
    assert waited.tolist() == waits(AT, Line(1, alone)).tolist()
    come, waited = kept(AT, [Line(1, alone)], alone, 2)
    assert come.tolist() == [True, True, False, True, True, True]
    assert waited.tolist() == [0, 1, 0, 2, 0, 2]
    assert kept(AT, [Line(1, alone)], alone, 1)[0].tolist() == [True, False, False, True, True, False]


@pytest.mark.parametrize("servers", [1, 3])
def test_with_room_for_all_both_ways_agree(servers):
    rng = np.random.default_rng(6)
    at = np.cumsum(rng.exponential(1.0, 3000))
    line = Line(servers, np.full(3000, 0.9 * servers))
    come, waited = kept(at, [line], line.services, 10**6)
    assert come.all()
    assert waited == pytest.approx(waits(at, line), abs=1e-9)
