"""Hop-by-hop options of IPv6 as the Linux kernel reads them (RFC 8200 section 4.2): stricter than it about padding.

Padding between two options is 7 bytes at most and zero, there are 8 options at most, a router alert has 2 bytes, and a
jumbo payload option must stand at 4n + 2 and tell more than 65,535 bytes (RFC 2675 section 3).
"""

from __future__ import annotations

from npexplore.golden.ipv6.header import SHORTEST, read_header
from npexplore.golden.ipv6.hop_options import PAD1, PADN, ROUTER_ALERT, HopOptions
from npexplore.golden.reasons import Reason

CALIPSO, IN_SITU, JUMBO = 0x07, 0x31, 0xC2  # RFC 5570; RFC 9486; RFC 2675
LONGEST_PADDING, MOST_OPTIONS, LARGEST = 7, 8, 0xFFFF
CUT = Reason.HOP_OPTION_CUT


def read_hop_options(packet: bytes) -> HopOptions:
    """Return what is wrong with the options right behind the IPv6 header, which are whole."""
    at, end = SHORTEST + 2, SHORTEST + 8 * packet[SHORTEST + 1] + 8
    padding = count = 0
    while at < end:
        kind = packet[at]
        size = 1 if kind == PAD1 else packet[at + 1] + 2 if at + 2 <= end else end
        if at + size > end:
            return HopOptions(CUT, at)
        if kind in (PAD1, PADN):
            padding += size
            if padding > LONGEST_PADDING or any(packet[at + 2 : at + size]):
                return HopOptions(CUT, at)
        else:
            padding, count = 0, count + 1
            fault = HopOptions(CUT, at) if count > MOST_OPTIONS else _fault(packet, at)
            if fault.reason:
                return fault
        at += size
    return HopOptions()


def _fault(packet: bytes, at: int) -> HopOptions:
    """Return what is wrong with one option that is no padding."""
    kind, size, header = packet[at], packet[at + 1], read_header(packet)
    if kind == ROUTER_ALERT:
        return HopOptions() if size == 2 else HopOptions(CUT, at)
    if kind == IN_SITU:
        return HopOptions(CUT, at) if at % 4 else HopOptions()
    if kind == JUMBO:
        if size != 4 or at % 4 != 2:
            return HopOptions(CUT, at)
        if int.from_bytes(packet[at + 2 : at + 6], "big") <= LARGEST:
            return HopOptions(Reason.JUMBO_WRONG, at + 2, True)
        return HopOptions(Reason.JUMBO_WRONG, at, True) if header.payload_length else HopOptions(Reason.JUMBOGRAM, at)
    if kind == CALIPSO:
        return HopOptions(CUT, at)
    if kind >> 6 == 0:
        return HopOptions()
    many = header.destination >> 120 == 0xFF
    return HopOptions(Reason.HOP_OPTION_UNKNOWN, at, kind >> 6 == 2 or (kind >> 6 == 3 and not many))
