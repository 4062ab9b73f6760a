"""What a resource kind is when nothing is said: parameters of a plain example, the usual visit, its operands.

`npexplore.resource` and the steps of a composed machine (described/steps.py) begin from this table; each value can be
set. Times are seconds, rates are per second, as in the classes of machine/resources.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from npexplore.errors import ModelError
from npexplore.machine.described.parts import Part
from npexplore.machine.resources import KINDS
from npexplore.machine.resources.base import Resource
from npexplore.machine.resources.streams import StaticStreams

Operand = int | float | str  # a number, a drawn choice ("random", "round_robin", "hot:0.5"), or a formula of the packet
LENGTH = "packet.packet_bytes"


@dataclass(frozen=True)
class Default:
    """A kind's plain example: parameters, visit, operands; `alone`: why it has no meaning alone ("" : it has one)."""

    parameters: dict[str, Any] = field(default_factory=dict)
    visit: str = ""
    operands: dict[str, Operand] = field(default_factory=dict)
    alone: str = ""


BEHIND = "it hands packets on to a pool of threads behind it"
DEFAULTS: dict[str, Default] = {
    "processor": Default({"engines": 1, "clock_hz": 1e9}, "compute", {"cycles": 100}),
    "server": Default({"service_s": 1e-7}, "serve"),
    "accelerator": Default({"interval_s": 1e-8, "latency_s": 5e-8}, "call"),
    "channel": Default({"rate_hz": 1e8}, "take"),
    "arbiter": Default({"requesters": 4, "interval_s": 1e-8}, "request", {"requester": "random"}),
    "reorder": Default(alone="it orders what other resources do in between"),
    "balancer": Default(alone="it chooses among the members of another resource"),
    "delay": Default({}, "wait", {"seconds": 1e-7}),
    "memory": Default({"word_bytes": 4, "word_s": 5e-9, "burst_words": 2}, "read", {"bytes": 8}),
    "banked_memory": Default(
        {"word_bytes": 8, "word_s": 1e-8, "banks": 4, "precharge_s": 6e-8}, "read", {"bytes": 8, "bank": "random"}
    ),
    "dram": Default(
        {"timing": "ddr_400", "banks": 4, "bus_bytes_per_s": 3.2e9, "overhead_bytes": 0, "slots": 8}, "read",
        {"bytes": 64, "bank": "random"},
    ),
    "ddr": Default(
        {"timing": "ddr_400", "banks": 4, "bus_bytes": 8, "slots": 8}, "read", {"bytes": 64, "bank": "random"}
    ),
    "dram_controller": Default(
        {"device": "ddr4_3200", "policy": {"page": "closed"}}, "read", {"bytes": 64, "bank": "random"}
    ),
    "pool": Default({"count": 4}, "take", {"count": 1}),
    "queue": Default(alone=BEHIND),
    "scheduled_queue": Default(alone=BEHIND),
    "policer": Default({"rates_pps": [1e6], "depth": 1}, "police", {"flow": 0}),
    "line_card": Default({"bytes_per_s": 1.25e9, "gap_bytes": 20}, "send", {"bytes": LENGTH}),
    "mesh": Default(
        {"columns": 4, "rows": 4, "clock_hz": 1e9, "fifo_depth": 4}, "deliver", {"source": 0, "target": 3, "words": 16}
    ),
    "streams": Default(
        {"columns": 3, "rows": 3, "clock_hz": 1e9, "crossings": True, "paths": [[[3, 4, 5]], [[1, 4, 7]]]}, "stream",
        {"path": "random", "words": 16},
    ),
    "lock": Default({"clock_hz": 1e9}, "acquire"),
    "matrix": Default({"ports": 4, "word_s": 1e-9}, "send", {"source": "random", "target": "random", "words": 16}),
    "pcie_link": Default({"generation": 3, "lanes": 8}, "write", {"bytes": LENGTH}),
    "pcie_wires": Default({"generation": 3, "lanes": 8}, "post", {"bytes": LENGTH}),
    "qdr_sram": Default({"clock_mhz": 200.0}, "read", {"bytes": 8}),
    "hash_unit": Default({"clock_mhz": 200.0, "latency_clocks": 20}, "hash", {"bytes": 16}),
    "ethernet_port": Default({"gbps": 100}, "send", {"bytes": LENGTH}),
    "byte_engine": Default({"bytes_per_s": 1e10}, "process", {"bytes": LENGTH}),
    "cpu_caches": Default({}, "touch", {"l2_lines": 2, "l3_lines": 1, "memory_lines": 1, "page_walks": 0}),
}  # fmt: skip


@dataclass(frozen=True)
class Named:
    """A resource by the name that people use: its kind, and what differs from the kind's plain example."""

    kind: str
    about: str
    parameters: dict[str, Any] = field(default_factory=dict)
    operands: dict[str, Operand] = field(default_factory=dict)


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
MEMBERS = {"bank": "banks", "member": "members", "requester": "requesters", "source": "ports", "target": "ports"}


def kind_of(resource: Resource) -> str:
    """Return the name of a resource's kind or part."""
    if isinstance(resource, Part):
        return resource.kind
    return next((name for name, kind in KINDS.items() if type(resource) is kind), type(resource).__name__)


def default_of(resource: Resource) -> Default:
    """Return what packets do at a resource when nothing is said; raises ModelError for one that has no such visit."""
    found = DEFAULTS.get(kind_of(resource))
    if found is None or found.alone:
        why = f": {found.alone}" if found else ""
        raise ModelError(f"{resource.name} ({kind_of(resource)}) needs its visit said, as NAME.VISIT(operands){why}")
    return found


def choices(resource: Resource, operand: str) -> int:
    """Return how many values an operand can be drawn from; raises ModelError where it is no member."""
    if operand == "path" and isinstance(resource, StaticStreams):
        return len(resource.trees)
    terminals = getattr(getattr(resource, "grid", None), "terminals", None)
    if operand in ("source", "target") and terminals is not None:
        return int(terminals)
    number = getattr(resource, MEMBERS.get(operand, ""), None)
    if number is None and operand == "bank" and hasattr(resource, "device"):
        number = resource.device.banks
    if not isinstance(number, int):
        raise ModelError(f"{resource.name}: {operand} cannot be drawn, {kind_of(resource)} has no members of that name")
    return number
