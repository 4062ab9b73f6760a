"""Hypothesis strategies for whole routers: configurations, frames for a router, and arrival times of packets.

The frames for a router are drawn around its own addresses, links, routes and MTUs, so that several rules apply at once.
Needs the extra `test` (hypothesis).
"""

from itertools import accumulate
from typing import Any, TypeVar, get_args

import msgspec
from hypothesis import strategies as st

from npexplore.golden.ipv4.addresses import MAX_ADDRESS, address_text, prefix_mask
from npexplore.golden.mpls.impose import TtlModel
from npexplore.golden.mpls.stack import ENTRY, FIRST_FREE, LABELS
from npexplore.golden.router.configuration import (
    KINDS,
    SMALLEST_MTU,
    NeighbourRecord,
    PortRecord,
    ProfileName,
    Router,
    RouteRecord,
    RouterFile,
    resolve_router,
)
from npexplore.testing.strategies import addresses, ip_options, ipv4_packets, malformed, prefixes

T = TypeVar("T")

_LINKS = (8, 16, 20, 24, 24, 24, 29, 30, 31)
_MTUS = (68, 69, 76, 128, 296, 576, 577, 1006, 1500, 9000)
_SPECIAL = (
    0x00000000, 0x00010203, 0x7F000001, 0xA9FE0101, 0xC0000201, 0xE0000001, 0xEFFFFFFF, 0xF0000001, 0xFFFFFFFE,
    0xFFFFFFFF,
)  # fmt: skip
_TYPES = (0x0000, 0x05DC, 0x0806, 0x86DD, 0x88B5, 0xFFFF)


def arrival_times(*, min_size: int = 0, max_size: int = 100, longest_gap_ns: int = 1_000_000) -> Any:
    """Draw lists of increasing times in ns: bursts at one time, packets back to back, and gaps.

    Args:
        min_size: the smallest number of packets.
        max_size: the largest number of packets.
        longest_gap_ns: the longest gap between two packets.
    """
    gap = st.one_of(st.just(0), st.sampled_from((51, 67, 123, 1230)), st.integers(0, longest_gap_ns))
    return st.lists(gap, min_size=min_size, max_size=max_size).map(lambda gaps: list(accumulate(gaps)))


@st.composite
def router_configurations(
    draw: Any, *, profile: ProfileName = "rfc1812", max_ports: int = 4, max_routes: int = 12, labels: bool = False
) -> Router:
    """Draw routers with 1 to `max_ports` ports and routes of all kinds, some nested in each other and in links.

    Args:
        profile: "rfc1812" or "linux".
        max_ports: the largest number of ports.
        max_routes: the largest number of routes.
        labels: let some routes with a next hop push up to four MPLS labels.
    """
    ports, hosts = [], []
    for number in range(draw(st.integers(1, max_ports))):
        length = draw(st.sampled_from(_LINKS))
        network = (10 + number << 24 | draw(st.sampled_from((0, 1 << 16, 0xFFFF00)))) & prefix_mask(length)
        first, last = (0, 1) if length == 31 else (1, (1 << 32 - length) - 2)
        port_host = draw(st.sampled_from((first, last)))
        hosts.append([network + host for host in {first, last, min(first + 1, last)} if host != port_host])
        ports.append(
            PortRecord(
                name=f"p{number}",
                address=f"{address_text(network + port_host)}/{length}",
                mtu=draw(st.sampled_from(_MTUS)),
                mac=f"02:00:00:00:00:{number:02x}",
                peer_mac=f"02:00:00:00:01:{number:02x}",
            )
        )
    max_labels = [min(4, (port.mtu - SMALLEST_MTU) // ENTRY) if labels else 0 for port in ports]
    connected = {resolve_prefix(port.address) for port in ports}
    within = st.builds(
        lambda host, length: f"{address_text(host & prefix_mask(length))}/{length}", _inside(hosts), st.integers(9, 32)
    )
    destinations = st.one_of(prefixes(), prefixes(), within, st.sampled_from(("0.0.0.0/0", "128.0.0.0/1")))
    routes = []
    for prefix in draw(st.lists(destinations, max_size=max_routes, unique=True)):
        if prefix not in connected:
            routes.append(draw(_routes(prefix, hosts, max_labels)))
    neighbours = [
        NeighbourRecord(address=address_text(host), mac=f"02:00:00:00:02:{number:02x}")
        for number, host in enumerate(draw(st.lists(_inside(hosts), max_size=2, unique=True)))
    ]
    return resolve_router(RouterFile(profile=profile, port=ports, route=routes, neighbour=neighbours))


def resolve_prefix(address: str) -> str:
    """Return the network of an address with a prefix length, as text."""
    head, _, length = address.partition("/")
    value = sum(int(part) << shift for part, shift in zip(head.split("."), (24, 16, 8, 0), strict=True))
    return f"{address_text(value & prefix_mask(int(length)))}/{length}"


def _inside(hosts: list[list[int]]) -> Any:
    return st.sampled_from([host for link in hosts for host in link])


def _routes(prefix: str, hosts: list[list[int]], rooms: list[int]) -> Any:
    """Draw routes of a prefix; a route with a next hop on link k may push up to rooms[k] labels."""
    next_hops = [(host, max_labels) for link, max_labels in zip(hosts, rooms, strict=True) for host in link]
    via = st.sampled_from(next_hops).flatmap(lambda drawn: _to_next_hop(prefix, *drawn))
    port = st.integers(0, len(hosts) - 1).map(lambda number: RouteRecord(prefix=prefix, port=f"p{number}"))
    kind: Any = st.sampled_from(KINDS[1:]).map(lambda name: RouteRecord(prefix=prefix, kind=name))  # type: ignore[arg-type]
    return st.one_of(via, via, via, port, kind)


def _to_next_hop(prefix: str, host: int, most: int) -> Any:
    plain = RouteRecord(prefix=prefix, via=address_text(host))
    stack = st.lists(st.one_of(st.sampled_from((16, 17, 0x45000)), st.integers(FIRST_FREE, LABELS - 1)), max_size=most)
    pushing = st.builds(
        lambda push, ttl: msgspec.structs.replace(plain, push=push, ttl=ttl if push else "uniform"),
        stack, st.sampled_from(get_args(TtlModel)),
    )  # fmt: skip
    return pushing if most else st.just(plain)


def router_addresses(router: Router) -> st.SearchStrategy[int]:
    """Draw addresses that matter to a router: its own, hosts, broadcasts, borders of routes, special addresses."""
    routes = router.routes
    borders = {0}
    for value, length in zip(routes.value[-200:].tolist(), routes.length[-200:].tolist(), strict=True):
        last = value | ~prefix_mask(length) & MAX_ADDRESS
        borders |= {value, last, (value - 1) & MAX_ADDRESS, (last + 1) & MAX_ADDRESS, (value + last) // 2}
    hosts = [port.network + host for port in router.ports for host in (0, 1, 2, 9, (1 << 32 - port.length) - 1)]
    return st.one_of(
        st.sampled_from(sorted(borders)),
        st.sampled_from(sorted(borders)),
        st.sampled_from([port.address for port in router.ports]),
        st.sampled_from([host & MAX_ADDRESS for host in hosts]),
        st.sampled_from(_SPECIAL),
        addresses(),
    )


def frames(
    router: Router, *, valid: bool | None = None, options: bool = True, port: int | None = None
) -> st.SearchStrategy[tuple[int, bytes]]:
    """Draw Ethernet frames for a router as (port, frame); none is longer than the port's link carries.

    Args:
        router: the router.
        valid: True: only correct packets to the port's MAC address; False: only malformed ones; None: both.
        options: let some packets have IPv4 options.
        port: the only input port (None: any port).
    """
    chosen = range(len(router.ports)) if port is None else (port,)
    return st.one_of([_frames(router, number, valid, options) for number in chosen])


def _frames(router: Router, port: int, valid: bool | None, options: bool) -> st.SearchStrategy[tuple[int, bytes]]:
    link = router.ports[port]
    any_address = router_addresses(router)
    hosts, routed = st.sampled_from(hosts_of(router)), st.sampled_from(routed_of(router))
    packets = ipv4_packets(
        valid=True,
        options=_weighted((3, st.just(b"")), (1, ip_options(any_address))) if options else False,
        source=_weighted((4, hosts), (2, routed), (1, any_address)),
        destination=_weighted((5, routed), (1, hosts), (1, any_address)),
        payload=_payloads(router, link.mtu - 60),
    )
    if valid is False:
        packets = packets.flatmap(malformed)
    elif valid is None:
        packets = _weighted((3, packets), (1, packets.flatmap(malformed)))
    usual_header = link.mac + link.peer_mac + b"\x08\x00"
    heads = st.just(usual_header)
    if valid is None:
        heads = st.integers(0, 9).flatmap(lambda number: _heads(router, port) if number == 9 else st.just(usual_header))
    return st.builds(lambda head, packet: (port, head + packet[: link.mtu]), heads, packets)


def _weighted(*choices: tuple[int, st.SearchStrategy[T]]) -> st.SearchStrategy[T]:
    """Draw from strategies by their weights; `_itself` keeps equal strategies apart, which would count once."""
    return st.one_of([strategy.map(_itself) for weight, strategy in choices for _ in range(weight)])


def _itself(value: T) -> T:
    return value


def hosts_of(router: Router) -> list[int]:
    """Return a host or two of each link."""
    return [port.network + host % (1 << 32 - port.length) for port in router.ports for host in (2, 9)]


def routed_of(router: Router) -> list[int]:
    """Return an address inside each route, up to 200; the routes of links come last."""
    routes = router.routes
    inside = [
        value + ((1 << 32 - length) - 1) // 3
        for value, length in zip(routes.value.tolist(), routes.length.tolist(), strict=True)
    ]
    return [*inside[len(router.ports) :][-200:], *inside[: len(router.ports)]]


def _heads(router: Router, port: int) -> st.SearchStrategy[bytes]:
    link = router.ports[port]
    to = (link.mac, link.mac, b"\xff" * 6, b"\x01\x00\x5e\x00\x00\x05", link.peer_mac, bytes(6), router.ports[-1].mac)
    kind = st.sampled_from((0x0800, 0x0800, *_TYPES)).map(lambda number: number.to_bytes(2, "big"))
    source = st.sampled_from((link.peer_mac, link.mac, b"\xff" * 6, bytes(6)))
    return st.builds(lambda dst, src, ethertype: dst + src + ethertype, st.sampled_from(to), source, kind)


def _payloads(router: Router, longest: int) -> st.SearchStrategy[bytes]:
    """Draw a few bytes, or as many bytes as bring a packet near the MTU of a link."""
    near_mtu = st.builds(
        lambda mtu, times, extra: max(0, times * (mtu - 20) + extra),
        st.sampled_from(sorted({port.mtu for port in router.ports})), st.integers(1, 3), st.integers(-9, 9),
    )  # fmt: skip
    long = st.one_of(near_mtu, st.integers(0, 1600)).map(lambda size: pattern(min(size, longest)))
    short = st.binary(max_size=min(40, longest))
    return _weighted((3, short), (1, long))


def pattern(length: int) -> bytes:
    """Return bytes whose values show their positions."""
    return (bytes(range(251)) * (length // 251 + 1))[:length]
