"""The reference lookup: compare every route, the longest match wins (RFC 1812 section 5.2.4.3 rule 2)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.golden.lookup.base import Lpm, MemoryReads, Read, Routes
from npexplore.golden.lookup.family import IPV6


class LinearLpm(Lpm):
    """The reference lookup: a list of routes, one word each; every lookup reads all of them. Simple and slow.

    Example:
        >>> from npexplore.golden import LinearLpm
        >>> LinearLpm.from_routes([("10.0.0.0/8", 1)]).lookup("10.1.2.3")
        1
    """

    source = "RFC 1812 section 5.2.4.3"

    def __init__(self) -> None:
        self._hops: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self._hops)

    def routes(self) -> Routes:
        """Return all routes, sorted by (value, length)."""
        rows = [(value, length, hop) for (value, length), hop in sorted(self._hops.items())]
        value, length, hop = zip(*rows, strict=True) if rows else ((), (), ())
        return Routes(self.family.rows(value), np.array(length, np.uint8), np.array(hop, np.int32))

    @property
    def nbytes(self) -> int:
        """Bytes of all routes, each one word (value, length, next hop)."""
        return (self.family.bits // 8 + 5) * len(self)

    def _insert(self, value: int, length: int, next_hop: int) -> None:
        self._hops[value, length] = next_hop

    def _remove(self, value: int, length: int) -> bool:
        return self._hops.pop((value, length), None) is not None

    def _walk(self, address: int) -> tuple[int, tuple[Read, ...]]:
        best, longest = -1, -1
        for (value, length), hop in self._hops.items():
            if address & self.family.mask(length) == value and length > longest:
                best, longest = hop, length
        return best, tuple(Read("routes", word) for word in range(len(self)))

    def _lookup_many(self, address: NDArray[Any], out: NDArray[np.int32]) -> None:
        out[:] = -1
        for (value, length), hop in sorted(self._hops.items(), key=lambda route: route[0][1]):
            matches = (address & self.family.row(self.family.mask(length))) == self.family.row(value)
            out[matches.reshape(len(address), -1).all(axis=1)] = hop

    def _reads_many(self, address: NDArray[Any]) -> MemoryReads:
        word = np.broadcast_to(np.arange(len(self), dtype=np.int64), (len(address), len(self)))
        return MemoryReads(("routes",) * len(self), word)

    def _build(self, value: NDArray[Any], length: NDArray[np.uint8], next_hop: NDArray[np.int32]) -> None:
        prefixes = zip(self.family.numbers(value), length.tolist(), strict=True)
        self._hops = dict(zip(prefixes, next_hop.tolist(), strict=True))


class LinearLpm6(LinearLpm):
    """The reference lookup for IPv6.

    Example:
        >>> from npexplore.golden import LinearLpm6
        >>> LinearLpm6.from_routes([("2001:db8::/32", 1)]).lookup("2001:db8::1")
        1
    """

    family = IPV6
