"""Sections: what a packet does between taking units of a server and giving them back, along its way without contention.

    seconds of a server = sum over gives of units x time  -  sum over takes of units x time

whatever loops, branches and forks lie between. A packet of a group stands for many, by its share of all packets that
come along. Turns of a loop may stand side by side: they are then rows of one group, turn after turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from npexplore.errors import ModelError
from npexplore.machine.amounts import for_each, repeated, total_of
from npexplore.machine.resources.base import Hold, Server
from npexplore.machine.visit_counts import VisitCounts
from npexplore.rows.expressions import Values

Value = Any  # a number, or an array over packets
ALL = 1.0  # the share of packets that are not told apart
Chain = tuple[str, ...]  # servers held, in the order they were taken
Flags = npt.NDArray[np.bool_]
SMALL = 1e-9
TINY = 1e-18  # seconds that are rounding


class TurnsDifferError(Exception):
    """Turns of a loop that stand side by side open or close different sections: go through them one by one."""


@dataclass
class Demand:
    """Per packet: seconds occupied, visits, the sum of their squared times, and each member's seconds.

    variance: of the seconds, as far as chance makes it and not the packet.
    """

    seconds: float = 0.0
    visits: float = 0.0
    squares: float = 0.0
    variance: float = 0.0
    members: dict[int, float] = field(default_factory=dict)
    spread: float = 0.0  # seconds that fall evenly on all members
    chosen: float = 0.0  # seconds that go to whichever member has the least to do, or is next
    in_turn: float = 0.0  # of those spread, seconds that go to members in turn, whose times vary too much for one line

    def add(self, seconds: Values, member: Values | None, live: Flags, members: int, place: str) -> float:
        """Add weighted seconds (shape n) at a member and return their sum; raises ModelError for an unknown member."""
        total = total_of(seconds)
        self.seconds += total
        if member is None:
            self.spread += total
            return total
        if members == 1 and type(member) is not np.ndarray and member == 0:
            self.members[0] = self.members.get(0, 0.0) + total
            return total
        if np.isnan(member).any():
            self.chosen += total
            return total
        at = for_each(member, seconds).astype(np.int64)
        outside = live & ((at < 0) | (at >= members))
        if outside.any():
            raise ModelError(f"{place} has members 0..{members - 1}, got {at[outside][0]}")
        there = at[live]
        shares, seen = np.bincount(there, seconds[live]).tolist(), np.bincount(there)
        for number in np.flatnonzero(seen).tolist():
            self.members[number] = self.members.get(number, 0.0) + shares[number]
        return total

    @property
    def scv(self) -> float:
        """Return the squared coefficient of variation of the time of a visit."""
        if not self.seconds > 0:
            return 1.0
        return max(self.visits * self.squares / self.seconds**2 - 1.0, 0.0)

    def largest(self, members: int) -> float:
        """Return the seconds at the most loaded member; what can be chosen goes where there is room."""
        fixed = self.spread / members + max(self.members.values(), default=0.0)
        return max(fixed, (self.spread + self.chosen + sum(self.members.values())) / members)

    def merge(self, other: Demand) -> None:
        """Add another demand."""
        self.seconds += other.seconds
        self.visits += other.visits
        self.squares += other.squares
        self.variance += other.variance
        self.spread += other.spread
        self.chosen += other.chosen
        self.in_turn += other.in_turn
        for number, share in other.members.items():
            self.members[number] = self.members.get(number, 0.0) + share


@dataclass
class Section:
    """All that happens while packets hold a server, for a solver that asks who could wait for it."""

    demand: Demand = field(default_factory=Demand)
    least: float = float("inf")  # units taken at once
    most: float = 0.0
    takes: dict[float, float] = field(default_factory=dict)  # by units, how many per packet
    at_a_time: float = 0.0  # units that a packet has at one time, at most
    in_all: float = 0.0  # units that a packet takes in all, at most
    crossed: set[str] = field(default_factory=set)  # held over an overlapping time, neither inside the other
    scattered: bool = False  # taken and given in different blocks, or by some packets only
    outlives: bool = False  # taken or given by forked work, so that one thread may have several
    untied: bool = False  # what is taken is not what is given: the time between is not known
    lent: bool = False  # and forked work has taken what it does not give
    in_visits: bool = True  # held inside visits only, never by a program

    @property
    def needed(self) -> float:
        """Units that a packet has at one time, at most."""
        return self.in_all if self.scattered else self.at_a_time

    def count(self, path: Progress, units: Values) -> None:
        """Count takes of so many units (shape n)."""
        sizes, which = np.unique(units, return_inverse=True)
        for size, share in zip(sizes.tolist(), np.bincount(which, path.share).tolist(), strict=True):
            if share > 0:
                self.takes[size] = self.takes.get(size, 0.0) + share


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


@dataclass
class Sections:
    """Sections by server."""

    by_server: dict[str, Section] = field(default_factory=dict)
    counts: VisitCounts = field(default_factory=VisitCounts)

    def inside(self, server: str, units: Values, hold: Hold, path: Progress) -> None:
        """Note what a visit holds over other things, from its take to its give."""
        totals = self.by_server.setdefault(server, Section())
        if not path.total:
            return
        taken = for_each(units, path.live)
        seen = taken[path.live]
        totals.least, totals.most = min(totals.least, float(seen.min())), max(totals.most, float(seen.max()))
        totals.at_a_time = max(totals.at_a_time, float(seen.max()))
        totals.count(path, taken)
        totals.outlives |= hold.outlives
        totals.crossed |= hold.crossed

    def take_in_all(self, server: str, units: Values, path: Progress) -> None:
        """Count what a packet takes in all, at most: in each turn as many units as the packet that takes most."""
        taken = np.where(path.live, units, 0.0)
        self.by_server[server].in_all += float(taken.reshape(path.turns, -1).max(axis=1).sum())

    def begin(self, path: Progress, section: Held, least: int, place: str) -> None:
        """Take units, at least so many and at most all of a member."""
        server, live, most = section.server, path.live, section.server.units
        totals = self.by_server.setdefault(server.name, Section())
        totals.in_visits = False
        units = for_each(section.units, live)
        taken = units[live]
        if ((taken < least) | (taken > most)).any():
            outside = taken[(taken < least) | (taken > most)]
            raise ModelError(f"{place}: units of {server.name} must be in {least}..{most}, got {outside[0]:g}")
        self._add(totals, path, section, -1.0, place)
        totals.demand.visits += path.total
        self.counts.count((path.chain, server.name), path.total, 0.0)
        held = path.units[server.name]
        if taken.all():
            path.open = (*path.open, section)
        elif taken.any():
            if path.turns > 1:
                raise TurnsDifferError
            totals.scattered = True
        if not taken.any():
            return
        totals.least, totals.most = min(totals.least, float(taken.min())), max(totals.most, float(taken.max()))
        totals.count(path, units)
        self.take_in_all(server.name, units, path)
        totals.at_a_time = max(totals.at_a_time, float(for_each(held, live)[live].max()))

    def end(self, path: Progress, section: Held, place: str) -> None:
        """Give units."""
        server, live = section.server, path.live
        totals = self.by_server.setdefault(server.name, Section())
        self._add(totals, path, section, 1.0, place)
        totals.untied |= bool((path.units[server.name] * path.share < -SMALL).any())
        same = [k for k in range(path.base, len(path.open)) if _same(path.open[k], section, path)]
        begun = path.open[same[-1]] if same else section
        if begun.since is not None and begun.since.shape == path.clock.shape:
            held, chance = section.units * (path.clock - begun.since), section.variance - begun.variance
            squares = float((held**2 * path.share)[live].sum()) + max(chance, 0.0)
            totals.demand.squares += squares
            self.counts.count((tuple(one.server.name for one in begun.around), server.name), 0.0, squares)
        if same:
            self.close(path, same[-1])
        elif for_each(section.units, live)[live].any():
            totals.scattered = True

    def _add(self, totals: Section, path: Progress, section: Held, sign: float, place: str) -> None:
        """Add unit-seconds up to now: those of gives less those of takes are what is held."""
        server, weighted = section.server, section.units * path.clock * path.share
        totals.demand.add(sign * weighted, section.member, path.live, server.members, f"{place}: {server.name}")
        totals.outlives |= path.forked
        path.units[server.name] = path.units.get(server.name, 0.0) - sign * section.units

    def close(self, path: Progress, at: int) -> None:
        """Take a section out of those that are open; those opened after it cross it."""
        ended = path.open[at]
        for later in path.open[at + 1 :]:
            self.by_server[ended.server.name].crossed.add(later.server.name)
            self.by_server[later.server.name].crossed.add(ended.server.name)
        path.without(ended)

    def leave(self, path: Progress) -> None:
        """At the end of a block: what is still open there is given elsewhere."""
        for section in path.open[path.base :]:
            self.by_server[section.server.name].scattered = True
        path.open = path.open[: path.base]

    def tie(self, path: Progress, strand: Progress, parallel: bool) -> None:
        """Go on with the units that side by side work has left; what it took itself it must have given back."""
        for name, held in strand.units.items():
            before = path.units.get(name, 0.0)
            if held is before:
                continue
            gained, section = (held - before) * path.share, self.by_server[name]
            more = bool((gained > SMALL).any())
            section.untied |= more
            section.lent |= more
            section.outlives |= not parallel and bool((np.abs(gained) > SMALL).any())
        path.units = strand.units

    def settle(self, path: Progress) -> None:
        """At the end of the program: sections that are not given as often as taken tell nothing."""
        for name, held in path.units.items():
            self.by_server[name].untied |= bool(np.any(np.abs(held * path.share) > SMALL))


def without(spent: dict[tuple[Chain, str], Any], names: set[str]) -> dict[tuple[Chain, str], Any]:
    """Return where time is spent if holding these servers is left out of account."""
    result: dict[tuple[Chain, str], Any] = {}
    for (chain, server), seconds in spent.items():
        place = tuple(name for name in chain if name not in names), server
        result[place] = result.get(place, 0.0) + seconds
    return result


def _same(a: Held, b: Held, path: Progress) -> bool:
    if a.key != b.key:
        return False
    live = path.live
    same = (for_each(a.units, live) == for_each(b.units, live))[live]
    equal = bool(same.all())
    if path.turns > 1 and ((not equal and same.any()) or not _equal(a.member, b.member)):
        raise TurnsDifferError
    return equal


def _equal(a: Values | None, b: Values | None) -> bool:
    return a is b or (a is not None and b is not None and np.array_equal(a, b))
