"""Resolves routes to numbers, IPv4 as columns and IPv6 as rows: their targets and the labels that they push.

A next hop is on the link of a port; a link-local next hop needs an explicit port. A route that pushes labels maps a
class of packets to labels (RFC 3031 section 3.11): it has a next hop, and its link must carry the protocol's smallest
MTU below the labels, so that IPv6 packets are never fragmented by RFC 3032 section 3.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from npexplore.errors import InputError, told_at
from npexplore.golden.ipv6.header import SMALLEST_MTU as SMALLEST_MTU6
from npexplore.golden.ipv6.scope import Kind, address_kind
from npexplore.golden.lookup.family import IPV4, IPV6, Family
from npexplore.golden.mpls.impose import prepared_stack
from npexplore.golden.mpls.stack import ENTRY, EXPLICIT_NULL4, EXPLICIT_NULL6, FIRST_FREE, check_outgoing
from npexplore.golden.router.ports import SMALLEST_MTU, Interface, Port, named_port
from npexplore.golden.router.records import KINDS, RouteRecord

NO_PORT = -1
Placed = Iterable[tuple[str, RouteRecord]]  # records, each with its place in the file for messages
_BELOW_LABELS = {IPV4: (SMALLEST_MTU, EXPLICIT_NULL4), IPV6: (SMALLEST_MTU6, EXPLICIT_NULL6)}  # least MTU; null


LARGEST_WEIGHT = 256


class Hop(NamedTuple):
    """A route's target: its kind (index of KINDS), port, and next hop's address (0: the destination itself).

    stack: the labels that the route pushes (golden/mpls/impose.py). source: the router's address in messages sent by
    this route, 0: the port's first one.
    """

    kind: int
    port: int
    via: int
    stack: bytes = b""
    source: int = 0


class NextHop(NamedTuple):
    """One of several next hops of a route, with its weight: flows are shared in proportion."""

    hop: Hop
    weight: int


class Route(NamedTuple):
    """A prefix (value, length) and its target as in `Hop`; next_hops: if there are several, all, the first as in it."""

    value: int
    length: int
    kind: int
    port: int
    via: int
    stack: bytes = b""
    source: int = 0
    next_hops: tuple[NextHop, ...] = ()


@dataclass(frozen=True)
class RouteColumns:
    """Routes as columns: prefix (value, length), kind (index of KINDS), port, next hop (0: the destination itself).

    stack: index in Router.stacks of the labels that a route pushes; None: no route pushes any. source: as in `Hop`;
    None: all 0. next_hops: index in Router.next_hops of a route's next hops, 0 for one; None: no route has several.
    """

    value: NDArray[np.uint32]
    length: NDArray[np.uint8]
    kind: NDArray[np.uint8]
    port: NDArray[np.int16]
    via: NDArray[np.uint32]
    stack: NDArray[np.int32] | None = None
    source: NDArray[np.uint32] | None = None
    next_hops: NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return len(self.value)

    @classmethod
    def of(cls, routes: Iterable[Route]) -> tuple[RouteColumns, tuple[bytes, ...], tuple[tuple[NextHop, ...], ...]]:
        """Return routes as columns, their distinct stacks, and distinct groups of next hops; entry 0 is empty."""
        stacks: dict[bytes, int] = {b"": 0}
        several: dict[tuple[NextHop, ...], int] = {(): 0}
        rows = [
            (*r[:5], stacks.setdefault(r.stack, len(stacks)), r.source, several.setdefault(r.next_hops, len(several)))
            for r in routes
        ]
        columns = np.array(rows, dtype=np.int64).reshape(-1, 8).T
        types = (np.uint32, np.uint8, np.uint8, np.int16, np.uint32, np.int32, np.uint32, np.int32)
        table = cls(*(column.astype(kind) for column, kind in zip(columns, types, strict=True)))
        return table, tuple(stacks), tuple(several)

    def followed(
        self, own: int, value: NDArray[np.uint32], length: NDArray[np.uint8], leads: NDArray[np.int64]
    ) -> RouteColumns:
        """Return the first `own` routes, then one per prefix with the target of row `own + leads`."""
        rows = np.concatenate([np.arange(own), own + leads])
        columns = {field.name: getattr(self, field.name) for field in fields(self)}
        routes = replace(self, **{name: column[rows] for name, column in columns.items() if column is not None})
        return replace(
            routes, value=np.concatenate([self.value[:own], value]), length=np.concatenate([self.length[:own], length])
        )


@dataclass(frozen=True, eq=False)
class RouteRows:
    """IPv6 routes in their order: prefixes as columns, and for each the row of `leads` with its target.

    Example:
        >>> from npexplore.golden import load_router
        >>> len(load_router("multiservice").six.routes)
        6
    """

    value: NDArray[np.uint64]
    length: NDArray[np.uint8]
    lead: NDArray[np.int64]
    leads: tuple[Route, ...]

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, row: int) -> Route:
        return Route(IPV6.numbers(self.value[[row]])[0], int(self.length[row]), *self.leads[self.lead[row]][2:])

    def __iter__(self) -> Iterator[Route]:
        columns = IPV6.numbers(self.value), self.length.tolist(), self.lead.tolist()
        return (Route(value, length, *self.leads[target][2:]) for value, length, target in zip(*columns, strict=True))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RouteRows) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    @classmethod
    def of(cls, routes: Sequence[Route]) -> RouteRows:
        """Return routes as rows, each with a target of its own."""
        value = IPV6.rows([route.value for route in routes])
        return cls(value, np.array([r.length for r in routes], np.uint8), np.arange(len(routes)), tuple(routes))

    def followed(
        self, own: int, value: NDArray[np.uint64], length: NDArray[np.uint8], leads: NDArray[np.int64]
    ) -> RouteRows:
        """Return the first `own` routes, then one per prefix with the target of row `own + leads`."""
        return RouteRows(
            np.concatenate([self.value[:own], value]), np.concatenate([self.length[:own], length]),
            np.concatenate([self.lead[:own], own + leads]), self.leads,
        )  # fmt: skip


def resolve_routes(
    records: Placed, ports: Sequence[Port], links: Sequence[Interface | None], family: Family
) -> list[Route]:
    """Return the routes to the links' networks, then the routes of records; raises InputError naming the place."""
    routes = [
        Route(address & family.mask(length), length, 0, k, 0, source=address if number else 0)
        for k, link in enumerate(links)
        if link
        for number, (address, length) in enumerate(link.networks)
    ]
    return routes + [resolve_route(place, record, ports, links, family) for place, record in records]


def resolve_route(
    place: str, record: RouteRecord, ports: Sequence[Port], links: Sequence[Interface | None], family: Family
) -> Route:
    """Return a record's route; raises InputError naming the place."""
    with told_at(place):
        prefix = family.prefix_pair(record.prefix)
    has_target = record.via is not None or record.port is not None or bool(record.push)
    if record.kind != "unicast":
        if has_target or record.next_hops:
            raise InputError(f"{place}: a route of kind {record.kind} has neither via nor port, and pushes nothing")
        return Route(*prefix, KINDS.index(record.kind), NO_PORT, 0)
    if record.next_hops:
        if has_target:
            raise InputError(f"{place}: a route with next_hops has neither via nor port, and pushes nothing")
        return _multipath(place, prefix, record, ports, links, family)
    port = None if record.port is None else named_port(place, record.port, ports)
    via = 0
    if record.via is not None:
        port, via = next_hop(place, record.via, port, ports, links, family)
    elif port is None:
        raise InputError(f"{place}: {family.prefix_text(*prefix)} needs via or port, or a kind other than unicast")
    elif links[port.number] is None:
        raise InputError(f"{place}: port {port.name!r} has no address6")
    pushed, link = _pushed(place, record, port.mtu, *_BELOW_LABELS[family]), links[port.number]
    return Route(*prefix, 0, port.number, via, pushed, _source(link, via))


def _source(link: Interface | None, via: int) -> int:
    """Return the router's source address towards a next hop, 0: the link's first address."""
    source = link.source_towards(via) if via and link and link.further else 0
    return 0 if link and source == link.address else source


def _multipath(
    place: str, prefix: tuple[int, int], record: RouteRecord, ports: Sequence[Port],
    links: Sequence[Interface | None], family: Family,
) -> Route:  # fmt: skip
    """Return a route with several next hops."""
    next_hops: list[NextHop] = []
    for k, member in enumerate(record.next_hops):
        where = f"{place}: next_hops[{k}]"
        if not 1 <= member.weight <= LARGEST_WEIGHT:
            raise InputError(f"{where}: weight must be 1 to {LARGEST_WEIGHT}, got {member.weight}")
        named_ports = None if member.port is None else named_port(where, member.port, ports)
        port, via = next_hop(where, member.via, named_ports, ports, links, family)
        if any(earlier.hop[1:3] == (port.number, via) for earlier in next_hops):
            raise InputError(f"{where}: next hop {member.via} stands there twice; give it a weight instead")
        next_hops.append(NextHop(Hop(0, port.number, via, source=_source(links[port.number], via)), member.weight))
    several = tuple(next_hops) if len(next_hops) > 1 else ()
    target = next_hops[0].hop
    return Route(*prefix, target.kind, target.port, target.via, source=target.source, next_hops=several)


def next_hop(
    place: str, text: str, port: Port | None, ports: Sequence[Port], links: Sequence[Interface | None], family: Family
) -> tuple[Port, int]:
    """Return a next hop's port (`port` unless None) and its address; raises InputError naming the place."""
    with told_at(place):
        via = family.number(text)
    if family is IPV6 and address_kind(via) is Kind.LINK_LOCAL:
        if port is None or links[port.number] is None:
            raise InputError(f"{place}: link-local next hop {text} needs a port with address6 beside it")
        return port, via
    for reached, link in zip(ports, links, strict=True):
        if link and link.on_link(via) and port in (None, reached):
            if fault := link.not_a_neighbour(via):
                raise InputError(f"{place}: next hop {text} {fault}")
            return reached, via
    links_by_port = [(candidate.name, link) for candidate, link in zip(ports, links, strict=True) if link]
    networks = ", ".join(f"{name} {family.prefix_text(link.network, link.length)}" for name, link in links_by_port)
    raise InputError(f"{place}: next hop {text} is on no link that it may use (links: {networks})")


def _pushed(place: str, route: RouteRecord, mtu: int, smallest: int, null: int) -> bytes:
    """Return the label stack that a route pushes (as for `impose`), empty if it pushes none.

    mtu: of the outgoing port; smallest: the MTU that must remain below the labels; null: the explicit null label of
    the route's protocol, the only explicit null allowed at the bottom (RFC 3032 section 2.1).
    """
    if not route.push:
        if route.ttl != "uniform":
            raise InputError(f"{place}: ttl is of the labels that a route pushes; push is missing")
        return b""
    if route.via is None:
        raise InputError(f"{place}: a route that pushes labels needs via: their next hop (RFC 3031 section 3.10)")
    with told_at(place):
        for label in route.push:
            check_outgoing(label)
    if route.push[-1] < FIRST_FREE and route.push[-1] != null:
        raise InputError(f"{place}: explicit null at the bottom must be {null} for this prefix, got {route.push[-1]}")
    left = mtu - ENTRY * len(route.push)
    if left < smallest:
        raise InputError(
            f"{place}: {len(route.push)} labels leave {left} bytes of the link's MTU of {mtu}, needed are {smallest}"
        )
    return prepared_stack(route.push, route.ttl)
