"""Validates the IPv4 header before all other processing (RFC 1812 section 5.2.2).

The order is: link length, version, header length, total length, checksum. The checksum is last because the bytes that
it covers are known only then. A packet that fails any test is dropped silently, so the order affects only the reason.
"""

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_headers as kernels
from npexplore.golden.checksum import internet_checksum
from npexplore.golden.columns import Packets
from npexplore.golden.ipv4.header import SHORTEST, read_header
from npexplore.golden.reasons import Reason


def validate_ipv4(packet: bytes) -> Reason:
    """Return the reason to drop a packet from the link (padding may follow it), Reason.NONE if it is valid."""
    if len(packet) < SHORTEST:
        return Reason.TOO_SHORT
    header = read_header(packet)
    if header.version != 4:
        return Reason.BAD_VERSION
    if header.header_length < SHORTEST:
        return Reason.BAD_HEADER_LENGTH
    if header.header_length > len(packet):
        return Reason.HEADER_CUT
    if header.total_length < header.header_length:
        return Reason.BAD_TOTAL_LENGTH
    if header.total_length > len(packet):
        return Reason.TRUNCATED
    if internet_checksum(packet[: header.header_length]) != 0:
        return Reason.BAD_CHECKSUM
    return Reason.NONE


def validate_ipv4_many(packets: Packets) -> NDArray[np.uint8]:
    """Return the reason code of each packet, 0 for none."""
    out = np.empty(len(packets), np.uint8)
    kernels.validate(packets.buffer, packets.words, packets.offset, packets.length, out)
    return out
