"""Answers to sweep points, computed in parallel on any executor of concurrent.futures (study/sweeping/executors.py).

The answer to a point depends on the point alone: not on the executor, the number of workers, or what ran before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Hashable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

from npexplore import signals
from npexplore.designs.prepared import demands_key, keep_demands, kept_demands, prepared
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
    Forked,
    Wanted,
    can_fork,
    check_sendable,
    gone,
    inherited,
    lost,
    pool,
    slots,
    usable_cores,
)
from npexplore.study.sweeping.grid import ASKABLE, SweepPoint

__all__ = ["Answer", "Refusal", "answer", "answer_all", "answer_points", "pool", "predict", "run_tasks", "usable_cores"]

ANALYTIC = 32  # analytic points in the first task; later ones take about ANALYTIC_S
MAX_TASK_POINTS = 4096
ANALYTIC_S = 0.5
SIMULATED_S = 0.25  # simulations begin alone, later ones take about this: to hand a task to a cluster takes 10 ms
EVEN = 4  # of the simulations left, each worker's share is cut into so many tasks, so that all end together
AHEAD = 4  # tasks handed to the executor for each that runs, so that a stopped sweep has little to cancel
SILENCE_S = 5.0  # without an answer before it is looked whether a cluster is still there
LOOK_S = 0.2  # between two looks at whether somebody wants to stop, and whether rows wait for their commit


class Refusal(NamedTuple):
    """Why a point has no answer: an impossible machine, a solver's limit, a run without progress."""

    reason: str


Answer = Prediction | Refusal
BATCHED: dict[str, Callable[[Batch], Answers]] = {"bounds": bounds_of, "queueing": queueing_of}
APART: dict[str, Callable[[UnderLoad], bool | None]] = {"queueing": told_by}
ESTIMATE_BUDGET_S = 1.0  # of a point, and of the first number of an explanation
P = TypeVar("P")
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


def run_tasks(
    points: Sequence[P],
    task: Callable[[Sequence[P]], T],
    ended: Callable[[list[int], T], None],
    look: Callable[[], None] = lambda: None,
    *,
    takes_long: Callable[[P], bool],
    executor: Wanted = None,
    workers: int | None = None,
    begun: Callable[[], None] = lambda: None,
) -> None:
    """Run a task over all points, some at a time, and hand over its results as they finish.

    points: what is asked, of any kind. task: takes points, and returns what is wanted of them; a function of a module,
    so that other processes find it. ended: called with the numbers of a task's points and its result. look: called at
    least every LOOK_S seconds. takes_long: whether a point does, so that it begins in a task of its own. executor,
    workers: as in `answer_points`, and so are the errors. begun: called when the workers are there, before they have
    any work: threads that it starts are in none of their copies.
    """
    count = usable_cores() if workers is None else workers
    copies = executor is None and count > 1 and len(points) > 1 and can_fork()
    chosen = Forked((task, points), count) if copies else pool(executor, workers)
    with chosen as running, closing(tasks(points, task, running, takes_long)) as results:
        begun()
        for some in results:
            if some is not None:
                ended(*some)
            look()


def tasks(
    points: Sequence[P], task: Callable[[Sequence[P]], T], executor: Executor, takes_long: Callable[[P], bool]
) -> Generator[tuple[list[int], T] | None, None, None]:  # fmt: skip
    """Yield (numbers of the points, what the task gave) as they finish; None where LOOK_S passed without one.

    After Ctrl-C or SIGTERM, or when a worker has died, what runs ends and is yielded too, what has not begun is
    cancelled; then KeyboardInterrupt or BrokenExecutor is raised. No signal interrupts what the caller does with a
    task.
    """
    if points and not isinstance(executor, Forked):
        check_sendable(executor, points[0])

    def submit(numbers: list[int]) -> Future[tuple[T, float]]:
        if isinstance(executor, Forked):
            return executor.submit(_timed, _of_inherited, numbers)
        return executor.submit(_timed, task, [points[k] for k in numbers])

    todo, running = _Tasks([*map(takes_long, points)], slots(executor)), dict[Future[tuple[T, float]], list[int]]()
    most, errors = AHEAD * slots(executor), lost()
    dead: BaseException | None = None
    heard = time.monotonic()
    with signals.noted() as stop:
        try:
            while not (stop.is_set() or dead):
                while len(running) < most and (numbers := todo.next()):
                    running[submit(numbers)] = numbers
                if not running:
                    return
                done = wait(running, LOOK_S, FIRST_COMPLETED).done
                if done:
                    heard = time.monotonic()
                elif time.monotonic() - heard > SILENCE_S:
                    heard, reason = time.monotonic(), gone(executor)
                    dead = BrokenExecutor(reason) if reason else None
                for future in done:
                    numbers = running.pop(future)
                    try:
                        result, seconds = future.result()
                    except errors as error:  # what is good is not lost
                        dead = error
                        continue
                    todo.took(numbers, seconds)
                    yield numbers, result
                yield None
        except BrokenExecutor as error:  # nothing more can be submitted
            dead = error
        finally:
            left = {future for future in running if not future.cancel()}
        while left:
            done, left = wait(left, LOOK_S, FIRST_COMPLETED) if dead is None else (left, set())
            for future in done:
                if future.done() and not future.cancelled() and future.exception() is None:
                    yield running[future], future.result()[0]
            yield None
    if stop.is_set():
        raise KeyboardInterrupt
    if dead is not None:
        said = str(dead) or type(dead).__name__
        raise BrokenExecutor(gone(executor) or f"a worker died: {said}") from dead


def _of_inherited(numbers: Sequence[int]) -> Any:
    """Return what the task that this process was forked for gives for some of its points."""
    task, points = inherited()
    return task([points[k] for k in numbers])


def _timed(task: Callable[[Sequence[P]], T], points: Sequence[P]) -> tuple[T, float]:
    """Return what one task gives and how many seconds it took."""
    began = time.perf_counter()
    result = task(points)
    return result, time.perf_counter() - began


class _Tasks:
    """Splits the points' numbers into tasks of one kind, points that take long or not, of about equal time."""

    def __init__(self, long: Sequence[bool], workers: int) -> None:
        self.long, self.workers, self.at = long, workers, 0
        self.order = sorted(range(len(long)), key=long.__getitem__)
        self.quick = len(long) - sum(long)
        self.size = {False: ANALYTIC, True: 1}

    def next(self) -> list[int]:
        """Return the next task (empty: there is none)."""
        first = self.at
        long = first >= self.quick
        left = (len(self.order) if long else self.quick) - first
        even = max(1, left // (EVEN * self.workers)) if long else left
        self.at = first + min(self.size[long], even)
        return self.order[first : self.at] if left else []

    def took(self, numbers: list[int], seconds: float) -> None:
        """Learn from a task how many points the next of its kind should have."""
        long = self.long[numbers[0]]
        if len(numbers) == self.size[long]:
            each = (SIMULATED_S if long else ANALYTIC_S) / max(seconds, 1e-6)
            self.size[long] = max(1, min(int(len(numbers) * min(4.0, each)), MAX_TASK_POINTS))
