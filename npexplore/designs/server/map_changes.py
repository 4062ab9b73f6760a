"""What other maps would do to a packet program on the server: a million keys at random, or values of each core's own.

cycles of a line = (C2 - C1) x second cache + (C3 - C2) x third cache + (1 - C3) x memory;  Ck = min(1, size k / map)

A lookup among keys at random touches the line of its bucket, if it is a hash table, and those of its entry; an entry of
a per-CPU map holds a pointer to another line. A value of a core's own needs no atomic instruction: a load and a store.
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
)  # of a hash table's entry before its key (Linux, kernel/bpf/hashtab.c)
PER_CPU = {"hash": "percpu_hash", "lru_hash": "lru_percpu_hash", "array": "percpu_array"}
ATOMIC_INSTEAD: Mapping[str, float] = {"instruction": 1.0, "load": 1.0}  # beside the instruction that it counts as


def operations(run: ProgramRun) -> dict[int, dict[str, float]]:
    """Return how often a packet of each path asks each map: path -> name of the map -> lookups, updates, deletions."""
    counts: dict[int, dict[str, float]] = {}
    for path, visits in enumerate(run.work.visits):
        counts[path] = defaultdict(float)
        for row in np.flatnonzero(visits).tolist():
            one, called = run.program.code[run.work.slots[row]], int(run.work.called[row])
            if one.opcode == isa.CALL and one.src == isa.HELPER and one.imm in ON_MAPS and called >= 0:
                counts[path][run.program.maps[called].name] += float(visits[row])
    return counts


def random_key_cycles(table: MapDefinition, keys: int, p: Parameters) -> float:
    """Return the cycles that a lookup among so many keys at random takes behind the first cache of a core."""
    key, value = (8 * ceil(size / 8) for size in (table.key_bytes, table.value_bytes))
    hashed, per_cpu = table.kind_name in HASHED, "percpu" in table.kind_name
    entry = (HEAD_BYTES + key if hashed else 0) + (8 if per_cpu else value)
    lines = hashed + ceil(entry / LINE_BYTES) + (ceil(value / LINE_BYTES) if per_cpu else 0)
    size = keys * (entry + hashed * BUCKET_BYTES + (value * int(p.cores) if per_cpu else 0))
    sizes = (int(p.l1_kb) * KB, int(p.l2_kb) * KB, int(p.l3_mb) * MB)
    first, second, third = (min(1.0, one / size) for one in sizes)
    near = (second - first) * float(p.l2_cycles) + (third - second) * float(p.l3_cycles)
    return lines * (near + (1 - third) * float(p.miss_cycles))


def per_cpu_events(events: Events, program_maps: tuple[MapDefinition, ...]) -> Events:
    """Return a path's events with a value a core in each map that has such a kind, and without atomic instructions."""
    kinds = {f".{kind}": f".{PER_CPU[kind]}" for kind in PER_CPU if any(t.kind_name == kind for t in program_maps)}
    changed: defaultdict[str, float] = defaultdict(float)
    for name, times in events.items():
        stem, dot, kind = name.partition(".")
        changed[stem + kinds.get(dot + kind, dot + kind)] += times
    times = changed.pop("atomic", 0.0)
    for name, each in ATOMIC_INSTEAD.items():
        changed[name] += times * each
    return {name: times for name, times in changed.items() if times}


def changed_cycles(run: ProgramRun, costs: CostTable, p: Parameters) -> dict[str, dict[int, float]]:
    """Return the cycles that each change of the program's maps adds to a packet, change -> path -> cycles.

    A map of one entry gets no other keys. Where the cost table has no price of a per-CPU map, that change is left out.
    """
    counts_by_path, maps = operations(run), run.program.used_maps.values()
    changes: dict[str, dict[int, float]] = {}
    for table in maps:
        more = {path: counts[table.name] for path, counts in counts_by_path.items() if table.name in counts}
        if more and table.max_entries > 1 and (table.kind_name in HASHED or table.kind_name.endswith("array")):
            each = random_key_cycles(table, RANDOM_KEYS, p)
            changes[f"{RANDOM_KEYS:,} keys at random in map {table.name}"] = {k: n * each for k, n in more.items()}
    events = costs.events_of(run)
    shared = tuple(table for table in maps if table.kind_name in PER_CPU and table.initial is None)
    other = {path: per_cpu_events(one, shared) for path, one in events.items()}
    if shared and all(name in costs.event for one in other.values() for name in one):
        names = " and ".join(table.name for table in shared)
        word = "maps" if len(shared) > 1 else "map"
        changes[f"{word} {names} per CPU"] = {
            path: costs.cycles(other[path]) - costs.cycles(events[path]) for path in events
        }
    return changes
