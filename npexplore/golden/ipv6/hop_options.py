"""Checks hop-by-hop options (RFC 8200 sections 4.2 and 4.3), the only extension header that routers process.

The upper two bits of an unknown option's type determine the action: 0 skip the option, 1 discard the packet, 2 discard
it and send an error, 3 the same unless the destination is a multicast address.
"""

from collections.abc import Iterator
from typing import NamedTuple

from npexplore.golden.ipv6.extensions import HOP_BY_HOP
from npexplore.golden.ipv6.header import SHORTEST, read_header
from npexplore.golden.reasons import Reason

PAD1, PADN, ROUTER_ALERT = 0, 1, 5
LONGEST_PADDING, MOST_OPTIONS = 7, 8  # limits of the Linux kernel


class HopOptions(NamedTuple):
    """The first fault: its reason, the offset of the wrong octet, and whether to send an error."""

    reason: Reason = Reason.NONE
    pointer: int = 0
    tell: bool = False


def options_between(packet: bytes, at: int, end: int, *, linux: bool = False) -> Iterator[tuple[int, int | None]]:
    """Yield (offset, type) of each option except padding; type None, only at the end: this option is cut.

    linux: as in the kernel, padding of more than 7 bytes, non-zero padding, and a ninth option count as cut.
    """
    padding = count = 0
    while at < end:
        kind = packet[at]
        size = 1 if kind == PAD1 else packet[at + 1] + 2 if at + 2 <= end else end
        pads = kind in (PAD1, PADN)
        padding, count = (padding + size, count) if pads else (0, count + 1)
        excess = padding > LONGEST_PADDING or count > MOST_OPTIONS or (pads and any(packet[at + 2 : at + size]))
        if at + size > end or (linux and excess):
            yield at, None
            return
        if not pads:
            yield at, kind
        at += size


def hop_options_of(packet: bytes, *, linux: bool = False) -> Iterator[tuple[int, int | None]]:
    """Yield the options of a complete hop-by-hop header behind the IPv6 header, as `options_between` does."""
    return options_between(packet, SHORTEST + 2, SHORTEST + 8 * packet[SHORTEST + 1] + 8, linux=linux)


def unknown_option(packet: bytes, at: int) -> HopOptions:
    """Return the fault of an unknown option, by the action in its type."""
    kind, to_multicast = packet[at], read_header(packet).destination >> 120 == 0xFF
    reason = Reason.HOP_OPTION_UNKNOWN if kind >> 6 else Reason.NONE
    return HopOptions(reason, at, kind >> 6 == 2 or (kind >> 6 == 3 and not to_multicast))


def read_hop_options(packet: bytes) -> HopOptions:
    """Return the first fault of a packet's hop-by-hop options, if it has any; its chain must be complete."""
    for at, kind in hop_options_of(packet) if read_header(packet).next_header == HOP_BY_HOP else ():
        if kind is None:
            return HopOptions(Reason.HOP_OPTION_CUT, at)
        if kind != ROUTER_ALERT and kind >> 6:
            return unknown_option(packet, at)
    return HopOptions()
