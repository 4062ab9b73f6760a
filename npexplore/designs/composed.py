"""A machine of resources in a row, a fork or a loop, with threads in front: from steps to a Design, without a program.

    npx.machine_of([npx.resource("hash_unit"), npx.resource("banks")], threads=8)
    npx.machine_of(parts, steps=["hash_unit", {"loop": 3, "steps": ["banks"]}])

The same steps stand in a machine file as `steps` of a pool (machine/described/steps.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from npexplore.designs.base import Design
from npexplore.designs.python_machines import of_machine
from npexplore.machine.described.program import TextProgram
from npexplore.machine.described.steps import program_text
from npexplore.machine.machine import Machine, Pool
from npexplore.machine.parameters import MachineFile, Parameters
from npexplore.machine.resources import Processor
from npexplore.machine.resources.base import OperandValue, Resource


class Placed(Protocol):
    """A resource with the operands of its visits, as `npexplore.resource` returns one."""

    @property
    def resource(self) -> Resource:
        """The resource itself."""

    @property
    def operands(self) -> Mapping[str, OperandValue]:
        """Values of its visit's operands."""


def machine_of(
    resources: Iterable[Resource | Placed], steps: Sequence[Any] | None = None, *, threads: int = 8,
    name: str = "composed",
) -> Design:  # fmt: skip
    """Return a machine whose threads take each packet through steps, one resource after the other.

    Args:
        resources: resources (`npexplore.resource`, or of npexplore.machine), each with a name of its own.
        steps: texts "NAME" or "NAME.VISIT(operand=value)", and tables {"loop": 3, "steps": [...]},
            {"branch": 0.2, "steps": [...]}, {"fork": [...]}, {"hold": "NAME", "steps": [...]} (None: each resource
            once, in their order).
        threads: packets that are on their way at once.
        name: the machine's name.

    Raises:
        InputError: a step that cannot be read, or names what there is not.

    Example:
        >>> import npexplore as npx
        >>> row = npx.machine_of([npx.resource("hash_unit"), npx.resource("banks")], threads=64)
        >>> row.bounds(npx.workload(packet_bytes=64)).bottleneck
        'banks.bank'
    """
    parts = list(resources)
    machines = [one if isinstance(one, Resource) else one.resource for one in parts]
    operands = {one.resource.name: one.operands for one in parts if not isinstance(one, Resource)}
    by_name = {one.name: one for one in machines}
    text = program_text(list(by_name) if steps is None else list(steps), by_name, operands)
    program = TextProgram(text, Parameters(MachineFile(name=name, title="")), "steps")
    home = next((one.name for one in machines if isinstance(one, Processor)), None)
    return of_machine(Machine(name, Pool("thread", threads, program, home), resources=machines), text)
