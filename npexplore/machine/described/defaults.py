"""Defaults of a kind or part: the usual visit, its operands, and the members that an operand can name.

`npexplore.resource` and the steps of a composed machine (described/steps.py) use them for values that are not set.
"""

from npexplore.errors import ModelError
from npexplore.machine.described.examples import DEFAULTS
from npexplore.machine.described.parts import Part
from npexplore.machine.resources import KINDS
from npexplore.machine.resources.base import Example, Resource, banks_of
from npexplore.machine.resources.dram_controller import DramController
from npexplore.machine.resources.dram_streams import ROWS
from npexplore.machine.resources.streams import StaticStreams

MEMBERS = {
    "bank": ("banks",), "member": ("members", "ports"), "requester": ("requesters",), "source": ("ports",),
    "target": ("ports",),
}  # fmt: skip


def kind_of(resource: Resource) -> str:
    """Return the name of a resource's kind or part."""
    if isinstance(resource, Part):
        return resource.kind
    return next((name for name, kind in KINDS.items() if type(resource) is kind), type(resource).__name__)


def default_of(resource: Resource) -> Example:
    """Return the default visit of a resource with its operands; raises ModelError if its kind has none."""
    example = DEFAULTS.get(kind_of(resource), resource.EXAMPLE)
    if not example.visit:
        reason = f": {example.alone}" if example.alone else ""
        raise ModelError(f"{resource.name} ({kind_of(resource)}) needs its visit said, as NAME.VISIT(operands){reason}")
    return example


def choices(resource: Resource, operand: str) -> int:
    """Return the number of values from which an operand can be drawn; raises ModelError if it names no member."""
    if operand == "path" and isinstance(resource, StaticStreams):
        return len(resource.trees)
    terminals = getattr(getattr(resource, "grid", None), "terminals", None)
    if operand in ("source", "target") and terminals is not None:
        return int(terminals)
    part_numbers = resource.parameters.numbers if isinstance(resource, Part) else {}
    counts = (part_numbers.get(name, getattr(resource, name, None)) for name in MEMBERS.get(operand, ()))
    number = next((count for count in counts if count is not None), None)
    if operand == "bank":
        number = banks_of(resource)
    if operand == "row" and isinstance(resource, DramController):
        number = ROWS
    if not isinstance(number, int):
        raise ModelError(f"{resource.name}: {operand} cannot be drawn, {kind_of(resource)} has no members of that name")
    return number
