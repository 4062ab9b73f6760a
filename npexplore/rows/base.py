"""Builds rows of the event engine (docs/engine.md): registers, labels, operands, arithmetic.

An operand of a row is a constant plus a register; other arithmetic becomes SET rows in front of the row.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, fields
from typing import Self

from npexplore._kernels import engine
from npexplore.errors import ModelError
from npexplore.rows.expressions import (
    Condition,
    Constant,
    Expression,
    Function,
    Operand,
    Variable,
    expression,
    scaled,
)

SET_OF = {
    "add": engine.ADD,
    "sub": engine.SUB,
    "mul": engine.MUL,
    "div": engine.DIV,
    "ceildiv": engine.CEILDIV,
    "mod": engine.MOD,
    "min": engine.MIN,
    "max": engine.MAX,
    "right": engine.RIGHT,
}
JUMP_OF = {
    "lt": engine.LT,
    "le": engine.LE,
    "eq": engine.EQ,
    "ne": engine.NE,
    "ge": engine.GE,
    "gt": engine.GT,
}
PROBABILITY_STEPS = 1 << 40  # probabilities are whole multiples of 1 / PROBABILITY_STEPS


class Label:
    """A row of the program as the target of jumps, which may be emitted before the label is placed."""

    def __init__(self) -> None:
        self.row: int | None = None


@dataclass(slots=True)
class EngineRow:
    """One row before labels are resolved."""

    fields: list[int]
    target: Label | None = None
    source: str | None = None
    place: str = ""
    held: str = ""  # the server that was taken last and is still held
    polls: bool = False  # a TRY that is repeated until it succeeds


class Scope:
    """Frees at its end the registers that were assigned inside.

    A class, because generators would cost too much: each visit has dozens of scopes. The tables of registers are copied
    only when a register is assigned inside; most scopes assign none.
    """

    __slots__ = ("before", "rows")

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def __enter__(self) -> None:
        rows = self.rows
        self.before = rows._registers, rows._free, rows._scope_waits
        rows._scope_waits = True

    def __exit__(self, *error: object) -> None:
        self.rows._registers, self.rows._free, self.rows._scope_waits = self.before


@dataclass
class Rows:
    """Collects rows, globals and counters; assigns registers to numbers until the end of the scope."""

    tick: float
    rows: list[EngineRow] = field(default_factory=list)
    globals: list[int] = field(default_factory=list)
    counters: list[str] = field(default_factory=list)
    named: dict[str, int] = field(default_factory=dict)  # globals by name
    place_name: str = ""  # the visit that emits rows, for messages
    holding: dict[object, str] = field(default_factory=dict)  # servers held, in order of their takes
    _below: dict[Variable, int] = field(default_factory=dict)  # variables known to be in [0, limit)
    _registers: dict[Variable, int] = field(default_factory=dict)
    _free: list[int] = field(default_factory=lambda: list(range(engine.REGISTERS - 1, 0, -1)))
    _scope_waits: bool = False  # whether an enclosing scope must restore both tables, which are not yet copied

    def copied(self) -> Self:
        """Return a copy; rows added to it do not change this object."""
        duplicate = copy(self)
        for member in fields(self):
            value = getattr(self, member.name)
            if isinstance(value, list | dict | set):
                setattr(duplicate, member.name, copy(value))
        return duplicate

    def new_global(self, value: int = 0) -> int:
        """Return the number of a new global integer."""
        self.globals.append(value)
        return len(self.globals) - 1

    def shared_global(self, name: str, count: int = 1) -> int:
        """Return the number of the first of `count` globals of this name, which all visits of a resource share."""
        if name not in self.named:
            self.named[name] = len(self.globals)
            self.globals += [0] * count
        return self.named[name]

    def counter(self, place: str) -> int:
        """Return the number of a counter by name (drops by place)."""
        if place not in self.counters:
            self.counters.append(place)
        return self.counters.index(place)

    def scope(self) -> Scope:
        """Return a context manager that frees the registers assigned inside."""
        return Scope(self)

    def register(self, variable: Variable) -> int:
        """Assign a register to a variable until the scope ends; return its number."""
        if not self._free:
            raise ModelError(f"the program keeps more than {engine.REGISTERS - 1} numbers at once ({variable.name!r})")
        self._own()
        number = self._free.pop()
        self._registers[variable] = number
        return number

    def _own(self) -> None:
        """Copy the register tables if an enclosing scope must restore them."""
        if self._scope_waits:
            self._registers, self._free, self._scope_waits = self._registers.copy(), self._free.copy(), False

    def ticks(self, value: Operand, seconds: float = 1.0) -> Expression:
        """Return value * seconds as a whole number of ticks."""
        return scaled(value, seconds / self.tick)

    def operand(self, value: Operand) -> tuple[int, int]:
        """Return (constant, register) of an expression; emits SET rows for its arithmetic."""
        if type(value) is int:
            return value, 0
        if isinstance(value, Variable):
            own_register = self._registers.get(value)
            if own_register is None:
                raise ModelError(f"{value.name!r} is used outside the loop or branch that computes it")
            return 0, own_register
        value = expression(value)
        if type(value) is Constant:
            number = value.value
            rounded = round(number)
            if number != rounded and abs(number - rounded) > 1e-9 * max(1.0, abs(number)):
                raise ModelError(f"{self.place_name or 'the program'} needs whole numbers here, got {number!r}")
            return rounded, 0
        offset = _offset(value)
        if offset is not None:
            other_term, constant_term, sign = offset
            constant, own_register = self.operand(other_term)
            return constant + sign * self.operand(constant_term)[0], own_register
        a, b, x = self._last(value)
        if x == engine.ADD and b == (0, 0):
            return a
        register = self.register(Variable("computed"))
        self.emit(engine.SET, a, b, slot=register, x=x)
        return 0, register

    def _last(self, value: Operand) -> tuple[tuple[int, int], tuple[int, int], int]:
        """Return operands and function of the last SET row of an expression; emits the rows before it."""
        if type(value) is not Function or _offset(value) is not None:
            return self.operand(value), (0, 0), engine.ADD
        return _cheaper(self.operand(value.left), self.operand(value.right), SET_OF[value.name])

    def limit(self, variable: Variable, below: int) -> None:
        """Declare that a variable is in [0, below)."""
        self._below[variable] = below

    def _limit(self, value: Expression) -> int | None:
        """Return n if the expression is known to be in [0, n), else None."""
        if isinstance(value, Constant):
            return int(value.value) + 1 if value.value >= 0 else None
        if isinstance(value, Variable):
            return self._below.get(value)
        if isinstance(value, Function) and value.name == "mod" and isinstance(value.right, Constant):
            return int(value.right.value) if value.right.value > 0 else None
        if isinstance(value, Function) and value.name == "div" and isinstance(value.right, Constant):
            limit = self._limit(value.left)
            return None if limit is None or value.right.value < 1 else -(-limit // int(value.right.value))
        return None

    def emit(
        self,
        op: int,
        a: tuple[int, int] = (0, 0),
        b: tuple[int, int] = (0, 0),
        c: tuple[int, int] = (0, 0),
        *,
        target: Label | None = None,
        slot: int = -1,
        x: int = 0,
        y: int = 0,
        z: int = 0,
        source: str | None = None,
    ) -> None:
        """Append one row."""
        held = next(reversed(self.holding.values())) if self.holding else ""
        self.rows.append(EngineRow([op, *a, *b, *c, 0, slot, x, y, z], target, source, self.place_name, held))

    def place(self, label: Label) -> None:
        """Let a label refer to the next row."""
        label.row = len(self.rows)

    def jump(self, label: Label, condition: Condition | None = None) -> None:
        """Go to the label, always or if a condition holds."""
        if condition is None:
            self.emit(engine.JUMP, target=label, x=engine.ALWAYS)
            return
        with self.scope():
            a, b = self.operand(condition.left), self.operand(condition.right)
            self.emit(engine.JUMP, a, b, target=label, x=JUMP_OF[condition.name])

    def jump_by_chance(self, label: Label, probability: float, source: str) -> None:
        """Go to the label with probability 1 - `probability`."""
        chance = Variable("chance")
        self.draw(chance, PROBABILITY_STEPS, source)
        self.jump(label, chance >= round(probability * PROBABILITY_STEPS))

    def value(self, function: int, a: Operand = 0, b: Operand = 0, name: str = "value") -> Variable:
        """Compute a function of SET (docs/engine.md) of two operands into a new variable."""
        variable = Variable(name)
        with self.scope():
            first, second = self.operand(a), self.operand(b)
        self.emit(engine.SET, first, second, slot=self.register(variable), x=function)
        return variable

    def now(self, name: str = "now") -> Variable:
        """Read the present time into a variable."""
        return self.value(engine.NOW, name=name)

    def read(self, number: Operand, name: str = "global") -> Variable:
        """Read a global into a variable."""
        return self.value(engine.READ, number, name=name)

    def write(self, number: Operand, value: Operand) -> None:
        """Set a global."""
        with self.scope():
            self.emit(engine.SET, self.operand(number), self.operand(value), slot=0, x=engine.WRITE)

    def block(self, names: Sequence[str]) -> list[Variable]:
        """Assign consecutive registers to new variables, as LOAD, PUSH and POP need them."""
        for first in range(1, engine.REGISTERS - len(names) + 1):
            numbers = list(range(first, first + len(names)))
            if set(numbers) <= set(self._free):
                self._own()
                self._free = [number for number in self._free if number not in numbers]
                variables = [Variable(name) for name in names]
                self._registers.update(zip(variables, numbers, strict=True))
                return variables
        raise ModelError(f"the program keeps too many numbers at once for {len(names)} more ({', '.join(names)})")

    def let(self, variable: Variable, value: Operand) -> None:
        """Compute an expression into the new register of a variable."""
        limit = self._limit(expression(value))
        if limit is not None:
            self.limit(variable, limit)
        with self.scope():
            a, b, x = self._last(value)
        self.emit(engine.SET, a, b, slot=self.register(variable), x=x)

    def value_of(self, value: Operand, name: str = "value") -> Expression:
        """Compute an expression now; return the variable with its value (constants and variables unchanged)."""
        value = expression(value)
        if not isinstance(value, Function):
            return value
        variable = Variable(name)
        self.let(variable, value)
        return variable

    def assign(self, variable: Variable, value: Operand) -> None:
        """Set a variable that has a register."""
        limit = self._limit(expression(value))
        if limit is not None:
            self.limit(variable, limit)
        with self.scope():
            a, b, x = self._last(value)
            self.emit(engine.SET, a, b, slot=self.operand(variable)[1], x=x)

    def draw(self, variable: Variable, below: Operand, source: str) -> None:
        """Draw a random integer in [0, below) into the new register of a variable."""
        bound = expression(below)
        if isinstance(bound, Constant):
            self.limit(variable, int(bound.value))
        with self.scope():
            a = self.operand(below)
        self.emit(engine.DRAW, a, slot=self.register(variable), x=engine.BELOW, source=source)

    def fetch_add(self, variable: Variable, number: Operand, amount: Operand) -> None:
        """Read a global into the new register of a variable, then increase it by an amount."""
        with self.scope():
            a, b = self.operand(number), self.operand(amount)
        self.emit(engine.SET, a, b, slot=self.register(variable), x=engine.FETCH_ADD)

    def turn(self, variable: Variable, below: int) -> None:
        """Take 0 .. below-1 in turn, over all tokens that pass here, into the new register of a variable."""
        self.fetch_add(variable, self.new_global(), 1)
        number = self._registers[variable]
        self.emit(engine.SET, (0, number), (below, 0), slot=number, x=engine.MOD)
        self.limit(variable, below)

    def count(self, place: str, amount: Operand = 1) -> None:
        """Increase a counter."""
        with self.scope():
            self.emit(engine.COUNT, (self.counter(place), 0), self.operand(amount))


def _offset(value: Expression) -> tuple[Expression, Constant, int] | None:
    """Return (expression, constant, sign) of an expression plus or minus a constant, else None."""
    if type(value) is not Function or value.name not in ("add", "sub"):
        return None
    if isinstance(value.right, Constant):
        return value.left, value.right, 1 if value.name == "add" else -1
    if isinstance(value.left, Constant) and value.name == "add":
        return value.right, value.left, 1
    return None


def _cheaper(a: tuple[int, int], b: tuple[int, int], x: int) -> tuple[tuple[int, int], tuple[int, int], int]:
    """Return operands and function of a SET row; divisions by a power of two become shifts where possible."""
    divisor, register = b
    if register or divisor < 1 or divisor & (divisor - 1):  # not a power of two
        return a, b, x
    if x == engine.CEILDIV:
        a, x = (a[0] + divisor - 1, a[1]), engine.DIV
    if divisor == 1 and x in (engine.MUL, engine.DIV, engine.MOD):
        return (0, 0) if x == engine.MOD else a, (0, 0), engine.ADD
    return (a, (divisor.bit_length() - 1, 0), engine.RIGHT) if x == engine.DIV else (a, b, x)
