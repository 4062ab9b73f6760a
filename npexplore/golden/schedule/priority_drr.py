"""The weighted deficit round robin of the IXP1200 DiffServ router: quanta 2:1 from class to class, scanned by priority.

The transmitter scans queues by priority for the first one with a packet and enough quanta. If no backlogged queue has
enough, a new round begins. The paper does not specify the leftover quanta of an empty queue: here a new round sets them
to one quantum.
"""

from collections.abc import Sequence
from fractions import Fraction

from npexplore._kernels import golden_diffserv as kernels
from npexplore.errors import InputError
from npexplore.golden.schedule.base import QueuedPacket, Scheduler


class PriorityDeficitRoundRobin(Scheduler):
    """Deficit round robin by priority: order by priority within a round, shares by quanta over rounds.

    Example:
        >>> from npexplore.golden import PriorityDeficitRoundRobin
        >>> PriorityDeficitRoundRobin([1500, 500]).weights
        (1500, 500)
    """

    WEIGHT = "quantum (bytes)"
    KIND = kernels.PRIORITY_DRR
    IN_BYTES = True

    def __init__(
        self, weights: Sequence[int], bytes_per_ns: Fraction = Fraction(1), overhead_bytes: int = 0
    ) -> None:  # fmt: skip
        super().__init__(weights, bytes_per_ns, overhead_bytes)
        self.deficit = list(weights)

    def joins(self, number: int, packet: QueuedPacket) -> None:
        """Count the work of appending a packet's descriptor to its queue."""
        if self.meter is not None:
            self.meter.read("queue", 2)
            self.meter.write("descriptor", 2)
            self.meter.write("queue", 2)
            self.meter.do(alu=4, branch=1)

    def choose(self, now: int) -> int:
        """Return the highest class with a packet and enough quanta for it."""
        while True:
            for number, queue in enumerate(self.queues):
                if self.meter is not None:
                    self.meter.read("queue", 2)  # the queue's packet count and remaining quanta
                    self.meter.do(alu=2, branch=2)
                if queue and queue[0].length_bytes <= self.deficit[number]:
                    return number
            for number, queue in enumerate(self.queues):
                self.deficit[number] = self.weights[number] + (self.deficit[number] if queue else 0)
                if self.meter is not None:
                    self.meter.write("queue", 1)
                    self.meter.do(alu=1)

    def left(self, number: int, packet: QueuedPacket) -> None:
        """Subtract the packet from the quanta."""
        self.deficit[number] -= packet.length_bytes
        if self.meter is not None:
            self.meter.read("descriptor", 2)  # address of its buffers, and the next descriptor
            self.meter.write("queue", 2)
            self.meter.do(alu=3)

    def unfairness(self, one: int, other: int, largest_bytes: int) -> Fraction:
        """Return the bound from the deficits, below a quantum plus a largest packet in each class."""
        return 2 + Fraction(largest_bytes, self.weights[one]) + Fraction(largest_bytes, self.weights[other])

    def starvation_bytes(self, number: int, largest_bytes: int) -> Fraction:
        """Return the others' deficits in this round, and their quanta of the rounds until this class has enough."""
        rounds = -(-largest_bytes // self.weights[number])
        other_weights = self._others(number)
        return Fraction((rounds + 1) * sum(other_weights) + len(other_weights) * largest_bytes)


def halving_quanta(classes: int, smallest_bytes: int) -> tuple[int, ...]:
    """Return quanta that halve from class to class down to the smallest; raises InputError for a quantum of 0."""
    if smallest_bytes < 1:
        raise InputError(f"smallest quantum must be at least 1 byte, got {smallest_bytes}")
    return tuple(smallest_bytes << (classes - 1 - number) for number in range(classes))
