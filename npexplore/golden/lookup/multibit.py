"""Multibit tries with fixed strides: prefixes are expanded to the next level boundary and pushed to the leaves.

Srinivasan, Varghese, "Fast address lookups using controlled prefix expansion", ACM TOCS 17(1), 1999. A lookup reads one
entry per level and stops at a leaf. `_kernels/golden_multibit.py` documents the memory layout.
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_multibit as kernels
from npexplore.errors import InputError, TableFullError
from npexplore.golden.lookup.base import NO_READ, Lpm, MemoryReads, Read, Routes
from npexplore.golden.lookup.next_hops import NextHops
from npexplore.golden.lookup.route_table import RouteDict, RouteTable


class MultibitTrie(Lpm):
    """Base of fixed-stride tries; a subclass defines strides, table names and the encoding of an entry."""

    STRIDES: ClassVar[tuple[int, ...]]
    TABLES: ClassVar[tuple[str, ...]]  # a name for each level
    ENTRIES_PER_WORD: ClassVar[tuple[int, ...]]  # entries of each level per memory word
    ENTRY: ClassVar[type[np.unsignedinteger]]  # type of an entry in this implementation
    NODE: ClassVar[str] = "node"

    def __init__(self, *, limit: int, next_hops: int, nodes: tuple[int, ...]) -> None:
        """limit: entries from this value on are pointers. nodes: capacity of each level after the first, in nodes."""
        self._limit = limit
        self._capacity = (1, *nodes)
        self._hops = NextHops(next_hops)
        self._routes = self._route_store()
        self._strides = np.array(self.STRIDES, np.int64)
        self._start([1] + [0] * len(nodes))

    def _route_store(self) -> RouteTable | RouteDict:
        return RouteTable() if self.family.words == 1 else RouteDict(self.family)

    def _start(self, nodes: list[int]) -> None:
        self._state = np.zeros((len(self.STRIDES), 2), np.int64)
        self._state[0, kernels.USED] = 1
        self._entries: tuple[NDArray[Any], ...] = tuple(
            np.zeros(node_count << stride, self.ENTRY) for node_count, stride in zip(nodes, self.STRIDES, strict=True)
        )
        self._depths: tuple[NDArray[Any], ...] = tuple(np.zeros(len(level), np.uint8) for level in self._entries)

    def __len__(self) -> int:
        return len(self._routes)

    def routes(self) -> Routes:
        """Return all routes, sorted by (value, length)."""
        value, length, hop = self._routes.columns()
        return Routes(value, length, self._hops.value[hop])

    def _steps_of(self, value: int) -> NDArray[np.int64]:
        return np.asarray(self.family.steps(self.family.rows([value]), self.STRIDES)[0])

    @property
    def nbytes(self) -> int:
        """Bytes of entries, their prefix lengths, routes and next hops."""
        levels = sum(level.nbytes for level in (*self._entries, *self._depths))
        return levels + self._routes.nbytes + self._hops.value.nbytes

    @property
    def nodes(self) -> tuple[int, ...]:
        """Nodes in use on each level."""
        return tuple(
            int(self._state[level, kernels.USED]) - self._free_nodes(level) for level in range(len(self.STRIDES))
        )

    def _free_nodes(self, level: int) -> int:
        count, node = 0, int(self._state[level, kernels.FREE])
        while node:
            count, node = count + 1, int(self._entries[level][node - 1 << self.STRIDES[level]])
        return count

    def _insert(self, value: int, length: int, next_hop: int) -> None:
        self._hops.require(next_hop)
        self._make_room(value, length)
        old_hop = self._routes.get(value, length)
        hop = self._hops.acquire(next_hop)
        self._routes.put(value, length, hop)
        if old_hop >= 0:
            self._hops.release(old_hop)
        self._paint(value, length, 0, hop, length)

    def _remove(self, value: int, length: int) -> bool:
        old_hop = self._routes.take(value, length)
        if old_hop < 0:
            return False
        self._hops.release(old_hop)
        self._paint(value, length, length, *self._routes.cover(value, length))
        return True

    def _paint(self, value: int, length: int, low: int, hop: int, depth: int) -> None:
        """Set the leaves of a prefix whose depth is `low` to `length` to a next hop and depth."""
        levels = (self._entries, self._depths, self._strides, self._limit, self._state)
        kernels.paint(*levels, self._steps_of(value), length, low, length, hop, depth)

    def _make_room(self, value: int, length: int) -> None:
        """Make room for the nodes that a prefix needs, before changing anything; raises TableFullError."""
        steps = self._steps_of(value)
        first_missing = int(kernels.missing_from(self._entries, self._strides, self._limit, steps, length))
        missing_levels = [n for n in range(first_missing, len(self.STRIDES)) if length > sum(self.STRIDES[:n])]
        full_levels = [n for n in missing_levels if not self._state[n, kernels.FREE] and self._is_full(n)]
        for level in full_levels:
            if self._state[level, kernels.USED] >= self._capacity[level]:
                raise TableFullError(
                    f"route {self.family.prefix_text(value, length)}: all {self._capacity[level]} {self.NODE}s "
                    f"of {self.TABLES[level]} are in use"
                )
        for level in full_levels:
            self._grow(level)

    def _is_full(self, level: int) -> bool:
        return int(self._state[level, kernels.USED]) << self.STRIDES[level] >= len(self._entries[level])

    def _grow(self, level: int) -> None:
        """Extend the entries of a level by a quarter, at least 16 nodes."""
        used = int(self._state[level, kernels.USED])
        size = min(self._capacity[level], used + max(16, used // 4)) << self.STRIDES[level]

        def longer(arrays: tuple[NDArray[Any], ...]) -> tuple[NDArray[Any], ...]:
            extended = np.zeros(size, arrays[level].dtype)
            extended[: len(arrays[level])] = arrays[level]
            return (*arrays[:level], extended, *arrays[level + 1 :])

        self._entries, self._depths = longer(self._entries), longer(self._depths)

    def _build(self, value: NDArray[Any], length: NDArray[np.uint8], next_hop: NDArray[np.int32]) -> None:
        nodes = [1]
        for level in range(1, len(self.STRIDES)):
            bits = sum(self.STRIDES[:level])
            nodes.append(self.family.distinct(value[length > bits], bits))
            if nodes[level] > self._capacity[level]:
                raise TableFullError(
                    f"{len(value)} routes need {nodes[level]} {self.NODE}s of {self.TABLES[level]}, "
                    f"there are {self._capacity[level]}"
                )
        number = self._hops.number_all(next_hop)
        self._start(nodes)
        self._routes = self._route_store()
        self._routes.put_all(value, length, number)
        self._hops.count_all(self._routes.columns()[2] if len(self._routes) < len(value) else number)
        order = np.argsort(length, kind="stable")
        levels = (self._entries, self._depths, self._strides, self._limit, self._state)
        kernels.paint_many(*levels, self.family.steps(value, self.STRIDES), length, number, order)

    def level(self, number: int) -> NDArray[Any]:
        """Return a copy of all entries of a level, counted from 0; raises InputError for a missing level."""
        if not 0 <= number < len(self._entries):
            raise InputError(f"level of a trie must be 0 to {len(self._entries) - 1}, got {number}")
        used = int(self._state[number, kernels.USED]) << self.STRIDES[number]
        return self._entries[number][:used].copy()

    def entry(self, level: int, at: int) -> int:
        """Return the raw entry at an index of a level: below `limit` a leaf, else a pointer."""
        return int(self._entries[level][at])

    @property
    def limit(self) -> int:
        """Entries from this value on are pointers: `limit` plus the number of a node of the next level."""
        return self._limit

    def hop_of(self, leaf: int) -> int | None:
        """Return the next hop of a leaf, None for the leaf of no route."""
        hop = int(self._hops.value[leaf])
        return None if hop < 0 else hop

    def _walk(self, address: int) -> tuple[int, tuple[Read, ...]]:
        """The reference in plain Python, which the kernels must agree with."""
        reads: list[Read] = []
        entry, low_bit = self._limit, self.family.bits
        for level, stride in enumerate(self.STRIDES):
            low_bit -= stride
            index = (entry - self._limit << stride) + (address >> low_bit & (1 << stride) - 1)
            reads.append(Read(self.TABLES[level], index // self.ENTRIES_PER_WORD[level]))
            entry = int(self._entries[level][index])
            if entry < self._limit:
                break
        return int(self._hops.value[entry]), tuple(reads)

    def _reads_many(self, address: NDArray[Any]) -> MemoryReads:
        word = np.full((len(address), len(self.STRIDES)), NO_READ, np.int64)
        kernels.entries_read(self.family.steps(address, self.STRIDES), self._entries, self._strides, self._limit, word)
        return MemoryReads(self.TABLES, word // np.array(self.ENTRIES_PER_WORD))


class WordTrie(MultibitTrie):
    """A multibit trie with entries of one memory word of `word_bits` (even, 4 to 32) in all levels but the last.

    A word below 2^(word_bits / 2) is a leaf, any other word is this limit plus the number of a node.
    """

    ENTRY = np.uint32

    def __init__(self, *, word_bits: int = 18) -> None:
        if word_bits % 2 or not 4 <= word_bits <= 32:
            raise InputError(f"word_bits of the trie must be even and 4 to 32, got {word_bits}")
        self.word_bits = word_bits
        leaf_codes = 1 << word_bits // 2
        nodes = (1 << word_bits) - leaf_codes
        index_bits = np.cumsum(self.STRIDES[:-1]).tolist()
        super().__init__(
            limit=leaf_codes,
            next_hops=min(leaf_codes, 1 << 16) - 1,
            nodes=tuple(min(nodes, 1 << bits) for bits in index_bits),
        )

    @property
    def entries(self) -> tuple[int, ...]:
        """Entries in use on each level."""
        return tuple(nodes << stride for nodes, stride in zip(self.nodes, self.STRIDES, strict=True))

    @property
    def words(self) -> int:
        """Memory words in use."""
        return sum(-(-count // share) for count, share in zip(self.entries, self.ENTRIES_PER_WORD, strict=True))
