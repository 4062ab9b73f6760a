"""Queues of several classes in front of a pool, at each of `ports`: a discipline chooses whose first packet it gets.

    put(queue, member)    the packet joins queue `queue` of port `member`; a full queue loses it
    get                   the next port in turn that has a packet, there the class that the discipline chooses

The disciplines are those of golden/schedule, as rows (rows/disciplines.py). The choice takes no time; the programs that
put and get account for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from npexplore._kernels import engine
from npexplore.errors import ModelError
from npexplore.machine.resources.base import BEHIND, Example, Server, count_of
from npexplore.machine.resources.queue import BoundedQueue, append, await_packet, lose
from npexplore.rows.assembler import HANDED_ON, Assembler
from npexplore.rows.base import Label
from npexplore.rows.disciplines import Queues, discipline_of
from npexplore.rows.expressions import Expression, Operand, Variable, expression


class ScheduledQueue(BoundedQueue, kind="scheduled_queue"):
    """At each of `ports` a queue of up to `capacity` packets for every class. weights: by class, the highest first.

    The discipline (golden/schedule) defines the meaning of a weight: a quantum in bytes, packets a turn, a share.

    Example:
        >>> from npexplore.machine import ScheduledQueue
        >>> ScheduledQueue("port", capacity=64, weights={"voice": 1, "rest": 2})
        ScheduledQueue('port', capacity=64, weights={'rest': 2, 'voice': 1})
    """

    WHY = "what came before decides who goes next, and room comes back when another pool gets a packet"

    EXAMPLE = Example(alone=BEHIND, more={"capacity": 64, "weights": {"high": 2, "low": 1}, "ports": 4})

    def __init__(
        self, name: str, capacity: int, weights: Mapping[str, int], discipline: str = "priority_drr", ports: int = 1
    ) -> None:  # fmt: skip
        self.ports = count_of(f"{name}: ports", ports)
        if not weights:
            raise ModelError(f"{name}: a scheduler needs the weight of at least one queue, got none")
        for queue, weight in weights.items():
            count_of(f"{name}: weight of queue {queue!r}", weight)
        super().__init__(name, capacity, when_full="drop", members=self.ports * len(weights))
        self.weights, self.discipline = dict(weights), discipline
        self.rows = discipline_of(name, discipline)
        self.VISITS = {"put": ("queue",) if self.ports == 1 else ("queue", "member")}

    def servers(self) -> list[Server]:
        """Return the free room of every queue, and the packets in all of them, both counted by the engine only."""
        return [
            Server(f"{self.name}.room", self.members, self.capacity, role="hidden"),
            Server(self.packets, units=0, role="hidden"),
        ]

    def _queues(self, asm: Assembler, port: Operand) -> Queues:
        return Queues(asm, self.name, tuple(self.weights.values()), self.capacity, self.ports, port)

    def _place(self, asm: Assembler, port: Operand, queue: Operand) -> Operand:
        """Return the index of a port's queue among all queues; an unknown one ends the run with an error."""
        asm.check_below(queue, len(self.weights), f"{self.name} has queues")
        asm.check_below(port, self.ports, f"{self.name} has ports")
        place = asm.value_of(expression(port) * len(self.weights) + queue)
        if isinstance(place, Variable):
            asm.limit(place, self.members)
        return place

    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> None:
        """Take room in the class's queue and append the packet, or drop it."""
        size = next(variable for variable in asm.columns if variable.name == "packet_bytes")
        lost, after = Label(), Label()
        asm.unless_lost(after)
        queue, port = asm.value_of(operands["queue"]), asm.value_of(operands.get("member", expression(0)))
        place = self._place(asm, port, queue)
        asm.try_consume(f"{self.name}.room", 1, lost, place)
        queues = self._queues(asm, port)
        queues.enqueue(self.rows(queues), queue, size)
        append(asm, self.name, self.packets, asm.columns, place, counted=0)
        asm.end_packet(HANDED_ON)
        lose(asm, self.name, lost, after, HANDED_ON)
        asm.place(after)

    def emit_get(self, asm: Assembler, columns: Sequence[Variable], poll: Callable[[], None] | None) -> None:
        """Wait for a packet of any port and class, choose the queue, load the packet's columns, free its room."""
        await_packet(asm, self.packets, poll)
        with asm.scope():
            port = self._next_port(asm)
            queues, queue = self._queues(asm, port), Variable("queue")
            asm.register(queue)
            queues.dequeue(self.rows(queues), queue)
            place = self._place(asm, port, queue)
            asm.emit(
                engine.POP, asm.operand(expression(place) + asm.messages[self.name]), slot=asm.operand(columns[0])[1]
            )
            asm.put(f"{self.name}.room", 1, place)

    def _next_port(self, asm: Assembler) -> Operand:
        """Return the next port in round-robin order that has a packet."""
        if self.ports == 1:
            return 0
        port, backlog = Variable("port"), self._queues(asm, 0).backlog
        turn = asm.shared_global(f"{self.name}.turn")
        asm.emit(engine.PICK, (backlog.first, 0), (self.ports, 0), (turn, 0), slot=asm.register(port),
                 x=engine.NEXT_FLAGGED)  # fmt: skip
        asm.limit(port, self.ports)
        return port
