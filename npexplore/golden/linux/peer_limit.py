"""The Linux kernel's rate limit on ICMP messages per destination address: a token bucket, one token per millisecond.

A message costs `icmp_ratelimit` tokens; the bucket holds six times this. A new address begins as after 60 s of silence.
An error about a missing route costs another 1,000 tokens of at most 5,000 (net.ipv4.route.error_cost and error_burst).
The kernel counts in ticks of its clock.
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
    """Take tokens of an address; return whether there were enough. tokens: by address (tokens, last update in ms)."""
    now_ms = time_ns // MILLISECOND
    available, updated_ms = tokens.get(address, (0, now_ms - SILENT_MS))
    if now_ms > updated_ms:  # within a tick, tokens of the other limit are not capped
        available = min(available + now_ms - updated_ms, burst_ms)
    enough = available >= cost_ms
    tokens[address] = available - cost_ms if enough else available, max(now_ms, updated_ms)
    return enough


def limited(settings: LinuxSettings) -> bool:
    """Say whether IPv4 messages are limited per receiver."""
    return settings.icmp_ratelimit > 0


def may_tell4(side: Side4, target: int, kind: int, code: int, time_ns: int) -> bool:
    """Say whether a message of a type and code may be sent to an address now, and take its tokens."""
    settings = side.router.linux
    if not limited(settings) or (kind, code) == TOO_LARGE4 or not settings.icmp_ratemask >> kind & 1:
        return True
    return _allow(side.tokens, target, time_ns, settings.icmp_ratelimit, SAVED * settings.icmp_ratelimit)


def may_tell_unrouted(side: Side4, source: int, reason: Reason, time_ns: int) -> bool:
    """Say whether an error about a missing route may be sent to a source now, and take its tokens."""
    if reason not in UNROUTED or not limited(side.router.linux):
        return True
    return _allow(side.tokens, source, time_ns, ROUTE_COST_MS, ROUTE_BURST_MS)


def may_tell6(side: Side6, target: int, error: IcmpError, time_ns: int) -> bool:
    """Say whether an ICMPv6 error may be sent to an address now; all types but 2 are limited (icmp.ratemask)."""
    cost = side.router.linux.ipv6_icmp_ratelimit
    if not cost or error.type == TOO_LARGE6:
        return True
    return _allow(side.tokens, target, time_ns, cost, SAVED * cost)
