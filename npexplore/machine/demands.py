"""Demands of a recorded program: time and visits per packet at every server, without contention.

Demand = service time x visits (Denning and Buzen's operational analysis); of a server that is held over other visits,
the time from the take to the give (machine/sections.py). Computed over the distinct packets of a workload with their
weights; a number that depends on a random choice counts as spread evenly over the members.

Turns of a loop know nothing of each other, so that many are gone through at once, as if they were packets; but for
loops that take more than they give, or hand packets on: these turn by turn, each after the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from npexplore.errors import ModelError
from npexplore.machine.holding import Holding
from npexplore.machine.lone import uses_of
from npexplore.machine.loop_turns import LoopTurns, TooManyTurnsError
from npexplore.machine.own_work import OwnWork
from npexplore.machine.program import HOME
from npexplore.machine.resources.base import OwnFaces, Resource, Server, Uses
from npexplore.machine.sections import (
    TINY,
    Chain,
    Demand,
    Open,
    Progress,
    Section,
    Sections,
    TurnsDifferError,
    without,
)
from npexplore.machine.tree import (
    Body,
    Branch,
    Draw,
    Fork,
    Give,
    Let,
    Loop,
    Parallel,
    Priority,
    Step,
    Take,
    Turn,
    Visit,
)
from npexplore.rows.expressions import Condition, Values, Variable, evaluate, holds

FEW, MOST_DISTINCT = 64, 65535
AT_ONCE = 8192  # turns of loops x distinct packets that are gone through together
Known = dict[Variable, Values | None]


@dataclass
class Demands:
    """Demands of one program: by server name, the delay at no server, and the latency without contention.

    sections: servers held over other visits or times. spent, overlap, aside: as in machine/sections.py. way: time at a
    server, or while it is held and nothing else is visited; at none, that of the resource that is visited. Of parallel
    parts, what the longest does; of parts that are the longest for some packets, their share.
    loose: and beside that the units that each distinct packet still has at the end (less than 0: gave), x its share.
    handed: by queue, for each put the shares of packets and the operands.
    """

    servers: dict[str, Demand] = field(default_factory=dict)
    counts: dict[str, float] = field(default_factory=dict)
    latency: float = 0.0
    side_by_side: bool = False  # whether the program forks or runs parts in parallel
    sections: dict[str, Section] = field(default_factory=dict)
    untied: set[str] = field(default_factory=set)  # servers whose units are not given as they are taken: no demand
    loose: dict[str, tuple[float, Values]] = field(default_factory=dict)  # of these: gives less takes, units x seconds
    spent: dict[tuple[Chain, str], float] = field(default_factory=dict)
    overlap: dict[Chain, float] = field(default_factory=dict)
    aside: dict[str, float] = field(default_factory=dict)
    handed: dict[str, list[tuple[Values, dict[str, Values | None]]]] = field(default_factory=dict)
    freed: float = 0.0  # bytes that leave the receive buffer (nan: depends on chance)
    early: dict[tuple[Chain, str], float] = field(default_factory=dict)  # of `spent`, what comes before they leave it
    clock: Values = field(default_factory=lambda: np.zeros(0))  # of each distinct packet: its latency x its share
    way: dict[str, float] = field(default_factory=dict)  # what `latency` is made of, by server or resource
    share: float = 1.0  # of the workload's packets that come to the program
    variance: float = 0.0  # of the time of one of these packets: between packets, and by chance
    chance: float = 0.0  # of that, what is left to chance, per packet of the workload
    scv: float = 0.0  # of that time, from packet to packet
    own_waits: dict[str, float] = field(default_factory=dict)  # what a packet alone may take more (machine/own_work.py)
    apart: dict[str, Values] = field(default_factory=dict)  # of each distinct packet: its seconds by server x its share

    @property
    def leaves(self) -> float:
        """The share of the workload's packets that leave the machine here."""
        return self.share - sum(float(shares.sum()) for puts in self.handed.values() for shares, _ in puts)

    def largest(self, server: str, members: int) -> float:
        """Return the seconds per packet at the most loaded member of a server."""
        demand = self.servers[server]
        return demand.largest(members)

    def own(self, server: str) -> float:
        """Return the seconds per packet at a server and at no other one held inside it ("": at none at all)."""
        return sum(
            seconds for (chain, name), seconds in self.spent.items() if (name or (chain[-1] if chain else "")) == server
        )


def demands(
    body: Body, columns: Mapping[Variable, Values | None], weights: Values, at_once: int = AT_ONCE, apart: bool = False
) -> Demands:
    """Return the demands of a recorded body.

    columns: per packet column, the values of the distinct packets (shape n); weights: their shares (shape n, sum 1).
    at_once: turns of loops x n that are gone through together, as far as they can be (1: each after the one before).
    apart: whether the times of each distinct packet are kept.
    """
    if at_once > 1:
        try:
            return _demands(body, columns, weights, at_once, apart)
        except TooManyTurnsError:
            raise
        except (TurnsDifferError, ModelError):
            pass  # which turn is at fault shows when they come one by one
    return _demands(body, columns, weights, 1, apart)


def _demands(
    body: Body, columns: Mapping[Variable, Values | None], weights: Values, at_once: int, apart: bool
) -> Demands:
    shares = np.asarray(weights, dtype=np.float64)
    walk, path = _Walk(at_once, len(shares) if apart else 0), Progress(shares, np.zeros_like(shares))
    walk.body(body, {**columns, HOME: None}, path)
    walk.sections.settle(path)
    result, found = walk.result, walk.sections
    result.clock, result.latency = path.clock, float(np.sum(path.clock))
    result.own_waits = walk.own.settle()
    result.share, result.chance = float(shares.sum()), walk.own.chance
    variance, mean = _variance(path.clock, shares), result.latency / max(result.share, TINY)
    result.scv = variance / mean**2 if mean > TINY else 0.0
    result.variance = variance + result.chance / max(result.share, TINY)
    result.way = {name: seconds for name, seconds in walk.way.items() if seconds > 0}
    result.sections = {name: section for name, section in found.by_server.items() if not section.untied}
    result.untied = found.by_server.keys() - result.sections.keys()
    result.loose = {
        name: (section.demand.seconds, path.units.get(name, np.zeros_like(shares)))
        for name, section in found.by_server.items()  # in the order in which they are met: a set has another every time
        if name in result.untied and not section.lent
    }
    for name, section in result.sections.items():
        result.servers.setdefault(name, Demand()).merge(section.demand)
    result.spent = without(found.spent, result.untied)
    if result.freed > 0:
        result.early = {place: seconds / result.freed for place, seconds in without(walk.early, result.untied).items()}
    result.overlap = {chain: s for (chain, _), s in without(_apart(found.overlap), result.untied).items()}
    result.aside = {name: seconds for name, seconds in found.aside.items() if name and name not in result.untied}
    return result


def _variance(clock: Values, shares: Values) -> float:
    """Return the variance of a packet's time from packet to packet; clock: weighted by the packets' shares."""
    live, total = shares > 0, max(float(shares.sum()), TINY)
    return max(float((clock[live] ** 2 / shares[live]).sum()) / total - (float(clock.sum()) / total) ** 2, 0.0)


def _apart(overlap: dict[Chain, float]) -> dict[tuple[Chain, str], float]:
    return {(chain, ""): seconds for chain, seconds in overlap.items()}


class _Walk:
    """Goes through a program, packet groups side by side, and adds up what they do."""

    def __init__(self, at_once: int, rows: int = 0) -> None:
        self.at_once, self.rows = at_once, rows  # rows: distinct packets, if the times of each are kept
        self.result = Demands()
        self.sections, self.own, self.loop_turns = Sections(), OwnWork(), LoopTurns()
        self.held: dict[Holding, Open] = {}
        self.way: dict[str, float] = {}
        self.early: dict[tuple[Chain, str], float] = {}  # seconds spent before bytes leave the receive buffer x bytes

    def body(self, body: Body, known: Known, path: Progress, base: int | None = None) -> None:
        """Go through a block; what is opened in it stands in `path.open` from `base` on."""
        base = len(path.open) if base is None else base
        for step in body:
            self.step(step, known, path, base)
        self.sections.leave(path, base)

    def step(self, step: Step, known: Known, path: Progress, base: int) -> None:
        if isinstance(step, Visit):
            self.visit(step, known, path, base)
        elif isinstance(step, Let):
            known[step.variable] = evaluate(step.value, known)
        elif isinstance(step, Draw | Turn):
            known[step.variable] = None
        elif isinstance(step, Loop):
            self.loop(step, known, path)
        elif isinstance(step, Branch):
            taken = _share(step.condition, known)
            sides = path.where(taken), path.where(1 - taken)
            for body, side in zip((step.then, step.otherwise), sides, strict=True):
                self.body(body, dict(known), side)
            if isinstance(step.condition, float) and 0 < step.condition < 1:
                times = [side.clock.sum() / max(side.total, TINY) for side in sides]
                self.own.chance += path.total * step.condition * (1 - step.condition) * float(times[0] - times[1]) ** 2
            path.rejoin(sides)
        elif isinstance(step, Fork):
            self.fork(step, known, path)
        elif isinstance(step, Parallel):
            self.parallel(step, known, path)
        elif isinstance(step, Take):
            self.take(step, known, path)
        elif isinstance(step, Give):
            assert step.holding.server is not None
            server, begun = step.holding.server, self.held[step.holding]
            ended = replace(begun, variance=self.own.chance)
            self.sections.end(path, ended, base, server.members, f"give of {server.name!r}")
        else:
            assert isinstance(step, Priority)

    # ---- blocks

    def loop(self, step: Loop, known: Known, path: Progress) -> None:
        count = evaluate(step.count, known)
        if count is None or np.any(np.isnan(count)):
            raise ModelError("the count of a loop must not depend on a random choice")
        turns = int(np.max(count, initial=0))
        self.loop_turns.check(turns)
        together = max(1, self.at_once // max(len(path.clock), 1))
        for first in range(0, turns, together):
            index = np.arange(first, min(first + together, turns), dtype=np.float64)
            self.loop_turns.add(len(index) * path.turns)
            if len(index) > 1:
                self.turns(step, known, path, index, count)
                continue
            goes_on = np.asarray(count > first, dtype=np.float64)
            inside, past = path.where(goes_on), path.where(1 - goes_on)
            self.body(step.body, {**known, step.index: np.float64(first)}, inside)  # type: ignore[dict-item]
            path.rejoin([inside, past])

    def turns(self, step: Loop, known: Known, path: Progress, index: Values, count: Values) -> None:
        """Go through some turns of a loop side by side."""
        begun = path.side_by_side(np.float64(1) * (np.broadcast_to(count, path.clock.shape) > index[:, None]))
        inside = replace(begun, units=dict(begun.units))
        side_by_side = {
            variable: values if values is None or np.ndim(values) == 0 else np.tile(values, len(index))
            for variable, values in known.items()
        }
        side_by_side[step.index] = np.repeat(index, len(path.clock))
        freed, before = self.result.freed, dict(self.sections.spent)
        self.body(step.body, side_by_side, inside)
        if path.turns == 1 and self.result.freed > freed:  # in the mean behind half of the turns
            middle = {place: (before.get(place, 0.0) + s) / 2 for place, s in self.sections.spent.items()}
            self.leaves(self.result.freed - freed, middle)
        path.after(inside, begun)

    def fork(self, step: Fork, known: Known, path: Progress) -> None:
        """Work that goes on by itself: with what it took along it keeps others from that, else it is aside."""
        self.result.side_by_side = True
        opened: list[Open] = []
        for before, after in step.moved:
            self.held[after] = moved = self.held[before]
            self.sections.by_server[moved.server].outlives = True
            self.sections.close(path, path.open.index(moved))
            opened.append(moved)
        around = opened[0].around if opened else ()
        strand = path.strand(True, (*around, *opened), aside=not opened)
        spent, beside, chance = self.sections.total, self.own.enter(posted=True), self.own.chance
        self.body(step.body, dict(known), strand, base=len(around))
        self.own.strand, self.own.chance = beside, chance
        self.sections.tie(path, strand, parallel=False)
        self.sections.overlaps(tuple(one.server for one in around), self.sections.total - spent)

    def parallel(self, step: Parallel, known: Known, path: Progress) -> None:
        """Parts start at the clock of the packet, which goes on with the last."""
        self.result.side_by_side = True
        spent, begun, ends = self.sections.total, float(path.clock.sum()), [path.clock]
        before, ways, variances, chance = self.way, [], [0.0], self.own.chance
        for part in step.bodies:
            strand, self.way = path.strand(False, path.open), {}
            beside, self.own.chance = self.own.enter(), 0.0
            self.body(part, dict(known), strand)
            self.own.strand = beside
            variances.append(self.own.chance / max(path.total, TINY))
            self.sections.tie(path, strand, parallel=True)
            ends.append(strand.clock)
            ways.append(self.way)
        self.way, self.own.chance = before, chance + path.total * max(variances)
        self.own.parts([float(end.sum()) / max(path.total, TINY) for end in ends], variances, path.total)
        for number, way in enumerate(ways, start=1):
            passed = ends[number] - path.clock
            last = np.argmax(ends, axis=0) == number
            part_of = float(passed[last].sum()) / max(float(passed.sum()), TINY)
            for name, seconds in way.items():
                before[name] = before.get(name, 0.0) + seconds * part_of
        path.clock = np.maximum.reduce(ends)
        longest = float(path.clock.sum()) - begun
        self.sections.overlaps(path.chain, self.sections.total - spent - longest)

    # ---- holding

    def take(self, step: Take, known: Known, path: Progress) -> None:
        live = path.live
        for number, holding in enumerate(step.holdings):
            server = holding.server
            assert server is not None
            place, units = f"take of {server.name!r}", evaluate(holding.units, known)
            if units is None:
                raise ModelError(f"{place}: the number of units must not depend on a random choice")
            begun = self.held[holding] = Open(
                server.name, holding, units, evaluate(holding.member, known), variance=self.own.chance
            )
            for other in (self.held[h] for h in step.holdings[:number]):
                told = other.member is not None and begun.member is not None
                if other.server == begun.server and told and np.any((other.member == begun.member) & live):
                    raise ModelError(f"{place}: two holdings of one take_all must be of different members")
            self.sections.begin(path, begun, server.members, (1, server.units), place)

    # ---- visits

    def visit(self, step: Visit, known: Known, path: Progress, base: int) -> None:
        """Add what a visit uses, and what it leaves open."""
        values = {name: evaluate(value, known) for name, value in step.operands.items()}
        if len(path.clock) == 1:  # numbers are quicker, and remembered
            values = {name: v[0] if type(v) is np.ndarray and v.ndim else v for name, v in values.items()}
        place, sections, sizes = f"{step.resource.name}.{step.method}", self.sections, step.resource.reached
        asked, seen, each = _distinct(step.resource, values, path)
        uses = uses_of(step.resource, step.method, asked, seen.live)
        self.occupied(uses, sizes, seen, place)
        self.beside_itself(uses, sizes, seen, path)
        for hold in uses.holds if self.rows else ():
            times = (path.weights * each(hold.seconds)).reshape(-1, self.rows).sum(axis=0)
            self.result.apart[hold.server] = self.result.apart.get(hold.server, 0.0) + times
        for (chain, server), seconds in uses.spent.items():
            sections.spend(path, server, _sum(seen, seconds), chain)
        if not (path.forked or path.aside):
            around = path.open[-1].server if path.open else step.resource.name
            for server, seconds in uses.way.items():
                name = server or around
                self.way[name] = self.way.get(name, 0.0) + _sum(seen, seconds)
        for server, seconds in uses.beside.items():
            sections.beside(server, _sum(seen, seconds))
        for chain, seconds in uses.overlap.items():
            if not path.aside:
                sections.overlaps(path.chain + chain, _sum(seen, seconds))
        path.clock = path.clock + path.weights * each(uses.latency)
        if uses.frees is not None:
            self.result.freed += _sum(path, uses.frees)
            if path.turns == 1:
                self.leaves(_sum(path, uses.frees), self.sections.spent)
        if uses.hands_on:
            if path.turns > 1:
                raise TurnsDifferError
            self.result.handed.setdefault(step.resource.name, []).append((path.weights, values))
        for name, amount in uses.counts.items():
            if amount is None:
                raise ModelError(f"{place}: the amount of {name} must not depend on a random choice")
            self.result.counts[name] = self.result.counts.get(name, 0.0) + _sum(seen, amount)
        for one in uses.opens:
            begun = Open(one.server, one.server, each(one.units), each(one.member), variance=self.own.chance)
            sections.begin(path, begun, sizes[one.server].members, (0, sizes[one.server].units), place)
        for one in uses.closes:
            ended = Open(one.server, one.server, each(one.units), each(one.member), variance=self.own.chance)
            sections.end(path, ended, base, sizes[one.server].members, place)
        if step.result is not None:
            known[step.result] = each(uses.result)

    def beside_itself(self, uses: Uses, sizes: dict[str, Server], seen: Progress, path: Progress) -> None:
        """Note what other strands of the packet may meet, once there are any."""
        if not (path.forked or path.aside):
            self.own.chance += _sum(seen, uses.chance)
        for what, longer in uses.own_waits.items():
            self.own.add(what, _sum(seen, longer))
        if not path.total or not (self.own.strands or uses.beside):
            return
        begin, latency = float(path.clock.sum()) / path.total, _sum(seen, uses.latency) / path.total
        visits = [(hold.server, begin, _sum(seen, hold.seconds), False) for hold in uses.holds]
        visits += [(server, begin + latency, _sum(seen, seconds), True) for server, seconds in uses.beside.items()]
        for name, start, seconds, goes_on in visits:
            server, strand = sizes[name], self.own.strand
            if goes_on:
                self.own.enter(posted=True)
            if server.units == 1:
                each = seconds / path.total * path.turns
                self.own.visit(name, start, each, path.total / path.turns / server.members)
            self.own.strand = strand

    def leaves(self, number: float, spent: Mapping[tuple[Chain, str], float]) -> None:
        """Note that so many bytes leave the receive buffer behind what was spent."""
        for place, seconds in spent.items():
            self.early[place] = self.early.get(place, 0.0) + number * seconds

    def occupied(self, uses: Uses, sizes: dict[str, Server], path: Progress, place: str) -> None:
        """Add the times that servers are occupied, and what is held inside the visit."""
        for hold in uses.holds:
            demand, server = self.result.servers.setdefault(hold.server, Demand()), sizes[hold.server]
            demand.add(path.weights * hold.seconds, hold.member, path.live, server.members, f"{place}: {hold.server}")
            demand.visits += _sum(path, hold.visits)
            demand.squares += _sum(path, hold.squares)
            demand.variance += _sum(path, hold.variance)
            if hold.units is not None:
                self.sections.inside(hold.server, hold.units, hold, path)


def _distinct(
    resource: Resource, values: dict[str, Values | None], path: Progress
) -> tuple[dict[str, Values | None], Progress, Callable[[Any], Any]]:
    """Return the distinct operands of many packets with their shares, and what gives each packet its own again.

    Where one operand alone differs between packets, and is a small whole number (bytes), few of them are distinct.
    """
    arrays = [(name, value) for name, value in values.items() if type(value) is np.ndarray and value.ndim]
    if len(arrays) != 1 or len(path.clock) < FEW or isinstance(resource, OwnFaces):
        return values, path, lambda own: own
    name, value = arrays[0]
    number = np.where(path.live, value, 0.0).astype(np.int64)
    if number.min() < 0 or number.max() > MOST_DISTINCT or (path.live & (number != value)).any():
        return values, path, lambda own: own
    present = np.zeros(int(number.max()) + 1, dtype=np.bool_)
    present[number] = True
    at = (np.cumsum(present) - 1)[number]
    distinct = np.flatnonzero(present).astype(np.float64)
    shares: Values = np.bincount(at, path.weights, len(distinct)).astype(np.float64)

    def each(own: Any) -> Any:
        return own[at] if type(own) is np.ndarray and own.ndim else own

    return {**values, name: distinct}, Progress(shares, np.zeros_like(shares)), each


def _sum(path: Progress, values: Any) -> float:
    """Return the sum over packets of values (shape n, or one for all) by their shares."""
    return (
        float((path.weights * values).sum())
        if type(values) is np.ndarray and values.ndim
        else path.total * float(values)
    )


def _share(condition: Condition | float, known: Known) -> Values:
    if not isinstance(condition, Condition):
        return np.float64(condition)  # type: ignore[return-value]
    value = holds(condition, known)
    if value is None:
        raise ModelError("a branch must not depend on a random choice by its condition; give it a probability")
    return value
