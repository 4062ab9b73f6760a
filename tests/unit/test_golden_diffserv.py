"""The functional DiffServ router on packets that can be followed by hand."""

from fractions import Fraction

import numpy as np
import pytest

from npexplore.errors import InputError
from npexplore.golden.diffserv import (
    Arrivals,
    ClassQueue,
    DiffServ,
    Fate,
    OutputPort,
    Receiver,
    Shaping,
    Treatment,
    simulate_diffserv,
)
from npexplore.golden.diffserv.queues import EarlyDrop, QueueLimits, Thresholds
from npexplore.golden.diffserv.reference import simulate_plainly
from npexplore.golden.police import Colour, LeakyBucket, TwoRate
from npexplore.golden.schedule import PriorityDeficitRoundRobin
from npexplore.golden.schedule.priority_drr import halving_quanta
from npexplore.golden.token_rate import TokenRate
from npexplore.golden.work import Access, Meter

BYTE_PER_NS = TokenRate(1, 1)
LIMITS = QueueLimits()
HIGH, LOW = Treatment("EF"), Treatment("BE")


def router(*treatments, scheduler="strict_priority", limits=LIMITS, policers=(), receivers=None, **port):
    queues = (ClassQueue(100, limits), ClassQueue(100, limits))
    return DiffServ(
        treatments or (HIGH, LOW), (OutputPort(BYTE_PER_NS, queues, scheduler, **port),), policers, ("EF", "BE"),
        receivers,
    )  # fmt: skip


def run(setup, rows, **columns):
    """rows: (time, length, rule). The answer is that of both forms."""
    arrivals = Arrivals.of(*zip(*rows, strict=True), **columns)
    outcome = simulate_diffserv(setup, arrivals)
    plain = simulate_plainly(setup, arrivals)
    assert outcome.departure_ns.tolist() == plain.departure_ns.tolist()
    assert outcome.fate.tolist() == plain.fate.tolist()
    return outcome


def test_the_higher_class_overtakes_but_does_not_interrupt():
    outcome = run(router(), [(0, 100, 1), (10, 100, 1), (20, 50, 0)])
    assert outcome.departure_ns.tolist() == [100, 250, 150]
    assert outcome.delay_ns.tolist() == [100, 240, 130]


def test_a_packet_that_comes_when_the_link_becomes_free_can_be_chosen():
    assert run(router(), [(0, 100, 1), (10, 100, 1), (100, 50, 0)]).departure_ns.tolist() == [100, 250, 150]
    assert run(router(), [(0, 100, 1), (10, 100, 1), (101, 50, 0)]).departure_ns.tolist() == [100, 200, 250]


def test_preamble_and_gap_take_the_link():
    assert run(router(preamble_bytes=8, gap_bytes=12), [(0, 100, 1), (0, 100, 1)]).departure_ns.tolist() == [108, 228]


def test_remainders_of_a_nanosecond_are_kept():
    """3 bytes in 7 ns: 10 packets of a byte take 70/3 ns, not 10 times 3."""
    queues = (ClassQueue(), ClassQueue())
    setup = DiffServ((LOW,), (OutputPort(TokenRate(3, 7), queues, "drr"),), classes=("EF", "BE"))
    outcome = run(setup, [(0, 1, 0)] * 10)
    assert outcome.departure_ns.tolist() == [-(-7 * k // 3) for k in range(1, 11)]


def test_full_queue_by_packets_and_by_bytes():
    rows = [(0, 100, 1), (1, 100, 1), (2, 60, 1), (3, 60, 1)]
    assert run(router(limits=QueueLimits(2)), rows).fate.tolist() == [0, 0, 0, Fate.QUEUE_FULL]
    assert run(router(limits=QueueLimits(None, 170)), rows).fate.tolist() == [0, 0, 0, Fate.QUEUE_FULL]
    rows[3] = (3, 59, 1)
    assert run(router(limits=QueueLimits(None, 159)), rows).fate.tolist() == [0, 0, Fate.QUEUE_FULL, 0]


def test_policed_marked_and_counted():
    policer = TwoRate(BYTE_PER_NS, 200, TokenRate(1, 2), 100)
    setup = DiffServ(
        (Treatment("AF1", 0, Colour.RED), Treatment("BE", dscp=13)),
        (OutputPort(BYTE_PER_NS, (ClassQueue(), ClassQueue()), "wrr"),), (policer,), ("AF1", "BE"),
    )  # fmt: skip
    outcome = run(setup, [(0, 100, 0), (0, 100, 0), (0, 100, 0), (0, 64, 1), (0, 64, -1)])
    assert outcome.dscp.tolist() == [10, 12, 14, 13, -1]
    assert outcome.fate.tolist() == [0, 0, Fate.POLICED, 0, 0]
    table = outcome.by_rule(0, 1000)
    assert table.loc[0, ["green", "yellow", "red", "offered", "policed", "sent"]].tolist() == [1, 1, 1, 3, 1, 2]
    assert outcome.by_class().loc["BE", "offered"] == 2


def test_rules_may_share_a_policer():
    shared = router(Treatment("EF", 0), Treatment("BE", 0), policers=(LeakyBucket(BYTE_PER_NS, 100),))
    assert run(shared, [(0, 100, 0), (0, 100, 1)]).fate.tolist() == [0, Fate.POLICED]


def test_shaped_port():
    setup = router(shaping=Shaping(TokenRate(1, 10), 100), largest_bytes=100)
    assert run(setup, [(0, 100, 1), (0, 100, 1), (500, 50, 0)]).departure_ns.tolist() == [100, 1600, 1050]


def test_receivers_lose_what_their_buffer_cannot_hold():
    setup = router(receivers=(Receiver(1000, 1),))
    outcome = run(setup, [(0, 64, 1), (1, 64, 1), (2, 64, 1), (1000, 64, 1)])
    assert outcome.ready_ns.tolist() == [1000, 2000, -1, 3000]
    assert outcome.fate[2] == Fate.BUFFER_FULL
    assert outcome.departure_ns[0] == 1064
    two = run(router(receivers=(Receiver(1000, 0, 2),)), [(0, 64, 1), (1, 64, 1), (2, 64, 1)])
    assert two.ready_ns.tolist() == [1000, 1001, -1]


def test_service_time_of_a_packet_goes_before_that_of_its_receiver():
    outcome = run(router(receivers=(Receiver(1000, 1),)), [(0, 64, 1), (0, 64, 1)], service_ns=[-1, 5])
    assert outcome.ready_ns.tolist() == [1000, 1005]


def thresholds(low, high, chance=Fraction(1)):
    return EarlyDrop((Thresholds(low, high, chance),) * 3, 0, 100)


def test_early_drop_between_the_thresholds():
    """Shift 0: the average is the queue itself. From `high` on all are dropped, below `low` none."""
    setup = router(limits=QueueLimits(None, None, thresholds(2, 3)))
    outcome = run(setup, [(0, 1000, 1)] * 6)
    assert outcome.fate.tolist() == [0, 0, 0, Fate.EARLY, Fate.EARLY, Fate.EARLY]


def test_share_of_early_drops_follows_the_average():
    """Halfway between the thresholds half of the packets are lost, in the long run; the seed decides which."""
    early = EarlyDrop((Thresholds(0, 10, Fraction(1)),) * 3, 0, 1)
    queues = (ClassQueue(1, QueueLimits(None, None, early)),)
    setup = DiffServ((LOW,), (OutputPort(TokenRate(1, 1), queues, "wrr"),), classes=("BE",))
    time = np.arange(200_000) * 50  # twice what the link sends: the average rises until half is dropped
    outcome = simulate_diffserv(setup, Arrivals.of(time, 100, 0), seed=1)
    assert abs((outcome.fate == Fate.EARLY).mean() - 0.5) < 0.01
    waiting = outcome.delay_ns[outcome.sent].mean() / 100
    assert 4 < waiting < 7
    assert (simulate_diffserv(setup, Arrivals.of(time, 100, 0), seed=2).fate != outcome.fate).any()
    assert (simulate_diffserv(setup, Arrivals.of(time, 100, 0), seed=1).fate == outcome.fate).all()


def test_average_forgets_while_the_queue_is_empty():
    early = EarlyDrop((Thresholds(1, 2),) * 3, 1, 100)
    setup = router(limits=QueueLimits(None, None, early))
    busy = [(0, 1000, 1)] * 8
    assert run(setup, [*busy, (9000, 10, 1)]).fate[-1] == Fate.SENT
    assert run(setup, [*busy, (7999, 10, 1)]).fate[-1] in (Fate.SENT, Fate.EARLY)
    assert (run(setup, busy).fate == Fate.EARLY).any()


def test_scheduler_work_is_told():
    """The scan of the transmitter reads a queue's two words until one may send; then the packet's descriptor."""
    from npexplore.golden.schedule import QueuedPacket

    scheduler = PriorityDeficitRoundRobin(halving_quanta(6, 64))
    scheduler.meter = Meter()
    scheduler.enqueue(2, QueuedPacket(0, 64))
    assert scheduler.meter.work.accesses == (
        Access("queue", 2),
        Access("descriptor", 2, True),
        Access("queue", 2, True),
    )
    scheduler.meter = Meter()
    scheduler.dequeue()
    reads = [access for access in scheduler.meter.work.accesses if access.table == "queue" and not access.write]
    assert reads == [Access("queue", 2)] * 3
    assert scheduler.meter.work.words("descriptor") == 2


QUEUES = (ClassQueue(), ClassQueue())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: OutputPort(BYTE_PER_NS, QUEUES, "dr"), r"scheduler 'dr' is unknown \(nearest: drr"),
        (lambda: OutputPort(TokenRate(1, 9, "packets"), QUEUES), "rate of a link must be in bits per second"),
        (lambda: OutputPort(BYTE_PER_NS, (ClassQueue(0),), "drr"), r"quantum \(bytes\) of class 0 must be at least 1"),
        (lambda: OutputPort(BYTE_PER_NS, QUEUES, shaping=Shaping(BYTE_PER_NS, 100)), "must hold the largest packet"),
        (lambda: router(Treatment("AF9")), "treatment 0: class 'AF9' is unknown"),
        (lambda: router(Treatment("EF", 0)), "treatment 0: policer must be 0 to -1, got 0"),
        (lambda: DiffServ((), (OutputPort(BYTE_PER_NS, QUEUES),)), "queue for each of 6 classes, got 2"),
        (lambda: DiffServ((), ()), "at least one output port"),
        (lambda: Receiver(-1, None), "at least 0 ns"),
        (lambda: Receiver(1, -1), "MAC buffer"),
        (lambda: QueueLimits(0), "limit of a queue in packets"),
        (lambda: Thresholds(5, 5), "low < high"),
        (lambda: Thresholds(1, 5, Fraction(2)), "chance"),
        (lambda: run(router(), [(0, 1519, 0)]), "length of packet 0 must be at most 1518 bytes at its port, got 1519"),
        (lambda: run(router(), [(0, 0, 0)]), "length of packet 0 must be at least 1"),
        (lambda: run(router(), [(0, 64, 2)]), "rule of packet 0 must be -1 to 1, got 2"),
        (lambda: run(router(), [(0, 64, 0)], port=1), "port of packet 0 must be 0 to 0, got 1"),
        (lambda: run(router(), [(0, 64, 0)]).by_class(5, 5), "time must end after it begins"),
        (lambda: halving_quanta(6, 0), "smallest quantum"),
    ],
)  # fmt: skip
def test_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
