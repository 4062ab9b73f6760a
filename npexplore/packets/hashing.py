"""A hash of whole numbers for sampling flows, equal in every run and on every machine."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def mixed(words: Iterable[NDArray[Any]]) -> NDArray[np.uint64]:
    """Return a hash of each row of some columns of whole numbers.

    The columns go one after another through the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
    """
    state = np.zeros(1, np.uint64)
    for word in words:
        state = (state ^ word.astype(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state ^= state >> np.uint64(31)
    return state


def in_sample(hashes: NDArray[np.uint64], flows_each: int) -> NDArray[np.bool_]:
    """Return which hashes belong to a sample of one in `flows_each` (a power of two) of all hashes."""
    return np.asarray(hashes <= np.uint64((1 << 64) // flows_each - 1))
