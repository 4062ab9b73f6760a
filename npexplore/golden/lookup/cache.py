"""Caches of routes in front of a lookup, and how often a capture's destinations hit them.

LRU: the cache holds the entries used last; it hits what has a stack distance below its size (Mattson et al. 1970).
Direct mapped: key modulo size names the only place of a key, which keeps the key seen there last.
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
    """Return which references an LRU cache of so many entries hits, empty at first."""
    distance = locality(keys).distance
    return (distance >= 0) & (distance < entries)


def direct_mapped_hits(keys: NDArray[np.integer], entries: int) -> NDArray[np.bool_]:
    """Return which references a direct-mapped cache of so many entries hits, empty at first."""
    hit = np.zeros(len(keys), np.bool_)
    if entries:
        place = np.asarray(keys) % entries
        order = np.argsort(place, kind="stable")
        again = (np.diff(place[order]) == 0) & (np.diff(np.asarray(keys)[order]) == 0)
        hit[order[1:]] = again
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
        entries: the number of entries of the cache, at least 0.
        policy: a name of `ROUTE_CACHES`.
        prefix_bits: destinations that share this number of leading bits share an entry.
        routes: an entry is the longest matching prefix of these routes instead; a destination without one is its own.

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
