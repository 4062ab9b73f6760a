"""How many packets to measure at each load, so that the curve of any machine takes about the same time.

    events of a run / packets = a + b / load        b: looks of threads that find no packet, so many a second

Two short runs, at the lowest and at the highest load, tell a and b of a machine; a run then has packets for EVENTS, at
least MIN_PACKETS and at most PACKETS, as a power of two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from npexplore.errors import RefusedError, SimulationError

PACKETS = 16_384  # measured at most: the slowest 16 are beyond the last quantile
MIN_PACKETS = 1024  # measured at least
EVENTS = 10e6  # of one load's simulation: below half a second
SHORT = 256  # packets of each of the two runs


def packets_at(loads: Sequence[float], events: Callable[[float, int], float]) -> list[int]:
    """Return the packets to measure at each of `loads` (packets a second); PACKETS if the simulation refuses.

    events: of a run at a load with so many packets, for each of these, those of the warm-up counted too.
    """
    ends = sorted({min(loads), max(loads)})
    try:
        costs = [events(load, SHORT) for load in ends]
    except (RefusedError, SimulationError):  # the curve says why
        return [PACKETS] * len(loads)
    slope = max((costs[0] - costs[-1]) / (1 / ends[0] - 1 / ends[-1]), 0.0) if len(ends) > 1 else 0.0
    level = costs[-1] - slope / ends[-1]
    return [_whole(EVENTS / max(level + slope / load, 1.0)) for load in loads]


def _whole(packets: float) -> int:
    """Return the power of two below, within MIN_PACKETS and PACKETS."""
    return int(2 ** math.floor(math.log2(min(max(packets, MIN_PACKETS), PACKETS))))
