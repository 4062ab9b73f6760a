"""Measures of groups of packets of a run: packets are sorted by group and measured a bounded number at a time.

One pass over the rows sorts two numbers per packet; they are in files if the rows are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from npexplore._kernels import engine
from npexplore.engine.fates import NOWHERE, Fates, Totals
from npexplore.mapped_arrays import empty, in_files
from npexplore.solve.packet_measures import measures

if TYPE_CHECKING:
    import pandas as pd

Integers = npt.NDArray[np.int64]
MEASURED_PACKETS = 1 << 20  # measured at a time, and at most of one group, if arrays are in files
LOST = -2  # marks a dropped packet, in place of the tick of its departure


def group_measures(fates: Fates, totals: Totals, group: Integers, many: int) -> pd.DataFrame:
    """Return the measures of groups of packets, one row each (docs/packet_run.md).

    totals: of the rows. group: group number of each packet, below `many` (below 0: no group).
    """
    import pandas as pd

    counts, tick = np.zeros(many, dtype=np.int64), fates.model.tick
    for part in fates.parts():
        counts += np.bincount(group[part][group[part] >= 0], minlength=many)
    ordered, stops = _by_group(fates, group, counts), np.cumsum(counts)
    limit = MEASURED_PACKETS if in_files() else len(group)
    tables, start = [], 0
    while start < many:
        first = int(stops[start] - counts[start])
        stop = max(int(np.searchsorted(stops, first + limit, side="right")), start + 1)
        last = min(int(stops[stop - 1]), first + limit)
        numbers = np.repeat(np.arange(stop - start), counts[start:stop])[: last - first]
        tables.append(_measured(ordered[first:last], numbers, stop - start, tick))
        start = stop
    table = pd.concat(tables, ignore_index=True)
    if (counts > table.packets).any():
        table.insert(1, "measured", table.packets)
        table["packets"] = counts
    worst_at_s = table.pop("worst_at_s")
    return table.assign(**_waits(fates, totals, group, many), worst_at_s=worst_at_s)


def _by_group(fates: Fates, group: Integers, counts: Integers) -> Integers:
    """Return arrival and end (or LOST, NOWHERE) of packets by group, each in order of arrivals, shape (n, 2)."""
    next_place, ordered = np.cumsum(counts) - counts, empty((int(counts.sum()), 2))
    for part in fates.parts():
        rows = fates.rows[part, : engine.F_FIRST]
        lost = rows[:, engine.F_DROP] != NOWHERE
        end = np.where(lost, LOST, np.where(rows[:, engine.F_ENDS] > 0, rows[:, engine.F_END], NOWHERE))
        order = np.argsort(group[part], kind="stable")
        order = order[np.count_nonzero(group[part] < 0) :]
        groups, first, packets = np.unique(group[part][order], return_index=True, return_counts=True)
        target = np.arange(len(order)) + np.repeat(next_place[groups] - first, packets)
        ordered[target] = np.stack([rows[order, engine.F_ARRIVAL], end[order]], axis=1)
        next_place[groups] += packets
    return ordered


def _measured(packets: Integers, group: Integers, many: int, tick: float) -> pd.DataFrame:
    """Return the measures of packets (arrival and end of each) that are sorted by group."""
    import pandas as pd

    arrival, end = packets.T
    sent = end >= 0
    latency_s = np.where(sent, (end - arrival) * tick, np.nan)
    table = pd.DataFrame(measures(group, many, latency_s, end == LOST, np.where(sent, end * tick, np.nan)))
    has_sent = table.sent.to_numpy() > 0
    worst = np.lexsort((np.nan_to_num(latency_s, nan=-1.0), group))[np.cumsum(table.packets.to_numpy())[has_sent] - 1]
    table["worst_at_s"] = np.nan
    table.loc[has_sent, "worst_at_s"] = arrival[worst] * tick
    return table


def _waits(fates: Fates, totals: Totals, group: Integers, many: int) -> dict[str, Any]:
    """Return the resource at which each group waited longest, and the wait; nothing without times by resource."""
    places, kinds = fates.model.places, (engine.WAITED, engine.HELD_UP)
    of_places = {k: [3 * k + kind for kind in kinds if totals.visited[3 * k + kind]]
                 for k in range(len(totals.visited) // 3)}  # fmt: skip
    columns = {k: kinds_there for k, kinds_there in of_places.items() if kinds_there}
    if places is None or not columns:
        return {}
    ticks = np.zeros((len(columns), many))  # whole numbers
    for part in fates.parts():
        rows = fates.rows[part]
        counted = (rows[:, engine.F_ENDS] > 0) & (group[part] >= 0)
        for sums, numbers in zip(ticks, columns.values(), strict=True):
            waited = rows[:, [engine.F_FIRST + column for column in numbers]].sum(axis=1)
            sums += np.bincount(group[part][counted], waited[counted], many)
    longest, names = ticks.max(axis=0), np.array([places.names[k] or "elsewhere" for k in columns], dtype=object)
    return {
        "waits_most_at": np.where(longest > 0, names[ticks.argmax(axis=0)], None),
        "waits_there_s": longest * fates.model.tick,
    }
