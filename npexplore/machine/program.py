"""The recorder: an ordinary Python function, run once per packet class, becomes a tree of steps.

    def forward(m, packet):
        with m.loop(packet.cells) as i:
            m.me.compute(cycles=m.facts.per_cell)
            m.dram.write(bytes=..., bank=...)

Solvers read the tree: demands (machine/demands.py) for bounds and queueing, rows of the event engine
(machine/steps.py) for simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from npexplore.errors import ModelError, UnknownNameError
from npexplore.machine.expressions import Condition, Constant, Expression, Operand, Variable, expression

if TYPE_CHECKING:
    from npexplore.machine.resources.base import Resource

Body: TypeAlias = "list[Step]"


@dataclass
class Visit:
    """One call of a resource: `resource.method(**operands)`."""

    resource: Resource
    method: str
    operands: dict[str, Expression]
    result: Variable | None = None


@dataclass
class Loop:
    """Run the body `count` times; `index` counts from 0."""

    count: Expression
    index: Variable
    body: Body


@dataclass
class Branch:
    """Run `then` where the condition holds (or with the probability), else `otherwise`."""

    condition: Condition | float
    then: Body
    otherwise: Body
    source: str


@dataclass
class Let:
    """Compute an expression once and keep it."""

    variable: Variable
    value: Expression


@dataclass
class Draw:
    """A random integer in [0, below)."""

    variable: Variable
    below: Expression
    source: str


@dataclass
class Turn:
    """The next integer of 0 .. below-1 in turn, over all packets."""

    variable: Variable
    below: int
    source: str


@dataclass
class Fork:
    """Work that goes on by itself and may outlive the packet."""

    body: Body


@dataclass
class Parallel:
    """Bodies that run side by side; the packet goes on when the last has ended."""

    bodies: list[Body]


Step: TypeAlias = "Visit | Loop | Branch | Let | Draw | Turn | Fork | Parallel"


class Packet:
    """What the recorded function sees of a packet: its integer columns as variables."""

    def __init__(self, columns: Mapping[str, Variable]) -> None:
        self._columns = dict(columns)

    def __getattr__(self, name: str) -> Variable:
        try:
            return self._columns[name]
        except KeyError:
            raise UnknownNameError("packet column", name, self._columns) from None


class _Calls:
    """`m.NAME`: turns method calls into Visit steps."""

    def __init__(self, recorder: Recorder, resource: Resource) -> None:
        self._recorder, self._resource = recorder, resource

    def __getattr__(self, method: str) -> Callable[..., Any]:
        resource = self._resource
        if method not in resource.VISITS:
            raise UnknownNameError(f"visit of resource {resource.name!r}", method, resource.VISITS)

        def record(*unnamed: object, **operands: Operand) -> Variable | None:
            names = resource.VISITS[method]
            if unnamed:
                raise ModelError(f"{resource.name}.{method} takes its operands by name: {', '.join(names) or 'none'}")
            for name in operands:
                if name not in names:
                    raise UnknownNameError(f"operand of {resource.name}.{method}", name, names)
            missing = [name for name in names if name not in operands and name not in resource.OPTIONAL]
            if missing:
                raise ModelError(f"{resource.name}.{method} needs the operand {missing[0]!r}")
            step = Visit(resource, method, {name: expression(value) for name, value in operands.items()})
            if method in resource.RESULTS:
                step.result = Variable(f"{resource.name}.{method}")
            self._recorder.body.append(step)
            return step.result

        return record


@dataclass
class Recorder:
    """`m` of a recorded function: the machine's resources by name, loops, branches, choices."""

    resources: Mapping[str, Resource]
    facts: Any = None
    body: Body = field(default_factory=list)

    def __getattr__(self, name: str) -> _Calls:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self.resources:
            raise UnknownNameError("resource", name, self.resources)
        return _Calls(self, self.resources[name])

    @contextmanager
    def _into(self, body: Body) -> Iterator[None]:
        outer, self.body = self.body, body
        try:
            yield
        finally:
            self.body = outer

    @contextmanager
    def loop(self, count: Operand) -> Iterator[Variable]:
        """Record a body that runs `count` times; yields the counter."""
        step = Loop(expression(count), Variable("index"), [])
        self.body.append(step)
        with self._into(step.body):
            yield step.index

    @contextmanager
    def branch(self, condition: Condition | float, source: str = "branch") -> Iterator[None]:
        """Record a body that runs where the condition holds, or with the given probability (`otherwise` may follow)."""
        if not isinstance(condition, Condition):
            if isinstance(condition, bool) or not isinstance(condition, int | float):
                raise ModelError(
                    f"branch {source!r} needs a condition on the packet or a probability, got {condition!r}"
                )
            if not 0 <= condition <= 1:
                raise ModelError(f"probability of branch {source!r} must be in [0, 1], got {condition!r}")
        step = Branch(condition, [], [], source)
        self.body.append(step)
        with self._into(step.then):
            yield

    @contextmanager
    def otherwise(self) -> Iterator[None]:
        """Record the body for the packets that the branch just before did not take."""
        step = self.body[-1] if self.body else None
        if not isinstance(step, Branch) or step.otherwise:
            raise ModelError("otherwise() must stand directly behind a branch, and once")
        with self._into(step.otherwise):
            yield

    @contextmanager
    def fork(self) -> Iterator[None]:
        """Record work that goes on by itself; the packet does not wait for it."""
        step = Fork([])
        self.body.append(step)
        with self._into(step.body):
            yield

    def parallel(self, *parts: Callable[[], None]) -> None:
        """Record parts that run side by side; the packet goes on when the last has ended."""
        step = Parallel([])
        self.body.append(step)
        for part in parts:
            step.bodies.append([])
            with self._into(step.bodies[-1]):
                part()

    def let(self, value: Operand, name: str = "let") -> Variable:
        """Record that an expression is computed once here; returns the variable that keeps it."""
        step = Let(Variable(name), expression(value))
        self.body.append(step)
        return step.variable

    def draw(self, below: Operand, source: str) -> Variable:
        """Record a random integer in [0, below); `source` names its random stream."""
        limit = expression(below)
        if isinstance(limit, Constant) and limit.value < 1:
            raise ModelError(f"draw {source!r} needs a limit of at least 1, got {below!r}")
        step = Draw(Variable(source), limit, source)
        self.body.append(step)
        return step.variable

    def turn(self, below: int, source: str) -> Variable:
        """Record a choice of 0 .. below-1 in turn over all packets that come here."""
        if below != int(below) or below < 1:
            raise ModelError(f"turn {source!r} needs a whole number of at least 1, got {below!r}")
        step = Turn(Variable(source), int(below), source)
        self.body.append(step)
        return step.variable


def record(
    function: Callable[[Recorder, Packet], None],
    resources: Mapping[str, Resource],
    columns: Mapping[str, Variable],
    facts: Any = None,
) -> Body:
    """Run a program function once and return the steps it recorded."""
    recorder = Recorder(resources, facts)
    function(recorder, Packet(columns))
    return recorder.body
