"""Answers to a list of points, computed in parallel and returned in the order of the points."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from npexplore.solve.simulate import PACKETS
from npexplore.study.sweeping.answers import Answer, Ended, answer_points
from npexplore.study.sweeping.executors import Wanted
from npexplore.study.sweeping.grid import SweepPoint

Progress = Callable[[int, int], None]


def asked(
    points: Sequence[SweepPoint], *, packets: int = PACKETS, executor: Wanted = None,
    workers: int | None = None, progress: Progress | None = None, begun: Callable[[], None] = lambda: None,
) -> list[Answer]:  # fmt: skip
    """Return each point's prediction, or why there is none; progress is called with (points done, points in all).

    The other arguments are those of `answer_points`.
    """
    answers: dict[int, Answer] = {}

    def keep(ended: Ended) -> None:
        answers.update(ended)
        if progress is not None:
            progress(len(answers), len(points))

    answer_points(points, keep, executor=executor, workers=workers, packets=packets, begun=begun)
    return [answers[k] for k in range(len(points))]
