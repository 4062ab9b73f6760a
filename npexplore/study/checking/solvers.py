"""How close queueing is to simulation, over listed designs, mixes, loads and knob values.

    distance = throughput by queueing / simulated throughput - 1

Points: every other choice of a knob, or half and double its value, one knob at a time; saturated and, if a design takes
packets, with Poisson arrivals at shares of the simulated throughput. Queueing is asked at the rate that arrived in the
run, a few per cent off the nominal one. A refused point is a miss. The baseline that queueing has to beat at saturation
is the roofline, which needs bounds alone.
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
LOADS = (0.4, 0.8)  # of the saturated rate, by Poisson arrivals
PACKETS = 4000  # of a simulation
MEDIAN, NINE_OF_TEN, REFUSED = 0.05, 0.10, 0.15  # aims: distances, and the share of points without an answer


@dataclass(frozen=True)
class Distance:
    """One point: the design, the knob changed, the packets, their load (None: saturated), and the distance.

    latency: the distance of the mean latencies. refused: why queueing has no answer (distance and latency: None).
    bounds: the distance of the bounds' throughput, at saturated points (None: not saturated, or no bounds).
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
    """Yield a name and knobs: the design as it is, then with one knob at each other choice, halved or doubled."""
    yield "", {}
    for name, one in base.parameters.file.parameter.items():
        if one.kind != "knob":
            continue
        value = one.value
        others: list[Value] = [*one.choices]
        if isinstance(value, int | float):
            low, high = (one.min if one.min is not None else 0), (one.max if one.max is not None else np.inf)
            others = [type(value)(min(max(other, low), high)) for other in (value / 2, value * 2 or 0.5)]
        yield from ((f"{name}={other}", {name: other}) for other in dict.fromkeys(others) if other != value)


def distances(designs: Sequence[str], *, packets: int = PACKETS, executor: Wanted = None) -> list[Distance]:
    """Return the distance at every point; impossible machines and points that cannot be simulated are left out."""
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
    near, above = (_answers(cases, solver, packets, executor) for solver in ("queueing", "bounds"))
    at_saturation = _compared(cases, [None] * len(cases), saturated, near, above)
    offered = [
        (name, changed, machine, load.with_arrivals("poisson", share * answer.rate_pps), share)
        for (name, changed, machine, load), answer in zip(cases, saturated, strict=True)
        if load is not None and isinstance(answer, Prediction)
        for share in LOADS
    ]
    points = [one[:4] for one in offered]
    runs = _answers(points, "simulation", packets, executor)
    came = [
        (name, changed, machine, _as_came(load, run))
        for (name, changed, machine, load, _), run in zip(offered, runs, strict=True)
    ]
    near = _answers(came, "queueing", packets, executor)
    return at_saturation + _compared(points, [one[4] for one in offered], runs, near, [None] * len(points))


def _as_came(load: Workload, run: Answer) -> Workload:
    """Return the packets at the rate that came in a run, which is that of the finished ones where none is lost."""
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
        about = name, changed, "its own" if load is None else load.name, share
        roof = bounds.throughput_bps / run.throughput_bps - 1 if isinstance(bounds, Prediction) else None
        if isinstance(answer, Prediction):
            means = [one.latency_s.mean if one.latency_s else None for one in (answer, run)]
            latency = means[0] / means[1] - 1 if means[0] and means[1] else None
            compared.append(Distance(*about, answer.throughput_bps / run.throughput_bps - 1, latency, None, roof))
        else:
            compared.append(Distance(*about, None, None, answer.reason, roof))
    return compared
