"""The receive side: an endless supply of packets (saturated), or arrivals into a finite receive buffer with drops.

With arrivals, a packet whose padded bytes do not fit into the buffer is dropped and counted. A free thread takes the
oldest packet; `free` gives back the cells of the bytes that leave the buffer.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from npexplore._kernels import engine
from npexplore.machine.resources.base import OwnFaces, Server, Uses, count_of
from npexplore.machine.resources.queue import OVER, append, await_packet
from npexplore.mapped_arrays import extremes
from npexplore.rows.arrivals import Losses, let_arrive
from npexplore.rows.assembler import Assembler
from npexplore.rows.base import Label
from npexplore.rows.distributions import Arrivals
from npexplore.rows.expressions import Expression, Values, Variable, round_up

SATURATED, TIMESTAMPS = "saturated", "timestamps"
OFFERED = "offered.packets"
FEWEST_LOST, LOST_PER_ACCEPTED = 1000, 16  # from these numbers on, lost packets are counted many at once
AMPLE_CELLS, AMPLE_CELL_BYTES = 1 << 14, 1 << 16  # unlimited buffer: a cell holds a whole packet


class Ingress(OwnFaces):
    """A receive buffer of `capacity_bytes`, filled in cells of `cell_bytes`.

    capacity_bytes: None for a buffer without a limit: room for 16,384 packets, which programs need not free.

    Example:
        >>> from npexplore.machine import Ingress
        >>> Ingress("receive", capacity_bytes=8192, cell_bytes=64)
        Ingress('receive', capacity_bytes=8192, cell_bytes=64)
    """

    WHY = "packets come by themselves, into room that others free"
    VISITS = {"free": ("bytes",)}

    def __init__(self, name: str, capacity_bytes: int | None = None, cell_bytes: int = 1) -> None:
        super().__init__(name)
        self.limited = capacity_bytes is not None
        if capacity_bytes is None:
            capacity_bytes, cell_bytes = AMPLE_CELLS * AMPLE_CELL_BYTES, AMPLE_CELL_BYTES
        self.cell_bytes = count_of(f"{name}: cell_bytes", cell_bytes)
        whole = count_of(f"{name}: capacity_bytes", capacity_bytes, least=self.cell_bytes)
        self.capacity = whole // self.cell_bytes * self.cell_bytes
        self.arrivals = SATURATED

    @property
    def packets(self) -> str:
        """Name of the semaphore that counts waiting packets."""
        return f"{self.name}.waiting"

    def servers(self) -> list[Server]:
        """Return the free bytes of the buffer and the waiting packets, both counted by the engine only."""
        return [
            Server(f"{self.name}.buffer", units=self.capacity, role="hidden"),
            Server(self.packets, units=0, role="hidden"),
        ]

    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """Return no time, and the bytes of all cells that leave the buffer."""
        freed = np.float64("nan") if values["bytes"] is None else values["bytes"]
        return Uses(np.float64(0.0), frees=np.ceil(freed / self.cell_bytes) * self.cell_bytes)  # type: ignore[arg-type]

    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> None:
        """Give cells of the buffer back, unless arrivals are saturated."""
        if self.arrivals != SATURATED:
            asm.put(f"{self.name}.buffer", round_up(operands["bytes"], self.cell_bytes))

    # ---- the two ends of the buffer, emitted around the threads' program

    def emit_get(
        self, asm: Assembler, columns: Sequence[Variable], poll: Callable[[], None] | None, table: int, rows: int,
        place: int,
    ) -> None:  # fmt: skip
        """Load a thread's next packet (saturated: the next row of the workload; the global `place` counts them)."""
        first = asm.operand(columns[0])[1]
        if self.arrivals == SATURATED:
            with asm.scope():
                index = Variable("packet")
                asm.fetch_add(index, place, 1)
                number, register = asm.operand(index % rows)
                asm.emit(engine.LOAD, (table, 0), (number, register), slot=first)
        else:
            await_packet(asm, self.packets, poll)
            asm.emit(engine.POP, (asm.messages[self.name], 0), slot=first)

    def emit_source(
        self, asm: Assembler, columns: Sequence[Variable], table: int, rows: int, place: int,
        process: Arrivals | None, times: int,
    ) -> None:  # fmt: skip
        """Emit a token that lets packets arrive by a process without end, or (None) at the times in table `times`."""
        names = [variable.name for variable in columns]
        length = columns[names.index("packet_bytes")]
        first = asm.operand(columns[0])[1]

        def arrive(index: Variable, lost: Label) -> None:
            asm.emit(engine.LOAD, (table, 0), asm.operand(index % rows), slot=first)
            with asm.scope():
                asm.value(engine.BORN, asm.now())
            asm.count(OFFERED)
            asm.try_consume(f"{self.name}.buffer", round_up(length, self.cell_bytes), lost)
            append(asm, self.name, self.packets, columns)

        index = Variable("arrival")
        if process is not None:
            shortest, longest = extremes(asm.tables[table][:, names.index("packet_bytes")])
            losses = self._losses(asm, place, shortest, longest)

            def next_one() -> None:
                with asm.scope():
                    asm.fetch_add(index, place, 1)
                    arrive(index, losses.lost)

            let_arrive(asm, process, next_one, "arrivals", "phase of arrivals", "sizes of batches", losses)
            return
        begin, lost, end = Label(), Label(), Label()
        asm.place(begin)
        asm.fetch_add(index, place, 1)
        asm.jump(end, index >= rows)
        with asm.scope():
            time = Variable("time")
            asm.emit(engine.LOAD, (times, 0), asm.operand(index), slot=asm.register(time))
            asm.wait_until(time)
            arrive(index, lost)
        asm.jump(begin)
        asm.place(lost)
        asm.count(f"drop.{self.name}")
        asm.jump(begin)
        asm.place(end)
        asm.write(asm.shared_global(OVER), 1)
        asm.emit(engine.END)

    def _losses(self, asm: Assembler, place: int, shortest: int, longest: int) -> Losses:
        """Return how losses are counted: one by one, or many at once when almost all packets are lost.

        place: the global that counts offered packets. shortest, longest: bytes of packets.
        """
        lost, lost_before = asm.new_global(), Variable("lost before")

        def one() -> None:
            asm.count(f"drop.{self.name}")
            asm.fetch_add(lost_before, lost, 1)

        def unless(otherwise: Label) -> None:
            asm.jump(otherwise, lost_before < FEWEST_LOST)
            accepted = asm.read(place) - lost_before - self.capacity // longest  # at least, since the buffer filled
            asm.jump(otherwise, accepted * LOST_PER_ACCEPTED > lost_before)
            asm.jump(otherwise, asm.free(f"{self.name}.buffer") >= round_up(shortest, self.cell_bytes))

        def many(number: Expression) -> None:
            value = asm.value_of(number)
            for name in (OFFERED, f"drop.{self.name}"):
                asm.count(name, value)
            for counter in (place, lost):
                asm.value(engine.FETCH_ADD, counter, value)

        return Losses(one, unless, many)
