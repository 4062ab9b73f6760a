"""The stages of RFC 1812, in the order of its section 5.2.1.2, and its ICMP messages (section 4.3)."""

from __future__ import annotations

from typing import Any

from npexplore.golden.ethernet import ETHERNET
from npexplore.golden.ipv4.addresses import MAX_ADDRESS
from npexplore.golden.ipv4.delivery import Destination, delivery, destination_kind
from npexplore.golden.ipv4.fragment import fragment
from npexplore.golden.ipv4.header import MF, write_packet
from npexplore.golden.ipv4.host import host_answer
from npexplore.golden.ipv4.icmp import ICMP, IcmpError, Silence, error_for, icmp_error, redirect_to, silence
from npexplore.golden.ipv4.martians import martian
from npexplore.golden.ipv4.options import (
    LOOSE_ROUTE,
    STRICT_ROUTE,
    forward_options,
    next_of_source_route,
    read_options,
    reversed_source_route,
)
from npexplore.golden.ipv4.redirect import redirects
from npexplore.golden.ipv4.ttl import decrement_ttl
from npexplore.golden.ipv4.validate import validate_ipv4
from npexplore.golden.reasons import Reason
from npexplore.golden.router.rules import Rules, Rules4, Stage
from npexplore.golden.router.sides import UNICAST, Side, Side4
from npexplore.golden.router.walk import Sent, Walk, Walk4

UNFIT = (Silence.BROADCAST, Silence.LINK_BROADCAST, Silence.BAD_SOURCE)  # packets that get no reply
DAY_MS = 86_400_000


def link(side: Side, walk: Walk[Any]) -> Reason:
    """Take the packet out of its frame, if it has the side's EtherType and is for this router or a MAC group."""
    frame = walk.frame
    if frame[12:ETHERNET] != side.frame_type:
        return Reason.NOT_IPV4
    walk.link_broadcast = bool(frame[0] & 1)
    if not walk.link_broadcast and frame[:6] != side.router.ports[walk.port].mac:
        return Reason.OTHER_STATION
    walk.packet = frame[ETHERNET:]
    return Reason.NONE


def valid(side: Side4, walk: Walk4) -> Reason:
    """Check the header; remove the link's padding behind the packet."""
    reason = validate_ipv4(walk.packet)
    if not reason:
        walk.packet = walk.packet[: walk.header.total_length]
    return reason


def martians(side: Side4, walk: Walk4) -> Reason:
    """Drop packets whose source or destination address is not allowed on a wire.

    A packet from 0.0.0.0 to 255.255.255.255 is allowed (RFC 1122 section 3.2.1.3 (a), DHCP).
    """
    header = walk.header
    if header.source == 0 and header.destination == MAX_ADDRESS:
        return Reason.NONE
    if side.links.is_broadcast(header.source):
        return Reason.MARTIAN_SOURCE
    return martian(header.source, header.destination, side.martians)


def reverse_path(side: Side4, walk: Walk4) -> Reason:
    """Drop a packet whose source is not routed by its incoming port, if reverse-path filtering is on."""
    if not side.router.policy.reverse_path:
        return Reason.NONE
    expected_port = walk.port in side.ports_towards(walk.header.source)
    return Reason.NONE if expected_port else Reason.REVERSE_PATH


def options(side: Side4, walk: Walk4) -> Reason:
    """Parse the options; drop the packet at the first fault."""
    walk.options = read_options(walk.packet)
    if walk.options.pointer is None:
        return Reason.NONE
    walk.pointer = walk.options.pointer
    return Reason.BAD_OPTION


def deliver(side: Side4, walk: Walk4) -> Reason:
    """Stop packets for the router itself and multicasts; follow a source route that is not at its end."""
    destination = walk.header.destination
    walk.kind = destination_kind(destination, side.links)
    on_link = destination in side.router.ports[walk.port].broadcasts  # all on the incoming link have it
    directed = side.router.policy.directed_broadcasts and not on_link
    reason = delivery(walk.kind, walk.link_broadcast, directed)
    walk.target = destination
    if reason is not Reason.LOCAL_DELIVERY:
        return reason
    route = next_of_source_route(walk.packet, walk.options)
    if route is None or (route.next_hop is None and route.pointer is None):
        return Reason.LOCAL_DELIVERY
    if route.next_hop is None:
        walk.pointer = route.pointer or 0
        return Reason.BAD_OPTION
    kind = destination_kind(route.next_hop, side.links)
    if kind is not Destination.ELSEWHERE or martian(walk.header.source, route.next_hop, side.martians):
        return Reason.SOURCE_ROUTE_FAILED
    walk.target, walk.follow, walk.kind = route.next_hop, True, kind
    return Reason.NONE


def look_up(side: Side4, walk: Walk4) -> Reason:
    """Find the route of the destination, or of the next address of its source route."""
    walk.hop = side.route(walk.target, walk.packet)
    if refused := side.refusal(walk.hop):
        return Reason.SOURCE_ROUTE_FAILED if walk.follow else refused
    strict = walk.options.find(STRICT_ROUTE) is not None
    return Reason.SOURCE_ROUTE_FAILED if strict and walk.hop and walk.hop.via else Reason.NONE


def time_to_live(side: Side4, walk: Walk4) -> Reason:
    """Decrement the time to live; drop a packet that has none left."""
    reason, packet = decrement_ttl(walk.packet)
    if not reason:
        walk.redirect = wants_redirect(side, walk)
        walk.out = (packet,)
    return reason


def wants_redirect(side: Side4, walk: Walk4) -> bool:
    """Say whether the sender should get a redirect; never for a labelled route, as hosts do not push labels."""
    assert walk.hop is not None
    if walk.hop.stack:
        return False
    source_routed = walk.options.find(LOOSE_ROUTE, STRICT_ROUTE) is not None
    return redirects(walk.port, walk.hop.port, walk.header.source, walk.next_hop, source_routed, side.links)


def write_options(side: Side4, walk: Walk4) -> Reason:
    """Update the options: record the route, stamp the time, advance the source route."""
    assert walk.hop is not None
    if walk.options.options:
        address = side.source_by(walk.hop)
        time_ms = walk.time_ns // 1_000_000
        walk.out = (
            forward_options(walk.out[0], walk.options, address, side.own, time_ms, follow=walk.follow),
        )  # fmt: skip
    return Reason.NONE


def fit(side: Side4, walk: Walk4) -> Reason:
    """Fragment the packet if it is longer than the link's MTU."""
    assert walk.hop is not None
    fragments = fragment(walk.out[0], side.room(walk.hop))
    if fragments.reason:
        walk.mtu = fragments.mtu
        return fragments.reason
    walk.out = fragments.packets
    return Reason.NONE


def neighbour(side: Side4, walk: Walk4) -> Reason:
    """Check that the next hop is on its link; after this last stage a redirect may be sent."""
    assert walk.hop is not None
    if not side.reaches(walk.hop.port, walk.next_hop):
        return Reason.NO_NEIGHBOUR
    if walk.redirect:
        send_error(side, walk, redirect_to(walk.next_hop))
    return Reason.NONE


def tell(side: Side4, walk: Walk4, reason: Reason) -> None:
    """Send the ICMP error that a reason calls for, if one may be sent."""
    error = error_for(reason, mtu=walk.mtu, pointer=walk.pointer)
    if reason is Reason.LOCAL_DELIVERY and side.router.policy.answers:
        if not put_together(side, walk):
            return
        answer = host_answer(walk.packet, walk.time_ns // 1_000_000 % DAY_MS)
        if isinstance(answer, bytes):
            reply(side, walk, answer)
            return
        error = answer
    if error is not None:
        send_error(side, walk, error)


def put_together(side: Side4, walk: Walk4) -> bool:
    """Say whether a packet for the router is whole; the fragment that completes a packet becomes this packet."""
    if not (walk.header.flags & MF or walk.header.fragment_offset):
        return True
    reassembled = side.reassembly.add(walk.packet, walk.options, walk.time_ns)
    if reassembled is None:
        return False
    walk.packet, walk.options = reassembled
    return True


def reply(side: Side4, walk: Walk4, body: bytes) -> None:
    """Send an ICMP reply from the request's destination, a source route reversed (RFC 1122 section 3.2.2.6)."""
    packet = walk.packet
    if silence(packet, side.links, side.martians, link_broadcast=walk.link_broadcast) in UNFIT:
        return
    target, return_options = reversed_source_route(packet, walk.options)
    hop = side.route(target, packet)
    if hop is None or hop.kind != UNICAST or not side.reaches(hop.port, hop.via or target):
        return
    if not side.may_tell(walk.time_ns):
        return
    header = walk.header
    message = write_packet(header.destination, target, body, options=return_options, tos=header.tos, protocol=ICMP)
    for piece in fragment(message, side.room(hop)).packets:
        walk.sent.append(Sent(hop.port, side.framed(hop, hop.via or target, piece), icmp=True))


def send_error(side: Side4, walk: Walk4, error: IcmpError) -> None:
    """Send an ICMP error about the packet as received, by the route to its source."""
    packet = walk.packet
    if silence(packet, side.links, side.martians, link_broadcast=walk.link_broadcast):
        return
    draft = icmp_error(error, packet, 0)
    target = int.from_bytes(draft[16:20], "big")
    hop = side.route(target, packet)
    if hop is None or hop.kind != UNICAST or not side.reaches(hop.port, hop.via or target):
        return
    if not side.may_tell(walk.time_ns):
        return
    message = icmp_error(error, packet, side.source_by(hop))
    for piece in fragment(message, side.room(hop)).packets:
        walk.sent.append(Sent(hop.port, side.framed(hop, hop.via or target, piece), icmp=True))


R = Reason
LINK = Stage("link", "RFC 1812 section 3", ("frame", "port"), (R.NOT_IPV4, R.OTHER_STATION), link)
VALID = Stage(
    "header", "RFC 1812 section 5.2.2", ("packet",),
    (R.TOO_SHORT, R.BAD_VERSION, R.BAD_HEADER_LENGTH, R.HEADER_CUT, R.BAD_TOTAL_LENGTH, R.TRUNCATED, R.BAD_CHECKSUM),
    valid,
)  # fmt: skip
RFC1812: Rules4 = Rules(
    (
        LINK,
        VALID,
        Stage(
            "martians", "RFC 1812 section 5.3.7", ("source", "destination"),
            (R.MARTIAN_SOURCE, R.MARTIAN_DESTINATION), martians,
        ),
        Stage("reverse path", "RFC 1812 section 5.3.8", ("source", "port"), (R.REVERSE_PATH,), reverse_path),
        Stage("options", "RFC 1812 section 5.3.13", ("options",), (R.BAD_OPTION,), options),
        Stage(
            "delivery", "RFC 1812 section 5.2.3", ("destination", "options", "link_broadcast"),
            (
                R.MULTICAST, R.LIMITED_BROADCAST, R.DIRECTED_BROADCAST, R.NETWORK_ZERO, R.LINK_BROADCAST,
                R.LOCAL_DELIVERY, R.BAD_OPTION, R.SOURCE_ROUTE_FAILED,
            ),
            deliver,
        ),
        Stage(
            "lookup", "RFC 1812 section 5.2.4", ("target", "options"),
            (R.NO_ROUTE, R.BLACKHOLE, R.UNREACHABLE, R.PROHIBITED, R.SOURCE_ROUTE_FAILED), look_up,
        ),
        Stage("time to live", "RFC 1812 section 5.3.1", ("ttl", "checksum"), (R.TTL_EXPIRED,), time_to_live),
        Stage("write options", "RFC 1812 section 5.3.13", ("options", "hop"), (), write_options),
        Stage(
            "fragment", "RFC 1812 section 4.2.2.7", ("total_length", "flags", "hop"),
            (R.FRAGMENTATION_NEEDED, R.MTU_TOO_SMALL), fit,
        ),
        Stage("neighbour", "RFC 1812 section 5.2.1.2", ("hop",), (R.NO_NEIGHBOUR,), neighbour),
    ),
    tell,
)  # fmt: skip
