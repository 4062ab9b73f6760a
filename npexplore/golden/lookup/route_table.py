"""The routes behind a forwarding table, as a router's control plane stores them: a hash table of 7-byte slots."""

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_routes as kernels
from npexplore.golden.lookup.family import Column, Family

FULLEST = 0.85  # share of slots in use at which the table grows


class RouteTable:
    """Maps a prefix to a small number (of a next hop); finds the longest route that covers a prefix."""

    def __init__(self, slots: int = 64) -> None:
        self._value = np.zeros(slots, np.uint32)
        self._length = np.full(slots, kernels.EMPTY, np.uint8)
        self._hop = np.zeros(slots, np.uint16)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """Bytes of the columns."""
        return self._value.nbytes + self._length.nbytes + self._hop.nbytes

    def get(self, value: int, length: int) -> int:
        """Return the next-hop number of a prefix, -1 if the table does not have it."""
        slot = int(kernels.find(self._value, self._length, value, length))
        return int(self._hop[slot]) if slot >= 0 else -1

    def put(self, value: int, length: int, hop: int) -> None:
        """Store a route, replacing an equal one."""
        if self._count + 1 > FULLEST * len(self._value):
            self._grow()
        self._count += int(kernels.put(self._value, self._length, self._hop, value, length, hop) < 0)

    def take(self, value: int, length: int) -> int:
        """Remove a route; return its next-hop number, -1 if the table does not have it."""
        hop = int(kernels.take(self._value, self._length, self._hop, value, length))
        self._count -= hop >= 0
        return hop

    def cover(self, value: int, length: int) -> tuple[int, int]:
        """Return (next-hop number, length) of the longest shorter prefix that contains this one; (0, 0) for none."""
        row = int(kernels.cover(self._value, self._length, self._hop, value, length))
        return (0, 0) if row < 0 else (row & 0xFFFF, row >> 16)

    def columns(self) -> tuple[NDArray[np.uint32], NDArray[np.uint8], NDArray[np.uint16]]:
        """Return (value, length, hop) sorted by value, then length."""
        used = np.flatnonzero(self._length != kernels.EMPTY)
        used = used[np.lexsort((self._length[used], self._value[used]))]
        return self._value[used], self._length[used], self._hop[used]

    def put_all(self, value: NDArray[np.uint32], length: NDArray[np.uint8], hop: NDArray[np.uint16]) -> None:
        """Store the routes of columns in an empty table; of equal prefixes the last one wins."""
        self.__init__(max(64, int(len(value) / 0.8) + 1))  # type: ignore[misc]
        self._count = int(kernels.put_many(self._value, self._length, self._hop, value, length, hop))

    def _grow(self) -> None:
        used_slots = np.flatnonzero(self._length != kernels.EMPTY)
        value, length, hop = self._value[used_slots], self._length[used_slots], self._hop[used_slots]
        bigger = RouteTable(int(1.5 * len(self._value)) + 1)
        kernels.put_many(bigger._value, bigger._length, bigger._hop, value, length, hop)
        self._value, self._length, self._hop = bigger._value, bigger._length, bigger._hop


class RouteDict:
    """RouteTable for addresses wider than a word: a dictionary with the same methods."""

    def __init__(self, family: Family) -> None:
        self._family = family
        self._hop: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self._hop)

    @property
    def nbytes(self) -> int:
        """Bytes of the routes as columns."""
        return (self._family.bits // 8 + 3) * len(self)

    def get(self, value: int, length: int) -> int:
        """Return the next-hop number of a prefix, -1 if the table does not have it."""
        return self._hop.get((value, length), -1)

    def put(self, value: int, length: int, hop: int) -> None:
        """Store a route, replacing an equal one."""
        self._hop[value, length] = hop

    def take(self, value: int, length: int) -> int:
        """Remove a route; return its next-hop number, -1 if the table does not have it."""
        return self._hop.pop((value, length), -1)

    def cover(self, value: int, length: int) -> tuple[int, int]:
        """Return (next-hop number, length) of the longest shorter prefix that contains this one; (0, 0) for none."""
        for bits in range(length - 1, -1, -1):
            hop = self._hop.get((value & self._family.mask(bits), bits))
            if hop is not None:
                return hop, bits
        return 0, 0

    def columns(self) -> tuple[Column, NDArray[np.uint8], NDArray[np.uint16]]:
        """Return (value, length, hop) sorted by value, then length."""
        rows = sorted(self._hop)
        hops = np.fromiter((self._hop[row] for row in rows), np.uint16, len(rows))
        length = np.fromiter((length for _, length in rows), np.uint8, len(rows))
        return self._family.rows([value for value, _ in rows]), length, hops

    def put_all(self, value: Column, length: NDArray[np.uint8], hop: NDArray[np.uint16]) -> None:
        """Store the routes of columns; of equal prefixes the last one wins."""
        prefixes = zip(self._family.numbers(value), length.tolist(), strict=True)
        self._hop.update(zip(prefixes, hop.tolist(), strict=True))
