"""Arrivals, departures, losses and backlog of a run by windows of time, from its rows part by part."""

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
WINDOWS = 2000  # of the time axis: several a pixel, for zooming in


def timeline(result: PacketRun, windows: int = WINDOWS) -> pd.DataFrame:
    """Return arrivals, departures and losses (packets) and the largest backlog (packets inside) of equal windows.

    windows: how many there are at most. start_s: beginning of each, from the first packet's arrival. A packet is in the
    backlog from its arrival until it departs or is lost.
    """
    import pandas as pd

    fates, tick = result.fates, result.fates.model.tick
    first = last = int(fates.rows[0, engine.F_ARRIVAL])
    for part in fates.parts():
        last = max(last, *(int(fates.rows[part, column].max()) for column in (engine.F_ARRIVAL, engine.F_END)))
    window = max(1, -(-(last + 1 - first) // windows))
    count = -(-(last + 1 - first) // window)
    arrivals, departures, losses, most = np.zeros((4, count), dtype=np.int64)

    def add(sums: Integers, times: Integers) -> None:
        sums += np.bincount((times - first) // window, minlength=count)

    inside = 0
    for rows, times, steps in _events(fates):
        ended = (rows[:, engine.F_ENDS] > 0) & (rows[:, engine.F_DROP] == NOWHERE)
        add(arrivals, rows[rows[:, engine.F_ARRIVAL] != NOWHERE, engine.F_ARRIVAL])
        add(departures, rows[ended, engine.F_END])
        add(losses, rows[rows[:, engine.F_DROP] != NOWHERE, engine.F_END])
        after = inside + np.cumsum(steps)
        np.maximum.at(most, (times - first) // window, after)
        inside = int(after[-1]) if len(after) else inside
    at_beginning = np.append(0, np.cumsum(arrivals - departures - losses)[:-1])
    return pd.DataFrame(
        {
            "start_s": np.arange(count) * (window * tick), "arrivals": arrivals, "departures": departures,
            "losses": losses, "backlog": np.maximum(at_beginning, most),
        }
    )  # fmt: skip


def _events(fates: Fates) -> Iterator[tuple[Integers, Integers, Integers]]:
    """Yield the rows of each part, and the times of events in their order, with 1 for an arrival and -1 for an end.

    Packets stand in the order of their arrivals: what ends before the next part's first arrival is in order. Of events
    at the same time, arrivals come first.
    """
    waiting = np.zeros(0, dtype=np.int64)
    for part in fates.parts():
        rows = fates.rows[part]
        came = rows[rows[:, engine.F_ARRIVAL] != NOWHERE, engine.F_ARRIVAL]
        ends = np.concatenate([waiting, rows[rows[:, engine.F_ENDS] > 0, engine.F_END]])
        now = np.ones(len(ends), dtype=np.bool_)
        if part.stop < len(fates.rows) and (arrival := fates.rows[part.stop, engine.F_ARRIVAL]) != NOWHERE:
            now = ends < arrival
        times, waiting = np.concatenate([came, ends[now]]), ends[~now]
        steps = np.repeat([1, -1], [len(came), len(times) - len(came)])
        order = np.lexsort((-steps, times))
        yield rows, times[order], steps[order]
