"""The configuration of a DiffServ router: treatments of rules, classes, queues, schedulers, links, receivers.

A router is checked when it is created, and is immutable.
"""

from dataclasses import dataclass, field

from npexplore.errors import InputError, one_of
from npexplore.golden.code_points import class_dscp
from npexplore.golden.diffserv.queues import QueueLimits
from npexplore.golden.police import Colour
from npexplore.golden.police.base import Policer
from npexplore.golden.schedule import SCHEDULERS, Scheduler, Shaper
from npexplore.golden.token_rate import TokenRate

CLASSES = ("EF", "AF1", "AF2", "AF3", "AF4", "BE")  # six queues per port, as in the IXP1200 DiffServ router
MOST_BYTES = 1 << 20  # largest packet


@dataclass(frozen=True)
class Treatment:
    """A rule's treatment of packets: class, colour before policing, policer (index; may be shared), marking.

    drop_from: packets of this colour or a worse one are dropped; None: no packet is dropped. dscp: the code point for
    all colours; None: the code point of class and colour.

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
        """Return the code point that packets of a colour are marked with."""
        return class_dscp(self.class_name, colour) if self.dscp is None else self.dscp

    def drops(self, colour: Colour) -> bool:
        """Say whether packets of a colour are dropped."""
        return self.drop_from is not None and colour >= self.drop_from


@dataclass(frozen=True)
class ClassQueue:
    """A class at a port: its weight (its meaning depends on the scheduler) and the limits of its queue.

    Example:
        >>> from npexplore.golden import ClassQueue
        >>> ClassQueue(weight=2).weight
        2
    """

    weight: int = 1
    limits: QueueLimits = field(default_factory=QueueLimits)


@dataclass(frozen=True)
class Shaping:
    """Shaping of a port: it sends at most `rate * t + burst` bytes in any time t.

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

    rate: of the link. preamble_bytes, gap_bytes: link time before and after each packet, as bytes.
    largest_bytes: the largest packet; longer packets raise InputError.

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
        """Return a new scheduler without packets; raises InputError for weights that it does not allow."""
        overhead = self.preamble_bytes + self.gap_bytes
        weights = [queue.weight for queue in self.queues]
        return SCHEDULERS[self.scheduler](weights, self.rate.fraction, overhead)

    def new_shaper(self) -> Shaper | None:
        """Return a new shaper with a full bucket, None without shaping."""
        return None if self.shaping is None else Shaper(self.shaping.rate, self.shaping.burst, self.largest_bytes)


@dataclass(frozen=True)
class Receiver:
    """An input port's receivers: service time, capacity of the MAC buffer in packets (None: unlimited), number.

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
    """A DiffServ router. treatments: one per rule; packets that match no rule join the last class unchanged.

    receivers: one per input port; None: packets are received in zero time, without limit. Raises InputError.

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
