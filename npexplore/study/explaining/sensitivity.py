"""Elasticities: per cent more throughput for one per cent more of a parameter, at one design point.

    e = d ln X / d ln k  ~  ln(X(k+) / X(k-)) / ln(k+ / k-)        k+, k- = k plus and minus 5 %, integers by at least 1

X is counted in packet bits, without padding, so that a larger cell is no gain by itself.
Simulated with common random numbers: both sides see the same seeds, so that packets and choices cancel out. The noise
is the 95 % half width of the mean over the seeds (Student's t).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from math import log

import numpy as np

from npexplore.designs import Design
from npexplore.engine.intervals import Floats, interval
from npexplore.errors import InputError, positive
from npexplore.machine.parameters import Kind
from npexplore.machine.workload import Workload
from npexplore.solve.prediction import Prediction
from npexplore.study.sweeping.answers import Answer
from npexplore.study.sweeping.asked import asked
from npexplore.study.sweeping.grid import SOLVERS, SweepPoint

STEP = 0.05
SEEDS = 6
PACKETS = 800  # of each simulation: paired runs need few
LONGEST_TRACE = 20_000  # packets of a time-stamped capture that is played through again and again
NEGLIGIBLE = 0.01
PARTS = (slice(0, 1), slice(1, 2), slice(2, None))  # of a row: bounds, queueing, simulated with each seed
Rows = Mapping[float, Sequence[float | None]]  # value tried -> packet bits by solver and seed


@dataclass(frozen=True)
class Elasticity:
    """The elasticity of throughput to one parameter, by each solver (None where it gives no answer).

    low, high: the values tried. noise: half width of the 95 % interval of `simulated`. less, more: per cent gained by
    one per cent less and by one per cent more; they differ where throughput has a kink or a step.
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
        """The most truthful of the three: simulated, else queueing, else bounds."""
        return next((e for e in (self.simulated, self.queueing, self.bounds) if e is not None), 0.0)

    @property
    def matters(self) -> bool:
        """Whether it stands out of the noise."""
        return abs(self.elasticity) > max(NEGLIGIBLE, self.noise or 0.0)

    @property
    def gain(self) -> float:
        """Per cent gained by one per cent in the better direction; 0 where none gains."""
        return max(0.0, self.less or 0.0, self.more or 0.0)


@dataclass(frozen=True)
class Sensitivity:
    """Elasticities that matter, largest first; parameters without effect beyond noise; those that were not varied."""

    found: tuple[Elasticity, ...] = ()
    without_effect: tuple[str, ...] = ()
    not_varied: Mapping[str, str] = field(default_factory=dict)  # name -> why


def sensitivity(
    design: Design,
    workload: Workload | None = None,
    *,
    seed: int = 1,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Sensitivity:
    """Return the elasticity of throughput to every number that the machine reads at this design point."""
    solvers = solvers_for(design.workload(workload))
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
    seeds = range(seed, seed + SEEDS)
    tasks = [("", 0.0), *((name, value) for name, values in ends.items() for value in values)]
    points = [
        SweepPoint(design.with_(**{name: value}) if name else design, workload, solver, number)
        for name, value in tasks
        for solver in solvers
        for number in (seeds if solver == "simulation" else [None])
    ]
    answers = asked(points, packets=PACKETS, executor=executor, workers=workers, progress=progress)
    found = [packet_bits(*pair) for pair in zip(points, answers, strict=True)]
    width = len(points) // len(tasks)
    by_task = {task: found[k * width : (k + 1) * width] for k, task in enumerate(tasks)}
    results = []
    for name, values in ends.items():
        present = float(design.parameters[name])
        tried = {present: by_task["", 0.0], **{value: by_task[name, value] for value in values}}
        rows = {value: row for value, row in tried.items() if any(x is not None for x in row)}
        if len(rows) < 2:
            skipped[name] = "no value near it works"
            continue
        results.append(_elasticity(design, name, rows))
    results.sort(key=lambda e: -abs(e.elasticity))
    return Sensitivity(
        tuple(e for e in results if e.matters), tuple(sorted(e.knob for e in results if not e.matters)), skipped
    )


def solvers_for(load: Workload) -> Sequence[str]:
    """Return the solvers that a workload is worth asking again and again: long captures are not simulated so."""
    if load.arrivals == "timestamps" and len(load.packet_bytes) > LONGEST_TRACE:
        return SOLVERS[:1]
    return SOLVERS


def _elasticity(design: Design, name: str, rows: Rows) -> Elasticity:
    parameter, present = design.parameters.file.parameter[name], float(design.parameters[name])
    slopes = [_slope(rows, part) for part in PARTS]
    # to twelve places: what rounding leaves of two equal answers is no effect
    bounds, queueing, simulated = (None if slope is None else round(float(slope.mean()), 12) for slope in slopes)
    part = next(
        (part for part, slope in reversed(list(zip(PARTS, slopes, strict=True))) if slope is not None), PARTS[0]
    )
    left = _slope({value: row for value, row in rows.items() if value <= present}, part)
    right = _slope({value: row for value, row in rows.items() if value >= present}, part)
    noise = None
    if slopes[2] is not None:
        lower, upper = interval(slopes[2])
        noise = (upper - lower) / 2
    return Elasticity(
        name, parameter.kind, present, min(rows), max(rows), parameter.unit, bounds, queueing, simulated, noise,
        less=None if left is None else -float(left.mean()), more=None if right is None else float(right.mean()),
    )  # fmt: skip


def _ends(design: Design, name: str) -> list[float]:
    """Return the values to try, a step to each side, without those that are out of range."""
    value = design.parameters[name]
    assert not isinstance(value, str)
    step = max(1, round(STEP * value)) if isinstance(value, int) else STEP * value
    ends: list[float] = []
    for end in (value - step, value + step):
        try:
            ends.append(positive(name, end))
            design.with_(**{name: end})
        except InputError:
            ends = [kept for kept in ends if kept != end]
    return ends


def packet_bits(point: SweepPoint, answer: Answer) -> float | None:
    """Return the bits of packets a second, None where there is no answer."""
    if isinstance(answer, Prediction) and answer.rate_pps > 0:
        return answer.rate_pps * 8 * point.design.workload(point.workload).mean_packet_bytes
    return None


def _slope(rows: Rows, part: slice) -> Floats | None:
    """Return the slope between the outermost values that have all answers, one for each seed."""
    answered = {value: row[part] for value, row in rows.items() if row[part] and None not in row[part]}
    if len(answered) < 2:
        return None
    low, high = min(answered), max(answered)
    first, last = answered[low], answered[high]
    slope: Floats = np.log(np.array(last, dtype=float) / np.array(first, dtype=float)) / log(high / low)
    return slope
