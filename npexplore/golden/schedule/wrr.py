"""Weighted round robin: each class in turn sends up to `weight` packets of any length."""

from collections.abc import Sequence
from fractions import Fraction

from npexplore._kernels import golden_diffserv as kernels
from npexplore.golden.schedule.base import QueuedPacket, Scheduler


class WeightedRoundRobin(Scheduler):
    """Weighted round robin by packets: a class with longer packets gets more bytes.

    Example:
        >>> from npexplore.golden import WeightedRoundRobin
        >>> WeightedRoundRobin([3, 1]).starvation_bytes(1, 1500)
        Fraction(4500, 1)
    """

    WEIGHT = "weight (packets a turn)"
    KIND = kernels.WRR
    IN_PACKETS = True

    def __init__(
        self, weights: Sequence[int], bytes_per_ns: Fraction = Fraction(1), overhead_bytes: int = 0
    ) -> None:  # fmt: skip
        super().__init__(weights, bytes_per_ns, overhead_bytes)
        self.current = 0
        self.left_over = weights[0]

    def choose(self, now: int) -> int:
        """Return the class at its turn, or the next class with a packet."""
        while not self.queues[self.current] or self.left_over == 0:
            self.current = (self.current + 1) % len(self.queues)
            self.left_over = self.weights[self.current]
        return self.current

    def left(self, number: int, packet: QueuedPacket) -> None:
        """Decrement the packets left in this turn."""
        self.left_over -= 1

    def unfairness(self, one: int, other: int, largest_bytes: int) -> Fraction:
        """Return the bound of one turn: turns alternate, and only the first and the last may be partial."""
        return Fraction(1)

    def starvation_bytes(self, number: int, largest_bytes: int) -> Fraction:
        """Return the bytes of one turn of each other class."""
        return Fraction(sum(self._others(number)) * largest_bytes)
