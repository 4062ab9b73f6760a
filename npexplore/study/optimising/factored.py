"""Learns functions of a machine's knobs over a whole grid from few machines, by splitting off knobs that only scale.

    f(x) = T(x of the joint knobs) x product over the scaling knobs k of s_k(x_k)

Most demands are products of functions of single knobs (threads, engines, widths, clocks). A knob scales a function if
the function's values along the knob's axis keep their proportions wherever the other knobs are, which is tested from a
few base points. Machines are built only for combinations of the other, joint knobs. Random points of the grid are then
built and compared. A point that differs becomes a base point, and everything is learned again; in the last round all
knobs are joint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

from npexplore.errors import InputError
from npexplore.machine.parameters import Value

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Place = tuple[int, ...]  # a grid point: the index of its value on each axis
Evaluate = Callable[[dict[str, Value]], "Mapping[str, float] | None"]

BASES = 3  # base points from which every axis is tested
SMALL = 700  # grids of up to this many points are tested for possibility at every point
PLACES = 12  # random points from which possibility is tested along every axis
CHECKS = 24  # random points that are built and compared
ROUNDS = 3
SAME = 1e-9
MOST_BUILDS = 20_000


@dataclass
class Factored:
    """The functions of one grid. axes: values by knob; possible: flags in the grid's shape; built: number of machines
    built; checked: number of random points at which every function was compared.
    """

    axes: Mapping[str, Sequence[Value]]
    possible: Flags
    factors: dict[str, list[Floats]] = field(default_factory=dict)
    built: int = 0
    checked: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values on each axis."""
        return tuple(len(values) for values in self.axes.values())

    def full(self, name: str) -> Floats:
        """Return a function over the whole grid (0 if no machine has it; nan where no machine is possible)."""
        product = np.ones(self.shape)
        for part in self.factors.get(name, [np.zeros((1,) * len(self.shape))]):
            product *= part
        product[~self.possible] = np.nan
        return product

    def values(self, place: Sequence[int]) -> dict[str, Value]:
        """Return the knobs of a point."""
        return {name: listed[k] for (name, listed), k in zip(self.axes.items(), place, strict=True)}


def factored(
    axes: Mapping[str, Sequence[Value]], evaluate: Evaluate, possible: Callable[[dict[str, Value]], bool], seed: int = 1
) -> Factored:
    """Return the functions that `evaluate` gives at a point (None: impossible) over the grid of some axes.

    possible: returns whether a machine is possible, faster than `evaluate`. Raises InputError if too many machines
    would have to be built.
    """
    return _Learner(axes, evaluate, possible, np.random.default_rng(seed)).learn()


class _Learner:
    """Tests which knobs scale, tabulates the functions, and checks them; caches evaluations by grid point."""

    def __init__(
        self, axes: Mapping[str, Sequence[Value]], evaluate: Evaluate, possible: Callable[[dict[str, Value]], bool],
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        self.axes, self.rng = {name: tuple(values) for name, values in axes.items()}, rng
        self.names = list(self.axes)
        self.shape = tuple(len(values) for values in self.axes.values())
        self._evaluate, self._possible = evaluate, possible
        self.seen: dict[Place, Mapping[str, float] | None] = {}
        self.could: dict[Place, bool] = {}

    def at(self, place: Place) -> Mapping[str, float] | None:
        """Return the functions at a grid point, evaluated once; None where no machine is possible."""
        if place not in self.seen:
            self.seen[place] = self._evaluate(self._values(place)) if self.can(place) else None
        return self.seen[place]

    def can(self, place: Place) -> bool:
        """Return whether a machine is possible at a grid point, evaluated once."""
        if place not in self.could:
            self.could[place] = self._possible(self._values(place))
        return self.could[place]

    def _values(self, place: Place) -> dict[str, Value]:
        return {name: values[k] for (name, values), k in zip(self.axes.items(), place, strict=True)}

    def learn(self) -> Factored:
        bound = self._possibility()
        learned = Factored(self.axes, self._over(bound, self.can))
        if not learned.possible.any():
            return learned
        bases = self._possible_places(learned.possible, BASES)
        checks = self._possible_places(learned.possible, CHECKS)
        joint_of: dict[str, frozenset[int]] = {}
        extra: frozenset[int] = frozenset()
        for attempt in range(ROUNDS + 1):
            joint_of = self._joint(bases) if attempt < ROUNDS else {}
            everything = frozenset(k for k, n in enumerate(self.shape) if n > 1)
            learned.factors = {
                name: self._factors(name, (joint_of[name] | extra) if attempt < ROUNDS else everything, bases[0])
                for name in self._names(bases + checks)
            }
            holes = any(np.isnan(self._product(parts))[learned.possible].any() for parts in learned.factors.values())
            wrong = [place for place in checks if not self._right(learned.factors, place)]
            if not holes and not wrong:
                break
            extra |= frozenset(bound) if holes else frozenset()
            bases = [*wrong[:BASES], *bases]
        learned.built, learned.checked = sum(functions is not None for functions in self.seen.values()), len(checks)
        return learned

    def _possibility(self) -> list[int]:
        """Return the axes along which machines become possible or impossible; for a small grid all axes."""
        if prod(self.shape) <= SMALL:
            return [k for k, n in enumerate(self.shape) if n > 1]
        return [
            k for k, n in enumerate(self.shape)
            if any(len({self.can((*place[:k], j, *place[k + 1 :])) for j in range(n)}) > 1 for place in self.tried())
        ]  # fmt: skip

    def tried(self) -> list[Place]:
        """Return the points from which possibility is tested, equal at every call: both corners and random points."""
        rng = np.random.default_rng(len(self.shape))
        ends = [tuple(0 for _ in self.shape), tuple(n - 1 for n in self.shape)]
        return ends + [tuple(int(rng.integers(n)) for n in self.shape) for _ in range(PLACES)]

    def _over(self, axes: Sequence[int], can: Callable[[Place], bool]) -> Flags:
        """Return flags over the whole grid that only depend on some axes."""
        self._limit(axes)
        small = np.zeros([self.shape[k] if k in axes else 1 for k in range(len(self.shape))], dtype=np.bool_)
        for place in product(*(range(n) for n in small.shape)):
            small[place] = can(place)
        return np.array(np.broadcast_to(small, self.shape))

    def _possible_places(self, possible: Flags, count: int) -> list[Place]:
        """Return random possible points, those with the fewest impossible points along their axes first."""
        flat = np.flatnonzero(possible)
        indices = self.rng.choice(flat, min(count, len(flat)), replace=False)
        places = [tuple(int(k) for k in np.unravel_index(index, self.shape)) for index in indices]
        return [place for place in sorted(places, key=self._blocked) if self.at(place) is not None] or places[:1]

    def _blocked(self, place: Place) -> int:
        return sum(not self.can((*place[:k], j, *place[k + 1 :])) for k, n in enumerate(self.shape) for j in range(n))

    def _names(self, places: Sequence[Place]) -> list[str]:
        return list(dict.fromkeys(name for place in places for name in (self.at(place) or {})))

    def _joint(self, bases: Sequence[Place]) -> dict[str, frozenset[int]]:
        """Return by function the axes that do not only scale it, tested from the base points."""
        names = self._names(bases)
        joint: dict[str, set[int]] = {name: set() for name in names}
        for k, n in enumerate(self.shape):
            probes = range(n) if n <= 3 else (0, int(self.rng.integers(1, n - 1)), n - 1)
            lines = [{j: self.at((*base[:k], j, *base[k + 1 :])) for j in {*probes, base[k]}} for base in bases]
            for name in names:
                if n > 1 and not all(_proportional(name, lines[0], line) for line in lines[1:]):
                    joint[name].add(k)
        return {name: frozenset(axes) for name, axes in joint.items()}

    def _limit(self, axes: Sequence[int] | frozenset[int]) -> None:
        if (machines := prod(self.shape[k] for k in axes)) > MOST_BUILDS:
            listed = ", ".join(self.names[k] for k in sorted(axes))
            raise InputError(f"{machines:,} combinations of {listed} would have to be built one by one, at most "
                             f"{MOST_BUILDS:,}; give these knobs fewer values")  # fmt: skip

    def _factors(self, name: str, joint: frozenset[int], base: Place) -> list[Floats]:
        """Return the table over the joint axes and the scale along each other axis, ready to be broadcast."""
        self._limit(joint)
        table = np.empty([n if k in joint else 1 for k, n in enumerate(self.shape)])
        for place in product(*(range(n) for n in table.shape)):
            table[place] = self._value(name, tuple(j if k in joint else base[k] for k, j in enumerate(place)))
        parts, base_value = [table], self._value(name, base)
        for k, n in enumerate(self.shape):
            if k not in joint and n > 1:
                line = np.array([self._value(name, (*base[:k], j, *base[k + 1 :])) for j in range(n)])
                scale = line / base_value if base_value else np.where(np.isnan(line), np.nan, 1.0)
                parts.append(scale.reshape([n if j == k else 1 for j in range(len(self.shape))]))
        return parts

    def _value(self, name: str, place: Place) -> float:
        functions = self.at(place)
        return float("nan") if functions is None else functions.get(name, 0.0)

    def _product(self, parts: Sequence[Floats]) -> Floats:
        product = np.ones(self.shape)
        for part in parts:
            product *= part
        return product

    def _right(self, factors: Mapping[str, Sequence[Floats]], place: Place) -> bool:
        """Return whether the factors give the values of the machine at a grid point."""
        functions = self.at(place)
        if functions is None:
            return True
        for name, parts in factors.items():
            learned = prod(float(part[tuple(min(j, n - 1) for j, n in zip(place, part.shape, strict=True))])
                           for part in parts)  # fmt: skip
            if not np.isclose(learned, functions.get(name, 0.0), rtol=SAME, atol=0.0, equal_nan=False):
                return bool(np.isnan(learned))  # nan values are handled as holes in `learn`
        return True


def _proportional(
    name: str, one: Mapping[int, Mapping[str, float] | None], other: Mapping[int, Mapping[str, float] | None]
) -> bool:
    """Return whether a function is proportional on two lines along an axis, at points possible on both lines."""
    pairs = [
        (a.get(name, 0.0), b.get(name, 0.0)) for j in one.keys() & other.keys()
        if (a := one[j]) is not None and (b := other[j]) is not None
    ]  # fmt: skip
    if len(pairs) < 2:
        return True
    (first, second), *rest = sorted(pairs, key=lambda pair: -abs(pair[0] * pair[1]))
    return all(np.isclose(a * second, first * b, rtol=SAME, atol=0.0) for a, b in rest)
