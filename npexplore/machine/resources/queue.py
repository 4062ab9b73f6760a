"""A bounded queue between two pools of threads: `put` hands the thread's packet on to the pool that gets from it.

With several identical queues, `put` chooses one (in turn, at random, or the one with most room). The members of the
getting pool's home are divided among them in order: with 96 engines and 16 queues, engines 0 to 5 get from queue 0.

A semaphore counts the free room (`capacity` packets or bytes), another the packets; a ring stores their columns.
Without room the putting thread waits with all it holds (stall), the packet is lost (drop), or the thread waits for a
credit, which returns `credit_s` after a packet was taken out (credits). Taking a packet out frees its room.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, get_args

import numpy as np

from npexplore._kernels import engine
from npexplore.errors import ModelError, one_of
from npexplore.machine.resources.base import BEHIND, Ends, Example, OwnFaces, Server, Uses, count_of, time_of
from npexplore.rows.assembler import HANDED_ON, Assembler
from npexplore.rows.base import Label
from npexplore.rows.choices import choose
from npexplore.rows.expressions import Constant, Expression, Operand, Values, Variable, expression, maximum

Unit = Literal["packets", "bytes"]
WhenFull = Literal["stall", "drop", "credits"]
Select = Literal["in_turn", "random", "shortest"]


class BoundedQueue(OwnFaces, kind="queue"):
    """At most `capacity` packets (or bytes of packets) wait here, in each of `members`, for the pool that gets from it.

    carries: numbers that a packet carries besides the workload's columns; they are operands of `put`, and columns of
    the packet in the getting pool (`packet_bytes` replaces the length).

    Example:
        >>> from npexplore.machine import BoundedQueue
        >>> BoundedQueue("ring", capacity=128, when_full="drop")
        BoundedQueue('ring', capacity=128, when_full='drop')
    """

    WHY = "room comes back when another pool gets a packet"
    EXAMPLE = Example(alone=BEHIND, more={"capacity": 32})
    VISITS: Mapping[str, tuple[str, ...]] = {"put": ()}  # type: ignore[misc]

    def __init__(
        self, name: str, capacity: int, unit: Unit = "packets", when_full: WhenFull = "stall", credit_s: float = 0.0,
        carries: Sequence[str] = (), members: int = 1, select: Select = "in_turn",
    ) -> None:  # fmt: skip
        super().__init__(name)
        self.unit = one_of(f"{name}: unit", unit, get_args(Unit))
        self.capacity = count_of(f"{name}: capacity", capacity)
        self.when_full = one_of(f"{name}: when_full", when_full, get_args(WhenFull))
        self.credit = time_of(f"{name}: time of a credit", credit_s)
        if self.credit and when_full != "credits":
            raise ModelError(f"{name}: a time of credits needs when_full 'credits', got {when_full!r}")
        self.carries = tuple(carries)
        self.members = count_of(f"{name}: members", members)
        self.select = one_of(f"{name}: choice of a member", select, get_args(Select))
        self.VISITS = {"put": self.carries}

    def servers(self) -> list[Server]:
        """Return the free room and the packets in the queue, both counted by the engine only."""
        return [
            Server(f"{self.name}.room", self.members, self.capacity, role="hidden", stall_reason="the queue is full"),
            Server(self.packets, self.members, 0, role="hidden"),
        ]

    @property
    def packets(self) -> str:
        """Name of the semaphore that counts waiting packets."""
        return f"{self.name}.packets"

    def most_packets(self, smallest: int) -> int:
        """Return the largest number of packets in a queue if none is shorter than `smallest` bytes."""
        if self.unit == "packets":
            return self.capacity
        return max(self.capacity // (1 if "packet_bytes" in self.carries else smallest), 1)

    def check_largest(self, largest: int) -> None:
        """Raise ModelError if a packet would wait forever because it is longer than the whole queue."""
        if self.unit == "bytes" and self.when_full != "drop" and largest > self.capacity:
            raise ModelError(f"{self.name}: a packet of {largest} bytes never fits into {self.capacity} bytes")

    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """Return no time; the packet moves to the next pool."""
        return Uses(np.float64(0.0), hands_on=True)  # type: ignore[arg-type]

    def ends(self, method: str) -> Ends:
        """Return "always": the packet leaves its thread."""
        return "always"

    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> None:
        """Take room and append the packet, or drop it."""
        columns = {variable.name: variable for variable in asm.columns}
        values: dict[str, Operand] = {**columns, **operands}
        units = 1 if self.unit == "packets" else values["packet_bytes"]
        lost, after = Label(), Label()
        asm.unless_lost(after)
        member = asm.value_of(choose(asm, f"{self.name}.room", self.members, self.select))
        if self.when_full == "drop":
            asm.try_consume(f"{self.name}.room", units, lost, member)
        else:
            asm.consume(f"{self.name}.room", units, member)
        append(asm, self.name, self.packets, list(values.values()), member)
        asm.end_packet(HANDED_ON)
        if self.when_full == "drop":
            lose(asm, self.name, lost, after, HANDED_ON)
        asm.place(after)

    def emit_get(self, asm: Assembler, columns: Sequence[Variable], poll: Callable[[], None] | None) -> None:
        """Wait for a packet, load its columns, free its room."""
        member = self._served(asm)
        await_packet(asm, self.packets, poll, member)
        with asm.scope():
            asm.emit(
                engine.POP, asm.operand(member + asm.messages[self.name]), slot=asm.operand(columns[0])[1]
            )  # fmt: skip
        units: Operand = 1
        if self.unit == "bytes":
            units = next(variable for variable in columns if variable.name == "packet_bytes")
        if self.credit:
            with asm.fork():
                asm.wait(asm.ticks(self.credit))
                asm.put(f"{self.name}.room", units, member)
        else:
            asm.put(f"{self.name}.room", units, member)

    def _served(self, asm: Assembler) -> Expression:
        """Return the queue that the running thread gets from; raises ModelError if queues do not divide the home."""
        if self.members == 1:
            return Constant(0)
        home, members = next(((name, asm.servers[name][0].members) for name in asm.homes), ("none", 0))
        if not members or members % self.members:
            raise ModelError(
                f"{self.name}: members of the home of the pool that gets must share out {self.members} queues evenly, "
                f"got {members} of {home!r}"
            )
        return asm.homes[home] // (members // self.members)


def append(
    asm: Assembler, name: str, packets: str, values: Sequence[Operand], member: Operand = 0,
    counted: Operand | None = None,
) -> None:  # fmt: skip
    """Append a message to the ring of a queue, count it in the semaphore `packets`, update the longest queue length.

    counted: the member of `packets` (None: the member of the ring).
    """
    with asm.scope():
        asm.push(asm.operand(expression(member) + asm.messages[name]), values)
    counted = member if counted is None else counted
    asm.put(packets, member=counted)
    with asm.scope():
        longest = asm.longest.setdefault(name, asm.shared_global(f"{name}.longest"))
        asm.write(longest, maximum(asm.read(longest), asm.free(packets, counted)))


def lose(asm: Assembler, name: str, lost: Label, after: Label, how: int) -> None:
    """Emit the rows at the label `lost`: count a dropped packet and end it. how: HANDED_ON or LOST."""
    asm.jump(after)
    asm.place(lost)
    asm.count(f"drop.{name}")
    asm.end_packet(how)


def await_packet(asm: Assembler, packets: str, poll: Callable[[], None] | None, member: Operand = 0) -> None:
    """Sleep until the semaphore `packets` gives a packet, or poll it with `poll` between two looks.

    Polling threads sleep when the arrivals are over, so that a run of a capture ends.
    """
    if poll is None:
        asm.consume(packets, member=member)
        return
    look, empty, got = Label(), Label(), Label()
    asm.place(look)
    asm.try_consume(packets, 1, empty, member)
    asm.jump(got)
    asm.place(empty)
    over = Label()
    with asm.scope():
        asm.jump(over, asm.read(asm.shared_global(OVER)) > 0)
    poll()
    asm.jump(look)
    asm.place(over)
    asm.consume(packets, member=member)
    asm.place(got)


OVER = "arrivals are over"  # name of the global that the source of a capture sets at its end
