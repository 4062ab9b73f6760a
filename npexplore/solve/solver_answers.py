"""What the solvers answer for one machine and workload, which answer is the best, and the headroom."""

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
CHAIN, RTL = "chain", "rtl"  # of small machines, and of those with hardware, where they are asked for


class Headroom(NamedTuple):
    """ceilings: bit/s (as counted) that each resource alone allows, lowest first; reached: share of the lowest."""

    ceilings: dict[str, float]
    reached: float


class LineRate(NamedTuple):
    """What the wires of the machine allow for these packets, preambles and gaps included: packets/s; share: reached."""

    wire: str
    pps: float
    share: float


@dataclass(frozen=True, repr=False)
class SolverAnswers(Result):
    """What the solvers predict for one machine and workload.

    predictions: by solver. refused: why a solver has none. wire: its name and the packets/s that it allows.

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
        """The rate of the wires for these packets, and the share of it that is reached (None: no wires)."""
        return None if self.wire is None else LineRate(*self.wire, self.best.rate_pps / self.wire[1])

    @property
    def solvers(self) -> tuple[str, ...]:
        """The names of all solvers that were asked."""
        return (*SOLVERS, ESTIMATE, *(name for name in (CHAIN, RTL) if name in {**self.predictions, **self.refused}))

    @property
    def headroom(self) -> Headroom | None:
        """The ceilings of all resources, and how much of the lowest is reached (None if bounds refuse)."""
        bound = self.predictions.get("bounds")
        if bound is None:
            return None
        bits = bound.throughput_bps / bound.rate_pps
        ceilings = {name: pps * bits for name, pps in sorted(bound.ceilings_pps.items(), key=lambda item: item[1])}
        return Headroom(ceilings, self.best.throughput_bps / min(ceilings.values()))

    @property
    def best(self) -> Prediction:
        """The most accurate prediction available: the estimate, else simulation, else queueing, else bounds.

        Where the time of packets goes is told by a simulation, which an estimate takes over; among modes by a run of
        the commonest.
        """
        best = next(self.predictions[name] for name in (ESTIMATE, *reversed(SOLVERS)) if name in self.predictions)
        simulated = self.predictions.get("simulated")
        if simulated is not None and best.solver == ESTIMATE and best.breakdown is None:
            best = replace(best, breakdown=simulated.breakdown)
        return best

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each solver: design, knobs that were set, workload, answer or refusal."""
        question = {"design": self.design, **self.knobs, "workload": self.workload.name}
        answers = [{**question, "solver": name, "seed": p.seed, **p.record()} for name, p in self.predictions.items()]
        return answers + [{**question, "solver": name, "refused": reason} for name, reason in self.refused.items()]

    def plot(self) -> go.Figure:
        """Return the picture: ceilings, how busy every resource is, and what single changes would gain."""
        figure: go.Figure = registered_function("SolverAnswers.plot")(self)
        return figure
