"""The answers of `npexplore solve`: one record per solver, in seconds and per second; None for unknown values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from npexplore.networks.records import Network, Station
from npexplore.records import content_hash
from npexplore.results import Result


@dataclass(frozen=True)
class StationResult:
    """Means of a station over all classes; a visit is one pass through it.

    Example:
        >>> from npexplore.networks import load_network, solve_network
        >>> (exact,) = solve_network(load_network("mm1"), ("queueing",))
        >>> round(next(iter(exact.stations.values())).utilization, 6)
        0.8
    """

    utilization: float | None = None  # share of the capacity in use; None at delays
    throughput: float | None = None
    mean_number: float | None = None
    mean_wait: float | None = None
    mean_response: float | None = None
    p_wait: float | None = None  # probability that a visit begins with waiting


@dataclass(frozen=True)
class StationClassResult:
    """Means of one class at a station."""

    throughput: float | None = None
    mean_number: float | None = None
    mean_wait: float | None = None
    mean_response: float | None = None

    @classmethod
    def of(cls, number: float, throughput: float, service: float, station: Station) -> StationClassResult:
        """Return the result of a class from its mean number and throughput at a station, and its mean service time."""
        if not throughput:
            return cls(throughput, number)
        response = number / throughput
        wait = None if station.rates else 0.0 if station.discipline == "delay" else max(response - service, 0.0)
        return cls(throughput, number, wait, response)


@dataclass(frozen=True)
class ClassResult:
    """Means of passes from `in` to `out`, without think time; loss: share of passes that end at a full station.

    Example:
        >>> from npexplore.networks import ClassResult
        >>> ClassResult(throughput=1e6, mean_response=2e-6).loss is None
        True
    """

    throughput: float | None = None
    mean_response: float | None = None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    loss: float | None = None


@dataclass(frozen=True, repr=False)
class NetworkResult(Result):
    """One solver's answer. Unless `exact`, `approximation` names the method or `refused` the reason for no answer.

    Example:
        >>> from npexplore.networks import load_network, solve_network
        >>> (bounds,) = solve_network(load_network("mm1"), ("bounds",))
        >>> bounds.solver
        'bounds'
    """

    solver: str
    exact: bool
    stations: Mapping[str, StationResult]
    classes: Mapping[str, ClassResult]
    approximation: str | None = None
    refused: str | None = None
    ci95: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    bottleneck: str | None = None
    station_classes: Mapping[str, Mapping[str, StationClassResult]] = field(default_factory=dict)
    states: int | None = None  # of a Markov chain
    error: float | None = None  # certified, relative, of every mean of a Markov chain (below 0.001: relative to 0.001)

    UNITS: ClassVar[Mapping[str, str]] = dict.fromkeys(("mean_wait", "mean_response", "p50", "p95", "p99"), "s")
    __hash__ = content_hash

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each station, for each class at it if there are several, and for each class."""
        station_classes = self.station_classes if len(self.classes) > 1 else {}
        rows: list[dict[str, Any]] = []
        for name, station in self.stations.items():
            rows.append({"station": name, "class": None, **vars(station)})
            rows += [{"station": name, "class": c, **vars(means)} for c, means in station_classes.get(name, {}).items()]
        return rows + [{"station": None, "class": name, **vars(means)} for name, means in self.classes.items()]

    def heading(self) -> str:
        """Return the solver, how exact it is, and the bottleneck."""
        exactness = f"refused: {self.refused}" if self.refused else "exact" if self.exact else self.approximation
        return f"{self.solver} ({exactness}), bottleneck {self.bottleneck or 'none'}"


def refusal(network: Network, solver: str, reason: str) -> NetworkResult:
    """Return the answer of a solver that refuses a network, with the reason."""
    stations = {name: StationResult() for name in network.station}
    return NetworkResult(solver, False, stations, {name: ClassResult() for name in network.classes}, refused=reason)


def busiest(stations: Mapping[str, StationResult]) -> str | None:
    """Return the name of the station with the highest utilization (the first of equals)."""
    known = {name: station.utilization for name, station in stations.items() if station.utilization is not None}
    return max(known, key=lambda name: known[name]) if known else None
