"""Strategies of DiffServ: policers, sequences of arrivals, queue limits, ports, whole set-ups."""

from fractions import Fraction

from hypothesis import strategies as st

from npexplore.golden.police import LeakyBucket, SingleRate, TwoRate
from npexplore.golden.token_rate import TokenRate


def token_rates(counted="bytes"):
    """Rates around which a few hundred bytes in a few hundred ns make a difference, some of awkward fractions."""
    some = [(1, 1), (1, 8), (1, 80), (3, 7), (25, 2), (243, 12500), (1, 16000), (999_999_937, 1_000_000_007)]
    return st.sampled_from(some).map(lambda pair: TokenRate(*pair, counted))


@st.composite
def policers(draw):
    counted = draw(st.sampled_from(["bytes", "packets"]))
    burst = st.integers(1, 3000) if counted == "bytes" else st.integers(1, 6)
    rate, aware = draw(token_rates(counted)), draw(st.booleans())
    kind = draw(st.sampled_from(["leaky", "single", "two"]))
    if kind == "leaky":
        return LeakyBucket(rate, draw(burst), draw(st.sampled_from([1, 1, 10, 1000])))
    if kind == "single":
        one, other = draw(burst), draw(st.one_of(st.just(0), burst))
        return SingleRate(rate, *draw(st.permutations([one, other])), aware)
    rates = sorted([rate, draw(token_rates(counted))], key=lambda one: one.fraction)
    return TwoRate(rates[1], draw(burst), rates[0], draw(burst), aware)


def lengths():
    return st.one_of(st.sampled_from([1, 64, 1500]), st.integers(1, 1500))


def gaps():
    """Times between arrivals, often none, seldom long."""
    return st.one_of(
        st.just(0), st.integers(0, 20), st.integers(0, 5000), st.sampled_from([6720, 16000, 10**9, 10**15])
    )


@st.composite
def arrivals(draw, most=30):
    """Times that do not go back, and lengths."""
    steps = draw(st.lists(st.tuples(gaps(), lengths()), max_size=most))
    now, rows = draw(st.sampled_from([0, 5, 1_700_000_000_000_000_000])), []
    for gap, length in steps:
        now += gap
        rows.append((now, length))
    return rows


def link_rates():
    return st.sampled_from([Fraction(1), Fraction(1, 8), Fraction(3, 7), Fraction(243, 12500)])
