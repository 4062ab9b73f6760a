"""The tree of steps that a recorded program becomes: visits, loops, branches, choices, forks, holds.

The recorder (machine/program.py) makes it; demands (machine/demands.py) and rows of the event engine (machine/steps.py)
are read from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from npexplore.errors import ModelError, UnknownNameError
from npexplore.machine.expressions import Condition, Expression, Operand, Variable, expression
from npexplore.machine.holding import Holding

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
    """Work that goes on by itself and may outlive the packet; it may take a holding of the packet along."""

    body: Body
    moved: tuple[Holding, Holding] | None = None  # as the packet knew it, as the fork knows it


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


Step: TypeAlias = "Visit | Loop | Branch | Let | Draw | Turn | Fork | Parallel | Take | Give | Priority"


def visit(resource: Resource, method: str, **operands: Operand) -> Visit:
    """Return a visit of a resource; raises UnknownNameError or ModelError for a wrong method or operand."""
    if method not in resource.VISITS:
        raise UnknownNameError(f"visit of resource {resource.name!r}", method, resource.VISITS)
    names = resource.VISITS[method]
    for name in operands:
        if name not in names:
            raise UnknownNameError(f"operand of {resource.name}.{method}", name, names)
    missing = [name for name in names if name not in operands and name not in resource.OPTIONAL]
    if missing:
        raise ModelError(f"{resource.name}.{method} needs the operand {missing[0]!r}")
    step = Visit(resource, method, {name: expression(value) for name, value in operands.items()})
    if method in resource.RESULTS:
        step.result = Variable(f"{resource.name}.{method}")
    return step
