"""From the records of a chunk to its packet table: the header columns and the side tables, in one call of a kernel.

The kernel writes into a `Room`. Tables that share one are cheaper, since the system need not clear new memory for each
(a Dask worker gives all of it back after every chunk), but such a table is gone with the next.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels.capture_headers import decode_headers
from npexplore._kernels.capture_layout import MAX_TAGS, Headers, Records, Tables
from npexplore.packets.columns import HEADER_COLUMNS, Ipv6Addresses, PacketTable, Tags


class Room:
    """Memory for the headers of so many packets."""

    def __init__(self, packets: int) -> None:
        self.columns = {name: np.empty(packets, dtype) for name, dtype in HEADER_COLUMNS.items()}
        most = MAX_TAGS * packets
        tags = np.empty(most, np.int64), np.empty(most, np.uint8), np.empty(most, np.uint32)
        sixes = np.empty(packets, np.int64), np.empty((packets, 32), np.uint8), np.empty(packets, np.uint32)
        self.tables = Tables(*tags, *sixes)


def decode(
    data: Any, base: int, table: dict[str, Any], links: NDArray[np.int64], link_types: Any, room: Room | None = None
) -> PacketTable:
    """Return the packet table of records whose bytes are data[position - base:].

    With a room, which must hold as many packets, the header columns lie there.
    """
    count = len(table["length"])
    room = Room(count) if room is None else room
    table.update({name: column[:count] for name, column in room.columns.items()})
    counts = np.zeros(2, np.int64)
    decode_headers(
        data, base, Records(*(table[name] for name in Records._fields)), links, counts,
        Headers(*(table[name] for name in Headers._fields)), room.tables,
    )  # fmt: skip
    tags, sixes = int(counts[0]), int(counts[1])
    return PacketTable(
        table,
        Tags(*(column[:tags].copy() for column in room.tables[:3])),
        Ipv6Addresses(
            room.tables.v6_packet[:sixes].copy(),
            room.tables.v6_address[:sixes, :16].copy(),
            room.tables.v6_address[:sixes, 16:].copy(),
            room.tables.v6_label[:sixes].copy(),
        ),
        link_types,
    )
