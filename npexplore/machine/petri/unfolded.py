"""A Petri net without indexes: places, transitions and arcs by number, with formulas over the marking.

A transition may fire in a marking M where M[p] >= w on arcs that take or test, M[p] < w on those that inhibit, its
guards hold, and no place comes above its capacity; then M' = M - taken + given (Murata, Proc. IEEE 77(4), 1989).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from npexplore.errors import InputError, UnknownNameError
from npexplore.machine.petri.formulas import Evaluator, Places
from npexplore.rows.distributions import Distribution, Exponential

Columns = NDArray[Any]
Timing = Literal["duration", "race"]


@dataclass(frozen=True, eq=False)
class Formula:
    """A formula over the marking and what a token carries, for one choice of the indexes.

    reads: the places it names. fields: what of the token. random: whether chance decides. fed: whether the workload.
    """

    text: str
    names: Mapping[str, float]
    places: Places
    reads: frozenset[int]
    fields: frozenset[str] = frozenset()
    random: bool = False
    fed: bool = False

    def __call__(
        self, columns: Columns, carried: Mapping[str, float] | None = None,
        random: Callable[[], float] | None = None, row: Mapping[str, float] | None = None, live: Any = True,
    ) -> Columns:  # fmt: skip
        """Return the value in each of m markings; columns (P, m) are the tokens by place, row is what is fed.

        Raises InputError for a division by zero where it counts: in markings that are `live` (m,).
        """
        evaluator = Evaluator(self.names, self.places, columns, carried, random, row=row, live=live)
        return np.asarray(evaluator.text(self.text))


class Target(NamedTuple):
    """Which place of a family an arc means, where a token says it: the indexes, and their sizes."""

    at: tuple[int | Formula, ...]
    sizes: tuple[int, ...]


class Arc(NamedTuple):
    """An arc between a place, by number, and a transition; `weight` tokens pass, or as many as a formula says.

    target: where a token says which place of a family it is; `place` is the family's first then.

    Example:
        >>> from npexplore.petri import Arc
        >>> Arc(0, 1)
        Arc(place=0, weight=1, target=None)
    """

    place: int
    weight: int | Formula
    target: Target | None = None


class Field(NamedTuple):
    """Something that tokens carry: whole numbers low..high (None: any), of the colour of an index (None: of none)."""

    low: int | None = None
    high: int | None = None
    colour: str | None = None


class Place(NamedTuple):
    """A place: its tokens at first, and how many it holds at most (None: no limit).

    of: the type of its tokens, which carry data and leave in the order they came (None: they carry nothing). carried:
    what those at first carry. resource: its utilization is told. port: where tokens come in or go out.

    Example:
        >>> from npexplore.petri import load_net
        >>> load_net("tandem").places[0].name
        'First'
    """

    name: str
    tokens: int
    capacity: int | None
    of: str | None = None
    carried: tuple[tuple[str, int], ...] = ()
    resource: bool = False
    port: Literal["in", "out"] | None = None


@dataclass(frozen=True, eq=False)
class Transition:
    """A transition: its arcs, guards, and when it fires; `delay` None: in no time.

    sets: what the tokens that it gives carry beyond what it took. delay: a formula where tokens say how long it takes.
    rate: firings a unit of time of one server, where the delay is exponential (None: its mean tells). servers: how many
    clocks run at once at most (None: as many as the tokens allow).

    Example:
        >>> from npexplore.petri import load_net
        >>> load_net("tandem").transitions[0].name
        'arrive'
    """

    name: str
    take: tuple[Arc, ...]
    give: tuple[Arc, ...]
    test: tuple[Arc, ...] = ()
    inhibit: tuple[Arc, ...] = ()
    guards: tuple[Formula, ...] = ()
    sets: tuple[tuple[str, int | Formula], ...] = ()
    delay: Distribution | Formula | None = None
    rate: float | Formula | None = None
    priority: int = 0
    weight: float | Formula = 1.0
    servers: int | None = 1

    def __post_init__(self) -> None:
        if self.rate is None and isinstance(self.delay, Exponential):
            object.__setattr__(self, "rate", 1.0 / self.delay.mean)

    @property
    def timed(self) -> bool:
        """Whether it takes time."""
        return self.delay is not None or self.rate is not None

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """The formulas over the marking that decide whether it fires, and what that does."""
        return (*self.guards, *(arc.weight for arc in self.arcs if isinstance(arc.weight, Formula)))

    @property
    def arcs(self) -> tuple[Arc, ...]:
        """All arcs."""
        return (*self.take, *self.give, *self.test, *self.inhibit)

    @property
    def by_data(self) -> bool:
        """Whether what tokens carry decides if it fires, or what that does to the marking."""
        said = (*self.formulas, self.rate, self.weight)
        return any(arc.target for arc in self.arcs) or any(isinstance(one, Formula) and one.fields for one in said)


@dataclass(frozen=True, eq=False)
class Net:
    """A net without indexes. `timing`: firing takes time ("duration"), or clocks race for the tokens ("race").

    Example:
        >>> from npexplore.petri import load_net
        >>> net = load_net("tandem")
        >>> len(net.places), len(net.transitions)
        (4, 5)
    """

    name: str
    timing: Timing
    places: tuple[Place, ...]
    transitions: tuple[Transition, ...]
    types: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of tokens: what they carry
    fields: Mapping[str, Field] = field(default_factory=dict)
    constants: Mapping[str, float] = field(default_factory=dict)
    measure: Mapping[str, str] = field(default_factory=dict)  # formulas of a Prediction
    utilization: Mapping[str, str] = field(default_factory=dict)  # the same: how busy what it names is
    feed: Mapping[str, Columns] = field(default_factory=dict)  # what `feed` reads: columns (n,), a row at a time
    ordered: bool = True  # rows come in this order; else each seed has its own
    notes: tuple[str, ...] = ()  # what other tools wrote into its file that was not read

    @property
    def initial(self) -> NDArray[np.int32]:
        """Return the marking (P,) at first."""
        return np.array([place.tokens for place in self.places], dtype=np.int32)

    def fed(self, columns: Mapping[str, Columns], *, ordered: bool = True) -> Net:
        """Return the net with a workload's columns (n,) in place of what its file feeds; others of them are unused.

        Raises InputError for a net that takes none, or where one is missing.
        """
        if not self.feed:
            raise InputError(f"net {self.name!r} takes no workload: it has no table [feed]")
        missing = [name for name in self.feed if name not in columns]
        if missing:
            raise UnknownNameError(f"net {self.name!r}: column of the workload", missing[0], columns)
        return replace(self, feed={name: np.asarray(columns[name], dtype=float) for name in self.feed}, ordered=ordered)

    def marking(self, tokens: Columns) -> dict[str, int]:
        """Return a marking by the names of the places that have tokens."""
        return {place.name: int(n) for place, n in zip(self.places, tokens, strict=True) if n}
