"""Groups equal rows of several columns of integers: by the rank in each column, then by the ranks together.

Ranks in a column with a small range of values are found by counting, others by sorting; whole rows are never compared.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
SPREAD = 4  # largest range of a column's values, in multiples of its rows, for ranks by counting


class Alike(NamedTuple):
    """number: of each row's group, groups sorted by the columns; first, counts: first row and size of each group."""

    number: Integers
    first: Integers
    counts: Integers


def alike(columns: Iterable[NDArray[np.integer]], rows: int) -> Alike:
    """Return the groups of equal rows among `rows` rows, numbered as by np.unique(axis=0)."""
    number, distinct = np.zeros(rows, np.int64), min(rows, 1)
    for column in columns:
        rank, ranks = _ranks(column)
        if ranks < 2:
            continue
        if distinct * ranks >= 1 << 62:
            number, distinct = _ranks(number)
        number, distinct = number * ranks + rank, distinct * ranks
    number, distinct = _ranks(number)
    first = np.empty(distinct, np.int64)
    first[number[::-1]] = np.arange(rows)[::-1]
    return Alike(number, first, np.bincount(number, minlength=distinct).astype(np.int64))


def _ranks(column: NDArray[np.integer]) -> tuple[Integers, int]:
    """Return the rank of each number among the distinct ones, and the number of distinct ones."""
    if not len(column):
        return np.zeros(0, np.int64), 0
    low, high = int(column.min()), int(column.max())
    if high - low > SPREAD * len(column):
        values, rank = np.unique(column, return_inverse=True)
        return rank.astype(np.int64, copy=False), len(values)
    offset = column.astype(np.int64) - low
    present = np.zeros(high - low + 1, np.bool_)
    present[offset] = True
    return (np.cumsum(present) - 1)[offset], int(np.count_nonzero(present))
