"""The tree of steps that a recorded program, or a visit of a resource, becomes: loops, branches, forks, holds, times.

Recorders (machine/program.py, machine/visits.py) make it; demands (machine/demands.py) and rows of the event engine
(machine/steps.py) are read from it. What stands from Serve to Contended is recorded inside visits alone.
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
    """Queue for one unit of a server, keep it for a time in seconds (or a random one), give it back."""

    server: Server
    seconds: Expression | Time
    member: Expression


@dataclass
class Wait:
    """Let a time in seconds (or a random one) pass."""

    seconds: Expression | Time


@dataclass
class Until:
    """Let time pass until a moment, if that is not past."""

    moment: Expression


@dataclass
class Window:
    """If now lies in the first `length_s` of a period, wait for its end; light-load times leave it out."""

    period_s: float
    length_s: float


@dataclass
class Now:
    """Keep the present time."""

    variable: Moment


@dataclass
class Recall:
    """Keep what was remembered last under a word (of one of `members`); a packet alone finds 0."""

    variable: Moment
    word: str
    members: int
    member: Expression


@dataclass
class Remember:
    """Write a moment down under a word."""

    word: str
    members: int
    member: Expression
    moment: Expression


@dataclass
class Line:
    """Remember how many wait at a server: none, for a packet without contention."""

    variable: Variable
    server: Server
    member: Expression


@dataclass
class Choose:
    """Keep a member of a server, chosen by a policy (machine/resources/balancer.py)."""

    variable: Variable
    server: str
    members: int
    policy: str
    key: Expression | None
    counter: str | None


@dataclass
class Within:
    """Refuse a value that is not in [0, below); `simulated`: also while the engine runs."""

    value: Expression
    below: int
    subject: str
    simulated: bool


@dataclass
class Count:
    """Add to an amount per packet, where a condition holds; `simulated`: also while the engine runs."""

    name: str
    amount: Expression
    where: Condition | None
    simulated: bool


@dataclass
class Units:
    """Take units of a server that another visit, or anybody, gives back (`give_back`: give them back)."""

    server: Server
    units: Expression
    member: Expression
    give_back: bool


@dataclass
class Poll:
    """Look, with something between two looks, until a look finds a unit of the server free; another visit gives it.

    in_turn: the unit goes to who has looked longest, not to who looks next. woken: what follows only after a look that
    found none.
    """

    server: Server
    look: Body
    between: Body
    in_turn: bool = False
    woken: Body = field(default_factory=list)


@dataclass
class Contended:
    """What depends on contention: the engine's rows, and the steps of a packet without contention."""

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

    shares: of packets for which a condition holds that a random choice decides; the first that is known counts.
    """

    condition: Condition | float
    then: Body
    otherwise: Body
    source: str
    shares: tuple[Expression | float, ...] = ()


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
    """Work that goes on by itself and may outlive the packet; it may take holdings of the packet along."""

    body: Body
    moved: list[tuple[Holding, Holding]] = field(default_factory=list)  # as the packet knew it, as the fork knows it


@dataclass
class Parallel:
    """Bodies that run side by side; the packet goes on when the last has ended."""

    bodies: list[Body]


@dataclass
class Take:
    """Wait for the units of all holdings, at once or none, and keep them."""

    holdings: list[Holding]


@dataclass
class Give:
    """Give back what is held."""

    holding: Holding


@dataclass
class Priority:
    """From here on go before what has a larger number (0..15) among what happens at the same time."""

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

    resource: the visited one. method: one of its VISITS. operands: the numbers or expressions that this visit needs.
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
    what = f"{resource.name}.{method}"
    measured = {name: in_unit(value, unit_of(name), f"{what}: {name}") for name, value in operands.items()}
    for name, value in measured.items():
        if isinstance(value, Constant):
            doubt(f"{what}: {name}", value.value, unit_of(name) or "")
    resource.on_visit(method)
    step = Visit(resource, method, measured)
    if method in resource.RESULTS:
        step.result = Variable(f"{resource.name}.{method}")
    return step
