"""Every classifier names the rule that a look at all rules names; batches equal single headers, in work too."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npexplore.golden.classify import CLASSIFIERS, LinearSearch, RangeMatcher, TupleSpaceSearch
from npexplore.golden.classify.intervals import OUTSIDE, IntervalTable
from npexplore.golden.classify.range_matching import READINGS
from npexplore.golden.classify.rule_generator import flow_rules, generate_rules, headers_within, profile_names
from npexplore.golden.ipv4.five_tuple import TYPES, FiveTuple
from npexplore.golden.work import WorkColumns
from npexplore.testing import headers_near, rule_sets, rules

MANY = 4096
VARIANTS = {
    **CLASSIFIERS,
    **{f"{name}, 64-bit words": partial(kind, word_bits=64) for name, kind in CLASSIFIERS.items()},
    **{
        f"range_matching, {reading}, ends {ends}": partial(RangeMatcher, reading=reading, ends=ends, burst_words=burst)
        for reading, burst in zip(READINGS, (5, 3, None), strict=True)
        for ends in (True, False)
    },
}


def first_match(rule_set, header):
    return next((k for k, rule in enumerate(rule_set) if rule.matches(header)), None)


def columns(headers):
    return FiveTuple(*(np.array(values, kind) for values, kind in zip(zip(*headers, strict=True), TYPES, strict=True)))


@st.composite
def sets_and_headers(draw):
    rule_set = draw(rule_sets())
    return rule_set, draw(headers_near(rule_set))


@pytest.mark.parametrize("name", VARIANTS)
@settings(max_examples=15)
@given(sets_and_headers())
def test_first_match_wins_and_batches_equal_single_headers(name, case):
    rule_set, headers = case
    classifier = VARIANTS[name](rule_set)
    expected = [first_match(rule_set, header) for header in headers]
    assert [classifier.match(header) for header in headers] == expected
    assert classifier.match_many(columns(headers)).tolist() == [-1 if k is None else k for k in expected]
    assert classifier.work_many(columns(headers)) == WorkColumns.of([classifier.work(header) for header in headers])


@pytest.mark.parametrize("name", CLASSIFIERS)
@settings(max_examples=10)
@given(sets_and_headers(), st.lists(st.tuples(rules(), st.integers(0, 30)), max_size=5))
def test_insertions_and_removals_end_where_building_anew_does(name, case, changes):
    rule_set, headers = case
    grown = CLASSIFIERS[name](rule_set)
    for rule, at in changes:
        if at % 3 and len(grown) > 1:
            grown.remove(at % len(grown))
        grown.insert(rule, at % (len(grown) + 1))
    anew = CLASSIFIERS[name](grown.rules)
    assert grown.match_many(columns(headers)).tolist() == anew.match_many(columns(headers)).tolist()
    assert grown.storage() == anew.storage()
    assert [grown.work(header) for header in headers] == [anew.work(header) for header in headers]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(VARIANTS) - {"linear"}))
@pytest.mark.parametrize("profile", [*profile_names(), "flows"])
def test_large_sets_agree_with_linear_search(name, profile):
    rule_set = flow_rules(512) if profile == "flows" else generate_rules(512, profile, seed=5)
    headers = headers_within(rule_set, 200_000, seed=6)
    classifier = VARIANTS[name](rule_set)
    answers = classifier.match_many(headers)
    assert (answers == LinearSearch(rule_set).match_many(headers)).all()
    some = FiveTuple(*(column[:300] for column in headers))
    single = [FiveTuple(*row) for row in zip(*(column.tolist() for column in some), strict=True)]
    assert [classifier.match(header) for header in single] == answers[:300].tolist()
    assert classifier.work_many(some) == WorkColumns.of([classifier.work(header) for header in single])


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(CLASSIFIERS) - {"linear"}))
def test_as_many_rules_as_there_may_be(name):
    rule_set = generate_rules(MANY, "firewall", seed=7)
    more = {"width": MANY} if name == "range_matching" else {}
    headers = headers_within(rule_set, 50_000, seed=8)
    assert (CLASSIFIERS[name](rule_set, **more).match_many(headers) == LinearSearch(rule_set).match_many(headers)).all()


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)).map(sorted), min_size=1, max_size=12), st.booleans())
def test_intervals_are_at_most_twice_the_rules_less_one(ranges, ends):
    table = IntervalTable.of([tuple(one) for one in ranges], ends)
    assert len(table) <= 2 * len(ranges) - 1
    for value in range(42):
        found = table.search(value)
        holding = sum(1 << rule for rule, (low, high) in enumerate(ranges) if low <= value <= high)
        assert (table.rows[found.row].vector if found.row != OUTSIDE else 0) == holding
        assert found.probes <= (len(table) + (not ends)).bit_length()


@pytest.mark.parametrize("count", [1, 2, 7, 64, 512])
def test_flows_that_differ_in_every_field_cut_the_most_intervals(count):
    matcher = RangeMatcher(flow_rules(count))
    assert set(list(matcher.intervals.values())[:4]) == {2 * count - 1}


@settings(max_examples=30)
@given(sets_and_headers(), st.sampled_from((8, 16, 32, 64)))
def test_reading_to_the_first_set_bit_never_reads_more_words(case, word_bits):
    rule_set, headers = case
    whole = RangeMatcher(rule_set, width=64, word_bits=word_bits).work_many(columns(headers))
    first = RangeMatcher(rule_set, width=64, word_bits=word_bits, reading="first_set").work_many(columns(headers))
    assert (first["vectors_read_words"] <= whole["vectors_read_words"]).all()
    assert (first["intervals_read_words"] == whole["intervals_read_words"]).all()


@pytest.mark.slow
@pytest.mark.parametrize("count", [10, 100, 1000, 10_000])
@pytest.mark.parametrize("profile", profile_names())
def test_rule_sets_like_classbenchs_of_every_size(profile, count):
    """Inside of rules, at their borders and just beside, every structure finds what linear search does."""
    rules = generate_rules(count, profile, seed=26)
    inside = headers_within(rules, 4000, seed=count)
    random = np.random.default_rng(count)
    ends = np.array([rule.ranges for rule in rules], np.int64)[random.integers(count, size=4000)]
    tops = np.array([1 << 32, 1 << 32, 1 << 16, 1 << 16, 1 << 8])
    chosen = np.take_along_axis(ends, random.integers(2, size=(4000, 5, 1)), 2)[..., 0]
    beside = (chosen + (random.random((4000, 5)) < 0.1) * random.choice((-1, 1), (4000, 5))) % tops
    headers = [np.concatenate((a, b.astype(a.dtype))) for a, b in zip(inside, beside.T, strict=True)]
    linear = LinearSearch(rules).match_many(headers)
    assert len(np.unique(linear)) > min(count, 500) // 2
    for made in (RangeMatcher(rules, width=max(512, count)), TupleSpaceSearch(rules)):
        assert np.array_equal(made.match_many(headers), linear)
