"""Multiple loss ratio search: the highest loads that lose at most given ratios (draft-ietf-bmwg-mlrsearch-11).

A load meets a goal if at most the share `exceed_ratio` of the time of full-length trials has a loss ratio above the
goal's. Every load is a lower bound, an upper bound or undecided (appendix A of the draft):

    bad   = bad_long + max(0, bad_short - good_short x exceed / (1 - exceed))
    whole = max(good_long + bad, duration_sum)
    lower: whole - good_long <= whole x exceed      upper: bad > whole x exceed      else undecided

Trials are long or short by the goal's final length, good or bad by its loss ratio; lengths are in packets. The relevant
upper bound is the smallest upper bound, the relevant lower bound is the largest lower bound below it. From phase to
phase trials become longer and the gap between both bounds narrower. Every goal uses the trials of all goals.

The interval around a result is that of a sign test: full-length trials at its ends are repeated until the counts of
good and bad trials have a probability of at most 2.5 %, if each trial were bad with probability `exceed_ratio`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from npexplore.errors import InputError, positive

Bound = Literal["lower", "upper", "undecided"]
GROWTH = 4  # ratio of the trial lengths of successive phases
BY_CHANCE = 0.025  # significance at each end of a 95 % interval
BEYOND = 1.25  # the upper end of an interval is searched up to this multiple of the highest load
MIN_SIGN_TRIALS, MAX_SIGN_TRIALS = 6, 16  # trials of a sign test at a load, before a load further out is tried


class Trial(NamedTuple):
    """The result of one trial: load, length in packets, loss ratio."""

    load: float
    length: int
    loss_ratio: float


@dataclass(frozen=True)
class Goal:
    """The goal of a search: loss ratio, share of time that may exceed it, relative gap between bounds, trial lengths.

    final: packets of a full-length trial. total: packets of all trials that decide a load. initial: packets of the
    first trials (None: all trials are full-length).

    Example:
        >>> from npexplore.study import Goal
        >>> Goal(loss_ratio=0.001).loss_ratio
        0.001
    """

    loss_ratio: float = 0.0
    exceed_ratio: float = 0.5
    width: float = 0.005
    final: int = 16_384
    total: int = 16_384
    initial: int | None = 1024

    def __post_init__(self) -> None:
        for name, share in (("loss ratio", self.loss_ratio), ("exceed ratio", self.exceed_ratio)):
            if not 0 <= share < 1:
                raise InputError(f"{name} of a search must be at least 0 and below 1, got {share!r}")
        if not 0 < self.width < 1:
            raise InputError(f"width of a search must be between 0 and 1, got {self.width!r}")
        initial = self.final if self.initial is None else self.initial
        if not 1 <= initial <= self.final <= self.total:
            lengths = f"{initial}, {self.final}, {self.total}"
            raise InputError(f"lengths of trials must be 1 <= initial <= final <= total, got {lengths}")

    def phases(self) -> list[Goal]:
        """Return the goals of all phases; each earlier phase has one shorter trial per load and twice the gap."""
        goals, length = [self], self.final
        while self.initial is not None and length > self.initial:
            length = max(self.initial, -(-length // GROWTH))
            first = goals[0]
            goals.insert(0, replace(first, width=min(2 * first.width, 0.5), final=length, total=length))
        return goals


@dataclass(frozen=True)
class Found:
    """The answer to a goal: the relevant bounds, and the confidence interval around them, as loads.

    load: the relevant lower bound. loses_at: the relevant upper bound (None: even the highest load meets the goal).
    low, high: 95 % interval (high None: above the highest load). conditional: `load` without the lost share of the
    trial at the quantile 1 - exceed_ratio of the loss ratios (conditional throughput, appendix B).
    """

    goal: Goal
    load: float
    loses_at: float | None
    low: float
    high: float | None
    conditional: float


def classified(trials: Sequence[Trial], goal: Goal) -> Bound:
    """Return the bound that a load is by its trials: "lower", "upper" or "undecided"."""

    def total(long: bool, bad: bool) -> int:
        return sum(
            t.length for t in trials if (t.length >= goal.final) == long and (t.loss_ratio > goal.loss_ratio) == bad
        )

    good_long, exceed = total(True, False), goal.exceed_ratio
    balancing = total(False, False) * exceed / (1.0 - exceed)
    bad = total(True, True) + max(0.0, total(False, True) - balancing)
    total_length = max(good_long + bad, goal.total)
    optimistic, pessimistic = bad <= total_length * exceed, total_length - good_long <= total_length * exceed
    return "lower" if optimistic and pessimistic else "undecided" if optimistic or pessimistic else "upper"


@dataclass
class Search:
    """Searches loads, in any unit, between low and high; trials: by load, used by all goals.

    trial: runs trials, called with (load, packets of a trial, numbers of the trials); returns each one's loss ratio.
    """

    trial: Callable[[float, int, range], Sequence[float]]
    low: float
    high: float
    trials: dict[float, list[Trial]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 < self.low < self.high < math.inf:
            raise InputError(f"loads to search must be 0 < low < high, got {self.low} and {self.high}")

    def run(self, goal: Goal, *, confidence: bool = True) -> Found:
        """Return the answer to a goal; raises InputError if even the lowest load does not meet it."""
        hints: tuple[float | None, float | None] = (None, None)
        phases = goal.phases()
        for phase in phases:
            hints = self._narrowed(phase, hints, guess=len(phases) > 1)
        load, loses_at = hints
        assert load is not None
        low, high = load, loses_at
        if confidence:
            low, high = self._confident(goal, load, -1) or 0.0, self._confident(goal, loses_at or self.high, +1)
        return Found(goal, load, loses_at, low, high, self._conditional(load, goal))

    # ---- bounds

    def bound(self, load: float, goal: Goal) -> Bound:
        """Return the bound that a load is by its trials so far."""
        return classified(self.trials.get(load, ()), goal)

    def bounds(self, goal: Goal) -> tuple[float | None, float | None]:
        """Return the relevant lower and upper bound, each None if not found yet."""
        bound_of_load = {load: self.bound(load, goal) for load in self.trials if load <= self.high}
        upper = min((load for load, bound in bound_of_load.items() if bound == "upper"), default=None)
        lower = [load for load, bound in bound_of_load.items() if bound == "lower" and (upper is None or load < upper)]
        return max(lower, default=None), upper

    def _narrowed(
        self, goal: Goal, hints: tuple[float | None, float | None], guess: bool
    ) -> tuple[float, float | None]:
        """Return a phase's bounds after enough trials to narrow their gap; hints: bounds of the previous phase."""
        for load in self._loads(goal, hints, guess):
            while self.bound(load, goal) == "undecided":
                self._measure(load, goal.final)
        lower, upper = self.bounds(goal)
        if lower is None:
            smallest_loss = min((t.loss_ratio for t in self.trials[self.low]), default=0.0)
            raise InputError(
                f"no load down to {self.low:.6g} loses a share of {goal.loss_ratio:g} or less; at {self.low:.6g} it is "
                f"{smallest_loss:.3g}"
            )
        return lower, upper

    def _loads(self, goal: Goal, hints: tuple[float | None, float | None], guess: bool) -> Iterator[float]:
        """Yield the loads that a phase needs, each chosen from the bounds known when it is requested."""
        yield hints[1] or self.high
        step = goal.width
        if hints[0] is not None:
            yield hints[0]
        elif self.bound(self.high, goal) == "upper":  # the rate forwarded there is a first guess
            passed = self.high * (1 - min(t.loss_ratio for t in self.trials[self.high])) / (1 - goal.loss_ratio)
            yield min(max(self.low, passed * (1 - step)), self.high) if guess else self.low
        while True:
            lower, upper = self.bounds(goal)
            if upper is None:
                if lower is not None and lower >= self.high:
                    return
                yield min(self.high, (lower or self.low) * (1 + step))
                step *= 2
            elif lower is None:
                if upper <= self.low:
                    return
                yield max(self.low, upper / (1 + step))
                step *= 2
            elif upper - lower > goal.width * upper * (1 + 1e-9):
                yield (lower + upper) / 2
            else:
                return

    def _measure(self, load: float, length: int, count: int = 1) -> None:
        trials = self.trials.setdefault(load, [])
        for loss_ratio in self.trial(load, length, range(len(trials), len(trials) + count)):
            trials.append(Trial(load, length, positive("loss ratio of a trial", loss_ratio, zero=True)))

    # ---- intervals and conditional throughput

    def _confident(self, goal: Goal, load: float, way: int) -> float | None:
        """Return the first significantly good (way -1) or bad (way 1) load, from `load` outwards; None: no load is."""
        step, end = goal.width, self.low if way < 0 else BEYOND * self.high
        while True:
            while (significant := self._sure(goal, load, way)) is None:
                full_length = sum(t.length >= goal.final for t in self.trials.get(load, ()))
                self._measure(load, goal.final, MIN_SIGN_TRIALS - full_length if full_length < MIN_SIGN_TRIALS else 2)
            if significant:
                return load
            if load == end:
                return None
            load = max(end, load / (1 + step)) if way < 0 else min(end, load * (1 + step))
            step *= 2

    def _sure(self, goal: Goal, load: float, way: int) -> bool | None:
        """Return whether a load is good (way -1) or bad (way 1) by a sign test; None: more trials are needed."""
        full = [t for t in self.trials.get(load, ()) if t.length >= goal.final]
        n, bad = len(full), sum(t.loss_ratio > goal.loss_ratio for t in full)
        if not goal.exceed_ratio:  # no trial may be bad
            return (bad > 0) == (way > 0) if n else None

        def by_chance(numbers: Iterable[int]) -> bool:
            chance = goal.exceed_ratio
            return n > 0 and sum(math.comb(n, k) * chance**k * (1 - chance) ** (n - k) for k in numbers) <= BY_CHANCE

        good_or_bad = by_chance(range(bad + 1)), by_chance(range(bad, n + 1))
        return good_or_bad[way > 0] if any(good_or_bad) or n >= MAX_SIGN_TRIALS else None

    def _conditional(self, load: float, goal: Goal) -> float:
        """Return the load without the lost share of the full-length trial at the quantile 1 - exceed_ratio."""
        full = sorted((t for t in self.trials[load] if t.length >= goal.final), key=lambda t: t.loss_ratio)
        remaining = (1 - goal.exceed_ratio) * max(goal.total, sum(t.length for t in full))
        for trial in full:
            remaining -= trial.length
            if remaining <= 0:
                return load * (1 - trial.loss_ratio)
        return load * (1 - full[-1].loss_ratio)
