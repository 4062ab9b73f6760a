"""When frames leave a link of finite speed: one after the other, first in, first out, nothing lost.

A frame takes the link for preamble (8 bytes), itself (padded to 60) and check sequence (4), and has left with its last
bit; the gap of 12 bytes follows (IEEE 802.3 clauses 3.1.1, 3.2.8, 4.4.2). Exact in whole nanoseconds, rounded up.
"""

from collections.abc import Iterable
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_forward as kernels

PREAMBLE, SHORTEST, CHECK, GAP = 8, 60, 4, 12  # bytes
_SECOND = 1_000_000_000


def departure_times(frames: Iterable[tuple[int, int]], rate_bps: int) -> list[int]:
    """Return when each frame (arrival in ns, bytes without check sequence) has left a link: the reference."""
    free, out = Fraction(0), []
    for arrival_ns, size in frames:
        free = max(free, Fraction(arrival_ns))
        free += Fraction(8 * (PREAMBLE + max(size, SHORTEST) + CHECK) * _SECOND, rate_bps)
        out.append(ceil(free))
        free += Fraction(8 * GAP * _SECOND, rate_bps)
    return out


class Link:
    """A link of a rate in bit/s that remembers until when it is busy; `departures` is the batch form."""

    def __init__(self, rate_bps: float) -> None:
        self.rate_bps = max(1, round(rate_bps))
        self._taken = np.zeros(2, np.int64)

    def departures(self, arrival_ns: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return when each frame has left, those of earlier calls before them."""
        out = np.empty(len(size), np.int64)
        kernels.departures(arrival_ns, size, self.rate_bps, PREAMBLE, GAP, SHORTEST, CHECK, self._taken, out)
        return out
