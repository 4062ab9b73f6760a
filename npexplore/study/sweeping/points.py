"""Computes predictions at design points, each once (study/sweeping/answers.py runs them in parallel).

A point is a design, knob values and a mix; a point with a solver and a seed is a task.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from npexplore.designs import Design, design
from npexplore.errors import NpexploreError
from npexplore.machine.parameters import Value
from npexplore.machine.workload import Workload
from npexplore.machine.workload_sources import workload
from npexplore.progress import Task
from npexplore.reads import SOLVER, Read, Reads, note, note_all, reading
from npexplore.solve.prediction import Prediction
from npexplore.solve.simulate import BATCHES, PACKETS, WARM_UP
from npexplore.study.sweeping.answers import Answer, Ended, Refusal, answer, answer_points
from npexplore.study.sweeping.executors import Wanted
from npexplore.study.sweeping.grid import SOLVERS, SweepPoint


@dataclass(frozen=True)
class Point:
    """A design point: design name, knobs in order of their names, mix (None: the design's own workload).

    share: packets to simulate as a share of the usual number, after the usual warm-up.
    """

    design: str
    mix: str | None
    knobs: tuple[tuple[str, Value], ...] = ()
    share: float = 1.0

    @staticmethod
    def of(name: str, mix: str | None, knobs: Mapping[str, Value], share: float = 1.0) -> Point:
        """Return the point of a design with these knobs set."""
        return Point(name, mix, tuple(sorted(knobs.items())), share)

    def with_(self, mix: str | None = None, **knobs: Value) -> Point:
        """Return the point with other knobs or another mix."""
        return Point.of(self.design, mix or self.mix, {**dict(self.knobs), **knobs}, self.share)


@dataclass
class Predictions:
    """Predictions by (point, solver, seed). `overrides`: values set on every design that has them.

    may_fail: a machine in deadlock, or with contradictory knobs, has no answer (if False, its error is raised).
    Equivalent points (such as one that sets a knob to its default) are answered once.
    """

    seeds: Sequence[int] = (1, 2, 3)
    packets: int = PACKETS
    overrides: Mapping[str, Value] = field(default_factory=dict)
    solvers: Sequence[str] = SOLVERS
    may_fail: bool = False
    answers: dict[tuple[Point, str, int], Prediction | None] = field(default_factory=dict)
    _workloads: dict[str, tuple[Workload, Reads]] = field(default_factory=dict)
    _first: dict[Hashable, Point] = field(default_factory=dict)  # the first of all equivalent points

    def design_at(self, point: Point) -> Design:
        """Return the design with the overrides that it has, and with the point's knobs, which take precedence."""
        base = design(point.design)
        overrides = {name: value for name, value in self.overrides.items() if name in base.parameters.file.parameter}
        return base.with_(**{**overrides, **dict(point.knobs)})

    def workload(self, mix: str | None) -> Workload | None:
        """Return a mix's workload, made once; None for a design with its own workload."""
        if mix is None:
            return None
        if mix not in self._workloads:
            with reading() as reads:
                self._workloads[mix] = workload(mix=mix), reads
        load, reads = self._workloads[mix]
        note_all(reads)
        return load

    def first(self, point: Point) -> Point:
        """Return the first requested point with the same machine and packets."""
        if point not in self._first:
            changed = tuple(sorted(self.design_at(point).parameters.changed().items()))
            self._first[point] = self._first.setdefault((point.design, point.mix, changed, point.share), point)
        return self._first[point]

    def tasks(self, points: Iterable[Point]) -> list[tuple[Point, str, int]]:
        """Return the tasks of some points that have no answer yet."""
        all_tasks = [
            (point, solver, seed)
            for point in dict.fromkeys(self.first(point) for point in points)
            for solver in self.solvers
            for seed in (self.seeds if solver == "simulation" else (0,))
        ]
        return [task for task in all_tasks if task not in self.answers]

    def question(self, task: tuple[Point, str, int]) -> SweepPoint:
        """Return the sweep point of a task."""
        point, solver, seed = task
        return SweepPoint(self.design_at(point), self.workload(point.mix), solver, seed)

    def fetch(self, points: Iterable[Point], executor: Wanted = None, label: str = "predicting") -> None:
        """Compute missing predictions, with a progress bar in a terminal or notebook (none if TQDM_DISABLE is set).

        Raises NpexploreError if a point has no answer; a refusal by queueing or an estimate counts as an answer (None).
        """
        by_packets: dict[int, list[tuple[Point, str, int]]] = {}
        for task in self.tasks(points):
            by_packets.setdefault(self.packets_of(task[0]), []).append(task)
        with Task(label, unit="point", total=sum(map(len, by_packets.values()))) as fetching:
            for packets, tasks in sorted(by_packets.items()):
                self._answer(tasks, packets, executor, fetching.advance)

    def packets_of(self, point: Point) -> int:
        """Return the number of packets that a simulation of a point measures."""
        return max(1, round(point.share * self.packets))

    @property
    def warm_up(self) -> int:
        """The number of warm-up packets of every point."""
        return math.ceil(WARM_UP * self.packets / BATCHES)

    def _answer(
        self, tasks: Sequence[tuple[Point, str, int]], packets: int, executor: Wanted, advance: Callable[[int], object]
    ) -> None:
        questions = [self.question(task) for task in tasks]

        def keep(ended: Ended) -> None:
            for k, outcome in ended:
                self.answers[tasks[k]] = known(questions[k], outcome, self.may_fail)
            advance(len(ended))

        answer_points(questions, keep, executor=executor, packets=packets, warm_up=self.warm_up)

    def at(self, point: Point, solver: str, seed: int) -> Prediction | None:
        """Return a prediction, computed if it is missing; records its inputs as read."""
        task = (self.first(point), solver, seed if solver == "simulation" else 0)
        if task not in self.answers:
            question = self.question(task)
            self.answers[task] = known(question, answer(question, self.packets_of(point), self.warm_up), self.may_fail)
        prediction = self.answers[task]
        if prediction is not None:
            self.workload(point.mix)
            note_all(prediction.reads)
            note(Read(solver, SOLVER, None, ""))
        return prediction


def known(point: SweepPoint, answer: Answer, may_fail: bool = False) -> Prediction | None:
    """Return an answer, None for an allowed refusal; raises NpexploreError for other refusals.

    Refusals by queueing, estimates and generated hardware are allowed, others only with `may_fail`.
    """
    if not isinstance(answer, Refusal):
        return answer
    if may_fail or point.solver in ("queueing", "estimate", "rtl"):
        return None
    raise NpexploreError(answer.reason)
