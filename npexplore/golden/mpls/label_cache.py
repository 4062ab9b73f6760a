"""Two-level label lookup: a small set-associative hash table caches a table with one word per label.

Lavasani, Dennison, Chiou, "Compiling high throughput network processors", FPGA 2012, section 4.2: the first level is
"a multi-bin indexed table indexed with a hash function", one per cluster; a miss reads a table of one million entries,
one for each label, in off-chip memory. The paper gives neither sizes, hash function nor replacement. Here: set = upper
bits of label * multiplier modulo 2^32, scaled to the number of sets (Knuth, TAOCP 3, section 6.4); bins of a set are
replaced in turn. A bin holds a label with its entry. A set is one word. Labels without an entry are not cached.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_mpls as kernels
from npexplore.errors import InputError, TableFullError
from npexplore.golden.lookup.base import NO_READ, MemoryReads, Read
from npexplore.golden.mpls.stack import LABELS

MULTIPLIER = 0x9E3779B1  # 2^32 divided by the golden ratio, made odd
TABLES = ("label_cache", "label_table")


class LabelTable:
    """The second level: the number of each label's entry, one word per label."""

    def __init__(self) -> None:
        self.number = np.full(LABELS, -1, np.int32)

    def bind(self, label: int, number: int) -> None:
        """Set the entry of a label; raises InputError for a label or number out of range."""
        if not 0 <= label < LABELS or not 0 <= number < 1 << 31:
            raise InputError(f"label must be 0 to {LABELS - 1} and its entry 0 to 2^31 - 1, got {label} and {number}")
        self.number[label] = number


class LabelCache:
    """The first level, in front of a table that several caches may share. Lookups change it, so their order matters."""

    def __init__(self, table: LabelTable, *, sets: int = 64, bins: int = 4) -> None:
        if sets < 1 or bins < 1:
            raise InputError(f"a label cache must have at least 1 set and 1 bin, got {sets} and {bins}")
        if sets * bins > LABELS:
            raise TableFullError(f"a label cache of {sets} x {bins} bins is larger than the table of {LABELS} labels")
        self.table, self.sets, self.bins = table, sets, bins
        self._key = np.full((sets, bins), -1, np.int64)
        self._victim = np.zeros(sets, np.int64)

    def set_of(self, label: int) -> int:
        """Return the number of a label's set."""
        return (label * MULTIPLIER & 0xFFFFFFFF) * self.sets >> 32

    def look_up(self, label: int) -> tuple[int, tuple[Read, ...]]:
        """Return the number of a label's entry (-1: none) and the words read; cache the label if it has an entry."""
        set_number = self.set_of(label)
        number, cache_read = int(self.table.number[label]), Read(TABLES[0], set_number)
        if label in self._key[set_number].tolist():
            return number, (cache_read,)
        if number >= 0:
            self._key[set_number, self._victim[set_number]] = label
            self._victim[set_number] = (self._victim[set_number] + 1) % self.bins
        return number, (cache_read, Read(TABLES[1], label))

    def look_up_many(self, labels: "NDArray[np.integer] | Iterable[int]") -> tuple[NDArray[np.int32], MemoryReads]:
        """Look up labels in their order; return numbers and reads. Raises InputError for a label out of range."""
        column = np.asarray(labels if isinstance(labels, np.ndarray) else list(labels)).astype(np.int64)
        if len(column) and (int(column.min()) < 0 or int(column.max()) >= LABELS):
            raise InputError(f"labels must be 0 to {LABELS - 1}, got {column.min()} to {column.max()}")
        number, hit = np.empty(len(column), np.int32), np.empty(len(column), np.bool_)
        word = np.empty((len(column), 2), np.int64)
        kernels.cached(column, self.table.number, MULTIPLIER, self._key, self._victim, number, hit, word[:, 0])
        word[:, 1] = np.where(hit, NO_READ, column)
        return number, MemoryReads(TABLES, word)

    def forget(self, label: int) -> None:
        """Remove a label whose entry changed, as the control processor does after an update of the table."""
        row = self._key[self.set_of(label)]
        row[row == label] = -1
