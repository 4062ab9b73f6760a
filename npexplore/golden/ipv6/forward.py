"""An IPv6 packet's way through the router, one packet at a time: stages in order, at each of which it may leave.

Profile `rfc1812` of the router follows RFC 8200, RFC 4291 and RFC 4443 here; profile `linux` the Linux kernel, which
looks into hop-by-hop options alone, and says that there is no route about `unreachable` ones and to the unspecified
address.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from npexplore.golden.ipv4.icmp_limit import TokenBucket
from npexplore.golden.ipv6.addresses import address_text
from npexplore.golden.ipv6.header import Header6, read_header
from npexplore.golden.ipv6.icmp import IcmpError, error_for, icmp_error, may_answer
from npexplore.golden.ipv6.redirect import redirect, redirect_target
from npexplore.golden.ipv6.scope import Kind, address_kind
from npexplore.golden.lookup import LPMS6
from npexplore.golden.mpls.impose import told_stack, typed
from npexplore.golden.reasons import Reason
from npexplore.golden.router.configuration import KINDS, Router
from npexplore.golden.router.forward import Outcome, Sent, Stage
from npexplore.golden.router.six import Route6, Six

IPV6_TYPE = b"\x86\xdd"


@dataclass
class Walk6:
    """A packet and what is known of it; stages fill this in. `packet` are its bytes as they stand, without padding."""

    port: int
    frame: bytes
    time_ns: int
    packet: bytes = b""
    link_multicast: bool = False
    hop: Route6 | None = None
    pointer: int = 0  # the wrong octet, for a parameter problem
    tell: bool = True  # may an option's fault be told?
    out: bytes = b""
    sent: list[Sent] = field(default_factory=list)

    @property
    def header(self) -> Header6[int]:
        """The header as it came."""
        return read_header(self.packet)

    @property
    def next_hop(self) -> int:
        """The address on the link that it is sent to."""
        assert self.hop is not None
        return self.hop.via or self.header.destination


class Forwarder6:
    """IPv6 of a router that has it; `decide` takes one frame and counts nothing."""

    def __init__(
        self, router: Router, six: Six, *, profile: str = "rfc1812", lookup: str = "six_level",
        error_limit: TokenBucket | None = None,
    ) -> None:  # fmt: skip
        self.router, self.six, self.stages = router, six, stages6()[profile]
        self.linux = profile == "linux"
        self.error_limit = error_limit
        numbers: dict[tuple[int, int, int, bytes], int] = {}
        for row in six.routes:
            numbers.setdefault(row[2:], len(numbers))
        self.hops = [Route6(0, 0, *key) for key in numbers]
        kind = LPMS6[lookup]
        self.lpm = kind.from_columns(
            kind.family.rows([row.value for row in six.routes]),
            [row.length for row in six.routes],  # type: ignore[arg-type]
            [numbers[row[2:]] for row in six.routes],  # type: ignore[arg-type]
        )
        self.own = frozenset(
            address
            for port in six.ports
            if port
            for address in (port.address, port.link_local, *([port.network] if port.length < 127 else []))
        )

    def route(self, address: int) -> Route6 | None:
        """Return where an address is routed, None without a route."""
        found = self.lpm.lookup(address)
        return None if found is None else self.hops[found]

    def decide(self, port: int, frame: bytes, time_ns: int = 0) -> Outcome:
        """Decide one frame of IPv6 that came in by a port."""
        walk = Walk6(port, frame, time_ns)
        for stage in self.stages:
            reason = stage.run(self, walk)
            if reason:
                self._tell(walk, reason)
                return Outcome(reason, tuple(walk.sent))
        assert walk.hop is not None
        walk.sent.append(Sent(walk.hop.port, self.framed(walk.hop, walk.next_hop, walk.out)))
        return Outcome(Reason.NONE, tuple(walk.sent))

    def framed(self, hop: Route6, next_hop: int, packet: bytes) -> bytes:
        """Return a packet in the frame that carries it over a link, below the labels that its route pushes."""
        return self.mac_of(hop.port, next_hop) + self.router.ports[hop.port].mac + typed(packet, hop.stack, IPV6_TYPE)

    def mac_of(self, port: int, address: int) -> bytes:
        """Return the MAC address of a neighbour: its own, else the one at the other end of the link."""
        return self.six.neighbours.get(address, self.router.ports[port].peer_mac)

    def room(self, hop: Route6) -> int:
        """Return how long a packet may be that goes by a route: its labels take from the link's MTU (RFC 3032 3.5)."""
        return self.router.ports[hop.port].mtu - len(hop.stack)

    def has_neighbour(self, port: int, address: int) -> bool:
        """Say whether somebody on a link has an address: anybody may, unless the neighbours are listed."""
        return not self.router.ports[port].listed_only or address in self.six.neighbours

    def explain(self, address: int) -> str:
        """Return a sentence on where an address is routed."""
        hop = self.route(address)
        if hop is None:
            return f"{address_text(address)} has no route"
        if hop.kind:
            return f"{address_text(address)} is in a route of kind {KINDS[hop.kind]}"
        via = f" via {address_text(hop.via)}" if hop.via else ", on its link"
        return f"{address_text(address)} goes out by {self.router.ports[hop.port].name}{via}{told_stack(hop.stack)}"

    def _tell(self, walk: Walk6, reason: Reason) -> None:
        """Send the ICMPv6 error that a reason calls for, if one may be sent, by the way its source is routed."""
        if self.linux and reason is Reason.UNREACHABLE6:
            reason = Reason.NO_ROUTE6
        link = self.six.ports[walk.port]
        mtu = self.room(walk.hop) if walk.hop and walk.hop.port >= 0 else 0
        error = error_for(reason, mtu=mtu, pointer=walk.pointer)
        if error is None or not walk.tell or not may_answer(walk.packet, error, link_multicast=walk.link_multicast):
            return
        target = walk.header.source
        if address_kind(target) is Kind.LINK_LOCAL:
            if link is not None:
                self._answer(walk, error, Route6(0, 0, 0, walk.port, 0), target, link.link_local)
            return
        hop = self.route(target)
        if hop is None or hop.kind or not self.has_neighbour(hop.port, hop.via or target):
            return
        leaves = self.six.ports[hop.port]
        if leaves is not None:
            self._answer(walk, error, hop, hop.via or target, leaves.address)

    def redirect(self, walk: Walk6) -> None:
        """Tell the sender of a better first hop, where RFC 4861 section 8.2 asks for it."""
        assert walk.hop is not None
        header, link, port = walk.header, self.six.ports[walk.port], walk.port
        target = redirect_target(port, link, walk.hop, header.source, header.destination)
        if target is None or not self.has_neighbour(port, header.source) or not self._may_tell(walk):
            return
        assert link is not None
        message = redirect(walk.packet, link.link_local, target, self.mac_of(port, target))
        walk.sent.append(Sent(port, self.framed(Route6(0, 0, 0, port, 0), header.source, message), icmp=True))

    def _may_tell(self, walk: Walk6) -> bool:
        return self.error_limit is None or self.error_limit.allow(walk.time_ns)

    def _answer(self, walk: Walk6, error: IcmpError, hop: Route6, next_hop: int, source: int) -> None:
        if not self._may_tell(walk):
            return
        destination = walk.header.destination
        if destination in self.own and address_kind(destination) is Kind.ROUTABLE:
            source = destination  # RFC 4443 section 2.2 (a)
        message = icmp_error(error, walk.packet, source)
        walk.sent.append(Sent(hop.port, self.framed(hop, next_hop, message), icmp=True))


def stages6() -> Mapping[str, tuple[Stage, ...]]:
    """Return the stages of each profile."""
    from npexplore.golden.ipv6.stages import STAGES6

    return STAGES6
