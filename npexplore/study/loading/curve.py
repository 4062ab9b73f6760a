"""Latency and loss against the offered load: estimates with intervals, simulation, queueing; where a machine saturates.

    saturation = what it forwards when a packet is always waiting        loss = packets lost / packets offered

Loads are points of a sweep, so a stopped curve can be resumed from its file. Machines with a window of their own
are measured over packets, as all others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from npexplore.designs import Design, DesignLike
from npexplore.designs import design as design_of
from npexplore.engine.intervals import interval
from npexplore.errors import InputError, NpexploreError, positive
from npexplore.machine.workload import Arrival, Workload, parse_arrivals
from npexplore.machine.workload_sources import WorkloadLike
from npexplore.records import content_hash
from npexplore.results import Result, plain
from npexplore.solve.prediction import PERCENTILES
from npexplore.study.loading.lengths import PACKETS, packets_at
from npexplore.study.sweeping.executors import Wanted
from npexplore.study.sweeping.grid import SweepPoint
from npexplore.study.sweeping.sweep import opened, sweep
from npexplore.units import readable

if TYPE_CHECKING:
    import pandas as pd

SOLVERS = ("simulation", "queueing")
ESTIMATE = "estimate"
POINTS, LEAST, MOST = 20, 0.05, 1.15  # loads, and the first and the last as shares of saturation
LATENCIES = ("mean", "p50", "p99", "p999")
ESTIMATED_LATENCIES = ("mean", "p50", "p95", "p99", "p999")
TWICE = 2.0  # times the latency at the lowest load, where it is said to have doubled
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Saturation:
    """The highest rate that a machine forwards, packets a second, and its bottleneck then."""

    rate_pps: float
    bottleneck: str
    ci95: tuple[float, float] | None = None


@dataclass(frozen=True)
class LoadPoint(Result):
    """A solver's answer at one offered load: packets a second, share lost, latencies in seconds (None: unknown).

    Estimates also have bit/s, the interval of every number, the precision of the mean latency, and how they came about.

    Example:
        >>> from npexplore.study import LoadPoint
        >>> LoadPoint("bounds", 1e6, 1e6, 0.0, {}, {}).loss
        0.0
    """

    solver: str
    offered_pps: float
    rate_pps: float
    loss: float | None
    latency_s: dict[str, float | None]
    ci95: dict[str, tuple[float, float] | None]
    packets: int | None = None  # measured in each simulation
    throughput_bps: float | None = None
    precision: float | None = None
    method: str | None = None
    line_rate_share: float | None = None  # of what the wires allow that is forwarded

    __hash__ = content_hash

    def records(self) -> list[dict[str, Any]]:
        """Return the point as one row."""
        (low, high), (early, late) = (self.ci95[name] or (None, None) for name in ("rate_pps", "latency_s"))
        return [{
            "solver": self.solver, "offered_mpps": self.offered_pps / 1e6, "rate_mpps": self.rate_pps / 1e6,
            "rate_low_mpps": low and low / 1e6, "rate_high_mpps": high and high / 1e6, "loss": self.loss,
            **{f"latency_{name}_ns": None if s is None else s * 1e9 for name, s in self.latency_s.items()},
            "latency_low_ns": early and early * 1e9, "latency_high_ns": late and late * 1e9, "packets": self.packets,
            "line_rate_share": self.line_rate_share,
        }]  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return the point in the units of its names."""
        rate, latency = self.ci95["rate_pps"], self.ci95["latency_s"]
        document = {
            "solver": self.solver, "offered_mpps": self.offered_pps / 1e6, "rate_mpps": self.rate_pps / 1e6,
            "loss": self.loss, "packets": self.packets, "line_rate_share": self.line_rate_share,
            "latency_ns": {name: None if s is None else s * 1e9 for name, s in self.latency_s.items()},
            "ci95": {
                "rate_mpps": rate and [end / 1e6 for end in rate],
                "latency_mean_ns": latency and [end * 1e9 for end in latency],
                **(self._intervals() if self.solver == ESTIMATE else {}),
            },
        }  # fmt: skip
        if self.solver == ESTIMATE:  # seconds: of a curve, not of a load
            document |= {
                "throughput_bps": self.throughput_bps, "precision": self.precision, "method": self.method,
                "seconds": None,
            }  # fmt: skip
        return {name: plain(value) for name, value in document.items()}

    def _intervals(self) -> dict[str, list[float] | None]:
        """Return the intervals under the names that they have in every document of an estimate."""
        names = {"throughput_bps": ("throughput_bps", 1.0), "mean": ("latency_s", 1e9), "loss": ("loss", 1.0)}
        names |= {name: (f"latency_s.{name}", 1e9) for name in PERCENTILES}
        ends = {name: (self.ci95.get(own), scale) for name, (own, scale) in names.items()}
        return {name: pair and [scale * end for end in pair] for name, (pair, scale) in ends.items()}


@dataclass(frozen=True, repr=False)
class LoadCurve(Result):
    """A machine at many offered loads; for each solver where it saturates, and why a solver has no answer.

    mean_packet_bytes, mean_frame_bytes: of the packets, and of their Ethernet frames. line_pps: what the wires allow
    (None: packets use none). counted: what a bit of throughput is.

    Example:
        >>> import npexplore as npx
        >>> curve = npx.load_curve("smartnic", 64, rates=[1e6], packets=200)
        >>> curve.design, curve.points[0].offered_pps
        ('smartnic', 1000000.0)
    """

    design: str
    workload: str
    arrivals: str
    points: tuple[LoadPoint, ...]
    saturation: dict[str, Saturation]
    refused: dict[str, str] = field(default_factory=dict)
    mean_packet_bytes: float | None = None
    mean_frame_bytes: float | None = None
    line_pps: float | None = None
    counted: str | None = None

    def of(self, solver: str) -> list[LoadPoint]:
        """Return one solver's points in order of load."""
        return sorted((point for point in self.points if point.solver == solver), key=lambda point: point.offered_pps)

    @property
    def best(self) -> list[LoadPoint]:
        """The best answer at each load, in order: the estimate, else simulation, else queueing."""
        found: dict[float, LoadPoint] = {}
        for solver in (ESTIMATE, *SOLVERS):
            for point in self.of(solver):
                found.setdefault(round(point.offered_pps, 3), point)
        return [found[load] for load in sorted(found)]

    @property
    def full(self) -> Saturation | None:
        """Where the machine saturates, by its estimate, else by simulation (None: neither has an answer)."""
        return self.saturation.get(ESTIMATE) or self.saturation.get("simulation")

    @property
    def doubled_pps(self) -> float | None:
        """The load at which the mean latency is twice that of the lowest load, of the best answers (None: at none)."""
        points = [p for p in self.best if p.solver != "queueing"]
        found = [(p.offered_pps, p.latency_s["mean"]) for p in points if p.latency_s["mean"] is not None]
        if not found:
            return None
        loads, means = (np.array(column, dtype=np.float64) for column in zip(*found, strict=True))
        above = np.flatnonzero(means >= TWICE * means[0])
        if not len(above):
            return None
        k = above[0]
        share = (TWICE * means[0] - means[k - 1]) / (means[k] - means[k - 1])
        return float(loads[k - 1] + share * (loads[k] - loads[k - 1]))

    __hash__ = content_hash

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each solver and offered load."""
        return [row for point in self.points for row in point.records()]

    def heading(self) -> str:
        """Return the machine and where it saturates."""
        full = [f"{name} {readable(s.rate_pps, 'packets/s')}" for name, s in self.saturation.items()]
        return f"{self.design}, {self.workload}, {self.arrivals}: saturates at {', '.join(full)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the curve in plain types, units in the names."""
        doubled = self.doubled_pps
        document = {
            "design": self.design, "workload": self.workload, "arrivals": self.arrivals,
            "mean_packet_bytes": self.mean_packet_bytes, "mean_frame_bytes": self.mean_frame_bytes,
            "counted": self.counted,
            "line_rate_mpps": None if self.line_pps is None else self.line_pps / 1e6,
            "points": [point.to_dict() for point in self.points],
            "saturation": {
                name: {"rate_mpps": s.rate_pps / 1e6, "bottleneck": s.bottleneck}
                | ({"ci95": s.ci95 and [end / 1e6 for end in s.ci95]} if name == ESTIMATE else {})
                for name, s in self.saturation.items()
            },
            "ndr": None,
            "pdr": None,
            "latency_doubles_at_mpps": None if doubled is None else doubled / 1e6,
            "refused": dict(self.refused),
        }  # fmt: skip
        return {name: plain(value) for name, value in document.items()}


def load_curve(
    design: DesignLike, workload: WorkloadLike | None = None, *, arrivals: Arrival | str = "poisson",
    rates: Sequence[float | str] | None = None, seeds: int = 1, packets: int | None = None,
    estimate: bool | None = None, executor: Wanted = None,
    workers: int | None = None, store: str | Path | None = None, resume: bool = True,
    progress: Progress | None = None,
) -> LoadCurve:  # fmt: skip
    """Return latency and loss of a machine at offered loads: estimates with intervals, simulation, queueing.

    workload: the packets (None: the design's own), which arrive by `arrivals` at each of `rates`, packets a second
    (None: 20 rates, from a twentieth of the highest rate that the machine forwards to a seventh above it). packets:
    measured at each load (None: 16,384, fewer if a packet takes many events). store: a Parquet file from which a
    stopped curve is resumed. progress: called with (points done, points in all). Raises InputError.
    estimate: also estimate each load (1 s of budget); a load too near saturation has none. None: unless `packets` or
    `seeds` ask for simulations of one length.
    design: the machine. arrivals: the process, such as "poisson" or "periodic". rates: offered, packets a second, or
    texts such as "50%": shares of the highest rate that the machine forwards.
    seeds: simulations at each load. executor, workers: where the simulations run (None: processes on this
    computer). resume: whether to take what the store has.

    Example:
        >>> import npexplore as npx
        >>> curve = npx.load_curve(npx.design("smartnic"), npx.workload(packet_bytes=65), rates=[20e6], packets=500)
        >>> sorted({point.solver for point in curve.points})
        ['queueing', 'simulation']
    """
    import pandas as pd

    design = design_of(design)
    asked = Offered.of(design, design.packets(workload), arrivals)
    wanted = (
        None
        if rates is None
        else [
            (share_of(rate), True) if isinstance(rate, str) else (positive("rate of a load", float(rate)), False)
            for rate in rates
        ]
    )
    estimate = packets is None and seeds == 1 if estimate is None else estimate
    solvers = (*SOLVERS, ESTIMATE) if estimate else SOLVERS
    count = len(solvers) + (POINTS if wanted is None else len(wanted)) * (1 + seeds + estimate)

    with opened(store, resume) as stored:

        def answered(points: Sequence[SweepPoint], before: int, measured: int) -> pd.DataFrame:
            def told(done: int, total: int) -> None:
                if progress is not None:
                    progress(before + done, count)

            return sweep(points, executor=executor, workers=workers, store=stored, packets=measured, progress=told)

        full = answered([asked.point(None, solver, 1) for solver in solvers], 0, packets or PACKETS)
        saturation = {
            row.solver: Saturation(row.rate_mpps * 1e6, row.bottleneck, _ends(row) if row.solver == ESTIMATE else None)
            for row in full.itertuples() if not isinstance(row.refused, str)
        }  # fmt: skip
        saturation = {name: saturation[name] for name in (ESTIMATE, *SOLVERS) if name in saturation}
        top = asked.most(saturation.get("simulation"))
        if wanted is None:
            loads = [float(load) for load in np.linspace(LEAST, MOST, POINTS) * top]
        else:
            loads = [load * top if relative else load for load, relative in wanted]
        lengths = packets_at(loads, asked.events) if packets is None else [packets] * len(loads)
        parts: list[pd.DataFrame] = []
        for measured in sorted(set(lengths)):
            some = [load for load, length in zip(loads, lengths, strict=True) if length == measured]
            points = [asked.point(load, "queueing") for load in some]
            points += [asked.point(load, "simulation", 1 + seed) for load in some for seed in range(seeds)]
            points += [asked.point(load, ESTIMATE, 1) for load in some if estimate]
            parts.append(answered(points, len(solvers) + sum(len(part) for part in parts), measured))
    rows = pd.concat(parts)
    good = rows[rows["refused"].isna()]
    found = [
        of_rows(part) for solver in (*SOLVERS, ESTIMATE)
        for _, part in good[good["solver"] == solver].groupby("offered_mpps", sort=True)
    ]  # fmt: skip
    answers = [*full.itertuples(), *rows.itertuples()]
    refused = {str(row.solver): str(row.refused) for row in answers if isinstance(row.refused, str)}
    few = int(rows.loc[rows["solver"] == ESTIMATE, "refused"].notna().sum())
    if estimate and 0 < few < len(loads):
        refused[ESTIMATE] = f"at {few} of {len(loads)} loads: {refused[ESTIMATE].removeprefix('estimate: ')}"
    if not found:
        raise NpexploreError(f"{design.name}: no load has an answer: {'; '.join(refused.values())}")
    lines = full["line_rate_mpps"].dropna().astype(float)
    counted, load = full["counted"].dropna(), design.workload(asked.load)
    return LoadCurve(
        design.name, asked.name, arrivals, tuple(found), saturation, refused, load.mean_packet_bytes,
        load.mean_frame_bytes, 1e6 * float(lines.iloc[0]) if len(lines) else None,
        str(counted.iloc[0]) if len(counted) else None,
    )  # fmt: skip


def share_of(rate: str) -> float:
    """Return the share that a text such as "50%" says; raises InputError for one that says none above 0."""
    text = rate.strip()
    try:
        share = float(text.removesuffix("%")) / 100 if text.endswith("%") else 0.0
    except ValueError:
        share = 0.0
    if not 0 < share < math.inf:
        raise InputError(f"rate of a load must be packets a second or a share such as '50%', got {rate!r}")
    return share


def of_rows(rows: pd.DataFrame) -> LoadPoint:
    """Return the point of one solver and one load: means of its rows, and intervals over seeds."""

    def mean(column: str, factor: float = 1.0) -> float | None:
        value = float(rows[column].astype(float).mean())
        return None if math.isnan(value) else value * factor

    def ends(column: str, low: str, high: str, factor: float) -> tuple[float, float] | None:
        if len(rows) > 1:
            values = rows[column].to_numpy(dtype=np.float64) * factor
            return None if np.isnan(values).any() else interval(values)
        pair = mean(low, factor), mean(high, factor)
        return None if pair[0] is None or pair[1] is None else (pair[0], pair[1])

    first = rows.iloc[0]
    solver = str(first["solver"])
    ci95 = {
        "rate_pps": ends("rate_mpps", "rate_low_mpps", "rate_high_mpps", 1e6),
        "latency_s": ends("latency_mean_ns", "latency_low_ns", "latency_high_ns", 1e-9),
    }
    latency = {name: mean(f"latency_{name}_ns", 1e-9) for name in LATENCIES}
    point = LoadPoint(
        solver, float(first["offered_mpps"]) * 1e6, float(mean("rate_mpps", 1e6) or 0.0), mean("loss"), latency, ci95,
        int(first["packets"]) if solver == "simulation" else None, line_rate_share=mean("line_rate_share"),
    )  # fmt: skip
    if solver != ESTIMATE:
        return point
    ci95["throughput_bps"] = ends("throughput_bps", "throughput_low_bps", "throughput_high_bps", 1.0)
    ci95["loss"] = ends("loss", "loss_low", "loss_high", 1.0)
    for name in PERCENTILES:
        column = f"latency_{name}"
        latency[name] = mean(f"{column}_ns", 1e-9)
        ci95[f"latency_s.{name}"] = ends(f"{column}_ns", f"{column}_low_ns", f"{column}_high_ns", 1e-9)
    return replace(
        point,
        latency_s={name: latency[name] for name in ESTIMATED_LATENCIES},
        throughput_bps=mean("throughput_bps"),
        precision=mean("precision"),
        method=str(first["method"]),
    )


def _ends(row: Any) -> tuple[float, float] | None:
    """Return the ends of the rate's interval of one answer; None where it has none."""
    low, high = float(row.rate_low_mpps), float(row.rate_high_mpps)
    return None if math.isnan(low) else (low * 1e6, high * 1e6)


@dataclass(frozen=True)
class Offered:
    """A design under one kind of arrivals, to be asked at any load. load: the packets (None: the design's own)."""

    design: Design
    load: Workload | None
    arrivals: str

    @staticmethod
    def of(design: Design, load: Workload | None, arrivals: str) -> Offered:
        """Return a design to be asked at any load; raises InputError for arrivals that have no adjustable rate."""
        if parse_arrivals(arrivals)[0] == "saturated":
            raise InputError("a load needs packets that arrive at a rate (poisson, periodic, ...), got 'saturated'")
        made = Offered(design.by_packets(), load, arrivals)
        made.point(1.0, "simulation")
        return made

    @property
    def name(self) -> str:
        """The name of the packets."""
        return self.design.workload(self.load).name

    def point(self, rate_pps: float | None, solver: str, seed: int | None = None) -> SweepPoint:
        """Return the question at a rate (None: a packet is always waiting)."""
        how = "saturated" if rate_pps is None else self.arrivals
        if self.load is None:
            made = self.design.arriving(how, rate_pps)
            made.workload()
            return SweepPoint(made, None, solver, seed)
        return SweepPoint(self.design, self.load.with_arrivals(how, rate_pps), solver, seed)

    def events(self, rate_pps: float, packets: int) -> float:
        """Return the events of a run at a rate for each of so many packets, 0 where their number is no choice."""
        if self.arrivals == "timestamps":  # a capture runs from its first packet to its last
            return 0.0
        point = self.point(rate_pps, "simulation", 1)
        about = point.design.simulate(point.workload, 1, packets=packets).about
        return float(about["events"]) / float(about["packets"])

    def most(self, full: Saturation | None) -> float:
        """Return the highest rate that the machine forwards, packets a second; by bounds if simulation gives none."""
        if full is not None and full.bottleneck != "arrivals":
            return full.rate_pps
        point = self.point(None, "bounds")
        return min(point.design.bounds(point.workload).ceilings_pps.values())
