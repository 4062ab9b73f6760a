"""The work of a golden function for a packet: the words that it reads and writes by table, and instructions by class.

A function reports to a `Meter` while it runs. One packet's `Work` stores its accesses in order; the `WorkColumns` of
many packets hold sums in integer columns, which a machine's program takes as operands: `TABLE_reads`,
`TABLE_read_words`, `TABLE_writes`, `TABLE_write_words`, and one per instruction class. An access is one command to a
memory and moves one burst of consecutive words; the machine decides in which memory a table is.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from npexplore.errors import InputError, one_of
from npexplore.golden.lookup.base import NO_READ, MemoryReads, Read

Counts = Mapping[str, NDArray[np.int64]]

# alu: add, subtract, logic, shift, compare; find_first_set: index of the lowest set bit
INSTRUCTIONS = ("alu", "branch", "find_first_set", "multiply", "divide")
UNTOLD = -1  # the place of an access whose first word is not reported
MEMORY = "memory"  # instruction class of issuing an access; one per access
_COUNTS = ("_reads", "_read_words", "_writes", "_write_words")


class Access(NamedTuple):
    """One command to a memory: the table's name, the number of consecutive words, and whether it writes."""

    table: str
    words: int = 1
    write: bool = False


@dataclass(frozen=True)
class Work:
    """The work for one packet; `+` concatenates the work of two functions.

    instructions: number per class of INSTRUCTIONS; class `memory` is counted from the accesses. places: the index of
    each access's first word in its table, UNTOLD if the function does not report it.
    """

    accesses: tuple[Access, ...] = ()
    instructions: Mapping[str, int] = field(default_factory=dict)
    places: tuple[int, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if not self.places:
            object.__setattr__(self, "places", (UNTOLD,) * len(self.accesses))
        for access in self.accesses:
            if access.words < 1:
                raise InputError(f"words of an access to table {access.table!r} must be at least 1, got {access.words}")
        for name, times in self.instructions.items():
            if one_of("instruction class", name, INSTRUCTIONS) and times < 0:
                raise InputError(f"instructions of class {name} must be at least 0, got {times}")

    def __add__(self, other: "Work") -> "Work":
        names = dict.fromkeys([*self.instructions, *other.instructions])
        totals = {name: self.instructions.get(name, 0) + other.instructions.get(name, 0) for name in names}
        return Work(self.accesses + other.accesses, totals, self.places + other.places)

    @classmethod
    def of_reads(cls, reads: Iterable[Read], words: int = 1) -> "Work":
        """Return the work of a lookup that reports its reads (`Lpm.reads`), `words` words of memory each."""
        accesses = tuple(reads)
        return cls(tuple(Access(read.table, words) for read in accesses), {}, tuple(read.word for read in accesses))

    def words(self, *tables: str) -> int:
        """Return the number of words read from and written to these tables; without names, of all tables."""
        return sum(access.words for access in self.accesses if not tables or access.table in tables)

    def counts(self) -> dict[str, int]:
        """Return the sums by column name, only of tables and classes in use."""
        sums: dict[str, int] = {}
        for table, words, write in self.accesses:
            kind = "write" if write else "read"
            for name, amount in ((f"{table}_{kind}s", 1), (f"{table}_{kind}_words", words), (MEMORY, 1)):
                sums[name] = sums.get(name, 0) + amount
        return sums | {name: times for name, times in self.instructions.items() if times}


class Meter:
    """Collects the work that a function reports while it runs; `work` is the sum so far."""

    def __init__(self) -> None:
        self._accesses: list[Access] = []
        self._places: list[int] = []
        self._instructions: dict[str, int] = {}

    def read(self, table: str, words: int = 1, at: int = UNTOLD) -> None:
        """Count an access that reads consecutive words. at: index of the first one in the table."""
        self._accesses.append(Access(table, words))
        self._places.append(at)

    def write(self, table: str, words: int = 1, at: int = UNTOLD) -> None:
        """Count an access that writes consecutive words. at: index of the first one in the table."""
        self._accesses.append(Access(table, words, True))
        self._places.append(at)

    def do(self, **instructions: int) -> None:
        """Count instructions by class: `meter.do(alu=2, branch=1)`."""
        for name, times in instructions.items():
            self._instructions[name] = self._instructions.get(name, 0) + times

    @property
    def work(self) -> Work:
        """The work counted so far; raises UnknownNameError for an unknown instruction class."""
        return Work(tuple(self._accesses), dict(self._instructions), tuple(self._places))


@dataclass(frozen=True, eq=False)
class WorkColumns:
    """The work of many packets: `columns[name][i]` is a count of packet i. `+` adds packet by packet.

    Two objects are equal if all counts are; a missing column equals zeros.
    """

    packets: int
    columns: Counts

    def __post_init__(self) -> None:
        for name, column in self.columns.items():
            if column.dtype != np.int64 or column.shape != (self.packets,):
                got = f"{column.dtype} of shape {column.shape}"
                raise InputError(
                    f"work column {name!r} must be int64, one for each of {self.packets} packets, got {got}"
                )

    @classmethod
    def of(cls, works: Sequence[Work]) -> "WorkColumns":
        """Return the columns of the work of packets."""
        rows = [work.counts() for work in works]
        names = dict.fromkeys(name for row in rows for name in row)
        return cls(len(rows), {name: np.array([row.get(name, 0) for row in rows], np.int64) for name in names})

    @classmethod
    def counted(
        cls,
        packets: int,
        reads: Mapping[str, tuple[NDArray[np.int64], NDArray[np.int64]]],
        writes: Mapping[str, tuple[NDArray[np.int64], NDArray[np.int64]]] | None = None,
        **instructions: NDArray[np.int64],
    ) -> "WorkColumns":
        """Return columns from (accesses, words) per table and instructions per class."""
        columns: dict[str, NDArray[np.int64]] = {MEMORY: np.zeros(packets, np.int64)}
        for kind, tables in (("read", reads), ("write", writes or {})):
            for table, (accesses, words) in tables.items():
                columns[f"{table}_{kind}s"], columns[f"{table}_{kind}_words"] = accesses, words
                columns[MEMORY] = columns[MEMORY] + accesses
        for name, times in instructions.items():
            columns[one_of("instruction class", name, INSTRUCTIONS)] = times
        return cls(packets, columns)

    @classmethod
    def of_reads(cls, reads: MemoryReads, words: int = 1) -> "WorkColumns":
        """Return the work of many lookups that report their reads (`Lpm.reads_many`), `words` words of memory each."""
        accesses = {table: np.zeros(len(reads.word), np.int64) for table in reads.tables}
        for table, word in zip(reads.tables, reads.word.T, strict=True):
            accesses[table] += word != NO_READ
        return cls.counted(len(reads.word), {table: (count, words * count) for table, count in accesses.items()})

    def __len__(self) -> int:
        return self.packets

    def __getitem__(self, name: str) -> NDArray[np.int64]:
        """Return a column; raises UnknownNameError with the nearest names."""
        return self.columns[one_of("work column", name, self.columns)]

    def __add__(self, other: "WorkColumns") -> "WorkColumns":
        if self.packets != other.packets:
            raise InputError(f"work to add must be of equally many packets, got {self.packets} and {other.packets}")
        names = dict.fromkeys([*self.columns, *other.columns])
        return WorkColumns(self.packets, {name: self._or_zeros(name) + other._or_zeros(name) for name in names})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WorkColumns):
            return NotImplemented
        names = {*self.columns, *other.columns}
        return self.packets == other.packets and all(
            np.array_equal(self._or_zeros(name), other._or_zeros(name)) for name in names
        )

    __hash__ = None  # type: ignore[assignment]

    def _or_zeros(self, name: str) -> NDArray[np.int64]:
        return self.columns[name] if name in self.columns else np.zeros(self.packets, np.int64)

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables with columns, in the order of their first columns."""
        return tuple(dict.fromkeys(table for table, count in map(_table_and_count, self.columns) if count))

    def placed(self, memory: Mapping[str, str]) -> "WorkColumns":
        """Return the work with each table's counts under the name of the memory that holds the table.

        memory: table name to memory name; several may share one. Raises UnknownNameError for tables without work.
        """
        for table in memory:
            one_of("table", table, self.tables)
        columns: dict[str, NDArray[np.int64]] = {}
        for name, column in self.columns.items():
            table, count = _table_and_count(name)
            place = memory.get(table, table) + count if count else name
            columns[place] = columns[place] + column if place in columns else column
        return WorkColumns(self.packets, columns)


def _table_and_count(column: str) -> tuple[str, str]:
    """Split the name of a table's column; ("", "") for instructions."""
    for count in _COUNTS:
        if column.endswith(count):
            return column.removesuffix(count), count
    return "", ""
