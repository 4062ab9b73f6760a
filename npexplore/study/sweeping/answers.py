"""Answers to sweep points, computed in parallel on any executor of concurrent.futures (study/sweeping/executors.py).

The answer to a point depends on the point alone: not on the executor, the number of workers, or what ran before.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeVar

from npexplore.designs.prepared import demands_key, keep_demands, kept_demands, prepared, uncollected
from npexplore.errors import NpexploreError, one_of
from npexplore.machine.under_load import UnderLoad, under_load
from npexplore.reads import Reads, note_all, reading
from npexplore.solve.batch import Batch, grouped
from npexplore.solve.batch_answers import Answers
from npexplore.solve.bounds import bounds_of
from npexplore.solve.prediction import Latency, Prediction
from npexplore.solve.queueing_model import queueing_of, told_by
from npexplore.solve.simulate import PACKETS, simulate
from npexplore.solve.validity import check_arrivals
from npexplore.study.sweeping.executors import (
    Wanted,
    pool,
    usable_cores,
)
from npexplore.study.sweeping.grid import ASKABLE, SweepPoint
from npexplore.study.sweeping.tasks import run_tasks

__all__ = ["Answer", "Refusal", "answer", "answer_all", "answer_points", "pool", "predict", "run_tasks", "usable_cores"]


class Refusal(NamedTuple):
    """Why a point has no answer: an impossible machine, a solver's limit, a run without progress."""

    reason: str


Answer = Prediction | Refusal
BATCHED: dict[str, Callable[[Batch], Answers]] = {"bounds": bounds_of, "queueing": queueing_of}
APART: dict[str, Callable[[UnderLoad], bool | None]] = {"queueing": told_by}
ESTIMATE_BUDGET_S = 1.0  # of a point, and of the first number of an explanation
T = TypeVar("T")
Ended = list[tuple[int, Answer]]  # number of the point, answer


def predict(point: SweepPoint, packets: int = PACKETS, warm_up: int | None = None, line: bool = True) -> Prediction:
    """Return one point's prediction and what was read for it; raises NpexploreError if there is no prediction.

    point: design, workload, solver, seed. packets: that a simulation measures. warm_up: packets before them (None: as
    Design.simulate chooses). Of a capture with its own times all packets are measured. line: of a simulation, with what
    the wires allow.
    """
    design, workload, solver, seed = point
    measured: int | None = packets
    if workload is not None and workload.arrivals == "timestamps":
        measured = warm_up = None
    with reading() as reads:
        if one_of("solver", solver, ASKABLE) == "bounds":
            prediction = design.bounds(workload)
        elif solver == "queueing":
            prediction = design.queueing(workload)
            prediction = replace(prediction, latency_s=Latency(prediction.latency_s.mean))  # as of many points together
        elif solver == "estimate":
            prediction = design.estimate(workload, budget=ESTIMATE_BUDGET_S, seed=1 if seed is None else seed)
        elif solver == "rtl":
            prediction = design.rtl(workload)
        else:
            number = 1 if seed is None else seed
            if design.by_engine:
                ready = prepared(design, design.packets(workload))

                def run() -> Prediction:
                    return simulate(
                        ready.machine, ready.workload, seed=number, packets=measured, warm_up=warm_up,
                        model=ready.model(), line=line,
                    )  # fmt: skip

                prediction = ready.alike((measured, warm_up, line), run)
            else:
                prediction = design.simulate(workload, number, packets=measured, warm_up=warm_up, breakdown=False)
    return replace(prediction, reads=reads, breakdown=None)


def answer(point: SweepPoint, packets: int = PACKETS, warm_up: int | None = None, line: bool = True) -> Answer:
    """Return one point's prediction, or why there is none.

    point, packets, warm_up, line: as in `predict`.
    """
    try:
        return predict(point, packets, warm_up, line)
    except NpexploreError as error:
        return Refusal(str(error))


def answer_all(
    points: Sequence[SweepPoint], packets: int, warm_up: int | None = None, line: bool = True
) -> list[Answer]:
    """Return the answers of one task (a function of the module, so that other processes find it).

    points: of the task. packets, warm_up, line: as in `predict`.
    """
    reads: dict[int, Reads] = {}
    answers, batches = solved(points, packets, reads, warm_up, line)
    for numbers, batch in batches:
        answers.update({k: replace(batch.prediction(at), reads=reads[k]) for at, k in enumerate(numbers)})
    return [answers[k] for k in range(len(points))]


@uncollected()
def solved(
    points: Sequence[SweepPoint], packets: int, reads: dict[int, Reads] | None = None, warm_up: int | None = None,
    line: bool = True,
) -> tuple[dict[int, Answer], list[tuple[list[int], Answers]]]:  # fmt: skip
    """Return the answers of one task by number of the point, and those that were found together.

    Analytic points of one structure are answered together, by few calls of kernels (solve/batch.py). reads: is given
    what was read for each of these.
    """
    points = own_points(points)
    answers: dict[int, Answer] = {}
    batches: list[tuple[list[int], Answers]] = []
    analytic: dict[str, list[tuple[int, UnderLoad]]] = {}
    known: dict[Hashable, tuple[UnderLoad, Reads]] = {}
    for number, point in enumerate(points):
        if point.solver not in BATCHED:
            answers[number] = answer(point, packets, warm_up, line)
            continue
        try:
            with reading() as seen:
                analytic.setdefault(point.solver, []).append((number, _under_load(point, known)))
            if reads is not None:
                reads[number] = seen
        except NpexploreError as error:
            answers[number] = Refusal(str(error))
    for solver, members in analytic.items():
        for numbers, batch in grouped([demands for _, demands in members], apart=APART.get(solver)):
            point_numbers = [members[k][0] for k in numbers]
            try:
                batches.append((point_numbers, BATCHED[solver](batch)))
            except NpexploreError:  # of one of them: each alone
                answers.update({k: answer(points[k], packets) for k in point_numbers})
    return answers, batches


def own_points(points: Sequence[SweepPoint]) -> list[SweepPoint]:
    """Return points with designs of their own: what is noted in these goes with the task, not with the whole sweep."""
    designs = {id(point.design): point.design for point in points}
    own = {key: replace(design, parameters=design.parameters.with_()) for key, design in designs.items()}
    return [point._replace(design=own[id(point.design)]) for point in points]


def _under_load(point: SweepPoint, known: dict[Hashable, tuple[UnderLoad, Reads]]) -> UnderLoad:
    """Return a point's demands; those of the same machine and packets, whatever their rate, are taken once."""
    design, workload = point.design, point.workload
    values = tuple(design.parameters.changed().items())
    packets = None if workload is None else (workload.arrivals, workload.bursts, workload.packets_key)
    machine_and_packets = (design.name, id(design.parameters.file), id(design.build), values, packets)
    before = known.get(machine_and_packets)
    if before is not None and design.dress is None and design.own is None:
        assert workload is not None
        note_all(before[1])
        return replace(before[0], workload=workload)
    key = demands_key(design, workload)
    with reading() as seen:
        load = design.workload(workload)
        cached = kept_demands(key)
        with reading() as of_demands:  # not of these packets: other machines share the programs
            machine = design.machine(workload) if cached is None else cached[0].machine
            if point.solver == "queueing":
                check_arrivals(machine, load)
            demands = under_load(machine, load) if cached is None else replace(cached[0], workload=load)
            note_all({} if cached is None else cached[1])
    if cached is None:
        keep_demands(key, demands, of_demands)
    known[machine_and_packets] = demands, seen
    return demands


def answer_points(
    points: Sequence[SweepPoint],
    ended: Callable[[Ended], None],
    *,
    executor: Wanted = None,
    workers: int | None = None,
    packets: int = PACKETS,
    warm_up: int | None = None,
    begun: Callable[[], None] = lambda: None,
) -> None:
    """Answer all points, and hand the answers to a function task by task, as they finish.

    points: what is asked. ended: called with the numbers of a task's points and their answers. executor: a
    concurrent.futures executor or its name (None: threads). workers: how many at once (None: as many as cores).
    packets, warm_up: as in `predict`. begun: as in `run_tasks`.

    Raises BrokenExecutor if a worker died, KeyboardInterrupt after Ctrl-C; what was finished by then was handed over.
    """

    def keep(numbers: list[int], answers: list[Answer]) -> None:
        ended(list(zip(numbers, answers, strict=True)))

    task = partial(answer_all, packets=packets, warm_up=warm_up)
    run_tasks(points, task, keep, takes_long=takes_long, executor=executor, workers=workers, begun=begun)


def takes_long(point: SweepPoint) -> bool:
    """Return whether a point is answered by a run of its own, and not among many points: see `run_tasks`."""
    return point.solver not in BATCHED
