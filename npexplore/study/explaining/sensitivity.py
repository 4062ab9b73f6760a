"""Elasticities: per cent more throughput for one per cent more of a parameter, at one design point.

    e = d ln X / d ln k  ~  ln(X(k+) / X(k-)) / ln(k+ / k-)        k+, k- = k plus and minus 5 %, integers by at least 1

Of listed numbers k+ and k- are the next to each side. Bounds, queueing and simulation are asked for every parameter;
all simulations see the same seed (paired.py). The FIRST parameters that bounds and queueing find largest are simulated
before the others, so that what matters most is known soon.
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
FIRST = 5
LONGEST_TRACE = 20_000  # packets of a time-stamped capture that is played through again and again
NEGLIGIBLE = 0.01
Task = tuple[str, float]  # a parameter and a value of it; "" for the machine as it is
Answers = Mapping[float, Forwarded]  # by value of one parameter, from one solver


@dataclass(frozen=True)
class Elasticity:
    """The elasticity of throughput to one parameter, by each solver (None if it gives no answer).

    low, high: the values tried. noise: half width of the 95 % interval of `simulated`. less, more: not elasticities but
    per cent gained by one per cent less and by one per cent more, each alone; at a step both are negative.
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
        """The most accurate of the three: simulation, else queueing, else bounds."""
        return next((e for e in (self.simulated, self.queueing, self.bounds) if e is not None), 0.0)

    @property
    def step(self) -> bool:
        """Whether throughput has a step or a peak here: neither side gains, whatever the slope between them."""
        return self.matters and self.less is not None and self.more is not None and max(self.less, self.more) < 0

    @property
    def matters(self) -> bool:
        """Whether it exceeds the noise."""
        return abs(self.elasticity) > max(NEGLIGIBLE, self.noise or 0.0)

    @property
    def gain(self) -> float:
        """Per cent gained by one per cent in the better direction; 0 if neither gains."""
        return max(0.0, self.less or 0.0, self.more or 0.0)


@dataclass(frozen=True)
class Sensitivity(Result):
    """Elasticities that matter, largest first; parameters without effect beyond noise; those that were not varied."""

    found: tuple[Elasticity, ...] = ()
    without_effect: tuple[str, ...] = ()
    not_varied: Mapping[str, str] = field(default_factory=dict)  # name -> why

    __hash__ = content_hash

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each elasticity."""
        return [{"knob": one.knob, "elasticity": one.elasticity, **asdict(one)} for one in self.found]

    def heading(self) -> str:
        """Return what the table is."""
        return "Elasticities: per cent of throughput for one per cent more of a parameter"


def _varied(design: Design, workload: Workload | None) -> tuple[dict[str, list[float]], dict[str, str]]:
    """Return the values to try of each parameter that the machine reads, and why others are not varied."""
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
    """Return the elasticities of parameters from the answers by solver and parameter."""
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
    """Yield the elasticity of throughput to each parameter that is simulated first, then to all that the machine reads.

    begun: called before the first answer, when workers are there.
    """
    design = design_of(design)
    workload = design.packets(workload)
    solvers = solvers_for(design.workload(workload))
    packets = packets_for(design, workload) if "simulation" in solvers else MAX_PACKETS
    ends, skipped = _varied(design, workload)
    total = 0

    def ask(names: Iterable[str], solvers: Sequence[str]) -> dict[str, dict[str, Answers]]:
        """Return the answers by solver and parameter: for the machine as it is, and with each value."""
        nonlocal total
        tasks: list[Task] = [("", 0.0), *((name, value) for name in names for value in ends[name])]
        asked_of = [(task, solver) for task in tasks for solver in solvers]
        points = [
            SweepPoint(
                design.with_(**{name: value}) if name else design, workload, solver,
                seed if solver == "simulation" else None,
            )
            for (name, value), solver in asked_of
        ]  # fmt: skip
        before, total = total, total + len(points)

        def report(now: int, _: int) -> None:
            if progress is not None:
                progress(before + now, total)

        answers = each(
            points, answers_and_rates, packets=packets, executor=executor, workers=workers, progress=report, begun=begun
        )
        by_task = {task: rate for task, (rate, _) in zip(asked_of, answers, strict=True) if rate is not None}

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
    """Return the solvers to ask at many points with a workload: without simulation if it is a long capture."""
    if load.arrivals == "timestamps" and len(load.packet_bytes) > LONGEST_TRACE:
        return SOLVERS[:1]
    return SOLVERS


def _elasticity(design: Design, name: str, answers: Mapping[str, Answers]) -> Elasticity:
    parameter, present = design.parameters.file.parameter[name], float(design.parameters[name])
    slopes = {solver: slope for solver, rows in answers.items() if (slope := _slope(rows)) is not None}
    # to twelve places: what rounding leaves of two equal answers is no effect
    bounds, queueing, simulated = (round(slopes[one].log, 12) if one in slopes else None for one in SOLVERS)
    best = answers[next(solver for solver in reversed(SOLVERS) if solver in answers)]
    left = _slope({value: row for value, row in best.items() if value <= present})
    right = _slope({value: row for value, row in best.items() if value >= present})
    tried = {value for rows in answers.values() for value in rows}
    return Elasticity(
        name, parameter.kind, present, min(tried), max(tried), parameter.unit, bounds, queueing, simulated,
        noise=slopes["simulation"].half if "simulation" in slopes else None,
        less=None if left is None else -left.log, more=None if right is None else right.log,
    )  # fmt: skip


def _ends(design: Design, name: str) -> list[float]:
    """Return the values to try, a step to each side, without those that are out of range."""
    value, parameter = design.parameters[name], design.parameters.file.parameter[name]
    assert not isinstance(value, str)
    step = max(1, round(STEP * value)) if isinstance(value, int) else STEP * value
    ends: list[float] = []
    for end in parameter.neighbours(value) if parameter.choices else (value - step, value + step):
        try:
            ends.append(positive(name, end))
            design.with_(**{name: end})
        except InputError:
            ends = [other for other in ends if other != end]
    return ends


def _slope(rows: Answers) -> Ratio | None:
    """Return the slope between the outermost values, with the half width of its interval."""
    if len(rows) < 2:
        return None
    low, high = min(rows), max(rows)
    gain, step = ratio(rows[low], rows[high]), log(high / low)
    return Ratio(gain.log / step, None if gain.half is None else gain.half / step)
