"""The result type of all solvers: throughput, bottleneck, utilizations, latency, drops.

Floats are in SI base units (bit/s, packets/s, s). `exact` is True only if the model has product form and the solver is
exact for it; else `approximation` names the assumptions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from npexplore.display import html_table
from npexplore.names import registered_function
from npexplore.reads import Reads
from npexplore.records import content_hash
from npexplore.results import Result, plain, units_of
from npexplore.rows.server import Server
from npexplore.solve.breakdown import Breakdown
from npexplore.units import readable

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
NEARLY_FULL = 0.85
CEILING = "ceiling_pps."  # with a resource's name, in `about` of bounds: packets/s that it alone allows
PERCENTILES = ("p50", "p95", "p99")  # estimates have an interval for each
UTILIZATION = "utilization_"  # prefix of the columns of a row with the utilizations of resources


class Utilization(NamedTuple):
    """Share of time a server is busy (mean over units and members), and the part in which its holder itself waits.

    Example:
        >>> from npexplore.solvers import Utilization
        >>> Utilization(busy=0.5)
        Utilization(busy=0.5, blocked=0.0)
    """

    busy: float
    blocked: float = 0.0


class Latency(NamedTuple):
    """Latency in seconds: mean and quantiles (None where the solver gives none).

    Example:
        >>> from npexplore.solvers import Latency
        >>> Latency(mean=5e-7).p99 is None
        True
    """

    mean: float | None = None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    p999: float | None = None

    def __repr__(self) -> str:
        return "Latency(" + ", ".join(f"{name} {readable(value, 's')}" for name, value in self._asdict().items()) + ")"

    def _repr_html_(self) -> str:
        return html_table(("latency", *self._fields[1:]), [[readable(value, "s") for value in self]])


class Queue(NamedTuple):
    """Waiting line of a server: time average over all members, and the longest line seen at one member."""

    mean: float
    longest: int


class ClassOfPackets(NamedTuple):
    """Throughput, rate and latency of the packets of one class in a simulation."""

    throughput_bps: float
    rate_pps: float
    latency_s: Latency


@dataclass(frozen=True)
class Prediction(Result):
    """One solver's answer for one design point and workload.

    Args:
        solver: "bounds", "queueing", "simulation", "estimate" or "ctmc".
        throughput_bps: bits a second, counted as `counted` says.
        rate_pps: packets a second.
        counted: what counts as throughput: "packet bytes", or bytes padded to cells.
        bottleneck: name of the resource that limits the rate.
        utilization: busy and blocked share of every server, by name.
        latency_s: mean and quantiles of the latency, seconds.
        queue: mean and longest waiting line of every server, packets.
        drops: packets lost, by place.
        offered_pps: packets a second that arrive (None: saturated arrivals).
        loss: share of the offered packets that are lost (None: none are offered, or the solver does not predict it).
        rates: further counts of the machine per second, such as `dram.bytes`.
        ci95: 95 % intervals (low, high) by name of the number.
        exact: whether the solver is exact for this machine.
        approximation: the solver's method or assumptions, in words (None: exact).
        seed: seed of the simulation.
        about: further facts about the solution, such as the number of states.
        classes: throughput, rate and latency by value of the workload's column `class`.
        breakdown: parts of the latency by resource (None: not recorded, as in a sweep).
        batches: packets and seconds of each batch of a simulation.
        seconds: how long the answer took (estimate only).
        line_pps: packets a second that the wires allow, preambles and gaps included (None: packets use none).
        reads: the parameters and ledger rows that the answer depends on, if they were recorded.

    Example:
        >>> import npexplore as npx
        >>> bound = npx.design("ixp2400").with_(banks=2).bounds(npx.workload(packet_bytes=64))
        >>> bound.solver, bound.bottleneck, round(bound.rate_pps)
        ('bounds', 'dram.bank', 4166667)
    """

    solver: str
    throughput_bps: float
    rate_pps: float
    counted: str
    bottleneck: str
    utilization: Mapping[str, Utilization]
    latency_s: Latency = field(default_factory=Latency)
    queue: Mapping[str, Queue] = field(default_factory=dict)
    drops: Mapping[str, int] = field(default_factory=dict)
    offered_pps: float | None = None
    loss: float | None = None
    rates: Mapping[str, float] = field(default_factory=dict)
    ci95: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    exact: bool = False
    approximation: str | None = None
    seed: int | None = None
    about: Mapping[str, float | int | str] = field(default_factory=dict)
    classes: Mapping[str, ClassOfPackets] = field(default_factory=dict)
    breakdown: Breakdown | None = field(default=None, compare=False)
    batches: tuple[tuple[int, float], ...] = field(default=(), repr=False)
    seconds: float | None = field(default=None, compare=False)
    line_pps: float | None = field(default=None, repr=False, compare=False)
    reads: Reads = field(default_factory=dict, repr=False, compare=False)

    __hash__ = content_hash

    @property
    def ceilings_pps(self) -> dict[str, float]:
        """The packets/s that each resource alone allows, by name; empty for solvers other than bounds."""
        return {k.removeprefix(CEILING): float(v) for k, v in self.about.items() if k.startswith(CEILING)}

    def __repr__(self) -> str:
        low, high = self.ci95.get("throughput_bps", (0.0, 0.0))
        throughput = readable(self.throughput_bps, "bit/s", (high - low) / 2)
        rate = readable(self.rate_pps, "packets/s")
        return f"{self.solver}: {throughput} ({self.counted}), {rate}, bottleneck {self.bottleneck}"

    def plot(self) -> go.Figure:
        """Return a figure: the ceilings of all resources for bounds, else how busy every resource is."""
        figure: go.Figure = registered_function("Prediction.plot")(self)
        return figure

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as in the JSON document of `npexplore explain`: times in ns, rates as the keys say."""
        return {
            "solver": self.solver,
            "throughput_bps": self.throughput_bps,
            "rate_mpps": self.rate_pps / 1e6,
            "counted": self.counted,
            "bottleneck": self.bottleneck,
            "ci95": plain(self.ci95.get("throughput_bps")),
            "latency_ns": {name: _nanoseconds(s) for name, s in self.latency_s._asdict().items()},
            "utilization": {name: share._asdict() for name, share in self.utilization.items()},
            "drops": dict(self.drops),
            "offered_mpps": None if self.offered_pps is None else self.offered_pps / 1e6,
            "loss": self.loss,
            "exact": self.exact,
            "approximation": self.approximation,
            "seed": self.seed,
            "about": plain(self.about),
        }

    def record(self) -> dict[str, Any]:
        """Return the answer as one row, under the names of a sweep's columns, without design and workload."""
        low, high = self.ci95.get("throughput_bps", (None, None))
        early, late = self.ci95.get("latency_s", (None, None))
        estimated = self.solver == "estimate"
        return {
            "throughput_bps": self.throughput_bps,
            "throughput_low_bps": low,
            "throughput_high_bps": high,
            "counted": self.counted,
            "rate_mpps": self.rate_pps / 1e6,
            "bottleneck": self.bottleneck,
            **{f"latency_{name}_ns": _nanoseconds(s) for name, s in self.latency_s._asdict().items()},
            "latency_low_ns": _nanoseconds(early),
            "latency_high_ns": _nanoseconds(late),
            "loss": self.loss,
            "dropped": sum(self.drops.values()) if self.solver == "simulation" else None,
            "refused": None,
            **self._ends("rate_pps", "rate_{}_mpps", 1e-6),
            **{k: v for p in PERCENTILES for k, v in self._ends(f"latency_s.{p}", f"latency_{p}_{{}}_ns", 1e9).items()},
            **self._ends("loss", "loss_{}", 1.0),
            **line_columns(self.rate_pps, self.line_pps),
            "precision": self.about.get("precision") if estimated else None,
            "method": self.approximation if estimated else None,
            **{UTILIZATION + name: share.busy for name, share in self.utilization.items()},
        }

    def _ends(self, name: str, column: str, scale: float) -> dict[str, float | None]:
        """Return the ends of an interval under the names of a sweep's columns (None: no interval)."""
        ends = self.ci95.get(name)
        low, high = (None, None) if ends is None else (scale * end for end in ends)
        return {column.format("low"): low, column.format("high"): high}

    def to_series(self) -> pd.Series[Any]:
        """Return the answer as one row of a table (`npexplore.to_frame` makes a table of several)."""
        import pandas as pd

        row = {"solver": self.solver, "seed": self.seed, **self.record()}
        series = pd.Series(row, name=self.solver, dtype=object)
        series.attrs["units"] = units_of(row)
        return series

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each resource: shares of time busy and blocked, packets that wait."""
        none = Queue(float("nan"), 0)
        lines = {name: self.queue.get(name, none) for name in self.utilization}
        return [
            {"resource": name, **share._asdict()}
            | ({"waiting": lines[name].mean, "longest_line": lines[name].longest} if self.queue else {})
            for name, share in self.utilization.items()
        ]

    def _repr_html_(self) -> str:
        rows = [(name, f"{100 * u.busy:.1f} %", f"{100 * u.blocked:.1f} %") for name, u in self.utilization.items()]
        latency = "" if self.latency_s == Latency() else self.latency_s._repr_html_()
        return html_table(("resource", "busy", "blocked"), rows, repr(self)) + latency


def line_columns(rate_pps: Any, line_pps: Any) -> dict[str, Any]:
    """Return the line rate and the share of it that is reached, as columns of a sweep; numbers or arrays."""
    if line_pps is None:
        return {"line_rate_mpps": None, "line_rate_share": None}
    return {"line_rate_mpps": line_pps / 1e6, "line_rate_share": rate_pps / line_pps}


def _nanoseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e9


def bottleneck(
    servers: Mapping[str, Server], busy: Mapping[str, float], seen: Mapping[str, Utilization] | None = None
) -> str:
    """Return the bottleneck's name: the busiest server if it is nearly full, else a full limit, else "threads".

    busy: by server name, the utilization of its busiest member (one bank that all packets use limits the machine).
    seen: utilizations with blocked shares; if several servers are full, these are subtracted for links that a blocked
    worm keeps.
    """
    names, number = bottlenecks(servers, {name: np.array([share]) for name, share in busy.items()}, 1)
    full_ones = [k for k, server in servers.items() if server.role == "queue" and busy.get(k, 0.0) >= NEARLY_FULL]
    if seen is not None and any(servers[k].kept_waiting for k in full_ones):
        return max(full_ones, key=lambda k: busy[k] - seen[k].blocked * servers[k].kept_waiting)
    return names[int(number[0])]


def bottlenecks(
    servers: Mapping[str, Server], busy: Mapping[str, Floats], points: int
) -> tuple[tuple[str, ...], Integers]:
    """Return names, and for each point the index of its bottleneck among them (rule: see `bottleneck`)."""
    roles = ("queue",), ("limit", "pool")
    # among equally busy servers, the last by name
    by_role = [sorted((n for n, s in servers.items() if s.role in role and n in busy), reverse=True) for role in roles]
    names = (*by_role[0], *by_role[1], "threads")
    highest, busiest = [], []
    for part, start in zip(by_role, (0, len(by_role[0])), strict=True):
        table = np.stack([busy[name] for name in part]) if part else np.zeros((1, points))
        highest.append(np.max(table, axis=0))
        busiest.append(np.argmax(table, axis=0) + start if part else np.full(points, len(names) - 1))
    otherwise = np.where(highest[1] > 0.95, busiest[1], len(names) - 1)
    return names, np.where(highest[0] >= NEARLY_FULL, busiest[0], otherwise)
