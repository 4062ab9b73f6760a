"""Turns the records of a chunk into a packet table (header columns and side tables) by one call of a kernel.

The kernel writes into a `Room`. Tables that share a room are cheaper, because the system need not clear new memory for
each table (a Dask worker returns all memory after every chunk), but each table overwrites the one before.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels.capture_headers import decode_headers
from npexplore._kernels.capture_layout import MAX_TAGS, Headers, Records, Tables
from npexplore.packets.columns import HEADER_COLUMNS, Ipv6Addresses, PacketTable, Tags


class Room:
    """Memory for the headers of `packets` packets."""

    def __init__(self, packets: int) -> None:
        self.columns = {name: np.empty(packets, dtype) for name, dtype in HEADER_COLUMNS.items()}
        max_tags = MAX_TAGS * packets
        tags = np.empty(max_tags, np.int64), np.empty(max_tags, np.uint8), np.empty(max_tags, np.uint32)
        ipv6 = np.empty(packets, np.int64), np.empty((packets, 32), np.uint8), np.empty(packets, np.uint32)
        self.tables = Tables(*tags, *ipv6)


def decode(
    data: Any, base: int, table: dict[str, Any], links: NDArray[np.int64], link_types: Any, room: Room | None = None
) -> PacketTable:
    """Return the packet table of records whose bytes are data[position - base:].

    With a room, which must have space for all the records, the header columns are views of its memory.
    """
    count = len(table["length"])
    room = Room(count) if room is None else room
    table.update({name: column[:count] for name, column in room.columns.items()})
    counts = np.zeros(2, np.int64)
    decode_headers(
        data, base, Records(*(table[name] for name in Records._fields)), links, counts,
        Headers(*(table[name] for name in Headers._fields)), room.tables,
    )  # fmt: skip
    tag_rows, ipv6_rows = int(counts[0]), int(counts[1])
    return PacketTable(
        table,
        Tags(*(column[:tag_rows].copy() for column in room.tables[:3])),
        Ipv6Addresses(
            room.tables.v6_packet[:ipv6_rows].copy(),
            room.tables.v6_address[:ipv6_rows, :16].copy(),
            room.tables.v6_address[:ipv6_rows, 16:].copy(),
            room.tables.v6_label[:ipv6_rows].copy(),
        ),
        link_types,
    )
