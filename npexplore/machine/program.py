"""The recorder: runs a Python function once per packet class and records its calls as a tree of steps.

    def forward(m, packet):
        with m.loop(packet.cells) as i:
            m.me.compute(cycles=m.facts.per_cell)
            m.dram.write(bytes=..., bank=...)

A packet may hold units of a server over other visits, in overlapping intervals: `h = m.take("bus")` ... `m.give(h)`.
Solvers use the tree (machine/tree.py): bounds and queueing through demands (machine/demands.py), simulation through
rows of the event engine (machine/steps.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from npexplore.dimensions import Quantity, value_of
from npexplore.errors import ModelError, UnknownNameError
from npexplore.machine.holding import Holding, Holdings
from npexplore.machine.tree import (
    Body,
    Branch,
    Draw,
    Fork,
    Give,
    Let,
    Loop,
    Parallel,
    Priority,
    Step,
    Take,
    Turn,
    Visit,
    visit,
)
from npexplore.machine.workload import SENT_BYTES
from npexplore.rows.expressions import (
    Condition,
    Constant,
    Expression,
    Measured,
    Operand,
    Variable,
    column,
    expression,
    in_unit,
)

if TYPE_CHECKING:
    from npexplore.machine.resources.base import Resource

__all__ = [
    "Body", "Branch", "Draw", "Fork", "Give", "Let", "Loop", "Packet", "Parallel", "Priority", "Recorder", "Step",
    "Take", "Turn", "Visit", "record", "visit",
]  # fmt: skip

PRIORITY, LOWEST = 8, 15  # priority of a packet at its start, and the lowest priority
HOME = Variable("home")  # the member of the pool's home to which a thread belongs; 0 for a pool without a home
THREAD = Variable("thread")  # the number of a thread


class Packet:
    """The packet argument of a recorded function: its integer columns as variables.

    Example:
        >>> from npexplore.machine import Packet
        >>> from npexplore.rows.expressions import Variable
        >>> Packet({"packet_bytes": Variable("packet_bytes")}).packet_bytes
        packet_bytes
    """

    def __init__(self, columns: Mapping[str, Variable]) -> None:
        self._columns = columns

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    def __repr__(self) -> str:
        return f"Packet({', '.join(self._columns)})"

    def __getattr__(self, name: str) -> Variable:
        try:
            return self._columns[name]
        except KeyError:
            raise UnknownNameError("packet column", name, self._columns) from None


class AnyColumns(dict[str, Variable]):
    """Columns of a packet that has a column of any name."""

    def __missing__(self, name: str) -> Variable:
        return column(name)


class Calls:
    """`m.NAME`: records method calls as Visit steps."""

    def __init__(self, recorder: Recorder, resource: Resource) -> None:
        self._recorder, self._resource = recorder, resource

    def __dir__(self) -> list[str]:
        return sorted(self._resource.VISITS)

    def __getattr__(self, method: str) -> Callable[..., Any]:
        resource = self._resource
        if method not in resource.VISITS:
            raise UnknownNameError(f"visit of resource {resource.name!r}", method, resource.VISITS)

        def record(*unnamed: object, **operands: Measured) -> Variable | None:
            if unnamed:
                names = ", ".join(resource.VISITS[method])
                raise ModelError(f"{resource.name}.{method} takes its operands by name: {names or 'none'}")
            return self._recorder._visit(visit(resource, method, **operands))

        return record


@dataclass
class Recorder:
    """`m` of a recorded function: the machine's resources by name, loops, branches, choices.

    Example:
        >>> from npexplore.machine import Ingress, Machine, Pool, Processor
        >>> def forward(m, packet): m.core.compute(cycles=100)
        >>> pool = Pool("thread", 8, forward, home="core")
        >>> core = Processor("core", engines=4, clock_hz=1e9)
        >>> Machine("chip", pool, Ingress("receive"), [core]).name
        'chip'
    """

    resources: Mapping[str, Resource]
    facts: Any = None
    body: Body = field(default_factory=list)
    packet: Packet = field(default_factory=lambda: Packet({}))

    def __post_init__(self) -> None:
        self._holdings = self._holdable()
        self._place = "the program"
        self._ranked = False  # whether a priority was set

    @property
    def home(self) -> Variable:
        """The member of the pool's home to which the thread belongs (for solvers without threads: any member)."""
        return HOME

    def _holdable(self) -> Holdings:
        return Holdings(self.resources)

    def __getattr__(self, name: str) -> Calls:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self.resources:
            raise UnknownNameError("resource", name, self.resources)
        return Calls(self, self.resources[name])

    def _visit(self, step: Visit) -> Variable | None:
        """Record a visit; visits that open and close a section of their resource must be in one block."""
        resource = step.resource
        if step.method in resource.SECTIONS:
            self._holdings.begin(resource.name, self.body, self._place)
        elif step.method in resource.SECTIONS.values():
            self._holdings.finish(resource.name, self.body)
        for inner in resource.visited():
            if self.resources.get(inner.name) is not inner:
                raise ModelError(f"{resource.name} visits {inner.name!r}, which is not a resource of this machine")
        self.body.append(step)
        return step.result

    @contextmanager
    def _into(self, body: Body, place: str) -> Iterator[None]:
        outer = self.body, self._place
        self.body, self._place = body, place
        try:
            yield
            self._holdings.leave(body)
        finally:
            self.body, self._place = outer

    @contextmanager
    def loop(self, count: Measured) -> Iterator[Variable]:
        """Record a body that runs `count` times; yields the counter, which starts at 0."""
        turns = in_unit(count, None, "turns of a loop")
        if isinstance(turns, Constant) and not turns.value.is_integer():
            raise ModelError(f"a loop runs a whole number of times, got {turns.value:g}")
        step = Loop(turns, Variable("index"), [])
        self.body.append(step)
        with self._into(step.body, "a loop"):
            yield step.index

    @contextmanager
    def branch(
        self, condition: Condition | float, source: str = "branch", *, shares: Sequence[Expression | float] = ()
    ) -> Iterator[None]:
        """Record a body that runs where the condition holds, or with the given probability (`otherwise` may follow).

        shares: for bounds and queueing, if the condition depends on a random choice: the share of packets for which it
        holds. The first known one counts.
        """
        if not isinstance(condition, Condition):
            if isinstance(condition, bool) or not isinstance(condition, int | float):
                got: object = condition
                example = f", such as {got!r} > 0," if isinstance(got, Expression) else ""
                raise ModelError(
                    f"branch {source!r} needs a condition on the packet{example} or a probability, got {got!r}"
                )
            if not 0 <= condition <= 1:
                raise ModelError(f"probability of branch {source!r} must be in [0, 1], got {condition!r}")
        step = Branch(condition, [], [], source, tuple(shares))
        self.body.append(step)
        with self._into(step.then, f"branch {source!r}"):
            yield

    @contextmanager
    def otherwise(self) -> Iterator[None]:
        """Record the body for packets that do not take the branch just before."""
        step = self.body[-1] if self.body else None
        if not isinstance(step, Branch) or step.otherwise:
            raise ModelError("otherwise() must follow directly after a branch, and only once")
        with self._into(step.otherwise, f"the other side of branch {step.source!r}"):
            yield

    @contextmanager
    def sending(self) -> Iterator[Operand]:
        """Record a body for packets that a router sends (without a router: all packets); yields the bytes sent."""
        if SENT_BYTES not in self.packet:
            yield self.packet.packet_bytes
        else:
            with self.branch(self.packet.sent_bytes > 0, "sent"):
                yield self.packet.sent_bytes

    @contextmanager
    def unsent(self) -> Iterator[None]:
        """Record the body for packets that are not sent, directly after that of `sending`; none without a router."""
        with self.otherwise() if SENT_BYTES in self.packet else self._into([], "packets that are not sent"):
            yield

    @contextmanager
    def fork(self, *held: Holding | None) -> Iterator[Any]:
        """Record concurrent work, for which the packet does not wait; yields the fork's holding (several: a list).

        held: holdings that the fork takes over and gives back (None: ignored).
        """
        step = Fork([])
        for holding in held:
            if holding is None:
                continue
            self._holdings.end(holding, "moved into a fork", self.body)
            holding.loose = len(step.moved) > 0  # the engine hands over the first with its owner
            step.moved.append((holding, replace(holding, block=step.body, place="a fork", state="held")))
        self.body.append(step)
        inside = [after for _, after in step.moved]
        outer, self._holdings.open = self._holdings.open, list(inside)
        try:
            with self._into(step.body, "a fork"):
                yield inside[0] if len(inside) == 1 else inside or None
        finally:
            self._holdings.open = outer

    def parallel(self, *parts: Callable[[], None]) -> None:
        """Record parts that run in parallel; the packet continues when the last has ended."""
        step = Parallel([])
        self.body.append(step)
        for part in parts:
            step.bodies.append([])
            with self._into(step.bodies[-1], "a parallel part"):
                part()

    def take(
        self, server: str, *, member: Operand | None = None, units: Operand = 1, key: Operand | None = None
    ) -> Holding:
        """Record that the packet waits for units of a server and holds them until `give` (docs/holding.md)."""
        held = self._holdings.take(server, member, units, key, self.body, self._place)
        self.body.append(Take([held]))
        return held

    def take_all(self, *parts: tuple[str, Operand]) -> list[Holding]:
        """Record that the packet waits until one unit of every (server, member) is free, and takes all or none."""
        numbers = [part for part in parts if isinstance(part[1], int | float)]
        if len(set(numbers)) < len(numbers) or not parts:
            raise ModelError(f"take_all needs different members, each once, got {list(parts)}")
        held = [self._holdings.take(name, member, 1, None, self.body, self._place) for name, member in parts]
        self.body.append(Take(held))
        return held

    def give(self, *held: Holding) -> None:
        """Record that the units of holdings from `take` or `take_all` are given back."""
        for holding in held:
            self.body.append(Give(self._holdings.end(holding, "given", self.body)))

    def priority(self, value: Operand) -> None:
        """Record the packet's priority (0..15), smaller first at equal times; the next packet has the pool's again."""
        level = in_unit(value, None, "a priority")
        if isinstance(level, Constant) and not 0 <= level.value <= LOWEST:
            raise ModelError(f"priority must be in 0..{LOWEST}, got {value!r}")
        self._ranked = True
        self.body.append(Priority(level))

    def let(self, value: Measured, name: str = "let") -> Variable:
        """Record that an expression is computed once here; returns the variable that holds it."""
        unit = value.unit if isinstance(value, Expression | Quantity) else None
        step = Let(Variable(name, unit), expression(value_of(value)))
        self.body.append(step)
        return step.variable

    def draw(self, below: Operand, source: str) -> Variable:
        """Record a random integer in [0, below); `source` names its random stream."""
        limit = in_unit(below, None, f"limit of draw {source!r}")
        if isinstance(limit, Constant) and limit.value < 1:
            raise ModelError(f"draw {source!r} needs a limit of at least 1, got {below!r}")
        step = Draw(Variable(source), limit, source)
        self.body.append(step)
        return step.variable

    def turn(self, below: int, source: str) -> Variable:
        """Record the next number of 0 .. below-1 in round-robin order, over all packets that reach this step."""
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
    priority: int = PRIORITY,
) -> Body:
    """Run a program function once, and return the steps that it recorded.

    Args:
        function: the program of a packet, called with a recorder and the packet.
        resources: name -> resource; attributes of the recorder.
        columns: name -> variable; attributes of the packet, which may differ between packets.
        facts: the parameters of the machine that the program may read, as `m.facts`.
        priority: the priority of the thread's next packet; smaller numbers go first.
    """
    recorder = Recorder(resources, facts, packet=Packet(columns))
    function(recorder, recorder.packet)
    recorder._holdings.leave(recorder.body)
    if recorder._ranked:
        recorder.priority(priority)
    return recorder.body
