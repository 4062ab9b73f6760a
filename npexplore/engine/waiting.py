"""Finds a deadlock's circle of resources: the holder of each waits for the next.

A deadlock needs such a circle in the wait-for graph (Coffman, Elphick and Shoshani 1971). A token waits for the holder
of the resource that it requests; for a semaphore, it waits for the token that will put units back: the holder of the
server named by `refilled_by`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from npexplore._kernels import engine
from npexplore.rows.server import Server

Integers = npt.NDArray[np.int64]
Numbered = Mapping[str, tuple[Server, int]]
MOST_NAMES = 24  # longer circles are cut


def resource_names(servers: Numbered) -> dict[int, str]:
    """Return the name of each engine resource, by its number."""
    names = {}
    for server, number in servers.values():
        for member in range(server.members):
            label = server.labels[member] if server.labels else str(member)
            names[number + member] = server.name if server.members == 1 else f"{server.name}[{label}]"
    return names


def meanings(servers: Numbered) -> dict[int, str]:
    """Return, by resource number, what waiting for it for ever means, for servers that have such a text."""
    return {
        number + member: server.stall_reason for server, number in servers.values() if server.stall_reason
        for member in range(server.members)
    }  # fmt: skip


def circle(servers: Numbered, T: Integers, H: Integers) -> list[str]:
    """Return the names of a circle of resources in which the holder of each waits for the next; [] without one.

    T, H: the engine's token and hold arrays (docs/engine.md).
    """
    names, refiller = resource_names(servers), _refillers(servers)
    alive = [int(k) for k in np.flatnonzero(T[:, engine.T_ALIVE])]
    holders: dict[int, list[int]] = {}
    children: dict[int, list[int]] = {}
    for k in alive:
        for slot in range(engine.SLOTS):
            if T[k, engine.T_HELD] >> slot & 1:
                holders.setdefault(int(H[k, slot]), []).append(k)
        children.setdefault(int(T[k, engine.T_PARENT]), []).append(k)

    def onward(k: int) -> list[int]:
        waits = int(T[k, engine.T_WAITS])
        if waits == engine.JOINING:
            return children.get(k, [])
        return holders.get(refiller.get(waits, waits), []) if waits >= 0 else []

    visited: set[int] = set()
    for start in alive:
        path, successors = [start], [iter(onward(start))]
        while path:
            successor = next(successors[-1], None)
            if successor is None:
                visited.add(path.pop())
                successors.pop()
            elif successor in path:
                circle_tokens = path[path.index(successor) :]
                awaited = [int(T[k, engine.T_WAITS]) for k in circle_tokens]
                return [names[waits] for waits in awaited if waits in names]
            elif successor not in visited:
                path.append(successor)
                successors.append(iter(onward(successor)))
    return []


def circle_text(servers: Numbered, T: Integers, H: Integers) -> str:
    """Return the circle in words, "" without one."""
    waiting_circle = circle(servers, T, H)
    if not waiting_circle:
        return ""
    cut = (
        waiting_circle
        if len(waiting_circle) <= MOST_NAMES
        else [*waiting_circle[:MOST_NAMES], f"and {len(waiting_circle) - MOST_NAMES} more"]
    )
    return f"; circle, the holder of each waits for the next: {', '.join(cut)}"


def _refillers(servers: Numbered) -> dict[int, int]:
    """Return, by number of a semaphore's resource, the resource whose holder puts its units back."""
    refillers = {}
    for server, number in servers.values():
        if server.refilled_by is not None:
            _, refilling = servers[server.refilled_by]
            refillers.update({number + member: refilling + member for member in range(server.members)})
    return refillers
