"""Runs an engine model batch by batch with a snapshot after each, and reports why a run cannot go on.

The state is copied at the end of each batch and never reset; warm-up, batch means and intervals are computed afterwards
from differences of snapshots.
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
    """Snapshots and accounts of one run."""

    model: EngineModel
    seed: int
    snapshots: list[Snapshot] = field(default_factory=list)
    longest_line: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    longest_queue: dict[str, int] = field(default_factory=dict)  # of packets between pools, by queue
    log: Integers = field(default_factory=lambda: np.zeros((0, 4), dtype=np.int64))
    status: int = engine.COUNT_UP
    tally: Tally | None = None  # accounts of all packets
    tally_before: Tally | None = None  # accounts of the packets finished before the measured batches

    def finish(self, state: State, accounts: bool) -> None:
        """Copy from the final state the values that no snapshot holds."""
        self.longest_line = state.S[:, engine.S_MAX_LINE].copy()
        self.longest_queue = {name: int(state.G[longest]) for name, (_, longest) in self.model.queues.items()}
        self.tally = state.tallied() if accounts else None
        self.log = state.log[: int(state.clock[engine.K_LOG])].copy()


class _Patience:
    """Advances a state; a run that seems to stall continues until the model's own patience is exceeded."""

    def __init__(self, state: State, stall_s: float | None) -> None:
        self.state, self.own = state, stall_s is None
        self.stall = _ticks(state.model.least_patience_s if stall_s is None else stall_s, state.model)

    def advance(self, until: int, until_done: int) -> int:
        """Advance to a time or a number of finished packets; return the engine's status."""
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
    paused: Callable[[int], None] | None = None,
) -> Run:
    """Run until `packets` are done, taking a snapshot after each of `batches` equal parts.

    until_s: the parts are equal times of from_s <= time < until_s instead. stall_s: the longest time without a finished
    packet before the run counts as stalled (None: the model's patience). accounts: record where packets spend their
    time, for the first `cut` batches and for all. at_once: run the first `cut` batches without snapshots in between.
    fates: filled with the fate of each packet of a capture (includes accounts). checkpoints: of such a run, which
    continues from the last one. progress: called after each batch. paused: called with the number of arrivals, after
    each chunk that `fates` records.

    Raises SimulationError (deadlock, stall, saturation, ...) naming the resources.
    """

    state = State(model, seed, log_rows, accounts or fates is not None, packets, fates)
    result = Run(model, seed)
    patience = _Patience(state, stall_s)
    begin, until = round(from_s / model.tick), 0 if until_s is None else round(until_s / model.tick)
    batch, saved = 0, None

    def pause(arrived: int) -> None:
        _clear_next(state, fates)
        if checkpoints is not None:
            checkpoints.pause(arrived, result.snapshots, batch, patience.stall)
        if paused is not None:
            paused(arrived)

    if fates is not None:
        state.paused = pause
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
            end = begin + (until - begin) * batch // batches
            status = patience.advance(end - 1, int(FOREVER)) if end else engine.TIME_UP
        else:
            target_packets = packets * batch // batches
            status = patience.advance(int(FOREVER), target_packets) if batch else engine.COUNT_UP
        over = _is_over(state, status, packets, until_s is not None)
        result.snapshots.append(state.snapshot(None if until_s is None else end))
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
    state.paused = None  # the function refers to the state: without it, the arrays are freed at once
    return result


def _clear_next(state: State, fates: Fates | None) -> None:
    """Initialise the fates of packets that may arrive before the next pause, and of a chunk at the tick of its last."""
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
        place = f"{state.error_place()}; " if status >= engine.SATURATION else ""
        raise SimulationError(KINDS[status], place + state.who_waits())
    return over


def _ticks(seconds: float, model: EngineModel) -> int:
    """Return a time in ticks of a model's clock, at most FOREVER."""
    return min(round(seconds / model.tick), int(FOREVER))


def _arrivals_over(state: State) -> bool:
    """Return whether all tokens are threads that wait for a packet: the source has ended, all packets are served."""
    alive = state.T[:, engine.T_ALIVE] == 1
    return bool(state.model.idle) and bool(np.isin(state.T[alive, engine.T_WAITS], state.model.idle).all())
