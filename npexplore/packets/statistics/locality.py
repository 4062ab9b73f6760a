"""Locality of destinations: LRU stack distances, and with them the hit ratio of a route cache of every size at once.

hit ratio of an LRU cache with C entries = share of references whose stack distance is below C
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels.capture_flows import longest_match, stack_distances
from npexplore.errors import InputError
from npexplore.packets.columns import PacketTable


@dataclass(frozen=True)
class Locality:
    """Stack distances of a sequence of references; -1 where the key had not been used before."""

    distance: NDArray[np.int64]

    @property
    def references(self) -> int:
        """Number of references."""
        return len(self.distance)

    @property
    def distinct(self) -> int:
        """Number of different keys."""
        return int((self.distance < 0).sum())

    def hit_ratio(self, entries: int) -> float:
        """Return the share of references that an LRU cache of so many entries, empty at first, would hit."""
        if entries < 0:
            raise InputError(f"cache entries must be at least 0, got {entries}")
        again = self.distance >= 0
        return float((again & (self.distance < entries)).sum() / max(1, self.references))

    def entries_for(self, ratio: float) -> int | None:
        """Return the smallest cache that reaches a hit ratio, None if none does."""
        again = np.sort(self.distance[self.distance >= 0])
        needed = int(np.ceil(ratio * self.references - 1e-9))
        if needed <= 0:
            return 0
        return int(again[needed - 1]) + 1 if needed <= len(again) else None


def locality(keys: NDArray[np.integer]) -> Locality:
    """Return the stack distances of a sequence of keys (addresses, flow numbers, cache lines)."""
    numbers, size = _dense(keys)
    return Locality(stack_distances(numbers, np.full(size, -1, np.int64)))


def destination_locality(
    table: PacketTable, *, prefix_bits: int = 32, prefixes: "tuple[NDArray[np.uint32], NDArray[np.uint8]] | None" = None
) -> Locality:
    """Return the locality of a capture's IPv4 destinations, in the order of the packets.

    prefix_bits: destinations that share so many leading bits are one key. prefixes: arrays (value, length) of a routing
    table; the key is then the longest matching prefix, as in a cache of routes (a destination without one is its own
    key). Raises InputError for more than 32 bits.
    """
    return locality(destination_keys(table, prefix_bits=prefix_bits, prefixes=prefixes))


def destination_keys(
    table: PacketTable, *, prefix_bits: int = 32, prefixes: "tuple[NDArray[np.uint32], NDArray[np.uint8]] | None" = None
) -> NDArray[np.int64]:
    """Return what a cache of routes is asked for by each IPv4 packet, as numbers; arguments as above."""
    if not 0 <= prefix_bits <= 32:
        raise InputError(f"prefix bits must be 0 to 32, got {prefix_bits}")
    address = table["dst"][table["ipv4"] & table["header_complete"]].astype(np.int64)
    if prefixes is None:
        return np.asarray(address >> (32 - prefix_bits))
    value, length = (np.asarray(column, np.int64) for column in prefixes)
    order = np.lexsort((length, value))
    route = longest_match(address, value[order], length[order])
    return np.where(route >= 0, route, address + len(value))


def _dense(keys: NDArray[np.integer]) -> tuple[NDArray[np.int64], int]:
    unique, numbers = np.unique(keys, return_inverse=True)
    return numbers.astype(np.int64), len(unique)
