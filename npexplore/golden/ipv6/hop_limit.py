"""Hop limit (RFC 8200 section 3): each router decrements it, and discards a packet if it is or becomes 0."""

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_ipv6 as kernels
from npexplore.golden.columns import Packets
from npexplore.golden.ipv6.header import SHORTEST
from npexplore.golden.reasons import Reason


def decrement_hop_limit(packet: bytes) -> tuple[Reason, bytes]:
    """Return the packet with its hop limit decremented, or unchanged with the reason."""
    if len(packet) < SHORTEST:
        return Reason.TOO_SHORT6, packet
    if packet[7] <= 1:
        return Reason.HOP_LIMIT_EXCEEDED, packet
    return Reason.NONE, packet[:7] + bytes([packet[7] - 1]) + packet[8:]


def decrement_hop_limits(packets: Packets) -> tuple[NDArray[np.uint8], Packets]:
    """Return reason codes and a changed copy of the packets."""
    changed = packets.copy()
    out = np.empty(len(packets), np.uint8)
    kernels.decrement(changed.buffer, changed.offset, changed.length, out)
    return out, changed
