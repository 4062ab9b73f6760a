"""Distribution of lengths in bounded memory: one counter per length up to 64 KB, a dictionary for longer lengths."""

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels.capture_counts import LENGTHS
from npexplore.display import ShownByArguments
from npexplore.packets.length_cdf import LengthCdf


class LengthCounter(ShownByArguments):
    """Counts lengths in bytes; `short[length]` counts lengths below 64 KB, and kernels may increment it directly.

    Example:
        >>> import numpy as np
        >>> from npexplore.packets import LengthCounter
        >>> counter = LengthCounter()
        >>> counter.add(np.array([64, 64, 1500]))
        >>> counter.cdf().quantile(0.5)
        64
    """

    def __init__(self) -> None:
        self.short = np.zeros(LENGTHS, np.int64)
        self._longer: dict[int, int] = {}

    def add(self, lengths: NDArray[np.unsignedinteger]) -> None:
        """Count lengths."""
        self.add_longer(lengths)
        self.short += np.bincount(lengths[lengths < LENGTHS], minlength=LENGTHS)

    def add_longer(self, lengths: NDArray[np.unsignedinteger]) -> None:
        """Count only the lengths beyond `short`."""
        long = lengths[lengths >= LENGTHS]
        for value, count in zip(*(part.tolist() for part in np.unique(long, return_counts=True)), strict=True):
            self._longer[value] = self._longer.get(value, 0) + count

    def merge(self, other: "LengthCounter") -> None:
        """Add the lengths that another counter has."""
        self.short += other.short
        for value, count in other._longer.items():
            self._longer[value] = self._longer.get(value, 0) + count

    def state(self) -> NDArray[np.int64]:
        """Return the complete state: a row (length, packets) for each length that occurred."""
        cdf = self.cdf()
        return np.stack([cdf.length_bytes.astype(np.int64), cdf.packets], axis=1)

    @classmethod
    def of_state(cls, state: NDArray[np.int64]) -> "LengthCounter":
        """Return the counter that a `state` describes."""
        counter = cls()
        short = state[:, 0] < LENGTHS
        counter.short[state[short, 0]] = state[short, 1]
        counter._longer = dict(state[~short].tolist())
        return counter

    def cdf(self) -> LengthCdf:
        """Return the distribution of the lengths counted so far."""
        short, long = np.flatnonzero(self.short), sorted(self._longer)
        counts = np.concatenate([self.short[short], np.array([self._longer[value] for value in long], np.int64)])
        values = np.concatenate([short, np.array(long, np.int64)]).astype(np.uint32)
        return LengthCdf(values, np.cumsum(counts) / max(1, counts.sum()), counts)
