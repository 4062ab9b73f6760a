"""Computes the answers of sweep points, in parallel on any executor of concurrent.futures (sweeping/executors.py).

The answer of a point depends only on the point, not on the executor, the number of workers, or earlier points.
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
ESTIMATE_BUDGET_S = 1.0  # for the estimate of a point and of an explanation
T = TypeVar("T")
Ended = list[tuple[int, Answer]]  # (number of the point, answer)


def predict(point: SweepPoint, packets: int = PACKETS, warm_up: int | None = None, line: bool = True) -> Prediction:
    """Return one point's prediction with its recorded inputs; raises NpexploreError if there is no prediction.

    point: design, workload, solver, seed. packets: measured packets of a simulation. warm_up: packets before them
    (None: Design.simulate chooses). A capture with its own times is measured whole. line: whether a simulation also
    returns the line rate.
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
            # the mean latency alone, as in a batch
            prediction = replace(prediction, latency_s=Latency(prediction.latency_s.mean))
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
    """Return one point's prediction, or a refusal with the reason.

    point, packets, warm_up, line: as in `predict`.
    """
    try:
        return predict(point, packets, warm_up, line)
    except NpexploreError as error:
        return Refusal(str(error))


def answer_all(
    points: Sequence[SweepPoint], packets: int, warm_up: int | None = None, line: bool = True
) -> list[Answer]:
    """Return the answers of one task; a function of the module, so that other processes can import it.

    points: the points of the task. packets, warm_up, line: as in `predict`.
    """
    reads: dict[int, Reads] = {}
    answers, batches = solved(points, packets, reads, warm_up, line)
    for numbers, batch in batches:
        answers.update({k: replace(batch.prediction(position), reads=reads[k]) for position, k in enumerate(numbers)})
    return [answers[k] for k in range(len(points))]


@uncollected()
def solved(
    points: Sequence[SweepPoint], packets: int, reads: dict[int, Reads] | None = None, warm_up: int | None = None,
    line: bool = True,
) -> tuple[dict[int, Answer], list[tuple[list[int], Answers]]]:  # fmt: skip
    """Return the answers of a task's single points by point number, and (point numbers, answers) of each batch.

    Analytic points of equal structure form a batch, which needs few calls of kernels (solve/batch.py). reads: filled
    with the recorded inputs of each point in a batch.
    """
    points = own_points(points)
    answers: dict[int, Answer] = {}
    batches: list[tuple[list[int], Answers]] = []
    analytic: dict[str, list[tuple[int, UnderLoad]]] = {}
    shared_demands: dict[Hashable, tuple[UnderLoad, Reads]] = {}
    for number, point in enumerate(points):
        if point.solver not in BATCHED:
            answers[number] = answer(point, packets, warm_up, line)
            continue
        try:
            with reading() as point_reads:
                analytic.setdefault(point.solver, []).append((number, _under_load(point, shared_demands)))
            if reads is not None:
                reads[number] = point_reads
        except NpexploreError as error:
            answers[number] = Refusal(str(error))
    for solver, members in analytic.items():
        for numbers, batch in grouped([demands for _, demands in members], apart=APART.get(solver)):
            point_numbers = [members[k][0] for k in numbers]
            try:
                batches.append((point_numbers, BATCHED[solver](batch)))
            except NpexploreError:  # one point has no answer: answer each point alone
                answers.update({k: answer(points[k], packets) for k in point_numbers})
    return answers, batches


def own_points(points: Sequence[SweepPoint]) -> list[SweepPoint]:
    """Return points with copies of their designs, so that values cached in the designs are freed with the task."""
    designs = {id(point.design): point.design for point in points}
    copies = {key: replace(design, parameters=design.parameters.with_()) for key, design in designs.items()}
    return [point._replace(design=copies[id(point.design)]) for point in points]


def _under_load(point: SweepPoint, known: dict[Hashable, tuple[UnderLoad, Reads]]) -> UnderLoad:
    """Return a point's demands; points with the same machine and packets share them, whatever their rates."""
    design, workload = point.design, point.workload
    values = tuple(design.parameters.changed().items())
    packets = None if workload is None else (workload.arrivals, workload.bursts, workload.packets_key)
    machine_and_packets = (design.name, id(design.parameters.file), id(design.build), values, packets)
    earlier = known.get(machine_and_packets)
    if earlier is not None and design.dress is None and design.own is None:
        assert workload is not None
        note_all(earlier[1])
        return replace(earlier[0], workload=workload)
    key = demands_key(design, workload)
    with reading() as point_reads:
        load = design.workload(workload)
        cached = kept_demands(key)
        with reading() as of_demands:  # inputs of the demands, without those of the packets
            machine = design.machine(workload) if cached is None else cached[0].machine
            if point.solver == "queueing":
                check_arrivals(machine, load)
            demands = under_load(machine, load) if cached is None else replace(cached[0], workload=load)
            note_all({} if cached is None else cached[1])
    if cached is None:
        keep_demands(key, demands, of_demands)
    known[machine_and_packets] = demands, point_reads
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
    """Answer all points, and pass the answers of each finished task to a function.

    points: the points to answer. ended: called with the numbers of a task's points and their answers. executor: a
    concurrent.futures executor or its name (None: threads). workers: the number of workers (None: one for each core).
    packets, warm_up: as in `predict`. begun: as in `run_tasks`.

    Raises BrokenExecutor if a worker died, KeyboardInterrupt after Ctrl-C; answers finished by then were passed on.
    """

    def keep(numbers: list[int], answers: list[Answer]) -> None:
        ended(list(zip(numbers, answers, strict=True)))

    task = partial(answer_all, packets=packets, warm_up=warm_up)
    run_tasks(points, task, keep, takes_long=takes_long, executor=executor, workers=workers, begun=begun)


def takes_long(point: SweepPoint) -> bool:
    """Return whether a point is simulated or estimated alone, not in a batch: see `run_tasks`."""
    return point.solver not in BATCHED
