"""A run of a net: the kernel, advanced from batch to batch, and its log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import petri as kernel
from npexplore.errors import InputError, SimulationError
from npexplore.machine.petri import Net
from npexplore.solve.petri.arrays import program
from npexplore.solve.petri.program import Program

Array = NDArray[Any]
MOST_UNDER_WAY = 1 << 22  # tokens with data, or firings in progress
FOREVER = np.iinfo(np.int64).max // 4
BEGINS, ENDS, AT_ONCE = 0, 1, 2


class Snapshot(NamedTuple):
    """Counts up to a time (in ticks): tokens x time by place, firings by transition, sums of token ages.

    moved: (T, fields) sums of the fields of the tokens of a transition's firings.
    """

    time: int
    area: Array
    fired: Array
    ages: Array
    moved: Array


@dataclass
class Run:
    """A run of a net.

    log: (n, 4 + fields) time, transition, number of the firing, BEGINS, ENDS or AT_ONCE, token fields.
    """

    program: Program
    state: kernel.State
    log: Array
    dead: bool = False

    @staticmethod
    def of(net: Net, seed: int = 1, logged: int = 0) -> Run:
        """Return a run of a net at its beginning; logged: number of log rows."""
        net_program = program(net)
        if not net.ordered:
            fed = np.random.default_rng(seed).permutation(net_program.formulas.table)
            net_program.formulas = net_program.formulas._replace(table=fed)
        log = np.zeros((logged, kernel.LOG_DATA + len(net_program.slots)), dtype=np.int64)
        return Run(net_program, net_program.state(seed), log)

    def advance(self, until: int = FOREVER, firings: int = FOREVER) -> None:
        """Advance to a time in ticks, or by a number of completed firings; sets `dead` if nothing can fire any more.

        Raises SimulationError for an endless loop in zero time, InputError for formulas with invalid values.
        """
        run: Any = kernel.advance
        target = int(self.state.Q[kernel.Q_FIRED]) + firings
        while True:
            status = run(self.program.rules, self.program.formulas, self.state, self.log, until, target)
            if status == kernel.NO_ROOM:
                self._grow()
                continue
            self.dead = status == kernel.DEAD
            if status > kernel.DEAD:
                raise self._fault(status)
            return

    @property
    def firings(self) -> Array:
        """The written part of the log."""
        return self.log[: self.state.Q[kernel.Q_LOG]]

    def snapshot(self) -> Snapshot:
        """Return the counts up to now."""
        P, now = self.state.P, int(self.state.Q[kernel.Q_NOW])
        area = self.state.area + P[:, kernel.P_TOKENS] * (now - P[:, kernel.P_SINCE]).astype(float)
        fired = self.state.S[:, kernel.S_FIRED].copy()
        return Snapshot(
            now,
            area,
            fired,
            self.state.latency.copy(),
            self.state.moved.copy(),
        )

    def _grow(self) -> None:
        """Double the room for tokens with data and for firings in progress."""
        net, Q = self.program.net, self.state.Q
        if len(self.state.K) > MOST_UNDER_WAY or len(self.state.F) > MOST_UNDER_WAY:
            fullest = int(np.argmax(self.state.P[:, kernel.P_TOKENS]))
            raise InputError(
                f"the net fills up without end: {MOST_UNDER_WAY} tokens and firings under way, most at place "
                f"{net.places[fullest].name!r}"
            )
        for name, free, left, link in (
            ("K", kernel.Q_TOKEN, kernel.Q_TOKENS_LEFT, kernel.K_NEXT),
            ("F", kernel.Q_RECORD, kernel.Q_RECORDS_LEFT, kernel.F_TRANSITION),
        ):
            old = getattr(self.state, name)
            n = len(old)
            new_rows = np.zeros_like(old)
            new_rows[:, link] = np.arange(n + 1, 2 * n + 1)
            new_rows[-1, link] = Q[free] if Q[left] else -1
            self.state = self.state._replace(**{name: np.concatenate([old, new_rows])})
            Q[free] = n
            Q[left] += n
        if len(self.state.F) > len(self.state.HT):
            missing = len(self.state.F) - len(self.state.HT)
            self.state = self.state._replace(
                HT=np.concatenate([self.state.HT, np.zeros((missing, 3), dtype=np.int64)]),
                POS=np.concatenate([self.state.POS, np.full(missing, -1, dtype=np.int64)]),
            )

    def _fault(self, status: int) -> Exception:
        net, Q = self.program.net, self.state.Q
        transition = net.transitions[int(Q[kernel.Q_WHO])].name
        time = f"at time {Q[kernel.Q_NOW] / self.program.ticks:g}"
        marking = ", ".join(f"{name}: {n}" for name, n in net.marking(self.state.P[:, kernel.P_TOKENS]).items())
        if status == kernel.ENDLESS:
            return SimulationError(
                "endless instant", f"transition {transition!r} and others fire for ever in zero time {time} ({marking})"
            )
        reasons = {
            kernel.BAD_TOKENS: f"an arc needs a whole number of tokens, at most {kernel.MOST_TOKENS}",
            kernel.BAD_FIELD: "what is set must be a whole number that the field can hold",
            kernel.BAD_DELAY: "a delay must be at least 0 and finite",
            kernel.BAD_RATE: "a rate or weight must be at least 0 and finite",
            kernel.BAD_DIVISION: "a formula divides by zero",
        }
        if self.state.stack[kernel.STACK]:
            status = kernel.BAD_DIVISION
        return InputError(f"transition.{transition}: {reasons[status]}, {time} ({marking})")
