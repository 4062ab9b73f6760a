"""Plain servers: one visit at a time in order of arrival (FIFO), or a pure delay that anybody may be in.

FIFO: demand = service time. A server that takes the next visit before it has answered is an Accelerator.
"""

from collections.abc import Mapping

import numpy as np

from npexplore.machine.assembler import Assembler
from npexplore.machine.expressions import Expression, Values
from npexplore.machine.resources.base import Hold, Resource, Server, Uses, check_member, count_of, known, time_of


class FifoServer(Resource):
    """`members` alike servers, each with a line and `units` places, occupied `service_s` a visit."""

    VISITS = {"serve": ("member",)}
    OPTIONAL = frozenset({"member"})

    def __init__(self, name: str, service_s: float, units: int = 1, members: int = 1) -> None:
        super().__init__(name)
        self.service = time_of(f"{name}: service time", service_s)
        self.units = count_of(f"{name}: units", units)
        self.members = count_of(f"{name}: members", members)

    def servers(self) -> list[Server]:
        """One server a member."""
        return [Server(self.name, self.members, self.units)]

    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """The service time at the member."""
        check_member(self, method, values, self.members)
        seconds = np.asarray(self.service)
        return Uses(seconds, [Hold(self.name, seconds, member=values.get("member"))])

    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> None:
        """SERVE at the member."""
        check_member(self, method, operands, self.members)
        asm.serve(self.name, asm.ticks(self.service), member=operands.get("member", 0))


class Delay(Resource):
    """Time that passes at no server."""

    VISITS = {"wait": ("seconds",)}

    def servers(self) -> list[Server]:
        """None."""
        return []

    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """Only delay."""
        seconds = known(self, method, "seconds", values)
        return Uses(seconds, delay=seconds)

    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> None:
        """Sleep."""
        asm.wait(asm.ticks(operands["seconds"]))
