"""The router's ports in numbers: an IPv4 address on each link, and an IPv6 address on those of a port with `address6`.

Every port with IPv6 also has a link-local address made of its MAC address (RFC 4291 section 2.5.6 and appendix A).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from npexplore.errors import InputError, UnknownNameError, told_at
from npexplore.golden.ipv4.addresses import prefix_text
from npexplore.golden.ipv6.header import SMALLEST_MTU as SMALLEST_MTU6
from npexplore.golden.ipv6.scope import Kind, address_kind
from npexplore.golden.lookup.family import IPV4, IPV6, Family
from npexplore.golden.router.records import PortRecord
from npexplore.units import parse_rate

SMALLEST_MTU = 68  # RFC 791 section 3.2: every module must forward 68 octets unfragmented
LARGEST_MTU = 65_535
LINK_LOCAL = 0xFE80 << 112


class Interface:
    """A router's address on a link, and the length of the link's network."""

    family: ClassVar[Family]
    address: int
    length: int

    @property
    def network(self) -> int:
        """First address of the link's network."""
        return self.address & self.family.mask(self.length)

    @property
    def broadcast(self) -> int | None:
        """The directed broadcast address of the link, None without."""
        return None

    @property
    def own(self) -> tuple[int, ...]:
        """The addresses by which the router itself is meant."""
        return (self.address,)

    def on_link(self, address: int) -> bool:
        """Say whether an address belongs to the link's network."""
        return (address ^ self.address) >> self.family.bits - self.length == 0

    def not_a_neighbour(self, address: int) -> str | None:
        """Return what an address of the link is, if it is none of another node."""
        return "is the router itself" if address in self.own else None


@dataclass(frozen=True)
class Port(Interface):
    """A port in numbers; `rate_bps` is None for a link whose speed does not matter."""

    family = IPV4
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
    def broadcast(self) -> int | None:
        """The directed broadcast address of the link; None for /31 and /32, which have none (RFC 3021)."""
        return self.network | ~IPV4.mask(self.length) & 0xFFFFFFFF if self.length < 31 else None

    def is_host(self, address: int) -> bool:
        """Say whether an address of the link is one that a host may have (RFC 1812 section 4.2.2.11, RFC 3021)."""
        many = self.length < 31 and address in (self.network, self.broadcast)
        return not many and 0 < address >> 24 < 224 and address >> 24 != 127

    def not_a_neighbour(self, address: int) -> str | None:
        """Return what an address of the link is, if it is none of another host."""
        if address == self.address or self.is_host(address):
            return super().not_a_neighbour(address)
        return f"is no host's: first or last address of link {prefix_text(self.network, self.length)}"


@dataclass(frozen=True)
class Port6(Interface):
    """A port's IPv6 address and the length of its link's network; its link-local address."""

    family = IPV6
    address: int
    length: int
    link_local: int

    @property
    def own(self) -> tuple[int, ...]:
        """Its addresses, and the first of the link's network, which is all its routers' (RFC 4291 section 2.6.1)."""
        return (self.address, self.link_local, *([self.network] if self.length < 127 else []))


def link_local(mac: bytes) -> int:
    """Return the link-local address that a MAC address makes (RFC 4291 appendix A)."""
    interface = bytes([mac[0] ^ 2]) + mac[1:3] + b"\xff\xfe" + mac[3:]
    return LINK_LOCAL | int.from_bytes(interface, "big")


def mac_bytes(subject: str, text: str) -> bytes:
    """Return the six bytes of a MAC address; raises InputError."""
    parts = text.split(":")
    if len(parts) != 6 or not all(len(p) == 2 and set(p.lower()) <= set("0123456789abcdef") for p in parts):
        raise InputError(f"{subject} must be six bytes like 02:00:00:00:00:10, got {text!r}")
    mac = bytes(int(part, 16) for part in parts)
    if mac[0] & 1:  # RFC 1812 section 3.3.2: no host has a broadcast or multicast address
        raise InputError(f"{subject} must be that of one station (an even first byte), got {text!r}")
    return mac


def named_port(place: str, name: str, ports: Iterable[Port]) -> Port:
    """Return the port of a name; raises UnknownNameError."""
    names = {port.name: port for port in ports}
    if name not in names:
        raise UnknownNameError(f"{place}: port", name, names)
    return names[name]


def resolve_ports(records: Iterable[PortRecord]) -> tuple[tuple[Port, ...], tuple[Port6 | None, ...]]:
    """Return the ports, and the IPv6 side of each, None for one without; raises InputError naming the port."""
    ports: list[Port] = []
    sides: list[Port6 | None] = []
    for number, record in enumerate(records):
        place = f"port[{number}] {record.name!r}"
        port = _port(place, number, record)
        if any(other.name == port.name for other in ports):
            raise InputError(f"{place}: two ports have the name {port.name!r}")
        side = None if record.address6 is None else _port6(place, record.address6, port)
        for text, link, before in ((record.address, port, ports), (record.address6, side, sides)):
            for name, other in zip((one.name for one in ports), before, strict=True):
                if link and other and (other.on_link(link.network) or link.on_link(other.network)):
                    raise InputError(f"{place}: network {text} overlaps with that of port {name!r}")
        ports.append(port)
        sides.append(side)
    return tuple(ports), tuple(sides)


def _port(place: str, number: int, record: PortRecord) -> Port:
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.:-]*", record.name):
        raise InputError(f"{place}: name must be letters, digits and . : _ -, for it names a file, got {record.name!r}")
    address = _address(place, "address", record.address, IPV4, "10.0.0.1/24")
    if not SMALLEST_MTU <= record.mtu <= LARGEST_MTU:
        raise InputError(f"{place}: mtu must be {SMALLEST_MTU} to {LARGEST_MTU} bytes, got {record.mtu}")
    port = Port(
        number, record.name, *address, record.mtu,
        mac_bytes(f"{place}: mac", record.mac), mac_bytes(f"{place}: peer_mac", record.peer_mac),
        None if record.rate is None else _bit_rate(place, record.rate), record.listed_only,
    )  # fmt: skip
    if not port.is_host(port.address):
        raise InputError(f"{place}: address must be that of a host on its network, got {record.address!r}")
    return port


def _port6(place: str, text: str, port: Port) -> Port6:
    side = Port6(*_address(place, "address6", text, IPV6, "2001:db8::1/64"), link_local(port.mac))
    if address_kind(side.address) is not Kind.ROUTABLE or (side.address == side.network and side.length < 127):
        raise InputError(f"{place}: address6 must be that of a node on its network, got {text!r}")
    if port.mtu < SMALLEST_MTU6:
        raise InputError(f"{place}: a link with IPv6 has an mtu of at least {SMALLEST_MTU6} (RFC 8200), got {port.mtu}")
    return side


def _address(place: str, key: str, text: str, family: Family, example: str) -> tuple[int, int]:
    """Return an address and the length of its link's network."""
    head, slash, tail = text.partition("/")
    if not slash or not tail.isdigit() or not 1 <= int(tail) <= family.bits:
        raise InputError(f"{place}: {key} must be like {example}, got {text!r}")
    with told_at(place):
        return family.number(head), int(tail)


def _bit_rate(place: str, text: str) -> float:
    with told_at(place):
        value, unit = parse_rate(text)
    if unit != "bit/s":
        raise InputError(f"{place}: rate must be in bits per second, got {text!r}")
    return value
