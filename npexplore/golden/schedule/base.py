"""The interface of schedulers: a queue of packets per class, and the choice of the class that sends its first packet.

Classes are numbers from 0, the highest class. A scheduler drops no packet and keeps the order of packets in a class.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar, NamedTuple

from npexplore.display import ShownByArguments
from npexplore.errors import InputError
from npexplore.golden.work import Meter


class QueuedPacket(NamedTuple):
    """A packet in a scheduler: the caller's number, its length in bytes, its arrival time in ns.

    Example:
        >>> from npexplore.golden import QueuedPacket
        >>> QueuedPacket(0, length_bytes=64)
        QueuedPacket(number=0, length_bytes=64, time_ns=0)
    """

    number: int
    length_bytes: int
    time_ns: int = 0


class Scheduler(ShownByArguments, ABC):
    """One port's scheduler. weights: one per class, with the meaning that `WEIGHT` states.

    bytes_per_ns, overhead_bytes: of the link; only schedulers that emulate an ideal server use them. Raises InputError
    for weights below 1.

    Example:
        >>> from npexplore.golden import SCHEDULERS, QueuedPacket
        >>> link = SCHEDULERS["strict_priority"]([1, 1])
        >>> link.enqueue(1, QueuedPacket(0, 64))
        >>> link.dequeue(0)
        (1, QueuedPacket(number=0, length_bytes=64, time_ns=0))
    """

    WEIGHT: ClassVar[str]
    KIND: ClassVar[int | None] = None  # the scheduler's number in the kernel; None: it has no kernel
    IN_BYTES: ClassVar[bool] = False  # weights are quanta in bytes; one below the largest packet wastes turns
    IN_PACKETS: ClassVar[bool] = False  # shares are of packets, not of bytes

    def __init__(
        self, weights: Sequence[int], bytes_per_ns: Fraction = Fraction(1), overhead_bytes: int = 0
    ) -> None:  # fmt: skip
        for number, weight in enumerate(weights):
            if weight < 1:
                raise InputError(f"{self.WEIGHT} of class {number} must be at least 1, got {weight}")
        if not weights:
            raise InputError("a scheduler needs at least one class, got none")
        self.weights = tuple(weights)
        self.bytes_per_ns, self.overhead_bytes = bytes_per_ns, overhead_bytes
        self.queues: tuple[deque[QueuedPacket], ...] = tuple(deque() for _ in weights)
        self.meter: Meter | None = None  # if set, counts the words and instructions of calls

    @property
    def backlog(self) -> int:
        """Number of queued packets."""
        return sum(map(len, self.queues))

    def enqueue(self, number: int, packet: QueuedPacket) -> None:
        """Append a packet to the queue of its class."""
        if not 0 <= number < len(self.queues):
            raise InputError(f"class of a packet must be 0 to {len(self.queues) - 1}, got {number}")
        self.joins(number, packet)
        self.queues[number].append(packet)

    def dequeue(self, now: int = 0) -> tuple[int, QueuedPacket] | None:
        """Remove and return the class and the packet to send at `now` (ns); None if no packet may be sent."""
        if not self.backlog:
            return None
        number = self.choose(now)
        if number not in range(len(self.queues)) or not self.queues[number]:
            waiting = [class_number for class_number, queue in enumerate(self.queues) if queue]
            raise InputError(
                f"{type(self).__name__}.choose must return a class with a packet ({waiting}), got {number!r}"
            )
        packet = self.queues[number].popleft()
        self.left(number, packet)
        return number, packet

    def head_bytes(self, number: int) -> int:
        """Return the length in bytes of the first packet of a class with packets."""
        return self.queues[number][0].length_bytes

    @abstractmethod
    def choose(self, now: int) -> int:
        """Return the class that sends its first packet; called only if a class has a packet."""

    def joins(self, number: int, packet: QueuedPacket) -> None:
        """Update the state before a packet joins the queue of its class."""

    def left(self, number: int, packet: QueuedPacket) -> None:
        """Update the state after a packet left the queue of its class."""

    def unfairness(self, one: int, other: int, largest_bytes: int) -> Fraction | None:
        """Return a bound on the difference of two classes' service / weight while both are backlogged; None: none.

        Service is in bytes, with `IN_PACKETS` in packets. largest_bytes: the largest packet.
        """
        return None

    def starvation_bytes(self, number: int, largest_bytes: int) -> Fraction | None:
        """Return a bound on the bytes of other classes sent while a packet is first of its class; None: none."""
        return None

    def _others(self, number: int) -> list[int]:
        """Return the weights of all other classes."""
        return [weight for class_number, weight in enumerate(self.weights) if class_number != number]
