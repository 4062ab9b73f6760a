"""Fixed frames that each try one rule of IPv6 or of label stacks: RFC 8200, 4443, 4291, 3032 and 3443."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from npexplore.golden.ethernet import ETHERNET, IPV6_TYPE, MPLS_TYPE, UPSTREAM_TYPE
from npexplore.golden.ipv6.header import ICMP6, SHORTEST, write_packet
from npexplore.golden.ipv6.icmp import checksum
from npexplore.golden.mpls.stack import EXPLICIT_NULL4, EXPLICIT_NULL6, FIRST_FREE, ROUTER_ALERT, Label, entry_bytes
from npexplore.golden.router.configuration import Router, Six
from npexplore.golden.router.ports import Port, Port6

HOP_BY_HOP, ROUTING, FRAGMENT, DESTINATION_OPTIONS, NOTHING = 0, 43, 44, 60, 59
MOST_WAYS = 16  # routed addresses that all packets are sent to
UDP_HEAD = b"\x30\x39\x00\x09\x00\x0c\x00\x00body"
ODD = (0, 1, 0xFE80 << 112 | 9, 0xFF0E << 112 | 5, 0xFF02 << 112 | 1, 0x2002 << 112, 0x3FFF << 112 | 7)
# hop-by-hop headers after the next header field: padding, router alert, unknown options by action, cut, jumbo payload
OPTIONS = (
    "00 0104 00000000", "00 0502 0000 0100", "00 1e04 00000000", "00 5e04 00000000", "00 9e04 00000000",
    "00 de04 00000000", "00 0109 00000000", "00 c204 00010000",
)  # fmt: skip
CHAINS = (  # extension headers before UDP: (kind, bytes after its next header field)
    ((DESTINATION_OPTIONS, "00 0104 00000000"),), ((ROUTING, "00 0000 00000000"),), ((FRAGMENT, "00 0001 00000007"),),
    ((DESTINATION_OPTIONS, "00 0104 00000000"), (HOP_BY_HOP, "00 0104 00000000")), ((DESTINATION_OPTIONS, "09 0104"),),
)  # fmt: skip


def probes6(router: Router) -> Iterator[tuple[int, bytes]]:
    """Yield (port, frame): for each port with IPv6, frames for the rules of headers, options, addresses and sizes."""
    six = router.six
    if six is None:
        return
    for port, link in zip(router.ports, six.ports, strict=True):
        if link:
            head = port.mac + port.peer_mac + IPV6_TYPE
            for ip_packet in _packets(router, six, link):
                yield port.number, head + ip_packet[: port.mtu]
            plain = write_packet(link.network + 2, _ways(six)[0], UDP_HEAD)
            yield port.number, head + plain + bytes(9)
            for station in (b"\xff" * 6, b"\x02\0\0\0\xaa\xaa"):
                yield port.number, station + head[6:] + plain


def _ways(six: Six) -> list[int]:
    """Return an address inside each route; the routes of links come last."""
    inside = [route.value + ((1 << 128 - route.length) - 1) // 3 for route in six.routes]
    links = sum(len(link.networks) for link in six.ports if link)
    return [*inside[links:], *inside[:links]]


def _packets(router: Router, six: Six, link: Port6) -> Iterator[bytes]:
    source, destinations = link.network + 2, _ways(six)
    for destination in destinations[:MOST_WAYS]:
        for hops in (0, 1, 2, 255):
            yield write_packet(source, destination, UDP_HEAD, hop_limit=hops)
        yield write_packet(source, destination, UDP_HEAD, traffic_class=0xB9, flow_label=0xABCDE)
        for mtu in sorted({port.mtu for port in router.ports}):
            for size in (mtu - SHORTEST, mtu - SHORTEST + 1):
                yield write_packet(source, destination, bytes(size))
    valid = write_packet(source, destinations[0], UDP_HEAD)
    for text in OPTIONS:
        yield _chained(source, destinations[0], [(HOP_BY_HOP, text)])
    jumbo = _chained(source, destinations[0], [(HOP_BY_HOP, OPTIONS[-1])])
    yield jumbo[:4] + bytes(2) + jumbo[6:]
    for chain in CHAINS:
        yield _chained(source, destinations[0], chain)
    yield write_packet(source, destinations[0], b"", next_header=NOTHING)
    yield from (valid[:size] for size in (0, 1, 39, 40, 45))
    yield b"\x45" + valid[1:]
    yield valid[:4] + b"\xff\xff" + valid[6:]
    yield valid[:4] + b"\0\4" + valid[6:]
    for strange in ODD:
        yield write_packet(strange, destinations[0], UDP_HEAD)
        yield write_packet(source, strange, UDP_HEAD)
    for address in (link.address, link.link_local):
        yield write_packet(address, destinations[0], UDP_HEAD)
        yield write_packet(source, address, UDP_HEAD)
        for kind in (128, 129, 1):
            bare = bytes([kind, 0, 0, 0]) + b"\x00\x07\x00\x01echo"
            message = bare[:2] + checksum(source, address, bare).to_bytes(2, "big") + bare[4:]
            yield write_packet(source, address, message, next_header=ICMP6)


def _chained(source: int, destination: int, chain: Iterable[tuple[int, str]]) -> bytes:
    """Return a packet with extension headers before UDP."""
    kinds, bodies = zip(*chain, strict=True)
    rows = zip([*kinds[1:], 17], bodies, strict=True)
    data = b"".join(bytes([next_header]) + bytes.fromhex(body.replace(" ", "")) for next_header, body in rows)
    return write_packet(source, destination, data + UDP_HEAD, next_header=kinds[0])


def label_probes(router: Router, below4: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (port, frame): label stacks on an IPv4 packet and, if the router has IPv6, on an IPv6 packet."""
    labels = list(router.labels.number) if router.labels else []
    for port in router.ports if router.labels else ():
        for kind, data in _labelled(router, port, labels, below4):
            yield port.number, (port.mac + port.peer_mac + kind + data)[: ETHERNET + port.mtu]


def _labelled(router: Router, port: Port, known: list[int], below4: bytes) -> Iterator[tuple[bytes, bytes]]:
    link = router.six.ports[port.number] if router.six else None
    below6 = write_packet(link.network + 2, _ways(router.six)[0], UDP_HEAD) if router.six and link else below4
    for label in known:
        for ttl in (0, 1, 2, 64):
            yield MPLS_TYPE, entry_bytes(Label(label, 5, 1, ttl)) + below4
        yield MPLS_TYPE, entry_bytes(Label(label, 0, 1)) + below6
        yield MPLS_TYPE, entry_bytes(Label(label)) + entry_bytes(Label(known[0], 0, 1, 9)) + below4
        yield MPLS_TYPE, entry_bytes(Label(label, 0, 1)) + b"\x15 neither of both"
        for mtu in sorted({other_port.mtu for other_port in router.ports}):
            yield MPLS_TYPE, entry_bytes(Label(label, 0, 1)) + below4 + bytes(max(0, mtu - len(below4) - 3))
    unknown = next(number for number in range(FIRST_FREE, FIRST_FREE + len(known) + 1) if number not in known)
    for label in (unknown, EXPLICIT_NULL4, ROUTER_ALERT, EXPLICIT_NULL6, 3, 7, 13):
        for packet in (below4, below6):
            yield MPLS_TYPE, entry_bytes(Label(label, 0, 1)) + packet
    alert = entry_bytes(Label(ROUTER_ALERT))
    yield MPLS_TYPE, alert + entry_bytes(Label(known[0] if known else unknown, 0, 1)) + below4
    yield MPLS_TYPE, entry_bytes(Label(unknown))[:3]
    yield MPLS_TYPE, entry_bytes(Label(unknown)) * 2
    yield UPSTREAM_TYPE, entry_bytes(Label(known[0] if known else unknown, 0, 1)) + below4
