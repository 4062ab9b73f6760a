"""Explains a machine's performance with a workload: three solvers' answers, bottleneck, headroom, helpful changes.

npx.design("ixp2400").with_(scheme="fcb_tb").explain(npx.workload(mix="amp"))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from html import escape
from typing import Any, Literal

from npexplore.designs import Design, DesignLike
from npexplore.designs import design as design_of
from npexplore.display import html_table, significant
from npexplore.errors import ModelError, RefusedError, SimulationError
from npexplore.machine.described.part_parameters import from_shelf
from npexplore.machine.line_rates import line_rate
from npexplore.machine.workload import Workload
from npexplore.machine.workload_sources import WorkloadLike
from npexplore.records import content_hash
from npexplore.results import plain
from npexplore.solve.estimate.document import document as estimate_document
from npexplore.solve.prediction import Prediction
from npexplore.solve.solver_answers import CHAIN, ESTIMATE, RTL, SOLVERS
from npexplore.study.explaining.background import Background
from npexplore.study.explaining.findings import Assumption, Findings
from npexplore.study.explaining.joint import ceilings_of
from npexplore.study.explaining.sensitivity import Sensitivity, sensitivity_in_stages
from npexplore.study.explaining.whatif import WhatIf, what_if_in_stages
from npexplore.study.explaining.words import NOT_ESTIMATED, gain_text, in_words, value_text
from npexplore.study.sweeping.answers import ESTIMATE_BUDGET_S

LATENCIES = ("mean", "p50", "p95", "p99")  # latency statistics in the JSON document
FIRST = ("bounds", ESTIMATE, "simulated")  # solvers whose answers the first lines use


@dataclass(frozen=True, repr=False)
class Explanation(Findings):
    """The solvers' predictions for one machine and workload, their reasons, and the gains of single and joint changes.

    Example:
        >>> import npexplore as npx
        >>> answer = npx.explain(npx.design("ixp2400"), npx.workload(mix="amp"), elasticities=False)
        >>> answer.predictions["bounds"].bottleneck
        'dram.bus'
    """

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
            "knees": None if self.what_if is None else [asdict(knee) for knee in self.what_if.knees],
            "without_effect": None if changes is None else list(changes.without_effect),
            "not_varied": None if changes is None else dict(changes.not_varied),
            RTL: throughput(RTL),
            ESTIMATE: estimate_document(self.predictions.get(ESTIMATE)),
        }
        return {name: plain(value) for name, value in document.items()}

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
            solvers.append((name, *(significant(*number) for number in numbers), p.bottleneck))
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


def _questions(
    design: Design, workload: Workload | None, seed: int, seeds: int, packets: int | None, chain_phases: int | None,
    rtl: bool,
) -> dict[str, Callable[[], Prediction]]:  # fmt: skip
    """Return a function for each solver that computes its answer; no estimate if `packets` or `seeds` are chosen."""
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
    return questions


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
    changes: bool | Literal["best"] | None = None,
    knees: bool | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    answered: Callable[[Explanation], None] | None = None,
    first: Callable[[Explanation], None] | None = None,
) -> Explanation:
    """Return every solver's answer, and how throughput changes with every parameter that the machine reads.

    Args:
        design: the machine, as anything that `npexplore.design` takes.
        workload: the packets, as anything that `npexplore.workload` takes (None: the design's own).
        seed: seed of the first replication of the simulation.
        seeds: number of replications of the simulation; with more than one, or with `packets`, there is no estimate.
        packets: simulated packets of each replication (None: Design.simulate chooses).
        chain_phases: also solve the machine's Markov chain, constant times as Erlang times of this many phases (None:
            no chain). `refused` has the reason if the machine has no such chain or too many states.
        rtl: also measure the rate of the design's generated hardware; `refused` has the reason if there is none.
        elasticities: also compute the change of throughput with each parameter, which is the slow part.
        changes: also compute the gain of every single change (None: as `elasticities`); "best": only of changes that
            can gain by their bounds. The others are in `what_if.cannot_gain`.
        knees: also compute where the knobs' curves bend (None: as `changes`).
        executor: a `concurrent.futures` executor that runs the simulations (None: threads).
        workers: the number of threads (None: one for each usable core).
        progress: called with (points done, total points).
        answered: called with the partial explanation after each answer: bounds, estimate, simulation, the rest.
        first: called with the explanation as soon as its first lines are known. Later simulations can still change
            these lines where bounds and queueing disagree with them about the largest elasticity.

    Raises:
        InputError: an impossible design or workload. A refusal of a single solver is in `refused` instead.

    Example:
        >>> import npexplore as npx
        >>> found = npx.explain(npx.design("ixp2400"), npx.workload(packet_bytes=64), packets=500, elasticities=False)
        >>> found.predictions["queueing"].bottleneck
        'dram.bus'
    """
    design = design_of(design)
    workload = design.packets(workload)
    load = design.workload(workload)
    machine = design.machine(workload)
    predictions: dict[str, Prediction] = {}
    questions = _questions(design, workload, seed, seeds, packets, chain_phases, rtl)
    refused = {} if ESTIMATE in questions else {ESTIMATE: NOT_ESTIMATED}
    order = (*SOLVERS, ESTIMATE, *(name for name in questions if name not in (*SOLVERS, ESTIMATE)))

    def so_far() -> Explanation:
        return Explanation(
            design.name, design.parameters.changed(), load, machine.threads,
            {name: predictions[name] for name in order if name in predictions},
            {name: refused[name] for name in order if name in refused}, seed,
            line_rate(machine, ceilings_of(predictions.get("bounds"))),
            assumptions(design, workload), no_parameters=not len(design.parameters),
        )  # fmt: skip

    if changes is None:
        changes = elasticities

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
    rest = Background(lambda: answer(*later))  # runs while workers simulate changes and this process is idle
    if not predictions:
        rest.end()
    if not predictions:
        raise ModelError(f"{design.name}: no solver has an answer: " + "; ".join(refused.values()))
    options: dict[str, Any] = {"seed": seed, "executor": executor, "workers": workers, "begun": rest.begin}
    counts = _Counts(progress)
    elasticity_stages: Iterator[Sensitivity] = iter(())
    what_if_stages: Iterator[WhatIf] = iter(())
    if elasticities:
        elasticity_stages = sensitivity_in_stages(design, workload, **options, progress=counts.of("elasticities"))
    if changes:
        find_knees = changes != "best" if knees is None else knees
        options |= {"early": first is not None, "knees": find_knees, "best": changes == "best" and not find_knees}
        options["estimated"] = predictions.get(ESTIMATE)
        what_if_stages = what_if_in_stages(design, workload, **options, progress=counts.of("changes"))
    elastic, gains = None, None
    if first is not None:
        elastic, gains = next(elasticity_stages, None), next(what_if_stages, None)
        first(replace(so_far(), sensitivity=elastic, what_if=gains))
    elastic, gains = [elastic, *elasticity_stages][-1], [gains, *what_if_stages][-1]
    rest.end()
    program_changes = design.program.changes(design) if changes and design.program is not None else ()
    return replace(so_far(), sensitivity=elastic, what_if=gains, program_changes=program_changes)


class _Counts:
    """Adds up the points done and the total points of several studies for one progress callback."""

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
    """Return the assumed and fitted numbers that the answers depend on, in the order of the machine file."""
    names_read, load = design.depends_on(workload), design.workload(workload)
    numbers = [
        Assumption(
            p.kind, name, design.parameters[name], p.unit, p.about, p.source, from_shelf(design.parameters.file, name)
        )
        for name, p in design.parameters.file.parameter.items()
        if name in names_read and p.kind in ("assumption", "fitted") and name not in design.parameters.changed()
    ]
    if load.assumption:
        numbers.append(Assumption("workload", load.name, None, "", load.assumption, load.note))
    return tuple(numbers)


def _nanoseconds(p: Prediction) -> dict[str, float | None]:
    latency_s = {name: getattr(p.latency_s, name) for name in LATENCIES}
    return {name: None if seconds is None else seconds * 1e9 for name, seconds in latency_s.items()}


def _broken(p: Prediction | None) -> dict[str, object] | None:
    return None if p is None or p.breakdown is None else p.breakdown.to_dict()
