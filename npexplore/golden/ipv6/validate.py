"""The tests an IPv6 header must pass (RFC 8200 section 3): whole, version 6, a payload that arrived.

There is no checksum to test, and no length field to lie about the header. What follows the payload is of the link.
"""

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_ipv6 as kernels
from npexplore.golden.columns import Packets
from npexplore.golden.ipv6.header import SHORTEST, read_header
from npexplore.golden.reasons import Reason


def validate(packet: bytes) -> Reason:
    """Return the reason to drop a packet as the link handed it over (padding may follow it), Reason.NONE for none."""
    if len(packet) < SHORTEST:
        return Reason.TOO_SHORT6
    header = read_header(packet)
    if header.version != 6:
        return Reason.BAD_VERSION6
    if SHORTEST + header.payload_length > len(packet):
        return Reason.TRUNCATED6
    return Reason.NONE


def validate_many(packets: Packets) -> NDArray[np.uint8]:
    """Return the reason code of each packet, 0 for none."""
    out = np.empty(len(packets), np.uint8)
    kernels.validate(packets.buffer, packets.offset, packets.length, out)
    return out
