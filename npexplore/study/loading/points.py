"""Results at one offered load: rate, loss and latency with intervals; and a machine's saturation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from npexplore.engine.intervals import interval
from npexplore.records import content_hash
from npexplore.results import Result, plain
from npexplore.solve.prediction import PERCENTILES
from npexplore.solve.solver_answers import ESTIMATE

if TYPE_CHECKING:
    import pandas as pd

LATENCIES = ("mean", "p50", "p99", "p999")
ESTIMATED_LATENCIES = ("mean", "p50", "p95", "p99", "p999")
COLUMNS = {"rate_pps": ("rate{}_mpps", 1e6), "latency_s": ("latency{}_ns", 1e-9)}  # interval ends, factors to SI
ESTIMATED_COLUMNS = {
    "throughput_bps": ("throughput{}_bps", 1.0),
    "loss": ("loss{}", 1.0),
    **{f"latency_s.{name}": (f"latency_{name}{{}}_ns", 1e-9) for name in PERCENTILES},
}


@dataclass(frozen=True)
class Saturation:
    """The highest rate that a machine forwards, in packets/s, and the bottleneck at this rate."""

    rate_pps: float
    bottleneck: str
    ci95: tuple[float, float] | None = None


@dataclass(frozen=True)
class LoadPoint(Result):
    """A solver's answer at one offered load: packets/s, loss ratio, latencies in seconds (None: unknown).

    Estimates also have bit/s, the interval of every number, the precision of the mean latency, and their method.

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
    packets: int | None = None  # measured packets of each simulation
    throughput_bps: float | None = None
    precision: float | None = None
    method: str | None = None
    line_rate_share: float | None = None  # forwarded rate / line rate

    __hash__ = content_hash

    def records(self) -> list[dict[str, Any]]:
        """Return the point as one row."""
        (low, high), (fast, slow) = (self.ci95[name] or (None, None) for name in ("rate_pps", "latency_s"))
        return [{
            "solver": self.solver, "offered_mpps": self.offered_pps / 1e6, "rate_mpps": self.rate_pps / 1e6,
            "rate_low_mpps": low and low / 1e6, "rate_high_mpps": high and high / 1e6, "loss": self.loss,
            **{f"latency_{name}_ns": None if s is None else s * 1e9 for name, s in self.latency_s.items()},
            "latency_low_ns": fast and fast * 1e9, "latency_high_ns": slow and slow * 1e9, "packets": self.packets,
            "line_rate_share": self.line_rate_share,
        }]  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return the point in plain types; the names contain the units."""
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
        if self.solver == ESTIMATE:  # seconds is None: the run time is known for a curve, not for a load
            document |= {
                "throughput_bps": self.throughput_bps, "precision": self.precision, "method": self.method,
                "seconds": None,
            }  # fmt: skip
        return {name: plain(value) for name, value in document.items()}

    def _intervals(self) -> dict[str, list[float] | None]:
        """Return the intervals by the names that every document of an estimate uses."""
        names = {"throughput_bps": ("throughput_bps", 1.0), "mean": ("latency_s", 1e9), "loss": ("loss", 1.0)}
        names |= {name: (f"latency_s.{name}", 1e9) for name in PERCENTILES}
        ends = {name: (self.ci95.get(key), scale) for name, (key, scale) in names.items()}
        return {name: pair and [scale * end for end in pair] for name, (pair, scale) in ends.items()}


def of_rows(rows: pd.DataFrame) -> LoadPoint:
    """Return the point of one solver and one load: means over its rows (seeds), and intervals over seeds."""

    def mean(column: str, factor: float = 1.0) -> float | None:
        value = float(rows[column].astype(float).mean())
        return None if math.isnan(value) else value * factor

    def ends(name: str, column: str, factor: float) -> tuple[float, float] | None:
        if len(rows) > 1:
            values = rows[column.format("_mean" if name == "latency_s" else "")].to_numpy(dtype=np.float64) * factor
            return None if np.isnan(values).any() else interval(values)
        low, high = (mean(column.format(end), factor) for end in ("_low", "_high"))
        return None if low is None or high is None else (low, high)

    first = rows.iloc[0]
    solver = str(first["solver"])
    estimated = solver == ESTIMATE
    return LoadPoint(
        solver, float(first["offered_mpps"]) * 1e6, float(mean("rate_mpps", 1e6) or 0.0), mean("loss"),
        {name: mean(f"latency_{name}_ns", 1e-9) for name in (ESTIMATED_LATENCIES if estimated else LATENCIES)},
        {name: ends(name, *column) for name, column in (COLUMNS | (ESTIMATED_COLUMNS if estimated else {})).items()},
        int(first["packets"]) if solver == "simulation" else None,
        throughput_bps=mean("throughput_bps") if estimated else None,
        precision=mean("precision") if estimated else None, method=str(first["method"]) if estimated else None,
        line_rate_share=mean("line_rate_share"),
    )  # fmt: skip
