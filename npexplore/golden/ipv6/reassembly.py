"""Fragments for this host put together (RFC 8200 section 4.5, RFC 5722, RFC 3168 section 5.3).

offset and end are octets of the fragmentable part; a datagram is whole when its pieces, none over another, fill it
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from npexplore.golden.ipv6.extensions import AUTHENTICATION, DESTINATION_OPTIONS, FRAGMENT, HOP_BY_HOP, ROUTING
from npexplore.golden.ipv6.header import ICMP6, SHORTEST, UDP, read_header
from npexplore.golden.ipv6.icmp import PARAMETER_PROBLEM, IcmpError
from npexplore.golden.ipv6.scope import Kind, address_kind

FIELD, INCOMPLETE = 0, 3  # codes of parameter problems
SIZE, LENGTH_AT, OFFSET_AT, MORE = 8, 4, 2, 1
TCP, NOTHING = 6, 59
UPPER_BYTES = {TCP: 20, UDP: 8, ICMP6: 8}  # of a header that a first fragment must have; of others one octet
TIMEOUT_NS = 60_000_000_000
LONGEST = 0xFFFF
MAX_BYTES = 4 << 20  # of data that wait, over all datagrams
NOT_CAPABLE, CONGESTION = 0, 3  # code points of ECN


class Piece(NamedTuple):
    """Where a packet's fragment header begins, and where the number that names it stands."""

    at: int
    named: int


@dataclass
class _Datagram:
    """What is there of a datagram: data by offset, and runs of data that came in order, by offset."""

    began_ns: int
    data: dict[int, bytes] = field(default_factory=dict)
    runs: list[tuple[int, int]] = field(default_factory=list)
    end: int = 0
    last: bool = False
    head: tuple[bytes, int, int] | None = None  # of the first fragment: headers before, where they name it, its data
    ecn: set[int] = field(default_factory=set)

    def place(self, offset: int, end: int) -> bool | None:
        """Take a range of octets; False if it lies over others, None if it is there already."""
        if self.runs and self.runs[-1][1] >= end:
            for begin, until in self.runs:
                if offset >= begin and end <= until:
                    return None
        if any(offset < until and end > begin for begin, until in self.runs):
            return False
        if self.runs and self.runs[-1][1] == offset:
            self.runs[-1] = self.runs[-1][0], end
        else:
            self.runs = sorted([*self.runs, (offset, end)])
        return True


class Reassembly:
    """Datagrams of which pieces are there, for 60 s each; no message tells of those that never become whole."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[int, int, int, int], _Datagram] = {}

    def add(self, packet: bytes, piece: Piece, port: int, time_ns: int) -> bytes | IcmpError | None:
        """Take a fragment; return its packet if that is whole now, the error that it calls for, or None.

        port: the one that it came in by. time_ns: when.
        """
        header, at = read_header(packet), piece.at
        if _cut_short(packet):
            return IcmpError(PARAMETER_PROBLEM, INCOMPLETE, 0)
        place = int.from_bytes(packet[at + OFFSET_AT : at + OFFSET_AT + 2], "big")
        offset, more = place & 0xFFF8, place & MORE
        end = offset + SHORTEST + header.payload_length - at - SIZE
        if end > LONGEST:
            return IcmpError(PARAMETER_PROBLEM, FIELD, at + OFFSET_AT)
        if more and end & 7:
            return IcmpError(PARAMETER_PROBLEM, FIELD, LENGTH_AT)
        near = address_kind(header.destination) in (Kind.LINK_LOCAL, Kind.MULTICAST)
        ident = int.from_bytes(packet[at + 4 : at + SIZE], "big")
        key = header.source, header.destination, ident, port if near else -1
        datagram = self._datagram(key, time_ns)
        if datagram is None:
            return None
        if not more:
            right = end >= datagram.end and (not datagram.last or end == datagram.end)
        else:
            right = end <= datagram.end or not datagram.last
        placed = datagram.place(offset, end) if right and end > offset else False
        if placed is False:
            self._waiting.pop(key, None)
        if not placed:
            return None
        datagram.last |= not more
        datagram.end = max(datagram.end, end)
        datagram.data[offset] = packet[at + SIZE : at + SIZE + end - offset]
        datagram.ecn.add(packet[1] >> 4 & 3)
        if not offset:
            datagram.head = packet[:at], piece.named, packet[at]
        if not datagram.last or datagram.head is None or sum(map(len, datagram.data.values())) < datagram.end:
            return None
        del self._waiting[key]
        return _joined(datagram)

    def _datagram(self, key: tuple[int, int, int, int], time_ns: int) -> _Datagram | None:
        """Return what is there of a datagram; None where there is no room for another one."""
        late = [one for one, datagram in self._waiting.items() if time_ns - datagram.began_ns > TIMEOUT_NS]
        for one in late:
            del self._waiting[one]
        if key not in self._waiting:
            if sum(len(data) for datagram in self._waiting.values() for data in datagram.data.values()) > MAX_BYTES:
                return None
            self._waiting[key] = _Datagram(time_ns)
        return self._waiting[key]


def _joined(datagram: _Datagram) -> bytes | None:
    """Return the packet of a whole datagram; None for one too long, or with marks that no sender sets together."""
    assert datagram.head is not None
    before, named, protocol = datagram.head
    data = b"".join(datagram.data[offset] for offset in sorted(datagram.data))
    length = len(before) - SHORTEST + len(data)
    if length > LONGEST or (NOT_CAPABLE in datagram.ecn and len(datagram.ecn) > 1):
        return None
    head = bytearray(before)
    head[named] = protocol
    head[LENGTH_AT : LENGTH_AT + 2] = length.to_bytes(2, "big")
    head[1] |= CONGESTION << 4 if CONGESTION in datagram.ecn else 0
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
