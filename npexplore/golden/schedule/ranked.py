"""Schedulers defined by one function, the rank of a packet at enqueue: the smallest first, then the higher class.

Push-in first-out (Sivaraman et al., Programmable packet scheduling at line rate, ACM SIGCOMM 2016), first in first out
within a class. A rank is an integer computed with `+ - *` and `q.larger`, so that one function serves the golden
router, the event engine's rows (rows/disciplines.py) and the tests. It reads

    q.virtual     the rank of the packet sent last; 0 when no packet waits, and then q.last is 0, too
    q.last[k]     a number that the function stores for class k
    q.weight[k]   the weight of class k;  q.step[k] = lcm(weights) / weight
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, MutableSequence, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Protocol

from npexplore.golden.schedule.base import QueuedPacket, Scheduler


class RankQueues(Protocol):
    """The inputs of a rank: numbers in the golden router, expressions in the engine."""

    virtual: Any
    last: Any
    weight: Any
    step: Any

    def larger(self, one: Any, other: Any, /) -> Any:
        """Return the larger of two numbers."""


Rank = Callable[[Any, Any, Any], Any]  # (queues, class, bytes) -> the rank of a packet that joins
RANKED: dict[str, type[Ranked]] = {}  # by the name of the function


class Ranked(Scheduler):
    """A scheduler that sends the packet with the smallest rank."""

    rank: ClassVar[staticmethod[[Any, Any, Any], Any]]
    between: ClassVar[staticmethod[[int, int, int], Fraction] | None] = None  # unfairness: (largest bytes, two weights)

    def __init__(
        self, weights: Sequence[int], bytes_per_ns: Fraction = Fraction(1), overhead_bytes: int = 0
    ) -> None:  # fmt: skip
        super().__init__(weights, bytes_per_ns, overhead_bytes)
        self.weight, self.step = self.weights, [math.lcm(*weights) // weight for weight in weights]
        self.ranks: tuple[deque[int], ...] = tuple(deque() for _ in weights)
        self.last: MutableSequence[int] = [0] * len(weights)
        self.virtual = 0

    @staticmethod
    def larger(one: int, other: int) -> int:
        """Return the larger of two numbers."""
        return max(one, other)

    def joins(self, number: int, packet: QueuedPacket) -> None:
        """Compute and store the packet's rank."""
        if not self.backlog:
            self.virtual, self.last = 0, [0] * len(self.last)
        self.ranks[number].append(type(self).rank(self, number, packet.length_bytes))

    def choose(self, now: int) -> int:
        """Return the class whose first packet has the smallest rank."""
        return min((ranks[0], number) for number, ranks in enumerate(self.ranks) if ranks)[1]

    def left(self, number: int, packet: QueuedPacket) -> None:
        """Set the virtual time to the packet's rank."""
        self.virtual = self.ranks[number].popleft()

    def unfairness(self, one: int, other: int, largest_bytes: int) -> Fraction | None:
        """Return the bound of the scheduler's paper."""
        bound = type(self).between
        return None if bound is None else bound(largest_bytes, self.weights[one], self.weights[other])


def ranked(
    weight: str, unfairness: Callable[[int, int, int], Fraction] | None = None
) -> Callable[[Rank], type[Ranked]]:
    """Return a decorator that makes a rank function a scheduler, listed under the function's name.

    weight: the meaning of a weight, for messages. unfairness: see `Ranked.between`.
    """

    def listed(rank: Rank) -> type[Ranked]:
        members = {"WEIGHT": weight, "rank": staticmethod(rank), "__doc__": rank.__doc__, "__module__": rank.__module__}
        if unfairness is not None:
            members["between"] = staticmethod(unfairness)
        RANKED[rank.__name__] = discipline = type(rank.__name__, (Ranked,), members)
        return discipline

    return listed


def packet_of_each(largest_bytes: int, one: int, other: int) -> Fraction:
    """Return the bound L / weight + L / weight for a largest packet of L bytes."""
    return Fraction(largest_bytes, one) + Fraction(largest_bytes, other)


@ranked("weight (share of bytes)", unfairness=packet_of_each)
def sfq(q: RankQueues, k: Any, size: Any) -> Any:
    """Start-time fair queueing by S = max(v, F of the previous packet in its class), F = S + length / weight.

    The smallest S goes first. Goyal, Vin and Cheng, ACM SIGCOMM 1996; theorem 1 is the bound on unfairness.
    """
    start = q.larger(q.virtual, q.last[k])
    q.last[k] = start + size * q.step[k]
    return start
