"""When a router tells a sender of IPv6 of a better first hop, and the message (RFC 4861 sections 4.5 and 8.2).

The packet leaves by the port it came from, and its source is a neighbour there. The better hop is the destination where
that is on the link, else the next router, but that only by its link-local address: a host takes no other (section 8.1).
So a next hop that is configured by a global address is never told, nor is one below labels, which the host could not
push. Multicast destinations, packets that the link broadcast and those for the router itself have left before.
"""

from npexplore.golden.ipv6.header import ICMP6, SMALLEST_MTU, read_header, write_packet
from npexplore.golden.ipv6.icmp import REDIRECT, checksum
from npexplore.golden.ipv6.scope import Kind, address_kind
from npexplore.golden.router.ports import Port6
from npexplore.golden.router.routes import Hop

HOP_LIMIT = 255  # so that a host knows that it comes from its own link (section 8.1)
TARGET_MAC, REDIRECTED = 2, 4  # options (section 4.6)
FIXED = 40 + 40 + 8  # bytes of the IPv6 header, of the message in front of its options, of the target's MAC address


def redirect_target(in_port: int, link: Port6 | None, hop: Hop, source: int, destination: int) -> int | None:
    """Return the better first hop of which a redirect informs the sender, None where no redirect is sent.

    link: the IPv6 side of the port that the packet came by; hop: its route.
    """
    if link is None or hop.port != in_port or hop.stack:
        return None
    if address_kind(source) is not Kind.LINK_LOCAL and not link.on_link(source):
        return None
    target = hop.via or destination
    return target if target == destination or address_kind(target) is Kind.LINK_LOCAL else None


def redirect(packet: bytes, source: int, target: int, mac: bytes) -> bytes:
    """Return the message to the sender of a packet. source: the router's link-local address; mac: the target's, empty
    where that is not known.

    It quotes the packet as it came, by whole words of 8 bytes, as far as 1,280 bytes go (section 4.6.3).
    """
    header = read_header(packet)
    quoted = packet[: min(SMALLEST_MTU - FIXED - (8 if mac else 0), len(packet)) // 8 * 8]
    body = bytes([REDIRECT, 0, 0, 0, 0, 0, 0, 0]) + target.to_bytes(16, "big") + header.destination.to_bytes(16, "big")
    body += (
        (bytes([TARGET_MAC, 1]) + mac if mac else b"") + bytes([REDIRECTED, 1 + len(quoted) // 8]) + bytes(6) + quoted
    )
    body = body[:2] + checksum(source, header.source, body).to_bytes(2, "big") + body[4:]
    return write_packet(source, header.source, body, next_header=ICMP6, hop_limit=HOP_LIMIT)
