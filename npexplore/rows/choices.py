"""Choosing one member of a server: in turn, at random, by a key (a static hash, an address), or the shortest line.

in_turn: visits mod n    random: uniform below n    key: key mod n    shortest: least (line - free units)
"""

from __future__ import annotations

from collections.abc import Container
from typing import Literal, get_args

from npexplore._kernels import engine
from npexplore.errors import ModelError, UnknownNameError
from npexplore.rows.assembler import Assembler
from npexplore.rows.expressions import Operand, Variable

Policy = Literal["in_turn", "random", "key", "shortest"]
POLICIES: tuple[str, ...] = get_args(Policy)


def choose(
    asm: Assembler, server: str, members: int, policy: str, key: Operand | None = None, counter: int | None = None
) -> Operand:
    """Emit the choice of a server's member. counter: the global of in_turn (None: one per visit in the program)."""
    if server not in asm.servers:
        raise UnknownNameError("server to choose a member of", server, asm.servers)
    if asm.servers[server][0].members != members:
        raise ModelError(f"{server} has {asm.servers[server][0].members} members, got {members} to choose from")
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


def check_key(subject: str, policy: str, operands: Container[str], operand: str = "key") -> None:
    """Raise ModelError if the policy `key` has no key operand, or another policy has one."""
    if (policy == "key") != (operand in operands):
        verb = "needs" if policy == "key" else "has no"
        raise ModelError(f"{subject} {verb} operand {operand!r} with policy {policy!r}")
