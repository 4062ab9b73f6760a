"""Locality of destinations and flows: LRU stack distances, which give the hit ratio of caches of every size.

hit ratio of an LRU cache with C entries = share of references whose stack distance is below C
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels.capture_flows import longest_match, stack_distances
from npexplore.errors import InputError
from npexplore.packets.columns import PacketTable
from npexplore.packets.statistics.endpoints import dense, dense_bytes, endpoints
from npexplore.packets.statistics.flows import numbered
from npexplore.records import by_content


@by_content
@dataclass(frozen=True)
class Locality:
    """Stack distances of a sequence of references; -1 where the key had not been used before.

    Example:
        >>> import numpy as np
        >>> from npexplore.packets import Locality
        >>> Locality(np.array([-1, 0, 1])).distance.tolist()
        [-1, 0, 1]
    """

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
        """Return the hit ratio of an LRU cache with this number of entries, empty at first."""
        if entries < 0:
            raise InputError(f"cache entries must be at least 0, got {entries}")
        is_reuse = self.distance >= 0
        return float((is_reuse & (self.distance < entries)).sum() / max(1, self.references))


def locality(keys: NDArray[np.integer]) -> Locality:
    """Return the stack distances of a sequence of keys (addresses, flow numbers, cache lines)."""
    numbers, size = dense(keys.astype(np.int64, copy=False))
    return Locality(stack_distances(numbers, np.full(size, -1, np.int64)))


def destination_locality(
    table: PacketTable,
    *,
    prefix_bits: int = 32,
    ipv6_prefix_bits: int = 128,
    prefixes: "tuple[NDArray[np.uint32], NDArray[np.uint8]] | None" = None,
) -> Locality:
    """Return the locality of a capture's destinations, IPv4 and IPv6, in the order of the packets.

    Args:
        table: the packets.
        prefix_bits: IPv4 destinations that share this number of leading bits are one key.
        ipv6_prefix_bits: the same for IPv6.
        prefixes: arrays (value, length) of an IPv4 routing table. The key is then the longest matching prefix, as in a
            cache of routes; a destination without one is its own key.

    Raises:
        InputError: more than 32 or 128 bits.
    """
    for name, bits, max_bits in (("prefix bits", prefix_bits, 32), ("IPv6 prefix bits", ipv6_prefix_bits, 128)):
        if not 0 <= bits <= max_bits:
            raise InputError(f"{name} must be 0 to {max_bits}, got {bits}")
    version_4 = table["ipv4"] & table["header_complete"]
    address = table["dst"][version_4].astype(np.int64)
    if prefixes is None:
        keys = np.right_shift(address, 32 - prefix_bits, out=address)
    else:
        value, length = (np.asarray(column, np.int64) for column in prefixes)
        order = np.lexsort((length, value))
        route = longest_match(address, value[order], length[order])
        keys = np.where(route >= 0, route, address + len(value))
    ipv6 = table.ipv6
    if len(ipv6.packet):
        mask = np.packbits(np.arange(128) < ipv6_prefix_bits)
        numbers, _ = dense_bytes(ipv6.destination & mask)
        order = np.argsort(np.concatenate([np.flatnonzero(version_4), ipv6.packet]), kind="stable")
        keys = np.concatenate([keys, -1 - numbers])[order]
    return locality(keys)


def flow_locality(table: PacketTable) -> Locality:
    """Return the locality of a capture's directed 5-tuples, IPv4 and IPv6, in the order of the packets.

    These are the references to a flow cache, which holds the classification rule and the route of each flow.
    """
    ends = endpoints(table)
    key = {"src": ends.src, "dst": ends.dst}
    key |= {name: table[name][ends.rows].astype(np.int64) for name in ("ip_proto", "sport", "dport")}
    return locality(numbered(key))
