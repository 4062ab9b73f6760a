"""An IPv6 packet's way through the router, one packet at a time: stages in order, at each of which it may leave.

Profile `rfc1812` of the router follows RFC 8200, RFC 4291 and RFC 4443 here; profile `linux` the Linux kernel, which
looks into hop-by-hop options alone, and says that there is no route about `unreachable` ones and to the unspecified
address.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from npexplore.golden.ipv4.icmp_limit import TokenBucket
from npexplore.golden.ipv6.addresses import address_text
from npexplore.golden.ipv6.extensions import HOP_BY_HOP, read_chain
from npexplore.golden.ipv6.header import SHORTEST, Header6, read_header
from npexplore.golden.ipv6.hop_limit import decrement_hop_limit
from npexplore.golden.ipv6.hop_options import read_hop_options
from npexplore.golden.ipv6.icmp import IcmpError6, error_for, icmp_error, may_answer
from npexplore.golden.ipv6.scope import Kind, address_kind, martian
from npexplore.golden.ipv6.validate import validate
from npexplore.golden.lookup import LPMS6
from npexplore.golden.reasons import Reason, by_code
from npexplore.golden.router.configuration import KINDS, Router
from npexplore.golden.router.forward import ETHERNET, Outcome, Sent, Stage
from npexplore.golden.router.six import Route6, Six

IPV6_TYPE = b"\x86\xdd"
NO_SUCH_ROUTE = {
    KINDS.index("blackhole"): Reason.BLACKHOLE,
    KINDS.index("unreachable"): Reason.UNREACHABLE6,
    KINDS.index("prohibit"): Reason.PROHIBITED6,
}


@dataclass
class Walk6:
    """A packet and what is known of it; stages fill this in. `packet` are its bytes as they stand, without padding."""

    port: int
    frame: bytes
    time_ns: int
    packet: bytes = b""
    link_multicast: bool = False
    hop: Route6 | None = None
    pointer: int = 0  # the wrong octet, for a parameter problem
    tell: bool = True  # may an option's fault be told?
    out: bytes = b""
    sent: list[Sent] = field(default_factory=list)

    @property
    def header(self) -> Header6[int]:
        """The header as it came."""
        return read_header(self.packet)

    @property
    def next_hop(self) -> int:
        """The address on the link that it is sent to."""
        assert self.hop is not None
        return self.hop.via or self.header.destination


class Forwarder6:
    """IPv6 of a router that has it; `decide` takes one frame and counts nothing."""

    def __init__(
        self, router: Router, six: Six, *, profile: str = "rfc1812", lookup: str = "six_level",
        error_limit: TokenBucket | None = None,
    ) -> None:  # fmt: skip
        self.router, self.six, self.stages = router, six, STAGES6[profile]
        self.linux = profile == "linux"
        self.error_limit = error_limit
        numbers: dict[tuple[int, int, int], int] = {}
        for row in six.routes:
            numbers.setdefault(row[2:], len(numbers))
        self.hops = [Route6(0, 0, *key) for key in numbers]
        kind = LPMS6[lookup]
        self.lpm = kind.from_columns(
            kind.family.rows([row.value for row in six.routes]),
            [row.length for row in six.routes],  # type: ignore[arg-type]
            [numbers[row[2:]] for row in six.routes],  # type: ignore[arg-type]
        )
        self.own = frozenset(
            address
            for port in six.ports
            if port
            for address in (port.address, port.link_local, *([port.network] if port.length < 127 else []))
        )

    def route(self, address: int) -> Route6 | None:
        """Return where an address is routed, None without a route."""
        found = self.lpm.lookup(address)
        return None if found is None else self.hops[found]

    def decide(self, port: int, frame: bytes, time_ns: int = 0) -> Outcome:
        """Decide one frame of IPv6 that came in by a port."""
        walk = Walk6(port, frame, time_ns)
        for stage in self.stages:
            reason = stage.run(self, walk)
            if reason:
                self._tell(walk, reason)
                return Outcome(reason, tuple(walk.sent))
        assert walk.hop is not None
        walk.sent.append(Sent(walk.hop.port, self.framed(walk.hop.port, walk.next_hop, walk.out)))
        return Outcome(Reason.NONE, tuple(walk.sent))

    def framed(self, port: int, next_hop: int, packet: bytes) -> bytes:
        """Return a packet in the frame that carries it over a link."""
        link = self.router.ports[port]
        return self.six.neighbours.get(next_hop, link.peer_mac) + link.mac + IPV6_TYPE + packet

    def has_neighbour(self, port: int, address: int) -> bool:
        """Say whether somebody on a link has an address: anybody may, unless the neighbours are listed."""
        return not self.router.ports[port].listed_only or address in self.six.neighbours

    def explain(self, address: int) -> str:
        """Return a sentence on where an address is routed."""
        hop = self.route(address)
        if hop is None:
            return f"{address_text(address)} has no route"
        if hop.kind:
            return f"{address_text(address)} is in a route of kind {KINDS[hop.kind]}"
        via = f" via {address_text(hop.via)}" if hop.via else ", on its link"
        return f"{address_text(address)} goes out by {self.router.ports[hop.port].name}{via}"

    def _tell(self, walk: Walk6, reason: Reason) -> None:
        """Send the ICMPv6 error that a reason calls for, if one may be sent, by the way its source is routed."""
        if self.linux and reason is Reason.UNREACHABLE6:
            reason = Reason.NO_ROUTE6
        link = self.six.ports[walk.port]
        mtu = self.router.ports[walk.hop.port].mtu if walk.hop and walk.hop.port >= 0 else 0
        error = error_for(reason, mtu=mtu, pointer=walk.pointer)
        if error is None or not walk.tell or not may_answer(walk.packet, error, link_multicast=walk.link_multicast):
            return
        target = walk.header.source
        if address_kind(target) is Kind.LINK_LOCAL:
            if link is not None:
                self._answer(walk, error, walk.port, target, link.link_local)
            return
        hop = self.route(target)
        if hop is None or hop.kind or not self.has_neighbour(hop.port, hop.via or target):
            return
        leaves = self.six.ports[hop.port]
        if leaves is not None:
            self._answer(walk, error, hop.port, hop.via or target, leaves.address)

    def _answer(self, walk: Walk6, error: IcmpError6, port: int, next_hop: int, source: int) -> None:
        if self.error_limit is not None and not self.error_limit.allow(walk.time_ns):
            return
        destination = walk.header.destination
        if destination in self.own and address_kind(destination) is Kind.ROUTABLE:
            source = destination  # RFC 4443 section 2.2 (a)
        message = icmp_error(error, walk.packet, source)
        walk.sent.append(Sent(port, self.framed(port, next_hop, message), icmp=True))


def link(router: Forwarder6, walk: Walk6) -> Reason:
    """Take the packet out of its frame, if that is for this router or for many."""
    walk.link_multicast = bool(walk.frame[0] & 1)
    if not walk.link_multicast and walk.frame[:6] != router.router.ports[walk.port].mac:
        return Reason.OTHER_STATION
    walk.packet = walk.frame[ETHERNET:]
    return Reason.NONE


def valid(router: Forwarder6, walk: Walk6) -> Reason:
    """Check the header; cut off what the link added behind the packet."""
    reason = validate(walk.packet)
    if not reason:
        walk.packet = walk.packet[: SHORTEST + walk.header.payload_length]
    return reason


def martians(router: Forwarder6, walk: Walk6) -> Reason:
    """Refuse addresses that cannot be; to the kernel the unspecified address is one without a route."""
    reason = martian(walk.header.source, walk.header.destination)
    nowhere = reason is Reason.MARTIAN_DESTINATION6 and not walk.header.destination
    return Reason.NONE if router.linux and nowhere else reason


def chain(router: Forwarder6, walk: Walk6) -> Reason:
    """Walk the extension headers; a chain that is cut can be discarded on the way (RFC 7112 section 5)."""
    found = read_chain(walk.packet)
    walk.pointer = found.pointer
    return by_code(found.reason)


def first_header(router: Forwarder6, walk: Walk6) -> Reason:
    """Look whether the hop-by-hop options are whole, and at no other extension header."""
    if walk.header.next_header != HOP_BY_HOP:
        return Reason.NONE
    whole = len(walk.packet) >= SHORTEST + 8 and len(walk.packet) >= SHORTEST + 8 * walk.packet[SHORTEST + 1] + 8
    return Reason.NONE if whole else Reason.EXTENSION_CUT


def options(router: Forwarder6, walk: Walk6) -> Reason:
    """Look into the hop-by-hop options; the first fault ends the way."""
    found = read_hop_options(walk.packet)
    walk.pointer, walk.tell = found.pointer, found.tell or not found.reason
    return found.reason


def deliver(router: Forwarder6, walk: Walk6) -> Reason:
    """Keep what is for the router, for many, or for this link."""
    destination = walk.header.destination
    if address_kind(destination) is Kind.MULTICAST:
        return Reason.MULTICAST6
    if walk.link_multicast:
        return Reason.LINK_BROADCAST
    if destination in router.own:
        return Reason.LOCAL_DELIVERY
    return Reason.LINK_LOCAL_DESTINATION if address_kind(destination) is Kind.LINK_LOCAL else Reason.NONE


def look_up(router: Forwarder6, walk: Walk6) -> Reason:
    """Find the route of the destination."""
    walk.hop = router.route(walk.header.destination)
    if walk.hop is None:
        return Reason.NO_ROUTE6
    return NO_SUCH_ROUTE[walk.hop.kind] if walk.hop.kind else Reason.NONE


def hop_limit(router: Forwarder6, walk: Walk6) -> Reason:
    """One hop less."""
    reason, walk.out = decrement_hop_limit(walk.packet)
    return reason


def scope(router: Forwarder6, walk: Walk6) -> Reason:
    """Let no link-local source leave its link."""
    return Reason.BEYOND_SCOPE if address_kind(walk.header.source) is Kind.LINK_LOCAL else Reason.NONE


def fit(router: Forwarder6, walk: Walk6) -> Reason:
    """See that the link carries the packet; only its source may cut it."""
    assert walk.hop is not None
    return Reason.PACKET_TOO_BIG if len(walk.out) > router.router.ports[walk.hop.port].mtu else Reason.NONE


def neighbour(router: Forwarder6, walk: Walk6) -> Reason:
    """Find the next hop on its link."""
    assert walk.hop is not None
    return Reason.NONE if router.has_neighbour(walk.hop.port, walk.next_hop) else Reason.NO_NEIGHBOUR6


R = Reason
_BEFORE = (
    Stage("link", "RFC 2464 section 6", ("frame", "port"), (R.OTHER_STATION,), link),
    Stage("header", "RFC 8200 section 3", ("packet",), (R.TOO_SHORT6, R.BAD_VERSION6, R.TRUNCATED6), valid),
    Stage(
        "martians", "RFC 4291 section 2.5", ("source", "destination"), (R.MARTIAN_SOURCE6, R.MARTIAN_DESTINATION6),
        martians,
    ),
)  # fmt: skip
_CHAIN = Stage(
    "extension headers", "RFC 8200 section 4", ("packet",), (R.EXTENSION_CUT, R.HOP_BY_HOP_LATE), chain
)  # fmt: skip
_FIRST = Stage("extension headers", "RFC 8200 section 4", ("packet",), (R.EXTENSION_CUT,), first_header)
_AFTER = (
    Stage(
        "hop-by-hop options", "RFC 8200 section 4.2", ("packet",), (R.HOP_OPTION_CUT, R.HOP_OPTION_UNKNOWN), options
    ),
    Stage(
        "delivery", "RFC 4291 section 2", ("destination", "link_multicast"),
        (R.MULTICAST6, R.LINK_BROADCAST, R.LOCAL_DELIVERY, R.LINK_LOCAL_DESTINATION), deliver,
    ),
    Stage(
        "lookup", "RFC 4443 section 3.1", ("destination",),
        (R.NO_ROUTE6, R.BLACKHOLE, R.UNREACHABLE6, R.PROHIBITED6), look_up,
    ),
    Stage("hop limit", "RFC 8200 section 3", ("hop_limit",), (R.HOP_LIMIT_EXCEEDED,), hop_limit),
    Stage("scope", "RFC 4291 section 2.5.6", ("source",), (R.BEYOND_SCOPE,), scope),
    Stage("size", "RFC 8200 section 5", ("payload_length", "hop"), (R.PACKET_TOO_BIG,), fit),
    Stage("neighbour", "RFC 4861 section 7.2", ("hop",), (R.NO_NEIGHBOUR6,), neighbour),
)  # fmt: skip
STAGES6: dict[str, tuple[Stage, ...]] = {
    "rfc1812": (*_BEFORE, _CHAIN, *_AFTER),
    "linux": (*_BEFORE, _FIRST, *_AFTER),
}
