"""Translates recorded steps into rows of the event engine: one method of `Emitter` for each kind of step."""

from __future__ import annotations

from dataclasses import dataclass, field

from npexplore._kernels import engine
from npexplore.machine import tree
from npexplore.machine.resources.base import OwnFaces
from npexplore.machine.visits import recorded
from npexplore.rows.arrivals import duration, sleep
from npexplore.rows.assembler import Assembler
from npexplore.rows.base import Label
from npexplore.rows.choices import choose
from npexplore.rows.distributions import Distribution
from npexplore.rows.expressions import (
    Condition,
    Constant,
    Expression,
    Function,
    Home,
    Moment,
    Operand,
    Variable,
    bound,
    expression,
    function,
    opposite,
    scaled,
)


def steps(asm: Assembler, body: tree.Body) -> None:
    """Emit recorded steps."""
    Emitter(asm).body(body)


@dataclass
class Emitter:
    """Emits steps. Inside a visit, `names` maps its operands, and values computed from them, to what they stand for."""

    asm: Assembler
    names: dict[Variable, Operand] = field(default_factory=dict)
    in_visit: bool = False

    def body(self, body: tree.Body) -> None:
        """Emit a block; its registers are released at its end."""
        with self.asm.scope():
            for step in body:
                self.step(step)

    def step(self, step: tree.Step) -> None:
        """Emit one step by the method that has its name in lower case."""
        getattr(self, type(step).__name__.lower())(step)

    def of(self, value: Operand) -> Expression:
        """Return an expression with the variables of the visit replaced by what they stand for."""
        if type(value) is Constant:
            return value
        if isinstance(value, Home):
            return expression(self.asm.home(value.server))
        return bound(value, self.names)

    def ticks(self, time: Operand) -> Expression:
        """Return a time in ticks, each term of a sum rounded separately; moments are in ticks already."""
        value, tick = expression(time), self.asm.tick
        if type(value) is Constant:
            return scaled(value, 1.0 / tick)
        if isinstance(value, Moment):
            return self.of(value)
        if isinstance(value, Function):
            if value.name in ("add", "sub", "min", "max"):
                return function(value.name, self.ticks(value.left), self.ticks(value.right))
            for factor, remaining in ((value.right, value.left), (value.left, value.right)):
                if value.name == "mul" and isinstance(factor, Constant):
                    return scaled(self.of(remaining), factor.value / tick)
        return scaled(self.of(value), 1.0 / tick)

    def wait(self, step: tree.Wait) -> None:
        if isinstance(step.seconds, Distribution):
            sleep(self.asm, step.seconds, self.asm.place_name)
        else:
            self.asm.wait(self.ticks(step.seconds))

    def draw(self, step: tree.Draw) -> None:
        self.asm.draw(step.variable, self.of(step.below), step.source)

    def turn(self, step: tree.Turn) -> None:
        self.asm.turn(step.variable, step.below)

    def priority(self, step: tree.Priority) -> None:
        with self.asm.scope():
            self.asm.emit(engine.SET, self.asm.operand(self.of(step.value)), slot=0, x=engine.PRIORITY)

    def parallel(self, step: tree.Parallel) -> None:
        for body in step.bodies:
            with self.asm.fork(mode=engine.JOINED):
                self.body(body)
        self.asm.join()

    # ---- the clock, shared words, counters

    def until(self, step: tree.Until) -> None:
        self.asm.wait_until(self.ticks(step.moment))

    def window(self, step: tree.Window) -> None:
        self.asm.wait_window(round(step.period_s / self.asm.tick), round(step.length_s / self.asm.tick))

    def now(self, step: tree.Now) -> None:
        self.names[step.variable] = self.asm.now()

    def recall(self, step: tree.Recall) -> None:
        self.names[step.variable] = self.asm.read(self.word(step.word, step.members, step.member))

    def remember(self, step: tree.Remember) -> None:
        self.asm.write(self.word(step.word, step.members, step.member), self.ticks(step.moment))

    def line(self, step: tree.Line) -> None:
        self.names[step.variable] = self.asm.line(step.server.name, self.of(step.member))

    def choose(self, step: tree.Choose) -> None:
        key = None if step.key is None else self.of(step.key)
        counter = None if step.counter is None else self.asm.shared_global(step.counter)
        self.names[step.variable] = choose(self.asm, step.server, step.members, step.policy, key, counter)

    def within(self, step: tree.Within) -> None:
        if step.simulated:
            self.asm.check_below(self.of(step.value), step.below, step.subject)

    def count(self, step: tree.Count) -> None:
        if step.simulated:
            assert step.where is None
            self.asm.count(step.name, self.of(step.amount))

    def contended(self, step: tree.Contended) -> None:
        step.emit(self.asm, self.of)

    def word(self, word: str, members: int, member: Expression) -> Expression:
        """Return the index of the global variable that stores a member's word."""
        return expression(self.of(member) + self.asm.shared_global(word, members))

    def place(self, name: str) -> _Place:
        """Name the step in messages about its rows; inside a visit, messages name the visit."""
        return _Place(self.asm, self.asm.place_name if self.in_visit else name)

    # ---- visits and servers

    def visit(self, step: tree.Visit) -> None:
        """Emit a visit of a resource."""
        asm, resource = self.asm, step.resource
        with _Place(asm, f"{resource.name}.{step.method}"):
            if step.result is not None:
                asm.register(step.result)
            with asm.scope():
                operands = {name: self.of(value) for name, value in step.operands.items()}
                if isinstance(resource, OwnFaces):
                    result = self.own_faces(resource, step.method, operands)
                else:
                    visited = recorded(resource, step.method, step.operands)
                    inside = type(self)(asm, {visited.operands[name]: value for name, value in operands.items()}, True)
                    for inner in visited.body:
                        inside.step(inner)
                    result = None if visited.result is None else inside.of(visited.result)
                if step.result is not None and result is not None:
                    asm.assign(step.result, result)

    def own_faces(self, resource: OwnFaces, method: str, operands: dict[str, Expression]) -> Operand | None:
        """Emit a visit of a kind without records by the kind's own method; returns its result."""
        return resource.emit(method, operands, self.asm)

    def serve(self, step: tree.Serve) -> None:
        """SERVE at a server, or SHARE a server that serves all its packets at once."""
        asm, server, member = self.asm, step.server, self.of(step.member)
        if isinstance(step.seconds, Distribution):
            kind, a, b, c = duration(asm, step.seconds)
            with asm.scope():
                place = asm.at(server.name, member)
                asm.emit(engine.SERVE, place, (a, 0), (b, 0), x=kind, y=c, source=f"{server.name}.service")
        elif server.discipline == "shared":
            asm.share(server.name, self.ticks(step.seconds), member)
        elif server.brings and asm.endless:
            self._receive(server.name, self.ticks(step.seconds), member)
        else:
            asm.serve(server.name, self.ticks(step.seconds), member)

    def _receive(self, server: str, ticks: Operand, member: Operand) -> None:
        """SERVE at the server that receives packets.

        The birth time of a packet that its thread has spent no time on is set to the start of this service.
        """
        asm, later = self.asm, Label()
        with asm.scope():
            spent, lasts = asm.value_of(asm.now() - asm.value(engine.BIRTH)), asm.value_of(ticks)
            asm.serve(server, lasts, member)
            asm.jump(later, spent > 0)
            asm.value(engine.BORN, asm.now() - lasts, expression(member) + (asm.number(server) + 1))
            asm.place(later)

    def take(self, step: tree.Take) -> None:
        """TAKE units of one server, or units of several servers all at once."""
        asm = self.asm
        with self.place(f"take of {', '.join(holding.name for holding in step.holdings)}"):
            parts: list[tuple[str, Operand]] = []
            for holding in step.holdings:
                assert holding.server is not None
                parts.append((holding.server.name, self.of(holding.member)))
            first = step.holdings[0]
            if first.loose:
                asm.consume(parts[0][0], self.of(first.units), parts[0][1])
                asm.holding[first] = parts[0][0]
            elif len(parts) == 1:
                asm.keep(first, asm.take(*parts[0], self.of(first.units), self.of(first.key)))
            else:
                for holding, held in zip(step.holdings, asm.take_all(parts), strict=True):
                    asm.keep(holding, held)

    def give(self, step: tree.Give) -> None:
        asm, holding = self.asm, step.holding
        with self.place(f"give of {holding.name}"):
            if holding.loose:
                assert holding.server is not None
                asm.holding.pop(holding, None)
                asm.put(holding.server.name, self.of(holding.units), self.of(holding.member))
            else:
                asm.give(asm.pop_hold(holding))

    def units(self, step: tree.Units) -> None:
        """Take or give units across visits; units of a pool have no owner, others belong to the taking thread."""
        asm, name, member = self.asm, step.server.name, self.of(step.member)
        if step.server.role == "pool":
            (asm.put if step.give_back else asm.consume)(name, self.of(step.units), member)
        elif step.give_back:
            asm.give(asm.pop_hold(name))
        else:
            asm.keep(name, asm.take(name, member, self.of(step.units)))

    def poll(self, step: tree.Poll) -> None:
        """Poll until TRY gets a unit. `in_turn`: each poller draws a ticket, and only the lowest ticket may TRY."""
        asm, name, poll, busy, done = self.asm, step.server.name, Label(), Label(), Label()
        with asm.scope():
            if step.woken:
                waited = Variable("waited")
                asm.let(waited, 0)
            if step.in_turn:
                ticket = Variable("turn")
                asm.fetch_add(ticket, asm.shared_global(f"{name}.came"), 1)
            asm.place(poll)
            self.body(step.look)
            if step.in_turn:
                with asm.scope():
                    asm.jump(busy, ticket != asm.read(asm.shared_global(f"{name}.gone")))
            held = asm.try_take(name, otherwise=busy, polls=True)
            if step.in_turn:
                with asm.scope():
                    asm.fetch_add(Variable("gone"), asm.shared_global(f"{name}.gone"), 1)
            asm.jump(done)
            asm.place(busy)
            if step.woken:
                asm.assign(waited, 1)
            self.body(step.between)
            asm.jump(poll)
            asm.place(done)
            if step.woken:
                at_once = Label()
                asm.jump(at_once, waited == 0)
                self.body(step.woken)
                asm.place(at_once)
        asm.keep(name, held)

    def fork(self, step: tree.Fork) -> None:
        """FORK concurrent work. It takes over the first of its holdings; units of the others are returned by number."""
        asm = self.asm
        with asm.fork(asm.pop_hold(step.moved[0][0]) if step.moved else None) as held:
            if held is not None:
                asm.keep(step.moved[0][1], held)
            self.body(step.body)

    def let(self, step: tree.Let) -> None:
        """Keep a value; inside a visit a value that needs no computation gets no register."""
        value = self.ticks(step.value) if isinstance(step.variable, Moment) else self.of(step.value)
        if self.in_visit and not isinstance(value, Function):
            self.names[step.variable] = value
        else:
            self.asm.let(step.variable, value)

    # ---- blocks

    def loop(self, step: tree.Loop) -> None:
        """Repeat the body `count` times, with the index from 0."""
        asm, begin, after = self.asm, Label(), Label()
        with asm.scope():
            count = Variable("count")
            asm.let(count, self.of(step.count))
            asm.let(step.index, 0)
            asm.jump(after, step.index >= count)
            asm.place(begin)
            self.body(step.body)
            asm.assign(step.index, step.index + 1)
            asm.jump(begin, step.index < count)
            asm.place(after)

    def branch(self, step: tree.Branch) -> None:
        """Jump where the condition does not hold."""
        asm, otherwise, after = self.asm, Label(), Label()
        with asm.scope():
            if isinstance(step.condition, Condition):
                left, right = self.of(step.condition.left), self.of(step.condition.right)
                asm.jump(otherwise, opposite(Condition(step.condition.name, left, right)))
            else:
                asm.jump_by_chance(otherwise, step.condition, step.source)
        self.body(step.then)
        if step.otherwise:
            asm.jump(after)
        asm.place(otherwise)
        if step.otherwise:
            self.body(step.otherwise)
            asm.place(after)


class _Place:
    """Context in which messages about rows name a visit, or a step of the program."""

    __slots__ = ("asm", "name", "outer")

    def __init__(self, asm: Assembler, name: str) -> None:
        self.asm, self.name = asm, name

    def __enter__(self) -> None:
        self.outer, self.asm.place_name = self.asm.place_name, self.name

    def __exit__(self, *error: object) -> None:
        self.asm.place_name = self.outer
