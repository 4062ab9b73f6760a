"""The effect of other maps on a packet program's cycles: a million random keys, or per-CPU values.

cycles of a line = (C2 - C1) x second cache + (C3 - C2) x third cache + (1 - C3) x memory;  Ck = min(1, size k / map)

A lookup of a random key touches the line of its bucket (in a hash table) and the lines of its entry; an entry of a
per-CPU map points to another line. A per-CPU value needs no atomic instruction, only a load and a store.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from math import ceil

import numpy as np

from npexplore.machine.parameters import Parameters
from npexplore.programs import instructions as isa
from npexplore.programs.costs import CostTable
from npexplore.programs.events import HASHED, ON_MAPS, Events
from npexplore.programs.records import MapDefinition
from npexplore.programs.result import ProgramRun

RANDOM_KEYS = 1_000_000
KB, MB = 2**10, 2**20
LINE_BYTES, BUCKET_BYTES, HEAD_BYTES = (
    64,
    16,
    48,
)  # bytes of a cache line, of a bucket, and of a hash table entry before its key (Linux, kernel/bpf/hashtab.c)
PER_CPU = {"hash": "percpu_hash", "lru_hash": "lru_percpu_hash", "array": "percpu_array"}
ATOMIC_INSTEAD: Mapping[str, float] = {"instruction": 1.0, "load": 1.0}  # the additional load


def operations(run: ProgramRun) -> dict[int, dict[str, float]]:
    """Return the map operations (lookups, updates, deletions) of a packet: path -> name of the map -> count."""
    counts: dict[int, dict[str, float]] = {}
    for path, visits in enumerate(run.work.visits):
        counts[path] = defaultdict(float)
        for row in np.flatnonzero(visits).tolist():
            call, map_number = run.program.code[run.work.slots[row]], int(run.work.called[row])
            if call.opcode == isa.CALL and call.src == isa.HELPER and call.imm in ON_MAPS and map_number >= 0:
                counts[path][run.program.maps[map_number].name] += float(visits[row])
    return counts


def random_key_cycles(table: MapDefinition, keys: int, p: Parameters) -> float:
    """Return the cycles that a lookup among `keys` random keys spends beyond a core's first cache."""
    key, value = (8 * ceil(size / 8) for size in (table.key_bytes, table.value_bytes))
    hashed, per_cpu = table.kind_name in HASHED, "percpu" in table.kind_name
    entry_bytes = (HEAD_BYTES + key if hashed else 0) + (8 if per_cpu else value)
    line_count = hashed + ceil(entry_bytes / LINE_BYTES) + (ceil(value / LINE_BYTES) if per_cpu else 0)
    table_bytes = keys * (entry_bytes + hashed * BUCKET_BYTES + (value * int(p.cores) if per_cpu else 0))
    sizes = (int(p.l1_kb) * KB, int(p.l2_kb) * KB, int(p.l3_mb) * MB)
    l1_share, l2_share, l3_share = (min(1.0, cache_bytes / table_bytes) for cache_bytes in sizes)
    cache_cycles = (l2_share - l1_share) * float(p.l2_cycles) + (l3_share - l2_share) * float(p.l3_cycles)
    return line_count * (cache_cycles + (1 - l3_share) * float(p.miss_cycles))


def per_cpu_events(events: Events, program_maps: tuple[MapDefinition, ...]) -> Events:
    """Return a path's events with per-CPU kinds in place of the program's maps, and without atomic instructions."""
    kinds = {
        f".{kind}": f".{PER_CPU[kind]}" for kind in PER_CPU if any(table.kind_name == kind for table in program_maps)
    }
    per_cpu: defaultdict[str, float] = defaultdict(float)
    for name, count in events.items():
        stem, dot, kind = name.partition(".")
        per_cpu[stem + kinds.get(dot + kind, dot + kind)] += count
    count = per_cpu.pop("atomic", 0.0)
    for name, per_atomic in ATOMIC_INSTEAD.items():
        per_cpu[name] += count * per_atomic
    return {name: times for name, times in per_cpu.items() if times}


def changed_cycles(run: ProgramRun, costs: CostTable, p: Parameters) -> dict[str, dict[int, float]]:
    """Return the cycles that each change of the program's maps adds to a packet: change -> path -> cycles.

    Maps of one entry have no random keys. The per-CPU change is left out if the cost table lacks a cost for it.
    """
    counts_by_path, maps = operations(run), run.program.used_maps.values()
    changes: dict[str, dict[int, float]] = {}
    for table in maps:
        uses = {path: counts[table.name] for path, counts in counts_by_path.items() if table.name in counts}
        if uses and table.max_entries > 1 and (table.kind_name in HASHED or table.kind_name.endswith("array")):
            lookup_cycles = random_key_cycles(table, RANDOM_KEYS, p)
            changes[f"{RANDOM_KEYS:,} keys at random in map {table.name}"] = {
                path: count * lookup_cycles for path, count in uses.items()
            }
    events = costs.events_of(run)
    shared = tuple(table for table in maps if table.kind_name in PER_CPU and table.initial is None)
    per_cpu_by_path = {path: per_cpu_events(of_path, shared) for path, of_path in events.items()}
    if shared and all(name in costs.event for of_path in per_cpu_by_path.values() for name in of_path):
        names = " and ".join(table.name for table in shared)
        word = "maps" if len(shared) > 1 else "map"
        changes[f"{word} {names} per CPU"] = {
            path: costs.cycles(per_cpu_by_path[path]) - costs.cycles(events[path]) for path in events
        }
    return changes
