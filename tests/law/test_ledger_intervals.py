"""Interval arithmetic contains every result of its operands' members, and no wider than their extremes."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from npexplore.errors import InputError
from npexplore.ledger.identities import evaluate
from npexplore.ledger.intervals import Interval, largest, mean, smallest

numbers = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 6))


@st.composite
def members(draw, lowest=-1e6):
    """An interval and one of its members."""
    a, x, b = sorted(draw(st.tuples(*[st.floats(lowest, 1e6).map(lambda v: round(v, 6))] * 3)))
    return Interval(a, b), x


def holds(interval, x):
    slack = 1e-9 * max(1.0, abs(x))
    return interval.lo - slack <= x <= interval.hi + slack


@given(members(), members())
def test_sum_difference_and_product_contain_every_result(first, second):
    (a, x), (b, y) = first, second
    assert holds(a + b, x + y)
    assert holds(a - b, x - y)
    assert holds(a * b, x * y)
    assert holds(-a, -x)


@given(members(), members())
def test_quotient_contains_every_result(first, second):
    (a, x), (b, y) = first, second
    assume(abs(y) > 1e-3)
    assert holds(a / b, x / y)


@given(members(lowest=1e-3), st.integers(-3, 5))
def test_power_contains_every_result(first, n):
    a, x = first
    power = a ** Interval.at(n)
    assert power.lo <= x**n * (1 + 1e-9)
    assert x**n * (1 - 1e-9) <= power.hi


@given(members(), members(), members())
def test_functions_contain_every_result(first, second, third):
    intervals, points = zip(first, second, third, strict=True)
    assert holds(largest(*intervals), max(points))
    assert holds(smallest(*intervals), min(points))
    assert holds(mean(*intervals), sum(points) / 3)
    assert holds(first[0].ceil(), math.ceil(first[1] - abs(first[1]) * 1e-9))


@given(members(), members())
def test_results_are_no_wider_than_the_ends(first, second):
    (a, _), (b, _) = first, second
    ends = [p * q for p in (a.lo, a.hi) for q in (b.lo, b.hi)]
    assert (a * b) == Interval(min(ends), max(ends))
    assert (a + b).hi - (a + b).lo == pytest.approx((a.hi - a.lo) + (b.hi - b.lo), abs=1e-6)


@given(members(), members())
def test_two_intervals_meet_where_neither_is_wholly_beyond(first, second):
    (a, x), (b, y) = first, second
    assert a.meets(b) == b.meets(a)
    assert a.meets(Interval(x, x))
    if x <= y:
        assert a.at_most(b)
    if a.hi < b.lo - 1:
        assert not a.meets(b)
        assert not b.at_most(a)


def test_division_across_zero_says_nothing():
    assert Interval(1, 2) / Interval(-1, 1) == Interval(-math.inf, math.inf)


def test_open_ends_stay_open():
    at_least_4 = Interval(4, math.inf)
    assert at_least_4 * Interval(2, 3) == Interval(8, math.inf)
    assert at_least_4 * Interval(0, 1) == Interval(0, math.inf)
    assert Interval.at(1) / at_least_4 == Interval(0, 0.25)
    assert not at_least_4.at_most(Interval(3.3, 3.5))


def test_a_crossed_interval_is_refused():
    with pytest.raises(ValueError, match=r"lo <= hi, got 2\.\.1"):
        Interval(2, 1)


@given(members(lowest=1e-3), members(lowest=1e-3))
def test_a_formula_is_the_arithmetic_it_shows(first, second):
    (a, x), (b, y) = first, second
    value = evaluate("1 - {some.key} / ({other.16-6-4} + 2 * {some.key}) ** 2", {"some.key": a, "other.16-6-4": b})
    assert holds(value, 1 - x / (y + 2 * x) ** 2)


@pytest.mark.parametrize(
    "text",
    [
        "{a} if {a} else 1",
        "__import__('os')",
        "{a}.lo",
        "open({a})",
        "{a} < 1",
        "[{a}]",
        "'text'",
        "{a} {a}",
        "1 +",
        "b",
    ],
)
def test_a_formula_is_nothing_but_arithmetic(text):
    with pytest.raises(InputError, match="formula must"):
        evaluate(text, {"a": Interval.at(1)})
