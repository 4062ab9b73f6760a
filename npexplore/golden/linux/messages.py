"""What the Linux kernel tells senders of many IPv4 packets at once: the columns behind `stages.send_error`.

Only what is plain: packets without options from a host elsewhere, no limit on messages. All else is the reference's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_messages as kernels
from npexplore._kernels.golden_forward import REDIRECT, SLOW
from npexplore.golden.ethernet import ETHERNET
from npexplore.golden.ipv4.icmp import ICMP, LONGEST, error_for, redirect_to
from npexplore.golden.linux.peer_limit import limited
from npexplore.golden.linux.stages import LAST_ICMP, QUIET_ICMP
from npexplore.golden.reasons import Reason
from npexplore.golden.router.frames import Decided, Frames, Heads, Messages
from npexplore.golden.router.sides import UNICAST, Side4

ODD = tuple(first << 24 for first in (0, 127))


class Messages4:
    """The messages that a batch's kernels call for; `found` takes what they decided, and settles it."""

    def __init__(self, side: Side4, path: Heads) -> None:
        self._side, self._path, hops = side, path, side.hops
        self._unicast = np.array([hop.kind == UNICAST for hop in hops], np.bool_)
        self._port = np.array([hop.port for hop in hops], np.int64)
        self._via = np.array([hop.via for hop in hops], np.int64)
        self._own = np.array([side.source_by(hop) if hop.port >= 0 else 0 for hop in hops], np.int64)
        self._room = path.room
        self._plain = np.array([not hop.stack for hop in hops], np.bool_) & (self._room > 0)
        self._kind, self._code = np.zeros(256, np.uint8), np.zeros(256, np.uint8)  # by what is asked for
        asked = {**{int(reason): error_for(reason) for reason in Reason}, REDIRECT: redirect_to(0)}
        for ask, error in asked.items():
            if error is not None:
                self._kind[ask], self._code[ask] = error.type, error.code
        settings = side.router.linux
        self._off = side.error_limit is not None or settings.icmp_errors_use_inbound_ifaddr or limited(settings)
        self._redirects = settings.send_redirects

    def found(self, frames: Frames, decided: Decided) -> Messages | None:
        """Give the rows that `decided.ask` has something for their verdicts; return the messages, None without."""
        rows = np.flatnonzero(decided.ask)
        if not len(rows) or self._off:
            return None
        buffer, at = frames.packets.buffer, frames.packets.offset[rows] + ETHERNET
        source, ask = _numbers(buffer, at + 12, 4), decided.ask[rows]
        back = self._side.lpm.lookup_many(source.astype(np.uint32)).astype(np.int64)
        routed = (back >= 0) & self._unicast[back]
        odd = (source >> 28 >= 0b1110) | np.isin(source & 0xFF << 24, ODD) | (routed & ~self._plain[back])
        odd |= np.isin(back, list(self._side.groups))
        told = routed & ~_silent(buffer, at)
        redirect = ask == REDIRECT
        if self._redirects and redirect.any():
            told[redirect] &= self._attached(frames.port[rows[redirect]], source[redirect], back[redirect])
        else:
            told &= ~redirect
        decided.verdict[rows] = np.where(odd, SLOW, np.where(redirect, Reason.NONE, ask))
        chosen = np.flatnonzero(told & ~odd)
        return self._written(frames, decided, rows[chosen], source[chosen], back[chosen])

    def _attached(self, port: NDArray[Any], source: NDArray[Any], back: NDArray[Any]) -> NDArray[np.bool_]:
        """Say which sources are neighbours on the link of a port, as `attached` does."""
        near: NDArray[np.bool_] = (back >= 0) & self._unicast[back] & (self._via[back] == 0)
        other = (back >= 0) & self._unicast[back] & (self._port[back] != port)
        for number in np.unique(port[other]).tolist():
            rows = np.flatnonzero(other & (port == number))
            hop = self._side.table_by(number).lookup_many(source[rows].astype(np.uint32))
            near[rows] = (hop >= 0) & self._unicast[hop] & (self._via[hop] == 0)
        return near

    def _written(
        self, frames: Frames, decided: Decided, rows: NDArray[Any], source: NDArray[Any], back: NDArray[Any]
    ) -> Messages:
        buffer, offset = frames.packets.buffer, frames.packets.offset
        total = _numbers(buffer, offset[rows] + ETHERNET + 2, 2)
        ask = decided.ask[rows].astype(np.int64)
        redirect = ask == REDIRECT
        size = ETHERNET + 28 + np.minimum(total, np.minimum(self._room[back], LONGEST) - 28)
        rest = np.zeros(len(rows), np.int64)
        hop = decided.hop[rows]
        rest[redirect] = np.where(
            self._via[hop] > 0, self._via[hop], _numbers(buffer, offset[rows] + ETHERNET + 16, 4)
        )[redirect]
        large = ask == Reason.FRAGMENTATION_NEEDED
        rest[large] = self._room[hop[large]] & 0xFFFF
        kind, code = self._kind[ask], self._code[ask]
        head = self._path.heads_of(back, source, self._via[back] == 0)

        def write(places: NDArray[np.int64], out: NDArray[np.uint8]) -> None:
            kernels.tell(
                buffer, offset, rows, self._path.heads, head, self._own[back], kind, code, rest, places, size, out
            )

        return Messages(rows, self._port[back].astype(np.int16), size, write)


def _numbers(buffer: NDArray[np.uint8], at: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return the numbers of `size` bytes at some places."""
    found = np.zeros(len(at), np.int64)
    for k in range(size):
        found = found << 8 | buffer[at + k]
    return found


def _silent(buffer: NDArray[np.uint8], at: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say which packets no error is sent about: later pieces, ICMP errors, unknown and cut ICMP."""
    icmp = buffer[at + 9] == ICMP
    cut = _numbers(buffer, at + 2, 2) <= 20
    kind = buffer[np.where(icmp & ~cut, at + 20, at)]
    quiet = cut | (kind > LAST_ICMP) | np.isin(kind, sorted(QUIET_ICMP))
    return np.asarray((_numbers(buffer, at + 6, 2) & 0x1FFF > 0) | (icmp & quiet))
