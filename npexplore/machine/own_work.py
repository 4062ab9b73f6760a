"""Where strands of one packet's own work meet, so that even a packet alone takes longer than its steps add up to.

    wait at a server     at most the time for which the spans of two strands there overlap, and what each does there
    parts at random      E max(A, B, ..) - max(E A, E B, ..), parts as shifted exponential times of their two moments

Strands are the program or a visit, what it forks, and the parts that it runs side by side. Times are numbers, or arrays
over packets.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

AT_RANDOM = "parallel parts take random times"
GRID = 400  # points of the integral
SPANS = 12.0  # standard deviations up to which it reaches


@dataclass
class Span:
    """What one strand does at a server: from when to when, and for how long in all (seconds a packet)."""

    begin: Any
    end: Any
    seconds: Any


@dataclass
class OwnWork:
    """Visits of single servers by strand, and the variance of the packet's time by chance so far.

    strand: the number of the present one. posted: those that nobody waits for. longer: by what happens, the seconds
    that a packet alone may take more.
    """

    strand: int = 0
    strands: int = 0
    posted: set[int] = field(default_factory=set)
    chance: float = 0.0
    spans: dict[str, dict[int, Span]] = field(default_factory=dict)
    longer: dict[str, Any] = field(default_factory=dict)

    def enter(self, posted: bool = False) -> int:
        """Begin a strand; return the number of the one that goes on beside it. posted: nobody waits for its end."""
        before, self.strands = self.strand, self.strands + 1
        self.strand = self.strands
        if posted or before in self.posted:
            self.posted.add(self.strand)
        return before

    def visit(self, server: str, begin: Any, seconds: Any, share: Any) -> None:
        """Note a visit of a server of one unit. seconds: of one who comes, share: of packets, over its members."""
        table = self.spans.setdefault(server, {})
        span = table.setdefault(self.strand, Span(begin, begin, 0.0))
        span.begin, span.end = np.minimum(span.begin, begin), np.maximum(span.end, begin + seconds)
        span.seconds = span.seconds + seconds * share

    def add(self, what: str, seconds: Any) -> None:
        """Note that a packet alone may take longer."""
        self.longer[what] = self.longer.get(what, 0.0) + seconds

    def parts(self, means: Sequence[float], variances: Sequence[float], share: float) -> None:
        """Note parts that run side by side, with the means and variances of their times."""
        if sum(variances) > 0:
            self.add(AT_RANDOM, (expected_maximum(means, variances) - max(means)) * share)

    def settle(self) -> dict[str, Any]:
        """Return `longer` with the waits of all strands for each other."""
        for server, table in self.spans.items():
            for (first, one), (second, other) in combinations(table.items(), 2):
                if {first, second} <= self.posted:
                    continue  # they delay each other, and not the packet
                overlap = np.minimum(one.end, other.end) - np.maximum(one.begin, other.begin)
                wait = np.maximum(np.minimum(np.minimum(overlap, one.seconds), other.seconds), 0.0)
                if np.any(wait > 0):
                    self.add(f"work that a packet does side by side meets at {server!r}", wait)
        return self.longer


def expected_maximum(means: Sequence[float], variances: Sequence[float]) -> float:
    """Return the mean of the largest of independent times, each a constant and an exponential time of its variance."""
    deviations = np.sqrt(np.asarray(variances, dtype=np.float64))
    least = np.asarray(means, dtype=np.float64) - deviations
    low, high = float(least.max()), float(max(np.max(means), np.max(least + SPANS * deviations)))
    t = np.linspace(low, high, GRID)
    above = np.maximum(t[:, None] - least, 0.0)
    below = np.where(deviations > 0, -np.expm1(-above / np.where(deviations > 0, deviations, 1.0)), 1.0)
    return low + float(np.trapezoid(1.0 - below.prod(axis=1), t))
