"""Measures how close queueing is to simulation, over listed designs, mixes, loads and knob values.

    distance = throughput by queueing / simulated throughput - 1

Points: one knob at a time, every other choice or half and double its value; saturated and, if a design takes packets,
with Poisson arrivals at shares of the simulated throughput. Queueing gets the rate that actually arrived in the run,
which differs by a few per cent from the nominal rate. A refused point counts as a miss. At saturation queueing must
beat the roofline, which needs bounds alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from npexplore.designs import Design, design
from npexplore.errors import InputError
from npexplore.machine.parameters import Value
from npexplore.machine.workload import Workload
from npexplore.machine.workload_sources import workload
from npexplore.solve.prediction import Prediction
from npexplore.study.sweeping.answers import Answer, Ended, Refusal, answer_points
from npexplore.study.sweeping.executors import Wanted
from npexplore.study.sweeping.grid import SweepPoint

MIXES = ("64 bytes", "1500 bytes", "amp")
LOADS = (0.4, 0.8)  # shares of the saturated rate, with Poisson arrivals
PACKETS = 4000  # packets of each simulation
MEDIAN, NINE_OF_TEN, REFUSED = 0.05, 0.10, 0.15  # aims: median and 90th percentile distance, share of refused points


@dataclass(frozen=True)
class Distance:
    """One point: the design, the changed knob, the packets, their load (None: saturated), and the distance.

    latency: the distance of the mean latencies. refused: why queueing has no answer (distance and latency are None).
    bounds: the distance of the bounds' throughput (None: not saturated, or no bounds).
    """

    design: str
    changed: str
    packets: str
    load: float | None
    distance: float | None
    latency: float | None
    refused: str | None
    bounds: float | None = None


def corners(base: Design) -> Iterator[tuple[str, dict[str, Value]]]:
    """Yield (name, knobs): first the unchanged design, then one knob at each other choice, halved or doubled."""
    yield "", {}
    for name, p in base.parameters.file.parameter.items():
        if p.kind != "knob":
            continue
        value = p.value
        values: list[Value] = [*p.choices]
        if isinstance(value, int | float):
            low, high = (p.min if p.min is not None else 0), (p.max if p.max is not None else np.inf)
            values = [type(value)(min(max(changed, low), high)) for changed in (value / 2, value * 2 or 0.5)]
        yield from ((f"{name}={changed}", {name: changed}) for changed in dict.fromkeys(values) if changed != value)


def distances(designs: Sequence[str], *, packets: int = PACKETS, executor: Wanted = None) -> list[Distance]:
    """Return the distance at every point, without impossible machines and points that cannot be simulated."""
    cases: list[tuple[str, str, Design, Workload | None]] = []
    for name in designs:
        base = design(name)
        loads: list[Workload | None] = [None]
        if base.own is None:
            loads = [workload(mix=mix) for mix in MIXES]
        for changed, knobs in corners(base):
            try:
                machine = base.with_(**knobs)
            except InputError:
                continue
            cases += [(name, changed, machine, load) for load in loads]
    saturated = _answers(cases, "simulation", packets, executor)
    queueing, bounds = (_answers(cases, solver, packets, executor) for solver in ("queueing", "bounds"))
    at_saturation = _compared(cases, [None] * len(cases), saturated, queueing, bounds)
    offered = [
        (name, changed, machine, load.with_arrivals("poisson", share * answer.rate_pps), share)
        for (name, changed, machine, load), answer in zip(cases, saturated, strict=True)
        if load is not None and isinstance(answer, Prediction)
        for share in LOADS
    ]
    points = [case[:4] for case in offered]
    runs = _answers(points, "simulation", packets, executor)
    arrived = [
        (name, changed, machine, _as_came(load, run))
        for (name, changed, machine, load, _), run in zip(offered, runs, strict=True)
    ]
    queueing = _answers(arrived, "queueing", packets, executor)
    return at_saturation + _compared(points, [case[4] for case in offered], runs, queueing, [None] * len(points))


def _as_came(load: Workload, run: Answer) -> Workload:
    """Return the packets at the rate that arrived in a run: the rate of finished packets if none was dropped."""
    if not isinstance(run, Prediction) or any(run.drops.values()):
        return load
    return load.with_arrivals("poisson", run.rate_pps)


def _answers(
    cases: Sequence[tuple[str, str, Design, Workload | None]], solver: str, packets: int, executor: Wanted
) -> list[Answer]:
    answers: list[Answer] = [Refusal("not asked")] * len(cases)

    def keep(ended: Ended) -> None:
        for number, answer in ended:
            answers[number] = answer

    answer_points(
        [SweepPoint(machine, load, solver) for _, _, machine, load in cases], keep, executor=executor, packets=packets
    )
    return answers


def _compared(
    cases: Sequence[tuple[str, str, Design, Workload | None]], shares: Sequence[float | None],
    simulated: Sequence[Answer], near: Sequence[Answer], above: Sequence[Answer | None],
) -> list[Distance]:  # fmt: skip
    compared = []
    for (name, changed, _, load), share, run, answer, bounds in zip(cases, shares, simulated, near, above, strict=True):
        if not isinstance(run, Prediction):
            continue
        point = name, changed, "its own" if load is None else load.name, share
        roofline = bounds.throughput_bps / run.throughput_bps - 1 if isinstance(bounds, Prediction) else None
        if isinstance(answer, Prediction):
            means = [prediction.latency_s.mean if prediction.latency_s else None for prediction in (answer, run)]
            latency = means[0] / means[1] - 1 if means[0] and means[1] else None
            compared.append(Distance(*point, answer.throughput_bps / run.throughput_bps - 1, latency, None, roofline))
        else:
            compared.append(Distance(*point, None, None, answer.reason, roofline))
    return compared
