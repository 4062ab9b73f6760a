"""The messages that many packets call for, at once: the columns behind the stages' `send_error` and `tell`.

Only what is plain: packets from a host elsewhere, whole messages, no limit on them. All else is the reference's, and
redirects of IPv6. A profile whose messages differ overrides what it does otherwise (golden/linux/messages.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_messages as kernels
from npexplore._kernels.golden_forward import REDIRECT, SLOW
from npexplore.golden.columns import Packets
from npexplore.golden.ethernet import ETHERNET
from npexplore.golden.ipv4 import icmp
from npexplore.golden.ipv4.delivery import Destination, destination_kinds
from npexplore.golden.ipv4.redirect import redirects_many
from npexplore.golden.ipv6 import icmp as icmp6
from npexplore.golden.ipv6.extensions import read_chains
from npexplore.golden.ipv6.header import ICMP6, SHORTEST, SMALLEST_MTU
from npexplore.golden.reasons import Reason
from npexplore.golden.router.frames import LAYOUTS, Decided, Frames, Heads, Messages
from npexplore.golden.router.routes import Hop
from npexplore.golden.router.sides import UNICAST, Side, Side4, Side6

S = TypeVar("S", bound=Side)
OPTIONLESS = 0x45  # the first byte of an IPv4 header without options
ICMP_HEADER = 8  # bytes of ICMP before what is quoted
Numbers = NDArray[np.int64]
Which = NDArray[np.bool_]


class BatchMessages(ABC, Generic[S]):
    """The messages that a batch's kernels call for; called with what they decided, it settles that.

    header: the bytes of the IP header before addresses and lengths, and which bits are the packet's (two rows);
    protocol: the number in the pseudo header that the checksum covers, 0: none; longest: bytes of a message with what
    it quotes; counted_down: whether a redirect quotes the packet with one less to live.
    """

    header: ClassVar[NDArray[np.uint8]]
    protocol: ClassVar[int]
    longest: ClassVar[int]
    counted_down: ClassVar[bool] = False

    def __init__(self, side: S, path: Heads) -> None:
        self.side, self.path, hops = side, path, side.hops
        self.layout, self.fixed = LAYOUTS[side.family], self.header.shape[1] + ICMP_HEADER
        self.unicast = np.array([hop.kind == UNICAST for hop in hops], np.bool_)
        self.port = np.array([hop.port for hop in hops], np.int64)
        self.attached = np.array([hop.via == 0 for hop in hops], np.bool_)
        self.room = path.room
        self.own = side.family.octets(self.source_by(hop) if hop.port >= 0 else 0 for hop in hops)
        self.stack = np.array([bool(hop.stack) for hop in hops], np.bool_)
        self.kind, self.code = np.zeros(256, np.uint8), np.zeros(256, np.uint8)  # by what is asked for
        for reason in Reason:
            if (error := self.error_for(reason)) is not None:
                self.kind[reason], self.code[reason] = error.type, error.code
        self._by_reference = self.by_reference()

    @abstractmethod
    def error_for(self, reason: Reason) -> icmp.IcmpError | None:
        """Return the error that a reason calls for."""

    @abstractmethod
    def odd(self, reasons: NDArray[np.uint8], buffer: NDArray[np.uint8], at: Numbers, source: NDArray[Any]) -> Which:
        """Say which packets are the reference's: what is asked for about those at some places, from sources."""

    @abstractmethod
    def silent(self, buffer: NDArray[np.uint8], at: Numbers, source: NDArray[Any], back: Numbers) -> Which:
        """Say which of the other packets no error is sent about; back: the hops towards their sources."""

    def by_reference(self) -> bool:
        """Say whether all messages are left to the reference."""
        return self.side.error_limit is not None

    def source_by(self, hop: Hop) -> int:
        """Return the router's address in messages that go by a hop."""
        return self.side.source_by(hop)

    def sizes(self, total: Numbers, back: Numbers) -> Numbers:
        """Return the bytes of messages about packets of `total` bytes that go back by a hop."""
        return np.asarray(self.fixed + np.minimum(total, self.longest - self.fixed))

    def redirected(self, frames: Frames, rows: Numbers, source: NDArray[Any], back: Numbers, hop: Numbers) -> Which:
        """Say which senders are told of a better first hop than the router; hop: of their packets."""
        return np.zeros(len(rows), np.bool_)

    def sources(self, port: NDArray[np.int16], source: NDArray[Any], back: Numbers) -> NDArray[np.uint8]:
        """Return the router's addresses in messages, as bytes; port: where the packets came in by."""
        return self.own[back]

    def rest(self, frames: Frames, rows: Numbers, hop: Numbers, ask: NDArray[np.uint8]) -> Numbers:
        """Return the number behind the checksum of each message: how long a packet may be, if one was too long."""
        return np.where(ask == self.side.failures[1], self.room[hop] & 0xFFFF, 0)

    def __call__(self, frames: Frames, decided: Decided) -> Messages | None:
        """Give the rows that `decided.ask` has something for their verdicts; return the messages, None without."""
        rows = np.flatnonzero(decided.ask)
        if not len(rows) or self._by_reference:
            return None
        family, reasons = self.side.family, decided.ask[rows]
        buffer, at = frames.packets.buffer, frames.packets.offset[rows] + ETHERNET
        size = family.bits // family.words // 8
        words = [numbers(buffer, at + self.layout.source + k * size, size) for k in range(family.words)]
        source = np.stack(words, axis=1).astype(family.kind)
        back = self.side.lpm.lookup_many(source if family.words > 1 else source[:, 0]).astype(np.int64)
        routed = (back >= 0) & self.unicast[back]
        size_of = self.sizes(self.layout.uncounted + numbers(buffer, at + self.layout.length, 2), back)
        odd = routed & (self.stack[back] | (self.room[back] < size_of))
        odd |= np.isin(back, list(self.side.groups)) | self.odd(reasons, buffer, at, source)
        head = self.path.heads_of(back, source, self.attached[back])
        answerable = routed & ~odd & (self.path.open[back] | (head != back))
        answerable &= ~self.silent(buffer, at, source, back)
        redirect = (reasons == REDIRECT) & ~odd
        if redirect.any():
            chosen = rows[redirect]
            hop = decided.hop[chosen].astype(np.int64)
            answerable[redirect] &= self.redirected(frames, chosen, source[redirect], back[redirect], hop)
        decided.verdict[rows] = np.where(odd, SLOW, np.where(redirect, Reason.NONE, reasons))
        chosen = np.flatnonzero(answerable)
        own = self.sources(frames.port[rows[chosen]], source[chosen], back[chosen])
        return self._written(frames, decided, rows[chosen], back[chosen], head[chosen], size_of[chosen], own)

    def _written(
        self, frames: Frames, decided: Decided, rows: Numbers, back: Numbers, head: Numbers, size: Numbers,
        own: NDArray[np.uint8],
    ) -> Messages:  # fmt: skip
        buffer, offset = frames.packets.buffer, frames.packets.offset
        ask, size = decided.ask[rows], ETHERNET + size
        rest = self.rest(frames, rows, decided.hop[rows].astype(np.int64), ask)
        kind, code = self.kind[ask], self.code[ask]

        def write(places: Numbers, out: NDArray[np.uint8]) -> None:
            kernels.tell(
                buffer, offset, rows, self.path.heads, head, self.header, self.layout.source, self.layout.length,
                self.protocol, own, kind, code, rest, self.counted_down, places, size, out,
            )  # fmt: skip

        return Messages(rows, self.port[back].astype(np.int16), size, write)


def header_of(size: int, begin: str, taken_over: dict[int, int]) -> NDArray[np.uint8]:
    """Return a header of `size` bytes that begins so, and the bits that are the packet's, by byte: two rows."""
    rows = np.zeros((2, size), np.uint8)
    start = np.frombuffer(bytes.fromhex(begin), np.uint8)
    rows[0, : len(start)] = start
    for at, bits in taken_over.items():
        rows[1, at] = bits
    return rows


class Messages4(BatchMessages[Side4]):
    """The messages of IPv4 (RFC 1812 section 4.3): with the packet's type of service but for the precedence."""

    header, protocol, longest = header_of(20, "45c00000 00000000 4001", {1: 0x1E}), 0, icmp.LONGEST

    def __init__(self, side: Side4, path: Heads) -> None:
        super().__init__(side, path)
        self._via = np.array([hop.via for hop in side.hops], np.int64)
        better = icmp.redirect_to(0)
        self.kind[REDIRECT], self.code[REDIRECT] = better.type, better.code

    def error_for(self, reason: Reason) -> icmp.IcmpError | None:
        """Return the error that a reason calls for."""
        return icmp.error_for(reason)

    def odd(self, reasons: NDArray[np.uint8], buffer: NDArray[np.uint8], at: Numbers, source: NDArray[Any]) -> Which:
        """Say which packets are from no host's address or have options."""
        first, options = source[:, 0] >> 24, buffer[at] != OPTIONLESS
        return np.asarray((first >= 0xE0) | (first == 0) | (first == 127) | options)

    def silent(self, buffer: NDArray[np.uint8], at: Numbers, source: NDArray[Any], back: Numbers) -> Which:
        """Say which packets no error is sent about (RFC 1812 section 4.3.2.7), of those for a host elsewhere."""
        cut = numbers(buffer, at + 2, 2) <= 20
        kind = buffer[np.where(cut, at, at + 20)]
        host = np.isin(destination_kinds(source[:, 0], self.side.links), (Destination.ELSEWHERE, Destination.LOCAL))
        later = numbers(buffer, at + 6, 2) & 0x1FFF > 0
        about = (buffer[at + 9] == icmp.ICMP) & (cut | np.isin(kind, sorted(icmp.ERROR_TYPES)))
        return np.asarray(later | about | ~host)

    def redirected(self, frames: Frames, rows: Numbers, source: NDArray[Any], back: Numbers, hop: Numbers) -> Which:
        """Say which senders are on the link of the better hop; they could not push labels."""
        came, target = frames.port[rows], self._gateway(frames, rows, hop)
        no_route = np.zeros(len(rows), np.bool_)
        near = redirects_many(came, self.port[hop], source[:, 0], target, no_route, self.side.links)
        return ~self.stack[hop] & near

    def rest(self, frames: Frames, rows: Numbers, hop: Numbers, ask: NDArray[np.uint8]) -> Numbers:
        """Return the number behind the checksum of each message: of a redirect the better hop."""
        return np.where(ask == REDIRECT, self._gateway(frames, rows, hop), super().rest(frames, rows, hop, ask))

    def _gateway(self, frames: Frames, rows: Numbers, hop: Numbers) -> Numbers:
        """Return the next hops of packets."""
        to = numbers(frames.packets.buffer, frames.packets.offset[rows] + ETHERNET + 16, 4)
        return np.where(self.attached[hop], to, self._via[hop])


class Messages6(BatchMessages[Side6]):
    """The messages of IPv6 (RFC 4443)."""

    header, protocol, longest = header_of(40, "60000000 00003a40", {}), ICMP6, SMALLEST_MTU

    def error_for(self, reason: Reason) -> icmp.IcmpError | None:
        """Return the error that a reason calls for."""
        return icmp6.error_for(reason)

    def source_by(self, hop: Hop) -> int:
        """Return the first address of the port that a message leaves by, 0: it has none, and no route leads there."""
        link = self.side.ports[hop.port]
        return 0 if link is None else link.address

    def odd(self, reasons: NDArray[np.uint8], buffer: NDArray[np.uint8], at: Numbers, source: NDArray[Any]) -> Which:
        """Say which senders are to be redirected."""
        return np.asarray(reasons == REDIRECT)

    def silent(self, buffer: NDArray[np.uint8], at: Numbers, source: NDArray[Any], back: Numbers) -> Which:
        """Say which packets carry an ICMPv6 error or redirect, or may (RFC 4443 section 2.4 (e))."""
        size = SHORTEST + numbers(buffer, at + 4, 2)
        chain = read_chains(Packets(buffer, at, size))
        cut = chain.at >= size
        kind = buffer[np.where(cut, at, at + chain.at)]
        about = cut | (kind < icmp6.INFORMATIONAL) | (kind == icmp6.REDIRECT)
        return np.asarray((chain.protocol == ICMP6) & (chain.reason == 0) & about)


def numbers(buffer: NDArray[np.uint8], at: Numbers, size: int) -> Numbers:
    """Return the numbers of `size` bytes at some places."""
    values = np.zeros(len(at), np.int64)
    for k in range(size):
        values = values << 8 | buffer[at + k]
    return values
