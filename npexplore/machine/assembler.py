"""From recorded steps to rows of the event engine (docs/engine.md): registers, hold slots, labels, random sources.

Times are expressions in ticks; `Assembler.ticks` converts from the model's units. Every row's operands are a constant
plus a register, so that what varies between packets stays data.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from npexplore._kernels import engine
from npexplore.errors import ModelError
from npexplore.machine.expressions import (
    Condition,
    Constant,
    Expression,
    Function,
    Operand,
    Variable,
    expression,
    scaled,
)
from npexplore.machine.program import Body, Branch, Draw, Fork, Let, Loop, Parallel, Turn, Visit

if TYPE_CHECKING:
    from npexplore.machine.resources.base import Server

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
OPPOSITE = {"lt": "ge", "le": "gt", "eq": "ne", "ne": "eq", "ge": "lt", "gt": "le"}
PROBABILITY_STEPS = 1 << 40


@dataclass(frozen=True)
class Hold:
    """A hold slot of the running token."""

    slot: int


class Label:
    """A place in the program; may be jumped to before it is placed."""

    def __init__(self) -> None:
        self.row: int | None = None


@dataclass
class Row:
    """One row before labels are resolved."""

    fields: list[int]
    target: Label | None = None
    source: str | None = None
    place: str = ""


@dataclass
class Assembler:
    """Collects rows, servers, globals and counters of one model."""

    tick: float
    rows: list[Row] = field(default_factory=list)
    servers: dict[str, tuple[Server, int]] = field(default_factory=dict)
    n_resources: int = 0
    globals: list[int] = field(default_factory=list)
    counters: list[str] = field(default_factory=list)
    homes: dict[str, Variable] = field(default_factory=dict)
    place_name: str = ""  # the visit that rows belong to, for messages
    _below: dict[Variable, int] = field(default_factory=dict)  # variables known to be in [0, limit)
    _registers: dict[Variable, int] = field(default_factory=dict)
    _free: list[int] = field(default_factory=lambda: list(range(engine.REGISTERS - 1, 0, -1)))
    _slots: set[int] = field(default_factory=set)

    # ---- declarations

    def declare(self, server: Server) -> None:
        """Give a server its engine resource numbers."""
        if server.name in self.servers:
            raise ModelError(f"server {server.name!r} is declared twice")
        self.servers[server.name] = (server, self.n_resources)
        self.n_resources += server.members

    def home(self, server: str) -> Operand:
        """Return which member of a server the running token belongs to (0 where nothing was said)."""
        return self.homes.get(server, 0)

    def in_turn(self, server: str, members: int) -> Operand:
        """Return a member chosen in turn over all visits (of a scope: kept until it ends)."""
        if members == 1:
            return 0
        variable = Variable(f"{server} in turn")
        self.fetch_add(variable, self.new_global(), 1)
        return variable % members

    def limit(self, variable: Variable, below: int) -> None:
        """Promise that a variable is in [0, below)."""
        self._below[variable] = below

    def number(self, server: str) -> int:
        """Return the engine resource number of a server's first member."""
        return self.servers[server][1]

    def new_global(self, value: int = 0) -> int:
        """Return the number of a new global integer."""
        self.globals.append(value)
        return len(self.globals) - 1

    def counter(self, place: str) -> int:
        """Return the number of a counter by name (drops by place)."""
        if place not in self.counters:
            self.counters.append(place)
        return self.counters.index(place)

    # ---- registers, slots

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Registers given out inside are free again afterwards."""
        registers, free = dict(self._registers), list(self._free)
        try:
            yield
        finally:
            self._registers, self._free = registers, free

    def register(self, variable: Variable) -> int:
        """Give a variable a register (kept until the scope ends) and return its number."""
        if not self._free:
            raise ModelError(f"the program keeps more than {engine.REGISTERS - 1} numbers at once ({variable.name!r})")
        number = self._free.pop()
        self._registers[variable] = number
        return number

    def ticks(self, value: Operand, seconds: float = 1.0) -> Expression:
        """Return value * seconds as a whole number of ticks."""
        return scaled(value, seconds / self.tick)

    def operand(self, value: Operand) -> tuple[int, int]:
        """Return (constant, register) of an expression; emits SET rows where it takes arithmetic."""
        value = expression(value)
        if isinstance(value, Constant):
            if abs(value.value - round(value.value)) > 1e-9 * max(1.0, abs(value.value)):
                raise ModelError(f"{self.place_name or 'the program'} needs whole numbers here, got {value.value!r}")
            return round(value.value), 0
        if isinstance(value, Variable):
            if value not in self._registers:
                raise ModelError(f"{value.name!r} is used outside the loop or branch that computes it")
            return 0, self._registers[value]
        assert isinstance(value, Function)
        if value.name in ("add", "sub") and isinstance(value.right, Constant):
            (constant, register), (more, _) = self.operand(value.left), self.operand(value.right)
            return constant + (more if value.name == "add" else -more), register
        if value.name == "add" and isinstance(value.left, Constant):
            (constant, register), (more, _) = self.operand(value.right), self.operand(value.left)
            return constant + more, register
        a, b = self.operand(value.left), self.operand(value.right)
        number = self.register(Variable(value.name))
        self.emit(engine.SET, a, b, slot=number, x=SET_OF[value.name])
        return 0, number

    # ---- rows

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
        self.rows.append(Row([op, *a, *b, *c, 0, slot, x, y, z], target, source, self.place_name))

    def place(self, label: Label) -> None:
        """Let a label stand for the next row."""
        label.row = len(self.rows)

    def jump(self, label: Label, condition: Condition | None = None) -> None:
        """Go to the label, always or where a condition holds."""
        with self.scope():
            if condition is None:
                self.emit(engine.JUMP, target=label, x=engine.ALWAYS)
            else:
                a, b = self.operand(condition.left), self.operand(condition.right)
                self.emit(engine.JUMP, a, b, target=label, x=JUMP_OF[condition.name])

    def _at(self, server: str, member: Operand) -> tuple[int, int]:
        """Return the engine resource of a member; what might be no member of this server ends the run with an error."""
        kind, first = self.servers[server]
        constant, register = self.operand(member)
        limit = self._limit(expression(member))
        if limit is None or limit > kind.members:
            outside, right = Label(), Label()
            self.emit(engine.JUMP, (constant, register), (0, 0), target=outside, x=engine.LT)
            self.emit(engine.JUMP, (constant, register), (kind.members, 0), target=right, x=engine.LT)
            self.place(outside)
            self.emit(engine.LOAD, (-1, 0))
            self.rows[-1].place += f": {server} has members 0..{kind.members - 1}, the program asks for another"
            self.place(right)
        return constant + first, register

    def _limit(self, value: Expression) -> int | None:
        """Return n if the expression is known to be in [0, n), else None."""
        if isinstance(value, Constant):
            return int(value.value) + 1 if value.value >= 0 else None
        if isinstance(value, Variable):
            return self._below.get(value)
        if isinstance(value, Function) and value.name == "mod" and isinstance(value.right, Constant):
            return int(value.right.value) if value.right.value > 0 else None
        return None

    def serve(self, server: str, ticks: Operand, member: Operand = 0) -> None:
        """Queue for one unit, keep it for a time, give it back."""
        with self.scope():
            self.emit(engine.SERVE, self._at(server, member), self.operand(ticks), x=engine.FIXED)

    def take(self, server: str, member: Operand = 0, units: Operand = 1, key: Operand = 0) -> Hold:
        """Queue for units and hold them."""
        slot = self._new_slot()
        with self.scope():
            a, b, c = self._at(server, member), self.operand(units), self.operand(key)
            self.emit(engine.TAKE, a, b, c, slot=slot)
        return Hold(slot)

    def take_all(self, parts: list[tuple[str, Operand]]) -> list[Hold]:
        """Hold one unit of every (server, member), all at once or none."""
        holds = []
        with self.scope():
            members = [self._at(server, member) for server, member in parts]
            self.emit(engine.ALL, x=len(parts))
            for a in members:
                holds.append(Hold(self._new_slot()))
                self.emit(engine.TAKE, a, (1, 0), slot=holds[-1].slot)
        return holds

    def give(self, hold: Hold) -> None:
        """Give back what is held."""
        self._slots.discard(hold.slot)
        self.emit(engine.GIVE, slot=hold.slot)

    def consume(self, server: str, units: Operand = 1) -> None:
        """Wait for units of a semaphore and use them up."""
        with self.scope():
            self.emit(engine.TAKE, self._at(server, 0), self.operand(units))

    def try_consume(self, server: str, units: Operand, otherwise: Label) -> None:
        """Use up units of a semaphore if they are there, else go to the label."""
        with self.scope():
            self.emit(engine.TRY, self._at(server, 0), self.operand(units), target=otherwise)

    def put(self, server: str, units: Operand = 1) -> None:
        """Add units to a semaphore."""
        with self.scope():
            self.emit(engine.PUT, self._at(server, 0), self.operand(units))

    def wait(self, ticks: Operand) -> None:
        """Sleep for a time."""
        with self.scope():
            self.emit(engine.WAIT, self.operand(ticks), x=engine.FIXED)

    def wait_until(self, time: Operand) -> None:
        """Sleep until a time, if it is not past."""
        with self.scope():
            self.emit(engine.WAIT, self.operand(time), x=engine.UNTIL)

    def wait_window(self, period: int, length: int) -> None:
        """If now lies in the first `length` ticks of a period, sleep to the end of that window."""
        self.emit(engine.WAIT, (period, 0), (length, 0), x=engine.WINDOW)

    def now(self, name: str = "now") -> Variable:
        """Keep the present time in a variable."""
        variable = Variable(name)
        self.emit(engine.SET, slot=self.register(variable), x=engine.NOW)
        return variable

    def let(self, variable: Variable, value: Operand) -> None:
        """Compute an expression into a variable's register."""
        limit = self._limit(expression(value))
        if limit is not None:
            self.limit(variable, limit)
        with self.scope():
            a = self.operand(value)
        self.emit(engine.SET, a, slot=self.register(variable), x=engine.ADD)

    def draw(self, variable: Variable, below: Operand, source: str) -> None:
        """Draw an integer below a number into a variable's register."""
        bound = expression(below)
        if isinstance(bound, Constant):
            self.limit(variable, int(bound.value))
        with self.scope():
            a = self.operand(below)
        self.emit(engine.DRAW, a, slot=self.register(variable), x=engine.BELOW, source=source)

    def fetch_add(self, variable: Variable, number: int, amount: int) -> None:
        """Read a global into a variable's register and increase it."""
        self.emit(engine.SET, (number, 0), (amount, 0), slot=self.register(variable), x=engine.FETCH_ADD)

    def count(self, place: str, amount: Operand = 1) -> None:
        """Increase a counter."""
        with self.scope():
            self.emit(engine.COUNT, (self.counter(place), 0), self.operand(amount))

    @contextmanager
    def fork(self, hold: Hold | None = None, mode: int = engine.DETACHED) -> Iterator[Hold | None]:
        """Emit what a new token does; with `hold` it takes that slot over (the yielded Hold) and must give it back."""
        begin, after = Label(), Label()
        self.emit(engine.FORK, target=begin, slot=-1 if hold is None else hold.slot, x=mode)
        if hold is not None:
            self._slots.discard(hold.slot)
        self.jump(after)
        self.place(begin)
        slots, self._slots = self._slots, set() if hold is None else {0}
        with self.scope():
            yield None if hold is None else Hold(0)
            self.emit(engine.END)
        self._slots = slots
        self.place(after)

    def join(self) -> None:
        """Wait for the joined tokens."""
        self.emit(engine.JOIN)

    def _new_slot(self) -> int:
        for slot in range(engine.SLOTS):
            if slot not in self._slots:
                self._slots.add(slot)
                return slot
        raise ModelError(f"a token holds more than {engine.SLOTS} things at once")

    # ---- steps

    def steps(self, body: Body) -> None:
        """Emit recorded steps."""
        with self.scope():
            for step in body:
                self._step(step)

    def _step(self, step: object) -> None:
        if isinstance(step, Visit):
            self.place_name = f"{step.resource.name}.{step.method}"
            with self.scope():
                step.resource.emit(step.method, step.operands, self)
            self.place_name = ""
        elif isinstance(step, Let):
            self.let(step.variable, step.value)
        elif isinstance(step, Draw):
            self.draw(step.variable, step.below, step.source)
        elif isinstance(step, Turn):
            self.fetch_add(step.variable, self.new_global(), 1)
            number = self._registers[step.variable]
            self.emit(engine.SET, (0, number), (step.below, 0), slot=number, x=engine.MOD)
            self.limit(step.variable, step.below)
        elif isinstance(step, Loop):
            self._loop(step)
        elif isinstance(step, Branch):
            self._branch(step)
        elif isinstance(step, Fork):
            with self.fork():
                self.steps(step.body)
        elif isinstance(step, Parallel):
            for body in step.bodies:
                with self.fork(mode=engine.JOINED):
                    self.steps(body)
            self.join()
        else:
            raise ModelError(f"step {step!r} is unknown to the assembler")

    def _loop(self, step: Loop) -> None:
        begin, after = Label(), Label()
        with self.scope():
            count = Variable("count")
            self.let(count, step.count)
            self.let(step.index, 0)
            self.jump(after, step.index >= count)
            self.place(begin)
            self.steps(step.body)
            number = self._registers[step.index]
            self.emit(engine.SET, (0, number), (1, 0), slot=number, x=engine.ADD)
            self.jump(begin, step.index < count)
            self.place(after)

    def _branch(self, step: Branch) -> None:
        otherwise, after = Label(), Label()
        if isinstance(step.condition, Condition):
            condition = step.condition
            self.jump(otherwise, Condition(OPPOSITE[condition.name], condition.left, condition.right))
        else:
            with self.scope():
                chance = Variable("chance")
                self.draw(chance, PROBABILITY_STEPS, step.source)
                self.jump(otherwise, chance >= round(step.condition * PROBABILITY_STEPS))
        self.steps(step.then)
        if step.otherwise:
            self.jump(after)
        self.place(otherwise)
        if step.otherwise:
            self.steps(step.otherwise)
            self.place(after)
