"""The walk over a recorded program or visit: adds up times along its branches, loops, forks and parallel parts.

    latency = sum of the times of its steps     spent: seconds by (servers held, server where the time passes)

Two subclasses decide what is added up: amounts of each packet (machine/lone.py, for one visit) and sums over all
packets of a workload (machine/demands.py, for a program). Amounts of a visit are merged into those of its caller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from npexplore.errors import ModelError
from npexplore.machine.amounts import any_of
from npexplore.machine.holding import Holding
from npexplore.machine.loop_turns import LoopTurns
from npexplore.machine.own_work import OwnWork
from npexplore.machine.progress import ROUNDING_S, Chain, Held, Progress, TurnsDifferError, Value
from npexplore.machine.resources.base import Hold, Uses
from npexplore.machine.tree import Body, Branch, Draw, Fork, Let, Loop, Parallel, Turn, Visit
from npexplore.rows.expressions import Condition, Expression, Values, Variable, evaluate, holds

Known = dict[Variable, Values | None]


class Walk:
    """Visits the steps of bodies and adds up what packets use. The method of a step has the step's name in lower case.

    Subclasses add methods for the steps that are missing here. place: the visit's name, for messages ("" for a
    program). at_once: limit on loop iterations x packets that one pass processes as arrays.
    """

    every_side = False  # whether to walk branches that no packet takes

    def __init__(self, place: str = "", at_once: int = 1) -> None:
        self.place, self.prefix, self.at_once = place, f"{place}: " if place else "", at_once
        self.uses = Uses(0.0)  # type: ignore[arg-type]
        self.held: dict[Holding, Held] = {}
        self.own, self.loop_turns = OwnWork(), LoopTurns()
        self.total: Value = 0.0  # sum of the seconds spent, less those that overlap
        self.latency_parts: dict[str, Value] = {}  # seconds that the packet itself spends, by server

    def body(self, body: Body, known: Known, path: Progress) -> None:
        """Walk the steps of a block."""
        for step in body:
            getattr(self, type(step).__name__.lower())(step, known, path)

    def nothing(self, *_: object) -> None:
        """A priority, a window or a remembered word has no effect without contention."""

    priority = window = remember = nothing

    # ---- what subclasses replace

    def of(self, path: Progress, amount: Value) -> Value:
        """Return an amount of each packet in the form that is added up: here, times the packet's share."""
        return amount * path.share

    def moved(self, held: Held, path: Progress) -> None:
        """Note that forked work takes over a holding."""
        held.outlives = True
        path.without(held)

    def forked_off(self, path: Progress, strand: Progress, parallel: bool) -> None:
        """Note that `strand` started at `path`: as forked work, or as a part that the packet joins (parallel)."""

    def chosen(self, probability: float, path: Progress, sides: Sequence[Progress]) -> None:
        """Note the variance of the time that a random choice between two sides causes."""

    def joined(self, path: Progress, ends: Sequence[Value], chances: Sequence[Value]) -> Value:
        """Return the random variance of the time of parallel parts from that of each part (chances)."""
        return sum(chances)

    def longest(self, path: Progress, ends: Sequence[Value], parts: Sequence[dict[str, Value]]) -> None:
        """Add, for each packet, the seconds of the part that ends last. ends: the start, then each part's end."""
        last = np.argmax(np.stack(np.broadcast_arrays(*ends)), axis=0)
        for number, part in enumerate(parts, start=1):
            for name, seconds in part.items():
                self.latency_parts[name] = self.latency_parts.get(name, 0.0) + np.where(last == number, seconds, 0.0)

    def occupied(
        self, hold: Hold, spent: Mapping[tuple[Chain, str], Value], path: Progress, seen: Progress, step: Visit
    ) -> None:
        """Add a server that an inner visit occupies, weighted by the share of packets (seen).

        spent: the visit's seconds by place.
        """
        weighted = {name: getattr(hold, name) * seen.share for name in ("seconds", "visits", "squares", "variance")}
        self.uses.holds.append(replace(hold, **weighted))

    # ---- what is added up

    def spend(self, path: Progress, server: str, seconds: Value, chain: Chain = ()) -> None:
        """Add seconds spent at a server, without those at servers held inside it.

        server: "" for time at no server but those held. chain: servers that the visit holds meanwhile.
        """
        if type(seconds) is not np.ndarray and not seconds:
            return
        chain = path.chain + chain
        if path.aside:
            self.beside(server or (chain[-1] if chain else ""), seconds)
            return
        self.total = self.total + seconds
        self.uses.spent[chain, server] = self.uses.spent.get((chain, server), 0.0) + seconds

    def beside(self, server: str, seconds: Value) -> None:
        """Add seconds of forked work that holds nothing of the packet."""
        self.uses.beside[server] = self.uses.beside.get(server, 0.0) + seconds

    def along(self, path: Progress, server: str, seconds: Value) -> None:
        """Add seconds that the packet itself spends, and not forked work."""
        if not path.forked:
            self.latency_parts[server] = self.latency_parts.get(server, 0.0) + seconds

    def vary(self, path: Progress, variance: Value) -> None:
        """Add the variance of a random time."""
        if not path.forked:
            self.uses.chance = self.uses.chance + variance

    def overlaps(self, path: Progress, chain: Chain, seconds: Value) -> None:
        """Note that these seconds were spent while the packet, or other work of it, continued."""
        if not path.aside and any_of(abs(seconds) > ROUNDING_S):
            self.total = self.total - seconds
            self.uses.overlap[chain] = self.uses.overlap.get(chain, 0.0) + seconds

    def merge(self, inner: Uses, path: Progress, seen: Progress, step: Visit) -> None:
        """Add what a visit uses while the packet holds what it holds; seen: the packets as grouped for the visit."""
        spent = {place: self.of(seen, seconds) for place, seconds in inner.spent.items()}
        for hold in inner.holds:
            self.occupied(hold, spent, path, seen, step)
        for (chain, server), seconds in spent.items():
            self.spend(path, server, seconds, chain)
        visited = path.open[-1].server.name if path.open else step.resource.name
        for name, seconds in inner.latency_parts.items():
            self.along(path, name or visited, self.of(seen, seconds))
        self.vary(path, self.of(seen, inner.chance))
        for reason, longer in inner.own_waits.items():
            self.own.add(reason, self.of(seen, longer))
        for name, seconds in inner.beside.items():
            self.beside(name, self.of(seen, seconds))
        for chain, seconds in inner.overlap.items():
            self.overlaps(path, path.chain + chain, self.of(seen, seconds))
        counts: Mapping[str, Value] = inner.counts
        for name, amount in counts.items():
            if amount is None:
                place = f"{step.resource.name}.{step.method}"
                raise ModelError(f"{place}: the amount of {name} must not depend on a random choice")
            self.uses.counts[name] = self.uses.counts.get(name, 0.0) + self.of(seen, amount)

    # ---- blocks

    def branch(self, step: Branch, known: Known, path: Progress) -> None:
        taken = share_of(step.condition, known, step.shares)
        parts = (taken, 1.0 - taken)
        sides = [path.where(part) for part in parts]
        for body, side in zip((step.then, step.otherwise), sides, strict=True):
            if self.every_side or (body and any_of(side.live)):
                self.body(body, dict(known), side)
        if isinstance(step.condition, float) and 0 < step.condition < 1:
            self.chosen(step.condition, path, sides)
        path.rejoin(parts, sides)

    def loop(self, step: Loop, known: Known, path: Progress) -> None:
        count = self.sure(step.count, known, "the count of a loop")
        turns = int(np.max(count, initial=0))
        self.loop_turns.check(turns)
        batch = max(1, self.at_once // max(np.size(path.clock), 1))
        for first in range(0, turns, batch):
            index = np.arange(first, min(first + batch, turns), dtype=np.float64)
            self.loop_turns.add(len(index) * path.turns)
            if len(index) > 1:
                self.turns(step, known, path, index, count)
                continue
            continues = np.asarray(count > first, dtype=np.float64)
            inside = path.where(continues)
            self.body(step.body, {**known, step.index: np.float64(first)}, inside)  # type: ignore[dict-item]
            path.rejoin([continues], [inside])

    def turns(self, step: Loop, known: Known, path: Progress, index: Values, count: Value) -> None:
        """Walk several iterations of a loop as arrays."""
        raise TurnsDifferError

    def fork(self, step: Fork, known: Known, path: Progress) -> None:
        """Walk forked work: its time counts as spent while holding what it took over, or as `beside` if nothing."""
        opened: list[Held] = []
        for packet_holding, fork_holding in step.moved:
            self.held[fork_holding] = held = self.held[packet_holding]
            self.moved(held, path)
            opened.append(held)
        outer = opened[0].around if opened else ()
        strand = path.strand(True, (*outer, *opened), len(outer), aside=not opened)
        seconds_before, outer_strand, variance = self.total, self.own.enter(posted=True), self.uses.chance
        self.body(step.body, dict(known), strand)
        self.own.strand, self.uses.chance = outer_strand, variance
        self.forked_off(path, strand, parallel=False)
        self.overlaps(strand, tuple(held.server.name for held in outer), self.total - seconds_before)

    def parallel(self, step: Parallel, known: Known, path: Progress) -> None:
        """Walk parallel parts: all begin together, and the packet continues at the end of the last."""
        seconds_before, outer_parts, variance = self.total, self.latency_parts, self.uses.chance
        ends, parts, variances = [path.clock], [], []
        for part in step.bodies:
            strand, self.latency_parts = path.strand(False, path.open, len(path.open)), {}
            outer_strand, self.uses.chance = self.own.enter(), 0.0  # type: ignore[assignment]
            self.body(part, dict(known), strand)
            self.own.strand = outer_strand
            self.forked_off(path, strand, parallel=True)
            ends.append(strand.clock)
            parts.append(self.latency_parts)
            variances.append(self.uses.chance)
        self.latency_parts, self.uses.chance = outer_parts, variance + self.joined(path, ends, variances)
        self.longest(path, ends, parts)
        last_end = np.maximum.reduce(np.broadcast_arrays(*ends))
        self.overlaps(path, path.chain, self.total - seconds_before - self.of(path, last_end - path.clock))
        path.clock = last_end

    # ---- values

    def sure(self, value: Expression, known: Known, what: str) -> Value:
        """Return a value; raises ModelError if it depends on a random choice. what: its name in the message."""
        number = evaluate(value, known)
        if number is None or any_of(np.isnan(number)):
            raise ModelError(f"{self.prefix}{what} must not depend on a random choice")
        return number

    def let(self, step: Let, known: Known, path: Progress) -> None:
        known[step.variable] = evaluate(step.value, known)

    def draw(self, step: Draw | Turn, known: Known, path: Progress) -> None:
        known[step.variable] = None

    turn = draw


def share_of(condition: Condition | float, known: Known, shares: Sequence[Expression | float] = ()) -> Value:
    """Return the share of packets for which a condition holds (shape n), or its probability.

    shares: used where a random choice decides; the first known one counts. Raises ModelError if none is known.
    """
    if not isinstance(condition, Condition):
        return condition
    value = holds(condition, known)
    for share in shares if value is None else ():
        value = evaluate(share, known) if isinstance(share, Expression) else np.float64(share)  # type: ignore[assignment]
        if value is not None:
            break
    if value is None:
        raise ModelError(
            "a branch must not depend on a random choice by its condition; give it a probability or shares=[..]"
        )
    return value
