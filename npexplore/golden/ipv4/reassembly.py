"""IPv4 fragments for this host put together, as the Linux kernel does it (RFC 1812 section 4.2.2.7, RFC 1122 3.3.2)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from npexplore.golden.ipv4.header import DF, MF, read_header, with_checksum
from npexplore.golden.reassembly import LONGEST, Datagram, Fragment, Waiting

MAX_SOURCES = 1 << 16  # whose pieces are counted
MAX_DISTANCE = 64  # pieces from one source between two of a datagram: beyond it the identification is used again


class Reassembly4(Waiting):
    """Datagrams of IPv4 of which pieces are there, for 30 s each."""

    TIMEOUT_NS = 30_000_000_000

    def __init__(self) -> None:
        super().__init__()
        self._arrivals: dict[int, int] = {}  # of pieces, by source

    def add(self, packet: bytes, options: Any, time_ns: int) -> tuple[bytes, Any] | None:
        """Take a fragment; return its packet if that is whole now, with what is known of its options.

        packet: without padding. options: what was read of them; those of the first piece count.
        """
        header = read_header(packet)
        offset, more = 8 * header.fragment_offset, bool(header.flags & MF)
        end = offset + header.total_length - header.header_length
        end -= end % 8 if more else 0
        key = header.source, header.destination, header.identification, header.protocol
        if not self._room(key, header.source, time_ns):
            return None
        size = header.header_length + end - offset
        head = None if offset else (packet[: header.header_length], options)
        data, uncut = packet[header.header_length : size], size if header.flags & DF else 0
        whole = self.whole(key, Fragment(offset, end, more, data, packet[1] & 3, head, size, uncut))
        return None if whole is None else _joined(whole)

    def _room(self, key: Hashable, source: int, time_ns: int) -> bool:
        """Say whether there is room for a piece; pieces of its datagram that came too long ago are forgotten."""
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
    """Return the packet of a whole datagram; None for one too long, or with marks that no sender sets together.

    It must not be cut where its largest piece must not be.
    """
    (before, options), data, mark = datagram.head, datagram.joined(), datagram.marked
    length = len(before) + len(data)
    if length > LONGEST or mark is None:
        return None
    flags = DF << 5 if datagram.uncut == datagram.largest else 0
    head = before[:1] + bytes([before[1] | mark]) + length.to_bytes(2, "big") + before[4:6] + bytes([flags, 0])
    return with_checksum(head + before[8:] + data), options
