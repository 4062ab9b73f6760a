"""What a packet does step by step, with the times of its own kind: where it is served, what it holds, what passes.

Read from the recorded program of a machine of one pool. None where it has loops, forks, parallel parts, work that
depends on others, or times left to chance; a branch by chance is left open, to be drawn for each packet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from npexplore.machine.holding import Holding
from npexplore.machine.lone import uses_of
from npexplore.machine.machine import Machine
from npexplore.machine.resources.base import OwnFaces, Server
from npexplore.machine.tree import Body, Branch, Count, Give, Let, Priority, Serve, Step, Take, Visit, Wait, Within
from npexplore.machine.visits import recorded
from npexplore.machine.workload import Workload
from npexplore.rows.distributions import Time
from npexplore.rows.expressions import Condition, Expression, Operand, Values, Variable, evaluate, holds

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Known = dict[Variable, Values | None]
SERVED, TAKEN, GIVEN, PASSED = range(4)
ROUND = 16  # packets that come by turns; of more, in an order, any may come next


class Stop(NamedTuple):
    """One step: SERVED or PASSED seconds, or units TAKEN or GIVEN, at a server's member ("": none)."""

    what: int
    server: tuple[str, int]
    amount: float
    units: int = 1


class Place(NamedTuple):
    """A step of all kinds of packets: amounts and members (n,), which kinds come there, and on which chance."""

    what: int
    name: str
    units: int
    amount: Floats
    member: Floats
    there: Floats
    draw: tuple[int, float, bool] | None  # number of the draw, its chance, and whether it must come true


@dataclass(frozen=True)
class Itinerary:
    """Places in the order of the program, shares (n,) of the kinds of packets, draws of a packet, and threads.

    turns: kinds as they come again and again, where this is known; None where they come by chance.
    """

    places: list[Place]
    shares: Floats
    draws: int
    threads: int
    turns: Integers | None = None

    def stops(self, kind: int, draws: Floats) -> list[Stop]:
        """Return the steps of a packet of a kind, which has a thread all along; draws: numbers in 0..1."""
        thread = "threads", 0
        found = [Stop(TAKEN, thread, 1, self.threads)]
        for place in self.places:
            drawn = place.draw is None or (draws[place.draw[0]] < place.draw[1]) == place.draw[2]
            if drawn and place.there[kind] and place.amount[kind] > 0:
                server = place.name, int(place.member[kind])
                found.append(Stop(place.what, server, float(place.amount[kind]), place.units))
        return [*found, Stop(GIVEN, thread, 1, self.threads)]


class _UnknownError(Exception):
    """A step that nobody can foretell."""


def itinerary(machine: Machine, workload: Workload) -> Itinerary | None:
    """Return what each kind of packets of a workload does; None where it is not known beforehand."""
    if len(machine.pools) > 1:
        return None
    columns, shares = workload.distinct()
    (pool,) = machine.record_pools(columns)
    walk = _Walk(len(shares))
    try:
        walk.body(pool.body, {variable: columns[name] for name, variable in pool.columns.items()}, np.ones(len(shares)))
    except _UnknownError:
        return None
    turns = workload.kinds() if workload.ordered and 1 < len(workload.packet_bytes) <= ROUND else None
    return Itinerary(walk.places, shares / shares.sum(), walk.draws, machine.threads, turns)


class _Walk:
    """Goes through a program and the visits in it, all kinds of packets side by side."""

    def __init__(self, kinds: int) -> None:
        self.kinds, self.places, self.draws = kinds, list[Place](), 0
        self.draw: tuple[int, float, bool] | None = None
        self.held: dict[Holding, Place] = {}

    def body(self, body: Body, known: Known, there: Floats) -> None:
        for step in body:
            self.step(step, known, there)

    def step(self, step: Step, known: Known, there: Floats) -> None:
        if isinstance(step, Serve):
            server, member = step.server, self.member(step.server, step.member, known)
            self.place(SERVED, server.name, server.units, self.seconds(step.seconds, known), member, there)
        elif isinstance(step, Wait):
            self.place(PASSED, "", 1, self.seconds(step.seconds, known), np.zeros(self.kinds), there)
        elif isinstance(step, Let):
            known[step.variable] = evaluate(step.value, known)
        elif isinstance(step, Take):
            for holding in step.holdings:
                assert holding.server is not None
                server = holding.server
                units, member = self.of(holding.units, known), self.member(server, holding.member, known)
                self.held[holding] = self.place(TAKEN, server.name, server.units, units, member, there)
        elif isinstance(step, Give):
            taken = self.held[step.holding]
            self.place(GIVEN, taken.name, taken.units, taken.amount, taken.member, there)
        elif isinstance(step, Branch):
            self.branch(step, known, there)
        elif isinstance(step, Visit):
            self.visit(step, known, there)
        elif not isinstance(step, Count | Within | Priority):
            raise _UnknownError

    def branch(self, step: Branch, known: Known, there: Floats) -> None:
        if isinstance(step.condition, Condition):
            taken = holds(step.condition, known)
            if taken is None:
                raise _UnknownError
            sides = (step.then, there * taken, self.draw), (step.otherwise, there * (1 - taken), self.draw)
        elif self.draw is not None:
            raise _UnknownError
        else:
            drawn = self.draws, float(step.condition)
            sides = (step.then, there, (*drawn, True)), (step.otherwise, there, (*drawn, False))
            self.draws += 1
        before = self.draw
        for body, live, self.draw in sides:
            if np.any(live):
                self.body(body, dict(known), live)
        self.draw = before

    def visit(self, step: Visit, known: Known, there: Floats) -> None:
        values = {name: evaluate(value, known) for name, value in step.operands.items()}
        if isinstance(step.resource, OwnFaces):
            uses = uses_of(step.resource, step.method, values)
            if uses.holds or np.any(uses.latency > 0) or uses.hands_on or step.result is not None:
                raise _UnknownError
            return
        made = recorded(step.resource, step.method, step.operands)
        inner: Known = {variable: values[name] for name, variable in made.operands.items()}
        self.body(made.body, inner, there)
        if step.result is not None:
            known[step.result] = None if made.result is None else evaluate(made.result, inner)

    def place(self, what: int, name: str, units: int, amount: Floats, member: Floats, there: Floats) -> Place:
        self.places.append(Place(what, name, units, amount, member, there, self.draw))
        return self.places[-1]

    def seconds(self, time: Expression | Time, known: Known) -> Floats:
        if isinstance(time, Expression):
            return self.of(time, known)
        mean, spread = time.moments()[:2]
        if spread:
            raise _UnknownError
        return np.full(self.kinds, float(mean))

    def member(self, server: Server, value: Operand | None, known: Known) -> Floats:
        return np.zeros(self.kinds) if server.members == 1 or value is None else self.of(value, known)

    def of(self, value: Operand, known: Known) -> Floats:
        found = evaluate(value, known)
        if found is None or np.any(np.isnan(found)):
            raise _UnknownError
        return np.array(np.broadcast_to(found, self.kinds), dtype=np.float64)
