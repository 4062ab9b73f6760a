"""How often the Linux kernel tells one address something: tokens of an address, in milliseconds of silence.

A message costs `icmp_ratelimit`, and six of them may be saved up, as by an address that was never told anything. Before
an error about a missing route the kernel asks for 1,000 of at most 5,000, too (net.ipv4.route.error_cost and
error_burst). The kernel counts in ticks of its clock.
"""

from __future__ import annotations

from npexplore.golden.ipv4.icmp import IcmpError
from npexplore.golden.linux.settings import LinuxSettings
from npexplore.golden.reasons import Reason
from npexplore.golden.router.sides import Side4, Side6

MILLISECOND = 1_000_000
SILENT_MS, SAVED = 60_000, 6
ROUTE_COST_MS, ROUTE_BURST_MS = 1_000, 5_000
UNROUTED = frozenset({Reason.NO_ROUTE, Reason.UNREACHABLE, Reason.PROHIBITED})
TOO_LARGE4, TOO_LARGE6 = (3, 4), 2  # never limited: path MTU discovery needs it


def _allow(tokens: dict[int, tuple[int, int]], address: int, time_ns: int, cost_ms: int, burst_ms: int) -> bool:
    """Take tokens of an address; return whether there were enough. tokens: by address, how many and since when."""
    now = time_ns // MILLISECOND
    saved, since = tokens.get(address, (0, now - SILENT_MS))
    if now > since:  # what another limit has left is not cut within a tick
        saved = min(saved + now - since, burst_ms)
    enough = saved >= cost_ms
    tokens[address] = saved - cost_ms if enough else saved, max(now, since)
    return enough


def limited(settings: LinuxSettings) -> bool:
    """Say whether any message of IPv4 is limited by its receiver."""
    return settings.icmp_ratelimit > 0


def may_tell4(side: Side4, target: int, kind: int, code: int, time_ns: int) -> bool:
    """Say whether a message of a type and code may go to an address now, and take its tokens."""
    settings = side.router.linux
    if not limited(settings) or (kind, code) == TOO_LARGE4 or not settings.icmp_ratemask >> kind & 1:
        return True
    return _allow(side.tokens, target, time_ns, settings.icmp_ratelimit, SAVED * settings.icmp_ratelimit)


def may_tell_unrouted(side: Side4, source: int, reason: Reason, time_ns: int) -> bool:
    """Say whether the kernel tells a source of a missing route now."""
    if reason not in UNROUTED or not limited(side.router.linux):
        return True
    return _allow(side.tokens, source, time_ns, ROUTE_COST_MS, ROUTE_BURST_MS)


def may_tell6(side: Side6, target: int, error: IcmpError, time_ns: int) -> bool:
    """Say whether an error of ICMPv6 may go to an address now; all types but 2 are limited (icmp.ratemask)."""
    cost = side.router.linux.ipv6_icmp_ratelimit
    if not cost or error.type == TOO_LARGE6:
        return True
    return _allow(side.tokens, target, time_ns, cost, SAVED * cost)
