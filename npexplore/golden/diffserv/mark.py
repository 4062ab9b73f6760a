"""Marking: writes a code point into the DS field (RFC 2474 section 3), and updates the checksum (RFC 1624).

The two low bits of the octet are ECN (RFC 3168 section 5) and are unchanged.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from npexplore._kernels import golden_headers as kernels
from npexplore.errors import InputError
from npexplore.golden.checksum import update_checksum
from npexplore.golden.code_points import MAX_DSCP
from npexplore.golden.columns import Packets
from npexplore.golden.ipv4.header import SHORTEST


def mark_dscp(packet: bytes, dscp: int) -> bytes:
    """Return the packet with a code point (-1: unchanged); a packet shorter than a header is unchanged."""
    if len(packet) < SHORTEST or dscp < 0:
        return packet
    old_word = packet[0] << 8 | packet[1]
    tos = dscp << 2 | packet[1] & 3
    checksum = update_checksum(packet[10] << 8 | packet[11], old_word, old_word & 0xFF00 | tos)
    return packet[:1] + bytes([tos]) + packet[2:10] + checksum.to_bytes(2, "big") + packet[12:]


def mark_dscps(packets: Packets, dscp: ArrayLike, *, in_place: bool = False) -> Packets:
    """Return the packets with their code points (-1: unchanged): a copy, or with `in_place` the same buffer.

    Raises InputError for numbers that are not code points, and for `in_place` with a read-only buffer.
    """
    codes = np.ascontiguousarray(dscp, np.int16)
    if codes.shape != packets.offset.shape or (
        len(codes) and not -1 <= int(codes.min()) <= int(codes.max()) <= MAX_DSCP
    ):
        raise InputError(f"DSCP must be -1 to {MAX_DSCP}, one for each of {len(packets)} packets")
    if in_place and not packets.buffer.flags.writeable:
        raise InputError("in_place must have a buffer that can be written to, got a read-only one")
    changed = packets if in_place else packets.copy()
    kernels.mark(changed.buffer, changed.offset, changed.length, codes)
    return changed
