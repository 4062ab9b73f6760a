"""What `npexplore solve` answers: one record a solver, numbers in seconds and per second, None where there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from npexplore.networks.description import Network


@dataclass(frozen=True)
class StationResult:
    """Means of a station over all classes; a visit is one pass through it."""

    utilization: float | None = None  # share of the capacity in use; None at delays
    throughput: float | None = None
    mean_number: float | None = None
    mean_wait: float | None = None
    mean_response: float | None = None


@dataclass(frozen=True)
class ClassResult:
    """One pass from `in` to `out`, without think time; loss is the share of passes that end at a full station."""

    throughput: float | None = None
    mean_response: float | None = None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    loss: float | None = None


@dataclass(frozen=True)
class NetworkResult:
    """One solver's answer. Unless `exact`, `approximation` names the method, or `refused` says why there is none."""

    solver: str
    exact: bool
    stations: Mapping[str, StationResult]
    classes: Mapping[str, ClassResult]
    approximation: str | None = None
    refused: str | None = None
    ci95: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    bottleneck: str | None = None


def refusal(network: Network, solver: str, reason: str) -> NetworkResult:
    """Return the answer of a solver that has none."""
    stations = {name: StationResult() for name in network.station}
    return NetworkResult(solver, False, stations, {name: ClassResult() for name in network.classes}, refused=reason)


def busiest(stations: Mapping[str, StationResult]) -> str | None:
    """Return the name of the station with the highest utilization (the first of equals)."""
    known = {name: station.utilization for name, station in stations.items() if station.utilization is not None}
    return max(known, key=lambda name: known[name]) if known else None
