"""A DiffServ router in numbers: treatments of rules, classes, queues, schedulers, links, receivers.

A router is checked when it is made, and cannot be changed afterwards.
"""

from dataclasses import dataclass, field

from npexplore.errors import InputError, one_of
from npexplore.golden.code_points import class_dscp
from npexplore.golden.diffserv.queues import QueueLimits
from npexplore.golden.police import Colour
from npexplore.golden.police.base import Policer
from npexplore.golden.schedule import SCHEDULERS, Scheduler, Shaper
from npexplore.golden.token_rate import TokenRate

CLASSES = ("EF", "AF1", "AF2", "AF3", "AF4", "BE")  # six queues a port, as in the IXP1200 DiffServ router
MOST_BYTES = 1 << 20  # of a packet


@dataclass(frozen=True)
class Treatment:
    """What a rule does with its packets: class, colour before policing, policer (index; rules may share one), marking.

    drop_from: packets of this colour or a worse one are dropped; None: they are marked and go on. dscp: the code point
    whatever the colour; None: that of class and colour.

    Example:
        >>> from npexplore.golden import Treatment
        >>> Treatment("EF", dscp=46).dscp
        46
    """

    class_name: str
    policer: int | None = None
    drop_from: Colour | None = Colour.RED
    dscp: int | None = None
    colour: Colour = Colour.GREEN

    def code_point(self, colour: Colour) -> int:
        """Return what a packet of a colour is marked with."""
        return class_dscp(self.class_name, colour) if self.dscp is None else self.dscp

    def drops(self, colour: Colour) -> bool:
        """Say whether packets of a colour are dropped."""
        return self.drop_from is not None and colour >= self.drop_from


@dataclass(frozen=True)
class ClassQueue:
    """A class at a port: its weight (what that means is said by the scheduler) and what its queue holds.

    Example:
        >>> from npexplore.golden import ClassQueue
        >>> ClassQueue(weight=2).weight
        2
    """

    weight: int = 1
    limits: QueueLimits = field(default_factory=QueueLimits)


@dataclass(frozen=True)
class Shaping:
    """A port sends at most `rate * t + burst` bytes in any time t.

    Example:
        >>> from npexplore.golden import Shaping, TokenRate
        >>> Shaping(TokenRate.of("1Gb/s"), 1518).burst
        1518
    """

    rate: TokenRate
    burst: int


@dataclass(frozen=True)
class OutputPort:
    """A link with its scheduler and one queue per class, the highest first.

    rate: of the link. preamble_bytes, gap_bytes: time on the link before and behind each packet, as bytes.
    largest_bytes: longer packets are refused.

    Example:
        >>> from npexplore.golden import ClassQueue, OutputPort, TokenRate
        >>> OutputPort(TokenRate.of("1Gb/s"), (ClassQueue(1, 8),)).scheduler
        'priority_drr'
    """

    rate: TokenRate
    queues: tuple[ClassQueue, ...]
    scheduler: str = "priority_drr"
    preamble_bytes: int = 0
    gap_bytes: int = 0
    shaping: Shaping | None = None
    largest_bytes: int = 1518

    def __post_init__(self) -> None:
        one_of("scheduler", self.scheduler, SCHEDULERS)
        if self.rate.counted != "bytes":
            raise InputError("rate of a link must be in bits per second, got packets per second")
        for name, amount in (("preamble", self.preamble_bytes), ("gap", self.gap_bytes)):
            if not 0 <= amount <= MOST_BYTES:
                raise InputError(f"{name} of a link must be 0 to {MOST_BYTES} bytes, got {amount}")
        if not 1 <= self.largest_bytes <= MOST_BYTES:
            raise InputError(f"largest packet of a link must be 1 to {MOST_BYTES} bytes, got {self.largest_bytes}")
        self.new_scheduler()
        self.new_shaper()

    def new_scheduler(self) -> Scheduler:
        """Return the scheduler with nothing in it; raises InputError for weights that it cannot take."""
        overhead = self.preamble_bytes + self.gap_bytes
        weights = [queue.weight for queue in self.queues]
        return SCHEDULERS[self.scheduler](weights, self.rate.fraction, overhead)

    def new_shaper(self) -> Shaper | None:
        """Return the shaper with a full bucket, None for a port without."""
        return None if self.shaping is None else Shaper(self.shaping.rate, self.shaping.burst, self.largest_bytes)


@dataclass(frozen=True)
class Receiver:
    """An input port's receivers: time a packet, packets that wait in the MAC buffer (None: any number), how many.

    Example:
        >>> from npexplore.golden import Receiver
        >>> Receiver(service_ns=500, buffer_packets=8)
        Receiver(service_ns=500, buffer_packets=8, servers=1)
    """

    service_ns: int
    buffer_packets: int | None
    servers: int = 1

    def __post_init__(self) -> None:
        if self.service_ns < 0 or self.servers < 1:
            raise InputError(
                "a receiver needs a time of at least 0 ns and at least 1 server, "
                f"got {self.service_ns} ns and {self.servers}"
            )
        if self.buffer_packets is not None and self.buffer_packets < 0:
            raise InputError(f"MAC buffer must hold at least 0 packets, got {self.buffer_packets}")


@dataclass(frozen=True)
class DiffServ:
    """The router. treatments: one a rule; packets that match no rule join the last class unchanged.

    receivers: one an input port; None: packets are received in no time, any number at once. Raises InputError.

    Example:
        >>> from npexplore.golden import ClassQueue, DiffServ, OutputPort, TokenRate, Treatment
        >>> port = OutputPort(TokenRate.of("1Gb/s"), (ClassQueue(1, 8),), scheduler="strict_priority")
        >>> DiffServ((Treatment("BE"),), (port,), classes=("BE",)).classes
        ('BE',)
    """

    treatments: tuple[Treatment, ...]
    ports: tuple[OutputPort, ...]
    policers: tuple[Policer, ...] = ()
    classes: tuple[str, ...] = CLASSES
    receivers: tuple[Receiver, ...] | None = None

    def __post_init__(self) -> None:
        if not self.ports:
            raise InputError("a DiffServ router needs at least one output port, got none")
        if not self.classes or len(set(self.classes)) < len(self.classes):
            raise InputError(f"classes must have names that differ, got {', '.join(self.classes) or 'none'}")
        for number, port in enumerate(self.ports):
            if len(port.queues) != len(self.classes):
                raise InputError(
                    f"port {number} must have a queue for each of {len(self.classes)} classes, got {len(port.queues)}"
                )
        for number, treatment in enumerate(self.treatments):
            one_of(f"treatment {number}: class", treatment.class_name, self.classes)
            if treatment.policer is not None and not 0 <= treatment.policer < len(self.policers):
                raise InputError(
                    f"treatment {number}: policer must be 0 to {len(self.policers) - 1}, got {treatment.policer}"
                )
            for colour in Colour:
                treatment.code_point(colour)

    def class_number(self, rule: int) -> int:
        """Return the queue of a rule's packets; rule -1: the last class."""
        return len(self.classes) - 1 if rule < 0 else self.classes.index(self.treatments[rule].class_name)
