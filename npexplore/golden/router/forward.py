"""The golden router for one packet at a time: the packet passes stages in order, and each stage may drop it.

RFC 1812 section 5.2.1.2. A stage declares which fields it reads and for which reasons it drops a packet; a packet that
passes all stages is sent. IPv4, IPv6 and labelled frames have different rules but pass through the same loop:
`golden/router/profiles.py` lists the profiles, `golden/mpls/stages.py` has the rules of labels.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from npexplore.display import ShownByArguments
from npexplore.errors import InputError
from npexplore.golden.ethernet import ETHERNET, IPV4_TYPE, IPV6_TYPE, MPLS_TYPE, UPSTREAM_TYPE
from npexplore.golden.ipv4.icmp_limit import TokenBucket
from npexplore.golden.ipv4.martians import martian_list
from npexplore.golden.lookup import Lpm
from npexplore.golden.mpls.stages import LABELLED
from npexplore.golden.reasons import Reason
from npexplore.golden.router.configuration import Router
from npexplore.golden.router.profiles import profile_of
from npexplore.golden.router.resolution import ARP_TYPE, Resolution
from npexplore.golden.router.rules import Profile, Rules
from npexplore.golden.router.sides import Side4, Side6
from npexplore.golden.router.vlans import TAGGED, TAGS, tagged
from npexplore.golden.router.walk import Outcome, Sent, Walk


class Forwarder(ShownByArguments):
    """The golden router: `forward` decides one frame and counts it, `decide` does not count.

    `ipv4` and `ipv6` (None without) are its sides.

    Args:
        router: the configuration.
        profile: a profile or its name, such as "linux" (None: the configuration's).
        lookup: the name of a structure of npexplore.golden.lookup for IPv4; a larger one where routes do not fit.
        error_limit: a token bucket that limits ICMP errors, in errors a second (RFC 1812 section 4.3.2.8; None: the
            configuration's); ICMPv6 errors have a separate bucket of the same size.

    Raises:
        UnknownNameError: a profile or lookup structure that does not exist.
        InputError: the configuration sets a switch that the profile does not have.

    Example:
        >>> from npexplore.golden import Forwarder, load_router
        >>> forwarder = Forwarder(load_router("office"))
        >>> forwarder.forward(0, bytes(64)).reason.name
        'NOT_IPV4'
    """

    def __init__(
        self, router: Router, *, profile: Profile | str | None = None, lookup: str = "dir24_8",
        error_limit: TokenBucket | None = None,
    ) -> None:  # fmt: skip
        self.router = router
        self.profile = profile_of(profile or router.profile)
        limit = router.policy.limit() if error_limit is None else error_limit
        switches_on = [name for name in ("directed_broadcasts", "reverse_path") if getattr(router.policy, name)]
        switches_on += ["listed_only" for port in router.ports if port.listed_only][:1]
        if switches_on and not self.profile.switches:
            hint = "; rp_filter of [linux] is the kernel's own" if switches_on[0] == "reverse_path" else ""
            raise InputError(
                f"profile {self.profile.name} has no switch {switches_on[0]}: it is the kernel with that off{hint}"
            )
        self.ipv4 = Side4(router, lookup, martian_list(self.profile.ipv4.martians), limit)
        self._ways: dict[bytes, tuple[Any, Rules[Any, Any]]] = {IPV4_TYPE: (self.ipv4, self.profile.ipv4)}
        self._ways |= dict.fromkeys(TAGS, (self.ipv4, TAGGED))
        self.ipv6: Side6 | None = None
        if router.six is not None:
            self.ipv6 = Side6(router, router.six, limit and TokenBucket(limit.per_second, limit.burst))
            self._ways[IPV6_TYPE] = self.ipv6, self.profile.ipv6
        if router.labels is not None:
            self._ways |= dict.fromkeys((MPLS_TYPE, UPSTREAM_TYPE), (self.ipv4, LABELLED))
        self.resolution: Resolution | None = None
        if router.policy.neighbours == "resolve":
            self.resolution = Resolution(self.profile, self.ipv4, self.ipv6)
            self._ways[ARP_TYPE] = self.ipv4, self.resolution.arp
            if self.ipv6 is not None:
                self._ways[IPV6_TYPE] = self.ipv6, self.resolution.ipv6
        self.counters: Counter[str] = Counter()

    @property
    def lpm(self) -> Lpm:
        """The IPv4 routing table."""
        return self.ipv4.lpm

    def explain(self, address: int) -> str:
        """Return a sentence that says where an IPv4 address is routed; `ipv6.explain` does this for IPv6."""
        return self.ipv4.explain(address)

    def forward(self, port: int, frame: bytes, time_ns: int = 0) -> Outcome:
        """Decide one frame and count it; return the frames sent, and the reason if the packet is not sent.

        Args:
            port: the number of the incoming port, from 0; InputError if the router has no such port.
            frame: the Ethernet frame, without its frame check sequence.
            time_ns: its arrival time, in nanoseconds.
        """
        ports = self.router.ports
        if not 0 <= port < len(ports):
            raise InputError(f"port must be 0 to {len(ports) - 1}, got {port}")
        self.counters[f"in.{ports[port].name}"] += 1
        outcome = self.decide(port, frame, time_ns)
        if outcome.reason:
            self.counters[f"drop.{outcome.reason.name}"] += 1
        for sent in outcome.sent:
            self.counters[f"{'icmp' if sent.icmp else 'out'}.{ports[sent.port].name}"] += 1
        return outcome

    def wait(self, time_ns: int) -> tuple[Sent, ...]:
        """Let time pass without a frame; return the frames sent: repeated requests, errors about waiting packets."""
        sent = [] if self.resolution is None else self.resolution.happen(time_ns)
        sent = [tagged(self.router.ports, frame) for frame in sent]
        for frame in sent:
            self.counters[f"icmp.{self.router.ports[frame.port].name}"] += 1
        return tuple(sent)

    def decide(self, port: int, frame: bytes, time_ns: int = 0) -> Outcome:
        """Decide one frame without counting it; a frame of an unsupported family is treated as IPv4 (and dropped).

        Args:
            port: the number of the incoming port; must exist.
            frame: the Ethernet frame, without its frame check sequence.
            time_ns: its arrival time, in nanoseconds.
        """
        side, rules = self._ways.get(frame[12:ETHERNET], self._ways[IPV4_TYPE])
        walk = Walk(port, frame, time_ns, side.read)
        resolution_frames = [] if self.resolution is None else self.resolution.happen(time_ns)
        reason = Reason.NONE
        for stage in rules.stages:
            reason = stage.run(side, walk)
            if reason:
                rules.tell(side, walk, reason)
                break
        else:
            if walk.exposed:
                return self.decide(walk.port, walk.exposed, time_ns)
            if walk.hop is not None:
                next_hop, hop = walk.next_hop, walk.hop
                walk.sent += [Sent(hop.port, side.framed(hop, next_hop, packet)) for packet in walk.out]
        if self.resolution is not None:
            reason = self.resolution.hold(walk, reason)
            walk.sent = resolution_frames + walk.sent
        if self.ipv4.vlans:
            walk.sent = [tagged(self.router.ports, sent) for sent in walk.sent]
        return Outcome(reason, tuple(sorted(walk.sent, key=lambda sent: sent.port)))
