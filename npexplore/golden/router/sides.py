"""The sides of a router, one per family: addresses, neighbours, routes and the rate limit on messages.

Stages read sides and forwarders own them; this module imports neither.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from npexplore.alike import alike
from npexplore.errors import one_of
from npexplore.golden.ethernet import BROADCAST_MAC, IPV4_TYPE, IPV6_TYPE
from npexplore.golden.ipv4 import header as header4
from npexplore.golden.ipv4.delivery import Links
from npexplore.golden.ipv4.icmp_limit import TokenBucket
from npexplore.golden.ipv4.martians import Martians
from npexplore.golden.ipv4.reassembly import Reassembly4
from npexplore.golden.ipv6 import header as header6
from npexplore.golden.ipv6.reassembly import Reassembly
from npexplore.golden.lookup import LPMS, Lpm, SixLevelTrie
from npexplore.golden.lookup.family import IPV4, IPV6, Family
from npexplore.golden.lookup.room import with_room
from npexplore.golden.mpls.impose import told_stack, typed
from npexplore.golden.reasons import Reason
from npexplore.golden.router.configuration import KINDS, Router, Six
from npexplore.golden.router.flow_hash import Flow, flow_hash, flow_of
from npexplore.golden.router.neighbours import UNKNOWN, Neighbours
from npexplore.golden.router.ports import LINK_LOCAL, Interface, Port6
from npexplore.golden.router.routes import Hop, NextHop

UNICAST = KINDS.index("unicast")


HASH_BITS = 31


class Group(NamedTuple):
    """The next hops of a multipath route: their rows in Side.hops, and the largest flow hash that each takes."""

    hops: range
    bounds: tuple[int, ...]


class Side(ABC):
    """A family's side of a router. ports: the port's interface, None for a port without an address of the family.

    hops: the different targets of routes; `lpm` returns rows of it. groups: by such a row, the next hops of multipath
    routes; the row itself holds their first. vlans: number of a VLAN's port by (carrying port, VLAN number).
    resolver: does address resolution, None if neighbours are configured. tokens: state of the limit on messages
    (golden/linux/peer_limit.py).
    """

    family: ClassVar[Family]
    frame_type: ClassVar[bytes]
    no_route: ClassVar[Reason]
    refusals: ClassVar[tuple[Reason, ...]]  # reason for dropping, by the route's kind
    failures: ClassVar[tuple[Reason, Reason, Reason]]  # TTL expired, too long for the link, no neighbour
    read: Callable[[bytes], Any]  # parses a packet's header

    def __init__(
        self, router: Router, ports: Sequence[Interface | None], neighbours: Mapping[tuple[int, int], bytes],
        hops: Sequence[Hop], several: Mapping[int, Sequence[NextHop]], lpm: Lpm, error_limit: TokenBucket | None,
    ) -> None:  # fmt: skip
        self.router, self.ports, self.neighbours = router, ports, neighbours
        self.hops, self.lpm, self.error_limit = list(hops), lpm, error_limit
        self.groups = {number: self._group(next_hops) for number, next_hops in several.items()}
        self.vlans = {(port.on, port.vlan): port.number for port in router.ports if port.vlan}
        self.own = frozenset(address for port in ports if port for address in port.own)
        self.resolver: Neighbours | None = None
        self.tokens: dict[int, tuple[int, int]] = {}
        self._routes_by: dict[int, Lpm] = {}
        self._broadcasts = [port.broadcasts if port else frozenset() for port in ports]

    def _group(self, next_hops: Sequence[NextHop]) -> Group:
        """Add several next hops to `hops`; return their rows, and the largest flow hash that each takes."""
        first_row, total, weight, bounds = len(self.hops), sum(next_hop.weight for next_hop in next_hops), 0, []
        for next_hop in next_hops:
            weight += next_hop.weight
            bounds.append(((weight << HASH_BITS) + total // 2) // total - 1)
        self.hops += [next_hop.hop for next_hop in next_hops]
        return Group(range(first_row, len(self.hops)), tuple(bounds))

    def route(self, address: int, about: bytes | Flow | None = None, source: int = 0) -> Hop | None:
        """Return the target of an address, None without a route.

        about: the packet or flow whose hash chooses one of several next hops, None: the first. source: the router's
        address in a message; next hops with this source address are preferred.
        """
        hop = self.lpm.lookup(address)
        if hop is None:
            return None
        if about is not None and hop in self.groups:
            return self._chosen(self.groups[hop], about, source)
        return self.hops[hop]

    def route_by(self, port: int, address: int, about: bytes | Flow | None = None) -> Hop | None:
        """Return the target of an address among the routes by one port and those that drop, None without a route."""
        hop = self.table_by(port).lookup(address)
        if hop in self.groups:
            group = self.groups[hop]
            chosen = None if about is None else self._chosen(group, about)
            if chosen is not None and chosen.port == port:
                return chosen
            return next(self.hops[number] for number in group.hops if self.hops[number].port == port)
        return None if hop is None else self.hops[hop]

    def _chosen(self, group: Group, about: bytes | Flow, source: int = 0) -> Hop:
        """Return the best next hop: one with this source address first, then the first whose bound covers the hash."""
        settings = self.router.linux
        if isinstance(about, Flow):
            hash_value = flow_hash(about, settings, whole=False)
        else:
            hash_value = flow_hash(flow_of(about, settings), settings)
        hops = [self.hops[row] for row in group.hops]
        scores = [
            2 * (source != 0 and self.source_by(hop) == source) + (hash_value <= bound)
            for hop, bound in zip(hops, group.bounds, strict=True)
        ]
        return hops[scores.index(max(scores))]

    def ports_towards(self, address: int) -> set[int]:
        """Return the ports that packets to an address may leave by; empty without a unicast route."""
        hop = self.lpm.lookup(address)
        if hop is None or self.hops[hop].kind != UNICAST:
            return set()
        return {self.hops[row].port for row in (self.groups[hop].hops if hop in self.groups else (hop,))}

    def table_by(self, port: int) -> Lpm:
        """Return the table of the routes by one port and those that drop; it is built at the first call."""
        if port not in self._routes_by:
            self._routes_by[port] = self._lpm_by(port)
        return self._routes_by[port]

    @abstractmethod
    def _lpm_by(self, port: int) -> Lpm: ...

    def _rows_by(self, port: int, refusing: bool) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return the routes by a port as columns (value, length, hop). refusing: with the routes that drop."""
        rows = self.lpm.routes()
        chosen = [hop.port == port if hop.kind == UNICAST else refusing for hop in self.hops]
        for number, group in self.groups.items():
            chosen[number] = any(chosen[member] for member in group.hops)
        matches = np.array(chosen, np.bool_)[rows.next_hop]
        return rows.value[matches], rows.length[matches], rows.next_hop[matches]

    def refusal(self, hop: Hop | None) -> Reason:
        """Return why a target drops packets (None: no route), Reason.NONE for a unicast target."""
        return self.no_route if hop is None else self.refusals[hop.kind]

    def framed(self, hop: Hop, next_hop: int, packet: bytes, mac: bytes | None = None) -> bytes:
        """Return a packet's frame: MAC addresses, EtherType, the labels that its route pushes, and the packet.

        mac: the destination MAC address, None: that of the next hop.
        """
        next_hop_mac = self.mac_of(hop.port, next_hop) if mac is None else mac
        return next_hop_mac + self.router.ports[hop.port].mac + typed(packet, hop.stack, self.frame_type)

    def mac_of(self, port: int, address: int) -> bytes:
        """Return the MAC address for an address on a link: broadcast, a neighbour's, or the port's `peer_mac`.

        With address resolution it is a placeholder while unknown (`router/neighbours.py`).
        """
        if address in self._broadcasts[port]:
            return BROADCAST_MAC
        if self.resolver is not None and (port, address) not in self.neighbours:
            return self.resolver.mac(port, address)
        return self.neighbours.get((port, address), self.router.ports[port].peer_mac)

    def known_mac(self, port: int, address: int) -> bytes:
        """Return the MAC address for an address on a link, empty while it is unknown."""
        mac = self.mac_of(port, address)
        return b"" if mac[0] == UNKNOWN else mac

    def reaches(self, port: int, address: int) -> bool:
        """Say whether an address of a link may be a neighbour: any may, unless the port is `listed_only`."""
        listed = self.router.ports[port].listed_only
        return not listed or (port, address) in self.neighbours or address in self._broadcasts[port]

    def room(self, hop: Hop) -> int:
        """Return the longest packet in bytes for a route: the link's MTU less the labels (RFC 3032 section 3.4)."""
        return self.router.ports[hop.port].mtu - len(hop.stack)

    def source_by(self, hop: Hop) -> int:
        """Return the source address of the router's messages by a route (RFC 1812 section 4.3.2.4)."""
        port = self.ports[hop.port]
        assert port is not None
        return hop.source or port.address

    def may_tell(self, time_ns: int) -> bool:
        """Say whether the rate limit on messages allows one, and take a token if so."""
        return self.error_limit is None or self.error_limit.allow(time_ns)

    def explain(self, address: int) -> str:
        """Return a sentence that says where an address is routed."""
        hop, text = self.route(address), self.family.text
        if hop is None:
            return f"{text(address)} has no route"
        if hop.kind != UNICAST:
            return f"{text(address)} is in a route of kind {KINDS[hop.kind]}"
        route_hop = self.lpm.lookup(address)
        if route_hop in self.groups:
            next_hops = [self.hops[row] for row in self.groups[route_hop].hops]
            texts = [f"{self.router.ports[next_hop.port].name} via {text(next_hop.via)}" for next_hop in next_hops]
            return f"{text(address)} goes out by one of {', '.join(texts)}, as its flow is hashed"
        via = f" via {text(hop.via)}" if hop.via else ", on its link"
        return f"{text(address)} goes out by {self.router.ports[hop.port].name}{via}{told_stack(hop.stack)}"


class Side4(Side):
    """The IPv4 side; `links` has the links as columns, `martians` the list of martian addresses."""

    family, frame_type, no_route = IPV4, IPV4_TYPE, Reason.NO_ROUTE
    refusals = Reason.NONE, Reason.BLACKHOLE, Reason.UNREACHABLE, Reason.PROHIBITED
    failures = Reason.TTL_EXPIRED, Reason.FRAGMENTATION_NEEDED, Reason.NO_NEIGHBOUR

    def __init__(self, router: Router, lookup: str, martians: Martians, error_limit: TokenBucket | None) -> None:
        routes, ports = router.routes, router.ports
        stack = np.zeros(len(routes), np.int64) if routes.stack is None else routes.stack
        source = np.zeros(len(routes), np.int64) if routes.source is None else routes.source
        several = np.zeros(len(routes), np.int64) if routes.next_hops is None else routes.next_hops
        columns = (routes.kind, routes.port, routes.via, stack, source, several)
        number, first_rows, _ = alike(columns, len(routes))
        distinct = np.stack([column[first_rows].astype(np.int64) for column in columns], axis=1)
        lpm = with_room(LPMS[one_of("lookup", lookup, LPMS)], routes.value, routes.length, number.reshape(-1))
        hops = [
            Hop(kind, port, via, router.stacks[row], sender) for kind, port, via, row, sender, _ in distinct.tolist()
        ]
        groups = {row: router.next_hops[k] for row, k in enumerate(distinct[:, -1].tolist()) if k}
        super().__init__(router, ports, router.neighbours, hops, groups, lpm, error_limit)
        self.martians, self.read, self.reassembly = martians, header4.read_header, Reassembly4()
        self.links = Links.of([port.subnets for port in ports])

    def _lpm_by(self, port: int) -> Lpm:
        return LPMS["trie20_4_8"].from_columns(*self._rows_by(port, True), word_bits=32)


class Side6(Side):
    """The IPv6 side."""

    ports: Sequence[Port6 | None]
    family, frame_type, no_route = IPV6, IPV6_TYPE, Reason.NO_ROUTE6
    refusals = Reason.NONE, Reason.BLACKHOLE, Reason.UNREACHABLE6, Reason.PROHIBITED6
    failures = Reason.HOP_LIMIT_EXCEEDED, Reason.PACKET_TOO_BIG, Reason.NO_NEIGHBOUR6

    def __init__(self, router: Router, six: Six, error_limit: TokenBucket | None) -> None:
        routes, numbers = six.routes, dict[tuple[Hop, tuple[NextHop, ...]], int]()
        targets = [(Hop(*row[2:-1]), row.next_hops) for row in routes.leads]
        number = np.array([numbers.setdefault(target, len(numbers)) for target in targets], np.int64)[routes.lead]
        lpm = SixLevelTrie.from_columns(routes.value, routes.length, number, word_bits=32)
        groups = {k: next_hops for k, (_, next_hops) in enumerate(numbers) if next_hops}
        super().__init__(router, six.ports, six.neighbours, [hop for hop, _ in numbers], groups, lpm, error_limit)
        attached = [Hop(UNICAST, k, 0) for k in range(len(six.ports))]  # targets of link-local addresses
        self.hops += [hop for hop in attached if hop not in self.hops]
        self.read, self.reassembly, self._prefixes = header6.read_header, Reassembly(), (routes.value, routes.length)

    def begins_network(self, address: int) -> bool:
        """Say whether an address begins a routed prefix, as Subnet-Router anycast addresses do (RFC 4291 2.6.1)."""
        return self._longest.get(address, 128) < 127

    @cached_property
    def _longest(self) -> dict[int, int]:
        """The length of the longest routed prefix by its first address."""
        value, length = self._prefixes
        rows = IPV6.order(value, length)  # of equal addresses the last row has the longest prefix
        return dict(zip(IPV6.numbers(value[rows]), length[rows].tolist(), strict=True))

    def _lpm_by(self, port: int) -> Lpm:
        """Return the table of a port's routes, with the one to link-local addresses (RFC 4291 section 2.5.6)."""
        value, length, hop = self._rows_by(port, False)
        link_local = IPV6.rows([LINK_LOCAL])
        attached_hop = self.hops.index(Hop(UNICAST, port, 0))
        columns = np.concatenate([link_local, value]), np.append([64], length), np.append([attached_hop], hop)
        return SixLevelTrie.from_columns(*columns, word_bits=32)
