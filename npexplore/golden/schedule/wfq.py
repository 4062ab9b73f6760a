"""Weighted fair queueing by virtual time (Demers, Keshav, Shenker 1989; Parekh and Gallager, IEEE/ACM ToN 1(3), 1993).

The ideal server (GPS) serves all classes that have packets at once, by weight; its virtual time grows at rate
R / sum of their weights. F = max(V(arrival), F of the packet before it in its class) + length / weight; the smallest F
goes first. A packet is done at most one largest packet's time later than under the ideal server.
"""

from collections import deque
from collections.abc import Sequence
from fractions import Fraction

from npexplore.golden.schedule.base import QueuedPacket, Scheduler


class WeightedFairQueueing(Scheduler):
    """The reference for fairness: exact fractions, no kernel. Arrival times of packets must not go back.

    Example:
        >>> from npexplore.golden import WeightedFairQueueing
        >>> WeightedFairQueueing([3, 1]).weights
        (3, 1)
    """

    WEIGHT = "weight (share of bytes)"

    def __init__(
        self, weights: Sequence[int], bytes_per_ns: Fraction = Fraction(1), overhead_bytes: int = 0
    ) -> None:  # fmt: skip
        super().__init__(weights, bytes_per_ns, overhead_bytes)
        self.tags: tuple[deque[Fraction], ...] = tuple(deque() for _ in weights)
        self.last = [Fraction(0)] * len(weights)  # a class is busy in the ideal server until V reaches this
        self.virtual = Fraction(0)
        self.time = Fraction(0)

    def advance(self, time: int) -> None:
        """Let the ideal server run until a time: V bends whenever a class runs empty there."""
        while True:
            busy = [number for number, last in enumerate(self.last) if last > self.virtual]
            if not busy:
                break
            slope = self.bytes_per_ns / sum(self.weights[number] for number in busy)
            first = min(self.last[number] for number in busy)
            reached = self.time + (first - self.virtual) / slope
            if reached > time:
                self.virtual += (time - self.time) * slope
                break
            self.virtual, self.time = first, reached
        self.time = Fraction(time)

    def joins(self, number: int, packet: QueuedPacket) -> None:
        """Give the packet its finish tag."""
        self.advance(packet.time_ns)
        size = packet.length_bytes + self.overhead_bytes
        self.last[number] = max(self.virtual, self.last[number]) + Fraction(size, self.weights[number])
        self.tags[number].append(self.last[number])

    def choose(self, now: int) -> int:
        """Return the class whose first packet has the smallest finish tag."""
        return min((tags[0], number) for number, tags in enumerate(self.tags) if tags)[1]

    def left(self, number: int, packet: QueuedPacket) -> None:
        """Forget the packet's tag."""
        self.tags[number].popleft()

    def starvation_bytes(self, number: int, largest_bytes: int) -> Fraction:
        """Return what the whole link sends while the ideal server makes up for how far this class may be ahead of it.

        A class is at most (classes - 1) largest packets ahead, and its packet one more; the ideal server works that off
        at least at the class's share, and the packet is done at most one largest packet later.
        """
        share = Fraction(self.weights[number], sum(self.weights))
        return len(self.weights) * largest_bytes / share + largest_bytes
