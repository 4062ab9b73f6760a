"""Where packets come from: an endless supply (saturated), or arrivals into a finite receive buffer that drops.

Open arrivals: a packet whose padded bytes do not fit into the buffer is dropped and counted; a free thread takes the
oldest packet; `free` gives its bytes back as they leave the buffer.
"""

from collections.abc import Mapping

import numpy as np

from npexplore._kernels import engine
from npexplore.machine.assembler import Assembler, Label
from npexplore.machine.expressions import Expression, Values, Variable, round_up
from npexplore.machine.resources.base import Resource, Server, Uses, count_of

SATURATED, POISSON, PERIODIC, TIMESTAMPS = "saturated", "poisson", "periodic", "timestamps"


class Ingress(Resource):
    """A receive buffer of `capacity_bytes`, filled in cells of `cell_bytes`."""

    VISITS = {"free": ("bytes",)}

    def __init__(self, name: str, capacity_bytes: int, cell_bytes: int) -> None:
        super().__init__(name)
        self.cell_bytes = count_of(f"{name}: cell_bytes", cell_bytes)
        whole = count_of(f"{name}: capacity_bytes", capacity_bytes, least=self.cell_bytes)
        self.capacity = whole // self.cell_bytes * self.cell_bytes
        self.arrivals = SATURATED

    def servers(self) -> list[Server]:
        """Free bytes of the buffer and waiting packets, both counted by the engine only."""
        return [
            Server(f"{self.name}.buffer", units=self.capacity, role="hidden"),
            Server(f"{self.name}.waiting", units=0, role="hidden"),
        ]

    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """No time."""
        return Uses(np.float64(0.0))  # type: ignore[arg-type]

    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> None:
        """Give bytes of the buffer back, where arrivals fill it."""
        if self.arrivals != SATURATED:
            asm.put(f"{self.name}.buffer", operands["bytes"])

    # ---- the two ends of the buffer, emitted around the threads' program

    def emit_next_packet(
        self, asm: Assembler, table: int, ring: int, first_register: int, rows: int, place: int
    ) -> None:
        """Load the registers of a thread with its next packet (saturated: the next row of the workload in turn)."""
        if self.arrivals == SATURATED:
            with asm.scope():
                index = Variable("packet")
                asm.fetch_add(index, place, 1)
                number, register = asm.operand(index % rows)
                asm.emit(engine.LOAD, (table, 0), (number, register), slot=first_register)
        else:
            asm.consume(f"{self.name}.waiting")
            asm.emit(engine.POP, (ring, 0), slot=first_register)

    def emit_source(
        self, asm: Assembler, table: int, ring: int, columns: Mapping[str, Variable], rows: int, place: int,
        interval_ticks: int, times: int,
    ) -> None:  # fmt: skip
        """A token that lets packets arrive: at random, at fixed intervals, or at the times in table `times`, once."""
        begin, end, drop = Label(), Label(), Label()
        first = min(asm.register(variable) for variable in columns.values())
        asm.place(begin)
        index = Variable("arrival")
        if self.arrivals == TIMESTAMPS:
            asm.fetch_add(index, place, 1)
            asm.jump(end, index >= rows)
            time = Variable("time")
            asm.emit(engine.LOAD, (times, 0), asm.operand(index), slot=asm.register(time))
            asm.wait_until(time)
        else:
            kind = engine.EXPONENTIAL if self.arrivals == POISSON else engine.FIXED
            asm.emit(engine.WAIT, (interval_ticks, 0), x=kind, source="arrivals")
            asm.fetch_add(index, place, 1)
        asm.emit(engine.LOAD, (table, 0), asm.operand(index % rows), slot=first)
        size = round_up(columns["packet_bytes"], self.cell_bytes)
        with asm.fork(mode=engine.NEW_PACKET):
            asm.count("offered.packets")
            asm.try_consume(f"{self.name}.buffer", size, drop)
            asm.emit(engine.PUSH, (ring, 0), slot=first)
            asm.put(f"{self.name}.waiting")
            asm.emit(engine.END)
            asm.place(drop)
            asm.count(f"drop.{self.name}")
        asm.jump(begin)
        asm.place(end)
        asm.emit(engine.END)
