"""Simulates the remedies that the IXP1200's paper proposes for its SRAM bottleneck, and finds the next bottlenecks.

    rate with a cache <= 1 / (h d_hit + (1 - h) d_miss);    h = share of packets whose 5-tuple is in an LRU cache

h is not assumed but measured: it is the locality of a capture's flows (packets.statistics.flow_locality), or, for a
cache of routes alone, of its destinations (golden.lookup.route_cache_hit_ratio).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from npexplore.designs import Design
from npexplore.golden.lookup import route_cache_hit_ratio
from npexplore.machine.parameters import Value
from npexplore.packets.columns import PacketTable
from npexplore.packets.statistics import Locality, flow_locality
from npexplore.packets.statistics.locality import locality
from npexplore.study.papers.ixp1200.performance import binds, simulated
from npexplore.study.sweeping.simulations import Simulations

if TYPE_CHECKING:
    import pandas as pd

AS_PUBLISHED = "as published"
REMEDIES: Mapping[str, dict[str, Value]] = {
    AS_PUBLISHED: {},
    "routing table in SDRAM": {"routing_table": "sdram"},
    "2 SRAM banks": {"sram_banks": 2},
    "4 SRAM banks": {"sram_banks": 4},
    "2 copies of the tables": {"sram_copies": 2},
    "QDR SRAM": {"sram_type": "qdr"},
}
ENTRIES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


def in_turn(flows: int, rounds: int = 20) -> Locality:
    """Return the locality of flows that send one packet each in turn, like the traffic generator of Fig. 9."""
    return locality(np.tile(np.arange(flows), rounds))


def of_captures(tables: Mapping[str, PacketTable]) -> dict[str, Locality]:
    """Return the locality of each capture's 5-tuples by the capture's name."""
    return {name: flow_locality(table) for name, table in tables.items()}


def hit_ratios(sources: Mapping[str, Locality], entries: Iterable[int] = ENTRIES) -> pd.DataFrame:
    """Return the hit ratio of LRU caches: columns source, entries, hit."""
    import pandas as pd

    sizes = list(entries)
    return pd.DataFrame(
        [(name, size, locality.hit_ratio(size)) for name, locality in sources.items() for size in sizes],
        columns=["source", "entries", "hit"],
    )


def cached(
    sources: Mapping[str, Locality], entries: int, routes: Mapping[str, PacketTable] | None = None
) -> dict[str, dict[str, Value]]:
    """Return the knobs of the fourth remedy for each source: a cache of `entries` flows, or of `entries` routes alone.

    routes: captures by name, whose destinations give the hit ratios of route caches.
    """
    flow_caches = {
        f"cache of {entries}: {name}": ("cache_hit", locality.hit_ratio(entries)) for name, locality in sources.items()
    }
    route_caches = {
        f"{entries} routes: {name}": ("route_cache_hit", route_cache_hit_ratio(table, entries))
        for name, table in (routes or {}).items()
    }
    return {name: {knob: round(hit, 4)} for name, (knob, hit) in {**flow_caches, **route_caches}.items()}


def remedies(
    design: Design, sources: Mapping[str, Locality], entries: int = 16, rules: Iterable[int] = (1, 512),
    simulations: Simulations | None = None, routes: Mapping[str, PacketTable] | None = None,
) -> pd.DataFrame:  # fmt: skip
    """Return each remedy's gain in the whole system: columns remedy, rules, columns of `simulated`, gain, binds."""
    knobs_by_remedy = {**REMEDIES, **cached(sources, entries, routes)}
    points = [
        ({"remedy": name, "rules": n}, design.with_(rules=n, **knobs))
        for n in rules
        for name, knobs in knobs_by_remedy.items()
    ]
    table = simulated(points, simulations)
    published_mbps = table.groupby("rules")["throughput_mbps"].transform("first")
    return table.assign(
        gain=table["throughput_mbps"] / published_mbps - 1,
        binds=[binds(row.engines, row.sram) for row in table.itertuples()],
    )
