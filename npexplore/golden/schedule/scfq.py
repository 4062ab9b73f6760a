"""Self-clocked fair queueing (Golestani, IEEE INFOCOM 1994): the smallest service tag goes first.

F = max(v, F of the packet before it in its class) + length / weight; v is the tag of the packet that was sent last.
When nothing waits, v and tags begin anew at 0. Tags are whole: each class's step is lcm(weights) / weight.
"""

import math
from collections import deque
from collections.abc import Sequence
from fractions import Fraction

from npexplore._kernels import golden_diffserv as kernels
from npexplore.golden.schedule.base import QueuedPacket, Scheduler


class SelfClockedFairQueueing(Scheduler):
    """Of equal tags the higher class goes first.

    Example:
        >>> from npexplore.golden import SelfClockedFairQueueing
        >>> SelfClockedFairQueueing([3, 1]).weights
        (3, 1)
    """

    WEIGHT = "weight (share of bytes)"
    KIND = kernels.SCFQ

    def __init__(
        self, weights: Sequence[int], bytes_per_ns: Fraction = Fraction(1), overhead_bytes: int = 0
    ) -> None:  # fmt: skip
        super().__init__(weights, bytes_per_ns, overhead_bytes)
        self.steps = [math.lcm(*weights) // weight for weight in weights]
        self.tags: tuple[deque[int], ...] = tuple(deque() for _ in weights)
        self.last = [0] * len(weights)
        self.virtual = 0

    def joins(self, number: int, packet: QueuedPacket) -> None:
        """Give the packet its tag."""
        if not self.backlog:
            self.virtual, self.last = 0, [0] * len(self.last)
        self.last[number] = max(self.virtual, self.last[number]) + packet.length_bytes * self.steps[number]
        self.tags[number].append(self.last[number])

    def choose(self, now: int) -> int:
        """Return the class whose first packet has the smallest tag."""
        return min((tags[0], number) for number, tags in enumerate(self.tags) if tags)[1]

    def left(self, number: int, packet: QueuedPacket) -> None:
        """Set the clock to the packet's tag."""
        self.virtual = self.tags[number].popleft()

    def unfairness(self, one: int, other: int, largest_bytes: int) -> Fraction:
        """Return a largest packet of either class (theorem 1 there)."""
        return Fraction(largest_bytes, self.weights[one]) + Fraction(largest_bytes, self.weights[other])

    def starvation_bytes(self, number: int, largest_bytes: int) -> Fraction:
        """Return what others get while the clock advances by the packet's own step, and a packet of each."""
        others = self._others(number)
        return Fraction(sum(others) * largest_bytes, self.weights[number]) + len(others) * largest_bytes
