"""A golden router's tables as `fib_lookup` asks them: what Linux has in its tables with the same configuration.

The addresses of the router and the broadcast addresses of its links lead to itself, which is "not forwarded" there.
"""

from __future__ import annotations

from ipaddress import IPv6Network
from pathlib import Path

from npexplore.errors import InputError
from npexplore.golden.ipv4.addresses import prefix_text
from npexplore.golden.router.configuration import KINDS, Router
from npexplore.programs.forwarding import NOT_FORWARDED, ForwardingTables, no_route, route
from npexplore.testing.drawing import as_router

UNICAST, CONNECTED_METRIC6, STATIC_METRIC6 = KINDS.index("unicast"), 256, 1024  # metrics: IPv6 of Linux


def forwarding_tables(router: Router | str | Path) -> ForwardingTables:
    """Return a router's tables for `run(..., fib=)`; router: a configuration, its file, or an example's name.

    Raises InputError for a route with several next hops, among which fib_lookup chooses by the flow.

    Example:
        >>> from npexplore.testing import forwarding_tables
        >>> len(forwarding_tables("office").routes4)
        15
    """
    router = as_router(router)
    neighbours = {_key(port + 1, address, 4): mac for (port, address), mac in router.neighbours.items()}
    six = router.six
    neighbours6 = {_key(port + 1, address, 16): mac for (port, address), mac in six.neighbours.items()} if six else {}
    return ForwardingTables(len(router.ports), _routes4(router), neighbours, _routes6(router), neighbours6)


def _key(head: int, address: int, width: int) -> bytes:
    """Return a key: a prefix's length or an interface, and an address."""
    return head.to_bytes(4, "little") + address.to_bytes(width, "big")


def _route(router: Router, port: int, via: int, width: int, *, metric: int = 0, labels: bool = False) -> bytes:
    one = router.ports[port]
    return route(
        port + 1, one.mtu, one.mac, peer_mac=None if one.listed_only else one.peer_mac,
        via=via.to_bytes(width, "big") if via else b"", metric=metric, labels=labels,
    )  # fmt: skip


def _routes4(router: Router) -> dict[bytes, bytes]:
    routes, tables = router.routes, {}
    nothing = [0] * len(routes)
    stacks, several = (nothing if one is None else one.tolist() for one in (routes.stack, routes.next_hops))
    columns = (routes.value, routes.length, routes.kind, routes.port, routes.via)
    for value, length, kind, port, via, stack, hops in zip(
        *(one.tolist() for one in columns), stacks, several, strict=True
    ):
        if hops:
            raise InputError(f"fib_lookup: the route {prefix_text(value, length)} has several next hops")
        tables[_key(length, value, 4)] = (
            _route(router, port, via, 4, labels=bool(stack)) if kind == UNICAST else no_route(kind)
        )
    for port in router.ports:
        for address in (*port.own, *port.broadcasts):
            tables[_key(32, address, 4)] = no_route(NOT_FORWARDED)
    tables[_key(8, 127 << 24, 4)] = no_route(NOT_FORWARDED)
    return tables


def _routes6(router: Router) -> dict[bytes, bytes]:
    tables: dict[bytes, bytes] = {}
    if router.six is None:
        return tables
    connected = sum(len(port.networks) for port in router.six.ports if port)
    for number, one in enumerate(router.six.routes):
        if one.next_hops:
            raise InputError(f"fib_lookup: the route {IPv6Network((one.value, one.length))} has several next hops")
        metric = CONNECTED_METRIC6 if number < connected else STATIC_METRIC6
        tables[_key(one.length, one.value, 16)] = (
            _route(router, one.port, one.via, 16, metric=metric, labels=bool(one.stack))
            if one.kind == UNICAST else no_route(one.kind)
        )  # fmt: skip
    for port in router.six.ports:
        for address in port.own if port else ():
            tables[_key(128, address, 16)] = no_route(NOT_FORWARDED)
    return tables
