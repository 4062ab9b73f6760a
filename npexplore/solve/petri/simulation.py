"""Simulation of a net: means over batches of equal time after a warm-up, with 95 % intervals by Student's t.

A place's mean is the time average of its tokens; a resource's utilization is 1 - mean / initial tokens; a transition's
throughput is its firings per unit of time; a latency is the age of a token with data when a transition ends it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from npexplore._kernels import petri as kernel
from npexplore.engine.intervals import Floats, quantiles, ratio_interval
from npexplore.errors import InputError, RefusedError
from npexplore.machine.petri import Net
from npexplore.records import content_hash
from npexplore.solve.chains.chain import SeveralClassesError
from npexplore.solve.petri.arrays import program
from npexplore.solve.petri.ctmc import PlaceMean, Throughput, reduced
from npexplore.solve.petri.firing import Array
from npexplore.solve.petri.net_result import NetResult, means
from npexplore.solve.petri.run import FOREVER, Run, Snapshot

FIRINGS = 200_000  # approximate number of measured firings per seed
BATCHES = 20
CHECKED_STATES = 10_000  # largest number of markings for which recurrent classes are checked
WARM_UP = 0.2  # firings of the warm-up per measured firing


@dataclass(frozen=True)
class Busy:
    """Share of a resource place's tokens that are in use, with its 95 % interval."""

    busy: float
    low: float
    high: float


@dataclass(frozen=True)
class Age:
    """Age of tokens when a transition ends them: mean with its 95 % interval, and quantiles."""

    mean: float
    low: float
    high: float
    p50: float | None
    p95: float | None
    p99: float | None


@dataclass(frozen=True)
class Dead:
    """A marking in which nothing can fire any more, with its time; seed: of the run that reached it."""

    seed: int
    time: float
    marking: dict[str, int]


@dataclass(frozen=True, repr=False)
class NetSimulation(NetResult):
    """Means of a net's simulation with 95 % intervals (None: a run reached a dead marking).

    seeds: one run each. firings, time: measured, in all runs; time in the net's unit. latency: by the transition that
    ends tokens.

    Example:
        >>> from npexplore.petri import load_net, simulate_net
        >>> simulate_net(load_net("tandem"), [1], 500).seeds
        [1]
    """

    refused: str | None
    seeds: list[int]
    firings: int | None = None
    time: float | None = None
    places: dict[str, PlaceMean] | None = None
    transitions: dict[str, Throughput] | None = None
    utilization: dict[str, Busy] | None = None
    latency: dict[str, Age] | None = None
    dead: Dead | None = None

    solver = "simulation"
    __hash__ = content_hash

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each place, transition, resource and end of tokens: its mean, interval and quantiles."""
        return means(
            places=self.places, transitions=self.transitions, resources=self.utilization, ages=self.latency,
        )  # fmt: skip


@dataclass(frozen=True)
class Batches:
    """Counts of each of B batches of all seeds: times (B,) and tokens x time (B, P) in units, firings (B, T).

    ages: (B, endings) sums of the ages of tokens that transitions `endings` ended, with a histogram in ticks. moved:
    (B, T, fields) sums of token fields.
    """

    seconds: Floats
    areas: Floats
    fired: Floats
    ages: Floats
    moved: Floats
    endings: list[int]
    histogram: Floats
    ticks: float

    @staticmethod
    def empty(net: Net) -> Batches:
        """Return one batch of ones, with which measures are checked before a run."""
        arrays = program(net)
        T, P, F = len(net.transitions), len(net.places), len(net.fields)
        ages, moved = np.ones((1, len(arrays.endings))), np.ones((1, T, F))
        none = np.zeros((0, 0))
        return Batches(np.ones(1), np.ones((1, P)), np.ones((1, T)), ages, moved, arrays.endings, none, arrays.ticks)


class DeadError(RefusedError):
    """A run reached a marking in which nothing can fire any more."""

    def __init__(self, dead: Dead) -> None:
        shown = ", ".join(f"{name}: {n}" for name, n in dead.marking.items()) or "no tokens"
        super().__init__(f"at time {dead.time:g} nothing can fire any more ({shown})")
        self.dead = dead


def batches_of(net: Net, seeds: Sequence[int], firings: int, progress: Callable[[int], None] | None = None) -> Batches:
    """Run a net once per seed and return its batches; raises DeadError, and errors as `simulate_net`."""
    if firings < BATCHES:
        raise InputError(f"firings must be at least {BATCHES}, got {firings}")
    if not seeds:
        raise InputError("a simulation needs at least one seed, got none")
    spans: list[tuple[Snapshot, Snapshot]] = []
    histograms: list[Array] = []
    for seed in seeds:
        run = Run.of(net, seed)
        run.advance(firings=max(round(firings * WARM_UP), 1))
        run.state.histogram[:] = 0
        before = first = run.snapshot()
        length = max(round(first.time / WARM_UP / BATCHES), 1)
        for batch in range(BATCHES):
            if not run.dead:
                run.advance(until=min(first.time + (batch + 1) * length, FOREVER))
            if run.dead:
                marking = net.marking(run.state.P[:, kernel.P_TOKENS])
                raise DeadError(Dead(seed, int(run.state.Q[kernel.Q_NOW]) / run.program.ticks, marking))
            after = run.snapshot()
            spans.append((before, after))
            before = after
            if progress:
                progress(1)
        histograms.append(run.state.histogram)
    ticks = run.program.ticks

    def more(name: str, scale: float = 1.0) -> Floats:
        differences: Floats = np.array([getattr(b, name) - getattr(a, name) for a, b in spans], dtype=float) / scale
        return differences

    return Batches(
        more("time", ticks), more("area", ticks), more("fired"), more("ages", ticks), more("moved"),
        run.program.endings, np.sum(histograms, axis=0), ticks,
    )  # fmt: skip


def simulate_net(
    net: Net, seeds: Sequence[int] = (1,), firings: int = FIRINGS, progress: Callable[[int], None] | None = None
) -> NetSimulation:
    """Simulate a net, and return its means with 95 % intervals.

    net: the net. seeds: one run each. firings: approximate number of measured firings of each run, after a warm-up.
    progress: called with 1 after each batch.

    Raises InputError for formulas with invalid values, SimulationError for an endless loop in which no time passes.
    """
    chosen = list(seeds)
    try:
        batches = batches_of(net, chosen, firings, progress)
        _check_classes(net)
    except DeadError as error:
        return NetSimulation(None, chosen, dead=error.dead)
    except RefusedError as error:
        return NetSimulation(str(error), chosen)
    seconds = batches.seconds
    return NetSimulation(
        None,
        chosen,
        int(batches.fired.sum()),
        float(seconds.sum()),
        {place.name: PlaceMean(*_rate(batches.areas[:, p], seconds)) for p, place in enumerate(net.places)},
        {each.name: Throughput(*_rate(batches.fired[:, t], seconds)) for t, each in enumerate(net.transitions)},
        {
            place.name: Busy(*_rate(place.tokens * seconds - batches.areas[:, p], seconds * place.tokens))
            for p, place in enumerate(net.places)
            if place.resource and place.tokens
        },
        _ages(net, batches),
    )


def _check_classes(net: Net) -> None:
    """Raise RefusedError for a small net with several recurrent classes, since a run stays in the first it reaches."""
    try:
        reduced(net, CHECKED_STATES, None, None).chain.recurrent()
    except SeveralClassesError as error:
        raise RefusedError(f"{error}; a run stays in the one that it comes to") from error
    except (RefusedError, InputError):  # no chain, or one that is too large to check
        return


def _rate(amounts: Floats, seconds: Floats) -> tuple[float, float, float]:
    return float(amounts.sum() / seconds.sum()), *ratio_interval(amounts, seconds)


def _ages(net: Net, batches: Batches) -> dict[str, Age]:
    ages = {}
    for k, t in enumerate(batches.endings):
        counts = batches.fired[:, t]
        if counts.sum():
            shares = quantiles(batches.histogram[k].astype(np.int64), (0.5, 0.95, 0.99), 1 / batches.ticks)
            ages[net.transitions[t].name] = Age(*_rate(batches.ages[:, k], counts), *shares)
    return ages
