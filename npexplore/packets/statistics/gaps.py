"""Times between packets in bounded memory: a histogram with bins of a 64th of an octave, at most 1.6 % of a time.

A gap g >= 64 ns with 2^e <= g < 2^(e + 1) falls into bin 64 (e - 5) + floor(g / 2^(e - 6)) - 64; each shorter gap
(whole ns) has its own bin.
"""

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels.capture_records import NO_TIME
from npexplore.display import ShownByArguments

BINS = 64 * 59


class GapCounter(ShownByArguments):
    """Counts the times between consecutive packets of a capture; steps backwards are left out.

    Example:
        >>> from npexplore.packets import CaptureScan, GapCounter
        >>> gaps = GapCounter()
        >>> import numpy as np
        >>> gaps.add(np.array([0, 1000, 3000]))
        >>> len(gaps.histogram()) > 0
        True
    """

    def __init__(self) -> None:
        self._packets = np.zeros(BINS, np.int64)
        self._longest = np.zeros(BINS, np.int64)
        self._last: int | None = None
        self.total_ns = 0

    def add(self, t_ns: NDArray[np.int64]) -> None:
        """Count the gaps between packets up to these; packets without a time stamp are left out."""
        timed = t_ns[t_ns != NO_TIME]
        if not len(timed):
            return
        gaps = np.diff(timed, prepend=timed[0] if self._last is None else self._last)[self._last is None :]
        self._last = int(timed[-1])
        gaps = gaps[gaps >= 0]
        # sum in two halves: with damaged time stamps a sum of 64 bits may overflow
        self.total_ns += (int((gaps >> 31).sum()) << 31) + int((gaps & (1 << 31) - 1).sum())
        at = bins_of(gaps)
        self._packets += np.bincount(at, minlength=BINS)
        np.maximum.at(self._longest, at, gaps)

    def histogram(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the longest gap (ns) and the number of gaps of each nonempty bin, shortest first."""
        used = np.flatnonzero(self._packets)
        return self._longest[used], self._packets[used]


def bins_of(gaps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of each gap's bin."""
    exponent = np.frexp(np.maximum(gaps, 64).astype(float))[1].astype(np.int64) - 1
    exponent -= gaps >> np.minimum(exponent, 62) == 0  # the conversion may have rounded up to the next power
    exponent = np.maximum(exponent, 6)
    return np.asarray(np.where(gaps < 64, gaps, 64 * (exponent - 5) + (gaps >> (exponent - 6)) - 64), dtype=np.int64)
