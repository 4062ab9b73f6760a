"""Answers to a list of points in their order, computed side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import closing

from npexplore.solve.simulate import PACKETS
from npexplore.study.answers import Answer, answers, pool
from npexplore.study.grid import SweepPoint

Progress = Callable[[int, int], None]


def asked(
    points: Sequence[SweepPoint], *, packets: int = PACKETS, executor: Executor | None = None,
    workers: int | None = None, progress: Progress | None = None,
) -> list[Answer]:  # fmt: skip
    """Return each point's prediction, or why there is none; progress is called with (points done, points in all)."""
    found: dict[int, Answer] = {}
    with pool(executor, workers) as running, closing(answers(points, running, packets)) as tasks:
        for task in tasks:
            found.update(task)
            if progress is not None:
                progress(len(found), len(points))
    return [found[k] for k in range(len(points))]
