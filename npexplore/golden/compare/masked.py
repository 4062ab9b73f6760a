"""Frames with those octets set to 0 in which two correct routers may differ.

That is the identification of a message that the router makes itself, the times in a time stamp option or reply, and the
checksums that cover either. IPv4 has these, below labels too; IPv6 and label stacks have nothing that is free.
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

    own_message: whether the router made this message itself; None: every ICMP error counts as its own.
    """
    out, at = bytearray(frame), ipv4_at(frame)
    if at is not None:
        _blot(out, at, own_message)
    return bytes(out)


def ipv4_at(frame: bytes) -> int | None:
    """Return where a frame's packet of IPv4 begins, below the labels if there are some; None without one."""
    kind, packet = frame[12:ETHERNET], frame[ETHERNET:]
    if kind == IPV4_TYPE:
        return ETHERNET
    shape = read_stack(packet)
    if kind != MPLS_TYPE or shape.reason:
        return None
    below = ENTRY * shape.depth
    return ETHERNET + below if packet[below : below + 1] and packet[below] >> 4 == 4 else None


def _blot(out: bytearray, at: int, own_message: bool | None) -> bool:
    """Set what is free to 0; say whether anything is, which may have been 0 before."""
    length = 4 * (out[at] & 15) if len(out) > at else 0
    if len(out) < at + SHORTEST or length < SHORTEST or len(out) < at + length:
        return False
    stamped = _blot_stamps(out, at + SHORTEST, at + length)
    inner = at + length + ICMP_HEADER
    first = not (out[at + 6] & 31 or out[at + 7])
    error = out[at + 9] == ICMP and first and len(out) >= inner and out[at + length] in ERROR_TYPES
    if own_message or (own_message is None and error):
        out[at + 4 : at + 6] = bytes(2)
        stamped = True
    if stamped:
        out[at + 10 : at + 12] = bytes(2)
    if own_message and out[at + 9] == ICMP and first and len(out) >= inner + 12 and out[at + length] == TIMESTAMP_REPLY:
        out[inner + 4 : inner + 12] = bytes(8)
        out[at + length + 2 : at + length + 4] = bytes(2)
    if error and own_message is not False and _blot(out, inner, own_message=False):
        out[at + length + 2 : at + length + 4] = bytes(2)
    return stamped


def _blot_stamps(out: bytearray, at: int, end: int) -> bool:
    """Set the times of the first time stamp option to 0; say whether there was one."""
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
