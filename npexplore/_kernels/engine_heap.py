"""The heap of sleeping tokens of the event engine: three arrays of the agenda, sorted by (time, key).

Indices are unsigned: a signed one is compared with 0 at each access, for Python counts negative ones from the end.
"""

import numpy as np

from npexplore._kernels.engine_layout import *
from npexplore.jit import kernel

ONE = np.uint64(1)


@kernel(forceinline=True, _nrt=False)
def _move(agenda, i, other):
    """Copy the entry at place `other` to place i."""
    agenda.time[i] = agenda.time[other]
    agenda.key[i] = agenda.key[other]
    agenda.token[i] = agenda.token[other]


@kernel(forceinline=True, _nrt=False)
def _write(agenda, i, time, key, token):
    """Write an entry at place i."""
    agenda.time[i] = time
    agenda.key[i] = key
    agenda.token[i] = token


@kernel(forceinline=True, _nrt=False)
def _free(agenda, i, time, key):
    """Move entries that are later than (time, key) down from above the hole at place i; return where it is then."""
    while i > 0:
        parent = (i - ONE) >> ONE
        before = agenda.time[parent]
        if before < time or (before == time and agenda.key[parent] < key):
            break
        _move(agenda, i, parent)
        i = parent
    return i


@kernel(forceinline=True, _nrt=False)
def _push(agenda, time, key, token):
    n = agenda.clock[K_HEAP]
    _write(agenda, _free(agenda, np.uint64(n), time, key), time, key, token)
    agenda.clock[K_HEAP] = n + 1


@kernel(forceinline=True, _nrt=False)
def _pop(agenda):
    """Remove the root (the caller has read it).

    The hole goes down along the smaller children, and the last entry up from there: that one is mostly a late one, so
    that a comparison with it on every level would cost more than it spares.
    """
    times, keys = agenda.time, agenda.key
    last = np.uint64(agenda.clock[K_HEAP]) - ONE
    hole, child = np.uint64(0), ONE
    while child < last:
        other = child + ONE
        if other < last:
            t, u = times[child], times[other]
            child += np.uint64((u < t) | ((u == t) & (keys[other] < keys[child])))  # no branch: nobody could foresee it
        _move(agenda, hole, child)
        hole = child
        child = hole + hole + ONE
    time, key, token = times[last], keys[last], agenda.token[last]
    _write(agenda, _free(agenda, hole, time, key), time, key, token)
    agenda.clock[K_HEAP] -= 1


@kernel(forceinline=True, _nrt=False)
def _remove(agenda, token):
    """Take a token's entry out; the last one takes the place: up, if it is earlier than its new parent, else down."""
    i = np.uint64(0)
    while agenda.token[i] != token:
        i += ONE
    last = np.uint64(agenda.clock[K_HEAP]) - ONE
    agenda.clock[K_HEAP] -= 1
    if i == last:
        return
    times, keys = agenda.time, agenda.key
    time, key, moved = times[last], keys[last], agenda.token[last]
    i = _free(agenda, i, time, key)
    child = i + i + ONE
    while child < last:
        other = child + ONE
        if other < last and (
            times[other] < times[child] or (times[other] == times[child] and keys[other] < keys[child])
        ):
            child = other
        if time < times[child] or (time == times[child] and key < keys[child]):
            break
        _move(agenda, i, child)
        i = child
        child = i + i + ONE
    _write(agenda, i, time, key, moved)
