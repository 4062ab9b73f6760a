"""Memory channels that a mix of traffic needs (Fig. 7): reads a packet, times its rate, over the reads of a channel.

    reads = levels (destination) [+ levels (source) + 3 (counters)],   channels = ceil(rate x reads / channel rate)
    share that needs no memory >= 1 - channels at hand x channel rate / (rate x reads)

IPv4 has 3 levels, IPv6 has 6; labels that the cluster's table has need none, and a counter is 3 x 72 bits.
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
    """Return the reads of a packet: of the destination's lookup (lu), or of both lookups and the counters (lufc)."""
    levels = LEVELS[one_of("protocol", proto, LEVELS)]
    counted = one_of("operation", op, OPERATIONS) == "lufc"
    return (2 * levels + COUNTERS) if counted else levels


def reads_of_mix(mix: Mapping[str, float], op: str) -> float:
    """Return the mean reads of a packet of a mix {protocol: share}; raises InputError if shares are not one in all."""
    if not math.isclose(sum(mix.values()), 1.0, abs_tol=1e-9) or min(mix.values()) < 0:
        raise InputError(f"shares of a mix must add up to 1, got {dict(mix)}")
    return sum(part * reads(proto, op) for proto, part in mix.items())


def channels_needed(p: Parameters, mix: Mapping[str, float], op: str, rate_pps: float) -> int:
    """Return how many channels of the parameters' memory a mix needs."""
    return math.ceil(rate_pps * reads_of_mix(mix, op) / reads_per_s(p) - 1e-9)


def share_without_memory(p: Parameters, proto: str, op: str, rate_pps: float) -> float:
    """Return the least share of traffic that must do without memory if the channels are to suffice."""
    wanted = rate_pps * reads(proto, op)
    return max(0.0, 1.0 - p.channels * reads_per_s(p) / wanted) if wanted else 0.0
