"""Splits points of any kind into tasks of several points, and runs the tasks in parallel on any executor."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import closing
from typing import Any, TypeVar

from npexplore import signals
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

ANALYTIC = 32  # analytic points in the first task; later tasks are sized to take about ANALYTIC_S
MAX_TASK_POINTS = 4096
ANALYTIC_S = 0.5
SIMULATED_S = 0.25  # first tasks have one simulation, later ones take about this; sending one to a cluster takes 10 ms
EVEN = 4  # each worker's share of the remaining simulations is split into this many tasks, so that all end together
AHEAD = 4  # submitted tasks per worker; few, so that a stopped sweep has little to cancel
SILENCE_S = 5.0  # time without a result after which the cluster is checked
LOOK_S = 0.2  # time between checks for a stop signal and for rows to commit
P = TypeVar("P")
T = TypeVar("T")


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
    """Run a task over all points, several points at a time, and pass on its results as they finish.

    points: points of any kind. task: takes several points and returns a result; a function of a module, so that other
    processes can import it. ended: called with the numbers of a task's points and its result. look: called at least
    every LOOK_S seconds. takes_long: whether a point takes long; such points start in tasks of one point. executor,
    workers, errors: as in `answer_points`. begun: called when the workers have started and have no work yet; threads
    started there are not in forked workers.
    """
    count = usable_cores() if workers is None else workers
    copies = executor is None and count > 1 and len(points) > 1 and can_fork()
    worker_pool = Forked((task, points), count) if copies else pool(executor, workers)
    with worker_pool as running, closing(tasks(points, task, running, takes_long)) as results:
        begun()
        for numbers_and_result in results:
            if numbers_and_result is not None:
                ended(*numbers_and_result)
            look()


def tasks(
    points: Sequence[P], task: Callable[[Sequence[P]], T], executor: Executor, takes_long: Callable[[P], bool]
) -> Generator[tuple[list[int], T] | None, None, None]:  # fmt: skip
    """Yield (numbers of the points, the task's result) as tasks finish; None at least every LOOK_S seconds.

    After Ctrl-C or SIGTERM, or when a worker has died, running tasks finish and are yielded too, and waiting tasks are
    cancelled; then KeyboardInterrupt or BrokenExecutor is raised. No signal interrupts the caller's work on a result.
    """
    if points and not isinstance(executor, Forked):
        check_sendable(executor, points[0])

    def submit(numbers: list[int]) -> Future[tuple[T, float]]:
        if isinstance(executor, Forked):
            return executor.submit(_timed, _of_inherited, numbers)
        return executor.submit(_timed, task, [points[k] for k in numbers])

    todo, running = _Tasks([*map(takes_long, points)], slots(executor)), dict[Future[tuple[T, float]], list[int]]()
    max_submitted, errors = AHEAD * slots(executor), lost()
    failure: BaseException | None = None
    last_result_at = time.monotonic()
    with signals.noted() as stop:
        try:
            while not (stop.is_set() or failure):
                while len(running) < max_submitted and (numbers := todo.next()):
                    running[submit(numbers)] = numbers
                if not running:
                    return
                done = wait(running, LOOK_S, FIRST_COMPLETED).done
                if done:
                    last_result_at = time.monotonic()
                elif time.monotonic() - last_result_at > SILENCE_S:
                    last_result_at, reason = time.monotonic(), gone(executor)
                    failure = BrokenExecutor(reason) if reason else None
                for future in done:
                    numbers = running.pop(future)
                    try:
                        result, seconds = future.result()
                    except errors as error:  # other results are still yielded
                        failure = error
                        continue
                    todo.took(numbers, seconds)
                    yield numbers, result
                yield None
        except BrokenExecutor as error:  # nothing more can be submitted
            failure = error
        finally:
            unfinished = {future for future in running if not future.cancel()}
        while unfinished:
            done, unfinished = wait(unfinished, LOOK_S, FIRST_COMPLETED) if failure is None else (unfinished, set())
            for future in done:
                if future.done() and not future.cancelled() and future.exception() is None:
                    yield running[future], future.result()[0]
            yield None
    if stop.is_set():
        raise KeyboardInterrupt
    if failure is not None:
        reason_text = str(failure) or type(failure).__name__
        raise BrokenExecutor(gone(executor) or f"a worker died: {reason_text}") from failure


def _of_inherited(numbers: Sequence[int]) -> Any:
    """Return the result of the inherited task for some of the inherited points, in a forked worker."""
    task, points = inherited()
    return task([points[k] for k in numbers])


def _timed(task: Callable[[Sequence[P]], T], points: Sequence[P]) -> tuple[T, float]:
    """Return the result of one task and its time in seconds."""
    began = time.perf_counter()
    result = task(points)
    return result, time.perf_counter() - began


class _Tasks:
    """Splits point numbers into tasks of about equal time; points that take long are in separate tasks."""

    def __init__(self, long: Sequence[bool], workers: int) -> None:
        self.long, self.workers, self.at = long, workers, 0
        self.order = sorted(range(len(long)), key=long.__getitem__)
        self.quick = len(long) - sum(long)
        self.size = {False: ANALYTIC, True: 1}

    def next(self) -> list[int]:
        """Return the point numbers of the next task; empty after the last task."""
        first = self.at
        long = first >= self.quick
        remaining = (len(self.order) if long else self.quick) - first
        even_share = max(1, remaining // (EVEN * self.workers)) if long else remaining
        self.at = first + min(self.size[long], even_share)
        return self.order[first : self.at] if remaining else []

    def took(self, numbers: list[int], seconds: float) -> None:
        """Adjust the number of points of the next task of this kind to the time of a finished task."""
        long = self.long[numbers[0]]
        if len(numbers) == self.size[long]:
            growth = (SIMULATED_S if long else ANALYTIC_S) / max(seconds, 1e-6)
            self.size[long] = max(1, min(int(len(numbers) * min(4.0, growth)), MAX_TASK_POINTS))
