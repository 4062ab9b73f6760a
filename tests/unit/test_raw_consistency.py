"""The linear program over intervals: by hand, and on the chain of the RAW paper."""

import pytest

from npexplore.errors import InputError
from npexplore.study.papers.raw.consistency import READINGS, Relation, consistent, readings, relations


def test_a_chain_that_fits_leaves_ranges():
    chain = [
        Relation("a", {"a": 1}, 9, 11),
        Relation("b/a", {"b": 1, "a": -1}, 2, 3),
        Relation("b", {"b": 1}, 30, None),
    ]
    answer = consistent(chain, ["a", "b"])
    assert answer.possible
    assert answer.between["a"] == pytest.approx((10, 11))
    assert answer.between["b"] == pytest.approx((30, 33))


def test_a_chain_that_does_not_fit_tells_by_how_much():
    chain = [Relation("a", {"a": 1}, 9, 10), Relation("b/a", {"b": 1, "a": -1}, 2, 3), Relation("b", {"b": 1}, 60, 70)]
    answer = consistent(chain)
    assert not answer.possible
    product = 1.0
    for factor in answer.off.values():
        product *= max(factor, 1 / factor)
    assert product == pytest.approx(2)  # 10 x 3 = 30, half of 60


def test_empty_intervals_are_refused():
    with pytest.raises(InputError, match=r"relation x: needs 0 < lo <= hi, got 3\.\.2"):
        consistent([Relation("x", {"x": 1}, 3, 2)])


def test_twelve_gigabits_of_64_byte_packets_are_impossible():
    for chosen, answer in readings():
        if "12 Gb/s of 64-byte packets" in chosen:
            assert not answer.possible
    possible = [chosen for chosen, answer in readings() if answer.possible]
    assert all("9.75 Mpps with four line cards" in chosen for chosen in possible)
    assert len(possible) == 2


def test_every_reading_has_relations():
    for words in READINGS.values():
        for word in words.values():
            chosen = {row: word if word in w.values() else next(iter(w.values())) for row, w in READINGS.items()}
            assert relations(chosen)
