"""The input of the event engine: the arrays and tokens of one model, and how packets in the system are counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from npexplore._kernels import engine
from npexplore.engine.accounts import Places, places
from npexplore.machine.under_load import UnderLoad
from npexplore.mapped_arrays import empty, parts
from npexplore.rows.server import Controller, Server

Integers = npt.NDArray[np.int64]


@dataclass
class Token:
    """A token that exists at time 0."""

    row: int
    registers: dict[int, int] = field(default_factory=dict)
    name: str = "token"
    priority: int = 8
    begin: int = 0  # the tick at which it first runs
    member: int = 0  # the member of its pool's home that runs it


@dataclass(frozen=True)
class Census:
    """How packets in the system are counted: one per thread, or (with arrivals) the waiting ones and busy threads."""

    threads: int
    waiting: int | None = None  # the resource that counts waiting packets; idle threads wait in its line
    ring: int | None = None  # the ring that holds waiting packets
    loses: bool = False  # whether the program may lose packets
    start: int = 0  # sum over the threads of the ticks until each begins


@dataclass
class EngineModel:
    """Rows, resources, tables and tokens of one model; a run changes none of them."""

    rows: Integers
    sources: list[str | None]
    servers: dict[str, tuple[Server, int]]
    n_resources: int
    tick: float
    tokens: list[Token]
    tables: list[Integers]
    rings: list[tuple[int, int]]  # (capacity, width)
    globals: list[int]
    counters: list[str]
    spare_tokens: int
    shuffled: int | None = None  # the table whose rows each seed shuffles
    packets: int | None = None  # the table with the packets' columns
    times: int | None = None  # the table with arrival ticks, if packets have time stamps
    cursor: int | None = None  # the global with the number of the next packet
    visits: list[str] = field(default_factory=list)  # per row, its visit
    controllers: list[Controller] = field(default_factory=list)  # DRAM controllers
    classes: int = 1  # rows of the statistics of finished packets
    queues: dict[str, tuple[range, int]] = field(default_factory=dict)  # their resources, global of the maximum
    idle: list[int] = field(default_factory=list)  # resources that threads wait for when they have no packet
    least_patience_s: float = 1.0  # a run with a shorter time between finished packets has not stalled
    census: Census | None = None  # None: packets in the system are not counted
    demands: Callable[[], UnderLoad | None] | None = None  # computes `under_load`
    patience: Callable[[UnderLoad | None], float] | None = None  # computes `patience_s`
    marks: list[tuple[str, bool]] = field(default_factory=list)  # per row, the server held there, whether it polls

    def __getstate__(self) -> dict[str, object]:
        """Return the fields without the functions that refer to the user's programs, which cannot be pickled."""
        return vars(self) | {"demands": None, "patience": None, "under_load": None, "patience_s": self.patience_s}

    @cached_property
    def under_load(self) -> UnderLoad | None:
        """Demands of its packets at each server; None if only a run can measure them."""
        return None if self.demands is None else self.demands()

    @cached_property
    def patience_s(self) -> float:
        """Longest time in seconds between finished packets; a run with a longer one has stalled."""
        return self.least_patience_s if self.patience is None else self.patience(self.under_load)

    @cached_property
    def random(self) -> bool:
        """Whether runs with different seeds may differ: rows draw random numbers, or the seed shuffles the packets."""
        op, kind = self.rows[:, engine.OP], self.rows[:, engine.X]
        draws = np.isin(op, (engine.WAIT, engine.SERVE, engine.SHARE, engine.DRAW)) & np.isin(kind, engine.RANDOM)
        return self.shuffled is not None or bool(draws.any())

    @cached_property
    def joined_tables(self) -> tuple[Integers, Integers]:
        """The tables in one array, shape (cells + 1,), and the first cell, rows and columns of each, shape (tables, 3).

        Every run reads this array; `tables` become views of it, so that memory holds the packets of a capture once.
        """
        starts = np.cumsum([0, *(table.size for table in self.tables)])
        joined = empty(int(starts[-1]) + 1)
        joined[-1] = 0
        for start, table in zip(starts.tolist(), self.tables, strict=False):
            cells = np.ravel(table)
            for part in parts(len(cells)):
                joined[start + part.start : start + part.stop] = cells[part]
        shapes = [[start, *table.shape] for start, table in zip(starts, self.tables, strict=False)]
        self.tables[:] = [joined[first : first + rows * width].reshape(rows, width) for first, rows, width in shapes]
        return joined, np.array(shapes, dtype=np.int64).reshape(-1, 3)

    @cached_property
    def places(self) -> Places | None:
        """Places at which packets spend time; None if the rows do not hold enough information for accounts."""
        return places(self.rows, self.visits, self.marks, self.servers, self.counters) if self.marks else None
