"""Decides when a router sends an IPv6 redirect, and writes the message (RFC 4861 sections 4.5 and 8.2).

The packet must leave by its incoming port, and its source must be a neighbour there. The better hop is the destination
if it is on the link, else the next router by its link-local address, because a host accepts no other (section 8.1). So
there is no redirect to a next hop with a global address, nor for a labelled route, as hosts do not push labels. Earlier
stages have dropped multicasts, link-layer broadcasts and packets for the router itself.
"""

from npexplore.golden.ipv6.header import ICMP6, SMALLEST_MTU, read_header, write_packet
from npexplore.golden.ipv6.icmp import REDIRECT, checksum
from npexplore.golden.ipv6.scope import Kind, address_kind
from npexplore.golden.router.ports import Port6
from npexplore.golden.router.routes import Hop

HOP_LIMIT = 255  # proves to a host that the message comes from its link (section 8.1)
TARGET_MAC, REDIRECTED = 2, 4  # options (section 4.6)
FIXED = 40 + 40 + 8  # bytes of IPv6 header, message without options, redirected-header option


def redirect_target(in_port: int, link: Port6 | None, hop: Hop, source: int, destination: int) -> int | None:
    """Return the better first hop in a redirect to the sender, None if no redirect is sent.

    link: the IPv6 part of the incoming port; hop: the packet's route.
    """
    if link is None or hop.port != in_port or hop.stack:
        return None
    if address_kind(source) is not Kind.LINK_LOCAL and not link.on_link(source):
        return None
    target = hop.via or destination
    return target if target == destination or address_kind(target) is Kind.LINK_LOCAL else None


def redirect(packet: bytes, source: int, target: int, mac: bytes) -> bytes:
    """Return the redirect to the sender of a packet. source: the router's link-local address; mac: the target's, empty
    if unknown.

    It quotes the packet as received, in whole 8-byte words, up to a total of 1,280 bytes (section 4.6.3).
    """
    header = read_header(packet)
    quoted = packet[: min(SMALLEST_MTU - FIXED - (8 if mac else 0), len(packet)) // 8 * 8]
    body = bytes([REDIRECT, 0, 0, 0, 0, 0, 0, 0]) + target.to_bytes(16, "big") + header.destination.to_bytes(16, "big")
    body += (
        (bytes([TARGET_MAC, 1]) + mac if mac else b"") + bytes([REDIRECTED, 1 + len(quoted) // 8]) + bytes(6) + quoted
    )
    body = body[:2] + checksum(source, header.source, body).to_bytes(2, "big") + body[4:]
    return write_packet(source, header.source, body, next_header=ICMP6, hop_limit=HOP_LIMIT)
