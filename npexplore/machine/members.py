"""Members of a server that packets draw at random, or take in turn, in the walk over a program.

A drawn number names the same member each time it is used: a packet that left this member busy waits for it, even
without contention. Members that are taken in turn by one counter share one queue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from npexplore.errors import ModelError
from npexplore.machine.lone import uses_of
from npexplore.machine.progress import Progress, TurnsDifferError, Value
from npexplore.machine.resources.base import Uses
from npexplore.machine.tree import Draw, Turn, Visit
from npexplore.machine.walk import Known, Walk
from npexplore.rows.expressions import Values, Variable, evaluate, expression


class _Place(NamedTuple):
    """A member of a server: identified by the visit that keeps it busy and the numbers drawn for that visit."""

    server: str
    method: str
    drawn: frozenset[Any]


class Members(Walk):
    """Walks a program and remembers the drawn numbers, and which members they left busy."""

    def __init__(self, at_once: int) -> None:
        super().__init__(at_once=at_once)
        self.busy_behind: dict[_Place, tuple[Value, Value, Value]] = {}  # by member: start, seconds, flags of packets
        self.fresh: set[Variable] = set()  # variables drawn in this iteration of the loop
        self.largest: dict[Variable, Values | None] = {}  # the largest number that may be drawn
        self.looked_at: set[int] = set()  # identities of the visits that `check_drawn` has checked
        self.in_turn: dict[Variable, tuple[str, int]] = {}  # numbers taken in turn: their counter and their count
        self.turned: dict[str, tuple[str, float]] = {}  # by server with members in turn: counter, seconds in one queue

    def draw(self, step: Draw | Turn, known: Known, path: Progress) -> None:
        super().draw(step, known, path)
        self.fresh.add(step.variable)
        below = evaluate(expression(step.below), known)
        self.largest[step.variable] = None if below is None else below - 1
        self.busy_behind = {key: row for key, row in self.busy_behind.items() if step.variable not in key.drawn}

    def turn(self, step: Draw | Turn, known: Known, path: Progress) -> None:
        self.draw(step, known, path)
        self.in_turn[step.variable] = (step.source, int(step.below)) if isinstance(step, Turn) else ("", 0)

    def check_drawn(self, step: Visit, values: Mapping[str, Values | None], known: Known) -> None:
        """Raise ModelError if the largest number that may be drawn is not a valid operand of the visit."""
        if id(step) in self.looked_at:
            return
        self.looked_at.add(id(step))
        largest = {
            name: evaluate(step.operands[name], {**known, **self.largest}) if value is None else value
            for name, value in values.items()
        }
        if any(value is None or np.ndim(value) for value in largest.values()):
            return
        for hold in uses_of(step.resource, step.method, largest).holds:
            members = step.resource.reached[hold.server].members
            if hold.member is not None and hold.member >= members:
                raise ModelError(
                    f"{step.resource.name}.{step.method}: {hold.server} has members 0..{members - 1}, and a number up "
                    f"to {float(hold.member):g} is drawn"
                )

    def come_again(
        self, uses: Uses, step: Visit, values: Mapping[str, Values | None], path: Progress, each: Callable[[Any], Any]
    ) -> None:
        """Add the wait of a packet for a member that it left busy: the same drawn numbers name the same member."""
        drawn = frozenset([step.operands[name] for name, value in values.items() if value is None])
        for hold in uses.holds if drawn else ():
            server, seconds = step.resource.reached[hold.server], each(hold.seconds)
            if server.units != 1 or server.members == 1 or hold.member is not None or np.any(hold.visits != 1.0):
                continue
            if path.turns > 1 and not drawn <= self.fresh and np.any(seconds > each(uses.latency)):
                raise TurnsDifferError
            place = _Place(hold.server, step.method, drawn)
            if place in self.busy_behind:
                start, duration, visited = self.busy_behind[place]
                wait = np.maximum(start + duration - path.clock, 0.0) * visited * path.live
                self.spend(path, "", self.of(path, wait))
                self.along(path, "", self.of(path, wait))
                path.clock = path.clock + wait
            self.busy_behind[place] = path.clock, seconds, path.live

    def counter(self, step: Visit, members: int) -> str:
        """Return the counter by which packets take all members of a server in turn ("": they do not)."""
        if members == 1 or not self.in_turn:
            return ""
        random = [value for value in step.operands.values() if isinstance(value, Variable) and value in self.in_turn]
        source, below = self.in_turn[random[0]] if len(random) == 1 else ("", 0)
        return source if below == members else ""
