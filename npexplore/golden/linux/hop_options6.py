"""Parses hop-by-hop options of IPv6 as the Linux kernel does, stricter than RFC 8200 section 4.2 about padding.

Padding between two options has at most 7 bytes, all zero. There are at most 8 options. A router alert has 2 bytes. A
jumbo payload option must be at offset 4n + 2 and give more than 65,535 bytes (RFC 2675 section 3).
"""

from __future__ import annotations

from npexplore.golden.ipv6.header import read_header
from npexplore.golden.ipv6.hop_options import ROUTER_ALERT, HopOptions, hop_options_of, unknown_option
from npexplore.golden.reasons import Reason

CALIPSO, IN_SITU, JUMBO = 0x07, 0x31, 0xC2  # RFC 5570; RFC 9486; RFC 2675
LARGEST = 0xFFFF
CUT = Reason.HOP_OPTION_CUT


def read_hop_options(packet: bytes) -> HopOptions:
    """Return the first fault of the options behind the IPv6 header; the options header must be complete."""
    for at, kind in hop_options_of(packet, linux=True):
        fault = HopOptions(CUT, at) if kind is None else _fault(packet, at)
        if fault.reason:
            return fault
    return HopOptions()


def _fault(packet: bytes, at: int) -> HopOptions:
    """Return the fault of one option other than padding."""
    kind, size = packet[at], packet[at + 1]
    if kind == ROUTER_ALERT:
        return HopOptions() if size == 2 else HopOptions(CUT, at)
    if kind == IN_SITU:
        return HopOptions(CUT, at) if at % 4 else HopOptions()
    if kind == JUMBO:
        if size != 4 or at % 4 != 2:
            return HopOptions(CUT, at)
        if int.from_bytes(packet[at + 2 : at + 6], "big") <= LARGEST:
            return HopOptions(Reason.JUMBO_WRONG, at + 2, True)
        both_lengths = read_header(packet).payload_length > 0
        return HopOptions(Reason.JUMBO_WRONG, at, True) if both_lengths else HopOptions(Reason.JUMBOGRAM, at)
    if kind == CALIPSO:
        return HopOptions(CUT, at)
    return unknown_option(packet, at)
