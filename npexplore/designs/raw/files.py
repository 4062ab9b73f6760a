"""What file-driven line cards of the RAW router write down: which packet left when, and which were discarded (Sec. 2).

A workload with a column `number` is one whose packets are followed: `leave` notes the time at which the line card out
has the whole packet, stage 3 drops those with the output that is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from npexplore.machine.resources.base import Ends, OwnFaces, Server, Uses, count_of
from npexplore.rows.assembler import HANDED_ON, Assembler
from npexplore.rows.expressions import Expression, Values

NUMBER = "number"  # column: 0, 1, ... in the order of the files


class Trace(OwnFaces):
    """Keeps the time at which each of `packets` numbered packets came by; `begin` is the global of number 0."""

    WHY: ClassVar[str] = "it writes the run's time down"
    VISITS: ClassVar[Mapping[str, tuple[str, ...]]] = {"note": ("number",)}

    def __init__(self, name: str, packets: int) -> None:
        super().__init__(name)
        self.packets = count_of(f"{name}: packets", packets)
        self.begin = -1

    def servers(self) -> list[Server]:
        """None: nothing waits here."""
        return []

    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """No time."""
        return Uses(np.float64(0.0))  # type: ignore[arg-type]

    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> None:
        """Write the time into the packet's global."""
        self.begin = asm.shared_global(f"{self.name}.times", self.packets)
        asm.check_below(operands["number"], self.packets, f"{self.name} has packets")
        asm.write(operands["number"] + self.begin, asm.now())


class Discard(OwnFaces):
    """Where a packet ends that is not forwarded; counted as a drop of its name."""

    WHY: ClassVar[str] = "the packet ends here"
    VISITS: ClassVar[Mapping[str, tuple[str, ...]]] = {"drop": ()}

    def servers(self) -> list[Server]:
        """None: nothing waits here."""
        return []

    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """No time; the packet leaves its thread."""
        return Uses(np.float64(0.0), hands_on=True)  # type: ignore[arg-type]

    def ends(self, method: str) -> Ends:
        """Say that the packet leaves its thread."""
        return "always"

    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> None:
        """Count the packet and end its path."""
        asm.count(f"drop.{self.name}")
        asm.end_packet(HANDED_ON)
