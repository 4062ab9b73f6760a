"""Resolves the router's ports to numbers: each has an IPv4 address on its link, and an IPv6 address with `address6`.

Every port with IPv6 also has a link-local address formed from its MAC address (RFC 4291 section 2.5.6, appendix A).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from npexplore.errors import InputError, UnknownNameError, told_at
from npexplore.golden.ipv4.addresses import MAX_ADDRESS, prefix_text
from npexplore.golden.ipv6.header import SMALLEST_MTU as SMALLEST_MTU6
from npexplore.golden.ipv6.scope import Kind, address_kind
from npexplore.golden.lookup.family import IPV4, IPV6, Family
from npexplore.golden.prefixes import is_length
from npexplore.golden.router.records import PortRecord
from npexplore.units import parse_rate

SMALLEST_MTU = 68  # RFC 791 section 3.2: every module must forward 68 octets unfragmented
LARGEST_MTU = 65_535
LAST_VLAN = 4094
LINK_LOCAL = 0xFE80 << 112
Subnet = tuple[int, int]  # an address, and the prefix length of its network


class Interface:
    """A router's address on a link, and the prefix length of the link's network; `further` are additional pairs."""

    family: ClassVar[Family]
    address: int
    length: int
    further: tuple[Subnet, ...]

    @property
    def network(self) -> int:
        """First address of the link's network."""
        return self.address & self.family.mask(self.length)

    @property
    def subnets(self) -> tuple[Subnet, ...]:
        """All its addresses with the prefix lengths of their networks, beginning with `address`."""
        return ((self.address, self.length), *self.further)

    @property
    def networks(self) -> tuple[Subnet, ...]:
        """The different networks of `subnets`, each with the router's first address in it."""
        first_subnet: dict[Subnet, Subnet] = {}
        for address, length in self.subnets:
            first_subnet.setdefault((address & self.family.mask(length), length), (address, length))
        return tuple(first_subnet.values())

    @property
    def broadcasts(self) -> frozenset[int]:
        """The directed broadcast addresses of the link."""
        return frozenset()

    @property
    def own(self) -> tuple[int, ...]:
        """The addresses that belong to the router itself."""
        return tuple(address for address, _ in self.subnets)

    def on_link(self, address: int) -> bool:
        """Say whether an address belongs to a network of the link."""
        return any((address ^ local) >> self.family.bits - length == 0 for local, length in self.subnets)

    def source_towards(self, via: int) -> int:
        """Return its address in the network of a next hop, its first address for a next hop outside the link."""
        bits = self.family.bits
        return next((local for local, length in self.networks if (via ^ local) >> bits - length == 0), self.address)

    def not_a_neighbour(self, address: int) -> str | None:
        """Return why an address of the link is not a neighbour's, None if it may be one."""
        return "is the router itself" if address in self.own else None


@dataclass(frozen=True)
class Port(Interface):
    """A port in numbers. rate_bps: None for a link without a rate.

    vlan: the number of its VLAN, which port number `on` carries; 0: not a VLAN.
    """

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
    further: tuple[Subnet, ...] = ()
    on: int = -1
    vlan: int = 0

    @property
    def broadcasts(self) -> frozenset[int]:
        """The directed broadcast addresses of the link; /31 and /32 have none (RFC 3021)."""
        return frozenset(address | ~IPV4.mask(n) & MAX_ADDRESS for address, n in self.subnets if n < 31)

    def is_host(self, address: int) -> bool:
        """Say whether a host may have this address of the link (RFC 1812 section 4.2.2.11, RFC 3021)."""
        network_addresses = {local & IPV4.mask(length) for local, length in self.subnets if length < 31}
        is_broadcast = address in network_addresses or address in self.broadcasts
        return not is_broadcast and 0 < address >> 24 < 224 and address >> 24 != 127

    def not_a_neighbour(self, address: int) -> str | None:
        """Return why an address of the link is not a neighbour's, None if it may be one."""
        if address in self.own or self.is_host(address):
            return super().not_a_neighbour(address)
        local, length = next(net for net in self.subnets if (address ^ net[0]) & IPV4.mask(net[1]) == 0)
        return f"is no host's: first or last address of link {prefix_text(local & IPV4.mask(length), length)}"


@dataclass(frozen=True)
class Port6(Interface):
    """A port's IPv6 address and the length of its link's network; its link-local address."""

    family = IPV6
    address: int
    length: int
    link_local: int
    further: tuple[Subnet, ...] = ()

    @property
    def own(self) -> tuple[int, ...]:
        """Its addresses, and the Subnet-Router anycast address of each network (RFC 4291 section 2.6.1)."""
        anycast = (address & IPV6.mask(length) for address, length in self.subnets if length < 127)
        return (*super().own, self.link_local, *anycast)


def link_local(mac: bytes) -> int:
    """Return the link-local address formed from a MAC address (RFC 4291 appendix A)."""
    interface = bytes([mac[0] ^ 2]) + mac[1:3] + b"\xff\xfe" + mac[3:]
    return LINK_LOCAL | int.from_bytes(interface, "big")


def mac_bytes(subject: str, text: str) -> bytes:
    """Return the six bytes of a MAC address; raises InputError."""
    parts = text.split(":")
    if len(parts) != 6 or not all(len(octet) == 2 and set(octet.lower()) <= set("0123456789abcdef") for octet in parts):
        raise InputError(f"{subject} must be six bytes like 02:00:00:00:00:10, got {text!r}")
    mac = bytes(int(part, 16) for part in parts)
    if mac[0] & 1:  # RFC 1812 section 3.3.2: no host has a broadcast or multicast address
        raise InputError(f"{subject} must be that of one station (an even first byte), got {text!r}")
    return mac


def named_port(place: str, name: str, ports: Iterable[Port]) -> Port:
    """Return the port with a name; raises UnknownNameError."""
    names = {port.name: port for port in ports}
    if name not in names:
        raise UnknownNameError(f"{place}: port", name, names)
    return names[name]


def resolve_ports(records: Iterable[PortRecord]) -> tuple[tuple[Port, ...], tuple[Port6 | None, ...]]:
    """Return the ports, and the IPv6 part of each (None without IPv6); raises InputError naming the port."""
    ports: list[Port] = []
    sides: list[Port6 | None] = []
    for number, record in enumerate(records):
        place = f"port[{number}] {record.name!r}"
        port = _port(place, number, record, ports)
        if any(earlier.name == port.name for earlier in ports):
            raise InputError(f"{place}: two ports have the name {port.name!r}")
        side = None if record.address6 is None else _port6(place, record.address6, port)
        port, side = _with_further(place, record.addresses, port, side)
        for link, earlier_links in ((port, ports), (side, sides)):
            for name, earlier in zip((port_of_link.name for port_of_link in ports), earlier_links, strict=True):
                subnets = link.subnets if link and earlier else ()
                for address, length in subnets:
                    assert link is not None
                    assert earlier is not None
                    if any(_overlap(link.family, (address, length), net) for net in earlier.subnets):
                        text = f"{link.family.text(address)}/{length}"
                        raise InputError(f"{place}: network {text} overlaps with that of port {name!r}")
        ports.append(port)
        sides.append(side)
    return tuple(ports), tuple(sides)


def _port(place: str, number: int, record: PortRecord, before: Sequence[Port]) -> Port:
    """Return a record's port; before: the ports of earlier records."""
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.:-]*", record.name):
        raise InputError(f"{place}: name must be letters, digits and . : _ -, for it names a file, got {record.name!r}")
    address = _address(place, "address", record.address, IPV4, "10.0.0.1/24")
    if not SMALLEST_MTU <= record.mtu <= LARGEST_MTU:
        raise InputError(f"{place}: mtu must be {SMALLEST_MTU} to {LARGEST_MTU} bytes, got {record.mtu}")
    carrier = _carrier(place, record, before)
    macs: list[bytes] = []
    for key, text in (("mac", record.mac), ("peer_mac", record.peer_mac)):
        if text is None and carrier is None:
            raise InputError(f"{place}: {key} is missing")
        inherited = b"" if carrier is None else carrier.mac if key == "mac" else carrier.peer_mac
        macs.append(inherited if text is None else mac_bytes(f"{place}: {key}", text))
    port = Port(
        number, record.name, *address, record.mtu, macs[0], macs[1],
        None if record.rate is None else _bit_rate(place, record.rate), record.listed_only,
        on=-1 if carrier is None else carrier.number, vlan=record.vlan or 0,
    )  # fmt: skip
    if not port.is_host(port.address):
        raise InputError(f"{place}: address must be that of a host on its network, got {record.address!r}")
    return port


def _carrier(place: str, record: PortRecord, before: Sequence[Port]) -> Port | None:
    """Return the port that carries a record's VLAN, None if the record is no VLAN."""
    if record.vlan is None and record.on is None:
        return None
    if record.vlan is None or record.on is None:
        raise InputError(f"{place}: a VLAN needs both `vlan` and the port that it is `on`")
    carrier = named_port(place, record.on, before)
    if carrier.vlan:
        raise InputError(f"{place}: a VLAN must be on a port, {record.on!r} is a VLAN itself")
    if not 1 <= record.vlan <= LAST_VLAN:
        raise InputError(f"{place}: vlan must be 1 to {LAST_VLAN} (IEEE 802.1Q clause 9.6), got {record.vlan}")
    if same_vlan := [port.name for port in before if (port.on, port.vlan) == (carrier.number, record.vlan)]:
        raise InputError(f"{place}: VLAN {record.vlan} of port {record.on!r} is that of {same_vlan[0]!r} already")
    if record.mtu > carrier.mtu:
        raise InputError(f"{place}: mtu must be that of port {record.on!r} at most, {carrier.mtu}, got {record.mtu}")
    if record.rate is not None:
        raise InputError(f"{place}: a VLAN has the rate of its port; rate must not be given")
    return carrier


def _port6(place: str, text: str, port: Port) -> Port6:
    """Return the IPv6 part of a port."""
    side = Port6(*_address(place, "address6", text, IPV6, "2001:db8::1/64"), link_local(port.mac))
    if address_kind(side.address) is not Kind.ROUTABLE or (side.address == side.network and side.length < 127):
        raise InputError(f"{place}: address6 must be that of a node on its network, got {text!r}")
    if port.mtu < SMALLEST_MTU6:
        raise InputError(f"{place}: a link with IPv6 has an mtu of at least {SMALLEST_MTU6} (RFC 8200), got {port.mtu}")
    return side


def _overlap(family: Family, one: Subnet, other: Subnet) -> bool:
    return (one[0] ^ other[0]) & family.mask(min(one[1], other[1])) == 0


def _with_further(place: str, texts: Iterable[str], port: Port, side: Port6 | None) -> tuple[Port, Port6 | None]:
    """Return a port with its additional addresses. One without a length must lie in a network of the port."""
    for text in texts:
        link: Interface | None = side if ":" in text else port
        if link is None:
            raise InputError(f"{place}: addresses has {text!r}, but the port has no address6")
        family, nets = link.family, link.subnets
        if "/" in text:
            net = _address(place, "addresses", text, family, "10.0.9.1/24")
        else:
            with told_at(place):
                number = family.number(text)
            lengths = [length for local, length in nets if (local ^ number) & family.mask(length) == 0]
            if not lengths:
                networks = ", ".join(
                    family.prefix_text(local & family.mask(length), length) for local, length in link.networks
                )
                raise InputError(f"{place}: address {text} without a length is in no network of its link ({networks})")
            net = number, lengths[0]
        if net[0] in link.own:
            raise InputError(f"{place}: the port has the address {text} already")
        if any(_overlap(family, net, subnet) and (net[1] != subnet[1]) for subnet in nets):
            raise InputError(f"{place}: network of {text} overlaps with another one of the port")
        changed: Interface
        if isinstance(link, Port):
            changed = port = replace(port, further=(*port.further, net))
            is_valid = changed.is_host(net[0])
        else:
            assert side is not None
            changed = side = replace(side, further=(*side.further, net))
            anycast = net[0] == net[0] & family.mask(net[1]) and net[1] < 127
            is_valid = address_kind(net[0]) is Kind.ROUTABLE and not anycast
        if not is_valid:
            raise InputError(f"{place}: address must be that of a host on its network, got {text!r}")
    return port, side


def _address(place: str, key: str, text: str, family: Family, example: str) -> tuple[int, int]:
    """Return an address and the length of its link's network."""
    head, slash, tail = text.partition("/")
    if not slash or not is_length(tail, family.bits) or tail == "0":
        raise InputError(f"{place}: {key} must be like {example}, got {text!r}")
    with told_at(place):
        return family.number(head), int(tail)


def _bit_rate(place: str, text: str) -> float:
    with told_at(place):
        value, unit = parse_rate(text)
    if unit != "bit/s":
        raise InputError(f"{place}: rate must be in bits per second, got {text!r}")
    return value
