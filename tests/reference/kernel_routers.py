"""Hypothesis strategies for what a Linux kernel can be configured as: both families, several addresses, settings.

Configurations are records (`RouterFile`), so that they shrink to few lines; frames are drawn around each router.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from npexplore.golden.ethernet import BROADCAST_MAC
from npexplore.golden.ipv4.addresses import address_text, prefix_mask
from npexplore.golden.ipv4.arp import Arp, write_arp
from npexplore.golden.ipv4.fragment import fragment
from npexplore.golden.ipv4.header import with_checksum
from npexplore.golden.ipv4.header import write_packet as write_packet4
from npexplore.golden.ipv4.host import summed
from npexplore.golden.ipv6 import addresses as six
from npexplore.golden.ipv6.discovery import (
    ADVERTISEMENT,
    OVERRIDE,
    SOLICITATION,
    SOLICITED,
    Message,
    multicast_mac,
    solicited_node,
    write_message,
)
from npexplore.golden.ipv6.header import ICMP6, UDP, write_packet
from npexplore.golden.linux.settings import CUSTOM, FIELDS, LinuxSettings
from npexplore.golden.router.configuration import Router
from npexplore.golden.router.policy import Policy
from npexplore.golden.router.ports import LINK_LOCAL
from npexplore.golden.router.records import KINDS, NeighbourRecord, NextHopRecord, PortRecord, RouteRecord, RouterFile
from npexplore.testing.routers import frames, router_addresses
from npexplore.testing.strategies import ip_options, prefixes
from npexplore.testing.strategies6 import ipv6_packets, with_headers

_MTUS = (1280, 1281, 1400, 1500, 9000)
_MTUS4 = (68, 69, 76, 128, 296, 576, 577, 1006)
_LINKS4 = (24, 24, 29, 30, 31)
_TAKEN = six.address_number("2001:db8::")  # the networks of links are 2001:db8:PORT:NUMBER::/64 and parts of them
_TARGETS6 = (
    "2001:db8:a::/48",
    "2001:db8:a:1::/64",
    "2001:db8:a:1::8/125",
    "2001:db8:a:1::9/128",
    "2002::/16",
    "fd00::/8",
)
_WIDE6 = ("::/0", "2000::/3", "2001:db8::/32", "2001:db8::/47", "2001:db8:0:1::/80")
_ODD6 = tuple(map(six.address_number, (
    "::", "::1", "::ffff:10.0.0.1", "::10.0.0.1", "fe80::", "fe80::9", "fe80:1::9", "febf::9", "fec0::9",
    "ff02::1", "ff0e::5", "ff01::1", "ff00::1", "2002:a00:1::1", "64:ff9b::a00:1", "3ffe::9", "2001::9",
    "2001:10::9", "fd00::9",
)))  # fmt: skip


def settings() -> st.SearchStrategy[LinuxSettings]:
    """Settings of the kernel; mostly the usual ones."""
    off = st.booleans()
    usual = LinuxSettings().fib_multipath_hash_fields
    hashing = st.one_of(st.sampled_from(((0, usual), (1, usual))), st.tuples(st.just(CUSTOM), st.integers(1, FIELDS)))
    return st.builds(
        lambda hashed, **others: LinuxSettings(
            fib_multipath_hash_policy=hashed[0], fib_multipath_hash_fields=hashed[1], **others
        ),
        hashing, accept_source_route=off, rp_filter=st.sampled_from((0, 0, 1, 2)),
        send_redirects=st.sampled_from((True, True, False)), icmp_errors_use_inbound_ifaddr=off,
        fib_multipath_hash_seed=st.sampled_from((1, 0xDEADBEEF)),
    )  # fmt: skip


@st.composite
def kernel_configurations(draw: Any, *, max_ports: int = 3, max_routes: int = 6) -> RouterFile:
    """Routers of the profile `linux`: 1 to `max_ports` ports, some with IPv6, some with several addresses."""
    ports, hosts, hosts6 = [], [], []
    for number in range(draw(st.integers(1, max_ports))):
        length, has_six = draw(st.sampled_from(_LINKS4)), draw(st.sampled_from((True, True, False)))
        nets = [(10 + number << 24, length)]
        nets += [((10 + number << 24) + (k << 16), draw(st.sampled_from(_LINKS4))) for k in (1, 2) if draw(_SELDOM)]
        own = [(value + (0 if size == 31 else 1), size) for value, size in nets]
        for (mine, size), (value, _) in zip(own, nets, strict=True):
            last = value + (1 << 32 - size) - (1 if size == 31 else 2)
            hosts += [(number, host) for host in {mine + 1, last} if host != mine and host <= last]
        more = [f"{address_text(a)}/{size}" for a, size in own[1:]]
        if length < 30 and draw(_SELDOM):
            more.append(address_text(own[0][0] + 4))
        nets6 = [_TAKEN + (number << 80)] if has_six else []
        nets6 += [nets6[0] + (k << 64) for k in (1, 2) if nets6 and draw(_SELDOM)]
        more += [f"{six.address_text(net + 1)}/64" for net in nets6[1:]]
        if nets6 and draw(_SELDOM):
            more.append(six.address_text(nets6[0] + 0x42))
        hosts6 += [(number, net + host) for net in nets6 for host in (2, 0x9999 << 48 | 7)]
        if nets6:
            hosts6.append((number, six.address_number("fe80::2")))
        ports.append(
            PortRecord(
                name=f"p{number}", address=f"{address_text(own[0][0])}/{length}", addresses=more,
                address6=f"{six.address_text(nets6[0] + 1)}/64" if nets6 else None,
                mtu=draw(st.sampled_from(_MTUS if has_six else _MTUS + _MTUS4)),
                mac=f"02:00:00:00:00:{number:02x}", peer_mac=f"02:00:00:00:01:{number:02x}",
            )
        )  # fmt: skip
    connected = {f"{address_text(10 + n << 24)}/{p.address.rpartition('/')[2]}" for n, p in enumerate(ports)}
    within = st.builds(
        lambda host, size: f"{address_text(host[1] & prefix_mask(size))}/{size}",
        st.sampled_from(hosts),
        st.integers(9, 32),
    )
    targets = st.one_of(prefixes(), within, st.sampled_from(("0.0.0.0/0", "128.0.0.0/1", "20.0.0.0/8", "20.1.0.0/16")))
    routes = [
        draw(_route(prefix, hosts, len(ports)))
        for prefix in draw(st.lists(targets, max_size=max_routes, unique=True))
        if prefix not in connected
        and not any(prefix.startswith(f"{10 + n}.{k}.0.0/") for n in range(3) for k in (1, 2))
    ]
    if hosts6:
        there = sorted({number for number, _ in hosts6})
        for prefix in draw(st.lists(st.sampled_from(_TARGETS6 + _WIDE6), max_size=max_routes, unique=True)):
            routes.append(draw(_route(prefix, hosts6, 0, there)))
    known = st.sampled_from([host for _, host in hosts + hosts6 if host >> 118 != 0xFE80 >> 6])
    neighbours = [
        NeighbourRecord(
            address=six.address_text(host) if host >> 32 else address_text(host), mac=f"02:00:00:00:02:{k:02x}"
        )
        for k, host in enumerate(draw(st.lists(known, max_size=2, unique=True)))
    ]
    return RouterFile(
        profile="linux", port=ports, route=routes, neighbour=neighbours, linux=draw(settings()),
        policy=Policy(answers=draw(st.booleans()), neighbours="resolve" if draw(_SELDOM) else "known"),
    )  # fmt: skip


_KINDS = st.sampled_from((b"\x81\0", b"\x81\0", b"\x88\xa8"))
_SELDOM = st.integers(0, 3).map(lambda number: number == 3)


def _route(prefix: str, hosts: list[tuple[int, int]], ports: int, numbers: Any = None) -> Any:
    """Routes of a prefix: to a host of a link, out of a port, or to nowhere."""

    def named(host: tuple[int, int]) -> dict[str, Any]:
        number, address = host
        if not address >> 32:
            return {"via": address_text(address)}
        return {"via": six.address_text(address), "port": f"p{number}"}

    via = st.sampled_from(hosts).map(lambda host: RouteRecord(prefix=prefix, **named(host)))
    one = st.builds(
        lambda host, weight: NextHopRecord(weight=weight, **named(host)), st.sampled_from(hosts), st.integers(1, 3)
    )
    several = st.lists(one, min_size=2, max_size=4, unique_by=lambda hop: (hop.via, hop.port)).map(
        lambda hops: RouteRecord(prefix=prefix, next_hops=hops)
    )
    if len(set(hosts)) > 1:
        via = st.one_of(via, via, several)
    port = st.sampled_from(numbers or range(ports)).map(lambda k: RouteRecord(prefix=prefix, port=f"p{k}"))
    kind: Any = st.sampled_from(KINDS[1:]).map(lambda name: RouteRecord(prefix=prefix, kind=name))  # type: ignore[arg-type]
    return st.one_of(via, via, via, port, kind)


def addresses_of(router: Router) -> list[int]:
    """Return IPv6 addresses that matter to a router: its own, hosts of links, inside and beside of routes, odd ones."""
    addresses = set(_ODD6)
    if router.six is None:
        return sorted(addresses)
    for link in router.six.ports:
        if link:
            addresses |= {*link.own, link.network + 2, link.network + 0x77, link.link_local ^ 1}
            addresses |= {(own & ~0xFFFF) + 2 for own, _ in link.further}
    for route in router.six.routes:
        last = route.value | ((1 << 128 - route.length) - 1)
        addresses |= {
            route.value,
            last,
            (route.value + last) // 2,
            (route.value - 1) % (1 << 128),
            route.via or route.value,
        }
    return sorted(addresses)


def frames6(router: Router) -> st.SearchStrategy[tuple[int, bytes]]:
    """IPv6 frames for a router as (port, frame)."""
    assert router.six is not None
    numbers = [number for number, link in enumerate(router.six.ports) if link]
    return st.sampled_from(numbers).flatmap(lambda number: _frames6(router, number))


def _frames6(router: Router, port: int) -> st.SearchStrategy[tuple[int, bytes]]:
    own = router.ports[port]
    assert router.six is not None
    odd = st.sampled_from(addresses_of(router))
    inside = st.sampled_from([route.value + ((1 << 128 - route.length) - 1) // 3 for route in router.six.routes])
    anybody = st.one_of(odd, inside, inside)
    sizes = sorted({link.mtu for link in router.ports})
    near = st.builds(lambda mtu, more: max(0, mtu - 40 + more), st.sampled_from(sizes), st.integers(-9, 9))
    size = st.one_of(st.integers(0, 60), st.integers(0, 60), near)
    long = size.map(lambda count: bytes(range(8)) + bytes(max(0, count - 8)))
    payload = st.one_of(st.binary(max_size=24), long)
    plain = ipv6_packets(source=anybody, destination=anybody, payload=payload)
    message = st.builds(
        lambda a, b, kind, code, hops, head: _message(a, b, kind, code, hops, head),
        anybody, anybody, st.sampled_from((1, 2, 3, 4, 100, 127, 128, 129, 133, 135, 136, 137, 255)), st.integers(0, 2),
        st.sampled_from((0, 1, 2, 64)), st.sampled_from(((), (), (135,), (44,), (60,), (139,), (43, 60), (0,))),
    )  # fmt: skip
    big = st.builds(
        lambda a, b, count, hops: write_packet(a, b, bytes(count), next_header=UDP, hop_limit=hops),
        anybody, anybody, near, st.sampled_from((1, 2, 64)),
    )  # fmt: skip
    packet = st.one_of(plain, plain, message, big)
    usual = own.mac + own.peer_mac + b"\x86\xdd"
    to = st.sampled_from((own.mac,) * 9 + (b"\xff" * 6, b"\x33\x33\0\0\0\1", own.peer_mac))
    return st.builds(lambda mac, data: (port, mac + usual[6:] + data[: own.mtu]), to, packet)


def _message(source: int, destination: int, kind: int, code: int, hops: int, headers: tuple[int, ...]) -> bytes:
    """Return an ICMPv6 message behind extension headers."""
    chain = tuple((one, bytes(7)) for one in headers)
    first, data = with_headers(chain, ICMP6, bytes([kind, code]) + bytes(6) + b"quoted")
    return write_packet(source, destination, data, next_header=first, hop_limit=hops)


def requests(router: Router) -> st.SearchStrategy[tuple[int, bytes]]:
    """Frames of IPv4 for the router itself: echo and time stamp requests, datagrams, other protocols."""
    own = st.sampled_from(sorted(address for port in router.ports for address in port.own))
    source = st.one_of(st.sampled_from([port.network + 2 for port in router.ports]), router_addresses(router))
    few = st.one_of(st.binary(max_size=20), st.integers(0, 1200).map(bytes))
    echo = st.builds(
        lambda kind, data: (1, summed(bytes([kind, 0]) + bytes(6) + data)), st.sampled_from((8, 8, 13)), few
    )
    datagram = st.builds(
        lambda data, size: (17, b"\0\1\0\2" + (8 + min(size, len(data))).to_bytes(2, "big") + bytes(2) + data),
        few, st.one_of(st.just(2000), st.integers(0, 9)),
    )  # fmt: skip
    other = st.tuples(st.sampled_from((253, 254, 99)), few)
    options = st.one_of(st.just(b""), st.just(b""), ip_options(router_addresses(router)))
    packet = st.builds(
        lambda a, b, what, more, tos, ttl: write_packet4(
            a, b, what[1], protocol=what[0], options=more, tos=tos, ttl=ttl
        ),
        source, own, st.one_of(echo, datagram, other), options, st.integers(0, 255), st.sampled_from((0, 1, 64)),
    )  # fmt: skip
    return st.builds(
        lambda port, data: (port.number, port.mac + port.peer_mac + b"\x08\0" + data[: port.mtu]),
        st.sampled_from(router.ports), packet,
    )  # fmt: skip


@st.composite
def cut_requests(draw: Any, router: Router) -> list[tuple[int, bytes]]:
    """One of those requests in pieces, in any order."""
    port, frame = draw(requests(router))
    whole = with_checksum(frame[14:20] + b"\0" * 2 + frame[22:])
    pieces = fragment(whole, draw(st.sampled_from((68, 76, 128, 576)))).packets
    return [(port, frame[:14] + piece) for piece in draw(st.permutations(pieces))]


def arp_frame(to: bytes, message: Arp) -> bytes:
    """Return a message of ARP in a frame from its sender to a MAC address."""
    return to + message.sender_mac + b"\x08\x06" + write_arp(message)


def discovery_frame(station: bytes, sender: bytes, message: Message) -> bytes:
    """Return a message of neighbour discovery in a frame between MAC addresses; one to many goes to their address."""
    many = message.destination >> 120 == 0xFF
    return (multicast_mac(message.destination) if many else station) + sender + b"\x86\xdd" + write_message(message)


def address_messages(router: Router) -> st.SearchStrategy[tuple[int, bytes]]:
    """Messages of ARP and neighbour discovery to a router, mostly from next hops and hosts of its links."""
    macs = st.integers(0, 2).map(lambda k: bytes([2, 0, 0, 0, 9, k]))
    own = st.sampled_from(sorted({address for port in router.ports for address in port.own}))
    vias = [(hop.port, hop.via) for route in router.next_hops for hop, _ in route]
    vias += list(zip(router.routes.port.tolist(), router.routes.via.tolist(), strict=True))
    near = [(port.number, port.network + 2) for port in router.ports] + [row for row in vias if row[1]]

    def arp(who: tuple[int, int], operation: int, mac: bytes, target: int, alone: bool, own: int) -> tuple[int, bytes]:
        to = router.ports[who[0]].mac if alone else BROADCAST_MAC
        about = who[1] if own < 2 else target  # one that announces itself
        return who[0], arp_frame(to, Arp(operation, mac, who[1], about, mac if own % 2 else bytes(6)))

    request_messages = st.builds(
        arp, st.sampled_from(near), st.sampled_from((1, 2, 2)), macs, st.one_of(own, router_addresses(router)),
        st.booleans(), st.integers(0, 7),
    )  # fmt: skip
    if router.six is None:
        return request_messages
    links = {number: link for number, link in enumerate(router.six.ports) if link}
    near6 = [(number, host) for number, link in links.items() for host in (link.network + 2, LINK_LOCAL | 2)]
    near6 += [(hop.port, hop.via) for route in router.six.routes for hop, _ in route.next_hops]
    near6 += [(route.port, route.via) for route in router.six.routes if route.via]

    def discovery(
        who: tuple[int, int], kind: int, mac: bytes, flags: int, tell: bool, alone: bool, there: int
    ) -> tuple[int, bytes]:
        port, source = who
        link = links[port]
        own = (link.address, link.link_local, link.address, link.network + 9)[there]
        target = source if kind == ADVERTISEMENT else own
        to = own if alone or kind == ADVERTISEMENT else solicited_node(own)
        message = Message(kind, source, to, target, mac if tell else b"", flags)
        return port, discovery_frame(router.ports[port].mac, mac, message)

    flags = st.sampled_from((0, OVERRIDE, SOLICITED, OVERRIDE | SOLICITED))
    six_asked = st.builds(
        discovery, st.sampled_from(near6), st.sampled_from((SOLICITATION, ADVERTISEMENT)), macs, flags,
        st.sampled_from((True, True, False)), st.booleans(), st.integers(0, 3),
    )  # fmt: skip
    return st.one_of(request_messages, six_asked)


def any_frames(router: Router) -> st.SearchStrategy[tuple[int, bytes]]:
    """Frames of both families for a router, some with the tag of VLAN 0 in front (IEEE 802.1Q)."""
    both = st.one_of(frames(router), frames(router), frames(router), requests(router))
    if router.six is not None:
        both = st.one_of(both, frames6(router))
    if router.policy.neighbours == "resolve":
        both = st.one_of(both, both, address_messages(router))
    tag = st.builds(lambda kind, priority: kind + bytes([priority << 5, 0]), _KINDS, st.integers(0, 7))
    tags = st.lists(tag, min_size=1, max_size=2).map(b"".join)
    known = [port.vlan for port in router.ports if port.vlan]
    numbers = st.sampled_from(known) if known else st.integers(1, 4095)
    other = numbers.map(lambda number: b"\x81\0" + number.to_bytes(2, "big"))
    tagged = st.builds(lambda row, tag: (row[0], row[1][:12] + tag + row[1][12:]), both, st.one_of(tags, tags, other))
    fits = tagged.map(lambda row: (row[0], row[1][: router.ports[row[0]].mtu + 14]))
    return st.integers(0, 15).flatmap(lambda number: fits if number == 15 else both)
