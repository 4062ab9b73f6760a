"""The IPv6 side of the Linux kernel as an oracle: settings and iproute2 commands for a router's configuration.

Behaviour that depends on time or is unsolicited is switched off: duplicate address detection, router advertisements and
solicitations, rate limits and random flow labels of ICMPv6 messages. Remaining multicast of the kernel is not output of
any packet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from npexplore.golden.ethernet import IPV6_TYPE
from npexplore.golden.ipv6.addresses import address_text, mask_of
from npexplore.golden.ipv6.header import SHORTEST
from npexplore.golden.ipv6.scope import Kind, address_kind
from npexplore.golden.linux.settings import LinuxSettings
from npexplore.golden.router.configuration import KINDS, Router
from npexplore.golden.router.routes import Hop, NextHop, Route

TO_MANY = b"\x33\x33"  # the first bytes of multicast MAC addresses (RFC 2464 section 7)
REPORTS = b"\x33\x33\0\0\0\x16"  # destination of multicast listener reports (RFC 3810 section 5.2.14)
SETTINGS6 = {"auto_flowlabels": 0, "flowlabel_reflect": 0}
TOLD6 = ("fib_multipath_hash_policy", "fib_multipath_hash_fields")
LINK_SETTINGS6 = {
    "disable_ipv6": 0,
    "addr_gen_mode": 1,  # link-local addresses are added by commands; automatic ones would come later
    "accept_dad": 0,
    "dad_transmits": 0,
    "accept_ra": 0,
    "autoconf": 0,
    "router_solicitations": 0,
    "accept_source_route": 0,
    "forwarding": 1,
}


def settings(links: list[str], linux_settings: LinuxSettings) -> dict[str, int]:
    """Return the settings under net/ipv6: of `all`, of `default` (future links), and of these links."""
    all_links = ("all", "default", *links)
    link_settings = {f"conf/{link}/{key}": value for link in all_links for key, value in LINK_SETTINGS6.items()}
    return {
        **link_settings,
        **SETTINGS6,
        **{key: getattr(linux_settings, key) for key in TOLD6},
        "icmp/ratelimit": linux_settings.ipv6_icmp_ratelimit,
    }


def commands(router: Router) -> Iterator[str]:
    """Yield the commands for addresses, routes and next hops; other neighbours are added with the frames."""
    six = router.six
    if six is None:
        return
    for number, port in enumerate(six.ports):
        if port:
            for address, length in port.subnets:
                yield f"address add {address_text(address)}/{length} dev r{number} nodad"
            yield f"address add {address_text(port.link_local)}/64 dev r{number} nodad"
    networks = sum(len(port.networks) for port in six.ports if port)
    latest = {(route.value, route.length): route for route in islice(six.routes, networks, None)}
    for route in in_order(list(latest.values()), [port.subnets if port else () for port in six.ports]):
        where = f"dev r{route.port}" if route.kind == 0 else ""
        through = (
            f"via {address_text(route.via)} onlink" if route.via else ""
        )  # accepted even if another route leads to it
        if route.next_hops:
            through, where = " ".join(f"{hop} onlink" for hop in told_next_hops(route.next_hops, address_text)), ""
        yield f"route replace {KINDS[route.kind]} {address_text(route.value)}/{route.length} {through} {where}"
    if router.policy.neighbours == "resolve":
        yield from (_neighbour(router, address, port) for port, address in six.neighbours)
        return
    for route in six.routes:
        for hop in _hops(route):
            if hop.via:
                yield _neighbour(router, hop.via, hop.port)


def in_order(routes: Sequence[Route], subnets: Sequence[Sequence[tuple[int, int]]]) -> list[Route]:
    """Return routes in an order that the kernel accepts: it refuses a next hop that a route leads to by another link.

    Routes that contain a next hop and are longer than the prefix of its link come last. subnets: (address, length) of
    each port.
    """
    hops = {(hop.port, hop.via) for route in routes for hop in _hops(route) if hop.via}
    links = [
        (via, length)
        for port, via in hops
        for address, length in subnets[port]
        if not (via ^ address) & mask_of(length)
    ]

    def in_the_way(route: Route) -> bool:
        return any(route.length > length and not (via ^ route.value) & mask_of(route.length) for via, length in links)

    return sorted(routes, key=lambda route: (in_the_way(route), route.length))


def _hops(route: Route) -> Iterator[Hop]:
    yield Hop(*route[2:-1])
    yield from (next_hop.hop for next_hop in route.next_hops)


def told_next_hops(several: Iterable[NextHop], text: Callable[[int], str]) -> list[str]:
    """Return the next hops of a multipath route in the syntax of iproute2."""
    return [f"nexthop via {text(hop.via)} dev r{hop.port} weight {weight}" for hop, weight in several]


def introductions(router: Router, frame: bytes, port: int) -> list[str]:
    """Return commands for the neighbours to which the kernel may send packets for a frame: source and destination."""
    six, packet = router.six, frame[14:]
    if six is None or frame[12:14] != IPV6_TYPE or len(packet) < SHORTEST:
        return []
    neighbours = []
    for at in (8, 24):
        address = int.from_bytes(packet[at : at + 16], "big")
        kind = address_kind(address)
        if kind is Kind.LINK_LOCAL and six.ports[port]:
            neighbours.append(_neighbour(router, address, port))
        if kind is not Kind.ROUTABLE or any(link and address in link.own for link in six.ports):
            continue
        direct = [row for row in six.routes if not row.via and not row.kind]
        attached = {row.port for row in direct if not (address ^ row.value) & mask_of(row.length)}
        neighbours += [_neighbour(router, address, number) for number in sorted(attached)]
    return neighbours


def _neighbour(router: Router, address: int, port: int) -> str:
    assert router.six is not None
    mac = router.six.neighbours.get((port, address), router.ports[port].peer_mac)
    return f"neighbour replace {address_text(address)} lladdr {mac.hex(':')} nud permanent dev r{port}"
