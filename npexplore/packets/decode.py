"""From the records of a chunk to its packet table: the header columns and the side tables, in one call of a kernel."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels.capture_headers import MAX_TAGS, decode_headers
from npexplore.packets.columns import HEADER_COLUMNS, Ipv6Addresses, PacketTable, Tags


def decode(data: Any, base: int, table: dict[str, Any], links: NDArray[np.int64], link_types: Any) -> PacketTable:
    """Return the packet table of records whose bytes are data[position - base:]."""
    count = len(table["length"])
    table.update({name: np.empty(count, dtype) for name, dtype in HEADER_COLUMNS.items()})
    tag_packet, tag_kind = np.empty(MAX_TAGS * count, np.int64), np.empty(MAX_TAGS * count, np.uint8)
    tag_value = np.empty(MAX_TAGS * count, np.uint32)
    v6_packet, v6_address = np.empty(count, np.int64), np.empty((count, 32), np.uint8)
    v6_label = np.empty(count, np.uint32)
    counts = np.zeros(2, np.int64)
    decode_headers(
        data, base, table["position"], table["captured"], table["length"], table["interface"], links,
        tag_packet, tag_kind, tag_value, v6_packet, v6_address, v6_label, counts,
        *(table[name] for name in HEADER_COLUMNS),
    )  # fmt: skip
    tags, sixes = int(counts[0]), int(counts[1])
    return PacketTable(
        table,
        Tags(tag_packet[:tags].copy(), tag_kind[:tags].copy(), tag_value[:tags].copy()),
        Ipv6Addresses(
            v6_packet[:sixes].copy(),
            v6_address[:sixes, :16].copy(),
            v6_address[:sixes, 16:].copy(),
            v6_label[:sixes].copy(),
        ),
        link_types,
    )
