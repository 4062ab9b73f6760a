"""Computes the memory channels that a mix of traffic needs (Fig. 7), from reads per packet and reads/s of a channel.

    reads = levels (destination) [+ levels (source) + 3 (counters)],   channels = ceil(rate x reads / channel rate)
    share that needs no memory >= 1 - available channels x channel rate / (rate x reads)

IPv4 has 3 levels, IPv6 has 6; labels in the cluster's table need no read, and a counter has 3 x 72 bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from npexplore.designs.gorilla.memory import reads_per_s
from npexplore.errors import InputError, one_of
from npexplore.golden.flow_counters import COUNTERS
from npexplore.golden.lookup import Trie20_4_8
from npexplore.golden.lookup.trie6 import SIX
from npexplore.machine.parameters import Parameters

LEVELS: Mapping[str, int] = {"ipv4": len(Trie20_4_8.STRIDES), "ipv6": len(SIX), "mpls": 0}
OPERATIONS = ("lu", "lufc")


def reads(proto: str, op: str) -> int:
    """Return a packet's reads: for the destination's lookup (lu), or for both lookups and the counters (lufc)."""
    levels = LEVELS[one_of("protocol", proto, LEVELS)]
    has_counters = one_of("operation", op, OPERATIONS) == "lufc"
    return (2 * levels + COUNTERS) if has_counters else levels


def reads_of_mix(mix: Mapping[str, float], op: str) -> float:
    """Return the mean reads per packet of a mix {protocol: share}; raises InputError if shares do not sum to 1."""
    if not math.isclose(sum(mix.values()), 1.0, abs_tol=1e-9) or min(mix.values()) < 0:
        raise InputError(f"shares of a mix must add up to 1, got {dict(mix)}")
    return sum(part * reads(proto, op) for proto, part in mix.items())


def channels_needed(p: Parameters, mix: Mapping[str, float], op: str, rate_pps: float) -> int:
    """Return the number of channels of the parameters' memory that a mix needs."""
    return math.ceil(rate_pps * reads_of_mix(mix, op) / reads_per_s(p) - 1e-9)


def share_without_memory(p: Parameters, proto: str, op: str, rate_pps: float) -> float:
    """Return the smallest share of traffic that must need no memory for the channels to suffice."""
    needed = rate_pps * reads(proto, op)
    return max(0.0, 1.0 - p.channels * reads_per_s(p) / needed) if needed else 0.0
