"""Route caches in front of a lookup, and the hit ratio of a capture's destinations.

LRU: the cache holds the most recently used entries; a reference hits if its stack distance is below the cache's size
(Mattson et al. 1970). Direct mapped: a key can only be in the entry `key modulo size`, which holds its last key.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels.capture_flows import longest_match
from npexplore.errors import InputError, one_of
from npexplore.golden.lookup.base import Lpm
from npexplore.packets import PacketTable
from npexplore.packets.statistics.locality import locality


def lru_hits(keys: NDArray[np.integer], entries: int) -> NDArray[np.bool_]:
    """Return which references hit an LRU cache with this number of entries, which is empty at first."""
    distance = locality(keys).distance
    return (distance >= 0) & (distance < entries)


def direct_mapped_hits(keys: NDArray[np.integer], entries: int) -> NDArray[np.bool_]:
    """Return which references hit a direct-mapped cache with this number of entries, which is empty at first."""
    hit = np.zeros(len(keys), np.bool_)
    if entries:
        entry = np.asarray(keys) % entries
        order = np.argsort(entry, kind="stable")
        repeats = (np.diff(entry[order]) == 0) & (np.diff(np.asarray(keys)[order]) == 0)
        hit[order[1:]] = repeats
    return hit


ROUTE_CACHES: dict[str, Callable[[NDArray[np.integer], int], NDArray[np.bool_]]] = {
    "lru": lru_hits,
    "direct_mapped": direct_mapped_hits,
}


def route_cache_hit_ratio(
    table: PacketTable, entries: int, *, policy: str = "lru", prefix_bits: int = 32, routes: Lpm | None = None
) -> float:
    """Return the share of a capture's IPv4 packets whose destination hits a route cache.

    Args:
        table: the packets, in order.
        entries: number of cache entries, at least 0.
        policy: a name of `ROUTE_CACHES`.
        prefix_bits: number of leading bits that identify an entry: destinations that agree in them share it.
        routes: an entry is the longest matching prefix of these routes instead, or an address without a route.

    Raises:
        InputError: fewer than 0 entries, or more than 32 bits.
    """
    if entries < 0:
        raise InputError(f"cache entries must be at least 0, got {entries}")
    if not 0 <= prefix_bits <= 32:
        raise InputError(f"prefix bits must be 0 to 32, got {prefix_bits}")
    address = table["dst"][table["ipv4"] & table["header_complete"]].astype(np.int64)
    keys = address >> (32 - prefix_bits)
    if routes is not None:
        rows = routes.routes()
        match = longest_match(address, rows.value.astype(np.int64), rows.length.astype(np.int64))
        keys = np.where(match >= 0, match, address + len(rows.value))
    hits = ROUTE_CACHES[one_of("route cache", policy, ROUTE_CACHES)](keys, entries)
    return float(hits.mean()) if len(hits) else 0.0
