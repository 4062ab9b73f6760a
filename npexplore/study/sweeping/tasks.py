"""Runs tasks over points of any kind in parallel, on any executor of concurrent.futures, some points at a time."""

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

ANALYTIC = 32  # analytic points in the first task; later ones take about ANALYTIC_S
MAX_TASK_POINTS = 4096
ANALYTIC_S = 0.5
SIMULATED_S = 0.25  # simulations begin alone, later ones take about this: to hand a task to a cluster takes 10 ms
EVEN = 4  # of the simulations left, each worker's share is cut into so many tasks, so that all end together
AHEAD = 4  # tasks handed to the executor for each that runs, so that a stopped sweep has little to cancel
SILENCE_S = 5.0  # without an answer before it is looked whether a cluster is still there
LOOK_S = 0.2  # between two looks at whether somebody wants to stop, and whether rows wait for their commit
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
