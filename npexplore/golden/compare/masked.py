"""Masks a frame: sets the octets to 0 in which two correct routers may differ.

These are the identification of a message that the router generates, the times in a timestamp option or reply, and the
checksums that cover them. They exist in IPv4, also below labels; IPv6 packets and label stacks have no such octets.
"""

from npexplore.golden.ethernet import ETHERNET, IPV4_TYPE, MPLS_TYPE
from npexplore.golden.ipv4.header import SHORTEST
from npexplore.golden.ipv4.host import TIMESTAMP_REPLY
from npexplore.golden.ipv4.icmp import ERROR_TYPES, ICMP
from npexplore.golden.ipv4.options import END, NOP, TIMESTAMP, TS_ONLY
from npexplore.golden.mpls.stack import ENTRY, read_stack

ICMP_HEADER = 8


def without_time(frame: bytes, own_message: bool | None = None) -> bytes:
    """Return a frame with the fields that may differ, and the checksums that cover them, set to 0.

    own_message: whether the router generated this message; None: it generated every ICMP error.
    """
    out, at = bytearray(frame), ipv4_at(frame)
    if at is not None:
        _blot(out, at, own_message)
    return bytes(out)


def ipv4_at(frame: bytes) -> int | None:
    """Return the offset of a frame's IPv4 packet, below its labels if it has any; None without one."""
    kind, packet = frame[12:ETHERNET], frame[ETHERNET:]
    if kind == IPV4_TYPE:
        return ETHERNET
    shape = read_stack(packet)
    if kind != MPLS_TYPE or shape.reason:
        return None
    depth = ENTRY * shape.depth
    return ETHERNET + depth if packet[depth : depth + 1] and packet[depth] >> 4 == 4 else None


def _blot(out: bytearray, at: int, own_message: bool | None) -> bool:
    """Set the octets that may differ to 0; return whether any octet of the header may differ."""
    length = 4 * (out[at] & 15) if len(out) > at else 0
    if len(out) < at + SHORTEST or length < SHORTEST or len(out) < at + length:
        return False
    header_masked = _blot_stamps(out, at + SHORTEST, at + length)
    inner = at + length + ICMP_HEADER
    first = not (out[at + 6] & 31 or out[at + 7])
    is_error = out[at + 9] == ICMP and first and len(out) >= inner and out[at + length] in ERROR_TYPES
    if own_message or (own_message is None and is_error):
        out[at + 4 : at + 6] = bytes(2)
        header_masked = True
    if header_masked:
        out[at + 10 : at + 12] = bytes(2)
    if own_message and out[at + 9] == ICMP and first and len(out) >= inner + 12 and out[at + length] == TIMESTAMP_REPLY:
        out[inner + 4 : inner + 12] = bytes(8)
        out[at + length + 2 : at + length + 4] = bytes(2)
    if is_error and own_message is not False and _blot(out, inner, own_message=False):
        out[at + length + 2 : at + length + 4] = bytes(2)
    return header_masked


def _blot_stamps(out: bytearray, at: int, end: int) -> bool:
    """Set the times of the first timestamp option to 0; return whether there is one."""
    while at < end and out[at] != END:
        size = 1 if out[at] == NOP else out[at + 1] if at + 1 < end else 0
        if size < 1 or at + size > end:
            return False
        if out[at] == TIMESTAMP and size >= 4:
            step = 4 if out[at + 3] & 15 == TS_ONLY else 8
            for place in range(at + min(size + 1, out[at + 2]) - 5, at + 3, -step):
                out[place : place + 4] = bytes(4)
            return True
        at += size
    return False
