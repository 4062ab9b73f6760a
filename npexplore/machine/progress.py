"""State of a walk over a record: the seconds, the share and the holdings of each packet of a group.

A packet of a group represents the share of the workload's packets that are like it. Several iterations of a loop may
be walked at once: the arrays then hold the packets of the first iteration, then those of the second, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from npexplore.machine.amounts import for_each, repeated, total_of
from npexplore.machine.resources.base import OwnFaces, Resource, Server
from npexplore.rows.expressions import Values

Value = Any  # a number, or an array over packets
ALL = 1.0  # the share of a group that is not divided into packets
Chain = tuple[str, ...]  # servers held, in the order they were taken
SMALL = 1e-9  # units x share; smaller differences between takes and gives are rounding errors
ROUNDING_S = 1e-18  # shorter times are rounding errors
LEAST_DIVISOR = 1e-18  # smaller divisors (shares, visits, seconds) are replaced by this
MIN_GROUPED_PACKETS, MOST_DISTINCT = 64, 65535  # least packets, and largest operand, that `distinct` groups


class TurnsDifferError(Exception):
    """Iterations of a loop open or close different sections: walk them one by one, not as arrays."""


@dataclass(eq=False)
class Held:
    """Units of a server that a packet has taken."""

    server: Server
    key: object
    units: Value
    member: Values | None
    since: Value  # the clock of the packets at the take
    around: tuple[Held, ...] = ()  # what the packet held at the take
    variance: Value = 0.0  # random variance of the packets' time until the take, weighted by their share
    outlives: bool = False  # whether forked work gives the units back
    crossed: set[str] = field(default_factory=set)  # servers whose holding overlaps this one without nesting


@dataclass
class Progress:
    """The state of a walk at one step: each packet's elapsed seconds, units held and share, and the open holdings.

    share: the fraction of the workload's packets that each packet represents, 0 for those that do not reach the step
    (shape n, or a number for all). turns: how many loop iterations the arrays hold, each with n / turns packets. base:
    index in `open` of the first holding of this block. forked: whether the packet does not wait for this work. aside:
    whether such work also holds nothing of the packet. come: flags of the packets that reach the visit at all.
    """

    clock: Value
    share: Value = ALL
    units: dict[str, Value] = field(default_factory=dict)
    open: tuple[Held, ...] = ()
    forked: bool = False
    turns: int = 1
    aside: bool = False
    base: int = 0
    come: Value = True

    @cached_property
    def live(self) -> Any:
        """Flags of the packets that reach this step."""
        return self.come if self.share is ALL else (self.share > 0) & self.come

    @cached_property
    def total(self) -> float:
        """The sum of the shares."""
        return total_of(self.share)

    @property
    def chain(self) -> Chain:
        """The servers held here, in the order in which they were taken."""
        return tuple([held.server.name for held in self.open]) if self.open else ()

    def where(self, part: Value) -> Progress:
        """Return the state of a part of the packets (their fractions, shape n, or one probability)."""
        share, units, base = self.share * part, dict(self.units), len(self.open)
        return Progress(self.clock, share, units, self.open, self.forked, self.turns, self.aside, base, self.come)

    def rejoin(self, parts: Sequence[Value], sides: Sequence[Progress]) -> None:
        """Continue with the mean over branches: these parts of the packets took the sides, the rest stayed here."""
        pairs = list(zip(parts, sides, strict=True))
        self.clock = self.clock + sum(part * (side.clock - self.clock) for part, side in pairs)
        for name in {name: None for side in sides for name in side.units}:
            held = self.units.get(name, 0.0)
            self.units[name] = held + sum(part * (side.units.get(name, 0.0) - held) for part, side in pairs)

    def side_by_side(self, goes_on: Values) -> Progress:
        """Return the state of loop iterations that all start here.

        goes_on: whether each packet runs each iteration (0 or 1, shape turns x n).
        """
        turns = len(goes_on)
        units = {name: repeated(for_each(held, self.clock), turns) for name, held in self.units.items()}
        return replace(
            self, share=(self.share * goes_on).ravel(), clock=repeated(self.clock, turns), units=units,
            turns=self.turns * turns, base=len(self.open),
        )  # fmt: skip

    def after(self, turns: Progress, begun: Progress) -> None:
        """Continue after loop iterations that began as `begun` and ended as `turns`.

        Raises TurnsDifferError if an iteration does not give back as many units as it takes.
        """
        for name, held in turns.units.items():
            if (np.abs(held - begun.units.get(name, 0.0)) * turns.share > SMALL).any():
                raise TurnsDifferError
            self.units.setdefault(name, 0.0)
        passed = np.where(turns.share > 0, turns.clock - begun.clock, 0.0)
        self.clock = self.clock + passed.reshape(-1, len(self.clock)).sum(axis=0)

    def strand(self, forked: bool, open_: tuple[Held, ...], base: int, aside: bool = False) -> Progress:
        """Return the state of work that starts here and runs concurrently."""
        forked, aside = forked or self.forked, aside or self.aside
        return Progress(self.clock, self.share, dict(self.units), open_, forked, self.turns, aside, base, self.come)

    def without(self, held: Held) -> None:
        """Remove a holding from the open ones."""
        position = self.open.index(held)
        self.open = self.open[:position] + self.open[position + 1 :]


def distinct(
    resource: Resource, values: dict[str, Values | None], path: Progress
) -> tuple[dict[str, Values | None], Progress, Callable[[Any], Any]]:
    """Return distinct operands of a visit, their shares, and a function from results per operand to results per packet.

    Grouping pays where a single operand differs between packets and is a small whole number, such as bytes. In all
    other cases the operands are returned as they are.
    """
    if len(path.clock) < MIN_GROUPED_PACKETS or isinstance(resource, OwnFaces):
        return values, path, lambda results: results
    arrays = [(name, value) for name, value in values.items() if type(value) is np.ndarray and value.ndim]
    if len(arrays) != 1:
        return values, path, lambda results: results
    name, value = arrays[0]
    integer = np.where(path.live, value, 0.0).astype(np.int64)
    if integer.min() < 0 or integer.max() > MOST_DISTINCT or (path.live & (integer != value)).any():
        return values, path, lambda results: results
    present = np.zeros(int(integer.max()) + 1, dtype=np.bool_)
    present[integer] = True
    group = (np.cumsum(present) - 1)[integer]
    distinct = np.flatnonzero(present).astype(np.float64)
    shares: Values = np.bincount(group, path.share, len(distinct)).astype(np.float64)

    def each(own: Any) -> Any:
        return own[group] if type(own) is np.ndarray and own.ndim else own

    return {**values, name: distinct}, Progress(np.zeros_like(shares), shares), each
