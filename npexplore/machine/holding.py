"""Holdings of a program: units of a server from a take to its give.

Take and give must be in the same block, or the give in a fork that takes over the holding. A block is the program, the
body of a loop, one side of a branch, a fork, or one of several parallel parts. So every packet that takes units also
gives them back. Holdings may overlap in any order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from npexplore.errors import ModelError, one_of
from npexplore.rows.expressions import Constant, Expression, Operand, expression

if TYPE_CHECKING:
    from npexplore.machine.resources.base import Resource, Server


@dataclass(eq=False)
class Holding:
    """Units of one member of a server from a take to its give; or a section that a visit like `acquire` opens."""

    name: str
    block: Sequence[object] = field(repr=False)
    place: str  # a description of the block, for messages
    server: Server | None = None  # None: a visit opened the section
    member: Expression = field(default_factory=lambda: Constant(0.0))
    units: Expression = field(default_factory=lambda: Constant(1.0))
    key: Expression = field(default_factory=lambda: Constant(0.0))
    state: str = "held"
    loose: bool = False  # whether the engine counts its units only, without their owner

    def end(self, state: str, block: Sequence[object]) -> None:
        """Note that the holding is given, or moved into a fork; raises ModelError if that is not allowed here."""
        if self.state != "held":
            raise ModelError(f"{self.name} cannot be {state}: it was {self.state} before")
        if self.block is not block:
            raise ModelError(
                f"{self.name} was taken in {self.place} and is given in another block; both must be in one block, "
                "or the give in a fork that takes it along: with m.fork(held) as held"
            )
        self.state = state
        self.block = ()  # breaks the reference cycle with the block's steps, so machines need no garbage collection


@dataclass
class Holdings:
    """The holdings that are open while a program is recorded."""

    resources: Mapping[str, Resource]
    roles: tuple[str, ...] = ("queue", "limit")  # of the servers that can be held
    open: list[Holding] = field(default_factory=list)

    @cached_property
    def servers(self) -> dict[str, Server]:
        """Return the servers that can be held, by name: those whose units belong to the packet that took them."""
        servers = [server for resource in self.resources.values() for server in resource.servers()]
        return {s.name: s for s in servers if s.role in self.roles and s.units > 0 and s.discipline != "shared"}

    def take(
        self,
        name: str,
        member: Operand | None,
        units: Operand,
        key: Operand | None,
        block: Sequence[object],
        place: str,
    ) -> Holding:
        """Return a new holding; raises ModelError for a request that can never be granted."""
        known = self.servers
        server = known[one_of("server", name, known)]
        if member is None and server.members > 1:
            raise ModelError(f"take of {name!r} needs member=...: there are {server.members}")
        if key is not None and server.discipline == "fifo":
            raise ModelError(f"take of {name!r} has a key, but its line is first come first served")
        holding = Holding(
            repr(name), block, place, server, expression(0 if member is None else member), expression(units),
            expression(0 if key is None else key),
        )  # fmt: skip
        limits = (("member", holding.member, 0, server.members - 1), ("units", holding.units, 1, server.units))
        for quantity, value, low, high in limits:
            if isinstance(value, Constant) and not (low <= value.value <= high and value.value == int(value.value)):
                raise ModelError(
                    f"take of {name!r}: {quantity} must be an integer in {low}..{high}, got {value.value:g}"
                )
        self._refuse_more_than_all(holding)
        self.open.append(holding)
        return holding

    def _refuse_more_than_all(self, holding: Holding) -> None:
        """Raise ModelError if the packet would wait for units that it holds itself; checks constant numbers only."""
        server = holding.server
        assert server is not None
        same = [held for held in [*self.open, holding] if held.server is not None and held.server.name == server.name]
        if server.members > 1:
            same = [held for held in same if _number(held.member) == _number(holding.member) is not None]
        needed = sum(_number(held.units) or 0 for held in same)
        if needed > server.units:
            raise ModelError(
                f"take of {holding.name}: the packet would hold {needed:g} of {server.units} and wait for itself"
            )

    def begin(self, name: str, block: Sequence[object], place: str) -> None:
        """Note a visit that opens a section of a resource, like a lock's acquire."""
        if any(h.name == name for h in self.open):
            raise ModelError(f"{name} is held already: the packet would wait for itself")
        self.open.append(Holding(name, block, place))

    def finish(self, name: str, block: Sequence[object]) -> None:
        """Note the visit that closes a section."""
        held = next((h for h in self.open if h.name == name), None)
        if held is None:
            raise ModelError(f"{name} is given, but was not taken")
        held.end("given", block)
        self.open.remove(held)

    def end(self, held: object, state: str, block: Sequence[object]) -> Holding:
        """Note the give of a holding, or its move into a fork."""
        if not isinstance(held, Holding):
            raise ModelError(f"what is given must come from m.take or m.take_all, got {held!r}")
        if held.state == "held" and held not in self.open:
            raise ModelError(f"{held.name} was not taken in this program, or outside the fork that gives it")
        held.end(state, block)
        self.open.remove(held)
        return held

    def leave(self, block: Sequence[object]) -> None:
        """Raise ModelError if something that was taken in a block is still held at its end."""
        for held in self.open:
            if held.block is block:
                raise ModelError(f"{held.name} is still held at the end of {held.place}")


def _number(value: Expression) -> float | None:
    return value.value if isinstance(value, Constant) else None
