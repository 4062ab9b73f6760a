"""Searches the best machines for their cost: a grid of a few hundred points is simulated whole; in a larger grid bounds
prune points, queueing ranks them, and estimates or simulations confirm the best.

1. The costs and the upper bound of every point are computed as arrays (study/optimising/space.py).
2. Up to WHOLE points are all confirmed. Of more points, only the few with the smallest norm of demands at each
   combination of costs go on.
3. Each point has a predicted merit, never above its bound: first by the norm of demands (latency: with the load that
   they make), then by queueing, both corrected by the median error of points that have an answer of the next level;
   finally the simulated value. Points on the predicted front are solved at the next level until all are simulated.
4. A point that a simulated point dominates even at its bound is excluded for good.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from npexplore.designs import DesignLike
from npexplore.designs import design as design_of
from npexplore.errors import InputError, ModelError, one_of
from npexplore.machine.workload import Workload
from npexplore.machine.workload_sources import WorkloadLike
from npexplore.solve.prediction import Prediction
from npexplore.study.optimising.costs import COSTS
from npexplore.study.optimising.optimum import Best, Optimum
from npexplore.study.optimising.pareto import boxes, front, worth_their_cost
from npexplore.study.optimising.prices import PriceFile, priced
from npexplore.study.optimising.space import Space, space
from npexplore.study.sweeping.answers import Answer, answer_all
from npexplore.study.sweeping.asked import each
from npexplore.study.sweeping.grid import SweepPoint, Values

__all__ = ["Best", "Optimum", "optimise"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
MERITS = ("throughput", "latency")
TOLERANCE = 0.05
SAME_COST = 2  # number of points of equal costs that go on to queueing
PACKETS = 2000
QUEUEING = 400
WHOLE = 500  # grids of up to this many points are confirmed whole
SIMULATIONS = 100  # confirmed points of larger grids
AT_ONCE = (64, 16)  # points in one round of queueing and of simulation
Confirm = Literal["simulation", "estimate"]


def optimise(
    design: DesignLike,
    workload: WorkloadLike | None = None,
    *,
    knobs: Mapping[str, Values],
    costs: Sequence[str] | None = None,
    merits: Sequence[str] = ("throughput",),
    prices: Sequence[PriceFile] = (),
    tolerance: float = TOLERANCE,
    queueing: int = QUEUEING,
    simulations: int | None = None,
    packets: int = PACKETS,
    seed: int = 1,
    confirm: Confirm = "estimate",
    executor: Executor | None = None,
    workers: int | None = None,
    progress: Callable[[str, int], None] | None = None,
) -> Optimum:
    """Return the machines of a design that are best for their cost, over every combination of some knobs' values.

    Args:
        design: the machine.
        workload: the packets (None: the design's own).
        knobs: for each knob the values to combine, or a `Span`.
        costs: names of COSTS in study/optimising/costs.py (None: the names of `prices`, else all costs that differ
            between the points).
        merits: "throughput" (packet bit/s, maximised), "latency" (mean, minimised), or both.
        prices: the user's own costs, read from TOML (study/optimising/prices.py).
        tolerance: relative differences of merits below this count as none.
        queueing: the largest number of points for the queueing model.
        simulations: the largest number of points to confirm (None: all of up to 500 points, 100 of more).
        packets: simulated packets for each point, without estimates.
        seed: seed of the simulations.
        confirm: "estimate" (runs until the interval is narrow; 1 s per point), or "simulation" (one run of `packets`).
        executor: a `concurrent.futures` executor that solves the points (None: threads).
        workers: the number of threads (None: one for each usable core).
        progress: called with a solver's name and the number of points it has answered.

    Raises:
        UnknownNameError: a knob, cost or merit that does not exist.
        InputError: no knobs or costs to choose from, or too many knobs that act jointly.
        ModelError: no combination is a possible machine.

    Example:
        >>> import npexplore as npx
        >>> found = npx.optimise(npx.design("smartnic"), npx.workload(packet_bytes=64), knobs={"cores": [1, 2]},
        ...                      queueing=2, simulations=2, packets=500)
        >>> [best.knobs for best in found.front]
        [{'cores': 2}, {'cores': 1}]
    """
    design = design_of(design)
    workload = design.packets(workload)
    merit_names = tuple(one_of("merit", name, MERITS) for name in dict.fromkeys(merits))
    if not merit_names:
        raise InputError(f"optimise needs a merit ({', '.join(MERITS)}), got none")
    if costs is not None:
        price_names = [file.name for file in prices]
        costs = [one_of("cost", name, [*COSTS, *price_names]) for name in dict.fromkeys([*costs, *price_names])]
    if (simulations is not None and simulations < 1) or queueing < 0:
        raise InputError(f"simulations must be at least 1 and queueing 0, got {simulations} and {queueing}")
    boxes(1.0, tolerance)
    grid = space(design, workload, knobs, latency="latency" in merit_names)
    if not grid.possible:
        raise ModelError(f"{design.name}: no machine of the {grid.points:,} is possible: {grid.reason}")
    for file in prices:
        grid.costs[file.name] = priced(file, design, grid.costs, grid.numeric())
    default_costs = [file.name for file in prices] or [name for name in COSTS if grid.differs(name)]
    cost_names = tuple(costs) if costs is not None else tuple(default_costs)
    if not cost_names:
        raise InputError(f"these knobs change none of the costs ({', '.join(COSTS)}); name one more knob")
    one_of("confirm", confirm, get_args(Confirm))
    confirm_all = simulations is None and grid.possible <= WHOLE
    budget = (0, grid.possible) if confirm_all else (queueing, simulations or SIMULATIONS)
    search = _Search(grid, workload, cost_names, merit_names, tolerance, budget, packets, seed, confirm, confirm_all)
    search.run(partial(each, task=answer_all, packets=packets, executor=executor, workers=workers), progress)
    return search.result(design.name)


@dataclass
class _Search:
    """The candidate points with their predicted merits and their answers.

    Arrays have one element per candidate: chosen (the point), price, bound, first and estimate (merits), level (0
    bounds, 1 queueing, 2 confirmed), alive (not excluded).
    """

    space: Space
    workload: Workload | None
    costs: tuple[str, ...]
    merits: tuple[str, ...]
    tolerance: float
    budget: tuple[int, int]  # largest numbers of points for queueing and for confirmation
    packets: int
    seed: int
    confirm: Confirm
    whole: bool  # whether every point is confirmed
    answers: dict[int, dict[int, Prediction | None]] = field(default_factory=dict)  # by candidate and level

    def __post_init__(self) -> None:
        self.chosen = np.arange(self.space.possible) if self.whole else self._candidates()
        self.price = np.stack([self.space.cost(name)[self.chosen] for name in self.costs], axis=1)
        space = self.space
        self.bound = self._known(space.throughput, space.latency)
        self.first = np.minimum(self.bound, self._known(space.smooth, space.delay))
        self.estimate = self.first.copy()
        self.level = np.zeros(len(self.chosen), dtype=np.int64)
        self.alive = np.ones(len(self.chosen), dtype=np.bool_)
        self.pruned = 0

    def _known(self, throughput: Floats, latency: Floats) -> Floats:
        """Return the candidates' merits (candidates, merits) from arrays over all points: throughput, 1 / latency."""
        return np.stack(
            [throughput[self.chosen] if name == "throughput" else 1.0 / latency[self.chosen] for name in self.merits],
            axis=1,
        )

    def _candidates(self) -> Integers:
        """Return the candidates: of points with equal costs the SAME_COST best by norm of demands and by latency."""
        key = np.zeros(self.space.possible, dtype=np.int64)
        for name in self.costs:
            levels, level_of_point = np.unique(self.space.cost(name), return_inverse=True)
            _, key = np.unique(key * len(levels) + level_of_point, return_inverse=True)
        shortlists = []
        for rank in (self.space.smooth, *([1.0 / self.space.delay] if "latency" in self.merits else [])):
            order = np.lexsort((np.arange(len(key)), -rank, key))
            begins = np.flatnonzero(np.diff(key[order], prepend=-1))
            nth = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order))))
            shortlists.append(order[nth < SAME_COST])
        return np.unique(np.concatenate(shortlists))

    def run(self, ask: Callable[[list[SweepPoint]], list[Answer]], progress: Callable[[str, int], None] | None) -> None:
        """Solve points on the predicted front at the next level until all are simulated, or the budget is spent."""
        levels = ("bounds", "queueing", self.confirm)
        while True:
            self._prune()
            at = np.flatnonzero(self.level < 2) if self.whole else self._front()
            budget_left = [limit - sum(level in answered for answered in self.answers.values())
                           for level, limit in enumerate(self.budget, start=1)]  # fmt: skip
            level, todo = 1, at[self.level[at] == 0]
            if not len(todo) or not budget_left[0]:
                level, todo = 2, at[self.level[at] < 2]
            todo = _spread(todo, min(AT_ONCE[level - 1], budget_left[level - 1]))
            if not len(todo):
                if self.whole:
                    self._compare_with_queueing(ask)
                return
            seed = self.seed if level == 2 else None
            points = [SweepPoint(self.space.design_at(int(self.chosen[k])), self.workload, levels[level], seed)
                      for k in todo]  # fmt: skip
            for k, answer in zip(todo, ask(points), strict=True):
                self.level[k] = level
                accepted = answer if isinstance(answer, Prediction) and self._merits(int(k), answer).all() else None
                self.answers.setdefault(int(k), {})[level] = accepted
                if level == 2 and accepted is None:
                    self.alive[k] = False  # the run failed, or has a merit of 0
            self._correct()
            if progress is not None:
                progress(levels[level], sum(level in answered for answered in self.answers.values()))

    def _compare_with_queueing(self, ask: Callable[[list[SweepPoint]], list[Answer]]) -> None:
        """Solve the confirmed front by queueing too, for comparison."""
        best = self._confirmed_front()
        points = [SweepPoint(self.space.design_at(int(self.chosen[k])), self.workload, "queueing") for k in best]
        for k, answer in zip(best, ask(points), strict=True):
            self.answers[int(k)][1] = answer if isinstance(answer, Prediction) else None

    def _confirmed_front(self) -> Integers:
        """Return the confirmed points that are worth their cost."""
        done = np.flatnonzero(self.alive & (self.level == 2))
        return done[worth_their_cost(self.price[done], self.estimate[done], self.tolerance)]

    def _front(self) -> Integers:
        alive = np.flatnonzero(self.alive)
        return alive[front(self.price[alive], boxes(self.estimate[alive], self.tolerance))]

    def _prune(self) -> None:
        """Exclude points that a simulated point dominates even at their bound, unless all points are confirmed."""
        if self.whole:
            return
        best = boxes(self.bound, self.tolerance)
        for k in np.flatnonzero(self.alive & (self.level == 2)):
            simulated_boxes = boxes(self.estimate[k], self.tolerance)
            dominated = (self.price >= self.price[k]).all(axis=1) & (best <= simulated_boxes).all(axis=1)
            self.alive &= ~(dominated & (self.level < 2))

    def _merits(self, k: int, prediction: Prediction) -> Floats:
        """Return the merits of a candidate by an answer, limited to its bound unless the answer confirms."""
        delay = prediction.latency_s.mean
        value_by_merit = {
            "throughput": prediction.rate_pps * float(self.space.bits[self.chosen[k]]),
            "latency": 1.0 / delay if delay else 0.0,
        }
        merits = np.array([value_by_merit[name] for name in self.merits])
        return merits if prediction.solver == self.confirm else np.minimum(merits, self.bound[k])

    def _correct(self) -> None:
        """Recompute the predicted merits: each level is corrected by its median ratio to answers of the next level."""
        merits_by_level = {
            k: [self.first[k],
                *(None if solved.get(level) is None else self._merits(k, solved[level])  # type: ignore[arg-type]
                  for level in (1, 2))]
            for k, solved in self.answers.items()
        }  # fmt: skip
        corrections = [np.ones(len(self.merits)), np.ones(len(self.merits))]
        for level in (0, 1):
            ratios = [
                values[level + 1] / values[level] for values in merits_by_level.values()
                if values[level] is not None and values[level + 1] is not None
            ]  # fmt: skip
            if ratios:
                corrections[level] = np.median(np.array(ratios), axis=0)
        self.estimate = np.minimum(self.bound, self.first * corrections[0] * corrections[1])
        for k, (_, queueing, simulated) in merits_by_level.items():
            if simulated is not None:
                self.estimate[k] = simulated
            elif queueing is not None:
                self.estimate[k] = np.minimum(self.bound[k], queueing * corrections[1])

    def result(self, name: str) -> Optimum:
        """Return the front of the confirmed points, with the counts."""
        self._prune()
        at = self._confirmed_front()
        at_level = [int(np.sum(self.level == level)) for level in (1, 2)]
        possible, pruned = self.space.possible, int(np.sum(~self.alive & (self.level == 0)))
        counts = {
            "points": self.space.points, "impossible": self.space.points - possible, "pruned_by_bounds": pruned,
            "ranked_lower": possible - pruned - sum(at_level), "queueing": at_level[0], "simulated": at_level[1],
        }  # fmt: skip
        return Optimum(
            name, self.space.workload, self.costs, self.merits, tuple(self._best(int(k)) for k in at), counts,
            self.space.built, int(np.sum(self.level[self._front()] < 2)), self.tolerance, self.confirm,
        )  # fmt: skip

    def _best(self, k: int) -> Best:
        point, answers = int(self.chosen[k]), self.answers[k]
        simulated, bits = answers[2], float(self.space.bits[point])
        assert simulated is not None
        low, high = simulated.ci95.get("throughput_bps", (None, None))
        scale = simulated.rate_pps * bits / simulated.throughput_bps
        by_queueing = answers.get(1)
        return Best(
            self.space.knobs_at(point), {name: float(self.space.cost(name)[point]) for name in self.space.costs},
            simulated.rate_pps * bits, None if low is None or high is None else (low * scale, high * scale),
            simulated.latency_s.mean, simulated.bottleneck, float(self.space.throughput[point]),
            None if by_queueing is None else by_queueing.rate_pps * bits,
        )  # fmt: skip


def _spread(numbers: Integers, count: int) -> Integers:
    """Return `count` of the numbers, evenly spread from first to last; all if there are at most `count`."""
    if len(numbers) <= count:
        return numbers
    return numbers[np.unique(np.linspace(0, len(numbers) - 1, max(count, 0)).round().astype(np.int64))]
