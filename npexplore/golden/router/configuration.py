"""Reads, checks and resolves a router's configuration (ROUTER.toml): ports, neighbours, routes, profile.

Every port has an address on its link, and the link's network is a route. A route without a port leaves by the port on
whose link its next hop is (RFC 1812 section 2.2.5.1). docs/router_files.md describes every key.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from npexplore.errors import InputError, told_at
from npexplore.golden.linux.settings import DEFAULTS, LinuxSettings
from npexplore.golden.lookup.family import IPV4, IPV6, Family
from npexplore.golden.mpls.switch import HERE, LabelEntry, LabelMap
from npexplore.golden.router.policy import OFF, Policy
from npexplore.golden.router.ports import SMALLEST_MTU as SMALLEST_MTU
from npexplore.golden.router.ports import Interface, Port, Port6, mac_bytes, named_port, resolve_ports
from npexplore.golden.router.records import KINDS as KINDS
from npexplore.golden.router.records import LabelRecord as LabelRecord
from npexplore.golden.router.records import NeighbourRecord as NeighbourRecord
from npexplore.golden.router.records import PortRecord as PortRecord
from npexplore.golden.router.records import ProfileName as ProfileName
from npexplore.golden.router.records import RouteRecord as RouteRecord
from npexplore.golden.router.records import RouterFile as RouterFile
from npexplore.golden.router.route_file import RouteFile, read_routes
from npexplore.golden.router.routes import NextHop, RouteColumns, RouteRows, next_hop, resolve_route, resolve_routes
from npexplore.paths import content, named_file
from npexplore.records import by_content
from npexplore.toml import decode

if TYPE_CHECKING:
    from npexplore.golden.diffserv.edge import Edge


Listed = dict[tuple[int, int], bytes]  # (port, address on its link): MAC address


@dataclass(frozen=True)
class Six:
    """The IPv6 configuration of a router. ports: None for a port without IPv6.

    routes: first those to the ports' networks; of equal prefixes the last one wins. neighbours: MAC addresses by port
    and address.
    """

    ports: tuple[Port6 | None, ...]
    routes: RouteRows
    neighbours: Listed = field(default_factory=dict)


@by_content
@dataclass(frozen=True)
class Router:
    """The configuration in numbers. routes: first those to the ports' networks; of equal prefixes the last one wins.

    neighbours: MAC addresses by port and address; an entry is valid on its port's link only. six: the IPv6 part;
    labels: the incoming label map; stacks: the label stacks that IPv4 routes push, the first one empty; next_hops: the
    next hops of IPv4 multipath routes, the first entry empty.

    Example:
        >>> from npexplore.golden import load_router
        >>> router = load_router("office")
        >>> [port.name for port in router.ports], len(router.routes)
        (['office', 'campus', 'uplink'], 8)
    """

    ports: tuple[Port, ...]
    routes: RouteColumns
    neighbours: Listed = field(default_factory=dict)
    profile: ProfileName = "rfc1812"
    edge: Edge | None = field(default=None, compare=False)
    policy: Policy = OFF
    six: Six | None = None
    labels: LabelMap | None = None
    stacks: tuple[bytes, ...] = (b"",)
    linux: LinuxSettings = DEFAULTS
    next_hops: tuple[tuple[NextHop, ...], ...] = ((),)

    def mac_of(self, port: int, address: int) -> bytes:
        """Return the MAC address of a neighbour: its entry's if it has one, else the port's `peer_mac`."""
        return self.neighbours.get((port, address), self.ports[port].peer_mac)


def router_schema() -> dict[str, Any]:
    """Return the JSON Schema of ROUTER.toml."""
    return msgspec.json.schema(RouterFile)


def load_router(path: str | Path) -> Router:
    """Return a router by name (models/routers) or path; raises InputError naming file, place, rule and value."""
    file = named_file("router", path, "models", "routers")
    try:
        record: RouterFile = decode(content(file), RouterFile, file)
        file_routes = read_routes(file.parent / record.routes.file) if record.routes else None
    except OSError as error:
        raise InputError(f"{error.filename or path}: {error.strerror or error}") from None
    try:
        router = resolve_router(record, file_routes)
    except InputError as error:
        raise InputError(f"{file.name}: {error}") from None
    if record.diffserv is None:
        return router
    from npexplore.golden.diffserv.edge import load_edge

    return replace(router, edge=load_edge(file.parent / record.diffserv.rules, router.ports))


def resolve_router(record: RouterFile, more: RouteFile | None = None) -> Router:
    """Return a router in numbers. more: further routes, read from a file. Raises InputError."""
    if not record.port:
        raise InputError("port: a router needs at least one port, got none")
    ports, ports6 = resolve_ports(record.port)
    neighbours = [_neighbours(record.neighbour, *sides) for sides in ((ports, IPV4), (ports6, IPV6))]
    records_by_family: tuple[list[tuple[str, RouteRecord]], ...] = ([], [])
    for k, route in enumerate(record.route):
        records_by_family[":" in route.prefix].append((f"route[{k}]", route))
    targets, targets6 = (
        [resolve_route(place, route, ports, links, family) for place, route in of_file.records] if of_file else []
        for of_file, links, family in zip(more or (None, None), (ports, ports6), (IPV4, IPV6), strict=True)
    )
    port_routes = resolve_routes(records_by_family[0], ports, ports, IPV4)
    port_routes6 = resolve_routes(records_by_family[1], ports, ports6, IPV6)
    routes, stacks, next_hops = RouteColumns.of([*port_routes, *targets])
    routes6 = RouteRows.of([*port_routes6, *targets6])
    if more:
        routes = routes.followed(len(port_routes), *more.four[:3])
        routes6 = routes6.followed(len(port_routes6), *more.six[:3])
    ipv6 = Six(ports6, routes6, neighbours[1]) if len(routes6) else None
    record.policy.limit()  # raises InputError for a bad limit
    record.linux.check()
    if record.label and record.policy.neighbours == "resolve":
        raise InputError('policy: neighbours = "resolve" does not go with [[label]], whose next hops must be known')
    if record.linux != DEFAULTS and record.profile != "linux":
        raise InputError(f'linux: settings of the kernel need profile = "linux", got {record.profile!r}')
    router = Router(
        ports, routes, neighbours[0], record.profile, policy=record.policy, six=ipv6, stacks=stacks, linux=record.linux,
        next_hops=next_hops,
    )  # fmt: skip
    return replace(router, labels=_labels(record.label, router, ports6))


def _neighbours(records: Iterable[NeighbourRecord], links: Sequence[Interface | None], family: Family) -> Listed:
    """Return the MAC addresses of a family's neighbours."""
    listed: Listed = {}
    for k, record in enumerate(records):
        if (":" in record.address) != (family is IPV6):
            continue
        place = f"neighbour[{k}]"
        with told_at(place):
            address = family.number(record.address)
        port = next((port for port, link in enumerate(links) if link and link.on_link(address)), -1)
        link = None if port < 0 else links[port]
        if link is None:
            raise InputError(f"{place}: address must be on the link of a port, got {record.address}")
        if fault := link.not_a_neighbour(address):
            raise InputError(f"{place}: address {record.address} {fault}")
        if (port, address) in listed:
            raise InputError(f"{place}: {record.address} has a MAC address already")
        listed[port, address] = mac_bytes(f"{place}: mac", record.mac)
    return listed


def _labels(records: Iterable[LabelRecord], router: Router, ports6: Sequence[Port6 | None]) -> LabelMap | None:
    """Return the incoming label map, None without labels."""
    entries: dict[int, LabelEntry] = {}
    hops: dict[tuple[str | None, str | None], tuple[int, bytes]] = {}  # by (via, port): many records share one
    for k, record in enumerate(records):
        place = f"label[{k}] {record.label}"
        if record.label in entries:
            raise InputError(f"{place}: the label has an entry already")
        hop_key = record.via, record.port
        if hop_key not in hops:
            hops[hop_key] = _label_hop(place, record, router, ports6)
        entries[record.label] = LabelEntry(tuple(record.labels), *hops[hop_key], record.ttl == "uniform")
        with told_at(place):
            LabelMap.of({record.label: entries[record.label]})
    return LabelMap.of(entries) if entries else None


def _label_hop(place: str, record: LabelRecord, router: Router, ports6: Sequence[Port6 | None]) -> tuple[int, bytes]:
    """Return the port that a label's packets leave by (HERE: none), and their destination MAC address."""
    port = None if record.port is None else named_port(place, record.port, router.ports)
    if record.via is None:
        return (HERE, bytes(6)) if port is None else (port.number, port.peer_mac)
    is_ipv6 = ":" in record.via
    sides = (ports6, IPV6) if is_ipv6 else (router.ports, IPV4)
    port, via = next_hop(place, record.via, port, router.ports, *sides)
    listed = router.six.neighbours if is_ipv6 and router.six else router.neighbours
    return port.number, listed.get((port.number, via), port.peer_mac)
