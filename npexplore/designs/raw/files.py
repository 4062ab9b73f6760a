"""Records of the RAW router's file-driven line cards: when each packet left, and which were discarded (Sec. 2).

Packets with a column `number` are traced: `leave` records the time at which the output line card has the whole packet,
and stage 3 drops packets whose output number is beyond the ports.
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
    """Records the time at which each of `packets` numbered packets passes; `begin` is the global of packet 0."""

    WHY: ClassVar[str] = "it writes the run's time down"
    VISITS: ClassVar[Mapping[str, tuple[str, ...]]] = {"note": ("number",)}

    def __init__(self, name: str, packets: int) -> None:
        super().__init__(name)
        self.packets = count_of(f"{name}: packets", packets)
        self.begin = -1

    def servers(self) -> list[Server]:
        """Return no servers: packets never wait here."""
        return []

    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """Return no time."""
        return Uses(np.float64(0.0))  # type: ignore[arg-type]

    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> None:
        """Emit the row that writes the time into the packet's global."""
        self.begin = asm.shared_global(f"{self.name}.times", self.packets)
        asm.check_below(operands["number"], self.packets, f"{self.name} has packets")
        asm.write(operands["number"] + self.begin, asm.now())


class Discard(OwnFaces):
    """The end of a packet that is not forwarded; it counts as a drop under the resource's name."""

    WHY: ClassVar[str] = "the packet ends here"
    VISITS: ClassVar[Mapping[str, tuple[str, ...]]] = {"drop": ()}

    def servers(self) -> list[Server]:
        """Return no servers: packets never wait here."""
        return []

    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """Return no time; the packet leaves its thread."""
        return Uses(np.float64(0.0), hands_on=True)  # type: ignore[arg-type]

    def ends(self, method: str) -> Ends:
        """Return "always": the packet leaves its thread."""
        return "always"

    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> None:
        """Emit the rows that count the packet and end its path."""
        asm.count(f"drop.{self.name}")
        asm.end_packet(HANDED_ON)
