"""Deficit round robin (Shreedhar and Varghese, IEEE/ACM ToN 4(3), 1996).

At its turn a class gets its quantum, sends while its first packet fits its deficit, and goes to the end of the list. A
class that becomes empty loses its deficit.
"""

from collections import deque
from collections.abc import Sequence
from fractions import Fraction

from npexplore._kernels import golden_diffserv as kernels
from npexplore.golden.schedule.base import QueuedPacket, Scheduler


class DeficitRoundRobin(Scheduler):
    """Deficit round robin; classes with packets are in a list, in the order in which they became backlogged.

    Example:
        >>> from npexplore.golden import DeficitRoundRobin
        >>> DeficitRoundRobin([1500, 500]).starvation_bytes(1, 1500)
        Fraction(6000, 1)
    """

    WEIGHT = "quantum (bytes)"
    KIND = kernels.DRR
    IN_BYTES = True

    def __init__(
        self, weights: Sequence[int], bytes_per_ns: Fraction = Fraction(1), overhead_bytes: int = 0
    ) -> None:  # fmt: skip
        super().__init__(weights, bytes_per_ns, overhead_bytes)
        self.active: deque[int] = deque()
        self.deficit = [0] * len(weights)
        self.turn_begins = True

    def joins(self, number: int, packet: QueuedPacket) -> None:
        """Append a class that becomes backlogged to the list."""
        if not self.queues[number]:
            self.active.append(number)

    def choose(self, now: int) -> int:
        """Return the class at its turn whose deficit covers its first packet."""
        while True:
            number = self.active[0]
            if self.turn_begins:
                self.deficit[number] += self.weights[number]
                self.turn_begins = False
            if self.head_bytes(number) <= self.deficit[number]:
                return number
            self.active.rotate(-1)
            self.turn_begins = True

    def left(self, number: int, packet: QueuedPacket) -> None:
        """Subtract the packet from the deficit; an empty class leaves the list and loses its deficit."""
        self.deficit[number] -= packet.length_bytes
        if not self.queues[number]:
            self.deficit[number] = 0
            self.active.popleft()
            self.turn_begins = True

    def unfairness(self, one: int, other: int, largest_bytes: int) -> Fraction:
        """Return the bound of one turn, plus a deficit below the largest packet in each class (theorem 4.2)."""
        return 1 + Fraction(largest_bytes, self.weights[one]) + Fraction(largest_bytes, self.weights[other])

    def starvation_bytes(self, number: int, largest_bytes: int) -> Fraction:
        """Return the bytes of the other classes' turns until this class has collected enough quanta."""
        turns = -(-largest_bytes // self.weights[number])
        other_weights = self._others(number)
        return Fraction(turns * sum(other_weights) + len(other_weights) * largest_bytes)
