"""The Linux kernel's routing beyond forwarding: its own addresses, source checks, and routes of messages.

The kernel looks up its local table (own addresses, broadcasts) before all routes. As recorded in tests/oracle.
"""

from __future__ import annotations

from npexplore.golden.ethernet import BROADCAST_MAC
from npexplore.golden.ipv4.addresses import MAX_ADDRESS
from npexplore.golden.reasons import Reason
from npexplore.golden.router.flow_hash import Flow
from npexplore.golden.router.routes import Hop
from npexplore.golden.router.sides import UNICAST, Side4

MULTICAST, LOOPBACK = 0b1110, 127  # first bits of addresses
MULTICAST_MAC = b"\x01\x00\x5e"  # RFC 1112 section 6.4: the last 23 bits of the address follow
STRICT = 1  # value of rp_filter


def row_of(side: Side4, address: int) -> int | None:
    """Return the row of `side.links` with this own or broadcast address, None for other addresses.

    Of several addresses in one network it is the first.
    """
    if address not in side.own and not side.links.is_broadcast(address):
        return None
    return next(row for row, _ in enumerate(side.links.address) if side.links.holds(row, address))


def not_a_host(side: Side4, address: int) -> bool:
    """Say whether an address is not that of another host: the kernel stamps the time for such addresses."""
    is_group = address == MAX_ADDRESS or address >> 28 == MULTICAST
    return is_group or address == 0 or address >> 24 == LOOPBACK or row_of(side, address) is not None


def attached(side: Side4, port: int, source: int) -> bool:
    """Say whether the kernel considers a source a neighbour on a port's link: its route has no next hop.

    A source that is routed by another port is looked up again among the routes by this port.
    """
    hop = side.route(source)
    if hop is not None and hop.kind == UNICAST and port not in side.ports_towards(source):
        hop = side.route_by(port, source)
    return hop is not None and hop.kind == UNICAST and not hop.via


def believed(side: Side4, source: int, came: int, leaves: int | None) -> Reason:
    """Return why the kernel rejects a source address on port `came`. leaves: the outgoing port, None without.

    Without rp_filter it checks the source only if a redirect may be due: the packet leaves by its incoming port.
    """
    settings = side.router.linux
    if source in side.own:
        return Reason.MARTIAN_SOURCE
    if not settings.rp_filter and (leaves != came or not settings.send_redirects):
        return Reason.NONE
    if side.links.is_broadcast(source):
        return Reason.MARTIAN_SOURCE
    if not settings.rp_filter:
        return Reason.NONE
    ports_back = side.ports_towards(source)
    accepted = came in ports_back if settings.rp_filter == STRICT else bool(ports_back)
    return Reason.NONE if accepted else Reason.REVERSE_PATH


def source_from(side: Side4, port: int, address: int) -> int:
    """Return the router's address on a port in the network of an address, its first address for other networks."""
    links = side.links
    return next((links.address[row] for row in links.rows(port) if links.holds(row, address)), links.address[port])


def reply_route(side: Side4, target: int, source: int | None, about: bytes | Flow) -> tuple[Hop | None, bytes | None]:
    """Return the route of a message, and its MAC address for broadcast or multicast; (None, None): not sent.

    source: its source address if already determined; multicast leaves by this address's port. about: the packet or
    flow that chooses one of several next hops.
    """
    many = target == MAX_ADDRESS or target >> 28 == MULTICAST
    if target in side.own or target == 0 or target >> 24 == LOOPBACK:
        return None, None
    mac = BROADCAST_MAC if not many or target == MAX_ADDRESS else MULTICAST_MAC + (target & 0x7FFFFF).to_bytes(3, "big")
    if many and source is not None:
        return Hop(UNICAST, side.links.port_of(side.links.address.index(source)), 0), mac
    row = row_of(side, target)
    if row is not None:
        return Hop(UNICAST, side.links.port_of(row), 0, source=side.links.address[row]), mac
    hop = side.route(target, about, source or 0)
    if hop is None or hop.kind != UNICAST:
        return None, None
    return (hop, mac) if many else (hop, None)
