"""What becomes of each packet of a run: rows that the event loop fills, read out (docs/engine.md, accounts).

latency = end - arrival = sum over places of (served + waited + held up)      every packet, to the tick
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from npexplore._kernels import engine
from npexplore.engine.accounts import DROP
from npexplore.engine.model import EngineModel
from npexplore.errors import RefusedError

Integers = npt.NDArray[np.int64]
NOWHERE = -1  # of ticks, threads, classes and drops: there is none


@dataclass
class Fates:
    """rows: one a packet of the model's table of packets (`table`), shape (packets, columns of engine_layout)."""

    model: EngineModel
    rows: Integers
    table: int

    @staticmethod
    def of(model: EngineModel, *, by_place: bool = False) -> Fates:
        """Return rows for a run of a model whose packets come once each, at given times; by_place: with their accounts.

        Raises RefusedError for a model whose packets come again and again, or whose time cannot be accounted for.
        """
        if model.packets is None or model.times is None:
            raise RefusedError("the fate of each packet takes packets that come once each, by time stamps")
        if model.places is None:
            raise RefusedError("the fate of each packet takes a machine of programs whose time is accounted for")
        width = engine.F_FIRST + 3 * len(model.places.names) * by_place
        rows = np.full((len(model.tables[model.packets]), width), NOWHERE, dtype=np.int64)
        rows[:, engine.F_ENDS] = 0
        rows[:, engine.F_FIRST :] = 0
        return Fates(model, rows, model.packets)

    @property
    def finished(self) -> npt.NDArray[np.bool_]:
        """Whether each packet went all the way through."""
        return np.asarray((self.rows[:, engine.F_ENDS] > 0) & (self.rows[:, engine.F_DROP] == NOWHERE))

    @property
    def lost(self) -> npt.NDArray[np.bool_]:
        """Whether each packet was dropped."""
        return np.asarray(self.rows[:, engine.F_DROP] != NOWHERE)

    def check(self, done: Integers, counters: Integers) -> None:
        """Raise RefusedError unless rows add up to what was counted: packets and latencies by class, drops by place.

        done: packets, latencies (and more) by class, shape (classes, 4). counters: of the model.
        """
        rows = self.rows
        finished, classes = self.finished, len(done)
        latency = rows[:, engine.F_END] - rows[:, engine.F_ARRIVAL]
        counts = np.zeros((classes, 2), dtype=np.int64)
        np.add.at(counts, rows[finished, engine.F_CLASS], np.stack([finished[finished], latency[finished]], axis=1))
        drops = np.bincount(rows[self.lost, engine.F_DROP], minlength=len(counters))
        counted = np.where([name.startswith(DROP) for name in self.model.counters], counters, 0)
        same = np.array_equal(counts, done[:, [engine.D_COUNT, engine.D_LATENCY]]) and np.array_equal(drops, counted)
        if not same or (rows[:, engine.F_ENDS] > 1).any():
            raise RefusedError(
                "the fate of each packet takes a machine that ends each packet once, as it came; this one finished "
                f"{int(done[:, engine.D_COUNT].sum())} packets, {int(finished.sum())} of them known, and lost "
                f"{int(counted.sum())}, {int(self.lost.sum())} of them known"
            )
