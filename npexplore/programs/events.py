"""Counts the events of each path that take processor time: instructions, branches, lookups, helper calls.

All packets of a path have the same events. A lookup in a table of n prefixes visits log2(n) + 1.5 nodes of the kernel's
trie (for random prefixes; kernel/bpf/lpm_trie.c keeps a node per prefix and one per fork).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from math import log2

import numpy as np

from npexplore._kernels import ebpf as k
from npexplore.programs import instructions as isa
from npexplore.programs.helpers import TAIL_CALL, helper_name
from npexplore.programs.result import ProgramRun, instruction_class

ON_MAPS = {1: "lookup", 2: "update", 3: "delete"}
HASHED = ("hash", "percpu_hash", "lru_hash", "lru_percpu_hash")
NODES = 1.5  # trie nodes of a lookup beyond log2(prefixes)

Events = dict[str, float]
LineEvents = Mapping[str, Events]


def events_of(run: ProgramRun) -> dict[int, Events]:
    """Return the events of a packet of each path, path -> event -> times.

    Events: `instruction` (all except calls), of these `load`, `multiply`, `divide`, `atomic`, `branch`, `branch_taken`;
    `call`, `tail_call`, `split_load` (a load of bytes that several narrower stores wrote); by kind of map
    `lookup.KIND`, `found.KIND`, `update.KIND`, `delete.KIND`, `refused_update.KIND`, `refused_delete.KIND` (refused:
    ended with an error), `key_byte` of hash tables and `node` of prefix tables; other helpers `helper.NAME`.
    """
    events = {}
    paths, places = np.unique(run.rows[:, k.PATH], return_inverse=True)
    split = np.bincount(places.ravel(), run.rows[:, k.SPLIT_LOADS]) / np.bincount(places.ravel())
    for place, number in enumerate(paths.tolist()):
        if number >= len(run.work.visits):
            continue  # packets whose path did not fit into the table of paths
        counts: defaultdict[str, float] = defaultdict(float)
        visits, taken = run.work.visits[number], run.work.taken[number]
        for row in np.flatnonzero(visits).tolist():
            count_events(run, row, float(visits[row]), float(taken[row]), counts)
        counts["split_load"] += float(split[place])
        events[number] = {name: count for name, count in counts.items() if count}
    return events


def events_by_line(run: ProgramRun, count: Callable[[int, float, float, defaultdict[str, float]], None]) -> LineEvents:
    """Return the mean events per packet by source line.

    count: adds the events of an instruction (row of `run.work`, times run, times its jump is taken) to a dictionary.
    """
    lines: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    visits, taken = (total / max(len(run), 1) for total in run.totals())
    for row in np.flatnonzero(visits).tolist():
        count(row, float(visits[row]), float(taken[row]), lines[run.line_text(row)])
    return {line: {name: times for name, times in events.items() if times} for line, events in lines.items()}


def count_events(run: ProgramRun, row: int, times: float, taken: float, counts: defaultdict[str, float]) -> None:
    """Add the events of one instruction that runs `times` times and whose jump is taken `taken` times."""
    instruction = run.program.code[run.work.slots[row]]
    kind = instruction_class(instruction)
    if kind != "call":
        counts["instruction"] += times
        if kind == "branch":
            counts["branch_taken"] += taken
            counts["branch"] += times - taken
        elif kind in ("divide", "multiply", "load", "atomic"):
            counts[kind] += times
        elif kind == "jump":
            counts["branch_taken"] += times
        return
    if instruction.src == isa.LOCAL:
        counts["call"] += times
    elif instruction.imm == TAIL_CALL:
        counts["tail_call"] += times
    elif instruction.imm in ON_MAPS and run.work.called[row] >= 0:
        table = run.program.maps[int(run.work.called[row])]
        name = table.kind_name
        operation = ON_MAPS[instruction.imm]
        refused = taken if operation != "lookup" else 0.0  # calls that return an error number
        counts[f"{operation}.{name}"] += times - refused
        counts[f"refused_{operation}.{name}"] += refused
        if name in HASHED:
            counts["key_byte"] += times * table.key_bytes
            counts[f"found.{name}"] += taken if operation == "lookup" else 0.0
        elif name == "lpm_trie":
            counts["node"] += times * (log2(max(len(run.before[table.name]), 1)) + NODES)
    else:
        counts[f"helper.{helper_name(instruction.imm)}"] += times
