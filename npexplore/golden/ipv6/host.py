"""The router's answers to IPv6 packets for itself: RFC 4443 sections 4.1 (echo), 3.1 (port), 3.4 (next header).

Extension headers are parsed as in a host (RFC 8200 section 4). A routing header with segments left and unknown options
cause errors. An atomic fragment (offset 0, no more fragments) is a whole packet (section 4.5); `reassembly` handles
other fragments.
"""

from __future__ import annotations

from typing import NamedTuple

from npexplore.golden.ipv4.host import whole_datagram
from npexplore.golden.ipv6.extensions import DESTINATION_OPTIONS, FRAGMENT, HOP_BY_HOP, ROUTING
from npexplore.golden.ipv6.header import ICMP6, SHORTEST, UDP, read_header
from npexplore.golden.ipv6.hop_options import options_between
from npexplore.golden.ipv6.icmp import PARAMETER_PROBLEM, UNREACHABLE, IcmpError, checksum
from npexplore.golden.ipv6.reassembly import Piece

ECHO, ECHO_REPLY = 128, 129
PORT = 4
FIELD, NEXT_HEADER, OPTION = 0, 1, 2  # codes of parameter problems
TCP, NOTHING, NEXT_HEADER_AT = 6, 59, 6
RPL, SEGMENTS = 3, 4  # types of routing headers (RFC 6554, 8754)


class Carried(NamedTuple):
    """The protocol behind the extension headers, the offset of its header, and the offset of its number."""

    protocol: int
    at: int
    named: int


def carried_by(packet: bytes, *, linux: bool = False, joined: int = 0) -> Carried | Piece | IcmpError | None:
    """Return the protocol that a packet for this host carries, the error about an extension header, or None: no answer.

    A non-atomic fragment is a Piece. linux: as the kernel, which sends no error about segment routing, is strict about
    padding, and sends errors about a second or cut fragment header. joined: for a reassembled packet the offset of its
    fragment header, else 0.
    """
    header = read_header(packet)
    end = min(len(packet), SHORTEST + header.payload_length)
    protocol, at, type_at = header.next_header, SHORTEST, NEXT_HEADER_AT
    hop_options_at = 0 if joined == SHORTEST else SHORTEST  # only offset at which hop-by-hop options are allowed
    had_fragment_header = joined > 0  # whether a fragment header came before
    while protocol in (DESTINATION_OPTIONS, ROUTING, FRAGMENT) or (protocol == HOP_BY_HOP and at == hop_options_at):
        size = 8 if at + 8 > end or protocol == FRAGMENT else 8 * packet[at + 1] + 8
        if at + size > end:
            return IcmpError(PARAMETER_PROBLEM, FIELD, at) if linux and protocol == FRAGMENT else None
        if protocol == DESTINATION_OPTIONS:
            fault = _options(packet, at, size, linux)
            if fault is not None:
                return fault if fault.type else None
        elif protocol == ROUTING:
            kind, segments_left = packet[at + 2], packet[at + 3]
            if linux and kind in (RPL, SEGMENTS):
                return None
            if segments_left:
                return IcmpError(PARAMETER_PROBLEM, FIELD, at + 2)
        elif protocol == FRAGMENT:
            if linux and had_fragment_header:
                return IcmpError(PARAMETER_PROBLEM, FIELD, at)
            had_fragment_header = True
            if (packet[at + 2] << 8 | packet[at + 3]) & 0xFFF9:
                return Piece(at, type_at)
        protocol, type_at, at = packet[at], at, at + size
    return Carried(protocol, at, type_at)


def _options(packet: bytes, at: int, size: int, linux: bool) -> IcmpError | None:
    """Return the error about destination options; type 0: drop without an error; None: no fault."""
    for place, kind in options_between(packet, at + 2, at + size, linux=linux):
        if kind is None or kind >> 6 == 1:
            return IcmpError(0, 0)
        if kind >> 6:
            return IcmpError(PARAMETER_PROBLEM, OPTION, place)
    return None


def host_answer6(packet: bytes, *, linux: bool = False, joined: int = 0) -> bytes | IcmpError | None:
    """Return the ICMPv6 reply to a packet (with checksum 0), the error about it, or None for no answer.

    linux, joined: see `carried_by`.
    """
    message = carried_by(packet, linux=linux, joined=joined)
    if not isinstance(message, Carried):
        return message if isinstance(message, IcmpError) else None
    header = read_header(packet)
    data = packet[message.at : SHORTEST + header.payload_length]
    if message.protocol == ICMP6:
        is_echo = len(data) >= 8 and data[0] == ECHO
        answerable = is_echo and checksum(header.source, header.destination, data) == 0
        return bytes([ECHO_REPLY]) + data[1:2] + bytes(2) + data[4:] if answerable else None
    if message.protocol == UDP:
        ends = packet[8:SHORTEST] + bytes(2) + b"\0" + bytes([UDP])
        return IcmpError(UNREACHABLE, PORT) if whole_datagram(data, ends, may_lack=False) else None
    if message.protocol in (TCP, NOTHING):
        return None
    return IcmpError(PARAMETER_PROBLEM, NEXT_HEADER, message.named)
