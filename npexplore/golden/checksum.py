"""The Internet checksum (RFC 1071), and its incremental update when one word changes (RFC 1141, RFC 1624).

checksum = ~(one's complement sum of the 16-bit words); a header with a correct checksum sums to 0xffff.
"""

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_headers as kernels
from npexplore.golden.columns import Packets


def internet_checksum(data: bytes) -> int:
    """Return the checksum of bytes as a number (RFC 1071 section 1); odd lengths are padded with a zero byte."""
    if len(data) % 2:
        data = data + b"\0"
    total = sum(data[i] << 8 | data[i + 1] for i in range(0, len(data), 2))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total


def update_checksum(checksum: int, old: int, new: int) -> int:
    """Return a header's checksum after one 16-bit word changed: HC' = ~(~HC + ~m + m') (RFC 1624 equation 3).

    Equal to a new computation, unless all words are 0 after the change: then this returns 0, a computation 0xffff.

    Args:
        checksum: the checksum before the change, 0 to 0xffff.
        old: the word before the change.
        new: the word after the change.
    """
    total = (checksum ^ 0xFFFF) + (old ^ 0xFFFF) + new
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def update_checksum_rfc1141(checksum: int, old: int, new: int) -> int:
    """Return HC' = HC + m + ~m' (RFC 1141); 0xffff where the correct checksum is 0 (RFC 1624 section 3)."""
    total = checksum + old + (new ^ 0xFFFF)
    total = (total & 0xFFFF) + (total >> 16)
    return (total & 0xFFFF) + (total >> 16)


def header_checksum_is_right(packet: bytes) -> bool:
    """Say whether a packet has a complete IP header whose words sum to 0xffff (RFC 1071 section 1 (3))."""
    if len(packet) < 20:
        return False
    header_length = 4 * (packet[0] & 15)
    return 20 <= header_length <= len(packet) and internet_checksum(packet[:header_length]) == 0


def internet_checksums(packets: Packets) -> NDArray[np.uint16]:
    """Return the checksum of all bytes of each packet."""
    out = np.empty(len(packets), np.uint16)
    kernels.checksums(packets.buffer, packets.offset, packets.length, out)
    return out


def update_checksums(
    checksum: NDArray[np.integer], old: NDArray[np.integer], new: NDArray[np.integer]
) -> NDArray[np.uint16]:
    """Return each checksum after one word changed."""
    out = np.empty(len(checksum), np.uint16)
    kernels.updates(checksum, old, new, out)
    return out


def header_checksums_are_right(packets: Packets) -> NDArray[np.bool_]:
    """Return whether each packet has a complete IP header with a correct checksum."""
    out = np.empty(len(packets), np.bool_)
    kernels.header_sums(packets.buffer, packets.words, packets.offset, packets.length, out)
    return out


def update_checksums_rfc1141(
    checksum: NDArray[np.integer], old: NDArray[np.integer], new: NDArray[np.integer]
) -> NDArray[np.uint16]:
    """Return each checksum after one word changed, by RFC 1141."""
    total = np.asarray(checksum, np.uint32) + np.asarray(old, np.uint32) + (np.asarray(new, np.uint32) ^ 0xFFFF)
    for _ in range(2):
        total = (total & 0xFFFF) + (total >> 16)
    return total.astype(np.uint16)
