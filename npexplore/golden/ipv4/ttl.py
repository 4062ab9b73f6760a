"""Time to live (RFC 1812 section 5.3.1): each router decrements it; a packet with none left is not forwarded."""

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_headers as kernels
from npexplore.errors import InputError
from npexplore.golden.checksum import update_checksum
from npexplore.golden.columns import Packets
from npexplore.golden.ipv4.header import SHORTEST
from npexplore.golden.reasons import Reason


def decrement_ttl(packet: bytes) -> tuple[Reason, bytes]:
    """Return the packet with its TTL decremented and its checksum updated (RFC 1624), or unchanged with the reason."""
    if len(packet) < SHORTEST:
        return Reason.TOO_SHORT, packet
    if packet[8] <= 1:
        return Reason.TTL_EXPIRED, packet
    old_word = packet[8] << 8 | packet[9]
    checksum = update_checksum(packet[10] << 8 | packet[11], old_word, old_word - 0x100)
    return Reason.NONE, packet[:8] + bytes([packet[8] - 1, packet[9]]) + checksum.to_bytes(2, "big") + packet[12:]


def decrement_ttls(packets: Packets, *, in_place: bool = False) -> tuple[NDArray[np.uint8], Packets]:
    """Return reason codes and the changed packets: a copy, or with `in_place` the same buffer.

    Raises InputError for `in_place` with a read-only buffer, such as a mapped file.
    """
    if in_place and not packets.buffer.flags.writeable:
        raise InputError("in_place must have a buffer that can be written to, got a read-only one")
    changed = packets if in_place else packets.copy()
    out = np.empty(len(packets), np.uint8)
    kernels.decrement(changed.buffer, changed.offset, changed.length, out)
    return out, changed
