"""Recorded programs of a machine as plain operations, one after the other, for the search of its states.

A token (thread, fork, source of packets) is a place among the operations and the numbers that it keeps. Loops and
branches become jumps, visits what they record; numbers that a block computed are forgotten at its end, so that tokens
that will do the same are the same. What depends on the clock, or on others in ways without states, is refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from npexplore.errors import RefusedError
from npexplore.machine.program import HOME, THREAD
from npexplore.machine.resources.base import OwnFaces, Server
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.resources.queue import BoundedQueue
from npexplore.machine.tree import (
    Body,
    Branch,
    Choose,
    Count,
    Draw,
    Fork,
    Give,
    Let,
    Line,
    Loop,
    Parallel,
    Poll,
    Serve,
    Step,
    Take,
    Turn,
    Units,
    Visit,
    Wait,
    Window,
    Within,
)
from npexplore.machine.visits import recorded
from npexplore.rows.distributions import Distribution, Time
from npexplore.rows.expressions import (
    CONDITIONS,
    FUNCTIONS,
    Condition,
    Constant,
    Expression,
    Function,
    Home,
    Operand,
    Variable,
    expression,
)

Numbers = dict[int, Any]  # what a token keeps, by the number of its name
Value = Callable[[Numbers], float]
Operation = tuple[Any, ...]  # its word and operands
HANDED_ON = "handed on"  # kept by a token whose packet went to another pool
NO_STATES = "the clock, or what others decide, is in {}: no chain without it"


@dataclass
class Operations:
    """Collects the operations of all programs; `home`: the server whose members threads of this pool live on."""

    machine: str
    servers: Mapping[str, Server]
    open_load: bool
    rows: list[Operation] = field(default_factory=list)
    home: str | None = None
    carried: list[Variable] = field(default_factory=list)  # columns of the pool's packets
    turns: dict[object, int] = field(default_factory=dict)  # counters of choices in turn, by what they belong to
    names: dict[object, int] = field(default_factory=dict)
    left_out: set[str] = field(default_factory=set)  # what has no states and is not there
    _scopes: list[set[int]] = field(default_factory=lambda: [set()])

    def emit(self, word: str, *operands: Any) -> int:
        """Append an operation; returns its place."""
        self.rows.append((word, *operands))
        return len(self.rows) - 1

    def name(self, key: object) -> int:
        """Return the number under which a variable or a holding is kept."""
        return self.names.setdefault(key, len(self.names))

    def refuse(self, why: str) -> RefusedError:
        """Return the refusal with the machine's name."""
        return RefusedError(f"chain: {self.machine}: {why}")

    # ---- numbers

    def value(self, operand: Operand) -> Value:
        """Return a function of a token's numbers."""
        term = expression(operand)
        if isinstance(term, Constant):
            constant = term.value
            return lambda numbers: constant
        if isinstance(term, Home):
            return self.value(HOME if term.server == self.home else 0)
        if isinstance(term, Variable):
            if term is THREAD:
                raise self.refuse("its program asks for the numbers of threads")
            number = self.name(term)
            return lambda numbers: numbers[number]
        assert isinstance(term, Function)
        what, left, right = FUNCTIONS[term.name], self.value(term.left), self.value(term.right)
        return lambda numbers: float(what(left(numbers), right(numbers)))

    def place(self, server: str, member: Operand) -> tuple[str, Value]:
        """Return a server's name and the function that tells the member."""
        return server, self.value(member)

    def time(self, seconds: Expression | Time) -> Value | Time:
        """Return a distribution as it is, another time as a function."""
        return seconds if isinstance(seconds, Distribution) else self.value(seconds)

    def keep(self, key: object) -> int:
        """Return the number of a name that the block around forgets."""
        number = self.name(key)
        self._scopes[-1].add(number)
        return number

    # ---- blocks

    def body(self, body: Body) -> None:
        """Append a block, and that its names are forgotten."""
        self._scopes.append(set())
        for step in body:
            self.step(step)
        self.forget()

    def forget(self) -> None:
        """Append that what was kept since the block began is forgotten."""
        if gone := self._scopes.pop():
            self.emit("forget", tuple(gone))

    def jump_unless(self, condition: Condition) -> int:
        """Append a jump where a condition does not hold; returns its place (`land` says where it goes)."""
        holds, left, right = CONDITIONS[condition.name], self.value(condition.left), self.value(condition.right)
        return self.emit("unless", lambda numbers: bool(holds(left(numbers), right(numbers))), -1)

    def land(self, at: int, place: int | None = None) -> None:
        """Let the jump at a place go to another one (None: the next)."""
        self.rows[at] = (*self.rows[at][:-1], len(self.rows) if place is None else place)

    def step(self, step: Step) -> None:
        """Append one step."""
        match step:
            case Visit():
                self.visit(step)
            case Serve(server, seconds, member):
                if server.discipline not in ("fifo", "shared"):
                    raise self.refuse(f"{server.name} serves in order of keys or turns")
                self.emit("serve", *self.place(server.name, member), self.time(seconds))
            case Wait(seconds):
                self.emit("wait", self.time(seconds))
            case Let(variable, value):
                number_of = self.value(value)
                self.emit("let", self.keep(variable), number_of)
            case Draw(variable, below):
                number_of = self.value(below)
                self.emit("draw", self.keep(variable), number_of)
            case Turn(variable, below):
                self.emit("turn", self.keep(variable), below, self.turn(step))
            case Line(variable, server, member):
                self.emit("line", self.keep(variable), *self.place(server.name, member))
            case Choose():
                self.choose(step)
            case Loop():
                self.loop(step)
            case Branch():
                self.branch(step)
            case Take(holdings):
                if len(holdings) > 1:
                    raise self.refuse(f"takes {' and '.join(one.name for one in holdings)} all at once or none")
                [one] = holdings
                assert one.server is not None
                self.hold(one, one.server, one.member, one.units)
            case Give(holding):
                self.emit("give", self.name(holding))
            case Units(server, units, member, gives_back):
                if server.role == "pool":
                    self.emit("put" if gives_back else "consume", *self.place(server.name, member), self.value(units))
                elif gives_back:
                    self.emit("give", self.name(server.name))
                else:
                    self.hold(server.name, server, member, units)
            case Poll():
                self.poll(step)
            case Fork(body, moved):
                names = tuple((self.name(before), self.name(after)) for before, after in moved)
                at = self.emit("fork", names, -1)
                self._scopes, outer = [set()], self._scopes
                self.body(body)
                self.emit("end")
                self._scopes = outer
                self.land(at)
            case Window(period, length):
                self.left_out.add(f"waits of {length:.3g} s every {period:.3g} s")
            case Within() | Count():
                pass
            case Parallel():
                raise self.refuse("its program waits for parts that run side by side")
            case _:
                raise self.refuse(NO_STATES.format(f"a step {type(step).__name__!r}"))

    def hold(self, key: object, server: Server, member: Operand, units: Operand) -> None:
        if server.discipline not in ("fifo", "shared"):
            raise self.refuse(f"{server.name} is taken in order of keys or turns")
        self.emit("take", *self.place(server.name, member), self.value(units), self.name(key))

    def turn(self, key: object) -> int:
        """Return the number of the counter of choices in turn that belong together."""
        return self.turns.setdefault(key if isinstance(key, str) else id(key), len(self.turns))

    def choose(self, step: Choose) -> None:
        column = self.keep(step.variable)
        if step.members == 1:
            self.emit("let", column, self.value(0))
        elif step.policy == "in_turn":
            self.emit("turn", column, step.members, self.turn(step.counter or step))
        elif step.policy == "random":
            self.emit("draw", column, self.value(step.members))
        elif step.policy == "key" and step.key is not None:
            self.emit("let", column, self.value(step.key % step.members))
        else:
            raise self.refuse(f"{step.server} is chosen by the {step.policy} line")

    def loop(self, step: Loop) -> None:
        self._scopes.append(set())
        count, index = self.keep(("count", id(step))), self.keep(step.index)
        self.emit("let", count, self.value(step.count))
        self.emit("let", index, self.value(0))
        begin = self.emit("unless", lambda numbers: numbers[index] < numbers[count], -1)
        self.body(step.body)
        self.emit("let", index, lambda numbers: numbers[index] + 1)
        self.land(self.emit("jump", -1), begin)
        self.land(begin)
        self.forget()

    def branch(self, step: Branch) -> None:
        if isinstance(step.condition, Condition):
            at = self.jump_unless(step.condition)
        else:
            at = self.emit("chance", float(step.condition), -1)
        self.body(step.then)
        if step.otherwise:
            after = self.emit("jump", -1)
            self.land(at)
            self.body(step.otherwise)
            self.land(after)
        else:
            self.land(at)

    def poll(self, step: Poll) -> None:
        """Look, try, and again after what is between two looks."""
        if step.in_turn or step.woken:
            raise self.refuse(f"{step.server.name} is polled in order of arrival")
        begin = len(self.rows)
        self.body(step.look)
        at = self.emit("try", *self.place(step.server.name, 0), self.value(1), self.name(step.server.name), -1)
        done = self.emit("jump", -1)
        self.land(at)
        self.body(step.between)
        self.land(self.emit("jump", -1), begin)
        self.land(done)

    # ---- visits

    def visit(self, step: Visit) -> None:
        resource = step.resource
        if isinstance(resource, Ingress):
            if self.open_load:
                cell, freed = resource.cell_bytes, self.value(step.operands["bytes"])
                units = lambda numbers: -(-freed(numbers) // cell) * cell  # noqa: E731
                self.emit("put", *self.place(f"{resource.name}.buffer", 0), units)
            return
        if isinstance(resource, BoundedQueue):
            self.hand_on(resource, step)
            return
        if isinstance(resource, OwnFaces):
            raise self.refuse(NO_STATES.format(f"{resource.name!r} ({resource.WHY or 'a kind of its own'})"))
        record = recorded(resource, step.method, step.operands)
        self._scopes.append(set())
        for name, value in step.operands.items():
            number_of = self.value(value)
            self.emit("let", self.keep(record.operands[name]), number_of)
        for one in record.body:
            self.step(one)
        if step.result is not None and record.result is not None:
            self._scopes[-2].add(self.name(step.result))
            self.emit("let", self.name(step.result), self.value(record.result))
        self.forget()

    def hand_on(self, queue: BoundedQueue, step: Visit) -> None:
        """Append the packet, when there is room, with what the queue carries."""
        if queue.members > 1 or queue.when_full == "credits":
            raise self.refuse(f"queue {queue.name!r} has {queue.members} members, when full: {queue.when_full}")
        columns: dict[str, Operand] = {variable.name: variable for variable in self.carried}
        message = {name: self.value(value) for name, value in {**columns, **step.operands}.items()}
        units = self.value(1) if queue.unit == "packets" else message["packet_bytes"]
        room = self.place(f"{queue.name}.room", 0)
        at = None
        if queue.when_full == "drop":
            at = self.emit("try", *room, units, None, -1)
        else:
            self.emit("consume", *room, units)
        self.emit("push", queue.name, message)
        self.emit("put", *self.place(queue.packets, 0), self.value(1))
        if at is not None:
            after = self.emit("jump", -1)
            self.land(at)
            self.emit("lost")
            self.land(after)
        self.emit("let", self.name(HANDED_ON), self.value(1))
