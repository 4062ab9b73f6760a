"""The points of a sweep: every combination of knob values, workloads, solvers and seeds, in a fixed order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from npexplore.designs import Design, design
from npexplore.errors import InputError, one_of
from npexplore.machine.parameters import Value
from npexplore.machine.workload import Workload

SOLVERS = ("bounds", "queueing", "simulation")
Values = Value | Iterable[Value]


class SweepPoint(NamedTuple):
    """One question: a design, a workload (None: the design brings its own), a solver, a seed (simulation only)."""

    design: Design
    workload: Workload | None
    solver: str
    seed: int | None = None


def grid(
    of: Design | str,
    workload: Workload | Iterable[Workload | None] | None = None,
    *,
    solver: str | Iterable[str] = "simulation",
    seeds: int | Sequence[int] = 1,
    knobs: Mapping[str, Values] | None = None,
    **more: Values,
) -> list[SweepPoint]:
    """Return every combination of knob values, workloads, solvers and seeds; the last knob varies fastest.

    knobs and keywords: one value or several for each knob. seeds: how many from 1 on, or the seeds themselves.
    Raises UnknownNameError, InputError (a value out of range, a knob without values) before anything runs.
    """
    base = design(of) if isinstance(of, str) else of
    workloads = [workload] if workload is None or isinstance(workload, Workload) else list(workload)
    solvers = [one_of("solver", name, SOLVERS) for name in ([solver] if isinstance(solver, str) else solver)]
    numbers = list(range(1, seeds + 1)) if isinstance(seeds, int) else list(seeds)
    if not (workloads and solvers and numbers):
        raise InputError("a grid needs at least one workload, one solver and one seed")
    return [
        SweepPoint(made, load, name, seed)
        for load, made, name in product(workloads, _designs(base, {**(knobs or {}), **more}), solvers)
        for seed in (numbers if name == "simulation" else [None])
    ]


def _designs(base: Design, knobs: Mapping[str, Values]) -> Iterator[Design]:
    choices: list[list[Value]] = []
    for name, values in knobs.items():
        listed = [values] if isinstance(values, str | int | float) else list(values)
        checked = [base.with_(**{name: value}).parameters[name] for value in dict.fromkeys(listed)]
        if not checked:
            raise InputError(f"knob {name} needs at least one value")
        choices.append(list(dict.fromkeys(checked)))
    for values in product(*choices):
        yield base.with_(**dict(zip(knobs, values, strict=True)))
