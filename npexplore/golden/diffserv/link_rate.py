"""Departure times of frames from a link of finite rate: first in, first out, without loss.

A frame occupies the link for its preamble (8 bytes), itself (padded to 60) and its check sequence (4); it departs with
its last bit, and a gap of 12 bytes follows (IEEE 802.3 clauses 3.1.1, 3.2.8, 4.4.2). Exact, rounded up to whole ns.
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
    """Return the departure time in ns of each frame (arrival in ns, bytes without check sequence): the reference."""
    free_ns, departures = Fraction(0), []
    for arrival_ns, size in frames:
        free_ns = max(free_ns, Fraction(arrival_ns))
        free_ns += Fraction(8 * (PREAMBLE + max(size, SHORTEST) + CHECK) * _SECOND, rate_bps)
        departures.append(ceil(free_ns))
        free_ns += Fraction(8 * GAP * _SECOND, rate_bps)
    return departures


class Link:
    """A link with a rate in bit/s and the state of its transmission; `departures` is the batch form."""

    def __init__(self, rate_bps: float) -> None:
        self.rate_bps = max(1, round(rate_bps))
        self._taken = np.zeros(2, np.int64)

    def departures(self, arrival_ns: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the departure time in ns of each frame, after all frames of earlier calls."""
        out = np.empty(len(size), np.int64)
        kernels.departures(arrival_ns, size, self.rate_bps, PREAMBLE, GAP, SHORTEST, CHECK, self._taken, out)
        return out
