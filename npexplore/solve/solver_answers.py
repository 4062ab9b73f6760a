"""The answers of all solvers for one machine and workload, the best of them, and the headroom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from npexplore.machine.parameters import Value
from npexplore.machine.workload import Workload
from npexplore.names import registered_function
from npexplore.records import content_hash
from npexplore.results import Result
from npexplore.solve.prediction import Prediction

if TYPE_CHECKING:
    import plotly.graph_objects as go

SOLVERS = ("bounds", "queueing", "simulated")
ESTIMATE = "estimate"
CHAIN, RTL = "chain", "rtl"  # optional solvers: for small machines, for machines with hardware


class Headroom(NamedTuple):
    """ceilings: bit/s (as counted) that each resource alone allows, lowest first; reached: share of the lowest one."""

    ceilings: dict[str, float]
    reached: float


class LineRate(NamedTuple):
    """packets/s that the machine's wires allow for these packets, with preambles and gaps; share: of it, reached."""

    wire: str
    pps: float
    share: float


@dataclass(frozen=True, repr=False)
class SolverAnswers(Result):
    """The solvers' predictions for one machine and workload.

    predictions: by solver. refused: why a solver has none. wire: name of the slowest wire and its packets/s.

    Example:
        >>> import npexplore as npx
        >>> machine = npx.design("ixp2400")
        >>> answers = machine.explain(npx.workload(packet_bytes=64), packets=500, elasticities=False)
        >>> answers.predictions["bounds"].bottleneck, sorted(answers.refused)
        ('dram.bus', ['estimate'])
    """

    design: str
    knobs: Mapping[str, Value]
    workload: Workload
    threads: int
    predictions: Mapping[str, Prediction]
    refused: Mapping[str, str]
    seed: int
    wire: tuple[str, float] | None

    __hash__ = content_hash

    @property
    def line(self) -> LineRate | None:
        """The line rate for these packets, and the share of it that is reached (None: no wires)."""
        return None if self.wire is None else LineRate(*self.wire, self.best.rate_pps / self.wire[1])

    @property
    def solvers(self) -> tuple[str, ...]:
        """The names of all solvers that were run."""
        return (*SOLVERS, ESTIMATE, *(name for name in (CHAIN, RTL) if name in {**self.predictions, **self.refused}))

    @property
    def headroom(self) -> Headroom | None:
        """The ceilings of all resources, and the reached share of the lowest (None if bounds refuse)."""
        bound = self.predictions.get("bounds")
        if bound is None:
            return None
        bits = bound.throughput_bps / bound.rate_pps
        ceilings = {name: pps * bits for name, pps in sorted(bound.ceilings_pps.items(), key=lambda item: item[1])}
        return Headroom(ceilings, self.best.throughput_bps / min(ceilings.values()))

    @property
    def best(self) -> Prediction:
        """The most accurate prediction available: the estimate, else simulation, else queueing, else bounds.

        An estimate without a breakdown gets that of the simulation; if runs have modes, that of a run of the commonest.
        """
        best = next(self.predictions[name] for name in (ESTIMATE, *reversed(SOLVERS)) if name in self.predictions)
        simulated = self.predictions.get("simulated")
        if simulated is not None and best.solver == ESTIMATE and best.breakdown is None:
            best = replace(best, breakdown=simulated.breakdown)
        return best

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each solver: design, knobs, workload, and the answer or refusal."""
        question = {"design": self.design, **self.knobs, "workload": self.workload.name}
        answers = [{**question, "solver": name, "seed": p.seed, **p.record()} for name, p in self.predictions.items()]
        return answers + [{**question, "solver": name, "refused": reason} for name, reason in self.refused.items()]

    def plot(self) -> go.Figure:
        """Return a figure of ceilings, of the utilization of every resource, and of gains by single changes."""
        figure: go.Figure = registered_function("SolverAnswers.plot")(self)
        return figure
