"""The interface of lookup structures: insert, remove, look up one address or a column, report memory reads.

Longest prefix match (RFC 1812 section 5.2.4.3 rule 2): of all routes whose prefix contains the address, the longest.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from npexplore.display import ShownByArguments
from npexplore.errors import InputError
from npexplore.golden.lookup.family import IPV4, AnyAddress, AnyPrefix, Family
from npexplore.records import by_content

MAX_NEXT_HOP = 2**31 - 1
NO_READ = -1


class Read(NamedTuple):
    """One memory read: the table's name and the word's number in it."""

    table: str
    word: int


class Routes(NamedTuple):
    """Routes as columns: first address (uint32; IPv6: (n, 2) uint64), prefix length (uint8), next hop (int32).

    Sorted by (value, length).
    """

    value: NDArray[Any]
    length: NDArray[np.uint8]
    next_hop: NDArray[np.int32]


@by_content
@dataclass(frozen=True)
class MemoryReads:
    """The reads of many lookups: word[i, j] is the j-th word that lookup i reads, in table tables[j]; -1: no read.

    Example:
        >>> from npexplore.golden import Dir24_8
        >>> reads = Dir24_8.from_routes([("10.0.0.7/32", 2)]).reads_many([0x0A000007])
        >>> reads.tables
        ('tbl24', 'tbl8')
    """

    tables: tuple[str, ...]
    word: NDArray[np.int64]

    @property
    def count(self) -> NDArray[np.int64]:
        """Number of words that each lookup read: the operand column of a machine's program."""
        return np.asarray((self.word != NO_READ).sum(axis=1), np.int64)

    def of(self, row: int) -> tuple[Read, ...]:
        """Return one lookup's reads in their order."""
        words = zip(self.tables, self.word[row].tolist(), strict=True)
        return tuple(Read(table, word) for table, word in words if word != NO_READ)


class Lpm(ShownByArguments, ABC):
    """A routing table with longest prefix match. Next hops are the caller's numbers, 0 to 2^31 - 1.

    A failed update raises an error and changes nothing. Prefixes are text or `ipaddress` networks; addresses are
    text, `ipaddress` objects or numbers.

    Example:
        >>> from npexplore.golden import Lpm, Trie20_4_8
        >>> table = Trie20_4_8.from_routes([("10.0.0.0/8", 1)])
        >>> isinstance(table, Lpm), table.lookup("10.1.2.3")
        (True, 1)
    """

    source: ClassVar[str]  # the paper or text that describes the structure
    family: ClassVar[Family] = IPV4

    def insert(self, prefix: AnyPrefix, next_hop: int) -> None:
        """Add a route, or change the next hop of an existing one; raises InputError, TableFullError."""
        value, length = self.family.prefix_pair(prefix)
        if (
            isinstance(next_hop, bool)
            or not isinstance(next_hop, int | np.integer)
            or not 0 <= next_hop <= MAX_NEXT_HOP
        ):
            raise InputError(f"next hop of {prefix} must be a whole number from 0 to {MAX_NEXT_HOP}, got {next_hop!r}")
        self._insert(value, length, int(next_hop))

    def remove(self, prefix: AnyPrefix) -> None:
        """Remove a route; raises InputError if the table does not have it."""
        value, length = self.family.prefix_pair(prefix)
        if not self._remove(value, length):
            raise InputError(
                f"route {self.family.prefix_text(value, length)} is not in the table of {len(self)} routes"
            )

    def lookup(self, address: AnyAddress) -> int | None:
        """Return the next hop of the longest matching prefix, None if no prefix matches."""
        hop = self._walk(self.family.number(address))[0]
        return None if hop < 0 else hop

    def reads(self, address: AnyAddress) -> tuple[Read, ...]:
        """Return the words that looking up this address reads, in order."""
        return self._walk(self.family.number(address))[1]

    def lookup_many(
        self, addresses: "NDArray[np.integer] | Iterable[int]", out: "NDArray[np.int32] | None" = None
    ) -> NDArray[np.int32]:
        """Return the next hop of each address, -1 for no match; written into `out` (int32, same length) if given."""
        column = self.family.column(addresses)
        if out is None:
            out = np.empty(len(column), np.int32)
        elif out.dtype != np.int32 or out.shape != (len(column),) or not out.flags.c_contiguous:
            raise InputError(f"out must be int32 of shape {(len(column),)}, got {out.dtype} of shape {out.shape}")
        self._lookup_many(column, out)
        return out

    def reads_many(self, addresses: "NDArray[np.integer] | Iterable[int]") -> MemoryReads:
        """Return the words that looking up each address reads."""
        return self._reads_many(self.family.column(addresses))

    @classmethod
    def from_columns(
        cls,
        value: NDArray[np.integer],
        length: NDArray[np.integer],
        next_hop: NDArray[np.integer],
        **settings: Any,
    ) -> Self:
        """Build a table from columns; of equal prefixes the last one wins. settings: keywords of the class.

        Raises InputError for columns of unequal length, invalid prefix lengths, bits set below the length, or invalid
        next hops.
        """
        columns = [np.asarray(column) for column in (value, length, next_hop)]
        if len({len(column) for column in columns}) != 1 or columns[1].ndim != 1 or columns[2].ndim != 1:
            raise InputError(f"columns of routes must be equally long, got {[array.shape for array in columns]}")
        values, lengths = cls.family.column(columns[0]), columns[1].astype(np.int64)
        if len(values):
            if lengths.min() < 0 or lengths.max() > cls.family.bits:
                raise InputError(
                    f"prefix lengths must be 0 to {cls.family.bits}, got {lengths.min()} to {lengths.max()}"
                )
            low, high = int(columns[2].min()), int(columns[2].max())
            if columns[2].dtype.kind not in "iu" or low < 0 or high > MAX_NEXT_HOP:
                raise InputError(f"next hops must be whole numbers from 0 to {MAX_NEXT_HOP}, got {low} to {high}")
            host_bits = (values & ~cls.family.masks()[lengths]).reshape(len(values), -1)
            wrong_rows = np.flatnonzero(host_bits.any(axis=1))
            if len(wrong_rows):
                at = int(wrong_rows[0])
                text = cls.family.prefix_text(cls.family.numbers(values[at : at + 1])[0], int(lengths[at]))
                raise InputError(f"prefix {text} (row {at}) has bits set below its length")
        table = cls(**settings)
        table._build(values, lengths.astype(np.uint8), columns[2].astype(np.int32))
        return table

    @classmethod
    def from_routes(cls, routes: "Iterable[tuple[AnyPrefix, int]]", **settings: Any) -> Self:
        """Build a table from pairs (prefix, next hop)."""
        pairs = list(routes)
        value, length = cls.family.prefix_columns(prefix for prefix, _ in pairs)
        return cls.from_columns(value, length, np.array([hop for _, hop in pairs], np.int64), **settings)

    @abstractmethod
    def __len__(self) -> int:
        """Number of routes."""

    @abstractmethod
    def routes(self) -> Routes:
        """Return all routes, sorted by (value, length)."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes that this implementation holds, including the tables for updates."""

    @abstractmethod
    def _insert(self, value: int, length: int, next_hop: int) -> None: ...

    @abstractmethod
    def _remove(self, value: int, length: int) -> bool: ...

    @abstractmethod
    def _walk(self, address: int) -> tuple[int, tuple[Read, ...]]: ...

    @abstractmethod
    def _lookup_many(self, address: NDArray[Any], out: NDArray[np.int32]) -> None: ...

    @abstractmethod
    def _reads_many(self, address: NDArray[Any]) -> MemoryReads: ...

    @abstractmethod
    def _build(self, value: NDArray[Any], length: NDArray[np.uint8], next_hop: NDArray[np.int32]) -> None: ...
