"""A router's configuration (ROUTER.toml): ports, neighbours, routes, profile; read, checked, and resolved to numbers.

Every port has an address on its link, and that link's network is a route of its own. A route without a port goes out
where its next hop is a neighbour (RFC 1812 section 2.2.5.1). docs/golden.md describes every key.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from npexplore.errors import InputError, UnknownNameError, told_at
from npexplore.golden.ipv4.addresses import address_number, address_text, mask_of, prefix_pair, prefix_text
from npexplore.golden.mpls.stack import EXPLICIT_NULL4
from npexplore.golden.router.policy import OFF, Policy
from npexplore.golden.router.pushed import pushed_stack
from npexplore.golden.router.records import KINDS as KINDS
from npexplore.golden.router.records import LabelRecord as LabelRecord
from npexplore.golden.router.records import NeighbourRecord as NeighbourRecord
from npexplore.golden.router.records import PortRecord as PortRecord
from npexplore.golden.router.records import Profile as Profile
from npexplore.golden.router.records import RouteRecord as RouteRecord
from npexplore.golden.router.records import RouterFile as RouterFile
from npexplore.golden.router.route_file import route_lines
from npexplore.golden.router.six import Six, resolve_labels, resolve_six
from npexplore.paths import share
from npexplore.toml import decode
from npexplore.units import parse_rate

if TYPE_CHECKING:
    from npexplore.golden.diffserv.edge import Edge
    from npexplore.golden.mpls.switch import LabelMap

CONNECTED, NO_PORT = -1, -1
SMALLEST_MTU = 68  # RFC 791 section 3.2: every module must forward 68 octets unfragmented
LARGEST_MTU = 65_535


@dataclass(frozen=True)
class Port:
    """A port in numbers; `rate_bps` is None for a link whose speed does not matter."""

    number: int
    name: str
    address: int
    length: int
    mtu: int
    mac: bytes
    peer_mac: bytes
    rate_bps: float | None = None
    listed_only: bool = False

    @property
    def network(self) -> int:
        """First address of the link's network."""
        return self.address & mask_of(self.length)

    @property
    def broadcast(self) -> int | None:
        """The directed broadcast address of the link; None for /31 and /32, which have none (RFC 3021)."""
        return self.network | ~mask_of(self.length) & 0xFFFFFFFF if self.length < 31 else None

    def on_link(self, address: int) -> bool:
        """Say whether an address belongs to the link's network."""
        return address & mask_of(self.length) == self.network


@dataclass(frozen=True)
class RouteColumns:
    """Routes as columns: prefix (value, length), kind (index of KINDS), port, next hop (0: the destination itself).

    stack: the place in Router.stacks of the labels that a route pushes; None: none does.
    """

    value: NDArray[np.uint32]
    length: NDArray[np.uint8]
    kind: NDArray[np.uint8]
    port: NDArray[np.int16]
    via: NDArray[np.uint32]
    stack: NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return len(self.value)


@dataclass(frozen=True)
class Router:
    """The configuration in numbers. `routes` begins with the ports' networks; of equal prefixes the last counts.

    six: its IPv6 side; labels: its incoming label map; stacks: those its IPv4 routes push, the first one empty.
    """

    ports: tuple[Port, ...]
    routes: RouteColumns
    neighbours: dict[int, bytes] = field(default_factory=dict)
    profile: Profile = "rfc1812"
    edge: Edge | None = field(default=None, compare=False)
    policy: Policy = OFF
    six: Six | None = None
    labels: LabelMap | None = None
    stacks: tuple[bytes, ...] = (b"",)

    def mac_of(self, port: int, address: int) -> bytes:
        """Return the MAC address of a neighbour: its own, else the one at the other end of the link."""
        return self.neighbours.get(address, self.ports[port].peer_mac)

    def has_neighbour(self, port: int, address: int) -> bool:
        """Say whether somebody on a link has an address: anybody may, unless the neighbours are listed."""
        return not self.ports[port].listed_only or address in self.neighbours


def router_schema() -> dict[str, Any]:
    """Return the JSON Schema of ROUTER.toml."""
    return msgspec.json.schema(RouterFile)


def load_router(path: str | Path) -> Router:
    """Return a router by name (models/routers) or path; raises InputError naming file, place, rule and value."""
    file = Path(path)
    if file.suffix != ".toml" and not file.exists():
        folder = share("models", "routers")
        file = folder / f"{path}.toml"
        if not file.exists():
            raise UnknownNameError("router", str(path), [one.stem for one in folder.glob("*.toml")])
    try:
        record: RouterFile = decode(file.read_bytes(), RouterFile, file)
        lines = route_lines(file.parent / record.routes.file) if record.routes else []
    except OSError as error:
        raise InputError(f"{error.filename or path}: {error.strerror or error}") from None
    try:
        router = resolve(record, lines)
    except InputError as error:
        raise InputError(f"{file.name}: {error}") from None
    if record.diffserv is None:
        return router
    from npexplore.golden.diffserv.edge import load_edge

    return replace(router, edge=load_edge(file.parent / record.diffserv.rules, router.ports))


def resolve(record: RouterFile, more: Iterable[tuple[str, RouteRecord]] = ()) -> Router:
    """Return a router in numbers. more: further routes with the place they come from. Raises InputError."""
    if not record.port:
        raise InputError("port: a router needs at least one port, got none")
    ports: list[Port] = []
    for k, port in enumerate(record.port):
        ports.append(_port(k, port, ports))
    neighbours, neighbours6 = {}, []
    for k, neighbour in enumerate(record.neighbour):
        place = f"neighbour[{k}]"
        if ":" in neighbour.address:
            neighbours6.append((place, neighbour, mac_bytes(f"{place}: mac", neighbour.mac)))
            continue
        address = _checked(place, neighbour.address)
        reached = [port for port in ports if port.on_link(address)]
        if not reached:
            raise InputError(f"{place}: address must be on the link of a port, got {neighbour.address}")
        _another_host(f"{place}: address", address, reached[0])
        if address in neighbours:
            raise InputError(f"{place}: {neighbour.address} has a MAC address already")
        neighbours[address] = mac_bytes(f"{place}: mac", neighbour.mac)
    rows = [(port.network, port.length, 0, port.number, 0, 0) for port in ports]
    stacks = {b"": 0}
    listed = [(f"route[{k}]", route) for k, route in enumerate(record.route)]
    wanted: tuple[list[tuple[str, RouteRecord]], ...] = ([], [])
    for place, route in chain(listed, more):
        wanted[":" in route.prefix].append((place, route))
    for place, route in wanted[0]:
        stack, numbers = _route(place, route, ports)
        rows.append((*numbers, stacks.setdefault(stack, len(stacks))))
    six = resolve_six(record.port, ports, neighbours6, wanted[1])
    columns = np.array(rows, dtype=np.int64).reshape(-1, 6).T
    types = (np.uint32, np.uint8, np.uint8, np.int16, np.uint32, np.int32)
    routes = RouteColumns(*(column.astype(kind) for column, kind in zip(columns, types, strict=True)))
    record.policy.limit()  # raises what is wrong with it
    router = Router(
        tuple(ports), routes, neighbours, record.profile, policy=record.policy, six=six, stacks=tuple(stacks)
    )
    return replace(router, labels=resolve_labels(record.label, router))


def mac_bytes(subject: str, text: str) -> bytes:
    """Return the six bytes of a MAC address; raises InputError."""
    parts = text.split(":")
    if len(parts) != 6 or not all(len(p) == 2 and set(p.lower()) <= set("0123456789abcdef") for p in parts):
        raise InputError(f"{subject} must be six bytes like 02:00:00:00:00:10, got {text!r}")
    mac = bytes(int(part, 16) for part in parts)
    if mac[0] & 1:  # RFC 1812 section 3.3.2: no host has a broadcast or multicast address
        raise InputError(f"{subject} must be that of one station (an even first byte), got {text!r}")
    return mac


def _port(number: int, record: PortRecord, before: list[Port]) -> Port:
    place = f"port[{number}] {record.name!r}"
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.:-]*", record.name):
        raise InputError(f"{place}: name must be letters, digits and . : _ -, for it names a file, got {record.name!r}")
    head, slash, tail = record.address.partition("/")
    if not slash or not tail.isdigit() or not 1 <= int(tail) <= 32:
        raise InputError(f"{place}: address must be like 10.0.0.1/24, got {record.address!r}")
    if not SMALLEST_MTU <= record.mtu <= LARGEST_MTU:
        raise InputError(f"{place}: mtu must be {SMALLEST_MTU} to {LARGEST_MTU} bytes, got {record.mtu}")
    port = Port(
        number, record.name, _checked(place, head), int(tail), record.mtu,
        mac_bytes(f"{place}: mac", record.mac), mac_bytes(f"{place}: peer_mac", record.peer_mac),
        None if record.rate is None else _bit_rate(place, record.rate), record.listed_only,
    )  # fmt: skip
    if not _is_host(port, port.address):
        raise InputError(f"{place}: address must be that of a host on its network, got {record.address!r}")
    for other in before:
        if other.name == port.name:
            raise InputError(f"{place}: two ports have the name {port.name!r}")
        if other.on_link(port.network) or port.on_link(other.network):
            raise InputError(f"{place}: network {record.address} overlaps with that of port {other.name!r}")
    return port


def _is_host(port: Port, address: int) -> bool:
    """Say whether an address of a link is one that a host may have (RFC 1812 section 4.2.2.11, RFC 3021)."""
    many = port.length < 31 and address in (port.network, port.broadcast)
    return not many and 0 < address >> 24 < 224 and address >> 24 != 127


def _another_host(subject: str, address: int, port: Port) -> None:
    if address == port.address:
        raise InputError(f"{subject} {address_text(address)} is the router itself")
    if not _is_host(port, address):
        link = prefix_text(port.network, port.length)
        raise InputError(f"{subject} {address_text(address)} is no host's: first or last address of link {link}")


def _bit_rate(place: str, text: str) -> float:
    with told_at(place):
        value, unit = parse_rate(text)
    if unit != "bit/s":
        raise InputError(f"{place}: rate must be in bits per second, got {text!r}")
    return value


def _checked(place: str, address: str) -> int:
    with told_at(place):
        return address_number(address)


def _route(place: str, route: RouteRecord, ports: list[Port]) -> tuple[bytes, tuple[int, int, int, int, int]]:
    """Return the labels to push, and (value, length, kind, port, next hop)."""
    with told_at(place):
        value, length = prefix_pair(route.prefix)
    if route.kind != "unicast":
        if route.via is not None or route.port is not None or route.push:
            raise InputError(f"{place}: a route of kind {route.kind} has neither via nor port, and pushes nothing")
        return b"", (value, length, KINDS.index(route.kind), NO_PORT, 0)
    if route.via is None and route.port is None:
        raise InputError(f"{place}: {prefix_text(value, length)} needs via or port, or a kind other than unicast")
    names = {port.name: port for port in ports}
    if route.port is not None and route.port not in names:
        raise UnknownNameError(f"{place}: port", route.port, names)
    if route.via is None:
        port = names[str(route.port)]
        stack = pushed_stack(place, route, port.mtu, smallest=SMALLEST_MTU, null=EXPLICIT_NULL4)
        return stack, (value, length, 0, port.number, 0)
    via = _checked(place, route.via)
    reached = [port for port in ports if port.on_link(via)]
    if not reached or (route.port is not None and reached[0].name != route.port):
        links = ", ".join(f"{port.name} {prefix_text(port.network, port.length)}" for port in ports)
        raise InputError(f"{place}: next hop {address_text(via)} is on no link that it may use (links: {links})")
    _another_host(f"{place}: next hop", via, reached[0])
    stack = pushed_stack(place, route, reached[0].mtu, smallest=SMALLEST_MTU, null=EXPLICIT_NULL4)
    return stack, (value, length, 0, reached[0].number, via)
