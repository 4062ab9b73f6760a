"""How far work has come along a record: each packet's seconds, its share of all packets, and what it holds.

A packet of a group stands for many, by its share of all packets that come along. Turns of a loop may stand side by
side: they are then rows of one group, turn after turn.
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
ALL = 1.0  # the share of packets that are not told apart
Chain = tuple[str, ...]  # servers held, in the order they were taken
SMALL = 1e-9
ROUNDING_S = 1e-18  # shorter times come of rounding
LEAST_DIVISOR = 1e-18  # shares, visits and seconds are divided by no less
MIN_GROUPED_PACKETS, MOST_DISTINCT = 64, 65535


class TurnsDifferError(Exception):
    """Turns of a loop that stand side by side open or close different sections: go through them one by one."""


@dataclass(eq=False)
class Held:
    """Units of a server from their take on."""

    server: Server
    key: object
    units: Value
    member: Values | None
    since: Value  # the clock of the packets at the take
    around: tuple[Held, ...] = ()  # what was held then
    variance: Value = 0.0  # of their time until then, as far as chance makes it, by their share
    outlives: bool = False  # whether forked work gives it
    crossed: set[str] = field(default_factory=set)  # held over an overlapping time, neither inside the other


@dataclass
class Progress:
    """How far work has come: each packet's seconds and units held, its share, what is held.

    share: of the workload's packets that each stands for, 0 for those that do not come along (shape n, or a number for
    all). turns: how many turns of loops stand side by side, each with n / turns packets. base: what this block opens
    stands in `open` from here on. forked: whether the packet goes on without this. aside: and it holds nothing of the
    packet's. come: which of the packets come along at all.
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
        """Which packets come along."""
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
        """Return the progress of a part of the packets (shape n, or one probability)."""
        share, units, base = self.share * part, dict(self.units), len(self.open)
        return Progress(self.clock, share, units, self.open, self.forked, self.turns, self.aside, base, self.come)

    def rejoin(self, parts: Sequence[Value], sides: Sequence[Progress]) -> None:
        """Go on where these parts of the packets have come to; the others stay where they are."""
        pairs = list(zip(parts, sides, strict=True))
        self.clock = self.clock + sum(part * (side.clock - self.clock) for part, side in pairs)
        for name in {name: None for side in sides for name in side.units}:
            held = self.units.get(name, 0.0)
            self.units[name] = held + sum(part * (side.units.get(name, 0.0) - held) for part, side in pairs)

    def side_by_side(self, goes_on: Values) -> Progress:
        """Return the progress of turns that start here; goes_on: who takes part in each (0 or 1, shape turns x n)."""
        turns = len(goes_on)
        units = {name: repeated(for_each(held, self.clock), turns) for name, held in self.units.items()}
        return replace(
            self, share=(self.share * goes_on).ravel(), clock=repeated(self.clock, turns), units=units,
            turns=self.turns * turns, base=len(self.open),
        )  # fmt: skip

    def after(self, turns: Progress, begun: Progress) -> None:
        """Go on behind turns that stood side by side; each must give back as much as it takes."""
        for name, held in turns.units.items():
            if (np.abs(held - begun.units.get(name, 0.0)) * turns.share > SMALL).any():
                raise TurnsDifferError
            self.units.setdefault(name, 0.0)
        passed = np.where(turns.share > 0, turns.clock - begun.clock, 0.0)
        self.clock = self.clock + passed.reshape(-1, len(self.clock)).sum(axis=0)

    def strand(self, forked: bool, open_: tuple[Held, ...], base: int, aside: bool = False) -> Progress:
        """Return the progress of work that starts here and goes on side by side."""
        forked, aside = forked or self.forked, aside or self.aside
        return Progress(self.clock, self.share, dict(self.units), open_, forked, self.turns, aside, base, self.come)

    def without(self, held: Held) -> None:
        """Hold this no longer."""
        at = self.open.index(held)
        self.open = self.open[:at] + self.open[at + 1 :]


def distinct(
    resource: Resource, values: dict[str, Values | None], path: Progress
) -> tuple[dict[str, Values | None], Progress, Callable[[Any], Any]]:
    """Return the distinct operands of many packets with their shares, and what gives each packet its own again.

    Where one operand alone differs between packets, and is a small whole number (bytes), few of them are distinct.
    """
    if len(path.clock) < MIN_GROUPED_PACKETS or isinstance(resource, OwnFaces):
        return values, path, lambda own: own
    arrays = [(name, value) for name, value in values.items() if type(value) is np.ndarray and value.ndim]
    if len(arrays) != 1:
        return values, path, lambda own: own
    name, value = arrays[0]
    number = np.where(path.live, value, 0.0).astype(np.int64)
    if number.min() < 0 or number.max() > MOST_DISTINCT or (path.live & (number != value)).any():
        return values, path, lambda own: own
    present = np.zeros(int(number.max()) + 1, dtype=np.bool_)
    present[number] = True
    at = (np.cumsum(present) - 1)[number]
    distinct = np.flatnonzero(present).astype(np.float64)
    shares: Values = np.bincount(at, path.share, len(distinct)).astype(np.float64)

    def each(own: Any) -> Any:
        return own[at] if type(own) is np.ndarray and own.ndim else own

    return {**values, name: distinct}, Progress(np.zeros_like(shares), shares), each
