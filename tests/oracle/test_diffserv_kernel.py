"""DiffServ against the Linux kernel: rules, marks, policers and priorities, 100,000 packets each; docs/diffserv.md."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from reference.kernel_diffserv import IN_FRAME, ON, Pipe, told

from npexplore.golden.classify.linear import LinearSearch
from npexplore.golden.classify.rule_generator import generate_rules
from npexplore.golden.classify.rules import Rules
from npexplore.golden.diffserv.mark import mark_dscp
from npexplore.golden.ethernet import ETHERNET
from npexplore.golden.ipv4.five_tuple import read_five_tuple
from npexplore.golden.ipv4.header import with_checksum
from npexplore.golden.police.colour import Colour
from npexplore.golden.police.leaky_bucket import LeakyBucket
from npexplore.golden.police.two_rate import TwoRate
from npexplore.golden.schedule.base import QueuedPacket
from npexplore.golden.schedule.drr import DeficitRoundRobin
from npexplore.golden.schedule.strict_priority import StrictPriority
from npexplore.golden.token_rate import TokenRate

COUNT = 100_000
SLACK_NS = 1000  # rules read the clock one after the other
UDP, TCP = 17, 6
MEGA = TokenRate.per_second(1e6)  # one byte a microsecond: nftables counts whole nanoseconds a packet


@pytest.fixture
def kernel():
    """Pipes are of the kernel: tests that want them are left out where namespaces may not be made."""


def packet(fields, size=28, tos=0):
    """Return a packet of UDP or TCP with some five-tuple."""
    source, destination, source_port, destination_port, protocol = map(int, fields)
    ends = source.to_bytes(4, "big") + destination.to_bytes(4, "big")
    head = bytes([0x45, tos]) + size.to_bytes(2, "big") + bytes(4) + bytes([64, protocol, 0, 0]) + ends
    ports = source_port.to_bytes(2, "big") + destination_port.to_bytes(2, "big")
    return with_checksum(head) + ports + bytes(size - 24)


def near(rules, random):
    """Return a five-tuple at or beside the border of a rule, or inside."""
    rule = rules[random.integers(len(rules))]
    fields = []
    for (low, high), top in zip(rule.ranges[:4], (2**32, 2**32, 65_536, 65_536), strict=True):
        choice = random.integers(8)
        value = (low, high, low - 1, high + 1)[choice] if choice < 4 else random.integers(low, high + 1)
        fields.append(int(value) % top)
    return (*fields, int(random.choice((UDP, TCP))))


@pytest.mark.parametrize("profile", ["access", "firewall"])
def test_rules_and_marks_are_the_kernels(kernel, profile):
    random = np.random.default_rng(26)
    made = generate_rules(60, profile, seed=26)
    rules = Rules(tuple(replace(rule, dscp=number) for number, rule in enumerate(made)))
    sent = [packet(near(rules, random), 28, int(random.integers(256))) for _ in range(COUNT)]
    search = LinearSearch(rules)
    with Pipe([told(rule) for rule in rules]) as pipe:
        got = pipe.many(sent)
    expected = [mark_dscp(one, rules[search.match(read_five_tuple(one))].dscp) for one in sent]
    assert [one[:10] + one[12:] for one in got] == [one[:10] + one[12:] for one in expected]
    checksums = {(mine[10:12], theirs[10:12]) for mine, theirs in zip(expected, got, strict=True)}
    # RFC 1624 section 3: nftables leaves ones' complement's other zero, which receivers take for the same
    assert {pair for pair in checksums if pair[0] != pair[1]} <= {(b"\0\0", b"\xff\xff")}
    assert len({one[1] >> 2 for one in got}) > 50


def colours(pipe, sizes, names):
    """Return what the kernel did with each packet: judged from when to when, its size, its colour."""
    packets = [packet((1 << 24, 2 << 24, 7, 7, UDP), int(size)) for size in sizes]
    answers = [pipe.one(one) for one in packets]
    return [(early, late, len(out), Colour(names.index(out[1] >> 2))) for early, late, out in answers]


def differs(rows, policer, first):
    """Return how many packets a policer judges alike at times that the clock allows.

    Then how many of these not at the middle of theirs, and whether the next one wants fuller buckets.

    first: when the first packet finds full buckets, which is all that later times depend on.
    """
    state, _ = policer.police(policer.state(), first, rows[0][2])
    clock, free = first, 0
    for number, (early, late, size, colour) in enumerate(rows[1:], 1):
        time = max(clock, (early + late) // 2)
        after, verdict = policer.police(state, time, size)
        if verdict != colour:  # the judgement is better the later it is: find the nearest time for this one
            free, end = free + 1, late + SLACK_NS if colour < verdict else max(clock, early - SLACK_NS)
            after, verdict = policer.police(state, end, size)
            if verdict != colour:
                return number, free, colour < verdict
            while abs(end - time) > 1:
                middle = (time + end) // 2
                found = policer.police(state, middle, size)
                if found[1] == colour:
                    end, after = middle, found[0]
                else:
                    time = middle
            time = end
        clock, state = time, after
    return len(rows), free, False


def held(rows, policer):
    """Assert that there is a time of the first packet for which all come out as from the kernel."""
    earliest, latest, _, _ = rows[0]
    while latest >= earliest:
        first = (earliest + latest) // 2
        number, free, too_late = differs(rows, policer, first)
        if number == len(rows):
            assert free < COUNT // 20  # packets that a few microseconds decide
            return
        earliest, latest = (earliest, first - 1) if too_late else (first + 1, latest)
    raise AssertionError(f"packet {number}: {rows[number]}")


def test_a_token_bucket_is_the_kernels(kernel):
    random = np.random.default_rng(2)
    rules = [f"limit rate over 1000000 bytes/second burst 5000 bytes ip dscp set 2 {ON}", f"ip dscp set 1 {ON}"]
    sizes = random.integers(28, 1500, COUNT)
    with Pipe(rules) as pipe:
        rows = colours(pipe, sizes, (1, None, 2))
    assert min(Counter(row[3] for row in rows).values()) > COUNT // 100
    held(rows, LeakyBucket(MEGA, 1_005_000))
    with pytest.raises(AssertionError, match="packet"):
        held(rows, LeakyBucket(MEGA, 1_005_100))


def test_two_rates_and_three_colours_are_the_kernels(kernel):
    random = np.random.default_rng(3)
    rules = [
        f"limit rate over 4000000 bytes/second burst 9000 bytes ip dscp set 3 {ON}",
        f"limit rate over 1000000 bytes/second burst 5000 bytes ip dscp set 2 {ON}",
        f"ip dscp set 1 {ON}",
    ]
    policer, wrong = (TwoRate(TokenRate.per_second(4e6), 4_009_000, MEGA, 1_005_000 + more) for more in (0, 200_000))
    with Pipe(rules) as pipe:
        for tries_left in (
            2,
            1,
            0,
        ):  # a greedy search for times, which may get lost on a busy machine
            rows = colours(pipe, random.integers(200, 9000, COUNT // 5), (1, 2, 3))
            counted = Counter(row[3] for row in rows)
            assert len(counted) == 3
            assert min(counted.values()) > len(rows) // 100
            with pytest.raises(AssertionError, match="packet"):
                held(rows, wrong)
            try:
                held(rows, policer)
            except AssertionError:
                if not tries_left:
                    raise
            else:
                break


GATE, BATCH = 60_000, 500  # bytes whose sending at 10 Mb/s lets a batch come together
HTB = (
    "qdisc add dev r1 root handle 1: htb default 12",
    "class add dev r1 parent 1: classid 1:1 htb rate 10mbit burst 1 cburst 1",
    *(f"class add dev r1 parent 1:1 classid 1:{10 + k} htb rate 8bit ceil 10mbit burst 1 cburst 1 prio {k} quantum 1500"
      for k in range(3)),
    *(f"qdisc add dev r1 parent 1:{10 + k} bfifo limit 100000000" for k in range(3)),
    *(f"filter add dev r1 parent 1: protocol ip prio 1 u32 match ip tos {k << 5} 0xe0 flowid 1:{10 + k}"
      for k in range(3)),
)  # fmt: skip


def batches_through(pipe, batches, most_tried):
    """Yield (packets, classes' order by the kernel) of batches that came together while the link was busy."""
    for classes, sizes in batches:
        rows = zip(classes, sizes, strict=True)
        sent = [packet((k, 2, 3, 4, UDP), int(size), int(number) << 5) for k, (number, size) in enumerate(rows)]
        for _ in range(most_tried):
            for one in [packet((9, 9, 9, 9, UDP), GATE, 2 << 5), *sent]:
                pipe.source.send(IN_FRAME + one)
            early = pipe.left(2, 0)
            got = [frame[14:] for frame in [*early, *pipe.left(len(sent) + 1 - len(early))]][1:]
            if len(early) < 2:  # else more than the gate has left while the batch came together
                break
        else:
            raise AssertionError(f"no batch came together in {most_tried} times")
        yield sent, [int.from_bytes(one[12:16], "big") for one in got]


def test_strict_priority_is_the_kernels(kernel):
    random = np.random.default_rng(4)
    batches = [(random.integers(0, 3, BATCH), random.integers(28, 60, BATCH)) for _ in range(COUNT // BATCH)]
    scheduler = StrictPriority([1, 1, 1])
    with Pipe([ON], HTB) as pipe:
        pipe.many([packet((1, 2, 3, 4, UDP), 28, k << 5) for k in (0, 1, 2)])  # what they may send at first
        for (classes, _), (sent, order) in zip(batches, batches_through(pipe, batches, 20), strict=True):
            for number, one, own in zip(range(BATCH), sent, classes, strict=True):
                scheduler.enqueue(int(own), QueuedPacket(number, len(one)))
            assert order == [scheduler.dequeue()[1].number for _ in sent]


def charged_after(lengths, quantum, deficit):
    """Return the turns of two classes: each sends while its deficit is not negative and is charged behind."""
    lengths, order, turn = [list(row) for row in lengths], [], 0
    while any(lengths):
        if not lengths[turn]:
            turn = 1 - turn
        order.append(turn)
        deficit[turn] -= lengths[turn].pop(0) + ETHERNET
        if deficit[turn] < 0:
            deficit[turn] += quantum
            turn = 1 - turn
    return order


def test_classes_of_one_priority_are_charged_after(kernel):
    """Not deficit round robin: the case of docs/diffserv.md."""
    lines = [line.replace("prio 1 quantum", "prio 0 quantum") for line in HTB]
    sizes = [500] * 40
    scheduler = DeficitRoundRobin([1500, 1500])
    with Pipe([ON], lines) as pipe:
        pipe.many([packet((1, 2, 3, 4, UDP), 28, k << 5) for k in (0, 1, 2)])
        ((sent, order),) = batches_through(pipe, [([0, 1] * 20, sizes)], 20)
    turns = [number % 2 for number in order]
    for number, one in enumerate(sent):
        scheduler.enqueue(number % 2, QueuedPacket(number, len(one) + ETHERNET))
    ours = [scheduler.dequeue()[0] for _ in sent]
    assert turns == charged_after([[500] * 20, [500] * 20], 1500, [0, 0])
    assert turns[:6] == [0, 1, 0, 0, 1, 1]
    assert ours[:6] == [0, 0, 1, 1, 0, 0]
