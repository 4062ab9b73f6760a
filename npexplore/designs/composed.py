"""`machine_of`: a Design from resources and a list of steps (sequence, loop, branch, fork), without a Python program.

    npx.machine_of([npx.resource("hash_unit"), npx.resource("banks")], threads=8)
    npx.machine_of(parts, steps=["hash_unit", {"loop": 3, "steps": ["banks"]}])

A machine file uses the same steps as `steps` of a pool (machine/described/steps.py).
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
        """The operands of the visit, by name."""


def machine_of(
    resources: Iterable[Resource | Placed], steps: Sequence[Any] | None = None, *, threads: int = 8,
    name: str = "composed",
) -> Design:  # fmt: skip
    """Return a machine whose threads take each packet through steps, one resource after the other.

    Args:
        resources: resources (`npexplore.resource`, or of npexplore.machine) with different names.
        steps: texts "NAME" or "NAME.VISIT(operand=value)", and tables {"loop": 3, "steps": [...]},
            {"branch": 0.2, "steps": [...]}, {"fork": [...]}, {"hold": "NAME", "steps": [...]} (None: each resource
            once, in the order given).
        threads: the largest number of packets in the machine at once.
        name: the machine's name.

    Raises:
        InputError: a step cannot be read, or names an unknown resource or visit.

    Example:
        >>> import npexplore as npx
        >>> row = npx.machine_of([npx.resource("hash_unit"), npx.resource("banks")], threads=64)
        >>> row.bounds(npx.workload(packet_bytes=64)).bottleneck
        'banks.bank'
    """
    parts = list(resources)
    machine_resources = [part if isinstance(part, Resource) else part.resource for part in parts]
    operands = {part.resource.name: part.operands for part in parts if not isinstance(part, Resource)}
    by_name = {resource.name: resource for resource in machine_resources}
    text = program_text(list(by_name) if steps is None else list(steps), by_name, operands)
    program = TextProgram(text, Parameters(MachineFile(name=name, title="")), "steps")
    home = next((resource.name for resource in machine_resources if isinstance(resource, Processor)), None)
    return of_machine(Machine(name, Pool("thread", threads, program, home), resources=machine_resources), text)
