"""What a visit uses when no other packet is in its way, read from its record: its time, and what it occupies.

    latency = sum of the times on its way      seconds of a server = units x time from take to give, whoever gives

Values are numbers, or arrays over packets (shape n), as the operands are. Forked work goes on beside the packet: what
it took along is kept for longer, and `overlap` says how much of the time spent passes while the packet goes on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from npexplore.errors import ModelError
from npexplore.machine.loop_turns import LoopTurns
from npexplore.machine.program import HOME, THREAD
from npexplore.machine.resources.base import LEAST_LOADED, OwnFaces, Resource, Taken, Uses
from npexplore.machine.sections import TINY, Chain
from npexplore.machine.tree import (
    Body,
    Branch,
    Choose,
    Contended,
    Count,
    Draw,
    Fork,
    Give,
    Let,
    Line,
    Loop,
    Now,
    Parallel,
    Poll,
    Recall,
    Serve,
    Take,
    Turn,
    Units,
    Until,
    Visit,
    Wait,
    Within,
)
from npexplore.machine.visits import recorded
from npexplore.machine.ways import Account, Held, Value, Way
from npexplore.rows.distributions import Time
from npexplore.rows.expressions import Condition, Constant, Expression, Values, Variable, evaluate, holds

Known = dict[Variable, Values | None]


def uses_of(resource: Resource, method: str, values: dict[str, Values | None], live: Value = True) -> Uses:
    """Return what a visit uses with these operands (None: drawn at random); raises ModelError for impossible ones.

    live: which of the packets come along; what the others ask for is not looked at.
    """
    place = f"{resource.name}.{method}"
    if isinstance(resource, OwnFaces):
        return _completed(resource.uses(method, values), place, live)
    for name, value in values.items():
        if name not in resource.CHANCE and (value is None or _any(np.isnan(value))):
            raise ModelError(f"operand {name!r} of {place} must not depend on a random choice")
    same = _once(method, values)
    if same in resource.alone:
        return resource.alone[same]
    made = recorded(resource, method, values)
    known: Known = {variable: values[name] for name, variable in made.operands.items()}
    known[HOME] = known[THREAD] = None
    walk = _Lone(place, live)
    way = Way(0.0)
    walk.body(made.body, known, way)
    walk.uses.latency, walk.uses.way = way.clock, walk.way
    walk.uses.own_waits = walk.own.settle()
    walk.uses.result = None if made.result is None else evaluate(made.result, known)
    if same is not None and np.all(live):  # what nobody comes along for uses nothing, here alone
        resource.alone[same] = walk.uses
    return walk.uses


def check_polls(resource: Resource, method: str, operands: Iterable[str]) -> None:
    """Raise ModelError where a visit looks again and again in no time."""
    if isinstance(resource, OwnFaces):
        return
    for step in recorded(resource, method, operands).body:
        if isinstance(step, Poll):
            walk, way = _Lone(f"{resource.name}.{method}", True), Way(0.0)
            walk.body([*step.look, *step.between], {HOME: None, THREAD: None}, way)
            if not _any(way.clock > 0):
                raise ModelError(
                    f"{step.server.name}: polls must take time, at what they visit or as a gap between them"
                )


def _once(method: str, values: dict[str, Values | None]) -> object:
    """Return what tells a visit with numbers as operands from others of its resource; None with an array among them."""
    if any(type(value) is np.ndarray for value in values.values()):
        return None
    return method, *values.items()


def unloaded_visit(step: Visit) -> Uses:
    """Return what one visit, with numbers as operands, uses."""
    return uses_of(step.resource, step.method, {name: evaluate(value, {}) for name, value in step.operands.items()})


def _completed(uses: Uses, place: str, live: Value) -> Uses:
    """Return what a kind says of itself, with where the time is spent and how much of it overlaps."""
    if _any((uses.latency < 0) & live):
        raise ModelError(f"{place} takes a negative time for some packets of this workload")
    limit: Chain = () if uses.limit is None else (uses.limit,)
    total: Value = uses.delay
    for hold in uses.holds:
        inner: Value = hold.seconds if hold.inner is None else hold.inner
        alike = hold.seconds**2 / np.maximum(hold.visits, TINY)
        hold.squares = alike if hold.squares is None else hold.squares
        hold.variance = hold.squares - alike if hold.variance is None else hold.variance
        total = total + inner
        if not uses.aside:
            uses.chance = uses.chance + hold.variance * (inner / np.maximum(hold.seconds, TINY)) ** 2
        if uses.aside:
            full = hold.seconds if hold.server == uses.limit else inner
            uses.beside[hold.server] = uses.beside.get(hold.server, 0.0) + full
        else:
            uses.spent[limit, hold.server] = uses.spent.get((limit, hold.server), 0.0) + inner
    if not uses.aside:
        uses.spent[limit, ""] = uses.delay
        uses.overlap[limit] = total - uses.latency
    if uses.way:
        return uses
    share = uses.latency / np.where(total > 0, total, 1.0)  # of what overlaps, each server has its part
    for (chain, server), seconds in uses.spent.items():
        name = server or (chain[-1] if chain else "")
        uses.way[name] = uses.way.get(name, 0.0) + seconds * share
    return uses


class _Lone(Account):
    """Goes along the record of a visit and adds up what it uses."""

    def __init__(self, place: str, live: Value) -> None:
        super().__init__(place, live)
        self.turns = LoopTurns()

    def body(self, body: Body, known: Known, way: Way) -> None:
        """Go along a block."""
        for step in body:
            STEPS.get(type(step), _nothing)(self, step, known, way)

    # ---- time

    def seconds(self, time: Expression | Time, known: Known, way: Way) -> Value:
        """Return a time, the mean of a random one; raises ModelError for one left to chance, or negative."""
        if type(time) is Constant and time.value >= 0:
            return time.value
        if not isinstance(time, Expression):
            return time.moments()[0]
        value = evaluate(time, known)
        if value is None or _any(np.isnan(value)):
            raise ModelError(f"{self.place}: a time must not depend on a random choice")
        if _any((value < 0) & self.there(way)):
            raise ModelError(f"{self.place} takes a negative time for some packets of this workload")
        return value

    def serve(self, step: Serve, known: Known, way: Way) -> None:
        seconds = self.seconds(step.seconds, known, way)
        spread = 0.0 if isinstance(step.seconds, Expression) else step.seconds.moments()[1]
        self.occupy(way, step.server.name, seconds, evaluate(step.member, known), spread)
        self.vary(way, spread * seconds**2)
        self.meets(way, step.server, way.clock, seconds)
        self.spend(way, step.server.name, seconds)
        way.clock = way.clock + seconds

    def wait(self, step: Wait, known: Known, way: Way) -> None:
        seconds = self.seconds(step.seconds, known, way)
        if not isinstance(step.seconds, Expression):
            self.vary(way, step.seconds.moments()[1] * seconds**2)
        self.spend(way, "", seconds)
        way.clock = way.clock + seconds

    def until(self, step: Until, known: Known, way: Way) -> None:
        moment = evaluate(step.moment, known)
        if moment is None:
            raise ModelError(f"{self.place}: a moment must not depend on a random choice")
        later = np.maximum(moment, way.clock)
        self.spend(way, "", later - way.clock)
        way.clock = later

    # ---- what is held

    def take(self, step: Take, known: Known, way: Way) -> None:
        for holding in step.holdings:
            assert holding.server is not None
            server, units = holding.server, self.told(holding.units, known, "the number of units")
            if _any(((units < 1) | (units > server.units)) & self.there(way)):
                got = np.ravel(units)[np.ravel((units < 1) | (units > server.units))][0]
                raise ModelError(f"{self.place}: units of {server.name} must be in 1..{server.units}, got {got:g}")
            made = Held(server, units, evaluate(holding.member, known), way.clock, way.open)
            self.held[holding] = made
            way.hold((*way.open, made))

    def give(self, step: Give, known: Known, way: Way) -> None:
        self.released(self.held[step.holding], way)

    def fork(self, step: Fork, known: Known, way: Way) -> None:
        """Work that goes on by itself: what it took along is kept for longer, the rest is aside."""
        moved = []
        for before, after in step.moved:
            self.held[after] = held = self.held[before]
            held.outlives = True
            at = way.open.index(held)
            way.hold(way.open[:at] + way.open[at + 1 :])
            moved.append(held)
        around = moved[0].around if moved else ()
        strand = Way(way.clock, share=way.share, aside=way.aside or not moved, forked=True)
        strand.hold((*around, *moved))
        begun, beside = self.total, self.own.enter(posted=True)
        self.body(step.body, dict(known), strand)
        self.own.strand = beside
        if not strand.aside:
            self.overlaps(tuple(held.server.name for held in around), self.total - begun)

    def parallel(self, step: Parallel, known: Known, way: Way) -> None:
        """Parts begin together; the packet goes on with the last."""
        begun, ends = self.total, [way.clock]
        before, parts = self.way, []
        for part in step.bodies:
            strand, self.way, beside = replace(way), {}, self.own.enter()
            self.body(part, dict(known), strand)
            self.own.strand = beside
            ends.append(strand.clock)
            parts.append(self.way)
        last = np.maximum.reduce(np.broadcast_arrays(*ends))
        self.way = _longest(parts, np.stack(np.broadcast_arrays(*ends)), before)
        if not way.aside:
            self.overlaps(way.chain, self.total - begun - (last - way.clock) * way.share)
        way.clock = last

    def units(self, step: Units, known: Known, way: Way) -> None:
        """Units that another visit gives, or has taken."""
        units = self.told(step.units, known, "the number of units")
        side = self.uses.closes if step.given else self.uses.opens
        side.append(Taken(step.server.name, units * way.share, evaluate(step.member, known)))

    def poll(self, step: Poll, known: Known, way: Way) -> None:
        """The first look finds the server free."""
        self.body(step.look, dict(known), way)
        self.uses.opens.append(Taken(step.server.name))

    # ---- blocks

    def branch(self, step: Branch, known: Known, way: Way) -> None:
        taken = _share(step.condition, known)
        sides = []
        for body, part in ((step.then, taken), (step.otherwise, 1.0 - taken)):
            side = replace(way, share=way.share * part)
            if body and _any(self.there(side)):
                self.body(body, dict(known), side)
            sides.append(part * (side.clock - way.clock))
        way.clock = way.clock + sides[0] + sides[1]

    def loop(self, step: Loop, known: Known, way: Way) -> None:
        count = self.told(step.count, known, "the count of a loop")
        turns = int(np.max(count, initial=0))
        self.turns.check(turns)
        for index in range(turns):
            self.turns.add(1)
            goes_on = np.asarray(count > index, dtype=np.float64)
            inside = replace(way, share=way.share * goes_on)
            self.body(step.body, {**known, step.index: np.float64(index)}, inside)  # type: ignore[dict-item]
            way.clock = way.clock + goes_on * (inside.clock - way.clock)

    def contended(self, step: Contended, known: Known, way: Way) -> None:
        self.body(step.alone, known, way)

    def visit(self, step: Visit, known: Known, way: Way) -> None:
        """A visit of another resource: all that it uses, while what is held is held."""
        values = {name: evaluate(value, known) for name, value in step.operands.items()}
        inner = uses_of(step.resource, step.method, values, self.there(way))
        self.merge(inner, way, step.resource.name)
        if step.result is not None:
            known[step.result] = inner.result
        way.clock = way.clock + inner.latency

    # ---- values

    def told(self, value: Expression, known: Known, what: str) -> Value:
        """Return a value that must not be left to chance."""
        found = evaluate(value, known)
        if found is None or _any(np.isnan(found)):
            raise ModelError(f"{self.place}: {what} must not depend on a random choice")
        return found

    def count(self, step: Count, known: Known, way: Way) -> None:
        share = 1.0 if step.where is None else _share(step.where, known)
        amount = self.told(step.amount, known, f"the amount of {step.name}") * share * way.share
        self.uses.counts[step.name] = self.uses.counts.get(step.name, 0.0) + amount

    def within(self, step: Within, known: Known, way: Way) -> None:
        value = evaluate(step.value, known)
        if value is None:
            return
        outside = ((value < 0) | (value >= step.below)) & self.there(way)
        if _any(outside):
            got = np.ravel(np.broadcast_to(value, np.shape(outside)))[np.ravel(outside)][0]
            rule = step.subject if "{got" in step.subject else f"{step.subject} 0..{step.below - 1}, got {{got:g}}"
            raise ModelError(rule.format(got=got))

    def choose(self, step: Choose, known: Known, way: Way) -> None:
        """The member where a key tells it, that it is the least loaded one or one in turn, or None: left to chance."""
        if step.policy in ("shortest", "in_turn"):
            known[step.variable] = np.asarray(LEAST_LOADED)
        else:
            known[step.variable] = None if step.key is None else evaluate(step.key % step.members, known)

    def let(self, step: Let, known: Known, way: Way) -> None:
        known[step.variable] = evaluate(step.value, known)

    def chance(self, step: Draw | Turn, known: Known, way: Way) -> None:
        known[step.variable] = None

    def now(self, step: Now, known: Known, way: Way) -> None:
        known[step.variable] = way.clock

    def recall(self, step: Recall, known: Known, way: Way) -> None:
        known[step.variable] = np.float64(step.alone)  # type: ignore[assignment]

    def line(self, step: Line, known: Known, way: Way) -> None:
        known[step.variable] = np.float64(0.0)  # type: ignore[assignment]


STEPS: dict[type, Any] = {
    Serve: _Lone.serve, Wait: _Lone.wait, Until: _Lone.until, Take: _Lone.take, Give: _Lone.give, Fork: _Lone.fork,
    Parallel: _Lone.parallel, Units: _Lone.units, Poll: _Lone.poll, Branch: _Lone.branch, Loop: _Lone.loop,
    Contended: _Lone.contended, Visit: _Lone.visit, Count: _Lone.count, Within: _Lone.within, Choose: _Lone.choose,
    Let: _Lone.let, Draw: _Lone.chance, Turn: _Lone.chance, Now: _Lone.now, Recall: _Lone.recall, Line: _Lone.line,
}  # fmt: skip


def _nothing(*_: object) -> None:
    """A priority, a window, a word to remember: nothing to one who meets nobody."""


def _longest(parts: list[dict[str, Value]], ends: Value, way: dict[str, Value]) -> dict[str, Value]:
    """Return a way with the part that ends last, packet by packet; ends[0]: where all begin."""
    last = np.argmax(ends, axis=0)
    for number, part in enumerate(parts, start=1):
        for name, seconds in part.items():
            way[name] = way.get(name, 0.0) + np.where(last == number, seconds, 0.0)
    return way


def _any(flags: Value) -> bool:
    """Say whether a flag, or one of several, is set."""
    return bool(flags.any()) if type(flags) is np.ndarray else bool(flags)


def _share(condition: Condition | float, known: Known) -> Value:
    if not isinstance(condition, Condition):
        return condition
    value = holds(condition, known)
    if value is None:
        raise ModelError("a branch must not depend on a random choice by its condition; give it a probability")
    return value
