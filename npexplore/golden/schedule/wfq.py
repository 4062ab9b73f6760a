"""Weighted fair queueing by virtual time (Demers, Keshav, Shenker 1989; Parekh and Gallager, IEEE/ACM ToN 1(3), 1993).

The ideal server (GPS) serves all backlogged classes in parallel, by weight; its virtual time V grows at rate R / sum of
their weights. F = max(V(arrival), F of the previous packet in its class) + length / weight; the smallest F goes first.
A packet finishes at most one largest packet's time later than under the ideal server.
"""

from collections import deque
from collections.abc import Sequence
from fractions import Fraction

from npexplore.golden.schedule.base import QueuedPacket, Scheduler


class WeightedFairQueueing(Scheduler):
    """Weighted fair queueing, the reference for fairness: exact fractions, no kernel. Arrival times must not decrease.

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
        self.last = [Fraction(0)] * len(weights)  # finish tag: the class is backlogged in GPS until V reaches it
        self.virtual = Fraction(0)
        self.time = Fraction(0)

    def advance(self, time: int) -> None:
        """Advance the ideal server to a time: the slope of V changes whenever a class becomes empty there."""
        while True:
            backlogged = [number for number, finish_tag in enumerate(self.last) if finish_tag > self.virtual]
            if not backlogged:
                break
            slope = self.bytes_per_ns / sum(self.weights[number] for number in backlogged)
            next_tag = min(self.last[number] for number in backlogged)
            tag_time = self.time + (next_tag - self.virtual) / slope
            if tag_time > time:
                self.virtual += (time - self.time) * slope
                break
            self.virtual, self.time = next_tag, tag_time
        self.time = Fraction(time)

    def joins(self, number: int, packet: QueuedPacket) -> None:
        """Compute and store the packet's finish tag."""
        self.advance(packet.time_ns)
        size = packet.length_bytes + self.overhead_bytes
        self.last[number] = max(self.virtual, self.last[number]) + Fraction(size, self.weights[number])
        self.tags[number].append(self.last[number])

    def choose(self, now: int) -> int:
        """Return the class whose first packet has the smallest finish tag."""
        return min((tags[0], number) for number, tags in enumerate(self.tags) if tags)[1]

    def left(self, number: int, packet: QueuedPacket) -> None:
        """Remove the packet's tag."""
        self.tags[number].popleft()

    def starvation_bytes(self, number: int, largest_bytes: int) -> Fraction:
        """Return the bytes that the link sends until the ideal server has caught up with this class.

        A class may be (classes - 1) largest packets ahead of the ideal server, and its packet is one more. The ideal
        server serves them at least at the class's share, and the packet finishes at most one largest packet later.
        """
        share = Fraction(self.weights[number], sum(self.weights))
        return len(self.weights) * largest_bytes / share + largest_bytes
