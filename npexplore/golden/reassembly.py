"""Reassembly of datagrams for the router itself as in the Linux kernel, for both families.

offset and end are octets of the fragmentable part. A datagram is complete when its fragments fill it without overlap
(RFC 5722; RFC 791 section 3.2 allows overlaps in IPv4, the kernel does not).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

LONGEST = 0xFFFF
MAX_BYTES = 4 << 20  # of all waiting fragments; each counts as its data plus PIECE_BYTES
PIECE_BYTES = 768
NOT_CAPABLE, CONGESTION = 0, 3  # ECN code points


class Fragment(NamedTuple):
    """A fragment: its octets from offset to end, whether more follow, its ECN bits.

    head: family-specific data of a first fragment. size: bytes of its packet; whole: this size if DF is set, else 0.
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
    """The received fragments of a datagram: data by offset, and ranges of octets as begins and ends.

    size: bytes received. head: that of the first fragment. largest, uncut: maximum `size` and `whole` of its fragments.
    arrivals: a family's counter.
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
        """Record a range of octets; return False if it overlaps others, None if it was received already."""
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
        """Record the end of a fragment, the datagram's end unless `more`; return False for a contradiction."""
        if more and (end <= self.end or not self.last):
            self.end = max(self.end, end)
            return True
        if more or end < self.end or (self.last and end != self.end):
            return False
        self.last, self.end = True, end
        return True

    def joined(self) -> bytes:
        """Return the data of a complete datagram."""
        return b"".join(self.data[offset] for offset in sorted(self.data))

    @property
    def marked(self) -> int | None:
        """The ECN bits to add to those of the first fragment (RFC 3168 section 5.3), None for an invalid mixture."""
        if NOT_CAPABLE in self.ecn and len(self.ecn) > 1:
            return None
        return CONGESTION if CONGESTION in self.ecn else 0


class Waiting:
    """Incomplete datagrams, each stored for TIMEOUT_NS; no message is sent about a timeout."""

    TIMEOUT_NS: ClassVar[int]

    def __init__(self) -> None:
        self._waiting: dict[Hashable, Datagram] = {}  # the oldest first
        self._bytes = 0

    def of(self, key: Hashable, time_ns: int) -> Datagram | None:
        """Return the datagram of a key, a new one if there is none; None if there is no room for fragments."""
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
        """Discard a datagram."""
        datagram = self._waiting.pop(key)
        self._bytes -= datagram.size + PIECE_BYTES * len(datagram.data)

    def whole(self, key: Hashable, piece: Fragment) -> Datagram | None:
        """Add a fragment to a stored datagram; if the datagram is complete, remove and return it, else return None.

        A contradictory or overlapping fragment discards its datagram; a duplicate changes nothing.
        """
        datagram, (offset, end, more_fragments, data, ecn, head, size, size_if_df) = self._waiting[key], piece
        placed = datagram.place(offset, end) if datagram.fits(end, more_fragments) and end > offset else False
        if placed is False:
            self.forget(key)
        if not placed:
            return None
        datagram.data[offset] = data
        datagram.size += len(data)
        self._bytes += len(data) + PIECE_BYTES
        datagram.ecn.add(ecn)
        datagram.head = datagram.head if offset else head
        datagram.largest, datagram.uncut = max(datagram.largest, size), max(datagram.uncut, size_if_df)
        if not datagram.last or datagram.head is None or datagram.size < datagram.end:
            return None
        self.forget(key)
        return datagram
