"""Arrivals, departures, losses and backlog of a run in windows of time, computed part by part from its rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from npexplore._kernels import engine
from npexplore.engine.fates import NOWHERE, Fates

if TYPE_CHECKING:
    import pandas as pd

    from npexplore.solve.packet_run import PacketRun

Integers = npt.NDArray[np.int64]
WINDOWS = 2000  # of the time axis: several per pixel, for zooming in


def timeline(result: PacketRun, windows: int = WINDOWS) -> pd.DataFrame:
    """Return arrivals, departures, losses and the largest backlog (packets inside) of equal windows, one row each.

    windows: the largest number of windows. Column start_s: beginning of each window, from the first packet's arrival. A
    packet is in the backlog from its arrival until it departs or is lost.
    """
    import pandas as pd

    fates, tick = result.fates, result.fates.model.tick
    first = last = int(fates.rows[0, engine.F_ARRIVAL])
    for part in fates.parts():
        last = max(last, *(int(fates.rows[part, column].max()) for column in (engine.F_ARRIVAL, engine.F_END)))
    window = max(1, -(-(last + 1 - first) // windows))
    count = -(-(last + 1 - first) // window)
    arrivals, departures, losses, highest = np.zeros((4, count), dtype=np.int64)

    def add(sums: Integers, times: Integers) -> None:
        sums += np.bincount((times - first) // window, minlength=count)

    inside = 0
    for rows, times, steps in _events(fates):
        sent = (rows[:, engine.F_ENDS] > 0) & (rows[:, engine.F_DROP] == NOWHERE)
        add(arrivals, rows[rows[:, engine.F_ARRIVAL] != NOWHERE, engine.F_ARRIVAL])
        add(departures, rows[sent, engine.F_END])
        add(losses, rows[rows[:, engine.F_DROP] != NOWHERE, engine.F_END])
        backlog = inside + np.cumsum(steps)
        np.maximum.at(highest, (times - first) // window, backlog)
        inside = int(backlog[-1]) if len(backlog) else inside
    at_beginning = np.append(0, np.cumsum(arrivals - departures - losses)[:-1])
    return pd.DataFrame(
        {
            "start_s": np.arange(count) * (window * tick), "arrivals": arrivals, "departures": departures,
            "losses": losses, "backlog": np.maximum(at_beginning, highest),
        }
    )  # fmt: skip


def _events(fates: Fates) -> Iterator[tuple[Integers, Integers, Integers]]:
    """Yield, for each part, its rows, the sorted times of events, and 1 for each arrival or -1 for each end.

    Packets are in the order of their arrivals, so ends before the next part's first arrival can be sorted with this
    part. Among events at the same time, arrivals come first.
    """
    later_ends = np.zeros(0, dtype=np.int64)
    for part in fates.parts():
        rows = fates.rows[part]
        arrivals = rows[rows[:, engine.F_ARRIVAL] != NOWHERE, engine.F_ARRIVAL]
        ends = np.concatenate([later_ends, rows[rows[:, engine.F_ENDS] > 0, engine.F_END]])
        due = np.ones(len(ends), dtype=np.bool_)
        if part.stop < len(fates.rows) and (arrival := fates.rows[part.stop, engine.F_ARRIVAL]) != NOWHERE:
            due = ends < arrival
        times, later_ends = np.concatenate([arrivals, ends[due]]), ends[~due]
        steps = np.repeat([1, -1], [len(arrivals), len(times) - len(arrivals)])
        order = np.lexsort((-steps, times))
        yield rows, times[order], steps[order]
