"""Cache hits and misses of a server's cores: for packets in rings, and for lookups of flows in a table.

Memory addresses are simulated through the caches one by one (machine/caches.py). The card writes a ring's buffer, and a
core reads it a ring length later. A flow's lookups touch the same lines of the table each time.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from npexplore.golden.touches import Touches
from npexplore.machine.caches import MEMORY, Caches, Level
from npexplore.machine.parameters import Parameters
from npexplore.machine.touching import Touched, columns

KB, MB = 2**10, 2**20
LOOKUPS = 8192  # counted lookups, after those that fill the caches
PASSES = 16  # passing lines repeat after this many times the second cache's capacity


def caches(p: Parameters) -> Caches:
    """Return the caches of the server; raises ModelError for an impossible geometry."""
    levels = (
        Level("l1", int(p.l1_kb) * KB, int(p.l1_ways)),
        Level("l2", int(p.l2_kb) * KB, int(p.l2_ways)),
        Level("l3", int(p.l3_mb) * MB, int(p.l3_ways), shared=True),
    )
    return Caches(
        levels, int(p.line_bytes), int(p.cores), int(p.device_ways), inclusive=True, replacement=str(p.replacement)
    )


def ring_miss(p: Parameters) -> float:
    """Return the share of packets that are in no cache when a core reads them, with full rings."""
    frame = Touched("ring", int(p.ring), int(p.buffer_bytes), int(p.line_bytes))
    return float(columns((frame,), caches(p), int(p.cores))[MEMORY].mean())


@lru_cache(maxsize=256)
def lookup_miss(flows: int, lines: int, table_bytes: int, hierarchy: Caches, passing: int = 0) -> tuple[float, float]:
    """Return the shares of a flow's lines that miss the first cache, and that miss the second cache.

    Each packet belongs to a random flow; a flow always touches the same `lines` lines, at random places of the table.
    Each packet also brings `passing` lines that the card wrote and that are in neither cache.
    """
    rng = np.random.default_rng(1)
    places = rng.integers(0, table_bytes // hierarchy.line_bytes, (flows, lines)) * hierarchy.line_bytes
    flow = rng.integers(0, flows, LOOKUPS + 3 * flows)
    passing_lines = np.arange(len(flow) * passing) % (PASSES * hierarchy.levels[1].size_bytes // hierarchy.line_bytes)
    others = table_bytes + passing_lines.reshape(len(flow), passing) * hierarchy.line_bytes
    packet = np.repeat(np.arange(len(flow)), lines + passing)
    level = hierarchy.levels_of(Touches.of(packet, np.hstack([places[flow], others]).reshape(-1)))
    flow_levels = level.reshape(len(flow), -1)[-LOOKUPS:, :lines]
    return float((flow_levels > 0).mean()), float((flow_levels > 1).mean())


def lookup_cycles(p: Parameters) -> float:
    """Return the cycles per packet that a user program's lookup spends on lines beyond the first cache."""
    if p.own_lookup == "none":
        return 0.0
    misses = columns((Touched(str(p.own_lookup), int(p.own_entries)),), caches(p), int(p.flows))
    cost = {"l2_lines": p.l2_cycles, "l3_lines": p.l3_cycles, MEMORY: p.miss_cycles}
    return sum(float(misses[name].mean()) * float(cycles) for name, cycles in cost.items())
