"""What a machine does with a workload, and why: three solvers side by side, the bottleneck, headroom, what would help.

npx.design("ixp2400").with_(scheme="fcb_tb").explain(npx.workload(mix="amp"))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from npexplore.designs import Design, DesignLike
from npexplore.designs import design as design_of
from npexplore.designs.running import ProgramChange
from npexplore.display import html_table, significant
from npexplore.errors import ModelError, RefusedError, SimulationError
from npexplore.machine.described.part_parameters import from_shelf
from npexplore.machine.line_rates import line_rate
from npexplore.machine.parameters import Value
from npexplore.machine.workload import Workload
from npexplore.machine.workload_sources import WorkloadLike
from npexplore.records import content_hash
from npexplore.results import Result, plain
from npexplore.solve.bounds import CEILING
from npexplore.solve.estimate.document import document as estimate_document
from npexplore.solve.prediction import Prediction
from npexplore.study.explaining.background import Background
from npexplore.study.explaining.joint import ceilings_of
from npexplore.study.explaining.sensitivity import Sensitivity, sensitivity_in_stages
from npexplore.study.explaining.whatif import WhatIf, what_if_in_stages
from npexplore.study.explaining.words import NOT_ESTIMATED, gain_text, in_words, value_text

if TYPE_CHECKING:
    import plotly.graph_objects as go

LATENCIES = ("mean", "p50", "p95", "p99")  # of the document
SOLVERS = ("bounds", "queueing", "simulated")
ESTIMATE, ESTIMATE_BUDGET_S = "estimate", 1.0  # the number with an interval that comes first, and the time it may take
FIRST = ("bounds", ESTIMATE, "simulated")  # answers that the first lines tell of
CHAIN, RTL = "chain", "rtl"  # of small machines, and of those with hardware, where they are asked for


@dataclass(frozen=True)
class Assumption:
    """A number that no source states: assumed, fitted to calibration rows, or built into the workload.

    shelf: whether it is the default of a part of the shelf, which the machine's own file does not state.
    """

    kind: str
    name: str
    value: Value | None
    unit: str
    about: str
    source: str
    shelf: bool = False


class Headroom(NamedTuple):
    """ceilings: bit/s (as counted) that each resource alone allows, lowest first; reached: share of the lowest."""

    ceilings: dict[str, float]
    reached: float


class LineRate(NamedTuple):
    """What the wires of the machine allow for these packets, preambles and gaps included: packets/s; share: reached."""

    wire: str
    pps: float
    share: float


def headroom(bound: Prediction, best: Prediction) -> Headroom:
    """Return the ceilings of a bounds answer, and the share of the lowest one that the best answer reaches."""
    bits = bound.throughput_bps / bound.rate_pps
    found = {
        name.removeprefix(CEILING): float(pps) * bits
        for name, pps in bound.about.items()
        if name.startswith(CEILING) and not isinstance(pps, str)
    }
    ceilings = dict(sorted(found.items(), key=lambda item: item[1]))
    return Headroom(ceilings, best.throughput_bps / next(iter(ceilings.values())))


@dataclass(frozen=True, repr=False)
class Explanation(Result):
    """What the solvers predict for one machine and workload. predictions: by solver; refused: why a solver has none.

    Example:
        >>> import npexplore as npx
        >>> answer = npx.explain(npx.design("ixp2400"), npx.workload(mix="amp"), elasticities=False)
        >>> answer.predictions["bounds"].bottleneck
        'dram.bus'
    """

    design: str
    knobs: Mapping[str, Value]
    workload: Workload
    threads: int
    predictions: Mapping[str, Prediction]
    refused: Mapping[str, str]
    sensitivity: Sensitivity | None
    assumptions: tuple[Assumption, ...]
    seed: int
    what_if: WhatIf | None = None
    no_parameters: bool = False
    wire: tuple[str, float] | None = None
    program_changes: tuple[ProgramChange, ...] = ()

    @property
    def line(self) -> LineRate | None:
        """The rate of the wires for these packets, and the share of it that is reached (None: no wires)."""
        return None if self.wire is None else LineRate(*self.wire, self.best.rate_pps / self.wire[1])

    @property
    def solvers(self) -> tuple[str, ...]:
        """The names of all solvers that were asked."""
        asked = {**self.predictions, **self.refused}
        return (*SOLVERS, ESTIMATE, *(one for one in (CHAIN, RTL) if one in asked))

    @property
    def headroom(self) -> Headroom | None:
        """The ceilings of all resources, and how much of the lowest is reached (None if bounds refuse)."""
        bound = self.predictions.get("bounds")
        return None if bound is None else headroom(bound, self.best)

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

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON document of `npexplore explain`; times in nanoseconds, rates as the keys say."""
        best = self.best

        def throughput(name: str) -> float | None:
            return self.predictions[name].throughput_bps if name in self.predictions else None

        changes = self.sensitivity
        document = {
            "throughput_bps": best.throughput_bps,
            "rate_mpps": best.rate_pps / 1e6,
            "counted": best.counted,
            "bottleneck": best.bottleneck,
            **{name: throughput(name) for name in self.solvers if name not in (RTL, ESTIMATE)},
            "utilization": {name: share._asdict() for name, share in best.utilization.items()},
            "latency_ns": _nanoseconds(best),
            "drops": dict(best.drops),
            "sensitivity": None
            if changes is None
            else [{"knob": e.knob, "elasticity": e.elasticity, **asdict(e)} for e in changes.found],
            "assumptions": [asdict(assumption) for assumption in self.assumptions],
            "seed": self.seed,
            "breakdown": {
                name: broken
                for name in self.solvers
                if (broken := _broken(self.predictions.get(name))) is not None or name != ESTIMATE
            },
            "design": self.design,
            "knobs": dict(self.knobs),
            "workload": {
                "name": self.workload.name,
                "packets": len(self.workload.packet_bytes),
                "mean_packet_bytes": self.workload.mean_packet_bytes,
                "mean_frame_bytes": self.workload.mean_frame_bytes,
                "arrivals": self.workload.arrivals,
                "offered_mpps": None if best.offered_pps is None else best.offered_pps / 1e6,
                "note": self.workload.note or None,
                "damage": self.workload.damage,
            },
            "solvers": {name: self.predictions[name].to_dict() for name in self.solvers if name in self.predictions},
            "refused": {name: self.refused.get(name) for name in self.solvers},
            "line_rate": None if self.line is None else self.line._asdict(),
            "line_rate_share": None if self.line is None else self.line.share,
            "headroom": None if self.headroom is None else self.headroom._asdict(),
            "what_if": None if self.what_if is None else [asdict(change) for change in self.what_if.changes],
            "joint": None if self.what_if is None or self.what_if.joint is None else asdict(self.what_if.joint),
            "impossible": None if self.what_if is None else dict(self.what_if.impossible),
            "program_changes": [asdict(change) for change in self.program_changes],
            "knees": None if self.what_if is None else [asdict(found) for found in self.what_if.knees],
            "without_effect": None if changes is None else list(changes.without_effect),
            "not_varied": None if changes is None else dict(changes.not_varied),
            RTL: throughput(RTL),
            ESTIMATE: estimate_document(self.predictions.get(ESTIMATE)),
        }
        return {name: plain(value) for name, value in document.items()}

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each solver: design, knobs that were set, workload, answer or refusal."""
        asked = {"design": self.design, **self.knobs, "workload": self.workload.name}
        answers = [{**asked, "solver": name, "seed": p.seed, **p.record()} for name, p in self.predictions.items()]
        return answers + [{**asked, "solver": name, "refused": reason} for name, reason in self.refused.items()]

    def plot(self) -> go.Figure:
        """Return the picture: ceilings, how busy every resource is, and what single changes would gain."""
        from npexplore.plot.explanation import picture

        return picture(self)

    def __str__(self) -> str:
        return in_words(self)

    __repr__ = __str__
    __hash__ = content_hash

    def _repr_html_(self) -> str:
        solvers = []
        for name, p in self.predictions.items():
            low, high = p.ci95.get("throughput_bps", (0.0, 0.0))
            numbers = [(1e-6 * p.throughput_bps, 5e-7 * (high - low)), (1e-6 * p.rate_pps, 0.0)]
            if p.throughput_bps:
                numbers[1] = (numbers[1][0], numbers[0][1] / numbers[0][0] * numbers[1][0])
            solvers.append((name, *(significant(*one) for one in numbers), p.bottleneck))
        shares = [
            (name, f"{100 * u.busy:.1f} %", f"{100 * u.blocked:.1f} %") for name, u in self.best.utilization.items()
        ]
        parts = [
            (p.resource or "elsewhere", *(significant(1e9 * s) for s in (*p[1:], p.total_s)))
            for p in (() if self.best.breakdown is None else self.best.breakdown.parts)
        ]
        changes = self.sensitivity.found if self.sensitivity is not None else ()
        helps = [(e.knob, f"{e.value:g} {e.unit}", f"{e.elasticity:+.2f}") for e in changes]
        gains = [
            (c.knob, f"{value_text(c.present)} to {value_text(c.value)} {c.unit}", gain_text(c), c.bottleneck)
            for c in (() if self.what_if is None else self.what_if.gains)
        ]
        lines = "".join(f"<p>{escape(line)}</p>" for line in in_words(self).split("\n"))
        return lines + "".join(
            (
                html_table(("solver", f"Mb/s ({self.best.counted})", "Mpps", "bottleneck"), solvers),
                html_table(
                    ("where the time goes", "service ns", "waiting ns", "held by others ns", "in all ns"), parts
                ),
                html_table(("resource", "busy", "blocked"), shares),
                html_table(("parameter", "value", "elasticity: % throughput for 1 % more"), helps),
                html_table(("single change", "", "throughput", "what binds then"), gains),
            )
        )


def explain(
    design: DesignLike,
    workload: WorkloadLike | None = None,
    *,
    seed: int = 1,
    seeds: int = 1,
    packets: int | None = None,
    chain_phases: int | None = None,
    rtl: bool = False,
    elasticities: bool = True,
    changes: bool | None = None,
    knees: bool | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    answered: Callable[[Explanation], None] | None = None,
    first: Callable[[Explanation], None] | None = None,
) -> Explanation:
    """Ask every solver, the estimate first, and how throughput changes with every parameter that the machine reads.

    Args:
        design: the machine, as anything that `npexplore.design` takes.
        workload: the packets, as anything that `npexplore.workload` takes (None: the design's own).
        seed: seed of the first replication of the simulation.
        seeds: number of replications of the simulation; of more than one, or with `packets`, no estimate is made.
        packets: simulated packets for each replication (None: as Design.simulate chooses).
        chain_phases: also ask the machine's Markov chain, with constant times as Erlang times of so many phases (None:
            do not). A machine without states, or with too many, is in `refused`.
        rtl: also measure the rate of the design's generated hardware; a design that has none is in `refused`.
        elasticities: also compute the change with each parameter, which is the slow part.
        changes: also compute the gain of every single change (None: as `elasticities`).
        knees: also compute where the knobs' curves bend (None: as `changes`).
        executor: a `concurrent.futures` executor that runs the simulations (None: threads).
        workers: the number of threads (None: one for each usable core).
        progress: called with (points done, points in all).
        answered: called with the explanation so far after each solver's answer: bounds, estimate, simulation, the rest.
        first: called with the explanation as soon as its first lines are known. Simulations that follow can still
            change those lines where bounds and queueing name the wrong largest elasticity.

    Raises:
        InputError: an impossible design or workload. What a single solver refuses is in `refused` instead.

    Example:
        >>> import npexplore as npx
        >>> found = npx.explain(npx.design("ixp2400"), npx.workload(packet_bytes=64), packets=500, elasticities=False)
        >>> found.predictions["queueing"].bottleneck
        'hash'
    """
    design = design_of(design)
    workload = design.packets(workload)
    load = design.workload(workload)
    machine = design.machine(workload)
    predictions: dict[str, Prediction] = {}
    refused: dict[str, str] = {}
    questions: dict[str, Callable[[], Prediction]] = {
        "bounds": lambda: design.bounds(workload),
        ESTIMATE: lambda: design.estimate(workload, budget=ESTIMATE_BUDGET_S, seed=seed),
        "simulated": lambda: design.simulate(workload, seed, seeds=seeds, packets=packets),
        "queueing": lambda: design.queueing(workload),
    }
    if chain_phases is not None:
        questions[CHAIN] = lambda: design.chain(workload, chain_phases)
    if rtl:
        questions[RTL] = lambda: design.rtl(workload)
    if packets is not None or seeds > 1:
        del questions[ESTIMATE]
        refused[ESTIMATE] = NOT_ESTIMATED
    shown = (*SOLVERS, ESTIMATE, *(name for name in questions if name not in (*SOLVERS, ESTIMATE)))

    def so_far() -> Explanation:
        return Explanation(
            design.name, design.parameters.changed(), load, machine.threads,
            {name: predictions[name] for name in shown if name in predictions},
            {name: refused[name] for name in shown if name in refused}, None, assumptions(design, workload), seed,
            no_parameters=not len(design.parameters), wire=line_rate(machine, ceilings_of(predictions.get("bounds"))),
        )  # fmt: skip

    changes = elasticities if changes is None else changes

    def answer(*names: str) -> None:
        for name in names:
            try:
                predictions[name] = questions[name]()
            except (RefusedError, SimulationError) as error:
                refused[name] = str(error)
            if answered is not None and predictions:
                answered(so_far())

    later = [name for name in questions if name not in FIRST] if changes and first is None else []
    answer(*(name for name in questions if name not in later))
    rest = Background(lambda: answer(*later))  # beside the changes, whose workers leave this process idle
    if not predictions:
        rest.end()
    if not predictions:
        raise ModelError(f"{design.name}: no solver has an answer: " + "; ".join(refused.values()))
    asked: dict[str, Any] = {"seed": seed, "executor": executor, "workers": workers, "begun": rest.begin}
    counts = _Counts(progress)
    found: Iterator[Sensitivity] = iter(())
    tried: Iterator[WhatIf] = iter(())
    if elasticities:
        found = sensitivity_in_stages(design, workload, **asked, progress=counts.of("elasticities"))
    if changes:
        bends = changes if knees is None else knees
        asked |= {"early": first is not None, "knees": bends}
        tried = what_if_in_stages(design, workload, **asked, progress=counts.of("changes"))
    elastic, gains = None, None
    if first is not None:
        elastic, gains = next(found, None), next(tried, None)
        first(replace(so_far(), sensitivity=elastic, what_if=gains))
    elastic, gains = [elastic, *found][-1], [gains, *tried][-1]
    rest.end()
    others = design.program.changes(design) if changes and design.program is not None else ()
    return replace(so_far(), sensitivity=elastic, what_if=gains, program_changes=others)


class _Counts:
    """Points done, and points in all, of several studies together."""

    def __init__(self, progress: Callable[[int, int], None] | None) -> None:
        self.progress, self.counts = progress, dict[str, tuple[int, int]]()

    def of(self, study: str) -> Callable[[int, int], None]:
        """Return the progress callback of one study."""

        def count(done: int, total: int) -> None:
            self.counts[study] = done, total
            if self.progress is not None:
                self.progress(*map(sum, zip(*self.counts.values(), strict=True)))

        return count


def assumptions(design: Design, workload: Workload | None = None) -> tuple[Assumption, ...]:
    """Return the numbers without a source that the answers depend on, in the machine file's order."""
    read, load = design.depends_on(workload), design.workload(workload)
    found = [
        Assumption(
            p.kind, name, design.parameters[name], p.unit, p.about, p.source, from_shelf(design.parameters.file, name)
        )
        for name, p in design.parameters.file.parameter.items()
        if name in read and p.kind in ("assumption", "fitted") and name not in design.parameters.changed()
    ]
    if load.assumption:
        found.append(Assumption("workload", load.name, None, "", load.assumption, load.note))
    return tuple(found)


def _nanoseconds(p: Prediction) -> dict[str, float | None]:
    told = {name: getattr(p.latency_s, name) for name in LATENCIES}
    return {name: None if seconds is None else seconds * 1e9 for name, seconds in told.items()}


def _broken(p: Prediction | None) -> dict[str, object] | None:
    return None if p is None or p.breakdown is None else p.breakdown.to_dict()
