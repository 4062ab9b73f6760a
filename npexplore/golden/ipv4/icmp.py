"""ICMP errors (RFC 792, RFC 1812 section 4.3): the error for each drop reason, when none is sent, and its bytes."""

from enum import IntEnum
from typing import NamedTuple

from npexplore.golden.checksum import internet_checksum
from npexplore.golden.ipv4.delivery import Destination, Links, destination_kind
from npexplore.golden.ipv4.header import read_header, write_packet
from npexplore.golden.ipv4.martians import Martians
from npexplore.golden.ipv4.options import LOOSE_ROUTE, STRICT_ROUTE, read_options, reversed_source_route
from npexplore.golden.reasons import Reason

UNREACHABLE, REDIRECT, TIME_EXCEEDED, PARAMETER_PROBLEM = 3, 5, 11, 12
ERROR_TYPES = frozenset({UNREACHABLE, 4, REDIRECT, TIME_EXCEEDED, PARAMETER_PROBLEM})  # 4: source quench
ICMP = 1
INTERNETWORK_CONTROL = 0xC0  # precedence 6
LONGEST = 576  # bytes of an error with the quoted packet (RFC 1812 section 4.3.2.3)


class IcmpError(NamedTuple):
    """An ICMP error: type, code, and the four bytes behind the checksum as a number."""

    type: int
    code: int
    rest: int = 0


_ERRORS: dict[Reason, IcmpError] = {
    Reason.TTL_EXPIRED: IcmpError(TIME_EXCEEDED, 0),
    Reason.NO_ROUTE: IcmpError(UNREACHABLE, 0),
    Reason.UNREACHABLE: IcmpError(UNREACHABLE, 1),
    Reason.NO_NEIGHBOUR: IcmpError(UNREACHABLE, 1),
    Reason.FRAGMENTATION_NEEDED: IcmpError(UNREACHABLE, 4),
    Reason.SOURCE_ROUTE_FAILED: IcmpError(UNREACHABLE, 5),
    Reason.PROHIBITED: IcmpError(UNREACHABLE, 13),
    Reason.BAD_OPTION: IcmpError(PARAMETER_PROBLEM, 0),
}


def error_for(reason: Reason, *, mtu: int = 0, pointer: int = 0) -> IcmpError | None:
    """Return the error for a drop reason, None for a silent drop.

    mtu: of the next link, for FRAGMENTATION_NEEDED (RFC 1191 section 4). pointer: the wrong octet's offset in the
    header, for BAD_OPTION.
    """
    error = _ERRORS.get(reason)
    if reason is Reason.FRAGMENTATION_NEEDED:
        return IcmpError(UNREACHABLE, 4, mtu & 0xFFFF)
    if reason is Reason.BAD_OPTION:
        return IcmpError(PARAMETER_PROBLEM, 0, pointer << 24)
    return error


def redirect_to(gateway: int) -> IcmpError:
    """Return the redirect to a better first hop for a host (RFC 1812 section 5.2.7.2: code 1)."""
    return IcmpError(REDIRECT, 1, gateway)


class Silence(IntEnum):
    """Why no error may be sent about a packet (RFC 1812 section 4.3.2.7); MAY_ANSWER (false): an error may be sent."""

    MAY_ANSWER = 0
    ABOUT_ERROR = 1  # the packet is an ICMP error
    LATER_FRAGMENT = 2  # it is a non-first fragment
    BROADCAST = 3  # its destination is an IP broadcast or multicast
    LINK_BROADCAST = 4  # it was a link-layer broadcast
    BAD_SOURCE = 5  # its source is not the address of a single host
    INVALID = 6  # it failed validation


def silence(packet: bytes, links: Links, martians: Martians, *, link_broadcast: bool = False) -> Silence:
    """Return the rule that forbids an error about a packet, MAY_ANSWER if no rule does."""
    if len(packet) < 20:
        return Silence.INVALID
    header = read_header(packet)
    if header.protocol == ICMP and header.fragment_offset == 0:
        kind = packet[header.header_length : header.header_length + 1]
        if not kind or kind[0] in ERROR_TYPES:  # a packet cut before its type may be an error
            return Silence.ABOUT_ERROR
    if header.fragment_offset:
        return Silence.LATER_FRAGMENT
    if destination_kind(header.destination, links) not in (Destination.ELSEWHERE, Destination.LOCAL):
        return Silence.BROADCAST
    if link_broadcast:
        return Silence.LINK_BROADCAST
    row = martians.row(header.source)
    kind_of_source = destination_kind(header.source, links)
    if (row is not None and row.source) or kind_of_source not in (Destination.ELSEWHERE, Destination.LOCAL):
        return Silence.BAD_SOURCE
    return Silence.MAY_ANSWER


def icmp_error(
    error: IcmpError, packet: bytes, source: int, *, identification: int = 0, longest: int = LONGEST
) -> bytes:
    """Return the IP packet with an error to the sender of `packet`.

    source: the address of the outgoing port (section 4.3.2.4). The error quotes as much as `longest` bytes allow
    (4.3.2.3), copies the type of service with precedence internetwork control (4.3.2.5), and is sent by the reversed
    source route, unless it is about that option (4.3.2.6).
    """
    header = read_header(packet)
    options = read_options(packet)
    route = options.find(LOOSE_ROUTE, STRICT_ROUTE)
    wrong_octet = error.rest >> 24
    about_route = error.type == PARAMETER_PROBLEM and (
        (route is not None and route.offset <= wrong_octet < route.offset + len(route.octets))
        or (wrong_octet == options.pointer and packet[wrong_octet] in (LOOSE_ROUTE, STRICT_ROUTE))  # a second route
    )
    destination, return_route = (header.source, b"") if about_route else reversed_source_route(packet, options)
    room = longest - 20 - len(return_route) - -len(return_route) % 4 - 8
    quoted = packet[: header.total_length][: max(room, 0)]
    body = bytes([error.type, error.code, 0, 0]) + error.rest.to_bytes(4, "big") + quoted
    body = body[:2] + internet_checksum(body).to_bytes(2, "big") + body[4:]
    return write_packet(
        source,
        destination,
        body,
        options=return_route,
        tos=header.tos & 0x1E | INTERNETWORK_CONTROL,
        identification=identification,
        protocol=ICMP,
    )
