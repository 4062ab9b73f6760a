"""The Linux kernel's IPv6 forwarding where it differs from the RFCs, as recorded in tests/oracle.

Hop-by-hop options are the only extension header that it reads. Its error about an `unreachable` route is that of a
missing route. It sends packets to a link-local address back onto their link. It forwards packets from the unspecified
address if they leave by their incoming port.
"""

from __future__ import annotations

from dataclasses import replace

from npexplore.golden.ipv6.extensions import HOP_BY_HOP
from npexplore.golden.ipv6.header import SHORTEST
from npexplore.golden.ipv6.hop_options import HopOptions
from npexplore.golden.ipv6.host import Carried, carried_by
from npexplore.golden.ipv6.icmp import UNREACHABLE
from npexplore.golden.ipv6.scope import Kind, address_kind
from npexplore.golden.ipv6.stages import (
    AFTER,
    BEFORE,
    CHAIN,
    MARTIANS,
    RFC8200,
    error_or_reply,
    fit,
    look_up,
    take_options,
    valid,
)
from npexplore.golden.linux.hop_options6 import read_hop_options
from npexplore.golden.linux.messages6 import is_own, reply, send_error, send_redirect, told_reason
from npexplore.golden.reasons import Reason
from npexplore.golden.router.rules import Stage
from npexplore.golden.router.sides import Side6
from npexplore.golden.router.walk import Walk6

R = Reason
INTERFACE_SCOPE = 1


def whole(side: Side6, walk: Walk6) -> Reason:
    """Check the header; keep the bytes behind the payload if the packet may be a jumbogram."""
    frame = walk.packet
    reason = valid(side, walk)
    if not reason and walk.header.next_header == HOP_BY_HOP and not walk.header.payload_length:
        walk.packet = frame
    return reason


def martians(side: Side6, walk: Walk6) -> Reason:
    """Drop packets with an invalid address; the unspecified address passes this stage."""
    source, destination = walk.header.source, walk.header.destination
    if address_kind(source) in (Kind.LOOPBACK, Kind.MULTICAST):
        return R.MARTIAN_SOURCE6
    interface_multicast = destination >> 120 == 0xFF and (destination >> 112 & 15) <= INTERFACE_SCOPE
    return R.MARTIAN_DESTINATION6 if address_kind(destination) is Kind.LOOPBACK or interface_multicast else R.NONE


def first_header(side: Side6, walk: Walk6) -> Reason:
    """Check that the hop-by-hop options are complete; read no other extension header."""
    if walk.header.next_header != HOP_BY_HOP:
        return R.NONE
    size = len(walk.packet)
    return R.NONE if size >= SHORTEST + 8 and size >= SHORTEST + 8 * walk.packet[SHORTEST + 1] + 8 else R.EXTENSION_CUT


def options(side: Side6, walk: Walk6) -> Reason:
    """Check the hop-by-hop options."""
    present = walk.header.next_header == HOP_BY_HOP
    return take_options(walk, read_hop_options(walk.packet) if present else HopOptions())


def deliver(side: Side6, walk: Walk6) -> Reason:
    """Stop packets for the router itself and multicasts."""
    destination = walk.header.destination
    if address_kind(destination) is Kind.MULTICAST:
        return R.MULTICAST6
    return R.LOCAL_DELIVERY if is_own(side, walk.port, destination) else R.NONE


def route(side: Side6, walk: Walk6) -> Reason:
    """Find the route of the destination; a link-local one only on its link."""
    if address_kind(walk.header.destination) is Kind.LINK_LOCAL:
        walk.target = walk.header.destination
        walk.hop = side.route_by(walk.port, walk.target, walk.packet)
        refused = side.refusal(walk.hop)
    else:
        refused = look_up(side, walk)
    return refused or (R.LINK_BROADCAST if walk.link_broadcast else R.NONE)


def scope(side: Side6, walk: Walk6) -> Reason:
    """Send a redirect if a packet leaves by its incoming port; else drop packets whose source would leave its scope."""
    assert walk.hop is not None
    if walk.hop.port == walk.port:
        send_redirect(side, walk)
        return R.NONE
    kind = address_kind(walk.header.source)
    if kind is Kind.UNSPECIFIED:
        return R.MARTIAN_SOURCE6
    return R.BEYOND_SCOPE if kind is Kind.LINK_LOCAL else R.NONE


def tell(side: Side6, walk: Walk6, reason: Reason) -> None:
    """Send the error that a reason calls for, if the kernel sends one."""
    error = error_or_reply(side, walk, told_reason(reason), reply, linux=True)
    if error is None or not walk.tell:
        return
    if reason is R.LOCAL_DELIVERY and error.type == UNREACHABLE:  # the kernel has removed data behind a UDP datagram
        message = carried_by(walk.packet, linux=True)
        at = message.at if isinstance(message, Carried) else SHORTEST
        walk.packet = walk.packet[: at + int.from_bytes(walk.packet[at + 4 : at + 6], "big")]
    send_error(side, walk, error)


OPTIONS, DELIVERY, LOOKUP, HOP_LIMIT, SCOPE, SIZE, _ = AFTER
LINUX6 = replace(
    RFC8200,
    stages=(
        BEFORE[0],
        replace(BEFORE[1], run=whole),
        replace(MARTIANS, run=martians),
        replace(CHAIN, exits=(R.EXTENSION_CUT,), run=first_header),
        replace(OPTIONS, exits=(*OPTIONS.exits, R.JUMBO_WRONG, R.JUMBOGRAM), run=options),
        replace(DELIVERY, exits=(R.MULTICAST6, R.LOCAL_DELIVERY), run=deliver),
        replace(LOOKUP, exits=(*LOOKUP.exits, R.LINK_BROADCAST), run=route),
        HOP_LIMIT,
        Stage("scope", SCOPE.clause, SCOPE.reads, (R.BEYOND_SCOPE, R.MARTIAN_SOURCE6), scope),
        replace(SIZE, run=fit),
    ),
    tell=tell,
    any_sender=True,
    whole_chain=False,
    as_sent=True,
)
