"""Policers, rule by rule: verdicts just before and at the limit."""

from fractions import Fraction

import pytest
from reference.policer_cases import BESIDE, BESIDE_2698, BESIDE_4115, CASES, DOCUMENT, TABLES

from npexplore.errors import InputError
from npexplore.golden.police import Colour, DifferentiatedTwoRate, LeakyBucket, SingleRate, TwoRate, police_many
from npexplore.golden.token_rate import TokenRate
from npexplore.golden.work import Access, Meter

G, Y, R = Colour
BYTE_PER_NS = TokenRate(1, 1)


def verdicts(policer, rows, came=()):
    """rows: (time, length)."""
    state, out = policer.state(), []
    for number, (time, length) in enumerate(rows):
        state, colour = policer.police(state, time, length, came[number] if came else G)
        out.append(colour)
    return out


def test_rates_are_exact():
    assert TokenRate.of("1Gb/s") == (1, 8, "bytes")
    assert TokenRate.of("62500pps") == (1, 16_000, "packets")
    assert TokenRate.of("148.8pps").fraction == Fraction(1488, 10**10)
    assert TokenRate.of("155.52Mb/s").fraction == Fraction(15552, 800_000)


def test_rates_are_written_as_people_do():
    assert [str(TokenRate.of(text)) for text in ("4Mb/s", "62500pps", "1Gb/s")] == ["4 Mb/s", "62500 pps", "1000 Mb/s"]
    with pytest.raises(InputError, match=r"peak rate must be at least .*, got 4 Mb/s and 5 Mb/s"):
        TwoRate(TokenRate.of("4Mb/s"), 3000, TokenRate.of("5Mb/s"), 3000)


def test_leaky_bucket_admits_at_the_limit_and_not_before():
    policer = LeakyBucket(TokenRate.of("62500pps"), 2)
    assert verdicts(policer, [(0, 64)] * 3) == [G, G, R]
    assert verdicts(policer, [(0, 64), (0, 64), (15_999, 64)]) == [G, G, R]
    assert verdicts(policer, [(0, 64), (0, 64), (16_000, 64)]) == [G, G, G]
    assert verdicts(policer, [(0, 64), (0, 64), (15_999, 64), (16_000, 64)]) == [G, G, R, G]


def test_leaky_bucket_never_holds_more_than_its_depth():
    assert verdicts(LeakyBucket(BYTE_PER_NS, 100), [(0, 1), (10**17, 101), (10**17, 100), (10**17, 1)]) == [G, R, G, R]


def test_timer_that_ticks_seldom():
    policer = LeakyBucket(BYTE_PER_NS, 100, tick_ns=1000)
    assert verdicts(policer, [(0, 100), (999, 1), (1000, 100), (1999, 1), (2000, 1)]) == [G, R, G, R, G]


def test_single_rate_fills_committed_bucket_first():
    """RFC 2697 section 3: excess tokens come only when the committed bucket is full."""
    policer = SingleRate(BYTE_PER_NS, 100, 50)
    assert verdicts(policer, [(0, 100), (0, 50), (0, 1)]) == [G, Y, R]
    assert verdicts(policer, [(0, 100), (0, 50), (100, 1), (100, 100), (100, 99)]) == [G, Y, G, R, G]
    assert verdicts(policer, [(0, 100), (0, 50), (120, 100), (120, 21), (120, 20)]) == [G, Y, G, R, Y]


def test_single_rate_colour_aware():
    rows, policer = [(0, 10), (0, 10), (0, 10), (0, 95)], SingleRate(BYTE_PER_NS, 100, 20, aware=True)
    assert verdicts(policer, rows, [G, Y, R, G]) == [G, Y, R, R]
    assert verdicts(SingleRate(BYTE_PER_NS, 100, 20), rows, [G, Y, R, G]) == [G, G, G, R]


def test_two_rate():
    """RFC 2698 section 3: both buckets at their own rates; a yellow packet takes from the peak bucket alone."""
    policer = TwoRate(TokenRate(2, 1), 200, BYTE_PER_NS, 100)
    assert verdicts(policer, [(0, 100), (0, 100), (0, 1)]) == [G, Y, R]
    assert verdicts(policer, [(0, 100), (0, 100), (30, 61), (30, 31), (30, 29)]) == [G, Y, R, Y, G]


def test_two_rate_colour_aware():
    policer = TwoRate(TokenRate(2, 1), 200, BYTE_PER_NS, 100, aware=True)
    assert verdicts(policer, [(0, 10), (0, 10), (0, 101), (0, 90), (0, 1)], [Y, R, G, G, G]) == [Y, R, Y, R, G]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TokenRate.of("0pps"), "greater than 0"),
        (lambda: LeakyBucket(BYTE_PER_NS, 0), "depth of a leaky bucket"),
        (lambda: LeakyBucket(BYTE_PER_NS, 1 << 61), "at most"),
        (lambda: LeakyBucket(BYTE_PER_NS, 1, 0), "tick"),
        (lambda: SingleRate(BYTE_PER_NS, 0, 0), "RFC 2697 section 2"),
        (lambda: TwoRate(BYTE_PER_NS, 1, TokenRate(2, 1), 1), "RFC 2698 section 2"),
        (lambda: TwoRate(BYTE_PER_NS, 1, TokenRate(1, 9, "packets"), 1), "count the same"),
        (lambda: DifferentiatedTwoRate(BYTE_PER_NS, 0, BYTE_PER_NS, 1), "committed burst size"),
        (lambda: DifferentiatedTwoRate(BYTE_PER_NS, 1, BYTE_PER_NS, 0), "excess burst size"),
        (lambda: DifferentiatedTwoRate(BYTE_PER_NS, 1, TokenRate(1, 9, "packets"), 1), "count the same"),
        (lambda: TokenRate.per_second(1e-9), "2\\^40"),
        (lambda: police_many([], [0], [0], [1]), "number of the policer"),
        (lambda: police_many([LeakyBucket(BYTE_PER_NS, 1)], [0, 0], [5, 4], [1, 1]), "packet 1 has 4 ns after 5 ns"),
        (lambda: police_many([LeakyBucket(BYTE_PER_NS, 1)], [0], [0], [1], [3]), "colour"),
        (lambda: police_many([LeakyBucket(BYTE_PER_NS, 1)], [0], [0], [1.5]), "whole numbers"),
        (lambda: verdicts(LeakyBucket(BYTE_PER_NS, 1), [(5, 1), (4, 1)]), "must not go back"),
    ],
)  # fmt: skip
def test_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("policer", "words"),
    [
        (LeakyBucket(BYTE_PER_NS, 1), 2),
        (SingleRate(BYTE_PER_NS, 1, 1), 3),
        (TwoRate(BYTE_PER_NS, 1, BYTE_PER_NS, 1), 3),
        (DifferentiatedTwoRate(BYTE_PER_NS, 1, BYTE_PER_NS, 1), 3),
    ],
)
def test_work_is_told(policer, words):
    """The state has one word for the time and one a bucket; all are read and written for every packet."""
    meter = Meter()
    policer.police(policer.state(), 0, 64, meter=meter)
    assert meter.work.accesses == (Access("policer", words), Access("policer", words, True))
    assert meter.work.instructions["multiply"] >= 1


def judged(policer, packets, colours):
    """Assert that both forms give the colours."""
    came = [Colour[colour.upper()] for _, _, colour in packets]
    expected = ["GYR".index(letter) for letter in colours]
    times, lengths = [1000 * time for time, _, _ in packets], [length for _, length, _ in packets]
    assert verdicts(policer, list(zip(times, lengths, strict=True)), came) == expected
    assert police_many([policer], [0] * len(packets), times, lengths, came).tolist() == expected


@pytest.mark.parametrize(("clause", "what", "policer", "packets", "colours"), CASES, ids=lambda value: str(value)[:40])
def test_worked_numbers_of_the_rfcs(clause, what, policer, packets, colours):
    judged(policer, packets, colours)


@pytest.mark.parametrize(("what", "aware", "packets", "colours"), BESIDE, ids=lambda value: str(value)[:40])
def test_two_markers_beside_each_other(what, aware, packets, colours):
    for of_rfc, expected in zip((BESIDE_2698, BESIDE_4115), colours, strict=True):
        judged(of_rfc[aware], packets, expected)


@pytest.mark.parametrize("name", TABLES)
def test_the_document_has_the_worked_numbers(name):
    mark, end, table = TABLES[name]
    assert DOCUMENT.read_text().split(mark)[1].split(end)[0] == table()
