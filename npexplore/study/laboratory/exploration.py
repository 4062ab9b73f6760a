"""Tabulates the answers of solvers and theory for one resource, over numbers of threads or offered loads.

closed: a fixed number of threads always have a packet at the resource.       open: packets arrive at a rate.

utilization = throughput / highest rate of the resource, also if all visits use one of its members
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import ceil, isfinite, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from npexplore.designs import Design
from npexplore.engine.intervals import student
from npexplore.errors import InputError, NpexploreError, RefusedError, one_of
from npexplore.machine.workload import Workload, parse_arrivals
from npexplore.machine.workload_sources import of_columns
from npexplore.solve.prediction import Prediction
from npexplore.solve.residence import brought_by
from npexplore.study.laboratory.points import Exploration, Point
from npexplore.study.laboratory.theory import theory_of
from npexplore.study.laboratory.unseen import HASHED, unseen_members
from npexplore.units import readable

if TYPE_CHECKING:
    from npexplore.packets import Capture
    from npexplore.study.laboratory.lone import LoneResource

SOLVERS = ("bounds", "queueing", "simulation", "theory")
POINTS = 10  # points of a range of loads
PACKETS, RUNS = 20_000, 8  # packets and number of simulations of a resource without a ceiling
MAX_THREADS = 1024
MAX_VISIT_S = 0.01  # longest simulated visit; simulating such visits takes 15 s
AMPLE = 128  # threads at open points, in addition to the threads that unloaded visits occupy
MEMBER_OPERANDS = ("bank", "member", "requester", "source", "target", "path")


def closed(
    lone: LoneResource, threads: Sequence[int], trace: str | Path | Capture | None, solvers: Sequence[str], seed: int,
    precision: float,
) -> Exploration:  # fmt: skip
    """Return answers at numbers of threads, each of which always has a packet."""
    for number in threads:
        if number != int(number) or not 1 <= number <= MAX_THREADS:
            raise InputError(f"{lone.kind}: threads must be whole numbers in 1..{MAX_THREADS}, got {number!r}")
    load, operands = packets_of(lone, trace)
    query = _Query(lone, lone.design(1, operands), operands, load, solvers, seed, precision, trace is None)
    points = [
        query.point(solver, lone.design(int(number), operands), load, threads=int(number))
        for number in threads for solver in solvers
    ]  # fmt: skip
    return query.exploration(points)


def opened(
    lone: LoneResource, rate: str | float | Sequence[float | str], arrivals: str,
    trace: str | Path | Capture | None, solvers: Sequence[str], seed: int, precision: float,
) -> Exploration:  # fmt: skip
    """Return answers at offered loads, with enough threads that packets wait only at the resource."""
    with _about(lone.kind):
        process = parse_arrivals(arrivals)[0]
    if process == "saturated":
        raise InputError(f"{lone.kind}: arrivals must be a process with a rate, such as poisson, got {arrivals!r}")
    load, operands = packets_of(lone, trace)
    alone = lone.design(1, operands)
    query = _Query(lone, alone, operands, load, solvers, seed, precision, trace is None and arrivals == "poisson")
    enough = query.enough_threads()
    points = []
    for offered in _rates(lone.kind, rate, query.ceiling, load):
        arriving = load.with_arrivals(arrivals, offered)
        points += [query.point(solver, lone.design(enough, operands), arriving, rate_pps=offered) for solver in solvers]
    return query.exploration(points)


def open_threads(lone: LoneResource) -> int:
    """Return enough threads that packets with arrivals wait only at the resource, as in `opened`."""
    return _Query(lone, lone.design(1), lone.operands, lone.packets(), (), 0, 0.0, False).enough_threads()


@dataclass
class _Query:
    """Solves points of one resource. alone: the resource with one thread; visit_s: time of an unloaded visit in s."""

    lone: LoneResource
    alone: Design
    operands: Mapping[str, Any]
    load: Workload
    solvers: Sequence[str]
    seed: int
    precision: float
    has_theory: bool

    def __post_init__(self) -> None:
        for solver in self.solvers:
            one_of(f"{self.lone.kind}: solver", solver, SOLVERS)
        demands = self.alone.demands(self.load)
        ceilings = demands.ceilings()
        self.visit_s = float(demands.demands.latency)
        self.alone_s = self.visit_s if brought_by(demands) else None  # time after a server brought the packet
        servers = [ceiling for name, ceiling in ceilings.items() if not name.startswith("threads")]
        self.ceiling = min(servers, default=float("inf"))
        self.theory = theory_of(self.lone) if self.has_theory else None

    def enough_threads(self) -> int:
        """Return enough threads that packets with arrivals wait only at the resource."""
        if not isfinite(self.ceiling):
            return MAX_THREADS
        return min(AMPLE + ceil(8 * self.ceiling * self.alone.demands(self.load).demands.latency), MAX_THREADS)

    def point(
        self, solver: str, design: Design, load: Workload, threads: int | None = None, rate_pps: float | None = None
    ) -> Point:
        """Return one solver's answer at one point, or the reason for its refusal."""
        empty = Point(solver, threads, rate_pps)
        try:
            if solver == "theory":
                return self._theory(empty)
            if solver == "simulation" and rate_pps is not None and not self.lone.has_steady_state:
                raise RefusedError(
                    "simulation: the switch takes a message of each path in turn, and messages come in another order: "
                    "they wait the longer the longer it runs (no steady state)"
                )
            if solver == "simulation" and self.visit_s > MAX_VISIT_S:
                raise RefusedError(
                    f"simulation: a visit takes {readable(self.visit_s, 's')}, which runs too slowly beyond "
                    f"{readable(MAX_VISIT_S, 's')}; check the units of times and rates"
                )
            if solver == "simulation" and not isfinite(self.ceiling):
                return self._runs(empty, design, load)
            answer = self._prediction(solver, design, load)
            reason = None
            if solver == "queueing":
                reason = unseen_members(self.lone, self.operands, answer, threads is not None)
            return self._answered(empty, answer) if reason is None else replace(empty, refused=reason)
        except NpexploreError as error:
            return replace(empty, refused=str(error).replace(f"{self.lone.resource.name}_alone: ", ""))

    def _prediction(self, solver: str, design: Design, load: Workload) -> Prediction:
        if solver == "bounds":
            return design.bounds(load)
        if solver == "queueing":
            return design.queueing(load)
        return design.estimate(load, seed=self.seed, precision=self.precision)

    def _runs(self, empty: Point, design: Design, load: Workload) -> Point:
        """Return the mean of independent runs with its 95 % interval, for resources without a highest rate."""
        points = [self._answered(empty, design.simulate(load, self.seed + k, packets=PACKETS)) for k in range(RUNS)]
        rates = np.array([point.throughput_pps for point in points], dtype=float)
        mean, half = float(rates.mean()), student(RUNS - 1) * float(rates.std(ddof=1)) / sqrt(RUNS)
        losses = [point.loss for point in points if point.loss is not None]
        loss = float(np.mean(losses)) if losses else None
        return replace(points[0], throughput_pps=mean, low_pps=mean - half, high_pps=mean + half, loss=loss)

    def _answered(self, empty: Point, p: Prediction) -> Point:
        low, high = p.ci95.get("rate_pps", (None, None))
        if low is None and "throughput_bps" in p.ci95:
            low, high = (end * p.rate_pps / p.throughput_bps for end in p.ci95["throughput_bps"])
        latency_low, latency_high = p.ci95.get("latency_s", (None, None))
        latency = p.latency_s
        return replace(
            empty, throughput_pps=p.rate_pps, utilization=p.rate_pps / self.ceiling,
            latency_s=latency.mean, p50_s=latency.p50, p95_s=latency.p95, p99_s=latency.p99, low_pps=low, high_pps=high,
            low_s=latency_low, high_s=latency_high, loss=p.loss,
        )  # fmt: skip

    def _theory(self, empty: Point) -> Point:
        if self.theory is None:
            raise RefusedError(f"no exact result is known here for {self.lone.kind} driven in this way")
        if empty.threads is not None:
            rate = self.theory.closed(empty.threads)
            seconds = self.alone_s or empty.threads / rate
            return replace(empty, throughput_pps=rate, utilization=rate / self.ceiling, latency_s=seconds)
        assert empty.rate_pps is not None
        seconds = self.theory.open(empty.rate_pps)
        loss = None if self.theory.loss is None else self.theory.loss(empty.rate_pps)
        rate = empty.rate_pps * (1 - (loss or 0.0))
        return replace(empty, throughput_pps=rate, utilization=rate / self.ceiling, latency_s=seconds, loss=loss)

    def exploration(self, points: Sequence[Point]) -> Exploration:
        """Return the exploration of all points; raises NpexploreError if every point was refused."""
        lone, theory = self.lone, self.theory
        if not any(point.refused is None for point in points):
            raise NpexploreError(f"{lone.kind}: {points[0].refused}")
        source = None
        if theory is not None:
            source = {"name": theory.name, "source": theory.source, "open": "bound" if theory.bounded else "exact"}
        parameters = {**lone.parameters, **lone.operands}
        return Exploration(lone.kind, parameters, self.ceiling, tuple(points), source)


def packets_of(lone: LoneResource, trace: str | Path | Capture | None) -> tuple[Workload, Mapping[str, Any]]:
    """Return the packets and the visit's operands; a capture gives lengths, and members by hashed destinations."""
    if trace is None:
        return lone.packets(), lone.visit_operands()
    from npexplore.machine.described.defaults import choices
    from npexplore.machine.resources.base import LENGTH
    from npexplore.packets import read_capture

    capture = read_capture(trace) if isinstance(trace, str | Path) else trace
    load = of_columns(Path(capture.path).name, capture)
    operands, columns = dict(lone.operands), dict(load.columns)
    is_ip = np.asarray(capture.columns["l3_length"]) > 0
    targets = np.asarray(capture.columns["dst"], dtype=np.int64)[is_ip]
    for name in operands:
        if name == "bytes":
            operands[name] = LENGTH
        elif name in MEMBER_OPERANDS:
            number = choices(lone.resource, name)
            values, index = np.unique(targets, return_inverse=True)
            hashes = np.array([crc32(int(target).to_bytes(8, "big")) % number for target in values], dtype=np.int64)
            columns[HASHED] = hashes[index.reshape(-1)]
            operands[name] = f"packet.{HASHED}"
    return replace(load, columns=columns), operands


def _rates(kind: str, rate: str | float | Sequence[float | str], ceiling: float, load: Workload) -> list[float]:
    """Return offered loads in packets/s from `A..B`, one rate or a list; plain numbers are shares of the ceiling."""

    def one(text: float | str) -> float:
        try:
            share = float(text[:-1]) / 100 if isinstance(text, str) and text.strip().endswith("%") else float(text)
        except ValueError:
            with _about(kind):
                return load.packets_per_s(str(text))
        if not isfinite(ceiling):
            raise InputError(f"{kind} has no highest rate to take a share of: rate needs a unit, 2Mpps, got {text!r}")
        if not 0 < share <= 2:
            raise InputError(
                f"{kind}: rate must be a share of the highest rate, above 0 and at most 2, or have a unit such as "
                f"2Mpps, got {text!r}"
            )
        return share * ceiling

    if isinstance(rate, str) and ".." in rate:
        first, _, last = rate.partition("..")
        low, high = one(first), one(last)
        if not low < high:
            raise InputError(f"{kind}: rate must go upwards, got {rate!r}")
        return [float(x) for x in np.linspace(low, high, POINTS)]
    if isinstance(rate, str):
        return [one(part) for part in rate.split(",")]
    return [one(part) for part in ([rate] if isinstance(rate, int | float) else rate)]


@contextmanager
def _about(kind: str) -> Iterator[None]:
    """Put the name of the resource in front of errors."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{kind}: {error}") from None
