"""What a kind or part is when nothing is said: the usual visit, its operands, the members that an operand can name.

`npexplore.resource` and the steps of a composed machine (described/steps.py) begin from these; each can be set.
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
    """Return what packets do at a resource when nothing is said; raises ModelError for one that has no such visit."""
    example = DEFAULTS.get(kind_of(resource), resource.EXAMPLE)
    if not example.visit:
        why = f": {example.alone}" if example.alone else ""
        raise ModelError(f"{resource.name} ({kind_of(resource)}) needs its visit said, as NAME.VISIT(operands){why}")
    return example


def choices(resource: Resource, operand: str) -> int:
    """Return how many values an operand can be drawn from; raises ModelError where it is no member."""
    if operand == "path" and isinstance(resource, StaticStreams):
        return len(resource.trees)
    terminals = getattr(getattr(resource, "grid", None), "terminals", None)
    if operand in ("source", "target") and terminals is not None:
        return int(terminals)
    own = resource.parameters.numbers if isinstance(resource, Part) else {}
    counts = (own.get(name, getattr(resource, name, None)) for name in MEMBERS.get(operand, ()))
    number = next((one for one in counts if one is not None), None)
    if operand == "bank":
        number = banks_of(resource)
    if operand == "row" and isinstance(resource, DramController):
        number = ROWS
    if not isinstance(number, int):
        raise ModelError(f"{resource.name}: {operand} cannot be drawn, {kind_of(resource)} has no members of that name")
    return number
