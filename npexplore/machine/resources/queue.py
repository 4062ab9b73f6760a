"""A bounded queue between two pools of threads: `put` hands the thread's packet on to the pool that gets from it.

Room is a semaphore of `capacity` packets or bytes, the packets in it another, their columns a ring. Without room the
giver waits with all it holds (stall), the packet is lost (drop), or the giver waits for a credit, which comes back
`credit_s` after the packet was got (credits). Getting frees the room.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, get_args

import numpy as np

from npexplore._kernels import engine
from npexplore.errors import ModelError, one_of
from npexplore.machine.assembler import HANDED_ON, Assembler
from npexplore.machine.expressions import Expression, Operand, Values, Variable, maximum
from npexplore.machine.resources.base import Ends, Resource, Server, Uses, count_of, time_of
from npexplore.machine.rows import Label

Unit = Literal["packets", "bytes"]
WhenFull = Literal["stall", "drop", "credits"]


class BoundedQueue(Resource):
    """At most `capacity` packets (or bytes of packets) wait here for the pool that gets from it.

    carries: more numbers than the workload's columns that go along; `put` asks for them as operands, and the getting
    pool sees them as columns of the packet (one called packet_bytes replaces the length).
    """

    VISITS: Mapping[str, tuple[str, ...]] = {"put": ()}  # type: ignore[misc]

    def __init__(
        self, name: str, capacity: int, unit: Unit = "packets", when_full: WhenFull = "stall", credit_s: float = 0.0,
        carries: Sequence[str] = (),
    ) -> None:  # fmt: skip
        super().__init__(name)
        self.unit = one_of(f"{name}: unit", unit, get_args(Unit))
        self.capacity = count_of(f"{name}: capacity", capacity)
        self.when_full = one_of(f"{name}: when_full", when_full, get_args(WhenFull))
        self.credit = time_of(f"{name}: time of a credit", credit_s)
        if self.credit and when_full != "credits":
            raise ModelError(f"{name}: a time of credits needs when_full 'credits', got {when_full!r}")
        self.carries = tuple(carries)
        self.VISITS = {"put": self.carries}

    def servers(self) -> list[Server]:
        """The free room and the packets in the queue, both counted by the engine only."""
        return [
            Server(f"{self.name}.room", units=self.capacity, role="hidden"),
            Server(self.packets, units=0, role="hidden"),
        ]

    @property
    def packets(self) -> str:
        """Name of the semaphore that counts waiting packets."""
        return f"{self.name}.packets"

    def most_packets(self, smallest: int) -> int:
        """Return how many packets fit in if none is shorter than `smallest` bytes."""
        if self.unit == "packets":
            return self.capacity
        return max(self.capacity // (1 if "packet_bytes" in self.carries else smallest), 1)

    def check_largest(self, largest: int) -> None:
        """Raise ModelError if a packet would wait for room for ever, because it is longer than the whole queue."""
        if self.unit == "bytes" and self.when_full != "drop" and largest > self.capacity:
            raise ModelError(f"{self.name}: a packet of {largest} bytes never fits into {self.capacity} bytes")

    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """No time; the packet goes on."""
        return Uses(np.float64(0.0), hands_on=True)  # type: ignore[arg-type]

    def ends(self, method: str) -> Ends:
        """Say that the packet leaves its thread."""
        return "always"

    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> None:
        """Take room and append the packet, or lose it."""
        columns = {variable.name: variable for variable in asm.columns}
        values: dict[str, Operand] = {**columns, **operands}
        units = 1 if self.unit == "packets" else values["packet_bytes"]
        lost, after = Label(), Label()
        asm.unless_lost(after)
        if self.when_full == "drop":
            asm.try_consume(f"{self.name}.room", units, lost)
        else:
            asm.consume(f"{self.name}.room", units)
        append(asm, self.name, self.packets, list(values.values()))
        asm.end_packet(HANDED_ON)
        if self.when_full == "drop":
            asm.jump(after)
            asm.place(lost)
            asm.count(f"drop.{self.name}")
            asm.end_packet(HANDED_ON)
        asm.place(after)

    def emit_get(self, asm: Assembler, columns: Sequence[Variable], poll: Callable[[], None] | None) -> None:
        """Wait for a packet, load its columns, give its room back."""
        await_packet(asm, self.packets, poll)
        asm.emit(engine.POP, (asm.messages[self.name], 0), slot=asm.operand(columns[0])[1])
        units: Operand = 1
        if self.unit == "bytes":
            units = next(variable for variable in columns if variable.name == "packet_bytes")
        if self.credit:
            with asm.fork():
                asm.wait(asm.ticks(self.credit))
                asm.put(f"{self.name}.room", units)
        else:
            asm.put(f"{self.name}.room", units)


def append(asm: Assembler, name: str, packets: str, values: Sequence[Operand]) -> None:
    """Append a message to the ring of a queue, count it in the semaphore `packets`, keep the longest length."""
    first = asm.in_a_row(values)
    if first is None:
        asm.push(asm.messages[name], values)
    else:
        asm.emit(engine.PUSH, (asm.messages[name], 0), slot=first)
    asm.put(packets)
    with asm.scope():
        longest = asm.longest.setdefault(name, asm.shared_global(f"{name}.longest"))
        asm.write(longest, maximum(asm.read(longest), asm.free(packets)))


def await_packet(asm: Assembler, packets: str, poll: Callable[[], None] | None) -> None:
    """Sleep until the semaphore `packets` gives one, or look again and again with `poll` in between.

    Threads that poll go to sleep when the arrivals are over, so that a run of a capture ends.
    """
    if poll is None:
        asm.consume(packets)
        return
    look, empty, got = Label(), Label(), Label()
    asm.place(look)
    asm.try_consume(packets, 1, empty)
    asm.jump(got)
    asm.place(empty)
    over = Label()
    with asm.scope():
        asm.jump(over, asm.read(asm.shared_global(OVER)) > 0)
    poll()
    asm.jump(look)
    asm.place(over)
    asm.consume(packets)
    asm.place(got)


OVER = "arrivals are over"  # the global that the source of a capture sets at its end
