"""The interface of schedulers: queues of packets by class, and a decision which class sends its first packet.

Classes are numbers from 0, the highest, on. A scheduler drops nothing: what is enqueued comes out, in order within its
class.
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
    """A packet as a scheduler sees it: the caller's number, its length, when it came.

    Example:
        >>> from npexplore.golden import QueuedPacket
        >>> QueuedPacket(0, length_bytes=64)
        QueuedPacket(number=0, length_bytes=64, time_ns=0)
    """

    number: int
    length_bytes: int
    time_ns: int = 0


class Scheduler(ShownByArguments, ABC):
    """One port's scheduler. weights: one per class; what they mean is said by each scheduler (`WEIGHT`).

    bytes_per_ns, overhead_bytes: of the link, read by those that follow an ideal server. Raises InputError for weights
    below 1.

    Example:
        >>> from npexplore.golden import SCHEDULERS, QueuedPacket
        >>> link = SCHEDULERS["strict_priority"]([1, 1])
        >>> link.enqueue(1, QueuedPacket(0, 64))
        >>> link.dequeue(0)
        (1, QueuedPacket(number=0, length_bytes=64, time_ns=0))
    """

    WEIGHT: ClassVar[str]
    KIND: ClassVar[int | None] = None  # of the kernel; None: simulated by this class alone
    IN_BYTES: ClassVar[bool] = False  # weights are quanta; below the largest packet a turn may pass unused
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
        self.meter: Meter | None = None  # told which words and instructions a call takes, if set

    @property
    def backlog(self) -> int:
        """Packets that wait."""
        return sum(map(len, self.queues))

    def enqueue(self, number: int, packet: QueuedPacket) -> None:
        """Put a packet behind the others of its class."""
        if not 0 <= number < len(self.queues):
            raise InputError(f"class of a packet must be 0 to {len(self.queues) - 1}, got {number}")
        self.joins(number, packet)
        self.queues[number].append(packet)

    def dequeue(self, now: int = 0) -> tuple[int, QueuedPacket] | None:
        """Remove and return the packet to send at `now` (ns) with its class; None if none may be sent."""
        if not self.backlog:
            return None
        number = self.choose(now)
        if number not in range(len(self.queues)) or not self.queues[number]:
            waiting = [one for one, queue in enumerate(self.queues) if queue]
            raise InputError(
                f"{type(self).__name__}.choose must return a class with a packet ({waiting}), got {number!r}"
            )
        packet = self.queues[number].popleft()
        self.left(number, packet)
        return number, packet

    def head_bytes(self, number: int) -> int:
        """Return the length of the first packet of a class that has one."""
        return self.queues[number][0].length_bytes

    @abstractmethod
    def choose(self, now: int) -> int:
        """Return the class whose first packet goes; at least one has a packet."""

    def joins(self, number: int, packet: QueuedPacket) -> None:
        """Take note of a packet that is about to join its class."""

    def left(self, number: int, packet: QueuedPacket) -> None:
        """Take note of a packet that has just left its class."""

    def unfairness(self, one: int, other: int, largest_bytes: int) -> Fraction | None:
        """Return the largest difference of service / weight of two classes over intervals in which both have packets.

        Service is in bytes, in packets for those that count packets (`IN_PACKETS`); None: nothing is promised.
        """
        return None

    def starvation_bytes(self, number: int, largest_bytes: int) -> Fraction | None:
        """Return the most bytes of other classes sent while a packet is the first of its class; None: no limit."""
        return None

    def _others(self, number: int) -> list[int]:
        return [weight for other, weight in enumerate(self.weights) if other != number]
