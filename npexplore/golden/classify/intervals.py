"""Intervals of one field: the ends of all rules' ranges divide the field so that in an interval the same rules match.

n rules have up to 2 n ends, so up to 2 n - 1 intervals between the first and the last end, including gaps that no rule
covers; no rule matches outside of them. The table is sorted. A row holds an interval's begin and end, or its begin
only. With ends, a binary search stops at the matching interval; with begins only, it halves until one row is left.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from npexplore.golden.classify.rules import Range

OUTSIDE = -1


class Interval(NamedTuple):
    """First and last value, and a bit for each rule that matches inside (the lowest bit is rule 0)."""

    begin: int
    end: int
    vector: int


class Found(NamedTuple):
    """A search's result: the interval's row (OUTSIDE: none), the probed rows in order, the comparisons with a bound."""

    row: int
    probed: tuple[int, ...]
    comparisons: int

    @property
    def probes(self) -> int:
        """Number of rows probed."""
        return len(self.probed)


@dataclass(frozen=True)
class IntervalTable:
    """Contiguous intervals in ascending order. ends: whether rows in memory hold the ends too."""

    rows: tuple[Interval, ...]
    ends: bool = True

    @classmethod
    def of(cls, ranges: Sequence[Range], ends: bool = True) -> "IntervalTable":
        """Return the intervals of ranges, by one sweep over their ends."""
        toggled: dict[int, int] = {}
        for rule, (low, high) in enumerate(ranges):
            for border in (low, high + 1):
                toggled[border] = toggled.get(border, 0) ^ 1 << rule
        borders = sorted(toggled)
        rows, vector = [], 0
        for begin, following in pairwise(borders):
            vector ^= toggled[begin]
            rows.append(Interval(begin, following - 1, vector))
        return cls(tuple(rows), ends)

    def __len__(self) -> int:
        return len(self.rows)

    def search(self, value: int) -> Found:
        """Return the result of a binary search for a value."""
        return self._search_ends(value) if self.ends else self._search_begins(value)

    def _search_ends(self, value: int) -> Found:
        """Search rows that hold begins and ends."""
        low, high, comparisons = 0, len(self.rows), 0
        probed: tuple[int, ...] = ()
        while low < high:
            middle = (low + high) // 2
            probed += (middle,)
            begin, end, _ = self.rows[middle]
            comparisons += 1
            if value < begin:
                high = middle
                continue
            comparisons += 1
            if value <= end:
                return Found(middle, probed, comparisons)
            low = middle + 1
        return Found(OUTSIDE, probed, comparisons)

    def _search_begins(self, value: int) -> Found:
        """Search rows that hold begins only; one more row without rules begins behind the last interval."""
        low, high = -1, len(self.rows) + 1
        probed: tuple[int, ...] = ()
        while high - low > 1:
            middle = (low + high) // 2
            probed += (middle,)
            if value < (self.rows[middle].begin if middle < len(self.rows) else self.rows[-1].end + 1):
                high = middle
            else:
                low = middle
        return Found(low if low < len(self.rows) else OUTSIDE, probed, len(probed))

    @property
    def stored(self) -> int:
        """Rows in memory; with begins only, one more row marks the end of the last interval."""
        return len(self.rows) + (not self.ends)


class Pieces(NamedTuple):
    """The whole field as contiguous pieces: the intervals and what is outside of them; used by the batch form.

    start: uint32, first value of each. vectors: uint64, shape (pieces, words of 64 bits). matched, probes, comparisons:
    result of a search for any value of a piece.
    """

    start: NDArray[np.uint32]
    vectors: NDArray[np.uint64]
    matched: NDArray[np.bool_]
    probes: NDArray[np.int64]
    comparisons: NDArray[np.int64]


def pieces(table: IntervalTable, bits: int, rules: int) -> Pieces:
    """Return a table's pieces for a field of `bits` bits and a number of rules."""
    rows = list(table.rows)
    if rows[0].begin > 0:
        rows.insert(0, Interval(0, rows[0].begin - 1, 0))
    if rows[-1].end < (1 << bits) - 1:
        rows.append(Interval(rows[-1].end + 1, (1 << bits) - 1, 0))
    words = -(-rules // 64)
    joined = b"".join(row.vector.to_bytes(8 * words, "little") for row in rows)
    searches = [table.search(row.begin) for row in rows]
    return Pieces(
        np.array([row.begin for row in rows], np.uint32),
        np.frombuffer(joined, "<u8").astype(np.uint64).reshape(len(rows), words),
        np.array([search.row != OUTSIDE for search in searches]),
        np.array([search.probes for search in searches], np.int64),
        np.array([search.comparisons for search in searches], np.int64),
    )
