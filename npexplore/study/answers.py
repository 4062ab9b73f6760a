"""Answers to sweep points, computed side by side on any executor of concurrent.futures.

Kernels release the interpreter lock, so threads are the default. What a point answers depends on the point alone: not
on the executor, the number of workers, or what ran before.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, as_completed, wait
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from typing import NamedTuple

from npexplore.errors import InputError, NpexploreError, one_of
from npexplore.solve.prediction import Prediction
from npexplore.solve.simulate import PACKETS
from npexplore.study.grid import SOLVERS, SweepPoint

ANALYTIC = 32  # analytic points in one task: a few tenths of a second
AHEAD = 64  # tasks handed to the executor at once, so that a stopped sweep has little to cancel


class Refusal(NamedTuple):
    """Why a point has no answer: an impossible machine, a solver's limit, a run without progress."""

    reason: str


Answer = Prediction | Refusal


def predict(point: SweepPoint, packets: int = PACKETS) -> Prediction:
    """Return one point's prediction; raises NpexploreError where there is none."""
    design, workload, solver, seed = point
    if one_of("solver", solver, SOLVERS) == "bounds":
        return design.bounds(workload)
    if solver == "queueing":
        return design.queueing(workload)
    return design.simulate(workload, 1 if seed is None else seed, packets=packets)


def answer(point: SweepPoint, packets: int = PACKETS) -> Answer:
    """Return one point's prediction, or why there is none."""
    try:
        return predict(point, packets)
    except NpexploreError as error:
        return Refusal(str(error))


def answer_all(points: Sequence[SweepPoint], packets: int) -> list[Answer]:
    """Return the answers of one task (a function of the module, so that other processes find it)."""
    return [answer(point, packets) for point in points]


def pool(executor: Executor | None, workers: int | None) -> AbstractContextManager[Executor]:
    """Return the executor given (left running), or threads: `workers` of them, else one for each usable core."""
    if executor is not None:
        if workers is not None:
            raise InputError("give an executor or a number of workers, not both")
        return nullcontext(executor)
    if workers is not None and workers < 1:
        raise InputError(f"workers must be at least 1, got {workers}")
    return ThreadPoolExecutor(workers or usable_cores())


def usable_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def answers(
    points: Sequence[SweepPoint], executor: Executor, packets: int = PACKETS
) -> Generator[list[tuple[int, Answer]], None, None]:
    """Yield (number of the point, answer) task by task, as they finish.

    When it is stopped (Ctrl-C), what is running ends and is yielded too; what has not begun is cancelled.
    """
    todo = iter(_tasks(points))
    running: dict[Future[list[Answer]], list[int]] = {}
    try:
        while True:
            for numbers in islice(todo, AHEAD - len(running)):
                running[executor.submit(answer_all, [points[k] for k in numbers], packets)] = numbers
            if not running:
                return
            ended = wait(running, return_when=FIRST_COMPLETED).done
            for future in sorted(ended, key=lambda f: f.exception() is not None):  # what is good is not lost
                numbers = running.pop(future)
                yield list(zip(numbers, future.result(), strict=True))
    except KeyboardInterrupt:
        for future in as_completed([future for future in running if not future.cancel()]):
            if future.exception() is None:
                yield list(zip(running[future], future.result(), strict=True))
        raise
    finally:
        for future in running:
            future.cancel()


def _tasks(points: Sequence[SweepPoint]) -> Iterator[list[int]]:
    """Split the points' numbers into tasks: simulations alone, analytic points of a row together."""
    task: list[int] = []
    for k, point in enumerate(points):
        if point.solver == "simulation":
            yield [k]
        else:
            task.append(k)
            if len(task) == ANALYTIC:
                yield task
                task = []
    if task:
        yield task
