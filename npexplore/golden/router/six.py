"""The IPv6 side of a router's configuration, and its label map, resolved to numbers.

A port with `address6` has an IPv6 network, a route of its own. Prefixes and addresses with a colon are IPv6. Every port
also has a link-local address made of its MAC address (RFC 4291 section 2.5.6 and appendix A). A next hop that is
link-local needs its port beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from npexplore.errors import InputError, UnknownNameError, told_at
from npexplore.golden.ipv4.addresses import address_number as address_number4
from npexplore.golden.ipv6.addresses import address_number, address_text, mask_of, prefix_pair, prefix_text
from npexplore.golden.ipv6.header import SMALLEST_MTU
from npexplore.golden.ipv6.scope import Kind, address_kind
from npexplore.golden.mpls.stack import EXPLICIT_NULL6
from npexplore.golden.mpls.switch import HERE, LabelEntry, LabelMap
from npexplore.golden.router.pushed import pushed_stack
from npexplore.golden.router.records import KINDS, LabelRecord, NeighbourRecord, PortRecord, RouteRecord

if TYPE_CHECKING:
    from npexplore.golden.router.configuration import Port, Router

LINK_LOCAL = 0xFE80 << 112
NO_PORT = -1


class Port6(NamedTuple):
    """A port's IPv6 address and the length of its link's network; its link-local address."""

    address: int
    length: int
    link_local: int

    @property
    def network(self) -> int:
        """First address of the link's network, which is all its routers' (RFC 4291 section 2.6.1)."""
        return self.address & mask_of(self.length)

    def on_link(self, address: int) -> bool:
        """Say whether an address belongs to the link's network."""
        return address & mask_of(self.length) == self.network


class Route6(NamedTuple):
    """A route: prefix, kind (index of KINDS), port, next hop (0: the destination itself), stack to push (`impose`)."""

    value: int
    length: int
    kind: int
    port: int
    via: int
    stack: bytes = b""


@dataclass(frozen=True)
class Six:
    """IPv6 of a router: a Port6 for each port that has it; routes begin with the ports' networks, the last counts."""

    ports: tuple[Port6 | None, ...]
    routes: tuple[Route6, ...]
    neighbours: dict[int, bytes] = field(default_factory=dict)


def link_local(mac: bytes) -> int:
    """Return the link-local address that a MAC address makes (RFC 4291 appendix A)."""
    interface = bytes([mac[0] ^ 2]) + mac[1:3] + b"\xff\xfe" + mac[3:]
    return LINK_LOCAL | int.from_bytes(interface, "big")


def resolve_six(
    records: Sequence[PortRecord], ports: Sequence[Port], neighbours: Iterable[tuple[str, NeighbourRecord, bytes]],
    routes: Iterable[tuple[str, RouteRecord]],
) -> Six | None:  # fmt: skip
    """Return the IPv6 side, None if no port has an address; raises InputError naming the place."""
    found: list[Port6 | None] = []
    for record, port in zip(records, ports, strict=True):
        found.append(_port(record, port, found))
    links = {}
    for place, neighbour, mac in neighbours:
        address = _checked(place, neighbour.address)
        if not any(six and six.on_link(address) for six in found):
            raise InputError(f"{place}: address must be on the link of a port, got {neighbour.address}")
        links[address] = mac
    rows = [Route6(six.network, six.length, 0, k, 0) for k, six in enumerate(found) if six]
    rows += [_route(place, route, ports, found) for place, route in routes]
    return Six(tuple(found), tuple(rows), links) if any(found) or rows else None


def _port(record: PortRecord, port: Port, before: Sequence[Port6 | None]) -> Port6 | None:
    if record.address6 is None:
        return None
    place = f"port[{port.number}] {port.name!r}"
    head, slash, tail = record.address6.partition("/")
    if not slash or not tail.isdigit() or not 1 <= int(tail) <= 128:
        raise InputError(f"{place}: address6 must be like 2001:db8::1/64, got {record.address6!r}")
    six = Port6(_checked(place, head), int(tail), link_local(port.mac))
    if address_kind(six.address) is not Kind.ROUTABLE or (six.address == six.network and six.length < 127):
        raise InputError(f"{place}: address6 must be that of a node on its network, got {record.address6!r}")
    if port.mtu < SMALLEST_MTU:
        raise InputError(f"{place}: a link with IPv6 has an mtu of at least {SMALLEST_MTU} (RFC 8200), got {port.mtu}")
    for other in before:
        if other and (other.on_link(six.network) or six.on_link(other.network)):
            raise InputError(f"{place}: network {record.address6} overlaps with that of another port")
    return six


def _checked(place: str, address: str) -> int:
    with told_at(place):
        return address_number(address)


def _named(place: str, name: str | None, ports: Sequence[Port]) -> Port | None:
    names = {port.name: port for port in ports}
    if name is not None and name not in names:
        raise UnknownNameError(f"{place}: port", name, names)
    return None if name is None else names[name]


def _route(place: str, route: RouteRecord, ports: Sequence[Port], found: Sequence[Port6 | None]) -> Route6:
    with told_at(place):
        value, length = prefix_pair(route.prefix)
    if route.kind != "unicast":
        if route.via is not None or route.port is not None or route.push:
            raise InputError(f"{place}: a route of kind {route.kind} has neither via nor port, and pushes nothing")
        return Route6(value, length, KINDS.index(route.kind), NO_PORT, 0)
    port = _named(place, route.port, ports)
    if route.via is None:
        if port is None:
            raise InputError(f"{place}: {prefix_text(value, length)} needs via or port, or a kind other than unicast")
        if found[port.number] is None:
            raise InputError(f"{place}: port {port.name!r} has no address6")
        stack = pushed_stack(place, route, port.mtu, smallest=SMALLEST_MTU, null=EXPLICIT_NULL6)
        return Route6(value, length, 0, port.number, 0, stack)
    via = _checked(place, route.via)
    number = _reached(place, via, port, found)
    stack = pushed_stack(place, route, ports[number].mtu, smallest=SMALLEST_MTU, null=EXPLICIT_NULL6)
    return Route6(value, length, 0, number, via, stack)


def _reached(place: str, via: int, port: Port | None, found: Sequence[Port6 | None]) -> int:
    """Return the port on whose link a next hop is."""
    if address_kind(via) is Kind.LINK_LOCAL:
        if port is None or found[port.number] is None:
            raise InputError(f"{place}: link-local next hop {address_text(via)} needs a port with address6 beside it")
        return port.number
    reached = [k for k, six in enumerate(found) if six and six.on_link(via)]
    if not reached or (port is not None and reached[0] != port.number):
        raise InputError(f"{place}: next hop {address_text(via)} is on no link that it may use")
    own = found[reached[0]]
    if own and via in (own.address, own.network):
        raise InputError(f"{place}: next hop {address_text(via)} is the router itself")
    return reached[0]


def resolve_labels(records: Sequence[LabelRecord], router: Router) -> LabelMap | None:
    """Return the incoming label map, None without labels; raises InputError naming the place."""
    entries: dict[int, LabelEntry] = {}
    for k, record in enumerate(records):
        place = f"label[{k}] {record.label}"
        if record.label in entries:
            raise InputError(f"{place}: the label has an entry already")
        port, mac = _next_hop(place, record, router)
        entries[record.label] = LabelEntry(tuple(record.labels), port, mac, record.ttl == "uniform")
        with told_at(place):
            LabelMap.of({record.label: entries[record.label]})
    return LabelMap.of(entries) if entries else None


def _next_hop(place: str, record: LabelRecord, router: Router) -> tuple[int, bytes]:
    port = _named(place, record.port, router.ports)
    if record.via is None:
        return (HERE, bytes(6)) if port is None else (port.number, port.peer_mac)
    if ":" in record.via:
        via = _checked(place, record.via)
        six = router.six or Six(tuple(None for _ in router.ports), ())
        number = _reached(place, via, port, six.ports)
        return number, six.neighbours.get(via, router.ports[number].peer_mac)
    with told_at(place):
        address = address_number4(record.via)
    reached = [one for one in router.ports if one.on_link(address) and port in (None, one)]
    if not reached or address == reached[0].address:
        raise InputError(f"{place}: next hop {record.via} is on no link that it may use")
    return reached[0].number, router.mac_of(reached[0].number, address)
