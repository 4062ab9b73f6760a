"""The ICMP messages that many IPv4 packets call for, at once: the columns behind `stages.send_error` (RFC 1812 4.3).

Only what is plain: packets without options from a host elsewhere, whole messages, no limit on them. All else is the
reference's. A profile whose messages differ overrides what it does otherwise (golden/linux/messages.py).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_messages as kernels
from npexplore._kernels.golden_forward import REDIRECT, SLOW
from npexplore.golden.ethernet import ETHERNET
from npexplore.golden.ipv4.delivery import Destination, destination_kinds
from npexplore.golden.ipv4.icmp import ERROR_TYPES, ICMP, LONGEST, error_for, redirect_to
from npexplore.golden.ipv4.redirect import redirects_many
from npexplore.golden.reasons import Reason
from npexplore.golden.router.frames import Decided, Frames, Heads, Messages
from npexplore.golden.router.sides import UNICAST, Side4

ODD = tuple(first << 24 for first in (0, 127))
HEADERS = 28  # bytes of IP and ICMP before what is quoted
Numbers = NDArray[np.int64]


class Messages4:
    """The messages that a batch's kernels call for; `found` takes what they decided, and settles it.

    counted_down: whether a redirect quotes the packet with one less to live.
    """

    counted_down: ClassVar[bool] = False

    def __init__(self, side: Side4, path: Heads) -> None:
        self.side, self.path, hops = side, path, side.hops
        self.unicast = np.array([hop.kind == UNICAST for hop in hops], np.bool_)
        self.port = np.array([hop.port for hop in hops], np.int64)
        self.via = np.array([hop.via for hop in hops], np.int64)
        self._own = np.array([side.source_by(hop) if hop.port >= 0 else 0 for hop in hops], np.int64)
        self.room = path.room
        self._stack = np.array([bool(hop.stack) for hop in hops], np.bool_)
        self._open = np.array([hop.port >= 0 and side.reaches(hop.port, hop.via) for hop in hops], np.bool_)
        self._kind, self._code = np.zeros(256, np.uint8), np.zeros(256, np.uint8)  # by what is asked for
        errors = {**{int(reason): error_for(reason) for reason in Reason}, REDIRECT: redirect_to(0)}
        for ask, error in errors.items():
            if error is not None:
                self._kind[ask], self._code[ask] = error.type, error.code
        self._by_reference = self.by_reference()

    def by_reference(self) -> bool:
        """Say whether all messages are left to the reference."""
        return self.side.error_limit is not None

    def messages(self, frames: Frames, decided: Decided) -> Messages | None:
        """Give the rows that `decided.ask` has something for their verdicts; return the messages, None without."""
        rows = np.flatnonzero(decided.ask)
        if not len(rows) or self._by_reference:
            return None
        buffer, at = frames.packets.buffer, frames.packets.offset[rows] + ETHERNET
        source, ask = numbers(buffer, at + 12, 4), decided.ask[rows]
        back = self.side.lpm.lookup_many(source.astype(np.uint32)).astype(np.int64)
        routed = (back >= 0) & self.unicast[back]
        size = self.sizes(numbers(buffer, at + 2, 2), back)
        odd = (source >> 28 >= 0b1110) | np.isin(source & 0xFF << 24, ODD)
        odd |= routed & (self._stack[back] | (self.room[back] < size))
        odd |= np.isin(back, list(self.side.groups))
        attached = self.via[back] == 0
        head = self.path.heads_of(back, source, attached)
        answerable = routed & ~self.silent(buffer, at, source) & self.reached(back, head)
        redirect = ask == REDIRECT
        if redirect.any():
            chosen = rows[redirect]
            hop = decided.hop[chosen].astype(np.int64)
            target = np.where(self.via[hop] > 0, self.via[hop], numbers(buffer, at[redirect] + 16, 4))
            answerable[redirect] &= self.redirected(frames.port[chosen], source[redirect], back[redirect], hop, target)
        decided.verdict[rows] = np.where(odd, SLOW, np.where(redirect, Reason.NONE, ask))
        chosen = np.flatnonzero(answerable & ~odd)
        return self._written(frames, decided, rows[chosen], back[chosen], head[chosen], size[chosen])

    def sizes(self, total: Numbers, back: Numbers) -> Numbers:
        """Return the bytes of messages about packets of `total` bytes that go back by a hop."""
        return HEADERS + np.minimum(total, LONGEST - HEADERS)

    def reached(self, back: Numbers, head: Numbers) -> NDArray[np.bool_]:
        """Say whether the next hop towards a sender is there: one that is listed has a head of its own."""
        return np.asarray(self._open[back] | (head != back))

    def silent(self, buffer: NDArray[np.uint8], at: Numbers, source: Numbers) -> NDArray[np.bool_]:
        """Say which packets no error is sent about (RFC 1812 section 4.3.2.7), of those for a host elsewhere."""
        icmp = buffer[at + 9] == ICMP
        cut = numbers(buffer, at + 2, 2) <= 20
        kind = buffer[np.where(icmp & ~cut, at + 20, at)]
        host = np.isin(destination_kinds(source, self.side.links), (Destination.ELSEWHERE, Destination.LOCAL))
        later = numbers(buffer, at + 6, 2) & 0x1FFF > 0
        return np.asarray(later | (icmp & (cut | np.isin(kind, sorted(ERROR_TYPES)))) | ~host)

    def redirected(
        self, port: NDArray[Any], source: Numbers, back: Numbers, hop: Numbers, target: Numbers
    ) -> NDArray[np.bool_]:
        """Say which senders are told of a better first hop; target: the address of that hop."""
        no_route = np.zeros(len(port), np.bool_)
        return ~self._stack[hop] & redirects_many(port, self.port[hop], source, target, no_route, self.side.links)

    def _written(
        self, frames: Frames, decided: Decided, rows: Numbers, back: Numbers, head: Numbers, size: Numbers
    ) -> Messages:
        buffer, offset = frames.packets.buffer, frames.packets.offset
        ask = decided.ask[rows].astype(np.int64)
        redirect, large = ask == REDIRECT, ask == Reason.FRAGMENTATION_NEEDED
        rest = np.zeros(len(rows), np.int64)
        hop = decided.hop[rows]
        rest[redirect] = np.where(self.via[hop] > 0, self.via[hop], numbers(buffer, offset[rows] + ETHERNET + 16, 4))[
            redirect
        ]
        rest[large] = self.room[hop[large]] & 0xFFFF
        kind, code, size = self._kind[ask], self._code[ask], ETHERNET + size

        def write(places: Numbers, out: NDArray[np.uint8]) -> None:
            kernels.tell(
                buffer, offset, rows, self.path.heads, head, self._own[back], kind, code, rest, self.counted_down,
                places, size, out,
            )  # fmt: skip

        return Messages(rows, self.port[back].astype(np.int16), size, write)


def numbers(buffer: NDArray[np.uint8], at: Numbers, size: int) -> Numbers:
    """Return the numbers of `size` bytes at some places."""
    values = np.zeros(len(at), np.int64)
    for k in range(size):
        values = values << 8 | buffer[at + k]
    return values
