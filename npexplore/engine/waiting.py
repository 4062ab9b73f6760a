"""Who waits for whom when a run stands still: the circle of resources in which the holder of each waits for the next.

A deadlock needs such a circle in the wait-for graph (Coffman, Elphick and Shoshani 1971). A token waits for whoever
holds the resource it wants; of a semaphore, for whoever will put units back, as its server says (`refilled_by`).
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
    """Return what each engine resource is called."""
    names = {}
    for server, number in servers.values():
        for member in range(server.members):
            label = server.labels[member] if server.labels else str(member)
            names[number + member] = server.name if server.members == 1 else f"{server.name}[{label}]"
    return names


def meanings(servers: Numbered) -> dict[int, str]:
    """Return what it means to wait for ever for an engine resource, of those that tell."""
    return {
        number + member: server.stall_reason for server, number in servers.values() if server.stall_reason
        for member in range(server.members)
    }  # fmt: skip


def circle(servers: Numbered, T: Integers, H: Integers) -> list[str]:
    """Return the names of a circle of resources, the holder of each waits for the next; [] if there is none.

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

    seen: set[int] = set()
    for start in alive:
        path, ways = [start], [iter(onward(start))]
        while path:
            step = next(ways[-1], None)
            if step is None:
                seen.add(path.pop())
                ways.pop()
            elif step in path:
                ring = path[path.index(step) :]
                wanted = [int(T[k, engine.T_WAITS]) for k in ring]
                return [names[waits] for waits in wanted if waits in names]
            elif step not in seen:
                path.append(step)
                ways.append(iter(onward(step)))
    return []


def circle_text(servers: Numbered, T: Integers, H: Integers) -> str:
    """Return the circle in words, "" if there is none."""
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
    """Return which resource's holder puts units of a semaphore back."""
    refillers = {}
    for server, number in servers.values():
        if server.refilled_by is not None:
            _, other = servers[server.refilled_by]
            refillers.update({number + member: other + member for member in range(server.members)})
    return refillers
