"""A table of flows: a hash selects a bucket of one cache line, and a full bucket continues in the next one.

A bucket has as many entries as a line holds. A flow is in the first bucket, from its hash's bucket on, that had room
when the flow was inserted (linear probing by buckets: Knuth, TAOCP 3, section 6.4). A lookup reads buckets until it
finds the flow, or a bucket with room, beyond which the flow cannot be.
"""

import numpy as np
from numpy.typing import NDArray

from npexplore.errors import InputError, TableFullError
from npexplore.golden.lookup.base import NO_READ, MemoryReads

_MULTIPLIER = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio
TABLE = "flows"


class FlowTable:
    """Maps flows, keys of up to 63 bits, to values. buckets, entries per bucket: at least one."""

    def __init__(self, buckets: int, entries: int = 4) -> None:
        if buckets < 1 or entries < 1:
            raise InputError(f"a flow table must have buckets of at least one entry, got {buckets} of {entries}")
        self.buckets, self.entries = buckets, entries
        self._held: dict[int, dict[int, int]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def bucket(self, key: int) -> int:
        """Return the bucket selected by a flow's hash; raises InputError for a key outside 0 to 2^63 - 1."""
        if not 0 <= key < 1 << 63:
            raise InputError(f"key of a flow must be 0 to 2^63 - 1, got {key}")
        mixed = (key * _MULTIPLIER) & 0xFFFF_FFFF_FFFF_FFFF
        return (mixed >> 32) % self.buckets

    def _walk(self, key: int) -> tuple[int | None, list[int]]:
        """Return the value of a flow (None: absent) and the buckets read; the last one has the flow or room for it."""
        at, read = self.bucket(key), list[int]()
        for _ in range(self.buckets):
            read.append(at)
            values_by_key = self._held.get(at, {})
            if key in values_by_key or len(values_by_key) < self.entries:
                return values_by_key.get(key), read
            at = (at + 1) % self.buckets
        return None, read

    def insert(self, key: int, value: int) -> None:
        """Add a flow or change its value; raises TableFullError."""
        entry, read = self._walk(key)
        values_by_key = self._held.setdefault(read[-1], {})
        if entry is None:
            if len(values_by_key) >= self.entries:
                raise TableFullError(f"flow {key}: all {self.buckets * self.entries} entries are in use")
            self._count += 1
        values_by_key[key] = value

    def lookup(self, key: int) -> int | None:
        """Return a flow's value, None for an unknown flow."""
        return self._walk(key)[0]

    def reads_many(self, keys: "NDArray[np.integer]") -> MemoryReads:
        """Return the buckets that the lookup of each flow reads: a word of table `flows` is a bucket."""
        reads = [self._walk(key)[1] for key in np.asarray(keys).tolist()]
        word = np.full((len(reads), max(map(len, reads), default=1)), NO_READ, np.int64)
        for row, read in enumerate(reads):
            word[row, : len(read)] = read
        return MemoryReads((TABLE,) * word.shape[1], word)
