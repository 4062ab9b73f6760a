"""Chooses how many packets to measure at each load, so that the curve of any machine takes about the same time.

    events of a run / packets = a + b / load        b: polls per second of threads that find no packet

Two short runs, at the lowest and at the highest load, determine a and b of a machine. A run then measures the number of
packets that makes EVENTS events, rounded down to a power of two, at least MIN_PACKETS and at most PACKETS.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from npexplore.errors import RefusedError, SimulationError

PACKETS = 16_384  # maximum; 16 packets are then above the highest quantile, 99.9 %
MIN_PACKETS = 1024
EVENTS = 10e6  # events of one load's simulation, which takes less than half a second
SHORT = 256  # packets of each of the two short runs


def packets_at(loads: Sequence[float], events: Callable[[float, int], float]) -> list[int]:
    """Return the packets to measure at each of `loads` (packets/s); PACKETS if the simulation refuses.

    events: returns the events per packet of a run with (load, packets), including the events of the warm-up.
    """
    extremes = sorted({min(loads), max(loads)})
    try:
        costs = [events(load, SHORT) for load in extremes]
    except (RefusedError, SimulationError):  # the curve reports the reason
        return [PACKETS] * len(loads)
    slope = max((costs[0] - costs[-1]) / (1 / extremes[0] - 1 / extremes[-1]), 0.0) if len(extremes) > 1 else 0.0
    level = costs[-1] - slope / extremes[-1]
    return [_whole(EVENTS / max(level + slope / load, 1.0)) for load in loads]


def _whole(packets: float) -> int:
    """Return a number rounded down to a power of two, within MIN_PACKETS and PACKETS."""
    return int(2 ** math.floor(math.log2(min(max(packets, MIN_PACKETS), PACKETS))))
