"""Ranks every single change of a machine by its gain in throughput, and finds the knees of its knobs.

    changes   numbers halved and doubled, neighbouring choices, each other word (candidates.py)
    gain      X(changed) / X(present) - 1 with its 95 % interval; both runs use the same seed (paired.py)
    knee      where a knob's curve over LADDER times its value bends (knees.py)

The FIRST changes with the largest gain by queueing are simulated before the others, so that the advice is known early.
If the interval of an advised change is wide, its runs are repeated with LONGER times as many packets, or, where threads
meet at locks or a window ends the runs, estimated with many seeds. If several resources are equally busy, the changes
that all of them need are tried together (joint.py).

If only the best changes are wanted, a change whose bound is not above the machine's throughput is not simulated: no
machine exceeds its bounds, so such a change cannot gain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from npexplore.designs import Design, DesignLike
from npexplore.designs import design as design_of
from npexplore.errors import InputError
from npexplore.machine.parameters import Kind, Value
from npexplore.machine.workload import Workload
from npexplore.machine.workload_sources import WorkloadLike
from npexplore.records import content_hash
from npexplore.results import Result
from npexplore.solve.prediction import Prediction
from npexplore.solve.simulate import meet_at_locks
from npexplore.study.explaining.candidates import KINDS, Tried, changes_to_try, is_single
from npexplore.study.explaining.joint import JointChange, joint_settings, settings_of, ties
from npexplore.study.explaining.knees import WORTH, Knee, knees_of
from npexplore.study.explaining.paired import (
    BOUNDED,
    MAX_PACKETS,
    Forwarded,
    answers_and_rates,
    forwarded,
    packets_for,
    ratio,
)
from npexplore.study.explaining.sensitivity import solvers_for
from npexplore.study.sweeping.answers import Answer
from npexplore.study.sweeping.asked import each
from npexplore.study.sweeping.grid import SweepPoint

FIRST = 6  # changes that are simulated before the others
ADVISED = 3  # knobs whose best changes are advised
SETTLED, LONGER = 0.01, 16  # if a ratio's half width exceeds SETTLED, its runs get LONGER times as many packets
ANALYTIC = ("bounds", "queueing")  # solvers without a seed
MAX_BOUNDED_KINDS = 64  # with at most this many distinct packets, bounds are computed before a simulation


@dataclass(frozen=True)
class Change:
    """One change of a parameter. gain: relative to the present throughput; low, high: its 95 % interval (None: not
    simulated). solver: the solver of the gain; bottleneck: the bottleneck after the change.
    """

    knob: str
    kind: Kind
    present: Value
    value: Value
    unit: str
    gain: float
    low: float | None
    high: float | None
    solver: str
    bottleneck: str

    @property
    def uncertainty(self) -> float:
        """The relative half width of the interval of the two rates' ratio; 0 if it is unknown."""
        return 0.0 if self.low is None or self.high is None else (self.high - self.low) / 2 / (1 + self.gain)


@dataclass(frozen=True)
class WhatIf(Result):
    """Changes with an effect, best first; parameters without effect; impossible changes with reasons; knobs' knees.

    joint: changes that equally busy resources need together, if they gain more than any single change (None: none).
    cannot_gain: changes that were not simulated because their bounds allow no gain (only with `best`).

    Example:
        >>> from npexplore.study import WhatIf
        >>> WhatIf().changes
        ()
    """

    changes: tuple[Change, ...] = ()
    without_effect: tuple[str, ...] = ()
    impossible: Mapping[str, str] = field(default_factory=dict)
    knees: tuple[Knee, ...] = ()
    joint: JointChange | None = None
    cannot_gain: tuple[str, ...] = ()

    __hash__ = content_hash

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each change that has an effect, best first."""
        return [asdict(change) for change in self.changes]

    def heading(self) -> str:
        """Return the title of the table."""
        return "Single changes: share of throughput gained, and what binds then"

    @property
    def gains(self) -> tuple[Change, ...]:
        """The changes of knobs and facts that gain more than their noise, best first."""
        return tuple(c for c in self.changes if c.kind in KINDS and c.gain > WORTH and (c.low or WORTH) > 0)

    @property
    def advised(self) -> tuple[Change, ...]:
        """The best change of each of the ADVISED knobs that gain most."""
        best: dict[str, Change] = {}
        for change in self.gains:
            best.setdefault(change.knob, change)
        return tuple(best.values())[:ADVISED]

    @property
    def assumed(self) -> tuple[Change, ...]:
        """The changes of assumptions that change throughput by more than their noise, the largest effect first."""
        changes = [
            c for c in self.changes
            if c.kind not in KINDS and (c.low is None or c.high is None or c.low > 0 or c.high < 0)
        ]  # fmt: skip
        return tuple(sorted(changes, key=lambda change: -abs(change.gain)))


def what_if(
    design: DesignLike,
    workload: WorkloadLike | None = None,
    *,
    seed: int = 1,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> WhatIf:
    """Return all single changes of a machine at this design point, ranked by gain, and the knees of its knobs.

    design: the machine. workload: the packets (None: the design's own). seed: seed of the simulations. executor,
    workers: where simulations run (None: threads, or processes in a command). progress: called with (points done, all).
    """
    options: dict[str, Any] = {"seed": seed, "executor": executor, "workers": workers, "progress": progress}
    return list(what_if_in_stages(design, workload, early=False, **options))[-1]


class _Trials:
    """The changes of a machine to try, and their answers; `pool`: options of the workers that compute them."""

    def __init__(
        self, design: Design, workload: Workload | None, seed: int, knees: bool, pool: Mapping[str, Any],
        progress: Callable[[int, int], None] | None,
    ) -> None:  # fmt: skip
        self.design, self.workload, self.seed, self.pool, self.progress = design, workload, seed, pool, progress
        self.solver = solvers_for(design.workload(workload))[-1]
        self.packets = packets_for(design, workload) if self.solver == "simulation" else MAX_PACKETS
        self.tried: dict[Tried, Design] = {}
        for name, value in changes_to_try(design, workload):
            with suppress(InputError):  # the value is outside the range of the design
                if knees or is_single(design, name, value):
                    self.tried[name, value] = design.with_(**{name: value})
        self.total = 0
        self.answers_of: dict[Tried, tuple[Forwarded | None, Answer]] = {}
        machine = design.machine(workload)
        many = machine.window_s is not None or meet_at_locks(machine)
        self.better = "estimate" if many else self.solver
        self.precise: dict[Tried | None, Forwarded | None] = {}

    def take_estimate(self, estimated: Prediction | None) -> None:
        """Use the estimate of the unchanged machine, if ratios are refined by estimates."""
        if estimated is not None and self.better == "estimate":
            point = SweepPoint(self.design, self.workload, self.better, self.seed)
            self.precise[None] = forwarded(point, estimated)

    def is_of_resource(self, change: Tried) -> bool:
        """Return whether a change is of a knob or a fact, not of an assumption."""
        return self.design.parameters.file.parameter[change[0]].kind in KINDS

    def ask(
        self, designs: Iterable[Design], solver: str, longer: int = 1, ceilings: bool = False, enough_bps: float = 0.0
    ) -> list[tuple[Forwarded | None, Answer]]:
        """Return each machine's throughput (None: no answer) and answer; longer: factor of the simulated packets.

        ceilings: also compute each resource's ceiling. enough_bps: as in `answers_and_rates`.
        """
        seed = None if solver in ANALYTIC else self.seed
        points = [SweepPoint(design, self.workload, solver, seed) for design in designs]
        previous_total, self.total = self.total, self.total + len(points)

        def report(now: int, _: int) -> None:
            if self.progress is not None:
                self.progress(previous_total + now, self.total)

        return each(
            points, partial(answers_and_rates, ceilings=ceilings, enough_bps=enough_bps),
            packets=longer * self.packets, progress=report, **self.pool,
        )  # fmt: skip

    def answer(self, changes: Sequence[Tried], ceilings: bool, enough_bps: float = 0.0) -> None:
        """Simulate changes (or use the solver available for this workload) and store their answers."""
        if changes:
            answers = self.ask([self.tried[change] for change in changes], self.solver, 1, ceilings, enough_bps)
            self.answers_of |= dict(zip(changes, answers, strict=True))

    def settled(self, ranked: WhatIf) -> WhatIf:
        """Return the changes; the gains of advised changes with wide intervals come from longer runs."""
        wide: list[Tried | None] = [(c.knob, c.value) for c in ranked.advised if c.uncertainty > SETTLED]
        missing = [key for key in ([None, *wide] if wide else []) if key not in self.precise]
        designs = [self.design if key is None else self.tried[key] for key in missing]
        answers = self.ask(designs, self.better, LONGER) if missing else []
        self.precise.update({key: rate for key, (rate, _) in zip(missing, answers, strict=True)})
        changes = [
            _better(change, self.precise[None], self.precise[change.knob, change.value], self.better)
            if (change.knob, change.value) in wide else change
            for change in ranked.changes
        ]  # fmt: skip
        return replace(ranked, changes=tuple(sorted(changes, key=lambda change: -change.gain)))

    def together(self, ranked: WhatIf, tied: Sequence[str], bound: Answer) -> WhatIf:
        """Return the changes; `joint` has the settings that equally busy resources need, if they gain more than one."""
        design = self.design
        singles = {
            change: throughput.ceilings if (throughput := self.answers_of.get(change, (None,))[0]) else None
            for change in self.tried if self.is_of_resource(change) and is_single(design, *change)
        }  # fmt: skip
        values = joint_settings(
            design, tied, bound, singles, lambda machines: [answer for _, answer in self.ask(machines, "bounds")]
        )
        if not values:
            return ranked
        present = [] if None in self.precise else [design]
        *present_rate, (joint_rate, answer) = self.ask([*present, design.with_(**values)], self.better, LONGER)
        present_throughput = present_rate[0][0] if present_rate else self.precise[None]
        if present_throughput is None or joint_rate is None or not isinstance(answer, Prediction):
            return ranked
        gains = ratio(present_throughput, joint_rate).gain
        joint = JointChange(settings_of(design, values), tuple(tied), *gains, self.better, answer.bottleneck)
        single = ranked.gains[0].gain if ranked.gains else WORTH
        return replace(ranked, joint=joint) if joint.least > single else ranked


def what_if_in_stages(
    design: DesignLike, workload: WorkloadLike | None = None, *, seed: int = 1, executor: Executor | None = None,
    workers: int | None = None, progress: Callable[[int, int], None] | None = None, early: bool = True,
    knees: bool = True, best: bool = False, estimated: Prediction | None = None,
    begun: Callable[[], None] = lambda: None,
) -> Iterator[WhatIf]:  # fmt: skip
    """Yield the changes that are simulated first, without knees, then all changes.

    early: also yield the first stage, for which queueing solves every change. knees: also find knees, for which more
    values of each knob are simulated. best: skip changes that cannot gain by their bounds. estimated: the estimate of
    the unchanged machine with this seed (None: not known). begun: called once workers run, before the first answer.
    """
    design = design_of(design)
    workload = design.packets(workload)
    trials = _Trials(
        design, workload, seed, knees, {"executor": executor, "workers": workers, "begun": begun}, progress
    )
    solver, tried, answers_of = trials.solver, trials.tried, trials.answers_of
    trials.take_estimate(estimated)
    points = [SweepPoint(design, workload, solver, None if solver in ANALYTIC else seed)]
    ((present_rate, present_answer),) = answers_and_rates(points, trials.packets)
    if present_rate is None:
        yield WhatIf(impossible={"": getattr(present_answer, "reason", "no answer")})
        return
    ((ceiling, bound),) = answers_and_rates([points[0]._replace(solver="bounds", seed=None)], trials.packets)
    tied = ties(present_answer, bound) if solver == "simulation" and isinstance(present_answer, Prediction) else []
    early_changes: list[Tried] = []
    if early and solver == "simulation":
        single = [change for change in tried if is_single(design, *change)]
        by_queueing = dict(zip(single, trials.ask([tried[change] for change in single], "queueing"), strict=True))
        early_changes = sorted(single, key=lambda c: 0.0 if (rate := by_queueing[c][0]) is None else -rate.bps)[:FIRST]
        trials.answer(early_changes, ceilings=len(tied) > 1)
        ranked = trials.settled(_ranked(design, list(answers_of), answers_of, present_rate, solver))
        yield trials.together(ranked, tied, bound)
    least_bps = (
        worth_simulating_bps(present_rate, ceiling)
        if best and solver == "simulation" and _few_kinds(design, workload)
        else 0.0
    )
    later = [change for change in tried if change not in early_changes]
    for bounded in (True, False):  # assumptions of parts are always simulated: their losses are reported too
        changes = [change for change in later if trials.is_of_resource(change) is bounded]
        trials.answer(changes, ceilings=len(tied) > 1, enough_bps=bounded * least_bps)
    rates = {change: rate.bps for change in tried if (rate := answers_of[change][0]) is not None}
    ranked = _ranked(design, list(tried), answers_of, present_rate, solver)
    ranked = trials.together(trials.settled(ranked), tied, bound) if solver == "simulation" else ranked
    yield replace(ranked, knees=tuple(knees_of(design, present_rate.bps, rates))) if knees else ranked


def worth_simulating_bps(now: Forwarded, ceiling: Forwarded | None) -> float:
    """Return the bound (bit/s of packets) above which a change is worth simulating; 0: every change is.

    A machine that drops packets of several kinds may exceed its ceiling, which holds for the offered mix of packets. A
    change that raises the ceiling may still help such a machine, so the smaller of rate and ceiling counts.
    """
    return 0.0 if ceiling is None else (1 + WORTH) * min(now.bps, ceiling.bps)


def _few_kinds(design: Design, workload: Workload | None) -> bool:
    """Return whether the workload has so few distinct packets that bounds take less time than a simulation."""
    return len(design.workload(workload).distinct()[1]) <= MAX_BOUNDED_KINDS


def _better(change: Change, now: Forwarded | None, then: Forwarded | None, solver: str) -> Change:
    """Return a change with the gain of longer runs if its interval is narrower, or if runs fall into several modes."""
    if now is None or then is None:
        return change
    precise = ratio(now, then)
    modes = not (now.batches and then.batches)
    if precise.half is None or (precise.half >= change.uncertainty and not modes):
        return change
    gain, low, high = precise.gain
    return replace(change, gain=gain, low=low, high=high, solver=solver)


def _ranked(
    design: Design, order: Sequence[Tried], answers_of: Mapping[Tried, tuple[Forwarded | None, Answer]], now: Forwarded,
    solver: str,
) -> WhatIf:  # fmt: skip
    """Return the changes with an effect, best first, and the names without effect, impossible or unable to gain."""
    impossible: dict[str, str] = {}
    changes, cannot_gain = [], []
    for name, value in order:
        changed_rate, answer = answers_of[name, value]
        if answer == BOUNDED:
            cannot_gain.append(f"{name}={value}")
            continue
        if changed_rate is None or not isinstance(answer, Prediction):
            impossible[f"{name}={value}"] = getattr(answer, "reason", "no packet finishes")
            continue
        if not is_single(design, name, value):
            continue
        (gain, low, high), parameter = ratio(now, changed_rate).gain, design.parameters.file.parameter[name]
        if abs(gain) > WORTH:
            changes.append(Change(name, parameter.kind, design.parameters[name], value, parameter.unit,
                                  gain, low, high, solver, answer.bottleneck))  # fmt: skip
    changes.sort(key=lambda change: -change.gain)
    mentioned = {change.knob for change in changes} | {text.partition("=")[0] for text in (*impossible, *cannot_gain)}
    without_effect = tuple(sorted({name for name, _ in order} - mentioned))
    return WhatIf(tuple(changes), without_effect, impossible, cannot_gain=tuple(cannot_gain))
