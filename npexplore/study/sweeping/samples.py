"""Samples a space of knobs: at random, by a Latin hypercube, or by Sobol's sequence (scipy.stats.qmc).

A coordinate u of the unit cube becomes a knob value. Span: low + u (high - low), or low (high / low)^u if logarithmic;
the integers of a span have equal shares of 0..1, and so have listed values.
Latin hypercube: McKay, Beckman and Conover, Technometrics 21, 1979. Sobol, USSR Comp. Math. 7, 1967, scrambled (Owen).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import exp, floor, log
from typing import Literal

import numpy as np
import numpy.typing as npt

from npexplore.designs import Design, DesignLike, design
from npexplore.errors import InputError, one_of
from npexplore.machine.parameters import Value
from npexplore.solve.solvers import Solver
from npexplore.study.sweeping.grid import (
    MOST_POINTS,
    Span,
    SweepPoint,
    Values,
    Workloads,
    combined,
    ends,
    listed,
)

Floats = npt.NDArray[np.float64]


def _random(n: int, d: int, rng: np.random.Generator) -> Floats:
    return rng.random((n, d))


def _latin_hypercube(n: int, d: int, rng: np.random.Generator) -> Floats:
    from scipy.stats import qmc

    return np.asarray(qmc.LatinHypercube(d, rng=rng).random(n))


def _sobol(n: int, d: int, rng: np.random.Generator) -> Floats:
    from scipy.stats import qmc

    return np.asarray(qmc.Sobol(d, rng=rng).random_base2((n - 1).bit_length()))[:n]


METHODS: dict[str, Callable[[int, int, np.random.Generator], Floats]] = {
    "random": _random,
    "latin_hypercube": _latin_hypercube,
    "sobol": _sobol,
}


def sample(
    of: DesignLike,
    workload: Workloads = None,
    *,
    n: int,
    method: Literal["random", "latin_hypercube", "sobol"] | str = "sobol",
    sample_seed: int = 1,
    solver: Solver | str | Iterable[str] = "simulation",
    seeds: int | Sequence[int] = 1,
    knobs: Mapping[str, Values] | None = None,
    **more: Values,
) -> list[SweepPoint]:
    """Return n samples of a space of knobs, each with every workload, solver and seed.

    The same `sample_seed` gives the same points. A "sobol" sample of n points is the beginning of every longer one, and
    covers the space best if n is a power of 2.

    Args:
        of: a design, or anything that `npexplore.design` takes.
        workload: one workload or several (None: the design's own).
        n: the number of samples.
        method: a name of `METHODS`.
        sample_seed: seed of the samples.
        solver: "bounds", "queueing", "simulation", or several of them.
        seeds: the number of seeds of the simulation, counted from 1, or the seeds themselves.
        knobs: for each knob a `Span`, or the values to choose from; a single value is used at all points.
        more: knobs as keyword arguments, for names that are Python identifiers.

    Raises:
        UnknownNameError: a knob, method or solver that does not exist.
        InputError: a value out of range, or a knob without values. Both are raised before anything runs.

    Example:
        >>> import npexplore as npx
        >>> points = npx.sample("ixp2400", npx.workload(packet_bytes=64), n=4, solver="bounds", threads=npx.Span(8, 32))
        >>> len(points)
        4
    """
    base = design(of)
    one_of("sampling method", method, METHODS)
    if n < 1 or n != int(n):
        raise InputError(f"a sample needs at least one point, got {n}")
    if n > MOST_POINTS:
        raise InputError(f"a sample takes at most {MOST_POINTS:,} points, got {n:,}")
    spaces = {name: _space(base, name, values) for name, values in {**(knobs or {}), **more}.items()}
    if not spaces:
        raise InputError("a sample needs at least one knob to vary")
    coordinates = METHODS[method](int(n), len(spaces), np.random.default_rng(sample_seed))
    runs = [
        base.with_(**{name: space(float(u)) for (name, space), u in zip(spaces.items(), row, strict=True)})
        for row in coordinates
    ]
    return combined(runs, workload, solver, seeds)


def _space(base: Design, name: str, values: Values) -> Callable[[float], Value]:
    """Return the function from 0 <= u < 1 to a value of a knob; raises UnknownNameError, InputError."""
    if not isinstance(values, Span):
        choices = listed(base, name, values)
        return lambda u: choices[min(floor(u * len(choices)), len(choices) - 1)]
    low, high = ends(base, name, values)
    if values.log and low <= 0:
        raise InputError(f"a logarithmic span of knob {name} must begin above 0, got {low}")
    if isinstance(low, int) and isinstance(high, int):
        first, last = (float(low), high + 1.0) if not values.log else (log(low), log(high + 1.0))
        return lambda u: min(floor((exp if values.log else float)(first + u * (last - first)) + 1e-12), high)
    first, last = (log(low), log(high)) if values.log else (low, high)
    return lambda u: (exp if values.log else float)(first + u * (last - first))
