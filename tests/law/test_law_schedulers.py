"""Laws of all schedulers that are listed: work conservation, nothing lost, order, fairness, starvation, shaping."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npexplore.errors import InputError
from npexplore.golden.schedule import SCHEDULERS, QueuedPacket, Scheduler, Shaped, Shaper
from npexplore.golden.schedule.ranked import RANKED
from npexplore.golden.token_rate import TokenRate
from tests.reference.diffserv_cases import token_rates

CLASSES = 3
LARGEST = 1500
FAIR = [name for name in SCHEDULERS if SCHEDULERS[name]([1, 1]).unfairness(0, 1, 1) is not None]
NEVER_STARVE = [name for name in SCHEDULERS if SCHEDULERS[name]([1, 1]).starvation_bytes(0, 1) is not None]


def weights(name):
    low = 200 if SCHEDULERS[name].IN_BYTES else 1
    return st.lists(st.integers(low, 20 * low), min_size=CLASSES, max_size=CLASSES)


def loads():
    """Packets (gap before it, class, length) for a link of 1 byte a ns: any, or runs of a class, so that some idle."""
    kind = st.integers(0, CLASSES - 1)
    gap = st.one_of(st.just(0), st.integers(0, 300), st.sampled_from([0, 0, 5000]))
    size = st.one_of(st.sampled_from([64, 64, LARGEST]), st.integers(1, LARGEST))
    run = st.tuples(st.sampled_from([0, 2000, 20_000]), kind, size, st.integers(1, 40))
    mixed = st.lists(st.tuples(gap, kind, size), min_size=1, max_size=60)
    return st.one_of(mixed, st.lists(run, min_size=2, max_size=5).map(runs_of))


def runs_of(runs):
    return [(gap if k == 0 else 0, kind, size) for gap, kind, size, count in runs for k in range(count)]


def packets_of(load):
    now, rows = 0, []
    for number, (gap, kind, size) in enumerate(load):
        now += gap
        rows.append((now, kind, QueuedPacket(number, size, now)))
    return rows


def transmit(scheduler, load, ready=None):
    """Send over a link of 1 byte a ns. Yield (start, class, packet, classes that waited before the decision)."""
    waiting, now, log = packets_of(load), 0, []
    while waiting or scheduler.backlog:
        if not scheduler.backlog:
            now = max(now, waiting[0][0])
        while waiting and waiting[0][0] <= now:
            _, kind, packet = waiting.pop(0)
            scheduler.enqueue(kind, packet)
        if ready is not None and ready(now) > now:
            now = min(ready(now), waiting[0][0]) if waiting else ready(now)
            continue
        busy = [bool(queue) for queue in getattr(scheduler, "scheduler", scheduler).queues]
        sent = scheduler.dequeue(now)
        assert sent is not None, "a packet waits and the link is idle"
        kind, packet = sent
        log.append((now, kind, packet, busy))
        now += packet.length_bytes
    return log


@pytest.mark.parametrize("name", SCHEDULERS)
@given(data=st.data(), load=loads())
def test_nothing_is_lost_and_order_within_a_class_is_kept(name, data, load):
    scheduler = SCHEDULERS[name](data.draw(weights(name)))
    assert scheduler.dequeue(0) is None
    log = transmit(scheduler, load)
    assert sorted(packet.number for _, _, packet, _ in log) == list(range(len(load)))
    for kind in range(CLASSES):
        mine = [packet.number for _, sent, packet, _ in log if sent == kind]
        assert mine == [number for number, row in enumerate(load) if row[1] == kind]
    assert scheduler.dequeue(10**9) is None


@pytest.mark.parametrize("name", SCHEDULERS)
@given(data=st.data(), load=loads())
def test_work_is_conserved(name, data, load):
    """The link is busy at the same times as with any other order: departures end as those of a single queue do."""
    log = transmit(SCHEDULERS[name](data.draw(weights(name))), load)
    now, idle_until = 0, []
    for arrival, _, packet in packets_of(load):
        now = max(now, arrival) + packet.length_bytes
        idle_until.append(now)
    busy = sum(packet.length_bytes for _, _, packet, _ in log)
    assert busy == sum(row[2] for row in load)
    assert max(start + packet.length_bytes for start, _, packet, _ in log) == idle_until[-1]
    for start, _, _, waited in log:
        assert any(waited), start


@pytest.mark.parametrize("name", FAIR)
@given(data=st.data(), load=loads())
def test_fairness(name, data, load):
    """Over all intervals in which two classes have packets, service / weight differs by no more than is promised."""
    scheduler = SCHEDULERS[name](data.draw(weights(name)))
    log = transmit(scheduler, load)
    for one in range(CLASSES):
        for other in range(one):
            most = scheduler.unfairness(one, other, LARGEST)
            ahead = low = high = Fraction(0)  # of service / weight, and its extremes since both have packets
            for _, kind, packet, waited in log:
                if not (waited[one] and waited[other]):
                    ahead = low = high = Fraction(0)
                    continue
                amount = Fraction(1 if scheduler.IN_PACKETS else packet.length_bytes, scheduler.weights[kind])
                ahead += amount * ((kind == one) - (kind == other))
                low, high = min(low, ahead), max(high, ahead)
                assert high - low <= most


BUSY = [(0, 0, 100)] * 260
BURST = [(4000, 1, 100)] + [(0, 1, 100)] * 60
MODEST = {"idle": [], "a little": [(400, 1, 10)] * 20}  # what class 1 asks for before its burst


@pytest.mark.parametrize("before", MODEST)
@pytest.mark.parametrize("name", FAIR)
def test_a_class_that_was_modest_is_owed_nothing(name, before):
    """Class 0 is always busy; class 1, once it is so too, gets its half, not what it did not ask for before."""
    kind = SCHEDULERS[name]
    log = transmit(kind([200, 200] if kind.IN_BYTES else [1, 1]), BUSY + MODEST[before] + BURST)
    both = [sent for _, sent, packet, waited in log if waited[0] and waited[1] and packet.length_bytes == 100]
    both = both[both.index(1) :]
    assert len(both) >= 100
    assert all(abs(both[:n].count(0) - both[:n].count(1)) <= 5 for n in range(len(both) - 5))


@pytest.mark.parametrize("name", NEVER_STARVE)
@given(data=st.data(), load=loads())
def test_no_class_starves(name, data, load):
    """While a packet is the first of its class others send no more than is promised."""
    scheduler = SCHEDULERS[name](data.draw(weights(name)))
    log = transmit(scheduler, load)
    for kind in range(CLASSES):
        most, others = scheduler.starvation_bytes(kind, LARGEST), 0
        for _, sent, packet, waited in log:
            others = 0 if sent == kind or not waited[kind] else others + packet.length_bytes
            assert others <= most


def test_only_these_promise_nothing():
    assert set(SCHEDULERS) - set(FAIR) - {*RANKED} == {"strict_priority", "wfq"}  # wfq: compared with its ideal server
    assert set(SCHEDULERS) - set(NEVER_STARVE) - {*RANKED} == {"strict_priority"}


@given(loads())
def test_strict_priority_serves_the_highest_that_waits(load):
    for _, kind, _, waited in transmit(SCHEDULERS["strict_priority"]([1] * CLASSES), load):
        assert kind == waited.index(True)


def ideal_finish(load, shares):
    """Return when each packet is done under the ideal server (GPS), found by steps of exact time: an oracle."""
    waiting, now, done = packets_of(load), Fraction(0), {}
    queues = [[] for _ in shares]
    while waiting or any(queues):
        busy = [kind for kind, queue in enumerate(queues) if queue]
        total = sum(shares[kind] for kind in busy)
        steps = [queues[kind][0][0] * total / shares[kind] for kind in busy]
        if waiting:
            steps.append(waiting[0][0] - now)
        step = min(steps)
        now += step
        for kind in busy:
            queues[kind][0][0] -= step * shares[kind] / total
            if queues[kind][0][0] == 0:
                done[queues[kind].pop(0)[1]] = now
        while waiting and waiting[0][0] == now:
            _, kind, packet = waiting.pop(0)
            queues[kind].append([Fraction(packet.length_bytes), packet.number])
    return done


@given(weights("wfq"), loads())
def test_weighted_fair_queueing_is_a_packet_behind_the_ideal_server_at_most(shares, load):
    """Parekh and Gallager, theorem 1."""
    ideal = ideal_finish(load, [Fraction(share) for share in shares])
    for start, _, packet, _ in transmit(SCHEDULERS["wfq"](shares), load):
        assert start + packet.length_bytes <= ideal[packet.number] + max(row[2] for row in load)


@pytest.mark.parametrize("name", SCHEDULERS)
@given(data=st.data(), load=loads(), rate=token_rates(), extra=st.integers(0, 3000))
def test_shaped(name, data, load, rate, extra):
    """At most r t + b in any time, nothing lost, order kept; and no more waiting than the bucket asks for."""
    rate = TokenRate(*sorted(rate[:2])) if rate.numerator > rate.denominator else rate
    burst = LARGEST + extra
    scheduler = SCHEDULERS[name](data.draw(weights(name)))
    shaped = Shaped(scheduler, Shaper(rate, burst, LARGEST))
    log = transmit(shaped, load, shaped.ready)
    assert sorted(packet.number for _, _, packet, _ in log) == list(range(len(load)))
    for kind in range(CLASSES):
        mine = [packet.number for _, sent, packet, _ in log if sent == kind]
        assert mine == sorted(mine)
    for first in range(len(log)):
        total = 0
        for start, _, packet, _ in log[first:]:
            total += packet.length_bytes
            assert total <= rate.fraction * (start - log[first][0]) + burst
    tokens, at, free = Fraction(burst), 0, 0
    for start, _, packet, _ in log:
        if start > max(free, packet.time_ns):  # a packet waited and the link was free a ns before: tokens were missing
            assert tokens + (start - 1 - at) * rate.fraction < LARGEST
        tokens, at = min(Fraction(burst), tokens + (start - at) * rate.fraction), start
        tokens -= packet.length_bytes
        free = start + packet.length_bytes


def test_shaper_gives_way_to_a_higher_class_that_came_while_it_waited():
    shaped = Shaped(SCHEDULERS["strict_priority"]([1, 1]), Shaper(TokenRate(1, 10), 100, 100))
    shaped.enqueue(1, QueuedPacket(0, 100))
    assert shaped.dequeue(0) == (1, QueuedPacket(0, 100))
    shaped.enqueue(1, QueuedPacket(1, 100))
    assert shaped.dequeue(999) is None
    shaped.enqueue(0, QueuedPacket(2, 50, 999))
    assert shaped.ready(999) == 1000
    assert shaped.dequeue(1000) == (0, QueuedPacket(2, 50, 999))
    assert shaped.ready(1000) == 1500


class Chosen(Scheduler):
    """Sends what a test says."""

    WEIGHT = "weight"
    said = None

    def choose(self, now):
        return self.said


@pytest.mark.parametrize("said", [None, 0, 2, -1])
def test_a_choice_that_cannot_be_sent_is_told(said):
    mine = Chosen([1, 1])
    mine.said = said
    mine.enqueue(1, QueuedPacket(1, 100))
    with pytest.raises(InputError, match=rf"Chosen.choose must return a class with a packet \(\[1\]\), got {said}"):
        mine.dequeue()
    with pytest.raises(InputError, match="class of a packet must be 0 to 1, got 2"):
        mine.enqueue(2, QueuedPacket(1, 100))
