"""A Petri net without indexes: places, transitions and arcs by number, with formulas over the marking.

A transition may fire in a marking M if M[p] >= w on arcs that take or test, M[p] < w on arcs that inhibit, its guards
hold, and no place exceeds its capacity; then M' = M - taken + given (Murata, Proc. IEEE 77(4), 1989).
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
    """A formula over the marking and the fields of a token, for one choice of the indexes.

    reads: numbers of the places that it reads. fields: fields of the token that it reads. random: whether it draws a
    random number. fed: whether it reads the workload.
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
        """Return the value in each of m markings; columns (P, m): tokens by place; row: values of the feed.

        Raises InputError for a division by zero in a marking of `live` (flags, shape (m,)).
        """
        evaluator = Evaluator(self.names, self.places, columns, carried, random, row=row, live=live)
        return np.asarray(evaluator.text(self.text))


class Target(NamedTuple):
    """The place of a family that an arc reaches, if a token's fields select it: the indexes, and their sizes."""

    at: tuple[int | Formula, ...]
    sizes: tuple[int, ...]


class Arc(NamedTuple):
    """An arc between a place (its number) and a transition; weight: the number of tokens that pass, or its formula.

    target: set if a token selects the place of a family; `place` is then the first place of the family.

    Example:
        >>> from npexplore.petri import Arc
        >>> Arc(0, 1)
        Arc(place=0, weight=1, target=None)
    """

    place: int
    weight: int | Formula
    target: Target | None = None


class Field(NamedTuple):
    """A field of tokens: whole numbers low..high (None: any), with the colour of an index (None: no colour)."""

    low: int | None = None
    high: int | None = None
    colour: str | None = None


class Place(NamedTuple):
    """A place: its initial tokens, and the number of tokens that it can hold (None: no limit).

    of: the type of its tokens, which carry data and leave in order of arrival (None: they carry nothing). carried:
    the fields of the initial tokens. resource: whether to report its utilization. port: whether tokens enter or leave
    the net here.

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
    """A transition: its arcs, guards and timing; `delay` None: it fires in no time.

    sets: fields of the tokens that it gives, in addition to those it took. delay: a formula if it depends on tokens.
    rate: firings per unit of time of one server, if the delay is exponential (None: 1 / its mean). servers: the
    largest number of clocks that run at once (None: as many as the tokens allow).

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
        """Whether firing takes time."""
        return self.delay is not None or self.rate is not None

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """The formulas over the marking that decide whether it fires, and how firing changes the marking."""
        return (*self.guards, *(arc.weight for arc in self.arcs if isinstance(arc.weight, Formula)))

    @property
    def arcs(self) -> tuple[Arc, ...]:
        """All arcs."""
        return (*self.take, *self.give, *self.test, *self.inhibit)

    @property
    def by_data(self) -> bool:
        """Whether fields of tokens decide whether it fires, or how firing changes the marking."""
        terms = (*self.formulas, self.rate, self.weight)
        return any(arc.target for arc in self.arcs) or any(isinstance(term, Formula) and term.fields for term in terms)


@dataclass(frozen=True, eq=False)
class Net:
    """A net without indexes. `timing`: firing takes time ("duration"), or clocks race for tokens ("race").

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
    types: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # types of tokens: their fields
    fields: Mapping[str, Field] = field(default_factory=dict)
    constants: Mapping[str, float] = field(default_factory=dict)
    measure: Mapping[str, str] = field(default_factory=dict)  # formulas of a Prediction
    utilization: Mapping[str, str] = field(default_factory=dict)  # formulas of utilizations, by resource
    feed: Mapping[str, Columns] = field(default_factory=dict)  # columns (n,) of the workload, read row by row
    ordered: bool = True  # whether rows keep this order; else each seed shuffles them
    notes: tuple[str, ...] = ()  # annotations of other tools in its file that were not read

    @property
    def initial(self) -> NDArray[np.int32]:
        """Return the initial marking (P,)."""
        return np.array([place.tokens for place in self.places], dtype=np.int32)

    def fed(self, columns: Mapping[str, Columns], *, ordered: bool = True) -> Net:
        """Return the net with a workload's columns (n,) instead of its file's feed; other columns are ignored.

        Raises InputError for a net without a feed, UnknownNameError for a missing column.
        """
        if not self.feed:
            raise InputError(f"net {self.name!r} takes no workload: it has no table [feed]")
        missing = [name for name in self.feed if name not in columns]
        if missing:
            raise UnknownNameError(f"net {self.name!r}: column of the workload", missing[0], columns)
        return replace(self, feed={name: np.asarray(columns[name], dtype=float) for name in self.feed}, ordered=ordered)

    def marking(self, tokens: Columns) -> dict[str, int]:
        """Return a marking as tokens by name, of the places that have tokens."""
        return {place.name: int(n) for place, n in zip(self.places, tokens, strict=True) if n}
