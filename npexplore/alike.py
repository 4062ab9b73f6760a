"""Which rows of several columns of integers are alike: by rank in each column, then by the ranks together.

Ranks of numbers that lie close together are counted, others sorted: rows themselves are never compared.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
SPREAD = 4  # times as many numbers as rows may a column reach over to be counted


class Alike(NamedTuple):
    """number: of each row, which of the distinct ones it is, in the order of the columns; first, counts: of each."""

    number: Integers
    first: Integers
    counts: Integers


def alike(columns: Iterable[NDArray[np.integer]], rows: int) -> Alike:
    """Return which of `rows` rows are alike, as np.unique(axis=0) numbers them."""
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
    """Return the rank of each number among the distinct ones, and how many these are."""
    if not len(column):
        return np.zeros(0, np.int64), 0
    least, most = int(column.min()), int(column.max())
    if most - least > SPREAD * len(column):
        values, rank = np.unique(column, return_inverse=True)
        return rank.astype(np.int64, copy=False), len(values)
    place = column.astype(np.int64) - least
    present = np.zeros(most - least + 1, np.bool_)
    present[place] = True
    return (np.cumsum(present) - 1)[place], int(np.count_nonzero(present))
