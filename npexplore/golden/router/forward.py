"""A packet's way through the router, one packet at a time: stages in order, at each of which it may leave.

RFC 1812 section 5.2.1.2. A stage declares what it reads and the reasons for which packets leave there; a packet that
passes all leaves by a port. `golden/router/stages.py` has the stages of RFC 1812, `golden/linux/stages.py` those of
the Linux kernel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from npexplore.errors import InputError, one_of
from npexplore.golden.ipv4.addresses import address_text, mask_of
from npexplore.golden.ipv4.delivery import Destination, Links
from npexplore.golden.ipv4.header import Header, read_header
from npexplore.golden.ipv4.icmp_limit import TokenBucket
from npexplore.golden.ipv4.martians import Martians, martian_list
from npexplore.golden.lookup import LPMS, Lpm
from npexplore.golden.mpls.forward import IPV6_TYPE, LABEL_TYPES, forward_labelled
from npexplore.golden.mpls.impose import told_stack, typed
from npexplore.golden.reasons import Reason
from npexplore.golden.router.configuration import KINDS, Router

if TYPE_CHECKING:
    from npexplore.golden.ipv6.forward import Forwarder6

ETHERNET = 14
IPV4_TYPE = b"\x08\x00"
BROADCAST_MAC = b"\xff" * 6
UNICAST = KINDS.index("unicast")
NO_SUCH_ROUTE = {
    KINDS.index("blackhole"): Reason.BLACKHOLE,
    KINDS.index("unreachable"): Reason.UNREACHABLE,
    KINDS.index("prohibit"): Reason.PROHIBITED,
}


class Hop(NamedTuple):
    """Where a route leads: its kind (index of KINDS), the port, the next hop's address (0: the destination itself).

    stack: the labels that it pushes (golden/mpls/impose.py).
    """

    kind: int
    port: int
    via: int
    stack: bytes = b""


class Sent(NamedTuple):
    """A frame that leaves by a port: the packet itself (or a piece of it), or an ICMP message of the router."""

    port: int
    frame: bytes
    icmp: bool = False


class Outcome(NamedTuple):
    """What became of a frame: all that was sent, and the reason if the packet itself was not (NONE if it was)."""

    reason: Reason
    sent: tuple[Sent, ...]


@dataclass
class Walk:
    """A packet and what is known of it; stages fill this in. `packet` are its bytes as they stand, without padding."""

    port: int
    frame: bytes
    time_ns: int
    packet: bytes = b""
    link_broadcast: bool = False
    options: Any = None
    kind: Destination = Destination.ELSEWHERE
    hop: Hop | None = None
    target: int = 0  # where it goes next on its way: the destination, or the next address of a source route
    follow: bool = False  # a source route takes a step here
    redirect: bool = False
    pointer: int = 0  # the wrong octet of the header, for a Parameter Problem
    mtu: int = 0  # of the link that is too small
    out: tuple[bytes, ...] = ()  # the packets to send
    sent: list[Sent] = field(default_factory=list)
    _read: tuple[bytes, Header[int]] | None = None

    @property
    def header(self) -> Header[int]:
        """The header as it stands; read again when the packet is another one."""
        if self._read is None or self._read[0] is not self.packet:
            self._read = self.packet, read_header(self.packet)
        return self._read[1]

    @property
    def next_hop(self) -> int:
        """The address on the link that it is sent to."""
        assert self.hop is not None
        return self.hop.via or self.target


@dataclass(frozen=True)
class Stage:
    """One step: `run` returns the reason to leave, or Reason.NONE to go on."""

    name: str
    clause: str
    reads: tuple[str, ...]
    exits: tuple[Reason, ...]
    run: Callable[[Any, Any], Reason]  # of a Forwarder and a Walk, or of those of IPv6


class Profile(NamedTuple):
    """Whose rules: the stages in order, the list of martians, and what is sent about a packet that left.

    many_first: multicast and limited broadcast are told before martians. switches: what Policy leaves open may be set.
    """

    name: str
    stages: tuple[Stage, ...]
    martians: str
    tell: Callable[[Forwarder, Walk, Reason], None]
    many_first: bool = False
    switches: bool = True


def profiles() -> Mapping[str, Profile]:
    """Return the profiles by name."""
    from npexplore.golden.linux.stages import LINUX
    from npexplore.golden.router.stages import RFC1812

    return {profile.name: profile for profile in (RFC1812, LINUX)}


class Forwarder:
    """The golden router: `forward` decides one frame and keeps counters, `decide` does not count.

    Frames of IPv6 and with labels go their own way (golden/ipv6/forward.py, golden/mpls/forward.py) where the router is
    configured for them; ICMPv6 errors have a limit of their own. lookup: the name of a structure of
    npexplore.golden.lookup. error_limit: a policy for ICMP errors (RFC 1812 section 4.3.2.8), None for that of the
    configuration. Raises UnknownNameError; InputError for a switch that is on although the profile has none.
    """

    def __init__(
        self, router: Router, *, profile: str | None = None, lookup: str = "dir24_8",
        error_limit: TokenBucket | None = None,
    ) -> None:  # fmt: skip
        known = profiles()
        self.router = router
        self.profile = known[one_of("profile", profile or router.profile, known)]
        self.links = Links(tuple(p.address for p in router.ports), tuple(p.length for p in router.ports))
        self.own = frozenset(self.links.address)
        self.martians: Martians = martian_list(self.profile.martians)
        self.error_limit = router.policy.limit() if error_limit is None else error_limit
        on = [name for name in ("directed_broadcasts", "reverse_path") if getattr(router.policy, name)]
        on += ["listed_only" for port in router.ports if port.listed_only][:1]
        if on and not self.profile.switches:
            raise InputError(f"profile {self.profile.name} has no switch {on[0]}: it is the kernel with that off")
        self.hops, self.lpm = _table(router, lookup)
        self.counters: Counter[str] = Counter()
        self.six = self._six()

    def route(self, address: int) -> Hop | None:
        """Return where an address is routed, None without a route."""
        found = self.lpm.lookup(address)
        return None if found is None else self.hops[found]

    def forward(self, port: int, frame: bytes, time_ns: int = 0) -> Outcome:
        """Decide one frame that came in by a port; raises InputError for a port that is not there."""
        if not 0 <= port < len(self.router.ports):
            raise InputError(f"port must be 0 to {len(self.router.ports) - 1}, got {port}")
        names = self.router.ports
        self.counters[f"in.{names[port].name}"] += 1
        outcome = self.decide(port, frame, time_ns)
        if outcome.reason:
            self.counters[f"drop.{outcome.reason.name}"] += 1
        for sent in outcome.sent:
            self.counters[f"{'icmp' if sent.icmp else 'out'}.{names[sent.port].name}"] += 1
        return outcome

    def decide(self, port: int, frame: bytes, time_ns: int = 0) -> Outcome:
        """Decide one frame without counting it; the port must be there."""
        kind = frame[12:ETHERNET]
        if kind == IPV6_TYPE and self.six is not None:
            return self.six.decide(port, frame, time_ns)
        if kind in LABEL_TYPES and self.router.labels is not None:
            return self._labelled(port, frame, time_ns)
        walk = Walk(port, frame, time_ns)
        reason = Reason.NONE
        for stage in self.profile.stages:
            reason = stage.run(self, walk)
            if reason:
                self.profile.tell(self, walk, reason)
                break
        else:
            assert walk.hop is not None
            for packet in walk.out:
                walk.sent.append(Sent(walk.hop.port, self.framed(walk.hop, walk.next_hop, packet)))
        return Outcome(reason, tuple(sorted(walk.sent, key=lambda sent: sent.port)))

    def _six(self) -> Forwarder6 | None:
        from npexplore.golden.ipv6.forward import Forwarder6

        six = self.router.six
        if six is None:
            return None
        limit = self.error_limit and TokenBucket(self.error_limit.per_second, self.error_limit.burst)
        return Forwarder6(self.router, six, profile=self.profile.name, error_limit=limit)

    def _labelled(self, port: int, frame: bytes, time_ns: int) -> Outcome:
        assert self.router.labels is not None
        made = forward_labelled(self.router, self.router.labels, port, frame)
        if made.reason:
            return Outcome(made.reason, ())
        if made.port < 0:
            return self.decide(port, made.frame, time_ns)
        return Outcome(Reason.NONE, (Sent(made.port, made.frame),))

    def framed(self, hop: Hop, next_hop: int, packet: bytes) -> bytes:
        """Return a packet in the frame that carries it over a link, below the labels that its route pushes."""
        link = self.router.ports[hop.port]
        to = BROADCAST_MAC if next_hop == link.broadcast else self.router.mac_of(hop.port, next_hop)
        return to + link.mac + typed(packet, hop.stack, IPV4_TYPE)

    def room(self, hop: Hop) -> int:
        """Return how long a packet may be that goes by a route: its labels take from the link's MTU (RFC 3032 3.4)."""
        return self.router.ports[hop.port].mtu - len(hop.stack)

    def on_link(self, port: int, address: int) -> bool:
        """Say whether an address lies in the network of a port."""
        return self.links.has(port, address)

    def explain(self, address: int) -> str:
        """Return a sentence on where an address is routed."""
        hop = self.route(address)
        if hop is None:
            return f"{address_text(address)} has no route"
        if hop.kind != UNICAST:
            return f"{address_text(address)} is in a route of kind {KINDS[hop.kind]}"
        via = f" via {address_text(hop.via)}" if hop.via else ", on its link"
        return f"{address_text(address)} goes out by {self.router.ports[hop.port].name}{via}{told_stack(hop.stack)}"


def _table(router: Router, lookup: str) -> tuple[list[Hop], Lpm]:
    """Return the different places routes lead to, and the table whose next hops are their numbers."""
    import numpy as np

    routes = router.routes
    stack = np.zeros(len(routes), np.int64) if routes.stack is None else routes.stack
    rows = np.stack([column.astype(np.int64) for column in (routes.kind, routes.port, routes.via, stack)], axis=1)
    distinct, number = np.unique(rows, axis=0, return_inverse=True)
    structure = LPMS[one_of("lookup", lookup, LPMS)]
    table = structure.from_columns(routes.value, routes.length, number.reshape(-1))
    return [Hop(kind, port, via, router.stacks[row]) for kind, port, via, row in distinct.tolist()], table


def broadcast_of(links: Links, address: int) -> bool:
    """Say whether an address is a broadcast of an attached network (RFC 1812 section 4.2.2.11 (d))."""
    return any(
        length < 31 and links.has(port, address) and address | mask_of(length) == 0xFFFFFFFF
        for port, length in enumerate(links.length)
    )
