"""Packets and bytes over time in bounded memory: bins of 2^k ns, merged in pairs as the capture gets longer.

index of dispersion at bin width w:  IDC(w) = Var[N_w] / E[N_w]   (1 for Poisson at every w)
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels.capture_counts import NO_TIME, count_bins
from npexplore.display import ShownByArguments
from npexplore.errors import InputError
from npexplore.records import by_content
from npexplore.units import whole_nanoseconds

BINS = 1 << 16
MOST_BINS = 10**8
FINEST_SHIFT = 10  # 1024 ns


@by_content
@dataclass(frozen=True)
class RateSeries:
    """Packets and bytes in consecutive bins, from the one with the earliest packet to the one with the latest.

    Bin k covers width_ns from start_ns + k width_ns on; the capture covers the first and the last bin only in part.

    Example:
        >>> import numpy as np
        >>> from npexplore.packets import rate_over_time
        >>> series = rate_over_time(np.array([0, 5_000_000]), np.array([64, 1500]), 0.001)
        >>> int(series.packets.sum())
        2
    """

    start_ns: int
    width_ns: int
    packets: NDArray[np.int64]
    bytes: NDArray[np.int64]

    def coarser(self, factor: int) -> "RateSeries":
        """Return the series with `factor` bins joined into one; an incomplete last group is dropped."""
        count = len(self.packets) // factor
        joined = [values[: count * factor].reshape(count, factor).sum(axis=1) for values in (self.packets, self.bytes)]
        return RateSeries(self.start_ns, self.width_ns * factor, *joined)

    def dispersion(self, least_bins: int = 30) -> list[tuple[float, float]]:
        """Return (bin width in seconds, index of dispersion of the packet counts) at widths that double.

        Only whole bins count, and only widths at which the capture has at least `least_bins` bins.
        """
        inner = RateSeries(self.start_ns, self.width_ns, self.packets[1:-1], self.bytes[1:-1])
        rows: list[tuple[float, float]] = []
        factor = 1
        while len(inner.packets) // factor >= least_bins:
            counts = inner.coarser(factor).packets
            if counts.any():
                rows.append((inner.width_ns * factor * 1e-9, float(counts.var(ddof=1) / counts.mean())))
            factor *= 2
        return rows

    def peak(self, least_s: float = 0.0) -> tuple[float, float, float]:
        """Return (bin width in seconds, highest packets/s, highest bit/s) over bins of at least `least_s` seconds."""
        factor = 1
        while self.width_ns * factor * 1e-9 < least_s:
            factor *= 2
        padding = -len(self.packets) % factor
        width = self.width_ns * factor * 1e-9
        highest = [
            np.pad(values, (0, padding)).reshape(-1, factor).sum(axis=1).max() for values in (self.packets, self.bytes)
        ]
        return width, float(highest[0] / width), float(highest[1] * 8 / width)


def rate_over_time(t_ns: NDArray[np.int64], length: NDArray[np.uint32], bin_s: float) -> RateSeries:
    """Return packets and bytes in bins of equal width, the first of which starts with the earliest packet.

    Args:
        t_ns: time stamps, ns since 1970, int64 (n,); packets without one are left out.
        length: bytes of each packet on the wire, uint32 (n,).
        bin_s: width of a bin, seconds; at least a nanosecond.

    Raises:
        InputError: a width below a nanosecond or with more than 10^8 bins; no packet has a time stamp.
    """
    width = whole_nanoseconds("bin", bin_s)
    timed = t_ns != NO_TIME
    if width < 1 or not timed.any():
        raise InputError(f"a rate over time needs packets with time stamps and a bin of at least 1 ns, got {bin_s} s")
    start = int(t_ns[timed].min())
    bins = (int(t_ns[timed].max()) - start) // width + 1
    if bins > MOST_BINS:
        raise InputError(f"a bin of {bin_s} s makes {bins:,} bins of this capture; at most {MOST_BINS:,} are allowed")
    at = (t_ns[timed] - start) // width
    octets = np.zeros(bins, np.int64)
    np.add.at(octets, at, length[timed])
    return RateSeries(start, width, np.bincount(at, minlength=bins), octets)


class RateCounter(ShownByArguments):
    """Counts packets chunk by chunk; the bin width is the smallest power of two (>= 1024 ns) that covers the time span.

    Example:
        >>> from npexplore.packets import RateCounter
        >>> RateCounter(bins=64)
        RateCounter(bins=64)
    """

    def __init__(self, bins: int = BINS) -> None:
        self._shift = FINEST_SHIFT
        self._first: int | None = None
        self._packets = np.zeros(bins, np.int64)
        self._bytes = np.zeros(bins, np.int64)

    def add(self, t_ns: NDArray[np.int64], length: NDArray[np.uint32]) -> None:
        """Count packets; they may be in any order of time."""
        if self._first is None:
            timed = t_ns[t_ns != NO_TIME]
            if not len(timed):
                return
            self._first = int(timed[0]) >> self._shift
        done = count_bins(self._packets, self._bytes, self._first, self._shift, 0, t_ns, length)
        if done < len(t_ns):
            remaining_times = t_ns[done:]
            remaining_times = remaining_times[remaining_times != NO_TIME]
            self._make_room(
                int(remaining_times.min()), int(remaining_times.max())
            )  # once for the whole chunk: each call moves all bins
            count_bins(self._packets, self._bytes, self._first, self._shift, done, t_ns, length)

    def merge(self, other: "RateCounter") -> None:
        """Add the counts of another counter; bins become as wide as if this one had counted all packets."""
        if other._first is None:
            return
        used = np.flatnonzero(other._packets)
        low, high = (other._first + int(used[end]) << other._shift for end in (0, -1))
        if self._first is None:
            self._first, self._shift = low >> other._shift, other._shift
        self._make_room(low, high, least=other._shift)
        at = ((used + other._first) >> (self._shift - other._shift)) - self._first
        np.add.at(self._packets, at, other._packets[used])
        np.add.at(self._bytes, at, other._bytes[used])

    def _make_room(self, earliest: int, latest: int, least: int = 0) -> None:
        """Move and coarsen the bins (to 2^least ns or more) until all used bins and the two times fit."""
        assert self._first is not None
        used = np.flatnonzero(self._packets)
        low, high = earliest >> self._shift, latest >> self._shift
        if len(used):
            low, high = min(low, self._first + int(used[0])), max(high, self._first + int(used[-1]))
        steps = max(0, least - self._shift)
        while (high >> steps) - (low >> steps) >= len(self._packets):
            steps += 1
        first_bin = low >> steps
        at = ((used + self._first) >> steps) - first_bin
        for bins in (self._packets, self._bytes):
            counted = bins[used]
            bins[:] = 0
            np.add.at(bins, at, counted)
        self._first, self._shift = first_bin, self._shift + steps

    def state(self) -> NDArray[np.int64]:
        """Return the complete state: a row (first bin, shift, bins), then (bin, packets, bytes) of each used bin."""
        used = np.flatnonzero(self._packets)
        head = [] if self._first is None else [[self._first, self._shift, len(self._packets)]]
        bins = np.stack([used, self._packets[used], self._bytes[used]], axis=1)
        return np.concatenate([np.array(head, np.int64).reshape(-1, 3), bins])

    @classmethod
    def of_state(cls, state: NDArray[np.int64]) -> "RateCounter":
        """Return the counter that a `state` describes."""
        if not len(state):
            return cls()
        first_bin, shift, bins = state[0].tolist()
        counter = cls(bins)
        counter._first, counter._shift = first_bin, shift
        counter._packets[state[1:, 0]], counter._bytes[state[1:, 0]] = state[1:, 1], state[1:, 2]
        return counter

    def series(self) -> RateSeries | None:
        """Return the counts so far, None before the first packet with a time stamp."""
        used = np.flatnonzero(self._packets)
        if self._first is None or not len(used):
            return None
        low, high = int(used[0]), int(used[-1]) + 1
        start = (self._first + low) << self._shift
        return RateSeries(start, 1 << self._shift, self._packets[low:high].copy(), self._bytes[low:high].copy())
