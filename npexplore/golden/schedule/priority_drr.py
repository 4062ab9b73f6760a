"""The weighted deficit round robin of the IXP1200 DiffServ router: quanta 2:1 from class to class, scanned by priority.

The transmitter examines the queue of the highest priority: has it a packet, and enough quanta? Otherwise the next one.
When no queue that has a packet has enough, a new round begins. The paper does not say what becomes of quanta that an
empty queue left over: here a new round gives it one quantum and no more.
"""

from collections.abc import Sequence
from fractions import Fraction

from npexplore._kernels import golden_diffserv as kernels
from npexplore.errors import InputError
from npexplore.golden.schedule.base import QueuedPacket, Scheduler


class PriorityDeficitRoundRobin(Scheduler):
    """Within a round the order is by priority, over rounds the shares are by quanta.

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
        """Tell the work of linking a packet's descriptor behind the last one of its queue."""
        if self.meter is not None:
            self.meter.read("queue", 2)
            self.meter.write("descriptor", 2)
            self.meter.write("queue", 2)
            self.meter.do(alu=4, branch=1)

    def choose(self, now: int) -> int:
        """Return the first class in order of priority that has a packet and the quanta for it."""
        while True:
            for number, queue in enumerate(self.queues):
                if self.meter is not None:
                    self.meter.read("queue", 2)  # descriptor: count of packets, and the quanta left
                    self.meter.do(alu=2, branch=2)
                if queue and queue[0].length_bytes <= self.deficit[number]:
                    return number
            for number, queue in enumerate(self.queues):
                self.deficit[number] = self.weights[number] + (self.deficit[number] if queue else 0)
                if self.meter is not None:
                    self.meter.write("queue", 1)
                    self.meter.do(alu=1)

    def left(self, number: int, packet: QueuedPacket) -> None:
        """Take the packet from the quanta."""
        self.deficit[number] -= packet.length_bytes
        if self.meter is not None:
            self.meter.read("descriptor", 2)  # address of its buffers, and what follows it in the queue
            self.meter.write("queue", 2)
            self.meter.do(alu=3)

    def unfairness(self, one: int, other: int, largest_bytes: int) -> Fraction:
        """Return twice (in both classes) a quantum and a packet below which what is left over stays."""
        return 2 + Fraction(largest_bytes, self.weights[one]) + Fraction(largest_bytes, self.weights[other])

    def starvation_bytes(self, number: int, largest_bytes: int) -> Fraction:
        """Return what others have left in this round, and their quanta of the rounds until enough came together."""
        rounds = -(-largest_bytes // self.weights[number])
        others = self._others(number)
        return Fraction((rounds + 1) * sum(others) + len(others) * largest_bytes)


def halving_quanta(classes: int, smallest_bytes: int) -> tuple[int, ...]:
    """Return quanta of which each is twice the next lower class's; raises InputError for a quantum of 0."""
    if smallest_bytes < 1:
        raise InputError(f"smallest quantum must be at least 1 byte, got {smallest_bytes}")
    return tuple(smallest_bytes << (classes - 1 - number) for number in range(classes))
