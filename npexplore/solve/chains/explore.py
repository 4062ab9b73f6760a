"""All states that can be reached, breadth first: states are rows of integers, and a model says what follows on many.

A step that could need more memory than allowed is refused before it takes any, and the message says how much.
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
BYTES = 120  # a state's, beside its integers and arcs: slots, sums, the order of arcs while they are sorted
ARC_BYTES = 60
AT_ONCE = 1 << 16  # states asked for at once


def memory_left() -> int:
    """Return half of the available memory in bytes, for a chain; 1 GB where it is not known (outside Linux)."""
    there = available()
    return 1 << 30 if there is None else there // 2


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
    """Return all states (n, width) that can be reached, 32-bit integers, `start` first; and their chain.

    start: one or more states, shape (width,) or (k, width). successors: takes states (m, width), and returns (origin
    (a,), following (a, width), rate (a,)): arcs from rows of its argument to other states, with rates per second.
    most_states, most_bytes: how many states and bytes of memory may be used (None: half of what is available).
    at_once: how many states `successors` is asked for together. state_bytes: what the caller keeps of each state.
    name: what messages begin with.

    Raises RefusedError before it would use more.
    """
    first = np.atleast_2d(np.asarray(start))
    if first.ndim != 2 or first.shape[1] == 0 or not np.issubdtype(first.dtype, np.integer):
        raise InputError(f"chain: states must be rows of integers, got {first.dtype} of shape {first.shape}")
    room = memory_left() if most_bytes is None else most_bytes
    width = first.shape[1]
    states, slots = np.zeros((0, width), np.int32), np.zeros(1024, np.int32)
    known, done = 0, 0
    arcs: list[tuple[Array, Array, Floats]] = []
    taken = 0

    def enter(rows: Array) -> Array:
        nonlocal states, slots, known
        most = known + len(rows)
        refuse_memory(known, most * (4 * width + BYTES + state_bytes) + (taken + len(rows)) * ARC_BYTES, room, name)
        if most > len(states):
            states = np.concatenate([states, np.zeros((max(most, 2 * known) - len(states), width), np.int32)])
        if 2 * most > len(slots):
            slots = np.zeros(1 << (2 * most).bit_length(), np.int32)
            kernels.rehash(states, known, slots)
        numbers = np.empty(len(rows), np.int32)
        known = kernels.number(states, known, slots, np.ascontiguousarray(rows, dtype=np.int32), numbers)
        return numbers

    enter(first)
    while done < known:
        if known > most_states:
            raise RefusedError(f"{name}: more than {most_states} states (known so far: {known})")
        now = states[done : min(known, done + at_once)].copy()
        origin, following, rate = successors(now)
        arcs.append((origin.astype(np.int32) + np.int32(done), enter(following), rate))
        taken += len(rate)
        done += len(now)
    columns = [list(column) for column in zip(*arcs, strict=True)]
    arcs.clear()
    source, target, rate = (np.concatenate(columns.pop(0)) for _ in range(3))
    states.resize((known, width), refcheck=False)
    return states, chain(known, source, target, rate)
