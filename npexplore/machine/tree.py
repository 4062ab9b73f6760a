"""The steps of a recorded program or visit: a tree of visits, times, holdings, loops, branches and forks.

Recorders (machine/program.py, machine/visits.py) build it. Demands (machine/demands.py) and rows of the event engine
(machine/steps.py) are derived from it. The steps from Serve to Contended occur inside visits only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from npexplore.errors import ModelError, UnknownNameError
from npexplore.machine.holding import Holding
from npexplore.rows.distributions import Time
from npexplore.rows.expressions import Condition, Constant, Expression, Measured, Moment, Operand, Variable, in_unit
from npexplore.units import doubt, unit_of

if TYPE_CHECKING:
    from npexplore.machine.resources.base import Resource, Server
    from npexplore.rows.assembler import Assembler

Body: TypeAlias = "list[Step]"


@dataclass
class Visit:
    """One call of a resource: `resource.method(**operands)`."""

    resource: Resource
    method: str
    operands: dict[str, Expression]
    result: Variable | None = None


@dataclass
class Serve:
    """Queue for one unit of a server, keep it for a time in seconds (or a random time), give it back."""

    server: Server
    seconds: Expression | Time
    member: Expression


@dataclass
class Wait:
    """Let a time in seconds (or a random time) pass."""

    seconds: Expression | Time


@dataclass
class Until:
    """Wait until a moment; if it is past, continue at once."""

    moment: Expression


@dataclass
class Window:
    """Wait for the end of the first `length_s` of a period, if now is inside it; ignored without contention."""

    period_s: float
    length_s: float


@dataclass
class Now:
    """Store the current time in a variable."""

    variable: Moment


@dataclass
class Recall:
    """Read the moment remembered last under a word (of one of `members`); it is 0 without contention."""

    variable: Moment
    word: str
    members: int
    member: Expression


@dataclass
class Remember:
    """Store a moment under a word, for later visits."""

    word: str
    members: int
    member: Expression
    moment: Expression


@dataclass
class Line:
    """Store the number of packets that wait at a server; it is 0 without contention."""

    variable: Variable
    server: Server
    member: Expression


@dataclass
class Choose:
    """Store a member of a server, chosen by a policy (machine/resources/balancer.py)."""

    variable: Variable
    server: str
    members: int
    policy: str
    key: Expression | None
    counter: str | None


@dataclass
class Within:
    """Raise an error for a value outside [0, below); `simulated`: also while the engine runs."""

    value: Expression
    below: int
    subject: str
    simulated: bool


@dataclass
class Count:
    """Add to an amount per packet if a condition holds; `simulated`: also while the engine runs."""

    name: str
    amount: Expression
    where: Condition | None
    simulated: bool


@dataclass
class Units:
    """Take units of a server that another visit gives back, or (`give_back`) give such units back."""

    server: Server
    units: Expression
    member: Expression
    give_back: bool


@dataclass
class Poll:
    """Poll: repeat `look`, with `between` in between, until a unit of the server is free; another visit gives it back.

    in_turn: the unit goes to the packet that has polled longest, not to the next that looks. woken: steps that follow
    only if the first look found no unit.
    """

    server: Server
    look: Body
    between: Body
    in_turn: bool = False
    woken: Body = field(default_factory=list)


@dataclass
class Contended:
    """Work that depends on contention: a function that appends engine rows, and the steps without contention."""

    emit: Callable[[Assembler, Callable[[Operand], Expression]], None]
    alone: Body


@dataclass
class Loop:
    """Run the body `count` times; `index` counts from 0."""

    count: Expression
    index: Variable
    body: Body


@dataclass
class Branch:
    """Run `then` where the condition holds (or with the probability), else `otherwise`.

    shares: used for a condition that depends on a random choice: the share of packets for which it holds; the first
    known one counts.
    """

    condition: Condition | float
    then: Body
    otherwise: Body
    source: str
    shares: tuple[Expression | float, ...] = ()


@dataclass
class Let:
    """Compute an expression once and store it in a variable."""

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
    """The next integer of 0 .. below-1 in round-robin order, over all packets."""

    variable: Variable
    below: int
    source: str


@dataclass
class Fork:
    """Work that runs concurrently and may outlive the packet; it may take over holdings of the packet."""

    body: Body
    moved: list[tuple[Holding, Holding]] = field(default_factory=list)  # (holding of the packet, holding of the fork)


@dataclass
class Parallel:
    """Bodies that run in parallel; the packet continues when the last has ended."""

    bodies: list[Body]


@dataclass
class Take:
    """Wait until the units of all holdings are free, and take them all at once."""

    holdings: list[Holding]


@dataclass
class Give:
    """Give back the units of a holding."""

    holding: Holding


@dataclass
class Priority:
    """Set the packet's priority (0..15): of events at the same time, smaller numbers go first."""

    value: Expression


Step: TypeAlias = (
    "Visit | Loop | Branch | Let | Draw | Turn | Fork | Parallel | Take | Give | Priority | Serve | Wait | Until"
    " | Window | Now | Recall | Remember | Line | Choose | Within | Count | Units | Poll | Contended"
)


def bodies(step: Step) -> list[Body]:
    """Return the bodies inside a step of a program."""
    if isinstance(step, Branch):
        return [step.then, step.otherwise]
    if isinstance(step, Loop | Fork):
        return [step.body]
    return step.bodies if isinstance(step, Parallel) else []


def visit(resource: Resource, method: str, **operands: Measured) -> Visit:
    """Return a visit of a resource.

    resource: the resource to visit. method: one of its VISITS. operands: the numbers or expressions of this visit.
    Raises UnknownNameError or ModelError for a wrong method or operand.
    """
    if method not in resource.VISITS:
        raise UnknownNameError(f"visit of resource {resource.name!r}", method, resource.VISITS)
    names = resource.VISITS[method]
    for name in operands:
        if name not in names:
            raise UnknownNameError(f"operand of {resource.name}.{method}", name, names)
    missing = [name for name in names if name not in operands and name not in resource.OPTIONAL]
    if missing:
        raise ModelError(f"{resource.name}.{method} needs the operand {missing[0]!r}")
    place = f"{resource.name}.{method}"
    measured = {name: in_unit(value, unit_of(name), f"{place}: {name}") for name, value in operands.items()}
    for name, value in measured.items():
        if isinstance(value, Constant):
            doubt(f"{place}: {name}", value.value, unit_of(name) or "")
    resource.on_visit(method)
    step = Visit(resource, method, measured)
    if method in resource.RESULTS:
        step.result = Variable(f"{resource.name}.{method}")
    return step
