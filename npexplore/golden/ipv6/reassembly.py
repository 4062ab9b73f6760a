"""Reassembles IPv6 fragments for this host (RFC 8200 section 4.5, RFC 5722, RFC 3168 section 5.3)."""

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
UPPER_BYTES = {TCP: 20, UDP: 8, ICMP6: 8}  # of the transport header that a first fragment must hold; other protocols: 1


class Piece(NamedTuple):
    """The offset of a packet's fragment header, and the offset of the next-header field that names it."""

    at: int
    named: int


class Reassembly(Waiting):
    """Incomplete IPv6 datagrams, each stored for 60 s (RFC 8200 section 4.5)."""

    TIMEOUT_NS = 60_000_000_000

    def add(self, packet: bytes, piece: Piece, port: int, time_ns: int) -> bytes | IcmpError | None:
        """Add a fragment; return the packet if it is complete now, the error about the fragment, or None.

        port: the incoming port. time_ns: the arrival time.
        """
        header, at = read_header(packet), piece.at
        if _cut_short(packet):
            return IcmpError(PARAMETER_PROBLEM, INCOMPLETE, 0)
        offset_word = int.from_bytes(packet[at + OFFSET_AT : at + OFFSET_AT + 2], "big")
        offset, more_fragments = offset_word & 0xFFF8, bool(offset_word & MORE)
        end = offset + SHORTEST + header.payload_length - at - SIZE
        if end > LONGEST:
            return IcmpError(PARAMETER_PROBLEM, FIELD, at + OFFSET_AT)
        if more_fragments and end & 7:
            return IcmpError(PARAMETER_PROBLEM, FIELD, LENGTH_AT)
        is_link_scope = address_kind(header.destination) in (Kind.LINK_LOCAL, Kind.MULTICAST)
        ident = int.from_bytes(packet[at + 4 : at + SIZE], "big")
        key = header.source, header.destination, ident, port if is_link_scope else -1
        if self.of(key, time_ns) is None:
            return None
        data, head = packet[at + SIZE : at + SIZE + end - offset], (packet[:at], piece.named, packet[at])
        datagram = self.whole(key, Fragment(offset, end, more_fragments, data, packet[1] >> 4 & 3, head))
        return None if datagram is None else _joined(datagram)


def _joined(datagram: Datagram) -> bytes | None:
    """Return the packet of a complete datagram; None if it is too long, or has an invalid mixture of ECN bits."""
    first_headers, type_at, protocol = datagram.head
    data, ecn = datagram.joined(), datagram.marked
    length = len(first_headers) - SHORTEST + len(data)
    if length > LONGEST or ecn is None:
        return None
    head = bytearray(first_headers)
    head[type_at] = protocol
    head[LENGTH_AT : LENGTH_AT + 2] = length.to_bytes(2, "big")
    head[1] |= ecn << 4
    return bytes(head) + data


def _cut_short(packet: bytes) -> bool:
    """Say whether a first fragment lacks a part of its headers, the transport header included."""
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
