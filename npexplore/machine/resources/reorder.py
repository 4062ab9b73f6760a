"""A reorder queue: packets leave in the order in which they entered, whatever happened to them in between.

    ticket = m.order.enter()      takes a place, waits while all are taken; tickets count 0, 1, 2, ...
    m.order.leave(ticket=ticket)  waits until all earlier tickets have left, frees the place

At most `places` tickets are inside, so ticket mod places identifies them. Every packet that enters must leave.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from npexplore.machine.resources.base import Example, OwnFaces, Server, Taken, Uses, check_member, count_of
from npexplore.rows.assembler import Assembler
from npexplore.rows.base import Label
from npexplore.rows.expressions import Expression, Operand, Values, Variable


class ReorderQueue(OwnFaces, kind="reorder"):
    """`members` alike queues of `places` each; busy places are the occupancy in the statistics.

    Example:
        >>> from npexplore.machine import ReorderQueue
        >>> ReorderQueue("order", places=64)
        ReorderQueue('order', places=64)
    """

    WHY = "a ticket leaves when all earlier ones have left"
    EXAMPLE = Example(alone="it orders what other resources do in between", more={"places": 8})
    VISITS = {"enter": ("member",), "leave": ("ticket", "member")}
    OPTIONAL = {"member": 0}
    RESULTS = frozenset({"enter"})

    def __init__(self, name: str, places: int, members: int = 1) -> None:
        super().__init__(name)
        self.places = count_of(f"{name}: places", places)
        self.members = count_of(f"{name}: members", members)

    def servers(self) -> list[Server]:
        """Return the places, and a gate in front of the exit for each place."""
        gates = Server(f"{self.name}.gate", self.members * self.places, role="hidden", start=0)
        return [Server(self.name, self.members, self.places, role="pool"), gates]

    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """Return no time; a place is taken at enter and given back at leave."""
        check_member(self, method, values, self.members)
        place = [Taken(self.name, member=values.get("member"))]
        return Uses(np.asarray(0.0), opens=place) if method == "enter" else Uses(np.asarray(0.0), closes=place)

    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> Operand | None:
        """Take a place and a ticket; or wait at the gate for the turn, then open the next gate if a packet waits."""
        check_member(self, method, operands, self.members)
        member = asm.value_of(operands.get("member", 0))
        if method == "enter":
            asm.consume(self.name, member=member)
            ticket = Variable("ticket")
            asm.fetch_add(ticket, asm.shared_global(f"{self.name}.entered", self.members) + member, 1)
            return ticket
        if asm.outlives:  # a fork may wait at each place
            asm.spare_tokens += self.places * self.members
        turn, go, done = asm.shared_global(f"{self.name}.left", self.members) + member, Label(), Label()
        leaving = asm.value_of(operands["ticket"])
        asm.jump(go, asm.read(turn) == leaving)
        asm.consume(f"{self.name}.gate", member=leaving % self.places + member * self.places)
        asm.place(go)
        asm.write(turn, leaving + 1)
        following = asm.value_of((leaving + 1) % self.places + member * self.places)
        asm.jump(done, asm.line(f"{self.name}.gate", following) == 0)
        asm.put(f"{self.name}.gate", member=following)
        asm.place(done)
        asm.put(self.name, member=member)
        return None
