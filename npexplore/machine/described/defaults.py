"""What a kind or part is when nothing is said: parameters of a plain example, the usual visit, its operands.

`npexplore.resource` and the steps of a composed machine (described/steps.py) begin from this table; each value can be
set. Times are seconds, rates are per second, as in the classes of machine/resources.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from npexplore.errors import ModelError
from npexplore.machine.described.parts import Part
from npexplore.machine.resources import KINDS
from npexplore.machine.resources.base import LENGTH, Example, OperandValue, Resource, banks_of
from npexplore.machine.resources.dram_controller import DramController
from npexplore.machine.resources.dram_streams import ROWS
from npexplore.machine.resources.streams import StaticStreams

DEFAULTS: dict[str, Example] = {
    **{name: kind.EXAMPLE for name, kind in KINDS.items()},
    "pcie_link": Example({"generation": 3, "lanes": 8}, "write", {"bytes": LENGTH}),
    "pcie_wires": Example({"generation": 3, "lanes": 8}, "post", {"bytes": LENGTH}),
    "qdr_sram": Example({"clock_mhz": 200.0}, "read", {"bytes": 8}),
    "hash_unit": Example({"clock_mhz": 200.0, "latency_clocks": 20}, "hash", {"bytes": 16}),
    "ethernet_port": Example({"rate": 100}, "send", {"bytes": LENGTH}),
    "byte_engine": Example({"bytes_per_s": 1e10}, "process", {"bytes": LENGTH}),
    "cpu_caches": Example({}, "touch", {"l2_lines": 2, "l3_lines": 1, "memory_lines": 1, "page_walks": 0}),
}  # fmt: skip


@dataclass(frozen=True)
class Named:
    """A resource by the name that people use: its kind, and what differs from the kind's plain example."""

    kind: str
    about: str
    parameters: dict[str, Any] = field(default_factory=dict)
    operands: dict[str, OperandValue] = field(default_factory=dict)


NAMED = {
    "banks": Named("banked_memory", "memory banks that are busy with a precharge after each access"),
    "bus": Named(
        "memory", "a data bus that moves a packet's words one after the other",
        {"word_bytes": 8, "word_s": 5e-9, "burst_words": 1}, {"bytes": LENGTH},
    ),
    "hash": Named("hash_unit", "a pipelined hash unit: a new key every few clocks, an answer a latency later"),
    "sram": Named(
        "memory", "two channels of SRAM that move whole bursts of words",
        {"burst_words": 4, "channels": 2, "efficiency": 0.9, "latency_s": 2e-8}, {"bytes": 16},
    ),
    "crossing": Named("streams", "routes of a static network that cross at one switch"),
}  # fmt: skip
CROSS = ([[3, 4, 5]], [[1, 4, 7]], [[6, 3, 4, 5]], [[2, 1, 4, 7]])  # of 3 x 3 tiles, over the switch in the middle
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
    found = DEFAULTS.get(kind_of(resource), resource.EXAMPLE)
    if not found.visit:
        why = f": {found.alone}" if found.alone else ""
        raise ModelError(f"{resource.name} ({kind_of(resource)}) needs its visit said, as NAME.VISIT(operands){why}")
    return found


def choices(resource: Resource, operand: str) -> int:
    """Return how many values an operand can be drawn from; raises ModelError where it is no member."""
    if operand == "path" and isinstance(resource, StaticStreams):
        return len(resource.trees)
    terminals = getattr(getattr(resource, "grid", None), "terminals", None)
    if operand in ("source", "target") and terminals is not None:
        return int(terminals)
    own = resource.parameters.numbers if isinstance(resource, Part) else {}
    found = (own.get(name, getattr(resource, name, None)) for name in MEMBERS.get(operand, ()))
    number = next((one for one in found if one is not None), None)
    if operand == "bank":
        number = banks_of(resource)
    if operand == "row" and isinstance(resource, DramController):
        number = ROWS
    if not isinstance(number, int):
        raise ModelError(f"{resource.name}: {operand} cannot be drawn, {kind_of(resource)} has no members of that name")
    return number
