"""Choosing one of alike servers: in turn, at random, by a key (a static hash, an address), or the shortest line.

    in_turn: visits mod n    random: uniform below n    key: key mod n    shortest: least line less free units

A balancer looks at the servers of another resource and tells the program the member:
`m.engine.serve(member=m.balance.choose())`. Bounds know the member that a key chooses, and that the shortest line goes
where there is room; queueing takes all but a key as spread evenly at random (turns and the shortest line wait less).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

import numpy as np

from npexplore._kernels import engine
from npexplore.errors import ModelError, UnknownNameError, one_of
from npexplore.machine.assembler import Assembler
from npexplore.machine.expressions import Expression, Operand, Values, Variable
from npexplore.machine.resources.base import LEAST_LOADED, Resource, Server, Uses, count_of

Policy = Literal["in_turn", "random", "key", "shortest"]
POLICIES: tuple[str, ...] = get_args(Policy)


def choose(asm: Assembler, server: str, policy: str, key: Operand | None = None, counter: int | None = None) -> Operand:
    """Emit the choice of a member of a server; counter: the global of in_turn, one of its own each visit if None."""
    members = asm.servers[server][0].members
    if members == 1:
        return 0
    if policy == "in_turn":
        return asm.in_turn(server, members, counter)
    if policy == "shortest":
        return asm.pick(server, engine.SHORTEST, last=counter)
    if policy == "random":
        member = Variable(f"{server} at random")
        asm.draw(member, members, f"{server}.balance")
        return member
    assert key is not None
    return asm.value_of(key % members)


def check_key(subject: str, policy: str, given: Mapping[str, object], operand: str = "key") -> None:
    """Raise ModelError if a choice by key lacks it, or another choice has one."""
    if (policy == "key") != (operand in given):
        verb = "needs" if policy == "key" else "has no"
        raise ModelError(f"{subject} {verb} operand {operand!r} with policy {policy!r}")


class Balancer(Resource):
    """Chooses one of the `members` of the server called `over`."""

    VISITS = {"choose": ("key",)}
    OPTIONAL = frozenset({"key"})
    RESULTS = frozenset({"choose"})

    def __init__(self, name: str, over: str, members: int, policy: Policy = "in_turn") -> None:
        super().__init__(name)
        self.over, self.members = over, count_of(f"{name}: members", members)
        self.policy = one_of(f"{name}: policy", policy, POLICIES)

    def servers(self) -> list[Server]:
        """None of its own."""
        return []

    def uses(self, method: str, values: Mapping[str, Values | None]) -> Uses:
        """No time; the member where a key tells it, or that it is chosen by its load."""
        check_key(f"{self.name}.{method}", self.policy, values)
        key, chosen = values.get("key"), np.asarray(LEAST_LOADED) if self.policy == "shortest" else None
        return Uses(np.asarray(0.0), result=chosen if key is None else key % self.members)

    def emit(self, method: str, operands: Mapping[str, Expression], asm: Assembler) -> Operand:
        """The choice; where several visits of a program choose, they take turns together."""
        check_key(f"{self.name}.{method}", self.policy, operands)
        if self.over not in asm.servers:
            raise UnknownNameError(f"server that {self.name} is over", self.over, asm.servers)
        members = asm.servers[self.over][0].members
        if members != self.members:
            raise ModelError(f"{self.name}: {self.over} has {members} members, got {self.members}")
        return choose(asm, self.over, self.policy, operands.get("key"), asm.shared_global(f"{self.name}.last"))
