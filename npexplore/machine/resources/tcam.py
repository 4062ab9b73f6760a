"""A ternary content-addressable memory: a row of the key is compared with all entries at once, every clock.

    demand = ceil(bits / row bits) / clock,   latency = demand + latency cycles / clock

Pagiamtzis and Sheikholeslami: Content-addressable memory (CAM) circuits and architectures, IEEE JSSC 41(3), 2006.
"""

from npexplore.machine.resources.base import Example, Resource, Server, count_of, rate_of
from npexplore.machine.visits import Operands, VisitRecorder
from npexplore.rows.expressions import ceildiv


class Tcam(Resource, kind="tcam"):
    """Searches for keys of `bits`, `row_bits` of them a clock; the answer comes `latency_cycles` after the last row.

    Example:
        >>> from npexplore.machine import Tcam, unloaded_visit, visit
        >>> rules = Tcam("rules", clock_hz=100e6)
        >>> round(unloaded_visit(visit(rules, "search", bits=104)).latency * 1e9)              # 2 + 4 clocks of 10 ns
        60
    """

    EXAMPLE = Example({"clock_hz": 1e8}, "search", {"bits": 104})
    VISITS = {"search": ("bits",)}

    def __init__(self, name: str, clock_hz: float, row_bits: int = 72, latency_cycles: int = 4) -> None:
        super().__init__(name)
        self.period = 1 / rate_of(f"{name}: clock", clock_hz)
        self.row_bits = count_of(f"{name}: row_bits", row_bits)
        self.latency = count_of(f"{name}: latency_cycles", latency_cycles, least=0) * self.period

    def servers(self) -> list[Server]:
        """Return the server of the rows, which are searched together."""
        return [Server(self.name)]

    def act(self, m: VisitRecorder, visit: str, v: Operands) -> None:
        """Record a clock for each row of the key, then the rest of the pipeline."""
        m.serve(self.name, ceildiv(v.bits, self.row_bits) * self.period)
        m.wait(self.latency)
