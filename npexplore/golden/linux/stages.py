"""The stages of the Linux kernel's IPv4 forwarding, byte for byte as recorded in tests/oracle.

Differences from RFC 1812 include: the route is looked up before the options are read, errors echo the options, and
broadcast sources pass. docs/golden_reference.md has a table of all differences, with their cases.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise

from npexplore.golden.checksum import internet_checksum
from npexplore.golden.ipv4.addresses import MAX_ADDRESS
from npexplore.golden.ipv4.delivery import Destination
from npexplore.golden.ipv4.fragment import fragment
from npexplore.golden.ipv4.header import DF, MF, with_checksum, write_packet
from npexplore.golden.ipv4.host import UDP, host_answer
from npexplore.golden.ipv4.icmp import ICMP, INTERNETWORK_CONTROL, LONGEST, IcmpError, error_for, redirect_to
from npexplore.golden.ipv4.martians import martian
from npexplore.golden.ipv4.ttl import decrement_ttl
from npexplore.golden.linux.options import (
    KernelOptions,
    compile_options,
    echo_options,
    finish_options,
    reply_destination,
    without_uncopied,
)
from npexplore.golden.linux.peer_limit import may_tell4, may_tell_unrouted
from npexplore.golden.linux.routes import MULTICAST, attached, believed, not_a_host, reply_route, row_of, source_from
from npexplore.golden.reasons import Reason
from npexplore.golden.router.flow_hash import Flow, chosen_fields
from npexplore.golden.router.routes import Hop
from npexplore.golden.router.rules import Rules, Rules4, Stage
from npexplore.golden.router.sides import UNICAST, Side4
from npexplore.golden.router.stages import LINK, VALID, put_together
from npexplore.golden.router.walk import Sent, Walk, Walk4

R = Reason
QUIET_ICMP = frozenset({1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12})  # types about which the kernel sends no error
LAST_ICMP = 18
FULL_HEADER = 20
LAST_PLACE = 0x1FFF
HERE, AWAY, DIRECTED = Destination.LOCAL, Destination.ELSEWHERE, Destination.DIRECTED_BROADCAST


def route_input(side: Side4, walk: Walk4, source: int, target: int) -> tuple[Reason, Destination, Hop | None]:
    """Return the kernel's input routing: the reason for a silent drop, or the kind of destination and its route."""
    if target >> 28 == MULTICAST:
        return R.MULTICAST, Destination.MULTICAST, None
    if target == MAX_ADDRESS or source == target == 0:
        return R.LIMITED_BROADCAST, Destination.LIMITED_BROADCAST, None
    reason = martian(source, target, side.martians)
    if reason:
        return reason, AWAY, None
    if target in side.own or side.links.is_broadcast(target):
        kind = HERE if target in side.own else DIRECTED
        from_network_zero = kind is DIRECTED and source >> 24 == 0
        return (R.NONE if from_network_zero else believed(side, source, walk.port, None)), kind, None
    hop = side.route(target, walk.packet or None)  # an ARP request has no flow
    if hop is not None and hop.kind == UNICAST:
        return believed(side, source, walk.port, hop.port), AWAY, hop
    return R.NONE, AWAY, hop


def look_up(side: Side4, walk: Walk4) -> Reason:
    """Route the destination; the error about a missing route follows after the options."""
    header = walk.header
    walk.target = header.destination
    reason, walk.kind, walk.hop = route_input(side, walk, header.source, header.destination)
    return reason


def options(side: Side4, walk: Walk4) -> Reason:
    """Check the options on arrival; follow a source route."""
    walk.options = KernelOptions()
    length = walk.header.header_length
    if length == FULL_HEADER:
        return R.NONE
    header = bytearray(walk.packet[:length])
    stamps = partial(not_a_host, side)
    walk.options = compile_options(header, _address_towards(side, walk), stamps, _milliseconds(walk))
    walk.packet = bytes(header) + walk.packet[length:]
    if walk.options.pointer is not None:
        walk.pointer = walk.options.pointer
        return R.BAD_OPTION
    if not walk.options.route:
        return R.NONE
    return _source_route(side, walk) if side.router.linux.accept_source_route else R.SOURCE_ROUTE_REFUSED


def _address_towards(side: Side4, walk: Walk4) -> int:
    """Return the address recorded on arrival: the destination if it is the router's, else that towards the source."""
    if walk.kind is HERE:
        return walk.header.destination
    source = walk.header.source
    row = row_of(side, source)
    if row is not None:
        return side.links.address[row]
    return_hop = side.route(source) if source else None
    routed = return_hop is not None and return_hop.kind == UNICAST
    return side.source_by(return_hop) if return_hop is not None and routed else source_from(side, walk.port, source)


def _milliseconds(walk: Walk4) -> int:
    return walk.time_ns // 1_000_000 % 86_400_000


def _source_route(side: Side4, walk: Walk4) -> Reason:
    """Follow a source route to its next address that is not the router's; return the reason for a fault."""
    if walk.link_broadcast:
        return R.LINK_BROADCAST
    if walk.kind is not HERE:
        routed = walk.kind is AWAY and walk.hop is not None and walk.hop.kind == UNICAST
        if routed and walk.options.strict:
            walk.pointer = 16  # offset of the destination, which must be the route's next router
            return R.BAD_OPTION
        return R.NONE if routed else R.SOURCE_ROUTE_LOST
    at = walk.options.route
    size, pointer = walk.packet[at + 1], walk.packet[at + 2]
    while pointer <= size:
        if pointer + 3 > size:
            walk.pointer = at + 2
            return R.BAD_OPTION
        stop = int.from_bytes(walk.packet[at + pointer - 1 : at + pointer + 3], "big")
        reason, kind, hop = route_input(side, walk, walk.header.source, stop)
        if reason or kind is DIRECTED or (kind is AWAY and (hop is None or hop.kind != UNICAST)):
            return R.SOURCE_ROUTE_LOST
        if kind is not HERE:
            walk.kind, walk.hop, walk.target, walk.options.hit = kind, hop, stop, stop
            return R.NONE
        walk.packet = walk.packet[:16] + stop.to_bytes(4, "big") + walk.packet[20:]
        pointer += 4
    return R.NONE


def deliver(side: Side4, walk: Walk4) -> Reason:
    """Stop packets that are for the router itself, have no route, or were received as link-layer broadcasts."""
    if walk.kind is HERE:
        return R.LOCAL_DELIVERY
    if walk.kind is DIRECTED:
        return R.DIRECTED_BROADCAST
    return side.refusal(walk.hop) or (R.LINK_BROADCAST if walk.link_broadcast else R.NONE)


def time_to_live(side: Side4, walk: Walk4) -> Reason:
    """Check the time to live; `fit` decrements it after all other checks."""
    return R.TTL_EXPIRED if walk.header.ttl <= 1 else R.NONE


def strict_route(side: Side4, walk: Walk4) -> Reason:
    """Drop a packet with a strict source route whose next hop is a gateway."""
    assert walk.hop is not None
    return R.SOURCE_ROUTE_FAILED if walk.options.strict and walk.hop.via else R.NONE


def fit(side: Side4, walk: Walk4) -> Reason:
    """Drop a too long packet with DF; else decrement the TTL, send redirects, complete the options, fragment."""
    assert walk.hop is not None
    header, room = walk.header, side.room(walk.hop)
    if header.total_length > room and header.flags & DF:
        walk.mtu = room
        return R.FRAGMENTATION_NEEDED
    _, walk.packet = decrement_ttl(walk.packet)
    may_redirect = walk.hop.port == walk.port and side.router.linux.send_redirects
    if may_redirect and not walk.options.route and attached(side, walk.port, header.source):
        send_error(side, walk, redirect_to(walk.next_hop))
    head = bytearray(walk.packet[: header.header_length])
    if len(head) > FULL_HEADER:
        finish_options(head, walk.options, _address_by(side, walk))
    packet = with_checksum(bytes(head) + walk.packet[len(head) :])
    walk.out = cut(packet, room)
    return R.NONE if walk.out else R.MTU_TOO_SMALL


def _address_by(side: Side4, walk: Walk4) -> int:
    """Return the address recorded on departure; of several next hops on the port the first determines it."""
    assert walk.hop is not None
    return side.source_by(side.route_by(walk.hop.port, walk.target) or walk.hop)


def cut(packet: bytes, mtu: int) -> tuple[bytes, ...]:
    """Return a packet in fragments; those of a non-first fragment keep all options; the reserved flag is cleared.

    Empty for a link below the smallest MTU. An offset above 13 bits, possible only for an inconsistent fragment,
    overflows into More Fragments.
    """
    if len(packet) <= mtu:
        return (packet,)
    head = bytearray(packet[: 4 * (packet[0] & 15)])
    head[6] &= (DF | MF) << 5 | 31
    is_first = not (head[6] & 31 or head[7])
    pieces = fragment(with_checksum(bytes(head) + packet[len(head) :]), mtu, keep_header_length=True).packets
    if not pieces:
        return ()
    options = without_uncopied(head) if is_first else bytes(head[20:])
    out, offset = [pieces[0]], (head[6] & 31) << 8 | head[7]
    for previous, piece in pairwise(pieces):
        offset += (len(previous) - len(head)) // 8
        carry = MF << 5 if offset > LAST_PLACE else 0
        out.append(with_checksum(piece[:6] + bytes([piece[6] | carry]) + piece[7:20] + options + piece[len(head) :]))
    return tuple(out)


def tell(side: Side4, walk: Walk4, reason: Reason) -> None:
    """Send the ICMP error that a reason calls for, if the kernel sends one."""
    error = error_for(reason, mtu=walk.mtu, pointer=walk.pointer)
    if reason is R.LOCAL_DELIVERY and side.router.policy.answers:
        if not put_together(side, walk):
            return
        answer = host_answer(walk.packet, _milliseconds(walk))
        if isinstance(answer, bytes):
            reply(side, walk, answer)
            return
        error = answer
        if walk.header.protocol == UDP:  # the kernel has removed data behind the datagram when it finds no port
            at = walk.header.header_length
            walk.packet = walk.packet[: at + int.from_bytes(walk.packet[at + 4 : at + 6], "big")]
    if error is not None and may_tell_unrouted(side, walk.header.source, reason, walk.time_ns):
        send_error(side, walk, error)


def reply(side: Side4, walk: Walk4, body: bytes) -> None:
    """Send an ICMP reply to a packet for the router, with its options echoed, fragmented to the link's MTU."""
    kernel_options: KernelOptions = walk.options or KernelOptions()
    target, _ = reply_destination(walk.packet, kernel_options)
    source = walk.header.destination
    flow = chosen_fields(Flow(32, source, target, ICMP), side.router.linux)
    hop, mac = reply_route(side, target, source, flow)
    options = echo_options(walk.packet, kernel_options, partial(not_a_host, side), source, _milliseconds(walk))
    if hop is None or options is None or not side.may_tell(walk.time_ns):
        return
    if not may_tell4(side, target, body[0], 0, walk.time_ns):
        return
    if not any(body[:2] + body[4:]):
        body = bytes(len(body))  # of the two zeros in one's complement the kernel writes 0x0000
    ttl = own_ttl(target)
    message = write_packet(source, target, body, options=options, tos=walk.header.tos, ttl=ttl, protocol=ICMP)
    for piece in cut(message, side.room(hop)):
        walk.sent.append(Sent(hop.port, side.framed(hop, hop.via or target, piece, mac), icmp=True))


def own_ttl(target: int) -> int:
    """Return the TTL of a message that the router generates: 1 for a multicast target (or first hop), else 64."""
    return 1 if target >> 28 == MULTICAST else 64


def silent(side: Side4, walk: Walk4) -> bool:
    """Say whether the kernel sends no error about this packet."""
    header = walk.header
    if walk.link_broadcast or walk.kind not in (HERE, AWAY) or header.fragment_offset:
        return True
    if header.protocol != ICMP:
        return False
    kind = walk.packet[header.header_length : header.header_length + 1]
    return not kind or kind[0] > LAST_ICMP or kind[0] in QUIET_ICMP


def send_error(side: Side4, walk: Walk4, error: IcmpError) -> None:
    """Send an ICMP error about the packet in its present state, with its options echoed."""
    if silent(side, walk):
        return
    kernel_options: KernelOptions = walk.options or KernelOptions()
    target, _ = reply_destination(walk.packet, kernel_options)
    to_router = walk.kind is HERE and walk.options is not None and walk.options.hit is None
    source = walk.header.destination if to_router else None
    if not to_router and side.router.linux.icmp_errors_use_inbound_ifaddr:
        source = source_from(side, walk.port, walk.header.source)
    hop, mac = reply_route(side, target, source, walk.packet)
    if hop is None or not side.may_tell(walk.time_ns):
        return
    if not may_tell4(side, target, error.type, error.code, walk.time_ns):
        return
    source = side.source_by(hop) if source is None else source
    options = echo_options(walk.packet, kernel_options, partial(not_a_host, side), source, _milliseconds(walk))
    if options is None:
        return
    room = min(side.room(hop), LONGEST) - FULL_HEADER - len(options) - 8
    if room <= FULL_HEADER:
        return
    body = bytes([error.type, error.code, 0, 0]) + error.rest.to_bytes(4, "big") + walk.packet[:room]
    body = body[:2] + internet_checksum(body).to_bytes(2, "big") + body[4:]
    message = write_packet(
        source, target, body, options=options, tos=walk.header.tos & 0x1E | INTERNETWORK_CONTROL,
        ttl=own_ttl(target), protocol=ICMP,
    )  # fmt: skip
    walk.sent.append(Sent(hop.port, side.framed(hop, hop.via or target, message, mac), icmp=True))


def answers(side: Side4, port: int, sender: int, target: int) -> bool:
    """Say whether the kernel answers an ARP request: for all of its addresses, on any port."""
    reason, kind, _ = route_input(side, Walk(port, b"", 0, side.read), sender, target)
    return not reason and kind is HERE


LINUX: Rules4 = Rules(
    (
        LINK,
        VALID,
        Stage(
            "lookup", "RFC 1812 section 5.2.4", ("source", "destination", "port"),
            (R.MULTICAST, R.LIMITED_BROADCAST, R.MARTIAN_SOURCE, R.MARTIAN_DESTINATION, R.REVERSE_PATH), look_up,
        ),
        Stage(
            "options", "RFC 1812 section 5.3.13", ("options", "kind", "hop"),
            (R.BAD_OPTION, R.LINK_BROADCAST, R.SOURCE_ROUTE_LOST, R.SOURCE_ROUTE_REFUSED), options,
        ),
        Stage(
            "delivery", "RFC 1812 section 5.2.3", ("kind", "hop", "link_broadcast"),
            (
                R.LOCAL_DELIVERY, R.DIRECTED_BROADCAST, R.NO_ROUTE, R.BLACKHOLE, R.UNREACHABLE, R.PROHIBITED,
                R.LINK_BROADCAST,
            ),
            deliver,
        ),
        Stage("time to live", "RFC 1812 section 5.3.1", ("ttl",), (R.TTL_EXPIRED,), time_to_live),
        Stage("strict route", "RFC 1812 section 5.3.13.4", ("options", "hop"), (R.SOURCE_ROUTE_FAILED,), strict_route),
        Stage(
            "fragment", "RFC 1812 section 4.2.2.7", ("packet", "hop"), (R.FRAGMENTATION_NEEDED, R.MTU_TOO_SMALL), fit,
        ),
    ),
    tell, martians="linux", many_first=True, any_sender=True, answers=answers, as_sent=True,
)  # fmt: skip
