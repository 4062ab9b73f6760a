"""Computes elasticities: per cent change of throughput for one per cent more of a parameter, at one design point.

    e = d ln X / d ln k  ~  ln(X(k+) / X(k-)) / ln(k+ / k-)        k+, k- = k plus and minus 5 %, integers by at least 1

For a parameter with a list of values, k+ and k- are the neighbours in the list. Bounds, queueing and simulation are
computed for every parameter; all simulations use the same seed (paired.py). The FIRST parameters with the largest
elasticities by bounds and queueing are simulated before the others, so that the main results are known early.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field
from math import log
from typing import Any

from npexplore.designs import Design, DesignLike
from npexplore.designs import design as design_of
from npexplore.errors import InputError, positive
from npexplore.machine.parameters import Kind
from npexplore.machine.workload import Workload
from npexplore.machine.workload_sources import WorkloadLike
from npexplore.records import content_hash
from npexplore.results import Result
from npexplore.study.explaining.paired import MAX_PACKETS, Forwarded, Ratio, answers_and_rates, packets_for, ratio
from npexplore.study.sweeping.asked import each
from npexplore.study.sweeping.grid import SOLVERS, SweepPoint

STEP = 0.05
FIRST = 5  # parameters that are simulated before the others
LONGEST_TRACE = 20_000  # longest time-stamped capture, in packets, that is simulated for every parameter
NEGLIGIBLE = 0.01
Task = tuple[str, float]  # (parameter, value); the parameter is "" for the unchanged machine
Answers = Mapping[float, Forwarded]  # one solver's answers by value of one parameter


@dataclass(frozen=True)
class Elasticity:
    """The elasticity of throughput to one parameter, by each solver (None: no answer).

    low, high: the smallest and largest value tried. noise: half width of the 95 % interval of `simulated`. less, more:
    per cent gained by one per cent less, and by one per cent more, each from its side; at a step both are negative.
    """

    knob: str
    kind: Kind
    value: float
    low: float
    high: float
    unit: str
    bounds: float | None
    queueing: float | None
    simulated: float | None
    noise: float | None
    less: float | None
    more: float | None

    @property
    def elasticity(self) -> float:
        """The elasticity by the most accurate solver: simulation, else queueing, else bounds (0 if none answers)."""
        return next((e for e in (self.simulated, self.queueing, self.bounds) if e is not None), 0.0)

    @property
    def step(self) -> bool:
        """Whether throughput has a step or a peak here: throughput falls on both sides."""
        return self.matters and self.less is not None and self.more is not None and max(self.less, self.more) < 0

    @property
    def matters(self) -> bool:
        """Whether the elasticity exceeds the noise and NEGLIGIBLE."""
        return abs(self.elasticity) > max(NEGLIGIBLE, self.noise or 0.0)

    @property
    def gain(self) -> float:
        """Per cent gained by a change of one per cent in the better direction; 0 if neither direction gains."""
        return max(0.0, self.less or 0.0, self.more or 0.0)


@dataclass(frozen=True)
class Sensitivity(Result):
    """Elasticities above the noise, largest first; parameters without effect; parameters not varied, with reasons."""

    found: tuple[Elasticity, ...] = ()
    without_effect: tuple[str, ...] = ()
    not_varied: Mapping[str, str] = field(default_factory=dict)  # reason by name

    __hash__ = content_hash

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each elasticity."""
        return [{"knob": e.knob, "elasticity": e.elasticity, **asdict(e)} for e in self.found]

    def heading(self) -> str:
        """Return the title of the table."""
        return "Elasticities: per cent of throughput for one per cent more of a parameter"


def _varied(design: Design, workload: Workload | None) -> tuple[dict[str, list[float]], dict[str, str]]:
    """Return the values to try of each parameter that the machine reads, and the reasons why others are not varied."""
    skipped: dict[str, str] = {}
    ends: dict[str, list[float]] = {}
    for name in sorted(design.depends_on(workload)):
        parameter = design.parameters.file.parameter[name]
        if isinstance(parameter.value, str):
            skipped[name] = "a choice"
        elif not float(design.parameters[name]) > 0:
            skipped[name] = "zero has no percentage"
        else:
            ends[name] = _ends(design, name)
    return ends, skipped


def _result(
    design: Design, names: Iterable[str], by_solver: Mapping[str, Mapping[str, Answers]], skipped: Mapping[str, str]
) -> Sensitivity:
    """Return the elasticities of some parameters, from the answers by solver and parameter."""
    results, not_varied = [], dict(skipped)
    for name in names:
        answers = {solver: rows[name] for solver, rows in by_solver.items() if len(rows.get(name, ())) > 1}
        if answers:
            results.append(_elasticity(design, name, answers))
        else:
            not_varied[name] = "no value near it works"
    results.sort(key=lambda e: -abs(e.elasticity))
    silent = tuple(sorted(e.knob for e in results if not e.matters))
    return Sensitivity(tuple(e for e in results if e.matters), silent, not_varied)


def sensitivity_in_stages(
    design: DesignLike, workload: WorkloadLike | None = None, *, seed: int = 1, executor: Executor | None = None,
    workers: int | None = None, progress: Callable[[int, int], None] | None = None,
    begun: Callable[[], None] = lambda: None,
) -> Iterator[Sensitivity]:  # fmt: skip
    """Yield first the elasticities of the parameters that are simulated first, then those of all parameters.

    begun: called once workers run, before the first answer.
    """
    design = design_of(design)
    workload = design.packets(workload)
    solvers = solvers_for(design.workload(workload))
    packets = packets_for(design, workload) if "simulation" in solvers else MAX_PACKETS
    ends, skipped = _varied(design, workload)
    total = 0

    def ask(names: Iterable[str], solvers: Sequence[str]) -> dict[str, dict[str, Answers]]:
        """Return the answers by solver and parameter: for the unchanged machine, and with each value."""
        nonlocal total
        tasks: list[Task] = [("", 0.0), *((name, value) for name in names for value in ends[name])]
        questions = [(task, solver) for task in tasks for solver in solvers]
        points = [
            SweepPoint(
                design.with_(**{name: value}) if name else design, workload, solver,
                seed if solver == "simulation" else None,
            )
            for (name, value), solver in questions
        ]  # fmt: skip
        previous_total, total = total, total + len(points)

        def report(now: int, _: int) -> None:
            if progress is not None:
                progress(previous_total + now, total)

        answers = each(
            points, answers_and_rates, packets=packets, executor=executor, workers=workers, progress=report, begun=begun
        )
        by_task = {task: rate for task, (rate, _) in zip(questions, answers, strict=True) if rate is not None}

        def rows(name: str, solver: str) -> Answers:
            tried = {float(design.parameters[name]): ("", 0.0)} | {value: (name, value) for value in ends[name]}
            return {value: by_task[task, solver] for value, task in tried.items() if (task, solver) in by_task}

        return {solver: {name: rows(name, solver) for name in names} for solver in solvers}

    by_solver = ask(ends, [solver for solver in solvers if solver != "simulation"])
    if "simulation" in solvers:
        sizes = {
            name: max((abs(slope.log) for rows in by_solver.values() if (slope := _slope(rows[name]))), default=0.0)
            for name in ends
        }
        order = sorted(ends, key=lambda name: -sizes[name])
        by_solver["simulation"] = ask(order[:FIRST], ["simulation"])["simulation"]
        yield _result(design, order[:FIRST], by_solver, skipped)
        by_solver["simulation"] |= ask(order[FIRST:], ["simulation"])["simulation"]
    yield _result(design, ends, by_solver, skipped)


def solvers_for(load: Workload) -> Sequence[str]:
    """Return the solvers to use at many points with a workload: only bounds for a long capture."""
    if load.arrivals == "timestamps" and len(load.packet_bytes) > LONGEST_TRACE:
        return SOLVERS[:1]
    return SOLVERS


def _elasticity(design: Design, name: str, answers: Mapping[str, Answers]) -> Elasticity:
    parameter, present = design.parameters.file.parameter[name], float(design.parameters[name])
    slopes = {solver: slope for solver, rows in answers.items() if (slope := _slope(rows)) is not None}
    # 12 decimal places: rounding differences between equal answers are no effect
    bounds, queueing, simulated = (round(slopes[solver].log, 12) if solver in slopes else None for solver in SOLVERS)
    best = answers[next(solver for solver in reversed(SOLVERS) if solver in answers)]
    slope_below = _slope({value: row for value, row in best.items() if value <= present})
    slope_above = _slope({value: row for value, row in best.items() if value >= present})
    tried = {value for rows in answers.values() for value in rows}
    return Elasticity(
        name, parameter.kind, present, min(tried), max(tried), parameter.unit, bounds, queueing, simulated,
        noise=slopes["simulation"].half if "simulation" in slopes else None,
        less=None if slope_below is None else -slope_below.log, more=None if slope_above is None else slope_above.log,
    )  # fmt: skip


def _ends(design: Design, name: str) -> list[float]:
    """Return the values to try, one step to each side, without values out of range."""
    value, parameter = design.parameters[name], design.parameters.file.parameter[name]
    assert not isinstance(value, str)
    step = max(1, round(STEP * value)) if isinstance(value, int) else STEP * value
    ends: list[float] = []
    for end in parameter.neighbours(value) if parameter.choices else (value - step, value + step):
        try:
            ends.append(positive(name, end))
            design.with_(**{name: end})
        except InputError:
            ends = [valid for valid in ends if valid != end]
    return ends


def _slope(rows: Answers) -> Ratio | None:
    """Return the elasticity between the outermost values, with the half width of its interval; None for one value."""
    if len(rows) < 2:
        return None
    low, high = min(rows), max(rows)
    gain, step = ratio(rows[low], rows[high]), log(high / low)
    return Ratio(gain.log / step, None if gain.half is None else gain.half / step)
