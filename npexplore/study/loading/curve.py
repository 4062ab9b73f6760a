"""Computes load curves: latency and loss over the offered load, by estimates, simulation and queueing.

    saturation = the forwarded rate when a packet is always waiting        loss = packets lost / packets offered

Loads are points of a sweep, so that a stopped curve can be resumed from its file. Machines with a fixed measurement
window are also measured over a number of packets here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from npexplore.designs import DesignLike
from npexplore.designs import design as design_of
from npexplore.errors import InputError, NpexploreError, positive
from npexplore.machine.workload import Arrival
from npexplore.machine.workload_sources import WorkloadLike
from npexplore.records import content_hash
from npexplore.results import Result, plain
from npexplore.solve.solver_answers import ESTIMATE
from npexplore.study.loading.lengths import PACKETS, packets_at
from npexplore.study.loading.offered import Offered
from npexplore.study.loading.points import LoadPoint, Saturation, of_rows
from npexplore.study.sweeping.executors import Wanted
from npexplore.study.sweeping.grid import SweepPoint
from npexplore.study.sweeping.sweep import opened, sweep
from npexplore.units import readable

if TYPE_CHECKING:
    import pandas as pd

SOLVERS = ("simulation", "queueing")
POINTS, LOWEST_LOAD, HIGHEST_LOAD = 20, 0.05, 1.15  # number of loads; the first and last as shares of saturation
TWICE = 2.0  # ratio to the latency at the lowest load that counts as doubled
Progress = Callable[[int, int], None]


@dataclass(frozen=True, repr=False)
class LoadCurve(Result):
    """A machine at many offered loads; for each solver its saturation, or the reason why it has no answer.

    mean_packet_bytes, mean_frame_bytes: mean length of the packets and of their Ethernet frames. line_pps: line rate
    in packets/s (None: packets use no wires). counted: what throughput counts, such as packet bits.

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
        """The best answer at each load, sorted by load: the estimate, else simulation, else queueing."""
        order = (ESTIMATE, *SOLVERS)[::-1]
        best = {round(point.offered_pps, 3): point for solver in order for point in self.of(solver)}
        return [best[load] for load in sorted(best)]

    @property
    def full(self) -> Saturation | None:
        """The machine's saturation by its estimate, else by simulation (None: neither has an answer)."""
        return self.saturation.get(ESTIMATE) or self.saturation.get("simulation")

    @property
    def doubled_pps(self) -> float | None:
        """The load (packets/s) at which the best mean latency is twice that at the lowest load (None: none)."""
        points = [p for p in self.best if p.solver != "queueing"]
        latencies = [(p.offered_pps, p.latency_s["mean"]) for p in points if p.latency_s["mean"] is not None]
        if not latencies:
            return None
        loads, means = np.array(latencies, dtype=np.float64).T
        doubled = np.flatnonzero(means >= TWICE * means[0])
        if not len(doubled):
            return None
        k = doubled[0]
        share = (TWICE * means[0] - means[k - 1]) / (means[k] - means[k - 1])
        return float(loads[k - 1] + share * (loads[k] - loads[k - 1]))

    __hash__ = content_hash

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each solver and offered load."""
        return [row for point in self.points for row in point.records()]

    def heading(self) -> str:
        """Return a title with the machine and its saturation."""
        full = [f"{name} {readable(s.rate_pps, 'packets/s')}" for name, s in self.saturation.items()]
        return f"{self.design}, {self.workload}, {self.arrivals}: saturates at {', '.join(full)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the curve in plain types; the names contain the units."""
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


def _wanted(rates: Sequence[float | str] | None) -> list[tuple[float, float]]:
    """Return each load as (share of the highest rate, packets/s), of which one is 0; raises InputError."""
    if rates is None:
        return [(share, 0.0) for share in np.linspace(LOWEST_LOAD, HIGHEST_LOAD, POINTS).tolist()]
    return [
        (share_of(rate), 0.0) if isinstance(rate, str) else (0.0, positive("rate of a load", float(rate)))
        for rate in rates
    ]


def _refusals(full: pd.DataFrame, rows: pd.DataFrame, estimate: bool, loads: int) -> dict[str, str]:
    """Return by solver why it has no answer; for estimates also the number of loads without one."""
    answers = [*full.itertuples(), *rows.itertuples()]
    refused = {str(row.solver): str(row.refused) for row in answers if isinstance(row.refused, str)}
    refusals = int(rows.loc[rows["solver"] == ESTIMATE, "refused"].notna().sum())
    if estimate and 0 < refusals < loads:
        refused[ESTIMATE] = f"at {refusals} of {loads} loads: {refused[ESTIMATE].removeprefix('estimate: ')}"
    return refused


def load_curve(
    design: DesignLike, workload: WorkloadLike | None = None, *, arrivals: Arrival | str = "poisson",
    rates: Sequence[float | str] | None = None, seeds: int = 1, packets: int | None = None,
    estimate: bool | None = None, executor: Wanted = None,
    workers: int | None = None, store: str | Path | None = None, resume: bool = True,
    progress: Progress | None = None,
) -> LoadCurve:  # fmt: skip
    """Return latency and loss of a machine at offered loads: estimates with intervals, simulation, queueing.

    design: the machine. workload: the packets (None: the design's own). arrivals: the arrival process, such as
    "poisson" or "periodic". rates: offered loads in packets/s, or texts such as "50%": shares of the machine's highest
    rate (None: 20 loads, 5 % to 115 % of it). seeds: number of simulations at each load. packets: measured packets at
    each load (None: 16,384, fewer if a packet takes many events). estimate: also estimate each load (budget 1 s each);
    a load too near saturation has no estimate (None: estimate unless `packets` or `seeds` is set). executor, workers:
    where simulations run (None: threads, or processes in a command). store: a Parquet file from which a stopped curve
    is resumed. resume: whether to use the rows in the store. progress: called with (points done, total points).
    Raises InputError.

    Example:
        >>> import npexplore as npx
        >>> curve = npx.load_curve(npx.design("smartnic"), npx.workload(packet_bytes=65), rates=[20e6], packets=500)
        >>> sorted({point.solver for point in curve.points})
        ['queueing', 'simulation']
    """
    import pandas as pd

    design = design_of(design)
    offered = Offered.of(design, design.packets(workload), arrivals)
    loads_wanted = _wanted(rates)
    estimate = packets is None and seeds == 1 if estimate is None else estimate
    solvers = (*SOLVERS, ESTIMATE) if estimate else SOLVERS
    count = len(solvers) + len(loads_wanted) * (1 + seeds + estimate)

    with opened(store, resume) as stored:

        def answered(points: Sequence[SweepPoint], before: int, measured: int) -> pd.DataFrame:
            return sweep(
                points, executor=executor, workers=workers, store=stored, packets=measured,
                progress=None if progress is None else lambda done, _: progress(before + done, count),
            )  # fmt: skip

        full = answered([offered.point(None, solver, 1) for solver in solvers], 0, packets or PACKETS)
        saturation = {
            row.solver: Saturation(row.rate_mpps * 1e6, row.bottleneck, _ends(row) if row.solver == ESTIMATE else None)
            for row in full.itertuples() if not isinstance(row.refused, str)
        }  # fmt: skip
        saturation = {name: saturation[name] for name in (ESTIMATE, *SOLVERS) if name in saturation}
        top = offered.most(saturation.get("simulation"))
        loads = [share * top + rate_pps for share, rate_pps in loads_wanted]
        lengths = packets_at(loads, offered.events) if packets is None else [packets] * len(loads)
        parts: list[pd.DataFrame] = []
        for measured in sorted(set(lengths)):
            loads_of_length = [load for load, length in zip(loads, lengths, strict=True) if length == measured]
            points = [offered.point(load, "queueing") for load in loads_of_length]
            points += [offered.point(load, "simulation", 1 + seed) for load in loads_of_length for seed in range(seeds)]
            points += [offered.point(load, ESTIMATE, 1) for load in loads_of_length if estimate]
            parts.append(answered(points, len(solvers) + sum(len(part) for part in parts), measured))
    rows = pd.concat(parts)
    answered_rows = rows[rows["refused"].isna()]
    answered_points = [
        of_rows(part) for solver in (*SOLVERS, ESTIMATE)
        for _, part in answered_rows[answered_rows["solver"] == solver].groupby("offered_mpps", sort=True)
    ]  # fmt: skip
    refused = _refusals(full, rows, estimate, len(loads))
    if not answered_points:
        raise NpexploreError(f"{design.name}: no load has an answer: {'; '.join(refused.values())}")
    lines = full["line_rate_mpps"].dropna().astype(float)
    counted, load = full["counted"].dropna(), design.workload(offered.load)
    return LoadCurve(
        design.name, offered.name, arrivals, tuple(answered_points), saturation, refused, load.mean_packet_bytes,
        load.mean_frame_bytes, 1e6 * float(lines.iloc[0]) if len(lines) else None,
        str(counted.iloc[0]) if len(counted) else None,
    )  # fmt: skip


def share_of(rate: str) -> float:
    """Return the share in a text such as "50%"; raises InputError for any other text and for shares not above 0."""
    text = rate.strip()
    try:
        share = float(text.removesuffix("%")) / 100 if text.endswith("%") else 0.0
    except ValueError:
        share = 0.0
    if not 0 < share < math.inf:
        raise InputError(f"rate of a load must be packets a second or a share such as '50%', got {rate!r}")
    return share


def _ends(row: Any) -> tuple[float, float] | None:
    """Return the ends in packets/s of the interval of an answer's rate; None if it has no interval."""
    low, high = float(row.rate_low_mpps), float(row.rate_high_mpps)
    return None if math.isnan(low) else (low * 1e6, high * 1e6)
