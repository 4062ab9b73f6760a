"""Answers to a list of points, computed in parallel and returned in the order of the points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from npexplore.study.sweeping.answers import takes_long
from npexplore.study.sweeping.executors import Wanted
from npexplore.study.sweeping.grid import SweepPoint
from npexplore.study.sweeping.tasks import run_tasks

Progress = Callable[[int, int], None]
T = TypeVar("T")


def each(
    points: Sequence[SweepPoint], task: Callable[..., list[T]], *, packets: int, executor: Wanted = None,
    workers: int | None = None, progress: Progress | None = None, begun: Callable[[], None] = lambda: None,
) -> list[T]:  # fmt: skip
    """Return a task's result for each point; task: a module's function that takes points and packets.

    progress: called with (points done, total points). The other arguments are those of `answer_points`.
    """
    results: dict[int, T] = {}

    def keep(numbers: list[int], some: list[T]) -> None:
        results.update(zip(numbers, some, strict=True))
        if progress is not None:
            progress(len(results), len(points))

    points_task = partial(task, packets=packets)
    run_tasks(points, points_task, keep, takes_long=takes_long, executor=executor, workers=workers, begun=begun)
    return [results[k] for k in range(len(points))]
