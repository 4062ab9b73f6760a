"""Numbers for the different values of two columns, by a hash table with linear probing (Knuth, TAOCP 3, 6.4, algorithm L).

The table doubles when it is half full; of 64-bit hashes the top bits choose a place (multiplicative hashing, 6.4).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.jit import kernel

Array = NDArray[Any]
MISSING = -1
_GOLDEN = 0x9E3779B1  # 2^32 divided by the golden ratio


@kernel()
def _grown(keys, numbers):
    """Return a table of twice the size with the same entries."""
    size = 2 * len(keys)
    new_keys, new_numbers = np.zeros(size, np.uint32), np.full(size, MISSING, np.int32)
    for k in range(len(keys)):
        if numbers[k] != MISSING:
            at = (np.int64(keys[k]) * _GOLDEN & 0xFFFFFFFF) * size >> 32
            while new_numbers[at] != MISSING:
                at = (at + 1) & (size - 1)
            new_keys[at], new_numbers[at] = keys[k], numbers[k]
    return new_keys, new_numbers


@kernel()
def number_values(one: Array, two: Array, flags: Array, needed: int, first: Array, second: Array) -> Array:
    """Fill first and second (int32) with the numbers of values of two uint32 columns; return the different values.

    Numbers are in order of appearance; rows whose flags (uint16) lack a needed bit get MISSING.
    """
    keys, numbers = np.zeros(1 << 10, np.uint32), np.full(1 << 10, MISSING, np.int32)
    values = np.zeros(1 << 9, np.uint32)
    count = 0
    for i in range(len(one)):
        if np.int64(flags[i]) & needed != needed:
            first[i] = second[i] = MISSING
            continue
        for half in range(2):
            value = one[i] if half == 0 else two[i]
            size = len(keys)
            at = (np.int64(value) * _GOLDEN & 0xFFFFFFFF) * size >> 32
            while numbers[at] != MISSING and keys[at] != value:
                at = (at + 1) & (size - 1)
            if numbers[at] == MISSING:
                keys[at], numbers[at], values[count] = value, count, value
                number = count
                count += 1
                if 2 * count == size:
                    keys, numbers = _grown(keys, numbers)
                    larger = np.zeros(2 * count, np.uint32)
                    larger[:count] = values[:count]
                    values = larger
            else:
                number = numbers[at]
            if half == 0:
                first[i] = number
            else:
                second[i] = number
    return values[:count].copy()


@kernel()
def renumber(first: Array, second: Array, rank: Array) -> None:
    """Replace numbers by their ranks, in place; MISSING stays."""
    for i in range(len(first)):
        if first[i] != MISSING:
            first[i] = rank[first[i]]
        if second[i] != MISSING:
            second[i] = rank[second[i]]
