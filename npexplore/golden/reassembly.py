"""Pieces of datagrams for the router itself, put together as the Linux kernel does it, in both families.

offset and end are octets of the part that is cut; a datagram is whole when its pieces, none over another, fill it
(RFC 5722; of IPv4 RFC 791 section 3.2 lets them lie over another, which the kernel does not).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

LONGEST = 0xFFFF
MAX_BYTES = 4 << 20  # of pieces that wait, over all datagrams; each counts for PIECE_BYTES more than its data
PIECE_BYTES = 768
NOT_CAPABLE, CONGESTION = 0, 3  # code points of ECN


class Fragment(NamedTuple):
    """A piece: its octets from offset to end, whether more follow, its ECN bits.

    head: what a family needs of a first one. size: of its packet; whole: that size if it must not be cut, else 0.
    """

    offset: int
    end: int
    more: bool
    data: bytes
    ecn: int
    head: Any
    size: int = 0
    whole: int = 0


@dataclass
class Datagram:
    """What is there of a datagram: data by offset, and runs of data that came in order as begins and ends.

    size: of the data that is there. head: that of the first piece. largest, uncut: the most of `size` and `whole` of
    its pieces. arrivals: a family's count.
    """

    began_ns: int
    data: dict[int, bytes] = field(default_factory=dict)
    begins: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    size: int = 0
    end: int = 0
    last: bool = False
    head: Any = None
    ecn: set[int] = field(default_factory=set)
    largest: int = 0
    uncut: int = 0
    arrivals: int = 0

    def place(self, begin: int, end: int) -> bool | None:
        """Take a range of octets; False if it lies over others, None if it is there already."""
        at = bisect_right(self.begins, begin) - 1
        if at >= 0 and begin < self.ends[at]:
            return None if end <= self.ends[at] else False
        if at + 1 < len(self.begins) and self.begins[at + 1] < end:
            return False
        if self.ends and self.ends[-1] == begin:
            self.ends[-1] = end
        else:
            self.begins.insert(at + 1, begin)
            self.ends.insert(at + 1, end)
        return True

    def fits(self, end: int, more: bool) -> bool:
        """Note an end of a piece, and whether it is the datagram's; False if that contradicts what is there."""
        if more and (end <= self.end or not self.last):
            self.end = max(self.end, end)
            return True
        if more or end < self.end or (self.last and end != self.end):
            return False
        self.last, self.end = True, end
        return True

    def joined(self) -> bytes:
        """Return the data of a whole datagram."""
        return b"".join(self.data[offset] for offset in sorted(self.data))

    @property
    def marked(self) -> int | None:
        """The ECN bits that pieces add to those of the first one (RFC 3168 section 5.3), None: no sender sets them."""
        if NOT_CAPABLE in self.ecn and len(self.ecn) > 1:
            return None
        return CONGESTION if CONGESTION in self.ecn else 0


class Waiting:
    """Datagrams of which pieces are there, for TIMEOUT_NS each; no message tells of those that never become whole."""

    TIMEOUT_NS: ClassVar[int]

    def __init__(self) -> None:
        self._waiting: dict[Hashable, Datagram] = {}  # the oldest first
        self._bytes = 0

    def of(self, key: Hashable, time_ns: int) -> Datagram | None:
        """Return what is there of a datagram; None where there is no room for more."""
        while self._waiting:
            oldest = next(iter(self._waiting))
            if time_ns - self._waiting[oldest].began_ns <= self.TIMEOUT_NS:
                break
            self.forget(oldest)
        if self._bytes > MAX_BYTES:
            return None
        if key not in self._waiting:
            self._waiting[key] = Datagram(time_ns)
        return self._waiting[key]

    def forget(self, key: Hashable) -> None:
        """Give up what is there of a datagram."""
        datagram = self._waiting.pop(key)
        self._bytes -= datagram.size + PIECE_BYTES * len(datagram.data)

    def whole(self, key: Hashable, piece: Fragment) -> Datagram | None:
        """Take a piece of a datagram that is there; return the datagram if it is whole now, and forget it.

        A piece that contradicts others ends its datagram; one that is there already changes nothing.
        """
        datagram, (offset, end, more, data, ecn, head, size, uncut) = self._waiting[key], piece
        placed = datagram.place(offset, end) if datagram.fits(end, more) and end > offset else False
        if placed is False:
            self.forget(key)
        if not placed:
            return None
        datagram.data[offset] = data
        datagram.size += len(data)
        self._bytes += len(data) + PIECE_BYTES
        datagram.ecn.add(ecn)
        datagram.head = datagram.head if offset else head
        datagram.largest, datagram.uncut = max(datagram.largest, size), max(datagram.uncut, uncut)
        if not datagram.last or datagram.head is None or datagram.size < datagram.end:
            return None
        self.forget(key)
        return datagram
