"""Laws of policers: promises over every interval, colours monotone, columns equal to one packet at a time."""

from fractions import Fraction
from math import floor

from hypothesis import given
from hypothesis import strategies as st

from npexplore.golden.police import POLICERS, Colour, LeakyBucket, police_many
from tests.reference.diffserv_cases import arrivals, differentiated_markers, lengths, policers

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


@given(st.data(), differentiated_markers(), arrivals())
def test_excess_traffic_does_not_touch_the_committed_bucket(data, policer, rows):
    """RFC 4115 section 3: what one bucket refuses comes to the other, and nothing else passes between them."""
    came = came_with(data, rows)
    _, verdicts = run(policer, rows, came)
    seen = [colour if policer.aware else Colour.GREEN for colour in came]
    left = dict(enumerate(seen))
    for colour, rate, burst in (
        (Colour.GREEN, policer.committed, policer.burst),
        (Colour.YELLOW, policer.excess, policer.excess_burst),
    ):
        asked = [number for number, own in left.items() if own <= colour]
        if burst == 1:  # the token that stays behind is the only one
            admitted = []
        else:
            _, answers = run(
                LeakyBucket(rate, burst - 1), [rows[number] for number in asked], [Colour.GREEN] * len(asked)
            )
            admitted = [number for number, answer in zip(asked, answers, strict=True) if answer is Colour.GREEN]
        assert admitted == [number for number, verdict in enumerate(verdicts) if verdict is colour]
        left = {number: own for number, own in left.items() if number not in admitted}


@given(st.data(), differentiated_markers(), arrivals())
def test_differentiated_marker_as_the_text_says_it(data, policer, rows):
    """RFC 4115 section 3 word for word: whole tokens, and Tc - B > 0 with the whole burst in the bucket."""
    came = came_with(data, rows)
    _, verdicts = run(policer, rows, came)
    c, e, before = Fraction(policer.burst), Fraction(policer.excess_burst), rows[0][0] if rows else 0
    for (time, length), colour, verdict in zip(rows, came, verdicts, strict=True):
        c = min(policer.burst, c + (time - before) * policer.committed.fraction)
        e = min(policer.excess_burst, e + (time - before) * policer.excess.fraction)
        size, before = length if policer.committed.counted == "bytes" else 1, time
        seen = colour if policer.aware else Colour.GREEN
        if seen is Colour.GREEN and floor(c) - size > 0:
            expected, c = Colour.GREEN, c - size
        elif seen is not Colour.RED and floor(e) - size > 0:
            expected, e = Colour.YELLOW, e - size
        else:
            expected = Colour.RED
        assert verdict is expected
