"""Defines a resource with its visit, and the machine in which threads only visit this resource."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from npexplore.designs import Design
from npexplore.designs.composed import machine_of
from npexplore.errors import NpexploreError, RefusedError
from npexplore.machine.described.defaults import choices
from npexplore.machine.described.formula import Formulas
from npexplore.machine.described.steps import DRAWN
from npexplore.machine.resources.base import OperandValue, Resource
from npexplore.machine.resources.server import Delay
from npexplore.machine.resources.streams import StaticStreams
from npexplore.machine.workload import Workload
from npexplore.machine.workload_sources import workload

PACKET_BYTES = 64
HELD = "held"  # operand of a lock or a pool of buffers: how long a packet holds it


@dataclass(frozen=True, repr=False)
class LoneResource:
    """A resource alone, with the visit that packets make to it.

    Args:
        kind: the name under which the resource was requested.
        resource: the resource.
        visit: the name of the visit that packets make.
        operands: values of the visit's operands: numbers, formulas of the packet, or random choices.
        parameters: the parameters that were set, in the units of their names.
        packet_bytes: length of the packets, without a capture.
        held_s: seconds for which a packet holds a lock or a buffer (None: any other resource).
    """

    kind: str
    resource: Resource
    visit: str
    operands: Mapping[str, OperandValue]
    parameters: Mapping[str, Any]
    packet_bytes: int = PACKET_BYTES
    held_s: float | None = None

    def design(self, threads: int = 1, operands: Mapping[str, OperandValue] | None = None) -> Design:
        """Return the machine in which threads only visit the resource.

        operands: replace the operands of the resource.
        """
        parts = [self.resource] if self.held_s is None else [self.resource, Delay(HELD)]
        return machine_of(parts, self.steps(operands), threads=threads, name=f"{self.resource.name}_alone")

    def steps(self, operands: Mapping[str, OperandValue] | None = None) -> list[Any]:
        """Return a thread's steps for a packet (machine/described/steps.py)."""
        name = self.resource.name
        if self.held_s is not None:
            return [{"hold": name, "steps": [f"{HELD}.wait(seconds={self.held_s!r})"]}]
        texts = {
            key: repr(value) if str(value).partition(":")[0] in DRAWN else str(value)
            for key, value in (operands or self.visit_operands()).items()
        }
        return [f"{name}.{self.visit}({', '.join(f'{key}={text}' for key, text in texts.items())})"]

    @property
    def has_steady_state(self) -> bool:
        """Whether waiting times with arrivals have a mean; not for a switch with fixed turns and random paths."""
        in_order = isinstance(self.resource, StaticStreams) and bool(self.resource.turns)
        return not (in_order and self.operands.get("path") == "random")

    def number(self, operand: str) -> OperandValue:
        """Return an operand's value; a formula of the packet is evaluated, since all packets are equal."""
        value = self.operands[operand]
        if not isinstance(value, str) or value.partition(":")[0] in DRAWN:
            return value
        with suppress(NpexploreError, KeyError):
            packet = {"packet_bytes": self.packet_bytes}
            number: OperandValue = Formulas({"packet": packet}, frozenset(("packet",))).text(value)
            return number
        return value

    def amount(self, operand: str) -> float:
        """Return the bytes or words of a visit; raises RefusedError if they are not a number."""
        value = self.number(operand)
        if isinstance(value, str):
            raise RefusedError(f"theory: {operand} = {value} is no number here")
        return float(value)

    def packets(self) -> Workload:
        """Return the packets, with a column for each operand whose random member a program cannot choose."""
        names = self.given_by_packets()
        members = [np.arange(choices(self.resource, name)) for name in names]
        grid = [axis.ravel().astype(np.int64) for axis in np.meshgrid(*members, indexing="ij")]
        size = len(grid[0]) if grid else 1
        columns = {"packet_bytes": np.full(size, self.packet_bytes), **dict(zip(names, grid, strict=True))}
        return replace(workload(packet_bytes=self.packet_bytes), columns=columns, ordered=False)

    def visit_operands(self) -> dict[str, OperandValue]:
        """Return the operands for a program; random members that it cannot choose are columns of the packets."""
        return {**self.operands, **{name: f"packet.{name}" for name in self.given_by_packets()}}

    def given_by_packets(self) -> list[str]:
        """Return the operands with random members that a program cannot choose, and packets must provide."""
        operands = set() if isinstance(self.resource, StaticStreams) else {*self.resource.VISITS[self.visit]}
        return [name for name in self.operands
                if self.operands[name] == "random" and name in operands - self.resource.CHANCE]  # fmt: skip
