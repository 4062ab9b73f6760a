"""A resource with the visit that packets make to it, and the machine in which threads do nothing else."""

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
HELD = "held"  # the operand of a lock or a pool of buffers: how long a packet keeps it


@dataclass(frozen=True, repr=False)
class LoneResource:
    """A resource alone, with the visit that packets make to it.

    Args:
        kind: the name that it was asked for.
        resource: the resource itself.
        visit: what packets do there.
        operands: values of the visit's operands: numbers, formulas of the packet, or drawn choices.
        parameters: the parameters that were set, in the units of their names.
        packet_bytes: length of the packets, where no capture gives it.
        held_s: seconds for which a packet keeps a lock or a buffer (None: it is no such resource).
    """

    kind: str
    resource: Resource
    visit: str
    operands: Mapping[str, OperandValue]
    parameters: Mapping[str, Any]
    packet_bytes: int = PACKET_BYTES
    held_s: float | None = None

    def design(self, threads: int = 1, operands: Mapping[str, OperandValue] | None = None) -> Design:
        """Return the machine in which threads visit the resource and nothing else.

        operands: in place of its own.
        """
        parts = [self.resource] if self.held_s is None else [self.resource, Delay(HELD)]
        return machine_of(parts, self.steps(operands), threads=threads, name=f"{self.resource.name}_alone")

    def steps(self, operands: Mapping[str, OperandValue] | None = None) -> list[Any]:
        """Return what a thread does with a packet, as steps of a machine (machine/described/steps.py)."""
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
        """Whether waits behind arrivals have a mean: not where a switch takes turns, and packets come otherwise."""
        in_order = isinstance(self.resource, StaticStreams) and bool(self.resource.turns)
        return not (in_order and self.operands.get("path") == "random")

    def number(self, operand: str) -> OperandValue:
        """Return an operand's value; a formula of the packet as its number, since all packets are alike."""
        value = self.operands[operand]
        if not isinstance(value, str) or value.partition(":")[0] in DRAWN:
            return value
        with suppress(NpexploreError, KeyError):
            packet = {"packet_bytes": self.packet_bytes}
            number: OperandValue = Formulas({"packet": packet}, frozenset(("packet",))).text(value)
            return number
        return value

    def amount(self, operand: str) -> float:
        """Return the bytes or words of a visit; raises RefusedError where packets do not tell them."""
        value = self.number(operand)
        if isinstance(value, str):
            raise RefusedError(f"theory: {operand} = {value} is no number here")
        return float(value)

    def packets(self) -> Workload:
        """Return the packets that visit it, with the members of operands that a program cannot draw."""
        names = self.given_by_packets()
        members = [np.arange(choices(self.resource, name)) for name in names]
        grid = [axis.ravel().astype(np.int64) for axis in np.meshgrid(*members, indexing="ij")]
        size = len(grid[0]) if grid else 1
        columns = {"packet_bytes": np.full(size, self.packet_bytes), **dict(zip(names, grid, strict=True))}
        return replace(workload(packet_bytes=self.packet_bytes), columns=columns, ordered=False)

    def visit_operands(self) -> dict[str, OperandValue]:
        """Return the operands as a program has them: those that it cannot draw are columns of the packets."""
        return {**self.operands, **{name: f"packet.{name}" for name in self.given_by_packets()}}

    def given_by_packets(self) -> list[str]:
        """Return the operands that are drawn and that a program cannot draw: columns of the packets."""
        own = set() if isinstance(self.resource, StaticStreams) else {*self.resource.VISITS[self.visit]}
        return [name for name in self.operands
                if self.operands[name] == "random" and name in own - self.resource.CHANCE]  # fmt: skip
