"""Breadth-first enumeration of reachable states, which are rows of integers; a model returns the successors of many.

A step that could need more memory than allowed is refused before it allocates any; the message has the amount.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from npexplore._kernels import chains as kernels
from npexplore.errors import InputError, RefusedError
from npexplore.memory import available
from npexplore.solve.chains.chain import Array, Chain, chain
from npexplore.solve.queueing.inputs import Floats

Successors = Callable[[Array], tuple[Array, Array, Floats]]
BYTES = 120  # per state, besides its integers and arcs: hash slots, sums, the order of arcs during sorting
ARC_BYTES = 60
AT_ONCE = 1 << 16  # states that are expanded together


def memory_left() -> int:
    """Return half of the available memory in bytes, for a chain; 1 GB if it is unknown (outside Linux)."""
    free_bytes = available()
    return 1 << 30 if free_bytes is None else free_bytes // 2


def refuse_memory(states: int, needs: int, most_bytes: int, name: str = "chain") -> None:
    """Raise RefusedError if a chain of that many states needs more bytes than allowed."""
    if needs > most_bytes:
        raise RefusedError(
            f"{name}: more than {states} states, the next step needs {needs / 1e9:.2g} GB of memory, "
            f"{most_bytes / 1e9:.2g} GB may be taken"
        )


def explore(
    start: ArrayLike, successors: Successors, most_states: int = 10_000_000, most_bytes: int | None = None, *,
    at_once: int = AT_ONCE, state_bytes: int = 0, name: str = "chain",
) -> tuple[Array, Chain]:  # fmt: skip
    """Return all reachable states (n, width) as 32-bit integers, `start` first, and their chain.

    start: one or more states, shape (width,) or (k, width). successors: takes states (m, width), and returns (origin
    (a,), following (a, width), rate (a,)): arcs from rows of its argument to other states, with rates per second.
    most_states, most_bytes: limits of states and of memory (None: half of the available memory). at_once: number of
    states per call of `successors`. state_bytes: the caller's memory per state. name: beginning of messages.

    Raises RefusedError before a limit would be exceeded.
    """
    first = np.atleast_2d(np.asarray(start))
    if first.ndim != 2 or first.shape[1] == 0 or not np.issubdtype(first.dtype, np.integer):
        raise InputError(f"chain: states must be rows of integers, got {first.dtype} of shape {first.shape}")
    room = memory_left() if most_bytes is None else most_bytes
    width = first.shape[1]
    states, slots = np.zeros((0, width), np.int32), np.zeros(1024, np.int32)
    known, expanded = 0, 0
    arcs: list[tuple[Array, Array, Floats]] = []
    arc_count = 0

    def enter(rows: Array) -> Array:
        nonlocal states, slots, known
        most = known + len(rows)
        refuse_memory(known, most * (4 * width + BYTES + state_bytes) + (arc_count + len(rows)) * ARC_BYTES, room, name)
        if most > len(states):
            states = np.concatenate([states, np.zeros((max(most, 2 * known) - len(states), width), np.int32)])
        if 2 * most > len(slots):
            slots = np.zeros(1 << (2 * most).bit_length(), np.int32)
            kernels.rehash(states, known, slots)
        numbers = np.empty(len(rows), np.int32)
        known = kernels.number(states, known, slots, np.ascontiguousarray(rows, dtype=np.int32), numbers)
        return numbers

    enter(first)
    while expanded < known:
        if known > most_states:
            raise RefusedError(f"{name}: more than {most_states} states (known so far: {known})")
        batch = states[expanded : min(known, expanded + at_once)].copy()
        origin, following, rate = successors(batch)
        arcs.append((origin.astype(np.int32) + np.int32(expanded), enter(following), rate))
        arc_count += len(rate)
        expanded += len(batch)
    columns = [list(column) for column in zip(*arcs, strict=True)]
    arcs.clear()
    source, target, rate = (np.concatenate(columns.pop(0)) for _ in range(3))
    states.resize((known, width), refcheck=False)
    return states, chain(known, source, target, rate)
