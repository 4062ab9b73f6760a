"""ICMPv6 messages of the Linux kernel: when they are sent, their source addresses, their routes.

The source of an error is an address of the packet's incoming interface, selected by RFC 6724 section 5. A redirect is
sent by the route to its receiver. As recorded in tests/oracle.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_ipv6 as kernels
from npexplore.golden.columns import Packets
from npexplore.golden.ipv6.addresses import MAX_ADDRESS
from npexplore.golden.ipv6.extensions import AUTHENTICATION, DESTINATION_OPTIONS, FRAGMENT, HOP_BY_HOP, ROUTING
from npexplore.golden.ipv6.header import ICMP6, SHORTEST, read_header
from npexplore.golden.ipv6.icmp import INFORMATIONAL, PACKET_TOO_BIG, PARAMETER_PROBLEM, IcmpError, icmp_error
from npexplore.golden.ipv6.redirect import redirect
from npexplore.golden.ipv6.scope import Kind, address_kind
from npexplore.golden.ipv6.stages import send_reply
from npexplore.golden.linux.peer_limit import may_tell6
from npexplore.golden.reasons import Reason
from npexplore.golden.router.flow_hash import Flow, chosen_fields
from npexplore.golden.router.routes import Hop
from npexplore.golden.router.sides import UNICAST, Side6
from npexplore.golden.router.walk import Sent, Walk6

SKIPPED = frozenset({HOP_BY_HOP, ROUTING, FRAGMENT, AUTHENTICATION, DESTINATION_OPTIONS})
# RFC 6724 section 2.1, and rows that the kernel adds: prefix, length, label; the longest match wins
LABELS = (
    (0x1, 128, 0), (0xFFFF << 32, 96, 4), (0, 96, 3), (0x2001_0010 << 96, 28, 7), (0x2001 << 112, 32, 6),
    (0x2002 << 112, 16, 2), (0x3FFE << 112, 16, 12), (0xFEC0 << 112, 10, 11), (0xFC00 << 112, 7, 5), (0, 0, 1),
)  # fmt: skip
LINK_SCOPE, SITE_SCOPE, GLOBAL_SCOPE = 2, 5, 14


def _scope(address: int) -> int:
    if address >> 120 == 0xFF:
        return address >> 112 & 15
    if address == 1 or address_kind(address) is Kind.LINK_LOCAL:
        return LINK_SCOPE
    return SITE_SCOPE if address >> 118 == 0xFEC0 >> 6 else GLOBAL_SCOPE


def _label(address: int) -> int:
    return next(label for prefix, length, label in LABELS if (address ^ prefix) >> 128 - length == 0)


def source_for(side: Side6, port: int, target: int) -> int:
    """Return the source address of a message to a target about a packet with this incoming port.

    0: there is none, as for a link-local target on a port without IPv6.
    """
    target_scope, label = _scope(target), _label(target)
    is_link_scope = target_scope <= LINK_SCOPE
    candidates: list[tuple[tuple[int, ...], int]] = []
    for number, link in enumerate(side.ports):
        if link is None or (is_link_scope and number != port):
            continue
        for address, length in (*reversed(link.subnets), (link.link_local, 64)):
            scope = _scope(address)
            scope_rank = -scope if scope >= target_scope else scope - 128
            common_bits = min(128 - ((address ^ target) & MAX_ADDRESS).bit_length(), length)
            rank = (address == target, scope_rank, number == port, _label(address) == label, common_bits)
            candidates.append((rank, address))
    return max(candidates, key=lambda candidate: candidate[0], default=((), 0))[1]  # of equal candidates the first


def about_error(packet: bytes) -> bool:
    """Say whether the kernel finds an ICMPv6 error in a packet; it does not parse beyond mobility headers."""
    kind, at = read_header(packet).next_header, SHORTEST
    fragment = False
    while kind in SKIPPED:
        if at + 2 > len(packet):
            return False
        size = 8 * packet[at + 1] + 8
        if kind == FRAGMENT:
            if at + 4 > len(packet):
                return False
            offset_word = packet[at + 2] << 8 | packet[at + 3]
            if offset_word >> 3:
                return False
            size, fragment = 8, offset_word != 0
        elif kind == AUTHENTICATION:
            size = 4 * packet[at + 1] + 8
        kind, at = packet[at], at + size
    if kind != ICMP6:
        return False
    return packet[at] < INFORMATIONAL if at < len(packet) else not fragment


def about_errors(packets: Packets) -> NDArray[np.bool_]:
    """Return for many packets whether the kernel finds an ICMPv6 error in them."""
    out = np.empty(len(packets), np.bool_)
    kernels.about_errors(packets.buffer, packets.offset, packets.length, out)
    return out


def told_reason(reason: Reason) -> Reason:
    """Return the reason in the kernel's error: for `unreachable` routes it is that of a missing route."""
    return Reason.NO_ROUTE6 if reason is Reason.UNREACHABLE6 else reason


def send_error(side: Side6, walk: Walk6, error: IcmpError) -> None:
    """Send an ICMPv6 error about a packet, if the kernel sends one."""
    header = walk.header
    source, destination = header.source, header.destination
    to_multicast = address_kind(destination) is Kind.MULTICAST
    if to_multicast or walk.link_broadcast:
        unknown_option = (error.type, error.code) == (PARAMETER_PROBLEM, 2) and walk.packet[error.rest] >> 6 == 2
        if error.type != PACKET_TOO_BIG and not unknown_option:
            return
    kind = address_kind(source)
    if kind in (Kind.UNSPECIFIED, Kind.MULTICAST) or about_error(walk.packet) or is_own(side, walk.port, source):
        return
    hop = way_to(side, walk.port, source, walk.packet)
    if hop is None or hop.kind != UNICAST or (not hop.via and side.begins_network(source)):
        return
    uses_destination = is_own(side, walk.port, destination) and not (to_multicast or walk.link_broadcast)
    sender = destination if uses_destination else source_for(side, walk.port, source)
    if not sender or not side.may_tell(walk.time_ns) or not may_tell6(side, source, error, walk.time_ns):
        return
    message = icmp_error(error, walk.packet, sender)
    walk.sent.append(Sent(hop.port, side.framed(hop, hop.via or source, message), icmp=True))


def is_own(side: Side6, port: int, address: int) -> bool:
    """Say whether an address is the router's; a link-local address only on its link."""
    if address_kind(address) is not Kind.LINK_LOCAL:
        return address in side.own
    link = side.ports[port]
    return link is not None and address in (link.link_local, link.link_local & ~((1 << 64) - 1))


def way_to(side: Side6, port: int, address: int, about: bytes | Flow) -> Hop | None:
    """Return the target of an address; a link-local address is routed by the packet's incoming port.

    about: the packet or flow that chooses one of several next hops.
    """
    if address_kind(address) is Kind.LINK_LOCAL:
        return side.route_by(port, address, about)
    return side.route(address, about)


def send_redirect(side: Side6, walk: Walk6) -> None:
    """Send a redirect to the sender of a packet that leaves by its incoming port, if the kernel sends one."""
    assert walk.hop is not None
    header, link = walk.header, side.ports[walk.port]
    target, source = walk.next_hop, header.source
    if target != header.destination and address_kind(target) is not Kind.LINK_LOCAL:
        return
    if (
        address_kind(source) is Kind.UNSPECIFIED
    ):  # never a destination (RFC 4291 section 2.5.2), and without a neighbour entry
        return
    hop = way_to(side, walk.port, source, walk.packet)
    if link is None or hop is None or hop.kind != UNICAST or hop.via or is_own(side, walk.port, source):
        return
    if side.may_tell(walk.time_ns):
        message = redirect(walk.packet, link.link_local, target, side.known_mac(walk.port, target))
        walk.sent.append(Sent(hop.port, side.framed(hop, source, message), icmp=True))


def reply(side: Side6, walk: Walk6, body: bytes) -> None:
    """Send a reply to a request's source, from the request's destination; for anycast from another address."""
    header = walk.header
    source, destination = header.source, header.destination
    if address_kind(source) in (Kind.UNSPECIFIED, Kind.MULTICAST) or is_own(side, walk.port, source):
        return
    flow = chosen_fields(Flow(128, destination, source, ICMP6, 0, 0, body[0] << 8), side.router.linux)
    hop = way_to(side, walk.port, source, flow)
    if hop is None or hop.kind != UNICAST or not side.may_tell(walk.time_ns):
        return
    links = [link for link in side.ports if link]
    is_unicast = any(destination in (*(sender for sender, _ in link.subnets), link.link_local) for link in links)
    sender = destination if is_unicast else source_for(side, hop.port, source)
    if sender:
        send_reply(side, walk, hop, sender, body)
