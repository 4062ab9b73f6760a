"""How the Linux kernel routes what is not plain forwarding: its own addresses, senders, and errors on their way back.

The kernel looks into its table of local addresses (its own, broadcasts) before all routes. As recorded in tests/oracle.
"""

from __future__ import annotations

import numpy as np

from npexplore.golden.ethernet import BROADCAST_MAC
from npexplore.golden.ipv4.addresses import MAX_ADDRESS
from npexplore.golden.router.routes import Hop
from npexplore.golden.router.sides import UNICAST, Side4

MULTICAST, LOOPBACK = 0b1110, 127  # first bits of addresses
MULTICAST_MAC = b"\x01\x00\x5e"  # RFC 1112 section 6.4: the last 23 bits of the address follow


def port_of(side: Side4, address: int) -> int | None:
    """Return the port whose own address or broadcast this is; the kernel finds them before all routes."""
    if address in side.own:
        return side.links.address.index(address)
    if not side.links.is_broadcast(address):
        return None
    return next(port for port, _ in enumerate(side.links.address) if side.links.has(port, address))


def not_a_host(side: Side4, address: int) -> bool:
    """Say whether an address is anything but a host's elsewhere: the kernel stamps the time for all of them."""
    many = address == MAX_ADDRESS or address >> 28 == MULTICAST
    return many or address == 0 or address >> 24 == LOOPBACK or port_of(side, address) is not None


def attached(side: Side4, port: int, source: int) -> bool:
    """Say whether the kernel takes a source for a neighbour on a link: its route there has no next hop.

    A source whose route is by another port is looked up again among the routes by this one.
    """
    hop = side.route(source)
    if hop is None or hop.kind != UNICAST:
        return False
    if hop.port == port:
        return not hop.via
    routes = side.router.routes
    shift = 32 - routes.length.astype(np.int64)
    held = np.flatnonzero(routes.value.astype(np.int64) >> shift == source >> shift)
    last = {int(routes.length[row]): row for row in held.tolist()}  # of equal prefixes the last counts
    for _, row in sorted(last.items(), reverse=True):
        if routes.kind[row] != UNICAST:
            return False
        if routes.port[row] == port:
            return not routes.via[row]
    return False


def reply_route(side: Side4, target: int, source: int | None) -> tuple[Hop | None, bytes | None]:
    """Return the route of an error, and the MAC address if it goes to many; none to the router itself.

    source: its source address where that is settled already; by its port the kernel sends to many.
    """
    many = target == MAX_ADDRESS or target >> 28 == MULTICAST
    if target in side.own or target == 0 or target >> 24 == LOOPBACK:
        return None, None
    mac = BROADCAST_MAC if not many or target == MAX_ADDRESS else MULTICAST_MAC + (target & 0x7FFFFF).to_bytes(3, "big")
    if many and source is not None:
        return Hop(UNICAST, side.links.address.index(source), 0), mac
    port = port_of(side, target)
    if port is not None:
        return Hop(UNICAST, port, 0), mac
    hop = side.route(target)
    if hop is None or hop.kind != UNICAST:
        return None, None
    return (hop, mac) if many else (hop, None)
