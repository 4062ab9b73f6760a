"""Runs an engine model snapshot by snapshot, and tells why where it cannot go on.

The state is copied at the end of each batch and never reset: warm-up cut, batch means and intervals are taken from
differences of snapshots afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from npexplore._kernels import engine
from npexplore.engine.accounts import Tally
from npexplore.engine.checkpoint import Checkpoints, restore
from npexplore.engine.fates import Fates
from npexplore.engine.model import LAST_TICK, EngineModel
from npexplore.engine.state import Integers, Snapshot, State
from npexplore.errors import SimulationError

FOREVER = np.int64(LAST_TICK)


KINDS = {
    engine.DEADLOCK: "deadlock",
    engine.STALL: "stall",
    engine.SATURATION: "saturation",
    engine.LEAK: "leak",
    engine.ENDLESS: "endless instant",
    engine.BAD_OPERAND: "bad operand",
    engine.OVERFLOW: "overflow",
}


@dataclass
class Run:
    """Snapshots of one run, and what they are about."""

    model: EngineModel
    seed: int
    snapshots: list[Snapshot] = field(default_factory=list)
    longest_line: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    longest_queue: dict[str, int] = field(default_factory=dict)  # of packets between pools, by queue
    log: Integers = field(default_factory=lambda: np.zeros((0, 4), dtype=np.int64))
    status: int = engine.COUNT_UP
    tally: Tally | None = None  # of all packets,
    tally_before: Tally | None = None  # and of those before the batches that are measured

    def finish(self, state: State, accounts: bool) -> None:
        """Take what is counted once, from the state at the end."""
        self.longest_line = state.S[:, engine.S_MAX_LINE].copy()
        self.longest_queue = {name: int(state.G[most]) for name, (_, most) in self.model.queues.items()}
        self.tally = state.tallied() if accounts else None
        self.log = state.log[: int(state.clock[engine.K_LOG])].copy()


class _Patience:
    """Runs a state on; a run that seems to stall goes on for as long as the model's own patience."""

    def __init__(self, state: State, stall_s: float | None) -> None:
        self.state, self.own = state, stall_s is None
        self.stall = _ticks(state.model.least_patience_s if stall_s is None else stall_s, state.model)

    def advance(self, until: int, until_done: int) -> int:
        """Run on to a time, or until so many packets are done; returns the engine's status."""
        status = self.state.advance(until, until_done, self.stall)
        if status == engine.STALL and self.own:
            self.stall = _ticks(self.state.model.patience_s, self.state.model)
            if not self.state.stalled(self.stall):
                status = self.state.advance(until, until_done, self.stall)
        return status


def run(
    model: EngineModel,
    seed: int,
    packets: int,
    batches: int,
    *,
    from_s: float = 0.0,
    until_s: float | None = None,
    stall_s: float | None = None,
    log_rows: int = 0,
    accounts: bool = False,
    cut: int = 0,
    at_once: bool = False,
    fates: Fates | None = None,
    checkpoints: Checkpoints | None = None,
    progress: Callable[[int], None] | None = None,
) -> Run:
    """Run until `packets` are done, taking a snapshot after each of `batches` equal parts.

    With until_s: the parts are equal times of from_s <= time < until_s instead. stall_s: without a finished packet for
    so long the run has stalled (None: as long as the model says). Raises SimulationError (deadlock, stall, saturation,
    ...) naming the resources. accounts: note where packets' time goes, in the first `cut` batches and in all.
    at_once: the first `cut` batches are run through without a snapshot between them. fates: is filled with what becomes
    of each packet of a capture (with accounts). checkpoints: of such a run; it goes on from the last.
    `progress` is called per batch.
    """

    state = State(model, seed, log_rows, accounts or fates is not None, packets, fates)
    result = Run(model, seed)
    patience = _Patience(state, stall_s)
    begin, until = round(from_s / model.tick), 0 if until_s is None else round(until_s / model.tick)
    batch, saved = 0, None

    def paused(arrived: int) -> None:
        _clear_next(state, fates)
        if checkpoints is not None:
            checkpoints.pause(arrived, result.snapshots, batch, patience.stall)
        if fates is not None:
            fates.paused(arrived)

    state.paused = paused
    if checkpoints is not None and fates is not None:
        saved = checkpoints.begin(state, fates)
    _clear_next(state, fates)
    for batch in range(batches + 1):
        if at_once and 0 < batch < cut:
            continue
        if saved is not None and batch:
            if batch < saved["batch"]:
                continue
            restore(saved, state, result.snapshots)
            _clear_next(state, fates)
            patience.stall, saved = int(saved["stall"]), None
        if until_s is not None:
            at = begin + (until - begin) * batch // batches
            status = patience.advance(at - 1, int(FOREVER)) if at else engine.TIME_UP
        else:
            goal = packets * batch // batches
            status = patience.advance(int(FOREVER), goal) if batch else engine.COUNT_UP
        over = _is_over(state, status, packets, until_s is not None)
        result.snapshots.append(state.snapshot(None if until_s is None else at))
        result.status = status
        if accounts and batch == cut:
            result.tally_before = state.tallied()
        if progress is not None and batch:
            progress(batch)
        if over and until_s is None:
            break
    if fates is not None:
        fates.clear_until(len(fates.rows))
    result.finish(state, accounts)
    return result


def _clear_next(state: State, fates: Fates | None) -> None:
    """Clear the rows of packets that may come before the next pause, and at most a chunk at the time of its last."""
    if fates is not None:
        fates.clear_until(state.pauses[0][1] + 2 * fates.chunk_rows if state.pauses else len(fates.rows))


def _is_over(state: State, status: int, packets: int, timed: bool) -> bool:
    """Return whether all packets are done; raises SimulationError for a run that cannot go on."""
    tick = state.model.tick
    if status == engine.TIME_UP and not timed:
        raise SimulationError(
            "clock", f"{packets} packets take longer than {int(FOREVER) * tick:.3g} s, where a clock of "
            f"{tick:.3g} s ends; ask for fewer packets, or more of them a second",
        )  # fmt: skip
    over = status == engine.FINISHED or (status == engine.DEADLOCK and _arrivals_over(state))
    if status in KINDS and not over:
        where = f"{state.error_place()}; " if status >= engine.SATURATION else ""
        raise SimulationError(KINDS[status], where + state.who_waits())
    return over


def _ticks(seconds: float, model: EngineModel) -> int:
    """Return a time in ticks of a model's clock, at most FOREVER."""
    return min(round(seconds / model.tick), int(FOREVER))


def _arrivals_over(state: State) -> bool:
    """True if all that waits is threads for a next packet: the source has ended and everything was served."""
    alive = state.T[:, engine.T_ALIVE] == 1
    return bool(state.model.idle) and bool(np.isin(state.T[alive, engine.T_WAITS], state.model.idle).all())
