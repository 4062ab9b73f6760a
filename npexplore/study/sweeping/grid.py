"""Makes the points of a sweep: every combination of knob values, workloads, solvers and seeds, in a fixed order.

`sample` (study/sweeping/samples.py) takes a sample of a space's points instead of all points.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import NamedTuple, TypeAlias

from npexplore.designs import Design, DesignLike, design
from npexplore.errors import InputError, one_of
from npexplore.machine.parameters import Value
from npexplore.machine.workload import Workload
from npexplore.machine.workload_sources import WorkloadLike
from npexplore.solve.solvers import ASKABLE as ASKABLE
from npexplore.solve.solvers import Solver

SOLVERS = ASKABLE[:3]
SEEDED = ("simulation", "estimate")  # solvers whose answers depend on a seed
MOST_POINTS = 2_000_000  # largest number of knob combinations


class Span(NamedTuple):
    """All values of a knob from low to high, both included; `log`: samples are uniform in the logarithm.

    Example:
        >>> import npexplore as npx
        >>> len(npx.grid("ixp2400", npx.workload(packet_bytes=64), banks=npx.Span(2, 4)))
        3
    """

    low: float
    high: float
    log: bool = False


Workloads: TypeAlias = "WorkloadLike | Iterable[WorkloadLike | None] | None"
Values = Value | Span | Iterable[Value]


class SweepPoint(NamedTuple):
    """One point: a design, a workload (None: the design's own), a solver, a seed (simulation and estimate).

    Example:
        >>> import npexplore as npx
        >>> from npexplore.study import SweepPoint
        >>> SweepPoint(npx.design("ixp2400"), npx.workload(64), "bounds").solver
        'bounds'
    """

    design: Design
    workload: Workload | None
    solver: str
    seed: int | None = None


def grid(
    of: DesignLike,
    workload: Workloads = None,
    *,
    solver: Solver | str | Iterable[str] = "simulation",
    seeds: int | Sequence[int] = 1,
    knobs: Mapping[str, Values] | None = None,
    **more: Values,
) -> list[SweepPoint]:
    """Return every combination of knob values, workloads, solvers and seeds; the last knob varies fastest.

    Args:
        of: a design, or anything that `npexplore.design` takes.
        workload: one workload or several (None: the design's own).
        solver: "bounds", "queueing", "simulation", "estimate" (1 s per point), or several of them.
        seeds: the number of seeds, counted from 1, or the seeds themselves.
        knobs: for each knob one value, several values, or a `Span` of integers, all of which are used.
        more: knobs as keyword arguments, for names that are Python identifiers.

    Raises:
        UnknownNameError: a knob or solver that does not exist.
        InputError: a value out of range, or a knob without values. Both are raised before anything runs.

    Example:
        >>> import npexplore as npx
        >>> points = npx.grid("ixp2400", npx.workload(packet_bytes=64), solver="bounds", banks=[2, 4])
        >>> [design.parameters.banks for design, *_ in points]
        [2, 4]
    """
    base = design(of)
    return combined(_designs(base, {**(knobs or {}), **more}), workload, solver, seeds)


def combined(
    designs: Iterable[Design],
    workload: Workloads,
    solver: str | Iterable[str],
    seeds: int | Sequence[int],
) -> list[SweepPoint]:
    """Return the designs with every workload, solver and seed; raises InputError if one of these lists is empty."""
    machines = list(designs)
    loads = list(workload) if isinstance(workload, Iterable) and not isinstance(workload, str) else [workload]
    workloads = [machines[0].packets(load) for load in loads] if machines else []
    solvers = [one_of("solver", name, ASKABLE) for name in ([solver] if isinstance(solver, str) else solver)]
    numbers = list(range(1, seeds + 1)) if isinstance(seeds, int) else list(seeds)
    if not (workloads and solvers and numbers):
        raise InputError("a sweep needs at least one workload, one solver and one seed")
    return [
        SweepPoint(machine, load, name, seed)
        for load, machine, name in product(workloads, machines, solvers)
        for seed in (numbers if name in SEEDED else [None])
    ]


def listed(base: Design, name: str, values: Values) -> list[Value]:
    """Return the values of one knob, each once and in the parameter's own type; raises UnknownNameError, InputError."""
    if isinstance(values, Span):
        low, high = ends(base, name, values)
        if not isinstance(low, int) or not isinstance(high, int):
            raise InputError(f"knob {name} is not an integer; list its values for a grid, or take a sample")
        if high - low >= MOST_POINTS:
            raise InputError(f"span of knob {name} has {high - low + 1:,} values, at most {MOST_POINTS:,}")
        values = range(low, high + 1)
    listed = [values] if isinstance(values, str | int | float) else list(values)
    checked = [base.with_(**{name: value}).parameters[name] for value in dict.fromkeys(listed)]
    if not checked:
        base.with_(**{name: base.parameters[name]})
        raise InputError(f"knob {name} needs at least one value")
    return list(dict.fromkeys(checked))


def ends(base: Design, name: str, span: Span) -> tuple[int | float, int | float]:
    """Return both ends of a knob's span in the parameter's own type; raises UnknownNameError, InputError."""
    low, high = (base.with_(**{name: end}).parameters[name] for end in (span.low, span.high))
    if isinstance(low, str) or isinstance(high, str):
        raise InputError(f"knob {name} is a choice; list its values")
    if not low <= high:
        raise InputError(f"span of knob {name} must go upwards, got {low}..{high}")
    return low, high


def _designs(base: Design, knobs: Mapping[str, Values]) -> Iterator[Design]:
    choices = [listed(base, name, values) for name, values in knobs.items()]
    if (points := prod(map(len, choices))) > MOST_POINTS:
        raise InputError(f"a grid takes at most {MOST_POINTS:,} combinations of knobs, got {points:,}; take a sample")
    for combination in product(*choices):
        yield base.with_(**dict(zip(knobs, combination, strict=True)))
