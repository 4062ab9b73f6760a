"""The recorder of visits: `act` of a resource runs once and its calls are recorded as a tree of steps.

    def act(self, m, visit, v):                        # a port with a latency
        m.serve(self.name, ceildiv(v.bytes, 4) * self.word, member=v.member)
        m.wait(self.latency)

The recorder has the operations of programs and those below. These name servers ("bus" or "dram.bus") and take times in
seconds, or moments. Each term of a sum of times is rounded separately to whole ticks. The operands are variables in the
record; demands (machine/demands.py) and rows (machine/steps.py) replace them by the operands of each visit.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from npexplore.errors import ModelError, UnknownNameError
from npexplore.machine.holding import Holding, Holdings
from npexplore.machine.program import Calls, Recorder
from npexplore.machine.tree import (
    Body,
    Choose,
    Contended,
    Count,
    Let,
    Line,
    Now,
    Poll,
    Recall,
    Remember,
    Serve,
    Units,
    Until,
    Visit,
    Wait,
    Window,
    Within,
    visit,
)
from npexplore.rows.distributions import Distribution, Time
from npexplore.rows.expressions import Condition, Constant, Expression, Home, Moment, Operand, Variable, expression

if TYPE_CHECKING:
    from npexplore.machine.resources.base import Resource, Server
    from npexplore.rows.assembler import Assembler


class Operands:
    """`v` of a recorded visit: its operands by name. An operand that was left out has the default of its kind."""

    def __init__(self, what: str, operands: Mapping[str, Variable], otherwise: Mapping[str, float]) -> None:
        self._what, self._operands, self._otherwise = what, operands, otherwise

    def __contains__(self, name: object) -> bool:
        return name in self._operands

    def __iter__(self) -> Any:
        return iter(self._operands)

    def __getattr__(self, name: str) -> Expression:
        if name in self._operands:
            return self._operands[name]
        if name in self._otherwise:
            return Constant(self._otherwise[name])
        raise UnknownNameError(f"operand of {self._what}", name, [*self._operands, *self._otherwise])


@dataclass(frozen=True)
class Visited:
    """A recorded visit: the variables that stand for its operands, its steps and its result."""

    operands: Mapping[str, Variable]
    body: Body
    result: Expression | None


@dataclass
class VisitRecorder(Recorder):
    """`m` of `act`: the operations of programs, and those that only resources need."""

    def _holdable(self) -> Holdings:
        return Holdings(self.resources, ("queue", "limit", "hidden"))

    def __post_init__(self) -> None:
        super().__post_init__()
        self._place = "the visit"
        self._own, resource = next(iter(self.resources.items()))
        self._servers = resource.reached

    def __getattr__(self, name: str) -> Calls:
        inner = {full.rpartition(".")[2]: full for full in self.resources if full.startswith(f"{self._own}.")}
        if name.startswith("_") or name in inner:
            return super().__getattr__(inner.get(name, name))
        words = [word for word in dir(type(self)) if not word.startswith("_")]
        raise UnknownNameError(f"word or resource inside {self._own}", name, [*inner, *words])

    def server(self, name: str) -> Server:
        """Return a server by its full name, or by its name without the resource's; raises UnknownNameError.

        Raises ModelError if both readings of the name exist.
        """
        matches = [full for full in (f"{self._own}.{name}", name) if full in self._servers]
        if len(matches) > 1:
            raise ModelError(f"{name}: give the resource another name: its kind has a server {name!r} inside")
        if matches:
            return self._servers[matches[0]]
        raise UnknownNameError(f"server of {self._own}", name, [n.removeprefix(f"{self._own}.") for n in self._servers])

    def _word(self, name: str) -> str:
        return f"{self._own}.{name}"

    # ---- times

    def serve(self, server: str, seconds: Operand | Time, member: Operand | None = None) -> None:
        """Record that the packet waits for a unit of a server, keeps it for a time, and gives it back."""
        station = self.server(server)
        if member is None and station.members > 1:
            raise ModelError(f"{station.name} needs member=...: there are {station.members}")
        self.body.append(Serve(station, self._time(seconds), expression(0 if member is None else member)))

    def wait(self, seconds: Operand | Time) -> None:
        """Record that a time passes."""
        self.body.append(Wait(self._time(seconds)))

    def _time(self, seconds: Operand | Time) -> Expression | Time:
        if isinstance(seconds, Distribution):
            return seconds
        time = expression(seconds)
        if isinstance(time, Constant) and time.value < 0:
            raise ModelError(f"{self._own}: a time must be at least 0 s, got {time.value:g}")
        return time

    def until(self, moment: Expression) -> None:
        """Record that the packet continues at a moment, or at once if that moment is past."""
        self.body.append(Until(moment))

    def window(self, period_s: float, length_s: float) -> None:
        """Record that visits wait during the first `length_s` of each period (refresh)."""
        if not 0 <= length_s < period_s:
            raise ModelError(f"{self._own}: a window must be shorter than its period of {period_s!r}, got {length_s!r}")
        self.body.append(Window(period_s, length_s))

    def now(self) -> Moment:
        """Record that the current time is kept; returns the variable that holds it."""
        step = Now(Moment("now"))
        self.body.append(step)
        return step.variable

    def moment(self, moment: Expression) -> Moment:
        """Record that a moment, computed from other moments and times, is kept; returns its variable."""
        variable = Moment("moment")
        self.body.append(Let(variable, moment))
        return variable

    def recall(self, word: str, member: Operand = 0, members: int = 1) -> Moment:
        """Record the reading of the moment that was remembered last under a word; 0 without contention."""
        step = Recall(Moment(word), self._word(word), members, expression(member))
        self.body.append(step)
        return step.variable

    def remember(self, word: str, moment: Expression, member: Operand = 0, members: int = 1) -> None:
        """Record that a moment is stored under a word for later visits."""
        self.body.append(Remember(self._word(word), members, expression(member), moment))

    # ---- servers

    def take(
        self, server: str, *, member: Operand | None = None, units: Operand = 1, key: Operand | None = None
    ) -> Holding:
        """Record that the packet waits for units of a server and holds them until `give`.

        key: orders the packets in the server's queue; ignored if the queue is first come, first served.
        """
        station = self.server(server)
        return super().take(station.name, member=member, units=units, key=None if station.discipline == "fifo" else key)

    def take_all(self, *parts: tuple[str, Operand]) -> list[Holding]:
        """Record that the packet waits until a unit of every (server, member) is free, and takes all or none."""
        return super().take_all(*((self.server(server).name, member) for server, member in parts))

    def home_of(self, server: str) -> Home:
        """Return the member of a server to which the running thread belongs."""
        return Home(self.server(server).name)

    def open(self, server: str, units: Operand = 1, member: Operand = 0) -> None:
        """Record that units are taken, which another visit gives back with `close`."""
        self.body.append(Units(self.server(server), expression(units), expression(member), give_back=False))

    def close(self, server: str, units: Operand = 1, member: Operand = 0) -> None:
        """Record that units are given back which another visit took with `open`."""
        self.body.append(Units(self.server(server), expression(units), expression(member), give_back=True))

    def poll(
        self, server: str, look: Callable[[], None], between: Callable[[], None], *, in_turn: bool = False,
        woken: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        """Record polling: steps of `look`, repeated with `between` in between, until a unit is free and is taken.

        in_turn: units go to pollers in order of arrival, else to the first that looks. woken: further steps of a poller
        that had to wait.
        """
        step = Poll(self.server(server), [], [], in_turn)
        for part, body in ((look, step.look), (between, step.between), (woken, step.woken)):
            with self._into(body, "a look"):
                part()
        self.body.append(step)

    def line(self, server: str, member: Operand = 0) -> Variable:
        """Record a reading of the length of a server's queue."""
        step = Line(Variable("waiting"), self.server(server), expression(member))
        self.body.append(step)
        return step.variable

    def choose(
        self, server: str, members: int, policy: str, key: Operand | None = None, counter: str | None = None
    ) -> Expression:
        """Record the choice of one of a server's members (machine/resources/balancer.py), also of another resource's.

        counter: the name of a round-robin counter shared by all visits (None: each place in a program has its own).
        """
        own_server = self._servers.get(f"{self._own}.{server}")
        server = server if own_server is None else own_server.name
        if members == 1 and counter is None:
            return Constant(0)
        word = None if counter is None else self._word(counter)
        step = Choose(Variable("chosen"), server, members, policy, None if key is None else expression(key), word)
        self.body.append(step)
        return step.variable

    # ---- the rest

    def visit(self, resource: Resource, method: str, **operands: Operand) -> None:
        """Record a visit of another resource."""
        self._visit(visit(resource, method, **operands))

    def go(self, other: Visit) -> None:
        """Record a visit that was described before, with the operands of that description."""
        self._visit(visit(other.resource, other.method, **other.operands))

    def within(self, value: Operand, below: int, subject: str, *, simulated: bool = True) -> None:
        """Record that a value outside [0, below) raises ModelError: "SUBJECT 0..n, got ...".

        simulated: whether a simulation checks it too, and ends.
        """
        self.body.append(Within(expression(value), below, subject, simulated))

    def count(self, name: str, amount: Operand = 1, *, where: Condition | None = None, simulated: bool = True) -> None:
        """Record an amount to be summed where a condition holds; not `simulated`: only in demands per packet."""
        self.body.append(Count(self._word(name), expression(amount), where, simulated))

    def contended(
        self,
        emit: Callable[[Assembler, Callable[[Operand], Expression]], None],
        alone: Callable[[], None] | None = None,
    ) -> None:
        """Record work that depends on contention: `alone` records the steps without it, `emit` appends engine rows.

        `emit` gets the assembler and a function that returns the expression of an operand.
        """
        step = Contended(emit, [])
        self.body.append(step)
        with self._into(step.alone, "a packet alone"):
            if alone is not None:
                alone()


def recorded(resource: Resource, method: str, operands: Iterable[str]) -> Visited:
    """Return the record of a visit of a resource; visits with the same operand names share one record."""
    key = (method, frozenset(operands))
    visited = resource.shared_visits.recorded.get(key)
    if visited is None:
        visited = resource.shared_visits.recorded[key] = _record(resource, method, key[1])
    return visited


def _record(resource: Resource, method: str, names: Container[str]) -> Visited:
    operands = {name: Variable(f"{resource.name}.{name}") for name in resource.VISITS[method] if name in names}
    m = VisitRecorder({reached.name: reached for reached in (resource, *resource.visited(), *resource.inner)})
    result = resource.act(m, method, Operands(f"{resource.name}.{method}", operands, resource.OPTIONAL))
    m._holdings.leave(m.body)
    return Visited(operands, m.body, None if result is None else expression(result))
