"""Validates the IPv6 header (RFC 8200 section 3): complete, version 6, with its whole payload.

IPv6 has neither a header checksum nor a header length. Bytes behind the payload are padding of the link.
"""

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_ipv6 as kernels
from npexplore.golden.columns import Packets
from npexplore.golden.ipv6.header import SHORTEST, read_header
from npexplore.golden.reasons import Reason


def validate(packet: bytes) -> Reason:
    """Return the reason to drop a packet from the link (padding may follow it), Reason.NONE if it is valid."""
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
