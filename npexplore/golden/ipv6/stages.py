"""The stages of IPv6, in order: those of RFC 8200, RFC 4291 and RFC 4443, and where the Linux kernel departs."""

from __future__ import annotations

from npexplore.golden.ipv6.extensions import HOP_BY_HOP, read_chain
from npexplore.golden.ipv6.forward import Forwarder6, Walk6
from npexplore.golden.ipv6.header import SHORTEST
from npexplore.golden.ipv6.hop_limit import decrement_hop_limit
from npexplore.golden.ipv6.hop_options import read_hop_options
from npexplore.golden.ipv6.scope import Kind, address_kind, martian
from npexplore.golden.ipv6.validate import validate
from npexplore.golden.reasons import Reason, by_code
from npexplore.golden.router.configuration import KINDS
from npexplore.golden.router.forward import ETHERNET, Stage

NO_SUCH_ROUTE = {
    KINDS.index("blackhole"): Reason.BLACKHOLE,
    KINDS.index("unreachable"): Reason.UNREACHABLE6,
    KINDS.index("prohibit"): Reason.PROHIBITED6,
}


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
    if not walk.header.payload_length:
        return Reason.JUMBOGRAM
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
    """Let no link-local source leave its link; back onto it the packet may go."""
    assert walk.hop is not None
    leaves = walk.hop.port != walk.port
    return Reason.BEYOND_SCOPE if leaves and address_kind(walk.header.source) is Kind.LINK_LOCAL else Reason.NONE


def fit(router: Forwarder6, walk: Walk6) -> Reason:
    """See that the link carries the packet; only its source may cut it."""
    assert walk.hop is not None
    return Reason.PACKET_TOO_BIG if len(walk.out) > router.room(walk.hop) else Reason.NONE


def neighbour(router: Forwarder6, walk: Walk6) -> Reason:
    """Find the next hop on its link; then the packet is sure to leave, and its sender may be redirected."""
    assert walk.hop is not None
    if not router.has_neighbour(walk.hop.port, walk.next_hop):
        return Reason.NO_NEIGHBOUR6
    router.redirect(walk)
    return Reason.NONE


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
    "extension headers", "RFC 8200 section 4", ("packet",), (R.JUMBOGRAM, R.EXTENSION_CUT, R.HOP_BY_HOP_LATE), chain
)  # fmt: skip
_FIRST = Stage("extension headers", "RFC 8200 section 4", ("packet",), (R.JUMBOGRAM, R.EXTENSION_CUT), first_header)
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
