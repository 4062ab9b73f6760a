"""DiffServ against the Linux kernel: rules, marks, policers, priorities (docs/diffserv_checks.md)."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from reference.kernel_diffserv import IN_FRAME, ON, Pipe, told
from reference.repeated import in_some_run

from npexplore.golden.classify.linear import LinearSearch
from npexplore.golden.classify.rule_generator import generate_rules
from npexplore.golden.classify.rules import Rules
from npexplore.golden.diffserv.mark import mark_dscp
from npexplore.golden.ethernet import ETHERNET
from npexplore.golden.ipv4.five_tuple import FiveTuple, read_five_tuple
from npexplore.golden.ipv4.header import with_checksum
from npexplore.golden.police.colour import Colour
from npexplore.golden.police.differentiated import DifferentiatedTwoRate
from npexplore.golden.police.leaky_bucket import LeakyBucket
from npexplore.golden.police.two_rate import TwoRate
from npexplore.golden.schedule.base import QueuedPacket
from npexplore.golden.schedule.drr import DeficitRoundRobin
from npexplore.golden.schedule.strict_priority import StrictPriority
from npexplore.golden.token_rate import TokenRate

COUNT = 100_000
PLAIN = 10  # of so many packets one is classified by the plain search too; tests/law holds that to the batch
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
    headers = [read_five_tuple(one) for one in sent]
    found = search.match_many(FiveTuple(*(np.array(column) for column in zip(*headers, strict=True)))).tolist()
    assert found[::PLAIN] == [search.match(one) for one in headers[::PLAIN]]
    expected = [mark_dscp(one, rules[number].dscp) for one, number in zip(sent, found, strict=True)]
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


def full_when(rows, sees, passes, rate_bytes_per_s, depth_ns):
    """Return when a bucket was read for the first time, and full: the middle of what all its verdicts allow.

    It never fills again, so that what it lacks is known but for this time: whoever passes bounds it from above, whoever
    does not from below. sees, passes: colours of packets that ask the bucket, and of those that it lets through.

    Raises AssertionError where no time fits, or where the bucket may have been full again.
    """
    early, late, sizes, colours = (np.array(column) for column in zip(*rows, strict=True))
    seen = np.isin(colours, sees)
    passed = np.isin(colours[seen], passes)
    early, late, cost_ns = early[seen] - SLACK_NS, late[seen] + SLACK_NS, sizes[seen] * (10**9 // rate_bytes_per_s)
    taken_ns = np.cumsum(np.where(passed, cost_ns, 0))
    latest = (late - taken_ns + depth_ns)[passed].min(initial=late[0])
    earliest = (early - taken_ns - cost_ns + depth_ns)[~passed].max(initial=early[0])
    assert earliest <= latest, f"packets {sees}: full at {earliest} or later, and at {latest} or earlier"
    assert (earliest + taken_ns[:-1] > late[1:]).all(), "a bucket filled again"
    return int(np.flatnonzero(seen)[0]), int(earliest + latest) // 2


def held(rows, policer, full):
    """Assert that a policer judges as the kernel, at times that the clock allows.

    full: the packets that find a full bucket, and when. Others are judged in the middle of their times, or, where the
    kernel judged otherwise, at another of them: the judgement is better the later it is.
    """
    state, clock, free = policer.state(), 0, 0
    for number, (early, late, size, colour) in enumerate(rows):
        start, end = max(clock, early - SLACK_NS), late + SLACK_NS
        when = full.get(number, (start + end) // 2)
        after, verdict = policer.police(state, when, size)
        free += verdict != colour
        while verdict != colour:
            if number in full or start >= end:
                raise AssertionError(f"packet {number}: {rows[number]}")
            start, end = (start, when) if verdict < colour else (when + 1, end)
            when = (start + end) // 2
            after, verdict = policer.police(state, when, size)
        clock, state = when, after
    assert free < len(rows) // 20  # packets that a few microseconds decide


def as_policer(rules, sizes, names, buckets, policer, wrong):
    """Assert that the kernel's colours are those of a policer, and never those of a wrong one.

    The kernel reads its clock anew for each rule: a machine that is stopped between them gives another run a try.
    """

    def run():
        with Pipe(rules) as pipe:  # new rules: full buckets
            rows = colours(pipe, sizes, names)
        counted = Counter(row[3] for row in rows)
        assert len(counted) == len(set(names) - {None})
        assert min(counted.values()) > len(rows) // 100
        full = dict(full_when(rows, *bucket) for bucket in reversed(buckets))
        held(rows, policer, full)
        assert told_apart(rows, wrong, full)

    in_some_run(run, runs=12)


def told_apart(rows, wrong, full):
    """Say whether some packet shows that a policer is not the kernel's."""
    try:
        held(rows, wrong, full)
    except AssertionError as error:
        return "packet" in str(error)
    return False


GREEN, YELLOW, RED = Colour


def test_a_token_bucket_is_the_kernels(kernel):
    rules = [f"limit rate over 1000000 bytes/second burst 5000 bytes ip dscp set 2 {ON}", f"ip dscp set 1 {ON}"]
    sizes = np.random.default_rng(2).integers(28, 1500, COUNT)
    buckets = [((GREEN, RED), (GREEN,), 1_000_000, 1_005_000_000)]
    as_policer(rules, sizes, (1, None, 2), buckets, *(LeakyBucket(MEGA, 1_005_000 + more) for more in (0, 100)))


def test_two_rates_and_three_colours_are_the_kernels(kernel):
    sizes = np.random.default_rng(3).integers(200, 9000, COUNT)
    rules = [
        f"limit rate over 4000000 bytes/second burst 9000 bytes ip dscp set 3 {ON}",
        f"limit rate over 1000000 bytes/second burst 5000 bytes ip dscp set 2 {ON}",
        f"ip dscp set 1 {ON}",
    ]
    peak = TokenRate.per_second(4e6)
    buckets = [
        ((GREEN, YELLOW, RED), (GREEN, YELLOW), 4_000_000, 4_009_000_000 // 4),
        ((GREEN, YELLOW), (GREEN,), 1_000_000, 1_005_000_000),
    ]
    policers = (TwoRate(peak, 4_009_000, MEGA, 1_005_000 + more) for more in (0, 1000))
    as_policer(rules, sizes, (1, 2, 3), buckets, *policers)


def test_two_rates_apart_are_the_kernels(kernel):
    """Within the committed rate: green; what that leaves and the excess rate takes: yellow (RFC 4115)."""
    sizes = np.random.default_rng(5).integers(200, 9000, COUNT)
    rules = [
        f"limit rate 1000000 bytes/second burst 5000 bytes ip dscp set 1 {ON}",
        f"limit rate 2000000 bytes/second burst 9000 bytes ip dscp set 2 {ON}",
        f"ip dscp set 3 {ON}",
    ]
    excess = TokenRate.per_second(2e6)
    buckets = [
        ((GREEN, YELLOW, RED), (GREEN,), 1_000_000, 1_005_000_000),
        ((YELLOW, RED), (YELLOW,), 2_000_000, 2_009_000_000 // 2),
    ]
    policers = (  # an exact fit passes there: bursts one larger
        DifferentiatedTwoRate(MEGA, 1_005_001, excess, 2_009_001 + more) for more in (0, 1000)
    )
    as_policer(rules, sizes, (1, 2, 3), buckets, *policers)


GATE, BATCH = 60_000, 500  # bytes whose sending at 10 Mb/s lets a batch come together
ON_ONE_PIPE = 10  # batches: after 42 s a class may send a packet by the rate of its own, one byte a second
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
    for start in range(0, len(batches), ON_ONE_PIPE):
        in_some_run(lambda some=batches[start : start + ON_ONE_PIPE]: strictly(some))


def strictly(batches):
    """Send batches through a new pipe and assert that they leave in the order of strict priority."""
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
    """Not deficit round robin: the case of docs/diffserv_checks.md."""
    in_some_run(charged_as_told)


def charged_as_told():
    """Send a batch through a new pipe and assert both orders, the kernel's and that of deficit round robin."""
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
