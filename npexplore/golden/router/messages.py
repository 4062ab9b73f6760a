"""ICMP errors and redirects about many packets at once: the batch form of the stages' `send_error` and `tell`.

Covers the common case: packets from a host elsewhere, unfragmented messages, no rate limit. The reference handles all
other cases, and IPv6 redirects. A profile with other messages overrides methods (golden/linux/messages.py).
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
ICMP_HEADER = 8  # bytes of ICMP in front of the quoted packet
Numbers = NDArray[np.int64]
Which = NDArray[np.bool_]


class BatchMessages(ABC, Generic[S]):
    """Decides which messages a batch sends: a call with the kernels' decisions returns the messages.

    header: two rows: the fixed bytes of the IP header, and a mask of the bits that are copied from the packet;
    protocol: the number in the pseudo header that the checksum covers, 0: no pseudo header; longest: the longest
    message in bytes, quotation included; counted_down: whether a redirect quotes the packet with decremented TTL.
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
        self.kind, self.code = np.zeros(256, np.uint8), np.zeros(256, np.uint8)  # by reason
        for reason in Reason:
            if (error := self.error_for(reason)) is not None:
                self.kind[reason], self.code[reason] = error.type, error.code
        self._by_reference = self.by_reference()

    @abstractmethod
    def error_for(self, reason: Reason) -> icmp.IcmpError | None:
        """Return the error that a reason calls for."""

    @abstractmethod
    def odd(self, reasons: NDArray[np.uint8], buffer: NDArray[np.uint8], at: Numbers, source: NDArray[Any]) -> Which:
        """Return which packets the reference handles. reasons, at, source: reason, offset and source of each packet."""

    @abstractmethod
    def silent(self, buffer: NDArray[np.uint8], at: Numbers, source: NDArray[Any], back: Numbers) -> Which:
        """Return about which of the other packets no error is sent. back: the hops towards their sources."""

    def by_reference(self) -> bool:
        """Say whether the reference writes all messages."""
        return self.side.error_limit is not None

    def source_by(self, hop: Hop) -> int:
        """Return the source address of messages sent by a hop."""
        return self.side.source_by(hop)

    def sizes(self, total: Numbers, back: Numbers) -> Numbers:
        """Return the sizes in bytes of messages about packets of `total` bytes, sent back by hops."""
        return np.asarray(self.fixed + np.minimum(total, self.longest - self.fixed))

    def redirected(self, frames: Frames, rows: Numbers, source: NDArray[Any], back: Numbers, hop: Numbers) -> Which:
        """Return which senders get a redirect to a better first hop. hop: the hops of their packets."""
        return np.zeros(len(rows), np.bool_)

    def sources(self, port: NDArray[np.int16], source: NDArray[Any], back: Numbers) -> NDArray[np.uint8]:
        """Return the source addresses of messages, as bytes. port: the incoming ports of the packets."""
        return self.own[back]

    def rest(self, frames: Frames, rows: Numbers, hop: Numbers, ask: NDArray[np.uint8]) -> Numbers:
        """Return the 32-bit field behind the checksum of each message: the MTU if the packet was too long, else 0."""
        return np.where(ask == self.side.failures[1], self.room[hop] & 0xFFFF, 0)

    def __call__(self, frames: Frames, decided: Decided) -> Messages | None:
        """Set the verdicts of all rows with a reason in `decided.ask`; return their messages, None without any."""
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
        by_reference = routed & (self.stack[back] | (self.room[back] < size_of))
        by_reference |= np.isin(back, list(self.side.groups)) | self.odd(reasons, buffer, at, source)
        head = self.path.heads_of(back, source, self.attached[back])
        answerable = routed & ~by_reference & (self.path.open[back] | (head != back))
        answerable &= ~self.silent(buffer, at, source, back)
        redirect = (reasons == REDIRECT) & ~by_reference
        if redirect.any():
            chosen = rows[redirect]
            hop = decided.hop[chosen].astype(np.int64)
            answerable[redirect] &= self.redirected(frames, chosen, source[redirect], back[redirect], hop)
        decided.verdict[rows] = np.where(by_reference, SLOW, np.where(redirect, Reason.NONE, reasons))
        chosen = np.flatnonzero(answerable)
        senders = self.sources(frames.port[rows[chosen]], source[chosen], back[chosen])
        return self._written(frames, decided, rows[chosen], back[chosen], head[chosen], size_of[chosen], senders)

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
    """Return two rows of `size` bytes: a header that begins with `begin` (hex); the mask of bits from the packet."""
    rows = np.zeros((2, size), np.uint8)
    start = np.frombuffer(bytes.fromhex(begin), np.uint8)
    rows[0, : len(start)] = start
    for at, bits in taken_over.items():
        rows[1, at] = bits
    return rows


class Messages4(BatchMessages[Side4]):
    """The messages of IPv4 (RFC 1812 section 4.3): they copy the packet's type of service, except the precedence."""

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
        """Return which packets have options, or a source that no host can have."""
        first_octet, options = source[:, 0] >> 24, buffer[at] != OPTIONLESS
        return np.asarray((first_octet >= 0xE0) | (first_octet == 0) | (first_octet == 127) | options)

    def silent(self, buffer: NDArray[np.uint8], at: Numbers, source: NDArray[Any], back: Numbers) -> Which:
        """Return about which packets no error is sent (RFC 1812 section 4.3.2.7)."""
        cut = numbers(buffer, at + 2, 2) <= 20
        kind = buffer[np.where(cut, at, at + 20)]
        to_host = np.isin(destination_kinds(source[:, 0], self.side.links), (Destination.ELSEWHERE, Destination.LOCAL))
        later_fragment = numbers(buffer, at + 6, 2) & 0x1FFF > 0
        is_error = (buffer[at + 9] == icmp.ICMP) & (cut | np.isin(kind, sorted(icmp.ERROR_TYPES)))
        return np.asarray(later_fragment | is_error | ~to_host)

    def redirected(self, frames: Frames, rows: Numbers, source: NDArray[Any], back: Numbers, hop: Numbers) -> Which:
        """Return which senders are on the link of the better hop; not for labelled routes: hosts push no labels."""
        incoming_port, target = frames.port[rows], self._gateway(frames, rows, hop)
        no_route = np.zeros(len(rows), np.bool_)
        redirect = redirects_many(incoming_port, self.port[hop], source[:, 0], target, no_route, self.side.links)
        return ~self.stack[hop] & redirect

    def rest(self, frames: Frames, rows: Numbers, hop: Numbers, ask: NDArray[np.uint8]) -> Numbers:
        """Return the 32-bit field behind the checksum of each message: for a redirect the better next hop."""
        return np.where(ask == REDIRECT, self._gateway(frames, rows, hop), super().rest(frames, rows, hop, ask))

    def _gateway(self, frames: Frames, rows: Numbers, hop: Numbers) -> Numbers:
        """Return the next hops of packets."""
        destination = numbers(frames.packets.buffer, frames.packets.offset[rows] + ETHERNET + 16, 4)
        return np.where(self.attached[hop], destination, self._via[hop])


class Messages6(BatchMessages[Side6]):
    """The messages of IPv6 (RFC 4443)."""

    header, protocol, longest = header_of(40, "60000000 00003a40", {}), ICMP6, SMALLEST_MTU

    def error_for(self, reason: Reason) -> icmp.IcmpError | None:
        """Return the error that a reason calls for."""
        return icmp6.error_for(reason)

    def source_by(self, hop: Hop) -> int:
        """Return the first address of the port that a message leaves by, 0 for a port without IPv6."""
        link = self.side.ports[hop.port]
        return 0 if link is None else link.address

    def odd(self, reasons: NDArray[np.uint8], buffer: NDArray[np.uint8], at: Numbers, source: NDArray[Any]) -> Which:
        """Return which packets call for a redirect: the reference writes these."""
        return np.asarray(reasons == REDIRECT)

    def silent(self, buffer: NDArray[np.uint8], at: Numbers, source: NDArray[Any], back: Numbers) -> Which:
        """Return which packets carry an ICMPv6 error or redirect, or are cut before it (RFC 4443 section 2.4 (e))."""
        size = SHORTEST + numbers(buffer, at + 4, 2)
        chain = read_chains(Packets(buffer, at, size))
        cut = chain.at >= size
        kind = buffer[np.where(cut, at, at + chain.at)]
        maybe_error = cut | (kind < icmp6.INFORMATIONAL) | (kind == icmp6.REDIRECT)
        return np.asarray((chain.protocol == ICMP6) & (chain.reason == 0) & maybe_error)


def numbers(buffer: NDArray[np.uint8], at: Numbers, size: int) -> Numbers:
    """Return the big-endian numbers of `size` bytes at the offsets `at`."""
    values = np.zeros(len(at), np.int64)
    for k in range(size):
        values = values << 8 | buffer[at + k]
    return values
