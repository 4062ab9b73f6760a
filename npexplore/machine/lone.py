"""What one visit uses without contention, computed from its record: its latency, and how long it occupies servers.

    latency = sum of the times of its steps     seconds of a server = units x time from take to give

Values are numbers, or arrays over packets (shape n), as the operands are. The packet does not wait for forked work.
Holdings that such work took over last until it gives them back; `overlap` is the time spent while the packet continues.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from npexplore.errors import ModelError
from npexplore.machine.amounts import any_of
from npexplore.machine.program import HOME, THREAD
from npexplore.machine.progress import LEAST_DIVISOR, Chain, Held, Progress, Value
from npexplore.machine.resources.base import (
    LEAST_LOADED,
    LONGEST_TIME_S,
    Hold,
    OwnFaces,
    Resource,
    Server,
    Taken,
    Uses,
)
from npexplore.machine.tree import (
    Choose,
    Contended,
    Count,
    Give,
    Line,
    Now,
    Poll,
    Recall,
    Serve,
    Take,
    Units,
    Until,
    Visit,
    Wait,
    Within,
)
from npexplore.machine.visits import recorded
from npexplore.machine.walk import Known, Walk, share_of
from npexplore.rows.distributions import Time
from npexplore.rows.expressions import Constant, Expression, Values, evaluate

NOTHING: Value = np.float64(0.0)
MOST_ALONE = 256  # cached visits of one resource, with numbers as operands


def uses_of(resource: Resource, method: str, values: dict[str, Values | None], live: Value = True) -> Uses:
    """Return what a visit uses with these operands (None: drawn at random); raises ModelError for impossible ones.

    live: flags of the packets that make the visit; the operands of others are not checked.
    """
    place = f"{resource.name}.{method}"
    if isinstance(resource, OwnFaces):
        return _completed(resource.uses(method, values), place, live)
    for name, value in values.items():
        if name not in resource.CHANCE and (value is None or any_of(np.isnan(value))):
            raise ModelError(f"operand {name!r} of {place} must not depend on a random choice")
    key, alone = _once(method, values), resource.shared_visits.alone
    if (uses := alone.get(key)) is not None:
        return uses
    visited = recorded(resource, method, values)
    known: Known = {variable: values[name] for name, variable in visited.operands.items()}
    known[HOME] = known[THREAD] = None
    walk, path = _Lone(place), Progress(0.0, come=live)
    walk.body(visited.body, known, path)
    walk.uses.latency, walk.uses.latency_parts = path.clock, walk.latency_parts
    walk.uses.own_waits = walk.own.settle()
    walk.uses.result = None if visited.result is None else evaluate(visited.result, known)
    if key is not None and np.all(live):  # without live packets the uses are zero, which must not be cached
        if len(alone) >= MOST_ALONE:
            alone.clear()
        alone[key] = walk.uses
    return walk.uses


def check_polls(resource: Resource, method: str, operands: Iterable[str]) -> None:
    """Raise ModelError if a visit polls without any time passing between two looks."""
    if isinstance(resource, OwnFaces):
        return
    for step in recorded(resource, method, operands).body:
        if isinstance(step, Poll):
            walk, path = _Lone(f"{resource.name}.{method}"), Progress(0.0)
            walk.body([*step.look, *step.between], {HOME: None, THREAD: None}, path)
            if not any_of(path.clock > 0):
                raise ModelError(
                    f"{step.server.name}: polls must take time, at what they visit or as a gap between them"
                )


def _once(method: str, values: dict[str, Values | None]) -> object:
    """Return the cache key of a visit among those of its resource; None if an operand is an array."""
    for operand in values.values():
        if type(operand) is np.ndarray:
            return None
    return method, *values.items()


def unloaded_visit(step: Visit) -> Uses:
    """Return what one visit uses; its operands must be numbers."""
    return uses_of(step.resource, step.method, {name: evaluate(value, {}) for name, value in step.operands.items()})


def _completed(uses: Uses, place: str, live: Value) -> Uses:
    """Return the uses that a kind computed itself, completed by the places where time is spent and by the overlap."""
    if any_of((uses.latency < 0) & live):
        raise ModelError(f"{place} takes a negative time for some packets of this workload")
    limit: Chain = () if uses.limit is None else (uses.limit,)
    total: Value = uses.delay
    for hold in uses.holds:
        inner: Value = hold.seconds if hold.inner is None else hold.inner
        equal_squares = hold.seconds**2 / np.maximum(hold.visits, LEAST_DIVISOR)
        if hold.variance is None:  # 0 for visits of equal length, as a number: an array of zeros costs time
            hold.variance = NOTHING if hold.squares is None else hold.squares - equal_squares
        hold.squares = equal_squares if hold.squares is None else hold.squares
        total = total + inner
        if not uses.aside and hold.variance is not NOTHING:
            uses.chance = uses.chance + hold.variance * (inner / np.maximum(hold.seconds, LEAST_DIVISOR)) ** 2
        if uses.aside:
            full = hold.seconds if hold.server == uses.limit else inner
            uses.beside[hold.server] = uses.beside.get(hold.server, 0.0) + full
        else:
            uses.spent[limit, hold.server] = uses.spent.get((limit, hold.server), 0.0) + inner
    if not uses.aside:
        uses.spent[limit, ""] = uses.delay
        uses.overlap[limit] = total - uses.latency
    if uses.latency_parts:
        return uses
    share = uses.latency / np.where(total > 0, total, 1.0)  # overlapping time is shared in proportion
    for (chain, server), seconds in uses.spent.items():
        name = server or (chain[-1] if chain else "")
        uses.latency_parts[name] = uses.latency_parts.get(name, 0.0) + seconds * share
    return uses


class _Lone(Walk):
    """Walks the record of a visit; amounts are those of each packet."""

    # ---- time

    def seconds(self, time: Expression | Time, known: Known, path: Progress) -> Value:
        """Return a time in seconds, or the mean of a distribution.

        Raises ModelError if the time depends on a random choice, is negative, or is above LONGEST_TIME_S.
        """
        if type(time) is Constant and 0 <= time.value <= LONGEST_TIME_S:
            return time.value
        if not isinstance(time, Expression):
            return time.moments()[0]
        value = evaluate(time, known)
        if value is None or any_of(np.isnan(value)):
            raise ModelError(f"{self.prefix}a time must not depend on a random choice")
        if any_of((value < 0) & path.live):
            raise ModelError(
                f"{self.prefix.removesuffix(': ')} takes a negative time for some packets of this workload"
            )
        if any_of((value > LONGEST_TIME_S) & path.live):
            raise ModelError(f"{self.prefix}a time must be at most {LONGEST_TIME_S:g} s, got {float(np.max(value)):g}")
        return value

    def passes(self, path: Progress, seconds: Value, server: str = "") -> None:
        """Add a time to the packet's clock, at a server or at none ("")."""
        amount = seconds * path.share
        self.spend(path, server, amount)
        self.along(path, server or (path.open[-1].server.name if path.open else ""), amount)
        path.clock = path.clock + seconds

    def serve(self, step: Serve, known: Known, path: Progress) -> None:
        seconds = self.seconds(step.seconds, known, path)
        spread = 0.0 if isinstance(step.seconds, Expression) else step.seconds.moments()[1]
        self.occupy(path, step.server.name, seconds, evaluate(step.member, known), spread)
        self.vary(path, spread * seconds**2 * path.share)
        self.meets(path, step.server, path.clock, seconds)
        self.passes(path, seconds, step.server.name)

    def wait(self, step: Wait, known: Known, path: Progress) -> None:
        seconds = self.seconds(step.seconds, known, path)
        if not isinstance(step.seconds, Expression):
            self.vary(path, step.seconds.moments()[1] * seconds**2 * path.share)
        self.passes(path, seconds)

    def until(self, step: Until, known: Known, path: Progress) -> None:
        moment = evaluate(step.moment, known)
        if moment is None:
            raise ModelError(f"{self.prefix}a moment must not depend on a random choice")
        self.passes(path, np.maximum(moment, path.clock) - path.clock)

    # ---- what is held

    def take(self, step: Take, known: Known, path: Progress) -> None:
        for holding in step.holdings:
            assert holding.server is not None
            server, units = holding.server, self.sure(holding.units, known, "the number of units")
            if any_of(((units < 1) | (units > server.units)) & path.live):
                got = np.ravel(units)[np.ravel((units < 1) | (units > server.units))][0]
                raise ModelError(f"{self.prefix}units of {server.name} must be in 1..{server.units}, got {got:g}")
            held = Held(server, holding, units, evaluate(holding.member, known), path.clock, path.open)
            self.held[holding] = held
            path.open = (*path.open, held)

    def give(self, step: Give, known: Known, path: Progress) -> None:
        """Record how long units were occupied, from the take to now."""
        held = self.held[step.holding]
        if held in path.open:
            for later in path.open[path.open.index(held) + 1 :]:
                held.crossed.add(later.server.name)
                later.crossed.add(held.server.name)
            path.without(held)
        seconds = path.clock - held.since
        hold = self.occupy(path, held.server.name, held.units * seconds, held.member)
        self.meets(path, held.server, held.since, seconds)
        hold.units, hold.outlives, hold.crossed = held.units, held.outlives, held.crossed

    def occupy(self, path: Progress, server: str, seconds: Value, member: Values | None, spread: float = 0.0) -> Hold:
        """Record that a server is occupied for a time. spread: squared coefficient of variation of that time."""
        whole = seconds * path.share
        squares, variance = whole * seconds * (1.0 + spread), whole * seconds * spread
        hold = Hold(server, whole, visits=path.share, member=member, squares=squares, variance=variance)
        self.uses.holds.append(hold)
        return hold

    def meets(self, path: Progress, server: Server, begin: Value, seconds: Value) -> None:
        """Note a visit to a server of one unit, if concurrent work of the same packet may meet there."""
        if self.own.strands and server.units == 1:
            self.own.visit(server.name, begin, seconds, path.share / server.members)

    def units(self, step: Units, known: Known, path: Progress) -> None:
        """Record units that another visit gives back, or has taken."""
        units = self.sure(step.units, known, "the number of units")
        side = self.uses.closes if step.give_back else self.uses.opens
        side.append(Taken(step.server.name, units * path.share, evaluate(step.member, known)))

    def poll(self, step: Poll, known: Known, path: Progress) -> None:
        """Walk a poll: without contention the first look finds the server free."""
        self.body(step.look, dict(known), path)
        self.uses.opens.append(Taken(step.server.name))

    # ---- nested bodies

    def contended(self, step: Contended, known: Known, path: Progress) -> None:
        self.body(step.alone, known, path)

    def visit(self, step: Visit, known: Known, path: Progress) -> None:
        """Add what a visit of another resource uses while this visit holds what it holds."""
        values = {name: evaluate(value, known) for name, value in step.operands.items()}
        inner = uses_of(step.resource, step.method, values, path.live)
        self.merge(inner, path, path, step)
        if step.result is not None:
            known[step.result] = inner.result
        path.clock = path.clock + inner.latency

    # ---- values

    def count(self, step: Count, known: Known, path: Progress) -> None:
        share = 1.0 if step.where is None else share_of(step.where, known)
        amount = self.sure(step.amount, known, f"the amount of {step.name}") * share * path.share
        self.uses.counts[step.name] = self.uses.counts.get(step.name, 0.0) + amount

    def within(self, step: Within, known: Known, path: Progress) -> None:
        value = evaluate(step.value, known)
        if value is None:
            return
        outside = ((value < 0) | (value >= step.below)) & path.live
        if any_of(outside):
            got = np.ravel(np.broadcast_to(value, np.shape(outside)))[np.ravel(outside)][0]
            rule = step.subject if "{got" in step.subject else f"{step.subject} 0..{step.below - 1}, got {{got:g}}"
            raise ModelError(rule.format(got=got))

    def choose(self, step: Choose, known: Known, path: Progress) -> None:
        """Set the chosen member: from the key, LEAST_LOADED (also for members in turn), or None for a random one."""
        if step.policy in ("shortest", "in_turn"):
            known[step.variable] = np.asarray(LEAST_LOADED)
        else:
            known[step.variable] = None if step.key is None else evaluate(step.key % step.members, known)

    def now(self, step: Now, known: Known, path: Progress) -> None:
        known[step.variable] = path.clock

    def recall(self, step: Recall, known: Known, path: Progress) -> None:
        known[step.variable] = np.float64(0.0)  # type: ignore[assignment]

    def line(self, step: Line, known: Known, path: Progress) -> None:
        known[step.variable] = np.float64(0.0)  # type: ignore[assignment]
