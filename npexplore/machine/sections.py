"""Sections: what a packet does between taking units of a server and giving them back, along its way without contention.

    seconds of a server = sum over gives of units x time  -  sum over takes of units x time

whatever loops, branches and forks lie between. A packet of a group stands for many: times and units are weighted by its
share of all packets that come along. Turns of a loop may stand side by side: they are then rows of one group, turn
after turn. `spent` says where time goes by what is held meanwhile; from it solvers learn which servers are held over
which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from npexplore.errors import ModelError
from npexplore.machine.resources.base import Hold
from npexplore.rows.expressions import Values

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
    chosen: float = 0.0  # seconds that go to whichever member has the least to do

    def add(self, seconds: Values, member: Values | None, live: Flags, members: int, place: str) -> float:
        """Add weighted seconds (shape n) at a member and return their sum; raises ModelError for an unknown member."""
        total = float(seconds.sum())
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
        at = np.broadcast_to(np.asarray(member), seconds.shape).astype(np.int64)
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
        for size, share in zip(sizes.tolist(), np.bincount(which, path.weights).tolist(), strict=True):
            if share > 0:
                self.takes[size] = self.takes.get(size, 0.0) + share


@dataclass(eq=False)
class Open:
    """A section that has begun."""

    server: str
    key: object
    units: Values
    member: Values | None
    around: tuple[Open, ...] = ()  # what was held when it was taken
    clock: Values | None = None  # of the packets at that moment, weighted
    variance: float = 0.0  # of their time until then, as far as chance makes it, weighted


@dataclass
class Progress:
    """How far work has come: shares of packets, weighted time and units held (shape n each), what is open.

    turns: how many turns of loops stand side by side, each with n / turns packets. live: packets that come along.
    aside: whether this is forked work that holds nothing of the packet's, which goes on without it.
    """

    weights: Values
    clock: Values
    units: dict[str, Values] = field(default_factory=dict)
    open: tuple[Open, ...] = ()
    forked: bool = False
    turns: int = 1
    aside: bool = False
    live: Flags = field(init=False)
    total: float = field(init=False)  # of the shares

    def __post_init__(self) -> None:
        self.live = self.weights > 0
        self.total = float(self.weights.sum())

    @property
    def chain(self) -> Chain:
        """The servers held here, in the order in which they were taken."""
        return tuple(section.server for section in self.open)

    def where(self, share: Values) -> Progress:
        """Return the progress of a share of the packets (shape n, or one probability)."""
        units = {name: held * share for name, held in self.units.items()}
        return Progress(self.weights * share, self.clock * share, units, self.open, self.forked, self.turns, self.aside)

    def side_by_side(self, goes_on: Values) -> Progress:
        """Return the progress of turns that start here; goes_on: who takes part in each (0 or 1, shape turns x n)."""
        turns = len(goes_on)

        def each(values: Values) -> Values:
            return (values * goes_on).ravel()

        shares, clock, units = each(self.weights), each(self.clock), {name: each(u) for name, u in self.units.items()}
        return Progress(shares, clock, units, self.open, self.forked, self.turns * turns, self.aside)

    def after(self, turns: Progress, begun: Progress) -> None:
        """Go on behind turns that stood side by side; each must give back as much as it takes."""
        for name, held in turns.units.items():
            if (np.abs(held - begun.units.get(name, 0.0)) > SMALL).any():
                raise TurnsDifferError
            self.units.setdefault(name, np.zeros_like(self.clock))
        self.clock = self.clock + (turns.clock - begun.clock).reshape(-1, len(self.clock)).sum(axis=0)

    def rejoin(self, parts: Sequence[Progress]) -> None:
        """Go on where the shares of this path have come to."""
        self.clock = np.sum([part.clock for part in parts], axis=0)
        names = {name: None for part in parts for name in part.units}
        nothing = np.zeros_like(self.clock)
        self.units = {name: np.sum([part.units.get(name, nothing) for part in parts], axis=0) for name in names}

    def strand(self, forked: bool, open_: tuple[Open, ...], aside: bool = False) -> Progress:
        """Return the progress of work that starts here and goes on side by side."""
        away = aside or self.aside
        return Progress(self.weights, self.clock, dict(self.units), open_, forked or self.forked, self.turns, away)


@dataclass
class Sections:
    """Sections by server, and where time is spent: (servers held, server or "" for none) -> seconds per packet.

    overlap: by what is held, the seconds of `spent` that pass while the packet, or others of its own, go on: of work
    that took a holding along, of parallel parts but the longest. aside: by server, the seconds of forked work that has
    nothing of the packet's; they are not among those spent.
    """

    by_server: dict[str, Section] = field(default_factory=dict)
    spent: dict[tuple[Chain, str], float] = field(default_factory=dict)
    overlap: dict[Chain, float] = field(default_factory=dict)
    aside: dict[str, float] = field(default_factory=dict)
    total: float = 0.0  # of all seconds spent, without those that overlap

    def spend(self, path: Progress, server: str, seconds: float, limit: tuple[str, ...] = ()) -> None:
        """Note time at a server ("" for none) that is not also spent at a server inside it."""
        if not seconds:
            return
        chain = path.chain + limit
        if path.aside:
            self.beside(server or (chain[-1] if chain else ""), seconds)
            return
        self.total += seconds
        self.spent[chain, server] = self.spent.get((chain, server), 0.0) + seconds

    def beside(self, server: str, seconds: float) -> None:
        """Note time of forked work that has nothing of the packet's."""
        if seconds:
            self.aside[server] = self.aside.get(server, 0.0) + seconds

    def inside(self, server: str, units: Values, hold: Hold, path: Progress) -> None:
        """Note what a visit holds over other things, from its take to its give."""
        kept = self.by_server.setdefault(server, Section())
        if not path.total:
            return
        taken = np.broadcast_to(units, path.live.shape)
        seen = taken[path.live]
        kept.least, kept.most = min(kept.least, float(seen.min())), max(kept.most, float(seen.max()))
        kept.at_a_time = max(kept.at_a_time, float(seen.max()))
        kept.count(path, taken)
        kept.in_all += float(np.where(path.live, taken, 0.0).reshape(path.turns, -1).max(axis=1).sum())
        kept.outlives |= hold.outlives
        kept.crossed |= hold.crossed

    def overlaps(self, chain: Chain, seconds: float) -> None:
        """Note that seconds were spent while others of the same packet were."""
        if abs(seconds) > TINY:
            self.total -= seconds
            self.overlap[chain] = self.overlap.get(chain, 0.0) + seconds

    def begin(self, path: Progress, section: Open, members: int, allowed: tuple[int, int], place: str) -> None:
        """Take units, as many as are allowed (least and most)."""
        least, most = allowed
        kept, live = self.by_server.setdefault(section.server, Section()), path.live
        kept.in_visits = False
        section.around, section.clock = path.open, path.clock
        units = np.broadcast_to(section.units, live.shape)
        taken = units[live]
        outside = taken[(taken < least) | (taken > most)]
        if len(outside):
            raise ModelError(f"{place}: units of {section.server} must be in {least}..{most}, got {outside[0]:g}")
        kept.demand.add(-section.units * path.clock, section.member, live, members, f"{place}: {section.server}")
        kept.demand.visits += path.total
        kept.outlives |= path.forked
        held = path.units.get(section.server, 0.0) + section.units * path.weights
        path.units[section.server] = held
        if taken.all():
            path.open = (*path.open, section)
        elif taken.any():
            if path.turns > 1:
                raise TurnsDifferError
            kept.scattered = True
        if not taken.any():
            return
        kept.least, kept.most = min(kept.least, float(taken.min())), max(kept.most, float(taken.max()))
        kept.count(path, units)
        kept.in_all += float(np.where(live, units, 0.0).reshape(path.turns, -1).max(axis=1).sum())
        kept.at_a_time = max(kept.at_a_time, float(np.max(held[live] / path.weights[live])))

    def end(self, path: Progress, section: Open, base: int, members: int, place: str) -> None:
        """Give units; what was opened in this block stands in `path.open` from `base` on."""
        kept, live = self.by_server.setdefault(section.server, Section()), path.live
        kept.demand.add(section.units * path.clock, section.member, live, members, f"{place}: {section.server}")
        kept.outlives |= path.forked
        path.units[section.server] = path.units.get(section.server, 0.0) - section.units * path.weights
        kept.untied |= bool((path.units[section.server] < -SMALL).any())
        same = [k for k in range(base, len(path.open)) if _same(path.open[k], section, path)]
        begun = path.open[same[-1]] if same else section
        if begun.clock is not None and begun.clock.shape == path.clock.shape:
            held, chance = section.units * (path.clock - begun.clock), section.variance - begun.variance
            kept.demand.squares += float((held[live] ** 2 / path.weights[live]).sum()) + max(chance, 0.0)
        if same:
            self.close(path, same[-1])
        elif np.any(np.broadcast_to(section.units, live.shape)[live]):
            kept.scattered = True

    def close(self, path: Progress, at: int) -> None:
        """Take a section out of those that are open; those opened after it cross it."""
        ended = path.open[at].server
        for later in path.open[at + 1 :]:
            self.cross(ended, later.server)
        path.open = path.open[:at] + path.open[at + 1 :]

    def cross(self, a: str, b: str) -> None:
        """Note that two are held over overlapping times, neither inside the other."""
        self.by_server[a].crossed.add(b)
        self.by_server[b].crossed.add(a)

    def leave(self, path: Progress, base: int) -> None:
        """At the end of a block: what is still open there is given elsewhere."""
        for section in path.open[base:]:
            self.by_server[section.server].scattered = True
        path.open = path.open[:base]

    def tie(self, path: Progress, strand: Progress, parallel: bool) -> None:
        """Go on with the units that side by side work has left; what it took itself it must have given back."""
        for name, held in strand.units.items():
            gained = held - path.units.get(name, 0.0)
            self.by_server[name].untied |= bool(np.any(gained > SMALL))
            self.by_server[name].lent |= bool(np.any(gained > SMALL))
            self.by_server[name].outlives |= bool(np.any(np.abs(gained) > SMALL)) and not parallel
        path.units = strand.units

    def settle(self, path: Progress) -> None:
        """At the end of the program: sections that are not given as often as taken tell nothing."""
        for name, held in path.units.items():
            self.by_server[name].untied |= bool(np.any(np.abs(held) > SMALL))


def without(spent: dict[tuple[Chain, str], float], names: set[str]) -> dict[tuple[Chain, str], float]:
    """Return where time is spent if holding these servers is left out of account."""
    result: dict[tuple[Chain, str], float] = {}
    for (chain, server), seconds in spent.items():
        place = tuple(name for name in chain if name not in names), server
        result[place] = result.get(place, 0.0) + seconds
    return result


def _same(a: Open, b: Open, path: Progress) -> bool:
    if a.key != b.key:
        return False
    live = path.live
    same = (np.broadcast_to(a.units, live.shape) == np.broadcast_to(b.units, live.shape))[live]
    found = bool(same.all())
    if path.turns > 1 and ((not found and same.any()) or not _equal(a.member, b.member)):
        raise TurnsDifferError
    return found


def _equal(a: Values | None, b: Values | None) -> bool:
    return a is b or (a is not None and b is not None and np.array_equal(a, b))
