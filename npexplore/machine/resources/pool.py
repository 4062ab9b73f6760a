"""A pool of alike buffers: a packet waits until enough are free, keeps them, and gives them back.

Demand of a packet = sum of buffers x the time it has them: packets under way are limited, whatever else they do.
Anybody may give buffers back, some now and some later.
"""

from collections.abc import Mapping

import numpy as np

from npexplore.machine.assembler import Assembler
from npexplore.machine.expressions import Expression, Values
from npexplore.machine.resources.base import Resource, Section, Server, Uses, count_of, known


class BufferPool(Resource):
    """`count` buffers that anybody may take and give."""

    VISITS = {"take": ("count",), "give": ("count",)}

    def __init__(self, name: str, count: int) -> None:
        super().__init__(name)
        self.count = count_of(f"{name}: count", count)

    def servers(self) -> list[Server]:
        """The buffers."""
        return [Server(self.name, units=self.count, role="pool")]

    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """Buffers are a packet's own from a take to a give."""
        section = [Section(self.name, known(self, method, "count", values))]
        nothing: Values = np.float64(0.0)  # type: ignore[assignment]
        return Uses(nothing, opens=section) if method == "take" else Uses(nothing, closes=section)

    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> None:
        """Wait for buffers, or give them back."""
        if method == "take":
            asm.consume(self.name, operands["count"])
        else:
            asm.put(self.name, operands["count"])
