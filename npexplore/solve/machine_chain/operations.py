"""Recorded programs of a machine as a list of operations, for the enumeration of its states.

The steps are emitted as for the event engine (machine/steps.py), by an assembler whose operations keep times, numbers
and probabilities symbolic. A token (thread, fork, source of packets) is an index into the operations and its stored
numbers. Numbers that a block computed are removed at its end, so that tokens with the same future are equal. Steps that
depend on the clock, or on other tokens without being part of a state, need rows of the engine and are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

from npexplore._kernels import engine
from npexplore.errors import RefusedError
from npexplore.machine import tree
from npexplore.machine.program import THREAD
from npexplore.machine.resources.base import OwnFaces
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.resources.queue import BoundedQueue
from npexplore.machine.steps import Emitter
from npexplore.rows.assembler import Assembler, HoldSlot
from npexplore.rows.base import Label, Scope
from npexplore.rows.distributions import Distribution, Time
from npexplore.rows.expressions import (
    CONDITIONS,
    FUNCTIONS,
    Condition,
    Constant,
    Expression,
    Function,
    Operand,
    Variable,
    expression,
)

Numbers = dict[int, Any]  # stored numbers of a token, by the number of their name
Value = Callable[[Numbers], float]
Operation = tuple[Any, ...]  # its name and operands; a jump has its label last
HANDED_ON = Variable("handed on")  # stored by a token whose packet went to another pool


class Block(Scope):
    """A scope at whose end the numbers stored inside are removed."""

    rows: Operations

    def __exit__(self, *error: object) -> None:
        registers = self.rows._registers
        super().__exit__(*error)
        if ended_numbers := [number for variable, number in registers.items() if variable not in self.rows._registers]:
            self.rows.append("forget", ended_numbers)


@dataclass
class Operations(Assembler):
    """Collects the operations of all programs; a register is the number under which a token stores a variable."""

    machine: str = ""
    operations: list[Operation] = field(default_factory=list)
    left_out: set[str] = field(default_factory=set)  # features that have no states and are neglected
    numbers: dict[object, int] = field(default_factory=dict)

    def append(self, word: str, *operands: Any) -> None:
        """Append an operation."""
        self.operations.append((word, *operands))

    def refuse(self, why: str) -> RefusedError:
        """Return the refusal with the machine's name."""
        return RefusedError(f"chain: {self.machine}: {why}")

    def no_states(self, place: str) -> RefusedError:
        """Return the refusal of a step that depends on the clock or on other tokens."""
        return self.refuse(f"the clock, or what others decide, is in {place}: no chain without it")

    def emit(self, *_: object, **__: object) -> NoReturn:
        """Raise RefusedError for a step that only a row of the engine can do."""
        raise self.no_states(self.place_name or "its program")

    def operand(self, value: Operand) -> NoReturn:
        """Raise RefusedError for an operand that only a row of the engine needs."""
        self.emit()

    # ---- numbers

    def name(self, key: object) -> int:
        """Return the number under which a variable or a hold is stored."""
        return self.numbers.setdefault(key, len(self.numbers))

    def value_at(self, operand: Operand) -> Value:
        """Return the value of an operand as a function of a token's numbers."""
        term = expression(operand)
        if isinstance(term, Constant):
            constant = term.value
            return lambda numbers: constant
        if isinstance(term, Variable):
            if term is THREAD:
                raise self.refuse("its program asks for the numbers of threads")
            number = self.name(term)
            return lambda numbers: numbers[number]
        assert isinstance(term, Function)
        function, left, right = FUNCTIONS[term.name], self.value_at(term.left), self.value_at(term.right)
        return lambda numbers: float(function(left(numbers), right(numbers)))

    def scope(self) -> Scope:
        return Block(self)

    def register(self, variable: Variable) -> int:
        self._own()
        self._registers[variable] = number = self.name(variable)
        return number

    def let(self, variable: Variable, value: Operand) -> None:
        value_at = self.value_at(value)
        self.append("let", self.register(variable), value_at)

    def assign(self, variable: Variable, value: Operand) -> None:
        self.append("let", self.name(variable), self.value_at(value))

    def draw(self, variable: Variable, below: Operand, source: str) -> None:
        below_at = self.value_at(below)
        self.append("draw", self.register(variable), below_at)

    def turn(self, variable: Variable, below: int) -> None:
        self.append("turn", self.register(variable), below, self.new_global())

    def in_turn(self, server: str, members: int, counter: int | None = None) -> Operand:
        variable = Variable(f"{server} in turn")
        number = self.new_global() if counter is None else counter
        self.append("turn", self.register(variable), members, number)
        return variable

    def pick(self, server: str, *_: object, **__: object) -> NoReturn:
        raise self.refuse(f"{server} is chosen by the shortest line")

    def check_below(self, *_: object) -> tuple[int, int]:
        return 0, 0

    def count(self, place: str, amount: Operand = 1) -> None:
        """Neglect counters."""

    # ---- jumps and forks

    def place(self, label: Label) -> None:
        label.row = len(self.operations)

    def jump(self, label: Label, condition: Condition | None = None) -> None:
        if condition is None:
            self.append("jump", label)
            return
        holds, left, right = CONDITIONS[condition.name], self.value_at(condition.left), self.value_at(condition.right)
        self.append("if", lambda numbers: bool(holds(left(numbers), right(numbers))), label)

    def jump_by_chance(self, label: Label, probability: float, source: str) -> None:
        self.append("chance", probability, label)

    @contextmanager
    def fork(self, hold: HoldSlot | None = None, mode: int = engine.DETACHED) -> Iterator[HoldSlot | None]:
        if mode != engine.DETACHED:
            raise self.refuse("its program waits for parts that run side by side")
        after = Label()
        self.append("fork", hold and hold.slot, after)
        yield hold
        self.append("end")
        self.place(after)

    # ---- servers and time

    def member(self, server: str, member: Operand) -> tuple[str, Value]:
        """Return a server's name and the member as a function of a token's numbers."""
        if self.servers[server][0].discipline not in ("fifo", "shared"):
            raise self.refuse(f"{server} is taken in order of keys or turns")
        return server, self.value_at(member)

    def hold(self, word: str, server: str, member: Operand, units: Operand, *more: object) -> HoldSlot:
        """Append an operation that takes units and stores them under a new number."""
        slot = HoldSlot(self.name(object()))
        self.append(word, *self.member(server, member), self.value_at(units), slot.slot, *more)
        return slot

    def take(self, server: str, member: Operand = 0, units: Operand = 1, key: Operand = 0) -> HoldSlot:
        return self.hold("take", server, member, units)

    def take_all(self, parts: Sequence[tuple[str, Operand]]) -> NoReturn:
        raise self.refuse(f"takes {' and '.join(repr(server) for server, _ in parts)} all at once or none")

    def try_take(
        self, server: str, otherwise: Label, member: Operand = 0, units: Operand = 1, polls: bool = False
    ) -> HoldSlot:
        return self.hold("try", server, member, units, otherwise)

    def try_consume(self, server: str, units: Operand, otherwise: Label, member: Operand = 0) -> None:
        self.append("try", *self.member(server, member), self.value_at(units), None, otherwise)

    def give(self, hold: HoldSlot) -> None:
        self.append("give", hold.slot)

    def consume(self, server: str, units: Operand = 1, member: Operand = 0) -> None:
        self.append("consume", *self.member(server, member), self.value_at(units))

    def put(self, server: str, units: Operand = 1, member: Operand = 0) -> None:
        self.append("put", *self.member(server, member), self.value_at(units))

    def line(self, server: str, member: Operand = 0) -> Variable:
        variable, place = Variable(server), self.member(server, member)
        self.append("line", self.register(variable), *place)
        return variable

    def wait_window(self, period: int, length: int) -> None:
        self.left_out.add(f"waits of {length * self.tick:.3g} s every {period * self.tick:.3g} s")


@dataclass
class ChainEmitter(Emitter):
    """Emits steps as operations; times are in seconds, or random."""

    asm: Operations

    def time(self, seconds: Expression | Time) -> Value | Time:
        """Return a distribution unchanged, another time as a function."""
        return seconds if isinstance(seconds, Distribution) else self.asm.value_at(self.of(seconds))

    def wait(self, step: tree.Wait) -> None:
        self.asm.append("wait", self.time(step.seconds))

    def serve(self, step: tree.Serve) -> None:
        self.asm.append("serve", *self.asm.member(step.server.name, self.of(step.member)), self.time(step.seconds))

    def own_faces(self, resource: OwnFaces, method: str, operands: dict[str, Expression]) -> None:
        """Append a visit of the receive buffer, or of a queue, into which the packet goes when there is room."""
        asm = self.asm
        if isinstance(resource, Ingress):
            resource.emit(method, operands, asm)
            return
        if not isinstance(resource, BoundedQueue):
            raise asm.no_states(f"{resource.name!r} ({resource.WHY or 'a kind of its own'})")
        if resource.members > 1 or resource.when_full == "credits":
            raise asm.refuse(f"queue {resource.name!r} has {resource.members} members, when full: {resource.when_full}")
        message: Mapping[str, Operand] = {**{column.name: column for column in asm.columns}, **operands}
        units = 1 if resource.unit == "packets" else message["packet_bytes"]
        lost, after = Label(), Label()
        if resource.when_full == "drop":
            asm.try_consume(f"{resource.name}.room", units, lost)
        else:
            asm.consume(f"{resource.name}.room", units)
        asm.append("push", resource.name, {name: asm.value_at(value) for name, value in message.items()})
        asm.put(resource.packets)
        if resource.when_full == "drop":
            asm.jump(after)
            asm.place(lost)
            asm.append("lost")
            asm.place(after)
        asm.assign(HANDED_ON, 1)
