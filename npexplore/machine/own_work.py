"""Bounds on the delay that concurrent activities of one packet (strands) cause each other, without other packets.

    wait at a server           at most the time for which two strands overlap there, and the time of each there
    parts with random times    E max(A, B, ..) - max(E A, E B, ..), each part a shifted exponential of its two moments

Strands are the program or visit itself, each piece of work that it forks, and each of its parallel parts. Times are
numbers, or arrays over packets.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

AT_RANDOM = "parallel parts take random times"
GRID = 400  # points of the integral
SPANS = 12.0  # upper limit of the integral, in standard deviations


@dataclass
class Span:
    """Visits of one strand to a server: start of the first, end of the last, and total seconds per packet."""

    begin: Any
    end: Any
    seconds: Any


@dataclass
class OwnWork:
    """Visits of the strands of a packet to servers of one unit.

    strand: the number of the current strand. posted: strands that the packet does not wait for. longer: by reason,
    the seconds by which a packet without contention may take longer than its steps.
    """

    strand: int = 0
    strands: int = 0
    posted: set[int] = field(default_factory=set)
    chance: float = 0.0
    spans: dict[str, dict[int, Span]] = field(default_factory=dict)
    longer: dict[str, Any] = field(default_factory=dict)

    def enter(self, posted: bool = False) -> int:
        """Begin a strand; return the number of the strand that started it. posted: the packet does not wait for it."""
        outer, self.strands = self.strand, self.strands + 1
        self.strand = self.strands
        if posted or outer in self.posted:
            self.posted.add(self.strand)
        return outer

    def visit(self, server: str, begin: Any, seconds: Any, share: Any) -> None:
        """Note a visit to a server of one unit. seconds: per visiting packet. share: of packets, per member."""
        table = self.spans.setdefault(server, {})
        span = table.setdefault(self.strand, Span(begin, begin, 0.0))
        span.begin, span.end = np.minimum(span.begin, begin), np.maximum(span.end, begin + seconds)
        span.seconds = span.seconds + seconds * share

    def add(self, what: str, seconds: Any) -> None:
        """Add seconds by which a packet without contention may take longer; what: the reason."""
        self.longer[what] = self.longer.get(what, 0.0) + seconds

    def parts(self, means: Sequence[float], variances: Sequence[float], share: float) -> None:
        """Note parallel parts with the means and variances of their times."""
        if sum(variances) > 0:
            self.add(AT_RANDOM, (expected_maximum(means, variances) - max(means)) * share)

    def settle(self) -> dict[str, Any]:
        """Return `longer` with the waits of the strands for each other added."""
        for server, table in self.spans.items():
            for (first, span), (second, later) in combinations(table.items(), 2):
                if {first, second} <= self.posted:
                    continue  # the packet waits for neither
                overlap = np.minimum(span.end, later.end) - np.maximum(span.begin, later.begin)
                wait = np.maximum(np.minimum(np.minimum(overlap, span.seconds), later.seconds), 0.0)
                if np.any(wait > 0):
                    self.add(f"work that a packet does side by side meets at {server!r}", wait)
        return self.longer


def expected_maximum(means: Sequence[float], variances: Sequence[float]) -> float:
    """Return the mean of the maximum of independent times, each a constant plus an exponential of its variance."""
    deviations = np.sqrt(np.asarray(variances, dtype=np.float64))
    least = np.asarray(means, dtype=np.float64) - deviations
    low, high = float(least.max()), float(max(np.max(means), np.max(least + SPANS * deviations)))
    t = np.linspace(low, high, GRID)
    above = np.maximum(t[:, None] - least, 0.0)
    below = np.where(deviations > 0, -np.expm1(-above / np.where(deviations > 0, deviations, 1.0)), 1.0)
    return low + float(np.trapezoid(1.0 - below.prod(axis=1), t))
