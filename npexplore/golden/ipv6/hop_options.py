"""Hop-by-hop options (RFC 8200 sections 4.2 and 4.3), the only extension header that routers on the way look into.

The upper two bits of an unknown option's type say what to do: 0 skip it, 1 discard the packet, 2 discard it and tell
the sender, 3 the same unless the destination is a multicast address.
"""

from typing import NamedTuple

from npexplore.golden.ipv6.extensions import HOP_BY_HOP
from npexplore.golden.ipv6.header import SHORTEST, read_header
from npexplore.golden.reasons import Reason

PAD1, PADN, ROUTER_ALERT = 0, 1, 5
KNOWN = frozenset({PADN, ROUTER_ALERT})


class HopOptions(NamedTuple):
    """The first fault: its reason, the offset of the octet that is wrong, and whether the sender is to be told."""

    reason: Reason = Reason.NONE
    pointer: int = 0
    tell: bool = False


def read_hop_options(packet: bytes) -> HopOptions:
    """Return what is wrong with the hop-by-hop options of a packet whose chain is whole; it may have none."""
    header = read_header(packet)
    if header.next_header != HOP_BY_HOP:
        return HopOptions()
    at, end = SHORTEST + 2, SHORTEST + 8 * packet[SHORTEST + 1] + 8
    while at < end:
        kind = packet[at]
        if kind == PAD1:
            at += 1
            continue
        if at + 2 > end or at + 2 + packet[at + 1] > end:
            return HopOptions(Reason.HOP_OPTION_CUT, at)
        if kind not in KNOWN and kind >> 6:
            many = header.destination >> 120 == 0xFF
            return HopOptions(Reason.HOP_OPTION_UNKNOWN, at, kind >> 6 == 2 or (kind >> 6 == 3 and not many))
        at += 2 + packet[at + 1]
    return HopOptions()
