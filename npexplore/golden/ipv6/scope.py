"""Classifies IPv6 addresses by whether they may be forwarded (RFC 4291 section 2).

Special addresses are the unspecified address `::` (2.5.2), the loopback `::1` (2.5.3), link-local unicast `fe80::/10`
(2.5.6: routers must not forward packets from or to it), and multicast `ff00::/8` (2.7: never a source).
"""

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_ipv6 as kernels
from npexplore.golden.ipv6.addresses import address_column
from npexplore.golden.reasons import Reason


class Kind(IntEnum):
    """The kind of an address, for a forwarding router."""

    ROUTABLE = 0
    UNSPECIFIED = 1
    LOOPBACK = 2
    LINK_LOCAL = 3
    MULTICAST = 4


def address_kind(address: int) -> Kind:
    """Return the kind of an address."""
    if address < 2:
        return Kind.LOOPBACK if address else Kind.UNSPECIFIED
    if address >> 120 == 0xFF:
        return Kind.MULTICAST
    return Kind.LINK_LOCAL if address >> 118 == 0xFE80 >> 6 else Kind.ROUTABLE


def address_kinds(address: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Return the kind of each address."""
    out = np.empty(len(address), np.uint8)
    kernels.kinds(address_column(address), out)
    return out


def martian(source: int, destination: int) -> Reason:
    """Return MARTIAN_SOURCE6, else MARTIAN_DESTINATION6, else NONE."""
    if address_kind(source) in (Kind.UNSPECIFIED, Kind.LOOPBACK, Kind.MULTICAST):
        return Reason.MARTIAN_SOURCE6
    if address_kind(destination) in (Kind.UNSPECIFIED, Kind.LOOPBACK):
        return Reason.MARTIAN_DESTINATION6
    return Reason.NONE


def martian_many(source: NDArray[np.uint64], destination: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Return the reason code of each pair of addresses."""
    sources, destinations = address_kinds(source), address_kinds(destination)
    out = np.where(np.isin(destinations, (Kind.UNSPECIFIED, Kind.LOOPBACK)), Reason.MARTIAN_DESTINATION6, Reason.NONE)
    bad_source = np.isin(sources, (Kind.UNSPECIFIED, Kind.LOOPBACK, Kind.MULTICAST))
    return np.where(bad_source, Reason.MARTIAN_SOURCE6, out).astype(np.uint8)
