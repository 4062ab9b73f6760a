"""Plain servers: one visit at a time in order of arrival (FIFO), or a pure delay that anybody may be in.

FIFO: demand = service time; a pipelined accelerator has an initiation interval (occupied) shorter than its latency.
"""

from collections.abc import Mapping

from npexplore.machine.assembler import Assembler
from npexplore.machine.expressions import Expression, Values
from npexplore.machine.resources.base import Hold, Resource, Server, Uses, count_of, known, time_of


class FifoServer(Resource):
    """A server with `units` places, occupied `interval_s` a visit; the caller goes on `latency_s` after the start."""

    VISITS = {"serve": ()}

    def __init__(self, name: str, interval_s: float, latency_s: float | None = None, units: int = 1) -> None:
        super().__init__(name)
        self.interval = time_of(f"{name}: interval", interval_s)
        self.rest = time_of(
            f"{name}: latency less the interval", (interval_s if latency_s is None else latency_s) - interval_s
        )
        self.units = count_of(f"{name}: units", units)

    def servers(self) -> list[Server]:
        """One server with its units."""
        return [Server(self.name, units=self.units)]

    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """The interval at the server, the rest of the latency nowhere."""
        seconds: Values = self.interval  # type: ignore[assignment]
        return Uses(seconds + self.rest, [Hold(self.name, seconds)], delay=self.rest)  # type: ignore[arg-type]

    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> None:
        """SERVE, then sleep for the rest of the latency."""
        asm.serve(self.name, asm.ticks(self.interval))
        if self.rest:
            asm.wait(asm.ticks(self.rest))


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
