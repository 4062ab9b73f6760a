"""The IPv6 side of the Linux kernel as an oracle: settings and commands of iproute2 for a router's configuration.

What would depend on time or come unasked is switched off: duplicate address detection, router advertisements and
solicitations, limits and random flow labels of ICMPv6 messages. What the kernel says to many all
the same is no packet's doing.
"""

from __future__ import annotations

from collections.abc import Iterator

from npexplore.golden.ethernet import IPV6_TYPE
from npexplore.golden.ipv6.addresses import address_text, mask_of
from npexplore.golden.ipv6.header import SHORTEST
from npexplore.golden.ipv6.scope import Kind, address_kind
from npexplore.golden.router.configuration import KINDS, Router

TO_MANY = b"\x33\x33"  # the first bytes of multicast MAC addresses (RFC 2464 section 7)
SETTINGS6 = {"icmp/ratelimit": 0, "auto_flowlabels": 0, "flowlabel_reflect": 0}
LINK_SETTINGS6 = {
    "disable_ipv6": 0,
    "addr_gen_mode": 1,  # link-local addresses are given, for else they come when the link is noticed
    "accept_dad": 0,
    "dad_transmits": 0,
    "accept_ra": 0,
    "autoconf": 0,
    "router_solicitations": 0,
    "accept_source_route": 0,
    "forwarding": 1,
}


def settings(links: list[str]) -> dict[str, int]:
    """Return what to write under net/ipv6: for all links, those to come, and these."""
    every = ("all", "default", *links)
    return {**{f"conf/{link}/{key}": value for link in every for key, value in LINK_SETTINGS6.items()}, **SETTINGS6}


def commands(router: Router) -> Iterator[str]:
    """Yield the commands that give ports their addresses, and the routes; neighbours come with the packets."""
    six = router.six
    if six is None:
        return
    for number, port in enumerate(six.ports):
        if port:
            yield f"address add {address_text(port.address)}/{port.length} dev r{number} nodad"
            yield f"address add {address_text(port.link_local)}/64 dev r{number} nodad"
    for route in six.routes[sum(port is not None for port in six.ports) :]:
        where = f"dev r{route.port}" if route.kind == 0 else ""
        through = f"via {address_text(route.via)}" if route.via else ""
        yield f"route replace {KINDS[route.kind]} {address_text(route.value)}/{route.length} {through} {where}"
    for route in six.routes:
        if route.via:
            yield _neighbour(router, route.via, route.port)


def introductions(router: Router, frame: bytes, port: int) -> list[str]:
    """Return the neighbours that a frame's packet may be sent to, as commands: its source and destination."""
    six, packet = router.six, frame[14:]
    if six is None or frame[12:14] != IPV6_TYPE or len(packet) < SHORTEST:
        return []
    found = []
    for at in (8, 24):
        address = int.from_bytes(packet[at : at + 16], "big")
        kind = address_kind(address)
        if kind is Kind.LINK_LOCAL and six.ports[port]:
            found.append(_neighbour(router, address, port))
        if kind is not Kind.ROUTABLE or any(own and own.address == address for own in six.ports):
            continue
        direct = [row for row in six.routes if not row.via and not row.kind]
        attached = {row.port for row in direct if not (address ^ row.value) & mask_of(row.length)}
        found += [_neighbour(router, address, number) for number in sorted(attached)]
    return found


def _neighbour(router: Router, address: int, port: int) -> str:
    assert router.six is not None
    mac = router.six.neighbours.get(address, router.ports[port].peer_mac)
    return f"neighbour replace {address_text(address)} lladdr {mac.hex(':')} nud permanent dev r{port}"
