"""The linear program over intervals: by hand, and on the chain of the RAW paper."""

import pytest

from npexplore.designs import design
from npexplore.errors import InputError
from npexplore.machine.workload_sources import workload
from npexplore.study.papers.raw.consistency import (
    READINGS,
    Relation,
    alternatives,
    consistent,
    readings,
    relations,
    smallest_conflict,
)


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


def test_a_smallest_conflict_leaves_out_what_is_not_in_the_way():
    chain = [Relation("a", {"a": 1}, 9, 10), Relation("c", {"c": 1}, 1, 2), Relation("b/a", {"b": 1, "a": -1}, 2, 3),
             Relation("b", {"b": 1}, 60, 70)]  # fmt: skip
    assert smallest_conflict(chain) == ["a", "b/a", "b"]
    with pytest.raises(InputError, match="cannot hold together"):
        smallest_conflict(chain[:3])


def test_all_printed_rates_can_be_true_in_one_way_but_for_twelve_gigabits():
    """The machine is that reading: turns but where a card feeds double, copies read and sent, all of a trace stored."""
    possible = [chosen for chosen, answer in readings() if answer.possible]
    assert len(possible) == 2
    assert possible[0][1:] == possible[1][1:]
    assert possible[0][0] == "12 Gb/s counted on the way in and out"
    p = design("raw").parameters
    assert (p.stages, p.replicates) == ("decoupled_when_fed_double", "tile")
    assert min(workload(mix="raw_trace").columns["packet_bytes"]) > 64


def test_every_other_reading_names_the_rows_that_it_contradicts():
    found = {words: conflict for _, words, conflict, _ in alternatives()}
    assert found["12 Gb/s of 64-byte packets"] == ["raw.stage1.lookup32.miss.cycles", "raw.v5.throughput"]
    assert found["9.75 Mpps with two"] == ["raw.peak_rate", "raw.v5.throughput"]
    assert [words for words, conflict in found.items() if not conflict] == ["12 Gb/s of longer packets"]


def test_every_reading_has_relations():
    for words in READINGS.values():
        for word in words.values():
            chosen = {row: word if word in w.values() else next(iter(w.values())) for row, w in READINGS.items()}
            assert relations(chosen)
