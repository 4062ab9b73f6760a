"""Classifies destinations, and decides whether the router may forward to them (RFC 1812 5.2.3, 5.3.4, 5.3.5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_headers as kernels
from npexplore.golden.ipv4.addresses import MAX_ADDRESS, address_column, prefix_mask
from npexplore.golden.reasons import Reason


class Destination(IntEnum):
    """The kind of a destination, relative to the router's links."""

    ELSEWHERE = 0  # another host: the packet is forwarded
    LOCAL = 1  # an address of the router (section 5.2.3)
    LIMITED_BROADCAST = 2  # 255.255.255.255 (section 5.3.5.1)
    DIRECTED_BROADCAST = 3  # host part all ones on an attached network (section 5.3.5.2)
    NETWORK_ZERO = 4  # host part 0 on an attached network (section 4.2.3.1)
    MULTICAST = 5  # 224.0.0.0/4


@dataclass(frozen=True)
class Links:
    """The router's addresses with the prefix lengths of their networks: a row per port, then rows of more addresses.

    port: of each row; empty: there is only the first row of each port.
    """

    address: tuple[int, ...]
    length: tuple[int, ...]
    port: tuple[int, ...] = ()

    @classmethod
    def of(cls, ports: Sequence[Sequence[tuple[int, int]]]) -> Links:
        """Return the links of ports, from the (address, length) pairs of each port."""
        further_rows = [(number, *subnet) for number, subnets in enumerate(ports) for subnet in subnets[1:]]
        rows = [(number, *subnets[0]) for number, subnets in enumerate(ports)] + further_rows
        number, address, length = zip(*rows, strict=True) if rows else ((), (), ())
        return cls(address, length, number if further_rows else ())

    def rows(self, port: int) -> Iterable[int]:
        """Return the rows of a port."""
        return [row for row, number in enumerate(self.port) if number == port] if self.port else (port,)

    def port_of(self, row: int) -> int:
        """Return the port of a row."""
        return self.port[row] if self.port else row

    def holds(self, row: int, address: int) -> bool:
        """Say whether an address is in the network of a row."""
        return (address ^ self.address[row]) & prefix_mask(self.length[row]) == 0

    def is_broadcast(self, address: int) -> bool:
        """Say whether an address is a broadcast of an attached network (RFC 1812 section 4.2.2.11 (d))."""
        return any(
            length < 31 and self.holds(row, address) and address | prefix_mask(length) == MAX_ADDRESS
            for row, length in enumerate(self.length)
        )


def destination_kind(destination: int, links: Links) -> Destination:
    """Return the kind of a destination. Prefixes of 31 and 32 bits have no broadcast addresses (RFC 3021 section 2)."""
    if destination == MAX_ADDRESS:
        return Destination.LIMITED_BROADCAST
    if destination >> 28 == 0b1110:
        return Destination.MULTICAST
    if destination in links.address:
        return Destination.LOCAL
    attached = [prefix_mask(n) for row, n in enumerate(links.length) if n < 31 and links.holds(row, destination)]
    if any(destination | mask == MAX_ADDRESS for mask in attached):
        return Destination.DIRECTED_BROADCAST
    if any(destination & ~mask == 0 for mask in attached):
        return Destination.NETWORK_ZERO
    return Destination.ELSEWHERE


def destination_kinds(destination: NDArray[np.integer], links: Links) -> NDArray[np.uint8]:
    """Return the kind of each destination."""
    address = np.array(links.address, np.uint32)
    mask = np.array([prefix_mask(length) for length in links.length], np.uint32)
    out = np.empty(len(destination), np.uint8)
    kernels.destinations(address_column(destination), address, mask, np.array(links.length, np.int64) < 31, out)
    return out


def delivery(kind: int, link_broadcast: bool, forward_directed: bool = False) -> Reason:
    """Return why a packet to this kind of destination is not forwarded, NONE if it is.

    link_broadcast: it was received as a link-layer broadcast or multicast; then its destination must be an IP broadcast
    or multicast (RFC 1812 section 5.3.4). forward_directed: the switch of RFC 2644 section 2, off by default.
    """
    if kind == Destination.MULTICAST:
        return Reason.MULTICAST
    if kind == Destination.LIMITED_BROADCAST:
        return Reason.LIMITED_BROADCAST
    if kind == Destination.DIRECTED_BROADCAST:
        return Reason.NONE if forward_directed else Reason.DIRECTED_BROADCAST
    if kind == Destination.NETWORK_ZERO:
        return Reason.NETWORK_ZERO
    if link_broadcast:
        return Reason.LINK_BROADCAST
    return Reason.LOCAL_DELIVERY if kind == Destination.LOCAL else Reason.NONE


def delivery_many(
    kind: NDArray[np.integer], link_broadcast: NDArray[np.bool_], forward_directed: bool = False
) -> NDArray[np.uint8]:
    """Return the reason code of each packet."""
    reasons = np.array([[delivery(k, b, forward_directed) for b in (False, True)] for k in Destination], np.uint8)
    return np.asarray(reasons[kind, np.asarray(link_broadcast, np.int64)])
