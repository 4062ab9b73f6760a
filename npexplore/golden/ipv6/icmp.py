"""ICMPv6 errors (RFC 4443): the error for each drop reason, when none is sent, and its bytes."""

from npexplore.golden.checksum import internet_checksum
from npexplore.golden.ipv4.icmp import IcmpError as IcmpError
from npexplore.golden.ipv6.extensions import read_chain
from npexplore.golden.ipv6.header import ICMP6, SMALLEST_MTU, read_header, write_packet
from npexplore.golden.ipv6.scope import Kind, address_kind
from npexplore.golden.reasons import Reason

UNREACHABLE, PACKET_TOO_BIG, TIME_EXCEEDED, PARAMETER_PROBLEM = 1, 2, 3, 4
INFORMATIONAL = 128  # types from here on are not errors (section 2.1)
REDIRECT = 137


_ERRORS: dict[Reason, IcmpError] = {
    Reason.NO_ROUTE6: IcmpError(UNREACHABLE, 0),
    Reason.PROHIBITED6: IcmpError(UNREACHABLE, 1),
    Reason.BEYOND_SCOPE: IcmpError(UNREACHABLE, 2),
    Reason.UNREACHABLE6: IcmpError(UNREACHABLE, 3),
    Reason.NO_NEIGHBOUR6: IcmpError(UNREACHABLE, 3),
    Reason.PACKET_TOO_BIG: IcmpError(PACKET_TOO_BIG, 0),
    Reason.HOP_LIMIT_EXCEEDED: IcmpError(TIME_EXCEEDED, 0),
    Reason.HOP_BY_HOP_LATE: IcmpError(PARAMETER_PROBLEM, 1),
    Reason.HOP_OPTION_UNKNOWN: IcmpError(PARAMETER_PROBLEM, 2),
    Reason.JUMBO_WRONG: IcmpError(PARAMETER_PROBLEM, 0),
}


def error_for(reason: Reason, *, mtu: int = 0, pointer: int = 0) -> IcmpError | None:
    """Return the error for a drop reason, None for a silent drop.

    mtu: of the next link, for PACKET_TOO_BIG (section 3.2). pointer: offset of the wrong octet, for parameter problems
    (section 3.4).
    """
    error = _ERRORS.get(reason)
    if error is None:
        return None
    return error._replace(rest={PACKET_TOO_BIG: mtu, PARAMETER_PROBLEM: pointer}.get(error.type, 0))


def may_answer(packet: bytes, error: IcmpError, *, link_multicast: bool = False) -> bool:
    """Say whether an error may be sent about a packet (section 2.4 (e)).

    No error is sent about an ICMPv6 error or redirect, or a packet cut before its type; about a multicast packet,
    unless it is too big or has an unknown option (e.3, e.4); to a source that is not a single node's address (e.6).
    """
    header, chain = read_header(packet), read_chain(packet)
    if chain.protocol == ICMP6 and not chain.reason:
        kind = packet[chain.at : chain.at + 1]
        if not kind or kind[0] < INFORMATIONAL or kind[0] == REDIRECT:
            return False
    to_multicast = address_kind(header.destination) is Kind.MULTICAST or link_multicast
    if to_multicast and error.type != PACKET_TOO_BIG and (error.type, error.code) != (PARAMETER_PROBLEM, 2):
        return False
    return address_kind(header.source) in (Kind.ROUTABLE, Kind.LINK_LOCAL)


def icmp_error(error: IcmpError, packet: bytes, source: int) -> bytes:
    """Return the IPv6 packet with an error to the sender of `packet`, at most 1,280 bytes (section 2.4 (c))."""
    destination = read_header(packet).source
    body = bytes([error.type, error.code, 0, 0]) + error.rest.to_bytes(4, "big") + packet[: SMALLEST_MTU - 48]
    body = body[:2] + checksum(source, destination, body).to_bytes(2, "big") + body[4:]
    return write_packet(source, destination, body, next_header=ICMP6)


def checksum(source: int, destination: int, message: bytes, protocol: int = ICMP6) -> int:
    """Return the checksum of a message with its pseudo-header (RFC 8200 section 8.1); its checksum field must be 0."""
    ends = source.to_bytes(16, "big") + destination.to_bytes(16, "big")
    return internet_checksum(ends + len(message).to_bytes(4, "big") + bytes([0, 0, 0, protocol]) + message)
