"""A pool of alike buffers: a packet waits until enough are free, keeps them, and gives them back.

The engine counts them; for bounds they set no rate of their own (their demand is the residence, which depends on load).
"""

from collections.abc import Mapping

import numpy as np

from npexplore.machine.assembler import Assembler
from npexplore.machine.expressions import Expression, Values
from npexplore.machine.resources.base import Resource, Server, Uses, count_of


class BufferPool(Resource):
    """`count` buffers that anybody may take and give."""

    VISITS = {"take": ("count",), "give": ("count",)}

    def __init__(self, name: str, count: int) -> None:
        super().__init__(name)
        self.count = count_of(f"{name}: count", count)

    def servers(self) -> list[Server]:
        """The free buffers, counted by the engine only."""
        return [Server(self.name, units=self.count, role="hidden")]

    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """No time of its own."""
        return Uses(np.float64(0.0))  # type: ignore[arg-type]

    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> None:
        """Wait for buffers, or give them back."""
        if method == "take":
            asm.consume(self.name, operands["count"])
        else:
            asm.put(self.name, operands["count"])
