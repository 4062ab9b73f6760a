"""A reorder queue: packets leave in the order in which they entered, whatever happened to them in between.

    ticket = m.order.enter()      takes a place, waits while all are taken; tickets count 0, 1, 2, ...
    m.order.leave(ticket=ticket)  waits until all earlier ones have left, frees the place

At most `places` tickets are inside, so ticket mod places tells them apart. What enters must leave.
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
        """Places, and a gate in front of the exit for each."""
        gates = Server(f"{self.name}.gate", self.members * self.places, role="hidden", start=0)
        return [Server(self.name, self.members, self.places, role="pool"), gates]

    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """No time of its own; a place from one to the other."""
        check_member(self, method, values, self.members)
        place = [Taken(self.name, member=values.get("member"))]
        return Uses(np.asarray(0.0), opens=place) if method == "enter" else Uses(np.asarray(0.0), closes=place)

    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> Operand | None:
        """A place and a ticket; or wait at the gate for one's turn, then open the next gate if somebody is there."""
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
        mine = asm.value_of(operands["ticket"])
        asm.jump(go, asm.read(turn) == mine)
        asm.consume(f"{self.name}.gate", member=mine % self.places + member * self.places)
        asm.place(go)
        asm.write(turn, mine + 1)
        following = asm.value_of((mine + 1) % self.places + member * self.places)
        asm.jump(done, asm.line(f"{self.name}.gate", following) == 0)
        asm.put(f"{self.name}.gate", member=following)
        asm.place(done)
        asm.put(self.name, member=member)
        return None
