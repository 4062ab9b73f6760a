"""A shared bus: transactions of limited length, each with cycles for grant, address and turn-around before its words.

    demand = (ceil(bytes / burst bytes) x overhead cycles + ceil(bytes / word bytes)) / clock

PCI has an address phase, a turn-around clock before data of a read, a word a clock, and an idle clock (Motorola, MPC106
User's Manual, section 7.4.1). A visit keeps the bus for all its transactions; arbitration between transactions would
only move waiting from one packet to another.
"""

from npexplore.machine.resources.base import LENGTH, Example, Resource, Server, count_of, rate_of
from npexplore.machine.visits import Operands, VisitRecorder
from npexplore.rows.expressions import ceildiv


class SharedBus(Resource, kind="shared_bus"):
    """Words of `word_bytes`, one a clock, in transactions of at most `burst_bytes` with `overhead_cycles` each.

    Example:
        >>> from npexplore.machine import SharedBus, unloaded_visit, visit
        >>> pci = SharedBus("pci", clock_hz=25e6, word_bytes=4, burst_bytes=64, overhead_cycles=3)
        >>> round(unloaded_visit(visit(pci, "transfer", bytes=100)).latency * 1e9)     # 2 x 3 + 25 clocks of 40 ns
        1240
    """

    EXAMPLE = Example({"clock_hz": 1e8, "word_bytes": 8}, "transfer", {"bytes": LENGTH})
    VISITS = {"transfer": ("bytes",)}

    def __init__(
        self, name: str, clock_hz: float, word_bytes: int, burst_bytes: int = 64, overhead_cycles: int = 2
    ) -> None:
        super().__init__(name)
        self.period = 1 / rate_of(f"{name}: clock", clock_hz)
        self.word = count_of(f"{name}: word_bytes", word_bytes)
        self.burst = count_of(f"{name}: burst_bytes", burst_bytes)
        self.overhead = count_of(f"{name}: overhead_cycles", overhead_cycles, least=0)

    def servers(self) -> list[Server]:
        """Return the wires, which serve one packet at a time."""
        return [Server(self.name)]

    def act(self, m: VisitRecorder, visit: str, v: Operands) -> None:
        """Record the overhead of each transaction, and the words."""
        cycles = ceildiv(v.bytes, self.burst) * self.overhead + ceildiv(v.bytes, self.word)
        m.serve(self.name, cycles * self.period)
