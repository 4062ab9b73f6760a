"""Label lookup in two levels: a small hashed table of several bins a set, as a cache of a direct-mapped one.

Lavasani, Dennison, Chiou, "Compiling high throughput network processors", FPGA 2012, section 4.2: the first level is
"a multi-bin indexed table indexed with a hash function", one a cluster; a miss goes to a table of one million entries,
one for each label, in off-chip memory. The paper gives neither sizes nor hash nor replacement. Here: set = upper bits
of label * multiplier modulo 2^32, scaled to the number of sets (Knuth, TAOCP 3, section 6.4); bins of a set are
replaced in turn. A bin holds a label with its entry, so that a set is one word; labels without an entry are not kept.
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
    """The second level: numbers of entries, one word per label."""

    def __init__(self) -> None:
        self.number = np.full(LABELS, -1, np.int32)

    def bind(self, label: int, number: int) -> None:
        """Give a label an entry; raises InputError for a label or number out of range."""
        if not 0 <= label < LABELS or not 0 <= number < 1 << 31:
            raise InputError(f"label must be 0 to {LABELS - 1} and its entry 0 to 2^31 - 1, got {label} and {number}")
        self.number[label] = number


class LabelCache:
    """The first level, in front of a table that several caches may share. Lookups change it, so that order counts."""

    def __init__(self, table: LabelTable, *, sets: int = 64, bins: int = 4) -> None:
        if sets < 1 or bins < 1:
            raise InputError(f"a label cache must have at least 1 set and 1 bin, got {sets} and {bins}")
        if sets * bins > LABELS:
            raise TableFullError(f"a label cache of {sets} x {bins} bins is larger than the table of {LABELS} labels")
        self.table, self.sets, self.bins = table, sets, bins
        self._key = np.full((sets, bins), -1, np.int64)
        self._victim = np.zeros(sets, np.int64)

    def set_of(self, label: int) -> int:
        """Return the set that a label belongs to."""
        return (label * MULTIPLIER & 0xFFFFFFFF) * self.sets >> 32

    def look_up(self, label: int) -> tuple[int, tuple[Read, ...]]:
        """Return the number of a label's entry (-1 for none) and the words read; the label is kept if it has one."""
        place = self.set_of(label)
        number, first = int(self.table.number[label]), Read(TABLES[0], place)
        if label in self._key[place].tolist():
            return number, (first,)
        if number >= 0:
            self._key[place, self._victim[place]] = label
            self._victim[place] = (self._victim[place] + 1) % self.bins
        return number, (first, Read(TABLES[1], label))

    def look_up_many(self, labels: "NDArray[np.integer] | Iterable[int]") -> tuple[NDArray[np.int32], MemoryReads]:
        """Do the same for labels in their order; raises InputError for a label out of range."""
        column = np.asarray(labels if isinstance(labels, np.ndarray) else list(labels)).astype(np.int64)
        if len(column) and (int(column.min()) < 0 or int(column.max()) >= LABELS):
            raise InputError(f"labels must be 0 to {LABELS - 1}, got {column.min()} to {column.max()}")
        number, hit = np.empty(len(column), np.int32), np.empty(len(column), np.bool_)
        word = np.empty((len(column), 2), np.int64)
        kernels.cached(column, self.table.number, MULTIPLIER, self._key, self._victim, number, hit, word[:, 0])
        word[:, 1] = np.where(hit, NO_READ, column)
        return number, MemoryReads(TABLES, word)

    def forget(self, label: int) -> None:
        """Drop a label whose entry changed, as the control processor does behind an update of the table."""
        row = self._key[self.set_of(label)]
        row[row == label] = -1
