"""Fragments for this host put together (RFC 8200 section 4.5, RFC 5722, RFC 3168 section 5.3)."""

from __future__ import annotations

from typing import NamedTuple

from npexplore.golden.ipv6.extensions import AUTHENTICATION, DESTINATION_OPTIONS, FRAGMENT, HOP_BY_HOP, ROUTING
from npexplore.golden.ipv6.header import ICMP6, SHORTEST, UDP, read_header
from npexplore.golden.ipv6.icmp import PARAMETER_PROBLEM, IcmpError
from npexplore.golden.ipv6.scope import Kind, address_kind
from npexplore.golden.reassembly import LONGEST, Datagram, Fragment, Waiting

FIELD, INCOMPLETE = 0, 3  # codes of parameter problems
SIZE, LENGTH_AT, OFFSET_AT, MORE = 8, 4, 2, 1
TCP, NOTHING = 6, 59
UPPER_BYTES = {TCP: 20, UDP: 8, ICMP6: 8}  # of a header that a first fragment must have; of others one octet


class Piece(NamedTuple):
    """Where a packet's fragment header begins, and where the number that names it stands."""

    at: int
    named: int


class Reassembly(Waiting):
    """Datagrams of IPv6 of which pieces are there, for 60 s each (RFC 8200 section 4.5)."""

    TIMEOUT_NS = 60_000_000_000

    def add(self, packet: bytes, piece: Piece, port: int, time_ns: int) -> bytes | IcmpError | None:
        """Take a fragment; return its packet if that is whole now, the error that it calls for, or None.

        port: the one that it came in by. time_ns: when.
        """
        header, at = read_header(packet), piece.at
        if _cut_short(packet):
            return IcmpError(PARAMETER_PROBLEM, INCOMPLETE, 0)
        place = int.from_bytes(packet[at + OFFSET_AT : at + OFFSET_AT + 2], "big")
        offset, more = place & 0xFFF8, bool(place & MORE)
        end = offset + SHORTEST + header.payload_length - at - SIZE
        if end > LONGEST:
            return IcmpError(PARAMETER_PROBLEM, FIELD, at + OFFSET_AT)
        if more and end & 7:
            return IcmpError(PARAMETER_PROBLEM, FIELD, LENGTH_AT)
        near = address_kind(header.destination) in (Kind.LINK_LOCAL, Kind.MULTICAST)
        ident = int.from_bytes(packet[at + 4 : at + SIZE], "big")
        key = header.source, header.destination, ident, port if near else -1
        if self.of(key, time_ns) is None:
            return None
        data, head = packet[at + SIZE : at + SIZE + end - offset], (packet[:at], piece.named, packet[at])
        whole = self.whole(key, Fragment(offset, end, more, data, packet[1] >> 4 & 3, head))
        return None if whole is None else _joined(whole)


def _joined(datagram: Datagram) -> bytes | None:
    """Return the packet of a whole datagram; None for one too long, or with marks that no sender sets together."""
    before, named, protocol = datagram.head
    data, mark = datagram.joined(), datagram.marked
    length = len(before) - SHORTEST + len(data)
    if length > LONGEST or mark is None:
        return None
    head = bytearray(before)
    head[named] = protocol
    head[LENGTH_AT : LENGTH_AT + 2] = length.to_bytes(2, "big")
    head[1] |= mark << 4
    return bytes(head) + data


def _cut_short(packet: bytes) -> bool:
    """Say whether a first fragment lacks a part of its headers, up to that of the upper layer."""
    header = read_header(packet)
    protocol, at = header.next_header, SHORTEST
    while protocol in (HOP_BY_HOP, ROUTING, FRAGMENT, AUTHENTICATION, DESTINATION_OPTIONS):
        if at + 2 > len(packet):
            return False
        if protocol == FRAGMENT:
            if at + 4 > len(packet) or (packet[at + 2] << 8 | packet[at + 3]) & 0xFFF8:
                return False
            size = SIZE
        else:
            size = 4 * packet[at + 1] + 8 if protocol == AUTHENTICATION else 8 * packet[at + 1] + 8
        protocol, at = packet[at], at + size
    return protocol != NOTHING and at + UPPER_BYTES.get(protocol, 1) > len(packet)
