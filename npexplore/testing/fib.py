"""Converts a golden router's tables for `fib_lookup`: the tables that Linux has with the same configuration.

Packets to the router's own addresses and to the broadcast addresses of its links are "not forwarded".
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

    Raises InputError for a route with several next hops, because fib_lookup chooses one by the flow.

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
    """Return a key: the length of a prefix or the number of an interface, then an address."""
    return head.to_bytes(4, "little") + address.to_bytes(width, "big")


def _route(router: Router, port: int, via: int, width: int, *, metric: int = 0, labels: bool = False) -> bytes:
    link = router.ports[port]
    return route(
        port + 1, link.mtu, link.mac, peer_mac=None if link.listed_only else link.peer_mac,
        via=via.to_bytes(width, "big") if via else b"", metric=metric, labels=labels,
    )  # fmt: skip


def _routes4(router: Router) -> dict[bytes, bytes]:
    routes, tables = router.routes, {}
    nothing = [0] * len(routes)
    stacks, next_hops = (nothing if column is None else column.tolist() for column in (routes.stack, routes.next_hops))
    columns = (routes.value, routes.length, routes.kind, routes.port, routes.via)
    for value, length, kind, port, via, stack, hops in zip(
        *(column.tolist() for column in columns), stacks, next_hops, strict=True
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
    for number, entry in enumerate(router.six.routes):
        if entry.next_hops:
            raise InputError(f"fib_lookup: the route {IPv6Network((entry.value, entry.length))} has several next hops")
        metric = CONNECTED_METRIC6 if number < connected else STATIC_METRIC6
        tables[_key(entry.length, entry.value, 16)] = (
            _route(router, entry.port, entry.via, 16, metric=metric, labels=bool(entry.stack))
            if entry.kind == UNICAST else no_route(entry.kind)
        )  # fmt: skip
    for port in router.six.ports:
        for address in port.own if port else ():
            tables[_key(128, address, 16)] = no_route(NOT_FORWARDED)
    return tables
