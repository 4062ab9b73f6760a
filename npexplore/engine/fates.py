"""What becomes of each packet of a run: one row per packet, filled by the event loop (docs/engine.md, Accounts).

latency = end - arrival = sum over places of (served + waited + held up)      every packet, to the tick
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from npexplore._kernels import engine
from npexplore.engine.accounts import DROP
from npexplore.engine.model import EngineModel
from npexplore.errors import RefusedError
from npexplore.mapped_arrays import PART_ROWS, empty, named, parts

Integers = npt.NDArray[np.int64]
CHUNKS_PER_PART = 8  # pauses of the run per part of the packets
NOWHERE = -1  # in place of a tick, thread, class or drop that does not exist


@dataclass(frozen=True)
class Totals:
    """Sums over rows.

    sent: number of finished packets. drops: lost packets, by counter of the model. visited: whether any packet spent
    time there, by column of the accounts.
    """

    sent: int
    drops: Integers
    visited: npt.NDArray[np.bool_]

    def plus(self, other: Totals) -> Totals:
        """Return the sums over the rows of both totals."""
        return Totals(self.sent + other.sent, self.drops + other.drops, self.visited | other.visited)

    def names(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the counters that lost packets, and the columns of the accounts that have times."""
        return tuple(np.flatnonzero(self.drops).tolist()), tuple(np.flatnonzero(self.visited).tolist())


@dataclass
class Fates:
    """rows: one per packet of the model's table of packets (`table`), shape (packets, columns of engine_layout).

    cleared: number of rows that are initialised. A run initialises rows shortly before their packets arrive.
    """

    model: EngineModel
    rows: Integers
    table: int
    cleared: int = 0

    @staticmethod
    def of(model: EngineModel, *, by_place: bool = False, file: Path | None = None) -> Fates:
        """Return rows for a run of a model whose packets arrive once each, by time stamps.

        by_place: whether rows have the time by place. file: holds the rows, perhaps those of a stopped run (None: an
        array of `mapped_arrays.empty`).

        Raises RefusedError for a model whose packets repeat, and for one without accounts of time.
        """
        if model.packets is None or model.times is None:
            raise RefusedError("the fate of each packet takes packets that come once each, by time stamps")
        if model.places is None:
            raise RefusedError("the fate of each packet takes a machine of programs whose time is accounted for")
        width = engine.F_FIRST + 3 * len(model.places.names) * by_place
        shape = (len(model.tables[model.packets]), width)
        return Fates(model, empty(shape) if file is None else named(file, shape), model.packets)

    def clear_until(self, stop: int) -> None:
        """Initialise the rows up to `stop` that are not yet initialised: their packets have not arrived."""
        for start in range(self.cleared, min(stop, len(self.rows)), self.part_rows):
            rows = self.rows[start : min(start + self.part_rows, stop)]
            rows[:] = NOWHERE
            rows[:, engine.F_ENDS] = 0
            rows[:, engine.F_FIRST :] = 0
            self.cleared = start + len(rows)

    @property
    def part_rows(self) -> int:
        """Rows that are processed at a time; fewer if rows have times by place."""
        return max(int(PART_ROWS * engine.F_FIRST // self.rows.shape[1]), 1)

    @property
    def chunk_rows(self) -> int:
        """Rows between two pauses of the run; few enough to stay in a core's cache while they are converted."""
        return max(self.part_rows // CHUNKS_PER_PART, 1)

    def parts(self) -> Iterator[slice]:
        """Yield slices of `part_rows` rows."""
        return parts(len(self.rows), self.part_rows)

    @property
    def finished(self) -> npt.NDArray[np.bool_]:
        """Whether each packet was finished (sent)."""
        return np.asarray((self.rows[:, engine.F_ENDS] > 0) & (self.rows[:, engine.F_DROP] == NOWHERE))

    @property
    def lost(self) -> npt.NDArray[np.bool_]:
        """Whether each packet was dropped."""
        return np.asarray(self.rows[:, engine.F_DROP] != NOWHERE)

    def pauses(self) -> list[tuple[int, int]]:
        """Return (tick, arrived packets) for each chunk of packets, in order of the tick at which it has arrived."""
        assert self.model.times is not None
        ticks = self.model.tables[self.model.times][self.chunk_rows - 1 :: self.chunk_rows, 0]
        distinct_ticks, first = np.unique(ticks[::-1], return_index=True)
        arrived = (len(ticks) - first) * self.chunk_rows
        return list(zip(distinct_ticks.tolist(), arrived.tolist(), strict=True))

    def part(self, rows: slice | Integers) -> Fates:
        """Return the fates of some rows; rows of a slice are not copied."""
        return replace(self, rows=self.rows[rows])

    def totals(self) -> Totals:
        """Return the sums over all rows."""
        columns, counters = self.rows.shape[1] - engine.F_FIRST, len(self.model.counters)
        totals = Totals(0, np.zeros(counters, dtype=np.int64), np.zeros(columns, dtype=np.bool_))
        for rows in self.parts():
            part = self.part(rows)
            drops = np.bincount(part.rows[part.lost, engine.F_DROP], minlength=counters)
            visited = np.asarray(part.rows[:, engine.F_FIRST :].any(axis=0))
            totals = totals.plus(Totals(int(np.count_nonzero(part.finished)), drops, visited))
        return totals

    def ended(self, start: int) -> int:
        """Return the first packet from `start` on that has not ended; `cleared` if all of these have ended."""
        for first in range(start, self.cleared, self.chunk_rows):
            inside = self.rows[first : min(first + self.chunk_rows, self.cleared), engine.F_ENDS] == 0
            if inside.any():
                return first + int(inside.argmax())
        return self.cleared

    def check(self, done: Integers, counters: Integers) -> None:
        """Raise RefusedError unless rows add up to the run's counts: packets and latencies by class, drops by counter.

        done: packets and latencies (and more) by class, shape (classes, 4). counters: of the model.
        """
        counts, totals, twice = np.zeros((len(done), 2), dtype=np.int64), self.totals(), False
        for rows in self.parts():
            ended = self.rows[rows][self.part(rows).finished]
            latency = ended[:, engine.F_END] - ended[:, engine.F_ARRIVAL]
            np.add.at(counts, ended[:, engine.F_CLASS], np.stack([np.ones_like(latency), latency], axis=1))
            twice = twice or bool((self.rows[rows, engine.F_ENDS] > 1).any())
        counted = np.where([name.startswith(DROP) for name in self.model.counters], counters, 0)
        same = np.array_equal(counts, done[:, [engine.D_COUNT, engine.D_LATENCY]])
        if not same or twice or not np.array_equal(totals.drops, counted):
            raise RefusedError(
                "the fate of each packet takes a machine that ends each packet once, as it came; this one finished "
                f"{int(done[:, engine.D_COUNT].sum())} packets, {totals.sent} of them known, and lost "
                f"{int(counted.sum())}, {int(totals.drops.sum())} of them known"
            )
