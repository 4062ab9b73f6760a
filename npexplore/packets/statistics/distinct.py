"""A Theta sketch: estimates the number of distinct keys from the k smallest of their hashes.

    distinct = k / theta,  95 % interval +- 2 sqrt(k (1 - theta)) / theta

theta: the (k + 1)-th smallest hash divided by 2^64

(Dasgupta, Lang, Rhodes and Thaler, "A framework for estimating stream expression cardinalities", ICDT 2016). The state
depends on the keys alone and not on their order, so joining the sketches of parts gives the sketch of the whole.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ALL = float(2**64)  # number of possible hashes
DEVIATIONS = 2.0  # of the binomial number of hashes below theta: 95 %


class DistinctSketch:
    """The `most` smallest distinct hashes added, and the next smallest (`theta`; None if there are no more)."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.least = np.zeros(0, np.uint64)  # sorted, each once
        self.theta: np.uint64 | None = None

    def add(self, hashes: NDArray[np.uint64], theta: np.uint64 | None = None) -> None:
        """Add distinct hashes, shape (n,); theta: the limit of the sketch that they come from, if any."""
        if theta is not None and (self.theta is None or theta < self.theta):
            self.theta, self.least = theta, self.least[self.least < theta]
        if self.theta is not None:
            hashes = hashes[hashes < self.theta]
        if len(hashes) > self.most + 1:
            hashes = np.partition(hashes, self.most)[: self.most + 1]
        self.least = np.union1d(self.least, hashes)
        if len(self.least) > self.most:
            self.theta, self.least = self.least[self.most], self.least[: self.most]

    def merge(self, other: DistinctSketch) -> None:
        """Add the keys of another sketch."""
        self.add(other.least, other.theta)

    def copy(self) -> DistinctSketch:
        """Return a sketch of the same keys."""
        sketch = DistinctSketch(self.most)
        sketch.least, sketch.theta = self.least, self.theta
        return sketch

    @property
    def count(self) -> float:
        """The estimated number of distinct keys."""
        return len(self.least) / self._share

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds of the number of distinct keys at 95 % confidence."""
        hashes, share = len(self.least), self._share
        half = DEVIATIONS * (hashes * (1.0 - share)) ** 0.5
        return max((hashes - half) / share, float(hashes)), (hashes + half) / share

    @property
    def _share(self) -> float:
        return 1.0 if self.theta is None else float(self.theta) / ALL

    def state(self) -> NDArray[np.uint64]:
        """Return the complete state as an array: theta (0: none), then the hashes."""
        return np.concatenate([[np.uint64(0) if self.theta is None else self.theta], self.least])

    @classmethod
    def of_state(cls, state: NDArray[np.uint64], most: int) -> DistinctSketch:
        """Return the sketch that a `state` describes."""
        sketch = cls(most)
        sketch.theta, sketch.least = (state[0] if state[0] else None), state[1:]
        return sketch
