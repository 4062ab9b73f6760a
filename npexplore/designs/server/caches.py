"""Which lines are still in a cache when a core reads them: rings of packets, and the table that flows are looked up in.

Addresses as they are laid out go through the caches one by one (machine/caches.py): a buffer of a ring is written by
the card and read by a core a ring later; a flow's lookups touch the same lines of its table each time.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from npexplore.golden.touches import Touches
from npexplore.machine.caches import MEMORY, Caches, Level
from npexplore.machine.parameters import Parameters
from npexplore.machine.touching import Touched, columns

KB, MB = 2**10, 2**20
LOOKUPS = 8192  # that are counted, behind those that fill the caches
PASSES = 16  # second caches full of passing lines, before one comes again


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
    """Return the share of packets that lie in memory when a core reads them, with full rings."""
    frame = Touched("ring", int(p.ring), int(p.buffer_bytes), int(p.line_bytes))
    return float(columns((frame,), caches(p), int(p.cores))[MEMORY].mean())


@lru_cache(maxsize=256)
def lookup_miss(flows: int, lines: int, table_bytes: int, hierarchy: Caches, passing: int = 0) -> tuple[float, float]:
    """Return the shares of a flow's lines that the first, and that the second cache does not have.

    Each of the flows, drawn at random packet by packet, touches so many lines at random places of its table. Each
    packet brings `passing` others, which neither cache has: those that the card wrote.
    """
    rng = np.random.default_rng(1)
    where = rng.integers(0, table_bytes // hierarchy.line_bytes, (flows, lines)) * hierarchy.line_bytes
    flow = rng.integers(0, flows, LOOKUPS + 3 * flows)
    passed = np.arange(len(flow) * passing) % (PASSES * hierarchy.levels[1].size_bytes // hierarchy.line_bytes)
    others = table_bytes + passed.reshape(len(flow), passing) * hierarchy.line_bytes
    packet = np.repeat(np.arange(len(flow)), lines + passing)
    level = hierarchy.levels_of(Touches.of(packet, np.hstack([where[flow], others]).reshape(-1)))
    mine = level.reshape(len(flow), -1)[-LOOKUPS:, :lines]
    return float((mine > 0).mean()), float((mine > 1).mean())


def lookup_cycles(p: Parameters) -> float:
    """Return the cycles that the lines of a lookup of one's own take behind the first cache, a packet."""
    if p.own_lookup == "none":
        return 0.0
    misses = columns((Touched(str(p.own_lookup), int(p.own_entries)),), caches(p), int(p.flows))
    cost = {"l2_lines": p.l2_cycles, "l3_lines": p.l3_cycles, MEMORY: p.miss_cycles}
    return sum(float(misses[name].mean()) * float(each) for name, each in cost.items())
