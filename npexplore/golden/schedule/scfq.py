"""Self-clocked fair queueing (Golestani, IEEE INFOCOM 1994): the smallest service tag goes first.

F = max(v, F of the previous packet in its class) + length / weight; v is the tag of the packet sent last. When no
packet waits, v and the tags are reset to 0. Tags are integers: the step of a class is lcm(weights) / weight.
"""

from fractions import Fraction
from typing import Any

from npexplore._kernels import golden_diffserv as kernels
from npexplore.golden.schedule.ranked import Ranked, RankQueues, packet_of_each


def finish_tag(q: RankQueues, k: Any, size: Any) -> Any:
    """Return the service tag of a packet that joins class k."""
    tag = q.larger(q.virtual, q.last[k]) + size * q.step[k]
    q.last[k] = tag
    return tag


class SelfClockedFairQueueing(Ranked):
    """Self-clocked fair queueing; of equal tags the higher class goes first.

    Example:
        >>> from npexplore.golden import SelfClockedFairQueueing
        >>> SelfClockedFairQueueing([3, 1]).weights
        (3, 1)
    """

    WEIGHT = "weight (share of bytes)"
    KIND = kernels.SCFQ
    rank = staticmethod(finish_tag)
    between = staticmethod(packet_of_each)  # theorem 1 of Golestani

    def starvation_bytes(self, number: int, largest_bytes: int) -> Fraction:
        """Return the others' service while v advances by the packet's own step, plus a largest packet of each."""
        other_weights = self._others(number)
        return Fraction(sum(other_weights) * largest_bytes, self.weights[number]) + len(other_weights) * largest_bytes
