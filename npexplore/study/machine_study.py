"""Runs the standard study of one machine: highest rates, bottleneck, latency under load, helpful changes, cost.

    workloads   Ethernet frames of 64 bytes, the IMIX of Ethernet testers, and the user's capture if there is one
    subject     the workload of the questions on latency, changes and cost: the capture, else the 64-byte frames
    front       the priced knobs at half, present and double value, knobs with the largest gain first

Every answer comes from another study (`explain`, `load_curve`, `optimise`); nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf, prod
from time import perf_counter
from typing import Any

from npexplore.designs import Design, DesignLike
from npexplore.designs import design as design_of
from npexplore.errors import InputError, ModelError, NpexploreError
from npexplore.machine.workload import Workload
from npexplore.machine.workload_sources import WorkloadLike, as_workload, workload
from npexplore.records import content_hash
from npexplore.results import Result, plain
from npexplore.study.explaining.candidates import changes_to_try
from npexplore.study.explaining.explain import Explanation, explain
from npexplore.study.explaining.joint import ties
from npexplore.study.explaining.whatif import WhatIf, what_if_in_stages
from npexplore.study.loading.curve import LoadCurve, load_curve
from npexplore.study.optimising.optimise import optimise
from npexplore.study.optimising.optimum import Optimum
from npexplore.study.optimising.prices import PriceFile

FRAME_BYTES, MIX = 64, "imix_ethernet"
LOADS = ("10%", "50%", "90%")  # offered loads as shares of the highest rate
MAX_FRONT_KNOBS, ESTIMATE_S = 3, 1.0  # three knobs with three values each take 27 estimates of one second
BUDGET_S = 60.0  # default time budget of a study
CHANGES_SHARE = 0.6  # share of the budget after which no further changes are tried
HELP, LATENCY = "what would help", "latency under load"
OVER = "the time of {:g} s for this study is over: {}"


@dataclass(frozen=True, repr=False)
class MachineStudy(Result):
    """The answers of a standard study. explanations: one for each workload, the subject's last.

    load: the subject's load curve; front: None without prices; refused: by question, why it has no answer.

    Example:
        >>> from npexplore.study import study_machine
        >>> answer = study_machine("smartnic", workloads=[64], changes=False)
        >>> answer.design, [one.workload.name for one in answer.explanations], len(answer.load.best)
        ('smartnic', ['64 bytes'], 3)
    """

    design: str
    explanations: tuple[Explanation, ...]
    load: LoadCurve | None
    front: Optimum | None
    refused: Mapping[str, str] = field(default_factory=dict)

    __hash__ = content_hash

    @property
    def subject(self) -> Explanation:
        """The explanation of the workload that the other questions use."""
        return self.explanations[-1]

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each workload, as `rate_row` makes it."""
        return [rate_row(explanation) for explanation in self.explanations]

    def heading(self) -> str:
        """Return the title of the table."""
        return f"{self.design}: highest rates"

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON document of `npexplore study`."""
        document = {
            "design": self.design, "rates": self.records(),
            "explanations": [explanation.to_dict() for explanation in self.explanations],
            "load": None if self.load is None else self.load.to_dict(),
            "front": None if self.front is None else self.front.to_dict(),
            "refused": dict(self.refused),
        }  # fmt: skip
        return {name: plain(value) for name, value in document.items()}


def rate_row(e: Explanation) -> dict[str, Any]:
    """Return the highest rate with a workload: Mpps, Mb/s and the bits counted, share of line rate, bottlenecks."""
    best, line = e.best, e.line
    low, high = best.ci95.get("throughput_bps", (0.0, 0.0))
    return {
        "workload": e.workload.name,
        "Mpps": best.rate_pps / 1e6,
        "+- %": 50 * (high - low) / best.throughput_bps if best.throughput_bps else None,
        "Mb/s": best.throughput_bps / 1e6,
        "counted": best.counted,
        "line rate Mpps": None if line is None else line.pps / 1e6,
        "% of line rate": None if line is None else 100 * line.share,
        "binds": " and ".join(ties(best, e.predictions.get("bounds"))),
        "by": best.solver,
    }


def usual_workloads(design: Design, capture: Workload | None = None) -> list[Workload | None]:
    """Return the workloads of a study, the subject last; a design with its own packets has no other workload."""
    if design.own is not None:
        return [capture]
    frames, mix = workload(frame_bytes=FRAME_BYTES), workload(mix=MIX)
    return [mix, frames] if capture is None else [frames, mix, capture]


def _left_s(budget_s: float | None, began: float) -> float:
    """Return the remaining seconds of a budget (None: infinity)."""
    return inf if budget_s is None else budget_s - (perf_counter() - began)


def study_machine(
    design: DesignLike,
    workloads: Sequence[WorkloadLike | None] = (),
    *,
    prices: Sequence[PriceFile] = (),
    seed: int = 1,
    changes: bool = True,
    budget_s: float | None = BUDGET_S,
    workers: int | None = None,
    answered: Callable[[Explanation], None] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> MachineStudy:
    """Return the standard study of a machine.

    design: the machine. workloads: the packets, the subject last (none: `usual_workloads`). prices: the user's own
    costs; without prices there is no front. seed: seed of all runs. changes: also try single changes. budget_s: seconds
    after which no further question is started (None: no limit); skipped questions are in `refused`. workers: number of
    threads or processes. answered: called with each workload's explanation. progress: called with (question, points
    done, all points). Raises InputError; a question without an answer is in `refused` instead.
    """
    design = design_of(design)
    loads = [None if load is None else as_workload(load) for load in workloads] or usual_workloads(design)
    left_s = partial(_left_s, budget_s, perf_counter())

    def points_of(question: str) -> Callable[[int, int], None]:
        return lambda done, total: progress(question, done, total) if progress is not None else None

    explanations: list[Explanation] = []
    for load in loads:
        explanations.append(explain(design, load, seed=seed, elasticities=False, changes=False, workers=workers))
        if answered is not None:
            answered(explanations[-1])
    refused: dict[str, str] = {}
    tried: WhatIf | None = None
    if changes and left_s() > 0:
        stages = what_if_in_stages(
            design, loads[-1], seed=seed, knees=False, workers=workers, progress=points_of(HELP)
        )  # fmt: skip
        tried = next(stages)
        if left_s() < (1 - CHANGES_SHARE) * (budget_s or inf):
            refused[HELP] = OVER.format(budget_s, "the changes that queueing finds best are tried, others are not")
        else:
            tried = [tried, *stages][-1]
        explanations[-1] = replace(explanations[-1], what_if=tried)
    elif changes:
        refused[HELP] = OVER.format(budget_s, "no change is tried")
    curve: LoadCurve | None = None
    best: Optimum | None = None
    if left_s() > 0:
        try:
            curve = load_curve(design, loads[-1], rates=LOADS, workers=workers, progress=points_of(LATENCY))
        except NpexploreError as error:
            refused[LATENCY] = str(error)
    else:
        refused[LATENCY] = OVER.format(budget_s, "no load is tried")
    if prices and left_s() <= 0:
        refused["front"] = OVER.format(budget_s, "no point is tried")
    elif prices:
        try:
            knobs = front_knobs(design, loads[-1], prices, tried or WhatIf(), left_s())
            best = optimise(
                design, loads[-1], knobs=knobs, prices=prices, seed=seed, workers=workers,
                progress=None if progress is None else lambda _, done: progress("front", done, 0),
            )  # fmt: skip
        except (InputError, ModelError) as error:
            refused["front"] = str(error)
    return MachineStudy(design.name, tuple(explanations), curve, best, refused)


def front_knobs(
    design: Design, load: Workload | None, prices: Sequence[PriceFile], tried: WhatIf, left_s: float = inf
) -> dict[str, list[Any]]:
    """Return up to MAX_FRONT_KNOBS priced knobs with their values, knobs with the largest gain first.

    left_s: time in s for the estimates of all combinations, one second each.
    Raises InputError if the prices charge no number that can be changed.
    """
    priced = {name for file in prices for name in file.per}
    values: dict[str, list[Any]] = {}
    for name, value in changes_to_try(design, load):
        present = design.parameters[name]
        if name not in priced or isinstance(present, str) or isinstance(value, str):
            continue
        if present / 2 <= value <= present * 2:
            values.setdefault(name, [present]).append(value)
    if not values:
        raise InputError(f"the prices charge no knob of {design.name} that can be changed: {', '.join(sorted(priced))}")
    gains = [change.knob for change in tried.changes]
    order = sorted(values, key=lambda name: gains.index(name) if name in gains else len(gains))
    knobs: dict[str, list[Any]] = {}
    for name in order[:MAX_FRONT_KNOBS]:
        wider = {**knobs, name: sorted(set(values[name]))}
        if not knobs or prod(map(len, wider.values())) * ESTIMATE_S <= left_s:
            knobs = wider
    return knobs
