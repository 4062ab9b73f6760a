"""Numbers the addresses of both IP versions in one range, so that the same code counts flows and talkers of both.

An IPv4 address is its own number; an IPv6 address is 2^32 plus its row in `Endpoints.ipv6`, in order of appearance.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from npexplore.packets.addresses import dotted, text6
from npexplore.packets.columns import PacketTable
from npexplore.records import by_content

FIRST_IPV6 = 1 << 32
DENSE_KEYS = 1 << 16  # keys in a block of `dense`


@by_content
@dataclass(frozen=True)
class Endpoints:
    """Source and destination of every packet that has a whole IPv4 or IPv6 header.

    rows: int64, the packets' rows in the table, ascending; src, dst: int64, numbers as above; ipv6: uint8 (m, 16), the
    distinct IPv6 addresses.

    Example:
        >>> from npexplore.packets import CaptureScan, endpoints
        >>> found = endpoints(next(iter(CaptureScan("sample:zeek_wikipedia"))))
        >>> len(found.rows)
        126
    """

    rows: NDArray[np.int64]
    src: NDArray[np.int64]
    dst: NDArray[np.int64]
    ipv6: NDArray[np.uint8]

    def text(self, numbers: Iterable[int]) -> list[str]:
        """Return addresses as text."""
        number = np.fromiter(numbers, np.int64)
        texts = dotted(np.where(number < FIRST_IPV6, number, 0))
        for row in np.flatnonzero(number >= FIRST_IPV6).tolist():
            texts[row] = text6(self.ipv6[number[row] - FIRST_IPV6].tobytes())
        return texts


def endpoints(table: PacketTable) -> Endpoints:
    """Return the endpoints of a table's packets."""
    complete = table["header_complete"]
    rows = np.flatnonzero(complete & (table["ipv4"] | table["ipv6"]))
    src, dst = (table[name][rows].astype(np.int64) for name in ("src", "dst"))
    ipv6 = table.ipv6
    if not len(ipv6.packet):
        return Endpoints(rows, src, dst, np.empty((0, 16), np.uint8))
    addresses = np.concatenate([ipv6.source, ipv6.destination])
    numbers, first_rows = dense_bytes(addresses)
    at = np.searchsorted(rows, ipv6.packet)
    src[at], dst[at] = (FIRST_IPV6 + numbers_of_end for numbers_of_end in np.split(numbers, 2))
    return Endpoints(rows, src, dst, addresses[first_rows])


def dense(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Number the distinct keys from 0 in order of appearance; return each key's number and the count of distinct keys.

    Keys are hashed in blocks, so that memory grows with the distinct keys: one hash table would have a bucket per key.
    """
    import pandas as pd

    parts = np.array_split(keys, max(1, len(keys) // DENSE_KEYS))
    distinct = pd.Index(pd.unique(np.concatenate([pd.unique(part) for part in parts])))
    return distinct.get_indexer(keys).astype(np.int64, copy=False), len(distinct)


def dense_bytes(addresses: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number the distinct rows of uint8 (n, 16) from 0 by appearance; return the numbers and their first rows."""
    import pandas as pd

    halves = np.ascontiguousarray(addresses).view(np.uint64)
    high, low = (pd.factorize(halves[:, column])[0].astype(np.int64) for column in (0, 1))
    numbers, distinct = pd.factorize(high << 32 | low)
    first = np.empty(len(distinct), np.int64)
    backwards = np.arange(len(numbers) - 1, -1, -1)
    first[numbers[backwards]] = backwards
    return numbers.astype(np.int64), first
