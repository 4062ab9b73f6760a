"""What the event engine runs: the arrays of one model, its tokens, and how packets in the system are counted."""

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
    begin: int = 0  # the tick at which it runs first
    member: int = 0  # of its pool's home, that it lives on


@dataclass(frozen=True)
class Census:
    """How the packets in the system are counted: one per thread, or (open) those waiting and those of busy threads."""

    threads: int
    waiting: int | None = None  # the resource that counts waiting packets, in whose line idle threads are
    ring: int | None = None  # where waiting packets are
    loses: bool = False  # whether the program may lose packets
    start: int = 0  # ticks until all threads have begun, summed over them


@dataclass
class EngineModel:
    """Rows, resources, tables and tokens of one model; nothing here changes while it runs."""

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
    shuffled: int | None = None  # the table whose rows each seed may shuffle
    packets: int | None = None  # the table with the packets' columns
    times: int | None = None  # the table with their ticks, where they come at given instants
    cursor: int | None = None  # the global that says which packet is next
    visits: list[str] = field(default_factory=list)  # per row, the visit it belongs to
    controllers: list[Controller] = field(default_factory=list)  # of DRAM
    classes: int = 1  # rows of the statistics of finished packets
    queues: dict[str, tuple[range, int]] = field(default_factory=dict)  # resources counting packets, global of the most
    idle: list[int] = field(default_factory=list)  # resources that threads wait for when they have no packet
    least_patience_s: float = 1.0  # a run without a finished packet for less has not stalled
    census: Census | None = None  # None: packets in the system are not counted
    demands: Callable[[], UnderLoad | None] | None = None  # tells `under_load` when it is asked for
    patience: Callable[[UnderLoad | None], float] | None = None  # tells `patience_s`
    marks: list[tuple[str, bool]] = field(default_factory=list)  # per row, the server held then, whether it polls

    def __getstate__(self) -> dict[str, object]:
        """Return the fields without what hangs on the machine's programs: functions of a user cannot be pickled."""
        return vars(self) | {"demands": None, "patience": None, "under_load": None, "patience_s": self.patience_s}

    @cached_property
    def under_load(self) -> UnderLoad | None:
        """What its packets ask of each server, where that can be told without a run."""
        return None if self.demands is None else self.demands()

    @cached_property
    def patience_s(self) -> float:
        """Seconds: a run without a finished packet for so long has stalled."""
        return self.least_patience_s if self.patience is None else self.patience(self.under_load)

    @cached_property
    def random(self) -> bool:
        """Whether runs with other seeds may differ: rows draw, or the seed puts packets in another order."""
        op, kind = self.rows[:, engine.OP], self.rows[:, engine.X]
        draws = np.isin(op, (engine.WAIT, engine.SERVE, engine.SHARE, engine.DRAW)) & np.isin(kind, engine.RANDOM)
        return self.shuffled is not None or bool(draws.any())

    @cached_property
    def joined_tables(self) -> tuple[Integers, Integers]:
        """The tables one after another, shape (cells + 1,), and per table its first cell, rows and columns.

        Every run reads these; `tables` become views of them, so that a capture's packets are in memory once.
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
        """Where packets' time can go (None: rows say too little to account for it)."""
        return places(self.rows, self.visits, self.marks, self.servers, self.counters) if self.marks else None
