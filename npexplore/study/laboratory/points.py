"""Defines the answers of solvers and theory for one resource, and the table of all answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar

from npexplore.records import content_hash
from npexplore.results import Result, plain


@dataclass(frozen=True)
class Point:
    """One solver's answer; closed points have `threads`, open points `rate_pps` (offered packets/s).

    low_pps, high_pps: 95 % interval of the throughput. low_s, high_s: 95 % interval of the mean latency. loss: loss
    ratio. refused: why there is no answer (None: there is one).
    """

    solver: str
    threads: int | None
    rate_pps: float | None
    throughput_pps: float | None = None
    utilization: float | None = None
    latency_s: float | None = None
    p50_s: float | None = None
    p95_s: float | None = None
    p99_s: float | None = None
    low_pps: float | None = None
    high_pps: float | None = None
    low_s: float | None = None
    high_s: float | None = None
    loss: float | None = None
    refused: str | None = None


@dataclass(frozen=True, repr=False)
class Exploration(Result):
    """A resource at several numbers of threads or loads, by each solver.

    Args:
        kind: the name of the resource.
        parameters: its parameters and operands.
        ceiling_pps: the resource's highest rate by bounds, whatever the number of threads.
        points: the answers.
        theory: name and source of the exact or best known result (None: there is none for this resource).
    """

    UNITS: ClassVar[Mapping[str, str]] = {"utilization": "1"}

    kind: str
    parameters: Mapping[str, Any]
    ceiling_pps: float
    points: tuple[Point, ...]
    theory: Mapping[str, str] | None = None

    __hash__ = content_hash

    def of(self, solver: str) -> list[Point]:
        """Return one solver's answers, without refusals."""
        return [point for point in self.points if point.solver == solver and point.refused is None]

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each point."""
        rows = []
        for p in self.points:
            load = {"threads": p.threads} if p.threads is not None else {"rate_mpps": _scaled(p.rate_pps, 1e-6)}
            rows.append({
                "solver": p.solver, **load, "throughput_mpps": _scaled(p.throughput_pps, 1e-6),
                "throughput_low_mpps": _scaled(p.low_pps, 1e-6), "throughput_high_mpps": _scaled(p.high_pps, 1e-6),
                "utilization": p.utilization, "latency_ns": _scaled(p.latency_s, 1e9),
                "latency_low_ns": _scaled(p.low_s, 1e9), "latency_high_ns": _scaled(p.high_s, 1e9),
                **{f"{name}_ns": _scaled(getattr(p, f"{name}_s"), 1e9) for name in ("p50", "p95", "p99")},
                "loss": p.loss, "refused": p.refused,
            })  # fmt: skip
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON document of `npexplore resource`: rates in Mpps, times in ns."""
        points = [
            {
                "solver": "simulated" if p.solver == "simulation" else p.solver, "threads": p.threads,
                "rate_mpps": _scaled(p.rate_pps, 1e-6), "throughput_mpps": _scaled(p.throughput_pps, 1e-6),
                "utilization": p.utilization,
                "latency_ns": {
                    "mean": _scaled(p.latency_s, 1e9),
                    **{name: _scaled(getattr(p, f"{name}_s"), 1e9) for name in ("p50", "p95", "p99")},
                },
                "ci95": {
                    "throughput_mpps": _pair(p.low_pps, p.high_pps, 1e-6),
                    "latency_mean_ns": _pair(p.low_s, p.high_s, 1e9),
                },
                "refused": p.refused,
            }
            for p in self.points
        ]  # fmt: skip
        document = {"kind": self.kind, "parameters": self.parameters, "points": points, "theory": self.theory}
        return {name: plain(value) for name, value in document.items()}

    def heading(self) -> str:
        """Return the resource and its highest rate."""
        ceiling = f"at most {self.ceiling_pps / 1e6:.4g} Mpps" if isfinite(self.ceiling_pps) else "no highest rate"
        return f"{self.kind}: {ceiling}"


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _pair(low: float | None, high: float | None, factor: float) -> list[float] | None:
    return None if low is None or high is None else [low * factor, high * factor]
