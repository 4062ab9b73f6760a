"""Laws of policers: promises over every interval, colours monotone, columns equal to one packet at a time."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from npexplore.golden.police import POLICERS, Colour, police_many
from tests.reference.diffserv_cases import arrivals, lengths, policers

colours = st.sampled_from(Colour)


def run(policer, rows, came):
    state, verdicts = policer.state(), []
    for (time, length), colour in zip(rows, came, strict=False):
        state, verdict = policer.police(state, time, length, colour)
        verdicts.append(verdict)
    return state, verdicts


def came_with(data, rows):
    return data.draw(st.lists(colours, min_size=len(rows), max_size=len(rows)))


def test_every_policer_is_drawn():
    seen = set()

    @given(policers())
    def draw(policer):
        seen.add(type(policer))

    draw()
    assert seen == set(POLICERS.values())


@given(st.data(), policers(), arrivals())
def test_never_more_than_rate_times_time_and_burst(data, policer, rows):
    """Over all pairs of packets: what is of a colour or better between them, both counted, is at most r t + b."""
    _, verdicts = run(policer, rows, came_with(data, rows))
    for bound in policer.bounds():
        rate = Fraction(*bound.rates)
        for first in range(len(rows)):
            total = 0
            for last in range(first, len(rows)):
                if verdicts[last] <= bound.worst:
                    total += rows[last][1] if bound.counted == "bytes" else 1
                elapsed = rows[last][0] - rows[first][0] + bound.extra_ns
                assert total <= rate * elapsed + bound.burst


@given(policers(), arrivals())
def test_a_conforming_flow_stays_green(policer, rows):
    """Packets that each wait until the bucket is full again, and are no larger than it, are never coloured."""
    bound = policer.bounds()[0]
    refill = bound.burst / Fraction(*bound.rates) + 2 * bound.extra_ns + 1
    state, time = policer.state(), 0
    for _, length in rows:
        size = length if bound.counted == "bytes" else 1
        if size <= min(bound.burst, policer.bounds()[-1].burst):
            state, verdict = policer.police(state, time, length)
            assert verdict is Colour.GREEN
            time += int(max(refill, max(b.burst / Fraction(*b.rates) for b in policer.bounds()))) + 1


@given(st.data(), policers(), arrivals(), lengths(), lengths(), st.integers(0, 10**6), st.integers(0, 10**6))
def test_colours_are_monotone(data, policer, rows, one, other, wait, longer_wait):
    """From the same state: never better than it came (aware), than a shorter packet, than a later one."""
    state, _ = run(policer, rows, came_with(data, rows))
    now = (rows[-1][0] if rows else 0) + wait
    short, long = sorted((one, other))

    def verdict(time, length, colour=Colour.GREEN):
        return policer.police(state, time, length, colour)[1]

    assert verdict(now, short) <= verdict(now, long)
    assert verdict(now + longer_wait, long) <= verdict(now, long)
    by_colour = [verdict(now, long, colour) for colour in Colour]
    assert by_colour == sorted(by_colour)
    if getattr(policer, "aware", False):
        assert all(after >= before for before, after in zip(Colour, by_colour, strict=True))


@given(st.data(), st.lists(policers(), min_size=1, max_size=3), arrivals())
def test_columns_equal_one_at_a_time(data, several, rows):
    number = data.draw(st.lists(st.integers(-1, len(several) - 1), min_size=len(rows), max_size=len(rows)))
    came = came_with(data, rows)
    states, expected = [policer.state() for policer in several], []
    for (time, length), k, colour in zip(rows, number, came, strict=True):
        if k < 0:
            expected.append(colour)
            continue
        states[k], verdict = several[k].police(states[k], time, length, colour)
        expected.append(verdict)
    times, sizes = [row[0] for row in rows], [row[1] for row in rows]
    assert police_many(several, number, times, sizes, came).tolist() == expected


@given(st.data(), policers(), arrivals())
def test_state_stays_within_the_buckets(data, policer, rows):
    state, _ = run(policer, rows, came_with(data, rows))
    assert all(0 <= tokens <= full for tokens, full in zip(state.tokens, policer.state().tokens, strict=True))
