"""What stages see of a router, a side for each family: its addresses, neighbours and routes, and its limit on messages.

Stages are typed by sides, and forwarders hold them; this module knows neither.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from npexplore.errors import one_of
from npexplore.golden.ethernet import BROADCAST_MAC, IPV4_TYPE, IPV6_TYPE
from npexplore.golden.ipv4 import header as header4
from npexplore.golden.ipv4.delivery import Links
from npexplore.golden.ipv4.icmp_limit import TokenBucket
from npexplore.golden.ipv4.martians import Martians
from npexplore.golden.ipv6 import header as header6
from npexplore.golden.lookup import LPMS, LPMS6, Lpm
from npexplore.golden.lookup.family import IPV4, IPV6, Family
from npexplore.golden.mpls.impose import told_stack, typed
from npexplore.golden.reasons import Reason
from npexplore.golden.router.configuration import KINDS, Router, Six
from npexplore.golden.router.ports import Interface, Port6
from npexplore.golden.router.routes import Hop

UNICAST = KINDS.index("unicast")


class Side:
    """A family's side of a router; the side of one of its `ports` is None without an address of the family.

    hops: the different places that routes lead to; `lpm` finds their numbers.
    """

    family: ClassVar[Family]
    frame_type: ClassVar[bytes]
    no_route: ClassVar[Reason]
    refusals: ClassVar[tuple[Reason, ...]]  # why nothing goes by a route, by its kind
    read: Callable[[bytes], Any]  # the header of a packet

    def __init__(
        self, router: Router, ports: Sequence[Interface | None], neighbours: Mapping[int, bytes], hops: Sequence[Hop],
        lpm: Lpm, error_limit: TokenBucket | None,
    ) -> None:  # fmt: skip
        self.router, self.ports, self.neighbours = router, ports, neighbours
        self.hops, self.lpm, self.error_limit = hops, lpm, error_limit
        self.own = frozenset(address for port in ports if port for address in port.own)
        self._broadcast = [port and port.broadcast for port in ports]

    def route(self, address: int) -> Hop | None:
        """Return where an address is routed, None without a route."""
        found = self.lpm.lookup(address)
        return None if found is None else self.hops[found]

    def refusal(self, hop: Hop | None) -> Reason:
        """Return why nothing goes where an address is routed, NONE if something does."""
        return self.no_route if hop is None else self.refusals[hop.kind]

    def framed(self, hop: Hop, next_hop: int, packet: bytes, mac: bytes | None = None) -> bytes:
        """Return a packet in the frame that carries it over a link, below the labels that its route pushes.

        mac: of whom it is for, if not of the next hop.
        """
        to = self.mac_of(hop.port, next_hop) if mac is None else mac
        return to + self.router.ports[hop.port].mac + typed(packet, hop.stack, self.frame_type)

    def mac_of(self, port: int, address: int) -> bytes:
        """Return the MAC address behind an address of a link: all, a neighbour's own, or the one at the other end."""
        if address == self._broadcast[port]:
            return BROADCAST_MAC
        return self.neighbours.get(address, self.router.ports[port].peer_mac)

    def reaches(self, port: int, address: int) -> bool:
        """Say whether a frame to an address of a link finds somebody: anybody may be there, unless they are listed."""
        listed = self.router.ports[port].listed_only
        return not listed or address in self.neighbours or address == self._broadcast[port]

    def room(self, hop: Hop) -> int:
        """Return how long a packet may be that goes by a route: its labels take from the link's MTU (RFC 3032 3.4)."""
        return self.router.ports[hop.port].mtu - len(hop.stack)

    def may_tell(self, time_ns: int) -> bool:
        """Say whether the limit on messages leaves room for one, and take it."""
        return self.error_limit is None or self.error_limit.allow(time_ns)

    def explain(self, address: int) -> str:
        """Return a sentence on where an address is routed."""
        hop, text = self.route(address), self.family.text
        if hop is None:
            return f"{text(address)} has no route"
        if hop.kind != UNICAST:
            return f"{text(address)} is in a route of kind {KINDS[hop.kind]}"
        via = f" via {text(hop.via)}" if hop.via else ", on its link"
        return f"{text(address)} goes out by {self.router.ports[hop.port].name}{via}{told_stack(hop.stack)}"


class Side4(Side):
    """The IPv4 side, with the links as columns and the list of martians."""

    family, frame_type, no_route = IPV4, IPV4_TYPE, Reason.NO_ROUTE
    refusals = Reason.NONE, Reason.BLACKHOLE, Reason.UNREACHABLE, Reason.PROHIBITED

    def __init__(self, router: Router, lookup: str, martians: Martians, error_limit: TokenBucket | None) -> None:
        routes, ports = router.routes, router.ports
        stack = np.zeros(len(routes), np.int64) if routes.stack is None else routes.stack
        rows = np.stack([column.astype(np.int64) for column in (routes.kind, routes.port, routes.via, stack)], axis=1)
        distinct, number = np.unique(rows, axis=0, return_inverse=True)
        lpm = LPMS[one_of("lookup", lookup, LPMS)].from_columns(routes.value, routes.length, number.reshape(-1))
        hops = [Hop(kind, port, via, router.stacks[row]) for kind, port, via, row in distinct.tolist()]
        super().__init__(router, ports, router.neighbours, hops, lpm, error_limit)
        self.martians, self.read = martians, header4.read_header
        self.links = Links(tuple(port.address for port in ports), tuple(port.length for port in ports))


class Side6(Side):
    """The IPv6 side."""

    ports: Sequence[Port6 | None]
    family, frame_type, no_route = IPV6, IPV6_TYPE, Reason.NO_ROUTE6
    refusals = Reason.NONE, Reason.BLACKHOLE, Reason.UNREACHABLE6, Reason.PROHIBITED6

    def __init__(self, router: Router, six: Six, error_limit: TokenBucket | None) -> None:
        numbers: dict[Hop, int] = {}
        number = np.array([numbers.setdefault(Hop(*row[2:]), len(numbers)) for row in six.routes], np.int64)
        length = np.array([row.length for row in six.routes], np.int64)
        lpm = LPMS6["six_level"].from_columns(IPV6.rows([row.value for row in six.routes]), length, number)
        super().__init__(router, six.ports, six.neighbours, [*numbers], lpm, error_limit)
        self.read = header6.read_header
