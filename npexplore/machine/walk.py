"""The walk over a record, a program's or a visit's: branches, loops, forks, parallel parts, and what passes on the way.

    latency = sum of the times on its way      spent: seconds by what is held meanwhile, and where they pass

Two domains exchange what is added up: numbers of each packet (machine/lone.py: one visit) and sums over all packets of
a workload (machine/demands.py: a program). A visit is a nested body: what it uses is merged into what is around it.
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
    """Goes along bodies and adds up what packets use; a domain has a method for each further step, named as it is.

    place: the visit's name, for messages ("" for a program). at_once: turns of loops x packets that are gone through
    together, as far as they can be.
    """

    every_side = False  # whether branches are gone along that no packet takes

    def __init__(self, place: str = "", at_once: int = 1) -> None:
        self.place, self.prefix, self.at_once = place, f"{place}: " if place else "", at_once
        self.uses = Uses(0.0)  # type: ignore[arg-type]
        self.held: dict[Holding, Held] = {}
        self.own, self.loop_turns = OwnWork(), LoopTurns()
        self.total: Value = 0.0  # of the seconds spent, without those that overlap
        self.latency_parts: dict[str, Value] = {}  # seconds that the packet itself spends, by server

    def body(self, body: Body, known: Known, path: Progress) -> None:
        """Go along a block."""
        for step in body:
            getattr(self, type(step).__name__.lower())(step, known, path)

    def nothing(self, *_: object) -> None:
        """A priority, a window, a word to remember: nothing to one who meets nobody."""

    priority = window = remember = nothing

    # ---- what a domain says of itself

    def of(self, path: Progress, amount: Value) -> Value:
        """Return an amount of each packet as it is added up."""
        return amount * path.share

    def moved(self, held: Held, path: Progress) -> None:
        """Note that forked work takes a holding along."""
        held.outlives = True
        path.without(held)

    def forked_off(self, path: Progress, strand: Progress, parallel: bool) -> None:
        """Go on beside work of the packet's own, or (parallel) behind it."""

    def chosen(self, probability: float, path: Progress, sides: Sequence[Progress]) -> None:
        """Note what varies as chance chooses a side."""

    def joined(self, path: Progress, ends: Sequence[Value], chances: Sequence[Value]) -> Value:
        """Return the variance by chance of parts that run side by side."""
        return sum(chances)

    def longest(self, path: Progress, ends: Sequence[Value], parts: Sequence[dict[str, Value]]) -> None:
        """Add the seconds of the part that ends last, packet by packet; ends[0]: where all begin."""
        last = np.argmax(np.stack(np.broadcast_arrays(*ends)), axis=0)
        for number, part in enumerate(parts, start=1):
            for name, seconds in part.items():
                self.latency_parts[name] = self.latency_parts.get(name, 0.0) + np.where(last == number, seconds, 0.0)

    def occupied(
        self, hold: Hold, spent: Mapping[tuple[Chain, str], Value], path: Progress, seen: Progress, step: Visit
    ) -> None:
        """Add a server that an inner visit occupies, by the share of packets that come to it; spent: in the visit."""
        weighted = {name: getattr(hold, name) * seen.share for name in ("seconds", "visits", "squares", "variance")}
        self.uses.holds.append(replace(hold, **weighted))

    # ---- what is added up

    def spend(self, path: Progress, server: str, seconds: Value, chain: Chain = ()) -> None:
        """Note time at a server ("" for none but what is held) that is not also spent at one inside it."""
        if type(seconds) is not np.ndarray and not seconds:
            return
        chain = path.chain + chain
        if path.aside:
            self.beside(server or (chain[-1] if chain else ""), seconds)
            return
        self.total = self.total + seconds
        self.uses.spent[chain, server] = self.uses.spent.get((chain, server), 0.0) + seconds

    def beside(self, server: str, seconds: Value) -> None:
        """Note time of forked work that has nothing of the packet's."""
        self.uses.beside[server] = self.uses.beside.get(server, 0.0) + seconds

    def along(self, path: Progress, server: str, seconds: Value) -> None:
        """Note time that the packet itself spends."""
        if not path.forked:
            self.latency_parts[server] = self.latency_parts.get(server, 0.0) + seconds

    def vary(self, path: Progress, variance: Value) -> None:
        """Note the variance of a time that is left to chance."""
        if not path.forked:
            self.uses.chance = self.uses.chance + variance

    def overlaps(self, path: Progress, chain: Chain, seconds: Value) -> None:
        """Note that time was spent while the packet, or others of its own, went on."""
        if not path.aside and any_of(abs(seconds) > ROUNDING_S):
            self.total = self.total - seconds
            self.uses.overlap[chain] = self.uses.overlap.get(chain, 0.0) + seconds

    def merge(self, inner: Uses, path: Progress, seen: Progress, step: Visit) -> None:
        """Note what a visit uses, while what is held is held; seen: the packets as the visit has them."""
        spent = {place: self.of(seen, seconds) for place, seconds in inner.spent.items()}
        for hold in inner.holds:
            self.occupied(hold, spent, path, seen, step)
        for (chain, server), seconds in spent.items():
            self.spend(path, server, seconds, chain)
        around = path.open[-1].server.name if path.open else step.resource.name
        for name, seconds in inner.latency_parts.items():
            self.along(path, name or around, self.of(seen, seconds))
        self.vary(path, self.of(seen, inner.chance))
        for what, longer in inner.own_waits.items():
            self.own.add(what, self.of(seen, longer))
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
        together = max(1, self.at_once // max(np.size(path.clock), 1))
        for first in range(0, turns, together):
            index = np.arange(first, min(first + together, turns), dtype=np.float64)
            self.loop_turns.add(len(index) * path.turns)
            if len(index) > 1:
                self.turns(step, known, path, index, count)
                continue
            goes_on = np.asarray(count > first, dtype=np.float64)
            inside = path.where(goes_on)
            self.body(step.body, {**known, step.index: np.float64(first)}, inside)  # type: ignore[dict-item]
            path.rejoin([goes_on], [inside])

    def turns(self, step: Loop, known: Known, path: Progress, index: Values, count: Value) -> None:
        """Go through some turns of a loop side by side."""
        raise TurnsDifferError

    def fork(self, step: Fork, known: Known, path: Progress) -> None:
        """Work that goes on by itself: with what it took along it keeps others from that, else it is aside."""
        opened: list[Held] = []
        for before, after in step.moved:
            self.held[after] = held = self.held[before]
            self.moved(held, path)
            opened.append(held)
        around = opened[0].around if opened else ()
        strand = path.strand(True, (*around, *opened), len(around), aside=not opened)
        begun, beside, chance = self.total, self.own.enter(posted=True), self.uses.chance
        self.body(step.body, dict(known), strand)
        self.own.strand, self.uses.chance = beside, chance
        self.forked_off(path, strand, parallel=False)
        self.overlaps(strand, tuple(held.server.name for held in around), self.total - begun)

    def parallel(self, step: Parallel, known: Known, path: Progress) -> None:
        """Parts begin together; the packet goes on with the last."""
        begun, around, chance = self.total, self.latency_parts, self.uses.chance
        ends, parts, chances = [path.clock], [], []
        for part in step.bodies:
            strand, self.latency_parts = path.strand(False, path.open, len(path.open)), {}
            beside, self.uses.chance = self.own.enter(), 0.0  # type: ignore[assignment]
            self.body(part, dict(known), strand)
            self.own.strand = beside
            self.forked_off(path, strand, parallel=True)
            ends.append(strand.clock)
            parts.append(self.latency_parts)
            chances.append(self.uses.chance)
        self.latency_parts, self.uses.chance = around, chance + self.joined(path, ends, chances)
        self.longest(path, ends, parts)
        last = np.maximum.reduce(np.broadcast_arrays(*ends))
        self.overlaps(path, path.chain, self.total - begun - self.of(path, last - path.clock))
        path.clock = last

    # ---- values

    def sure(self, value: Expression, known: Known, what: str) -> Value:
        """Return a value that must not be left to chance."""
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

    shares: where a random choice decides; the first that is known.
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
