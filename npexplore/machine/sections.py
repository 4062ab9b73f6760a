"""Demands, and sections: what a packet does between taking units of a server and giving them back, without contention.

    seconds of a server = sum over gives of units x time  -  sum over takes of units x time

This holds for any loops, branches and forks between takes and gives.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from npexplore.errors import ModelError
from npexplore.machine.amounts import for_each, total_of
from npexplore.machine.progress import SMALL, Chain, Held, Progress, TurnsDifferError
from npexplore.machine.resources.base import Hold
from npexplore.machine.visit_counts import VisitCounts
from npexplore.rows.expressions import Values

Flags = npt.NDArray[np.bool_]


@dataclass
class Demand:
    """Demand of a packet at a server: seconds occupied, visits, the sum of their squared times, each member's seconds.

    variance: of the seconds, from random choices and times only, not from differences between packets.
    """

    seconds: float = 0.0
    visits: float = 0.0
    squares: float = 0.0
    variance: float = 0.0
    members: dict[int, float] = field(default_factory=dict)
    spread: float = 0.0  # seconds that fall evenly on all members
    chosen: float = 0.0  # seconds at the least loaded member, or at the next one in turn
    in_turn: float = 0.0  # part of `spread`: members in turn whose times vary too much to count as one queue

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
        numbers = for_each(member, seconds).astype(np.int64)
        outside = live & ((numbers < 0) | (numbers >= members))
        if outside.any():
            raise ModelError(f"{place} has members 0..{members - 1}, got {numbers[outside][0]}")
        visited = numbers[live]
        shares, occurrences = np.bincount(visited, seconds[live]).tolist(), np.bincount(visited)
        for number in np.flatnonzero(occurrences).tolist():
            self.members[number] = self.members.get(number, 0.0) + shares[number]
        return total

    @property
    def scv(self) -> float:
        """Return the squared coefficient of variation of the time of a visit (1 if no time is spent)."""
        if not self.seconds > 0:
            return 1.0
        return max(self.visits * self.squares / self.seconds**2 - 1.0, 0.0)

    def largest(self, members: int) -> float:
        """Return the seconds at the most loaded member; visits that can choose go to less loaded members."""
        fixed = self.spread / members + max(self.members.values(), default=0.0)
        return max(fixed, (self.spread + self.chosen + sum(self.members.values())) / members)

    def merge(self, other: Demand) -> None:
        """Add another demand."""
        for name in ("seconds", "visits", "squares", "variance", "spread", "chosen", "in_turn"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for member, seconds in other.members.items():
            self.members[member] = self.members.get(member, 0.0) + seconds


@dataclass
class Section:
    """The use of a server that packets hold over other visits; solvers compute the wait for its units from it."""

    demand: Demand = field(default_factory=Demand)
    least: float = float("inf")  # fewest units of one take
    most: float = 0.0  # most units of one take
    takes: dict[float, float] = field(default_factory=dict)  # by units, takes per packet
    at_a_time: float = 0.0  # largest number of units that a packet holds at one time
    in_all: float = 0.0  # largest number of units that a packet takes in total
    crossed: set[str] = field(default_factory=set)  # servers whose holding overlaps this one without nesting
    scattered: bool = False  # taken and given in different blocks, or by some packets only
    outlives: bool = False  # taken or given by forked work, so that one thread may have several
    untied: bool = False  # takes and gives do not balance: the holding time is not known
    lent: bool = False  # `untied` because concurrent work keeps units that it took
    in_visits: bool = True  # held inside visits only, never by a program

    @property
    def needed(self) -> float:
        """Largest number of units that a packet may hold at one time."""
        return self.in_all if self.scattered else self.at_a_time

    def count(self, path: Progress, units: Values) -> None:
        """Count takes by their numbers of units (shape n), weighted by the packets' shares."""
        sizes, which = np.unique(units, return_inverse=True)
        for size, share in zip(sizes.tolist(), np.bincount(which, path.share).tolist(), strict=True):
            if share > 0:
                self.takes[size] = self.takes.get(size, 0.0) + share


@dataclass
class Demands:
    """Demands of one program: by server name, the delay at no server, and the latency without contention.

    sections: servers held over other visits or times. spent: seconds by (servers held, server or "" for none).
    overlap: by servers held, the part of `spent` during which the packet, or other work of it, continues. aside: by
    server, seconds of forked work that holds nothing of the packet. latency_parts: seconds by the server visited, else
    by the last server held, else by the resource visited; of parallel parts only the longest counts, for the share of
    packets for which it is the longest. loose: by untied server, unit-seconds (gives less takes), and per distinct
    packet the units it still holds at the end (negative: gave more than it took) x its share. handed: by queue, for
    each put the shares of packets and the operands.
    """

    servers: dict[str, Demand] = field(default_factory=dict)
    counts: dict[str, float] = field(default_factory=dict)
    latency: float = 0.0
    side_by_side: bool = False  # whether the program forks or runs parts in parallel
    sections: dict[str, Section] = field(default_factory=dict)
    untied: set[str] = field(default_factory=set)  # servers whose takes and gives do not balance: no demand
    loose: dict[str, tuple[float, Values]] = field(default_factory=dict)
    spent: dict[tuple[Chain, str], float] = field(default_factory=dict)
    visited: dict[tuple[Chain, str], Values] = field(default_factory=dict)  # as in machine/visit_counts.py
    order: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    overlap: dict[Chain, float] = field(default_factory=dict)
    aside: dict[str, float] = field(default_factory=dict)
    handed: dict[str, list[tuple[Values, dict[str, Values | None]]]] = field(default_factory=dict)
    freed: float = 0.0  # bytes that leave the receive buffer (nan: a random amount)
    early: dict[tuple[Chain, str], float] = field(default_factory=dict)  # part of `spent` before these bytes leave
    clock: Values = field(default_factory=lambda: np.zeros(0))  # per distinct packet: its latency x its share
    latency_parts: dict[str, float] = field(default_factory=dict)  # `latency` by server or resource
    share: float = 1.0  # fraction of the workload's packets that come to the program
    variance: float = 0.0  # of the latency of one of these packets: between packets, and random
    chance: float = 0.0  # the random part of that variance, per packet of the workload
    scv: float = 0.0  # squared coefficient of variation of the latency between packets
    own_waits: dict[str, float] = field(default_factory=dict)  # waits for the packet's own work (machine/own_work.py)
    apart: dict[str, Values] = field(default_factory=dict)  # by server, per distinct packet: its seconds x its share

    @property
    def leaves(self) -> float:
        """The share of the workload's packets that leave the machine here."""
        return self.share - sum(float(shares.sum()) for puts in self.handed.values() for shares, _ in puts)

    def largest(self, server: str, members: int) -> float:
        """Return the seconds per packet at the most loaded member of a server."""
        demand = self.servers[server]
        return demand.largest(members)

    def own(self, server: str) -> float:
        """Return the seconds per packet at a server, without those at servers held inside it ("": at no server)."""
        return sum(
            seconds for (chain, name), seconds in self.spent.items() if (name or (chain[-1] if chain else "")) == server
        )


@dataclass
class Sections:
    """Collects the sections of a program, by server."""

    by_server: dict[str, Section] = field(default_factory=dict)
    counts: VisitCounts = field(default_factory=VisitCounts)

    def inside(self, server: str, units: Values, hold: Hold, path: Progress) -> None:
        """Note units that a visit takes, holds over other steps, and gives back."""
        section = self.by_server.setdefault(server, Section())
        if not path.total:
            return
        taken = for_each(units, path.live)
        held = taken[path.live]
        section.least, section.most = min(section.least, float(held.min())), max(section.most, float(held.max()))
        section.at_a_time = max(section.at_a_time, float(held.max()))
        section.count(path, taken)
        section.outlives |= hold.outlives
        section.crossed |= hold.crossed

    def take_in_all(self, server: str, units: Values, path: Progress) -> None:
        """Add to `in_all` the largest number of units that any packet takes, for each loop iteration."""
        taken = np.where(path.live, units, 0.0)
        self.by_server[server].in_all += float(taken.reshape(path.turns, -1).max(axis=1).sum())

    def begin(self, path: Progress, holding: Held, least: int, place: str) -> None:
        """Take units: at least `least`, at most those of one member; raises ModelError otherwise."""
        server, live, limit = holding.server, path.live, holding.server.units
        section = self.by_server.setdefault(server.name, Section())
        section.in_visits = False
        units = for_each(holding.units, live)
        taken = units[live]
        if ((taken < least) | (taken > limit)).any():
            outside = taken[(taken < least) | (taken > limit)]
            raise ModelError(f"{place}: units of {server.name} must be in {least}..{limit}, got {outside[0]:g}")
        self._add(section, path, holding, -1.0, place)
        section.demand.visits += path.total
        self.counts.count((path.chain, server.name), path.total, 0.0)
        held = path.units[server.name]
        if taken.all():
            path.open = (*path.open, holding)
        elif taken.any():
            if path.turns > 1:
                raise TurnsDifferError
            section.scattered = True
        if not taken.any():
            return
        section.least, section.most = min(section.least, float(taken.min())), max(section.most, float(taken.max()))
        section.count(path, units)
        self.take_in_all(server.name, units, path)
        section.at_a_time = max(section.at_a_time, float(for_each(held, live)[live].max()))

    def end(self, path: Progress, holding: Held, place: str) -> None:
        """Give units back, and close the latest open holding that matches them."""
        server, live = holding.server, path.live
        section = self.by_server.setdefault(server.name, Section())
        self._add(section, path, holding, 1.0, place)
        section.untied |= bool((path.units[server.name] * path.share < -SMALL).any())
        matching = [k for k in range(path.base, len(path.open)) if _same(path.open[k], holding, path)]
        start = path.open[matching[-1]] if matching else holding
        if start.since is not None and start.since.shape == path.clock.shape:
            unit_seconds, variance = holding.units * (path.clock - start.since), holding.variance - start.variance
            squares = float((unit_seconds**2 * path.share)[live].sum()) + max(variance, 0.0)
            section.demand.squares += squares
            self.counts.count((tuple(outer.server.name for outer in start.around), server.name), 0.0, squares)
        if matching:
            self.close(path, matching[-1])
        elif for_each(holding.units, live)[live].any():
            section.scattered = True

    def _add(self, totals: Section, path: Progress, holding: Held, sign: float, place: str) -> None:
        """Add units x clock, with sign -1 for a take and 1 for a give: the sum is the unit-seconds held."""
        server, weighted = holding.server, holding.units * path.clock * path.share
        totals.demand.add(sign * weighted, holding.member, path.live, server.members, f"{place}: {server.name}")
        totals.outlives |= path.forked
        path.units[server.name] = path.units.get(server.name, 0.0) - sign * holding.units

    def close(self, path: Progress, at: int) -> None:
        """Remove a holding from the open ones; holdings opened after it overlap it without nesting."""
        ended = path.open[at]
        for later in path.open[at + 1 :]:
            self.by_server[ended.server.name].crossed.add(later.server.name)
            self.by_server[later.server.name].crossed.add(ended.server.name)
        path.without(ended)

    def leave(self, path: Progress) -> None:
        """End a block: holdings still open there are given back in another block."""
        for holding in path.open[path.base :]:
            self.by_server[holding.server.name].scattered = True
        path.open = path.open[: path.base]

    def tie(self, path: Progress, strand: Progress, parallel: bool) -> None:
        """Continue with the units held after concurrent work.

        Units that this work took and did not give back make their section untied.
        """
        for name, held in strand.units.items():
            before = path.units.get(name, 0.0)
            if held is before:
                continue
            gained, section = (held - before) * path.share, self.by_server[name]
            surplus = bool((gained > SMALL).any())
            section.untied |= surplus
            section.lent |= surplus
            section.outlives |= not parallel and bool((np.abs(gained) > SMALL).any())
        path.units = strand.units

    def settle(self, path: Progress) -> None:
        """End the program: sections whose takes and gives do not balance have no known holding time."""
        for name, held in path.units.items():
            self.by_server[name].untied |= bool(np.any(np.abs(held * path.share) > SMALL))


def without(spent: dict[tuple[Chain, str], Any], names: set[str]) -> dict[tuple[Chain, str], Any]:
    """Return seconds by place, with these servers removed from the servers held."""
    result: dict[tuple[Chain, str], Any] = {}
    for (chain, server), seconds in spent.items():
        place = tuple(name for name in chain if name not in names), server
        result[place] = result.get(place, 0.0) + seconds
    return result


def _same(a: Held, b: Held, path: Progress) -> bool:
    if a.key != b.key:
        return False
    live = path.live
    equal_units = (for_each(a.units, live) == for_each(b.units, live))[live]
    all_equal = bool(equal_units.all())
    if path.turns > 1 and ((not all_equal and equal_units.any()) or not _equal(a.member, b.member)):
        raise TurnsDifferError
    return all_equal


def _equal(a: Values | None, b: Values | None) -> bool:
    return a is b or (a is not None and b is not None and np.array_equal(a, b))
