"""The remedies that the IXP1200's paper proposes against its SRAM bottleneck, and the bottleneck that follows each.

    rate with a cache <= 1 / (h d_hit + (1 - h) d_miss);    h = share of packets whose 5-tuple an LRU cache holds

h is not assumed: it is the locality of a capture's flows (packets.statistics.flow_locality), or for a cache of routes
alone that of its destinations (golden.lookup.route_cache_hit_ratio).
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
    """Return the locality of flows that send one packet each in turn, as a traffic generator makes them (Fig. 9)."""
    return locality(np.tile(np.arange(flows), rounds))


def of_captures(tables: Mapping[str, PacketTable]) -> dict[str, Locality]:
    """Return the locality of the 5-tuples of captures, by the captures' names."""
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
    """Return the fourth remedy as knobs, for each source: a cache of so many flows, or of so many routes alone.

    routes: captures whose destinations are looked up.
    """
    flows = {
        f"cache of {entries}: {name}": ("cache_hit", locality.hit_ratio(entries)) for name, locality in sources.items()
    }
    alone = {
        f"{entries} routes: {name}": ("route_cache_hit", route_cache_hit_ratio(table, entries))
        for name, table in (routes or {}).items()
    }
    return {name: {knob: round(hit, 4)} for name, (knob, hit) in {**flows, **alone}.items()}


def remedies(
    design: Design, sources: Mapping[str, Locality], entries: int = 16, rules: Iterable[int] = (1, 512),
    simulations: Simulations | None = None, routes: Mapping[str, PacketTable] | None = None,
) -> pd.DataFrame:  # fmt: skip
    """Return what each remedy gains in the whole system: columns remedy, rules, those of `simulated`, gain, binds."""
    every = {**REMEDIES, **cached(sources, entries, routes)}
    points = [
        ({"remedy": name, "rules": n}, design.with_(rules=n, **knobs)) for n in rules for name, knobs in every.items()
    ]
    table = simulated(points, simulations)
    before = table.groupby("rules")["throughput_mbps"].transform("first")
    return table.assign(
        gain=table["throughput_mbps"] / before - 1, binds=[binds(row.engines, row.sram) for row in table.itertuples()]
    )
