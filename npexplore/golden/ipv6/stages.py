"""The stages of IPv6 by RFC 8200, RFC 4291 and RFC 4443, and the ICMPv6 messages of these RFCs."""

from __future__ import annotations

from collections.abc import Callable

from npexplore.golden.ipv6.extensions import read_chain
from npexplore.golden.ipv6.header import ICMP6, SHORTEST, write_packet
from npexplore.golden.ipv6.hop_limit import decrement_hop_limit
from npexplore.golden.ipv6.hop_options import HopOptions, read_hop_options
from npexplore.golden.ipv6.host import carried_by, host_answer6
from npexplore.golden.ipv6.icmp import IcmpError, checksum, error_for, icmp_error, may_answer
from npexplore.golden.ipv6.reassembly import Piece
from npexplore.golden.ipv6.redirect import redirect, redirect_target
from npexplore.golden.ipv6.scope import Kind, address_kind, martian
from npexplore.golden.ipv6.validate import validate
from npexplore.golden.reasons import Reason, by_code
from npexplore.golden.router.routes import Hop
from npexplore.golden.router.rules import Rules, Rules6, Stage
from npexplore.golden.router.sides import UNICAST, Side6
from npexplore.golden.router.stages import link
from npexplore.golden.router.walk import Sent, Walk6


def valid(side: Side6, walk: Walk6) -> Reason:
    """Check the header; remove the link's padding behind the packet."""
    reason = validate(walk.packet)
    if not reason:
        walk.packet = walk.packet[: SHORTEST + walk.header.payload_length]
    return reason


def martians(side: Side6, walk: Walk6) -> Reason:
    """Drop packets whose source or destination address is not allowed on a wire."""
    return martian(walk.header.source, walk.header.destination)


def chain(side: Side6, walk: Walk6) -> Reason:
    """Parse the extension headers; a router may discard a packet with a cut chain (RFC 7112 section 5)."""
    headers = read_chain(walk.packet)
    walk.pointer = headers.pointer
    return by_code(headers.reason)


def options(side: Side6, walk: Walk6) -> Reason:
    """Check the hop-by-hop options."""
    return take_options(walk, read_hop_options(walk.packet))


def take_options(walk: Walk6, hop_options: HopOptions) -> Reason:
    """Store the first fault of the hop-by-hop options in the walk; drop the packet if there is one."""
    walk.pointer, walk.tell = hop_options.pointer, hop_options.tell or not hop_options.reason
    return hop_options.reason


def deliver(side: Side6, walk: Walk6) -> Reason:
    """Stop packets for the router itself, multicasts, and packets that must stay on this link."""
    destination = walk.header.destination
    if address_kind(destination) is Kind.MULTICAST:
        return Reason.MULTICAST6
    if walk.link_broadcast:
        return Reason.LINK_BROADCAST
    if destination in side.own:
        return Reason.LOCAL_DELIVERY
    return Reason.LINK_LOCAL_DESTINATION if address_kind(destination) is Kind.LINK_LOCAL else Reason.NONE


def look_up(side: Side6, walk: Walk6) -> Reason:
    """Find the route of the destination."""
    walk.target = walk.header.destination
    walk.hop = side.route(walk.target, walk.packet)
    return side.refusal(walk.hop)


def hop_limit(side: Side6, walk: Walk6) -> Reason:
    """Decrement the hop limit; drop a packet that has none left."""
    reason, packet = decrement_hop_limit(walk.packet)
    walk.out = (packet,)
    return reason


def scope(side: Side6, walk: Walk6) -> Reason:
    """Drop packets with a link-local source that would leave its link."""
    assert walk.hop is not None
    leaves_link = walk.hop.port != walk.port
    return Reason.BEYOND_SCOPE if leaves_link and address_kind(walk.header.source) is Kind.LINK_LOCAL else Reason.NONE


def fit(side: Side6, walk: Walk6) -> Reason:
    """Drop a packet that is longer than the link's MTU; only its source may fragment it."""
    assert walk.hop is not None
    walk.mtu = side.room(walk.hop)
    return Reason.PACKET_TOO_BIG if len(walk.out[0]) > walk.mtu else Reason.NONE


def neighbour(side: Side6, walk: Walk6) -> Reason:
    """Check that the next hop is on its link; after this last stage a redirect may be sent."""
    assert walk.hop is not None
    if not side.reaches(walk.hop.port, walk.next_hop):
        return Reason.NO_NEIGHBOUR6
    header, port, link = walk.header, walk.port, side.ports[walk.port]
    better = redirect_target(port, link, walk.hop, header.source, header.destination)
    if link is not None and better is not None and side.reaches(port, header.source) and side.may_tell(walk.time_ns):
        message = redirect(walk.packet, link.link_local, better, side.known_mac(port, better))
        walk.sent.append(Sent(port, side.framed(Hop(UNICAST, port, 0), header.source, message), icmp=True))
    return Reason.NONE


def tell(side: Side6, walk: Walk6, reason: Reason) -> None:
    """Send the ICMPv6 error that a reason calls for, if one may be sent, by the route to the packet's source."""
    error = error_or_reply(side, walk, reason, reply)
    if error is None or not walk.tell or not may_answer(walk.packet, error, link_multicast=walk.link_broadcast):
        return
    target, near = walk.header.source, address_kind(walk.header.source) is Kind.LINK_LOCAL
    hop = Hop(UNICAST, walk.port, 0) if near else side.route(target, walk.packet)
    if hop is None or hop.kind != UNICAST:
        return
    link, destination = side.ports[hop.port], walk.header.destination
    if link is None or not (near or side.reaches(hop.port, hop.via or target)) or not side.may_tell(walk.time_ns):
        return
    source = link.link_local if near else link.address
    if destination in side.own and address_kind(destination) is Kind.ROUTABLE:
        source = destination  # RFC 4443 section 2.2 (a)
    message = icmp_error(error, walk.packet, source)
    walk.sent.append(Sent(hop.port, side.framed(hop, hop.via or target, message), icmp=True))


def error_or_reply(
    side: Side6, walk: Walk6, reason: Reason, reply: Callable[[Side6, Walk6, bytes], None], *, linux: bool = False
) -> IcmpError | None:
    """Return the error that a reason calls for, None without one; reply to a request to the router itself."""
    if reason is not R.LOCAL_DELIVERY or not side.router.policy.answers:
        return error_for(reason, mtu=walk.mtu, pointer=walk.pointer)
    piece = carried_by(walk.packet, linux=linux)
    joined = piece.at if isinstance(piece, Piece) else 0
    if isinstance(piece, Piece):
        datagram = side.reassembly.add(walk.packet, piece, walk.port, walk.time_ns)
        if not isinstance(datagram, bytes):
            return datagram
        walk.packet = datagram
    answer = host_answer6(walk.packet, linux=linux, joined=joined)
    if not isinstance(answer, bytes):
        return answer
    reply(side, walk, answer)
    return None


def reply(side: Side6, walk: Walk6, body: bytes) -> None:
    """Send an ICMPv6 reply from the request's destination; for an anycast destination from the link's address."""
    header, is_link_local = walk.header, address_kind(walk.header.source) is Kind.LINK_LOCAL
    hop = Hop(UNICAST, walk.port, 0) if is_link_local else side.route(header.source, walk.packet)
    if address_kind(header.source) not in (Kind.ROUTABLE, Kind.LINK_LOCAL) or hop is None or hop.kind != UNICAST:
        return
    if not (is_link_local or side.reaches(hop.port, hop.via or header.source)) or not side.may_tell(walk.time_ns):
        return
    links = [link for link in side.ports if link and header.destination in link.own]
    unicast = any(header.destination in (*(address for address, _ in link.subnets), link.link_local) for link in links)
    source = header.destination if unicast else links[0].address
    send_reply(side, walk, hop, source, body)


def send_reply(side: Side6, walk: Walk6, hop: Hop, source: int, body: bytes) -> None:
    """Send an ICMPv6 message to the source of a packet, with its traffic class, if it fits the link's MTU."""
    header = walk.header
    body = body[:2] + checksum(source, header.source, body).to_bytes(2, "big") + body[4:]
    message = write_packet(source, header.source, body, next_header=ICMP6, traffic_class=header.traffic_class)
    if len(message) <= side.room(hop):
        walk.sent.append(Sent(hop.port, side.framed(hop, hop.via or header.source, message), icmp=True))


R = Reason
BEFORE = (
    Stage("link", "RFC 2464 section 6", ("frame", "port"), (R.OTHER_STATION,), link),
    Stage("header", "RFC 8200 section 3", ("packet",), (R.TOO_SHORT6, R.BAD_VERSION6, R.TRUNCATED6), valid),
)
MARTIANS = Stage(
    "martians", "RFC 4291 section 2.5", ("source", "destination"), (R.MARTIAN_SOURCE6, R.MARTIAN_DESTINATION6), martians
)
CHAIN = Stage(
    "extension headers", "RFC 8200 section 4", ("packet",), (R.JUMBOGRAM, R.EXTENSION_CUT, R.HOP_BY_HOP_LATE), chain
)
AFTER = (
    Stage(
        "hop-by-hop options", "RFC 8200 section 4.2", ("packet",), (R.HOP_OPTION_CUT, R.HOP_OPTION_UNKNOWN), options
    ),
    Stage(
        "delivery", "RFC 4291 section 2", ("destination", "link_broadcast"),
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
RFC8200: Rules6 = Rules((*BEFORE, MARTIANS, CHAIN, *AFTER), tell, whole_chain=True)
