"""The number of distinct directed IPv4 5-tuples: exact while they fit in memory, beyond that estimated by a sketch.

The sketch (distinct.py) has a relative standard error of 1 / sqrt(k) = 0.1 %.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels.capture_counts import count_flows, hash_flows, join_flows, spread
from npexplore.packets.columns import PacketTable
from npexplore.packets.statistics.distinct import DistinctSketch

FIRST_ROWS, MOST_ROWS = 1 << 12, 1 << 24
EXACT_FLOWS = MOST_ROWS // 4 * 3
"""Largest number of flows counted exactly: three quarters of a table of 2^24 keys, which takes 256 MiB."""
RESERVED = 32
"""A growing table allocates this multiple of its size; pages not yet written to take no memory (calloc(3))."""
LG_KEPT = 20
"""The sketch keeps 2^LG_KEPT hashes of 8 bytes."""


class FlowSet:
    """The distinct flows of all packets added; up to 3/4 of most_rows (a power of two) are counted exactly."""

    def __init__(self, most_rows: int = MOST_ROWS) -> None:
        self._most = most_rows
        self._room = np.zeros((min(FIRST_ROWS, most_rows), 2), np.uint64)
        self._table = self._room  # the first rows of the room; their number is a power of two
        self._used = 0
        self._sketch: DistinctSketch | None = None  # of all keys removed from the full table
        self._whole: DistinctSketch | None = None  # cached sketch of all keys

    def add(self, table: PacketTable) -> None:
        """Add a table's packets whose IPv4 header was captured."""
        columns = [table[name] for name in ("flags", "src", "dst", "ip_proto", "sport", "dport")]
        self._whole = None
        done = 0
        while done < table.rows:
            self._used, done = count_flows(self._table, self._used, done, *columns)
            if done < table.rows:
                self._make_room()

    def merge(self, other: "FlowSet") -> None:
        """Add the flows of another set; the result equals that of one set to which all packets were added."""
        if other._sketch is not None:
            self._let_go().merge(other._sketch)
        self._join(other._table)

    @property
    def count(self) -> int:
        """Number of distinct flows: exact, or the sketch's estimate, for which `bounds` gives an interval."""
        return self._used if self._sketch is None else round(self._estimate(self._sketch).count)

    @property
    def bounds(self) -> tuple[int, int] | None:
        """Least and greatest number of flows at 95 % confidence; None where the count is exact."""
        if self._sketch is None:
            return None
        low, high = self._estimate(self._sketch).bounds
        return int(low), int(high) + 1

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the complete state as arrays, 16 bytes a flow."""
        hashes = np.zeros(0, np.uint64) if self._sketch is None else self._sketch.state()
        keys = self._table[self._table[:, 1] != 0]
        return {"flows": keys, "sketch": hashes, "most_flows": np.array(self._most)}

    @classmethod
    def of_state(cls, state: Mapping[str, NDArray[Any]]) -> "FlowSet":
        """Return the set that a `state` describes."""
        flows = cls(int(state["most_flows"]))
        if len(state["sketch"]):
            flows._sketch = DistinctSketch.of_state(state["sketch"], 1 << LG_KEPT)
        flows._join(state["flows"])
        return flows

    def _join(self, keys: NDArray[np.uint64]) -> None:
        # grow first: keys in order of their hashes would fill one end of a smaller table, in quadratic time
        while len(self._table) < min(self._most, 2 * len(keys)):
            self._grow()
        self._whole = None
        done = 0
        while done < len(keys):
            self._used, done = join_flows(self._table, self._used, done, keys)
            if done < len(keys):
                self._make_room()

    def _make_room(self) -> None:
        if len(self._table) < self._most:
            self._grow()
        else:
            self._let_go()

    def _grow(self) -> None:
        old_rows, rows = len(self._table), 2 * len(self._table)
        if rows > len(self._room):
            self._room = np.zeros((min(self._most, RESERVED * rows), 2), np.uint64)
            self._room[:old_rows] = self._table
        self._table = self._room[:rows]
        spread(self._table, old_rows)

    def _let_go(self) -> DistinctSketch:
        """Move the table's keys to the sketch, clear the table, and return the sketch."""
        if self._sketch is None:
            self._sketch = DistinctSketch(1 << LG_KEPT)
        self._sketch.add(self._hashes())
        self._table[:] = 0
        self._used = 0
        return self._sketch

    def _hashes(self) -> NDArray[np.uint64]:
        hashes: NDArray[np.int64] = hash_flows(self._table, self._used)
        return hashes.view(np.uint64)

    def _estimate(self, sketch: DistinctSketch) -> DistinctSketch:
        """Return the sketch of all keys, including those in the table."""
        if self._whole is None:
            self._whole = sketch.copy()
            self._whole.add(self._hashes())
        return self._whole
