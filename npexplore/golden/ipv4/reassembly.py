"""Reassembles IPv4 fragments for this host as the Linux kernel does (RFC 1812 section 4.2.2.7, RFC 1122 3.3.2)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from npexplore.golden.ipv4.header import DF, MF, read_header, with_checksum
from npexplore.golden.reassembly import LONGEST, Datagram, Fragment, Waiting

MAX_SOURCES = 1 << 16  # sources whose fragments are counted
MAX_DISTANCE = 64  # fragments from a source between two of a datagram; beyond, the identification is reused


class Reassembly4(Waiting):
    """Incomplete IPv4 datagrams, each stored for 30 s."""

    TIMEOUT_NS = 30_000_000_000

    def __init__(self) -> None:
        super().__init__()
        self._arrivals: dict[int, int] = {}  # number of fragments by source

    def add(self, packet: bytes, options: Any, time_ns: int) -> tuple[bytes, Any] | None:
        """Add a fragment; return the packet with its parsed options if it is complete now, else None.

        packet: without padding. options: its parsed options; the result has those of the first fragment.
        """
        header = read_header(packet)
        offset, more_fragments = 8 * header.fragment_offset, bool(header.flags & MF)
        end = offset + header.total_length - header.header_length
        end -= end % 8 if more_fragments else 0
        key = header.source, header.destination, header.identification, header.protocol
        if not self._room(key, header.source, time_ns):
            return None
        size = header.header_length + end - offset
        head = None if offset else (packet[: header.header_length], options)
        data, size_if_df = packet[header.header_length : size], size if header.flags & DF else 0
        datagram = self.whole(key, Fragment(offset, end, more_fragments, data, packet[1] & 3, head, size, size_if_df))
        return None if datagram is None else _joined(datagram)

    def _room(self, key: Hashable, source: int, time_ns: int) -> bool:
        """Say whether there is room for a fragment; discard its datagram's fragments if they are too old."""
        datagram = self.of(key, time_ns)
        if datagram is None:
            return False
        count = self._arrivals[source] = self._arrivals.get(source, 0) + 1
        if datagram.data and count - datagram.arrivals > MAX_DISTANCE:
            self.forget(key)
            datagram = self.of(key, time_ns)
            assert datagram is not None
        datagram.arrivals = count
        if len(self._arrivals) > MAX_SOURCES:
            self._arrivals = {source: count}
        return True


def _joined(datagram: Datagram) -> tuple[bytes, Any] | None:
    """Return the packet of a complete datagram; None if it is too long, or has an invalid mixture of ECN bits.

    The packet has DF if its largest fragment has.
    """
    (first, options), data, ecn = datagram.head, datagram.joined(), datagram.marked
    length = len(first) + len(data)
    if length > LONGEST or ecn is None:
        return None
    flags = DF << 5 if datagram.uncut == datagram.largest else 0
    head = first[:1] + bytes([first[1] | ecn]) + length.to_bytes(2, "big") + first[4:6] + bytes([flags, 0])
    return with_checksum(head + first[8:] + data), options
