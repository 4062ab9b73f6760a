"""Processors shared by hardware threads: a thread keeps its engine until it stalls, ready threads queue.

Demand of a visit = cycles / clock. Each thread belongs to one engine; switching costs `switch_cycles` a visit.
"""

from collections.abc import Mapping

from npexplore.machine.assembler import Assembler
from npexplore.machine.expressions import Expression, Values
from npexplore.machine.resources.base import Hold, Resource, Server, Uses, count_of, known, rate_of, time_of


class Processor(Resource):
    """`engines` alike processors; ready threads of an engine are served first come first served (ready on stall)."""

    VISITS = {"compute": ("cycles",)}

    def __init__(self, name: str, engines: int, clock_hz: float, switch_cycles: float = 0.0) -> None:
        super().__init__(name)
        self.engines = count_of(f"{name}: engines", engines)
        self.cycle = time_of(f"{name}: cycle", 1.0 / rate_of(f"{name}: clock", clock_hz))
        self.switch = time_of(f"{name}: switch time", switch_cycles * self.cycle)

    def servers(self) -> list[Server]:
        """One server a processor."""
        return [Server(self.name, members=self.engines)]

    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """A visit keeps the thread's own engine for its cycles."""
        seconds = known(self, method, "cycles", values) * self.cycle + self.switch
        return Uses(seconds, [Hold(self.name, seconds)])

    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> None:
        """SERVE on the engine that the thread belongs to."""
        time = asm.ticks(operands["cycles"], self.cycle) + asm.ticks(self.switch)
        asm.serve(self.name, time, member=asm.home(self.name))
