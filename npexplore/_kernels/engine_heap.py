"""The heap of sleeping tokens of the event engine: three arrays of the agenda, each entry before its four
children by (time, key).

Indices are unsigned: a signed one is compared with 0 at each access, for Python counts negative ones from the end.
"""

import numpy as np

from npexplore._kernels.engine_layout import *
from npexplore.jit import kernel

ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)


@kernel(forceinline=True, _nrt=False)
def _move(agenda, i, other):
    """Copy the entry at place `other` to place i."""
    agenda.time[i] = agenda.time[other]
    agenda.key[i] = agenda.key[other]
    agenda.token[i] = agenda.token[other]


@kernel(forceinline=True, _nrt=False)
def _put(agenda, i, time, key, token):
    """Write an entry at the hole at place i, once entries above that are later have moved down."""
    while i > 0:
        parent = (i - ONE) >> TWO
        before = agenda.time[parent]
        if before < time or (before == time and agenda.key[parent] < key):
            break
        _move(agenda, i, parent)
        i = parent
    agenda.time[i] = time
    agenda.key[i] = key
    agenda.token[i] = token


@kernel(forceinline=True, _nrt=False)
def _push(agenda, time, key, token):
    n = agenda.clock[K_HEAP]
    _put(agenda, np.uint64(n), time, key, token)
    agenda.clock[K_HEAP] = n + 1


@kernel(forceinline=True, _nrt=False)
def _sooner(agenda, i, j):
    """Return which of two places has the entry that is due sooner, without a branch: nobody could foresee it."""
    t, u = agenda.time[i], agenda.time[j]
    return i + (j - i) * np.uint64((u < t) | ((u == t) & (agenda.key[j] < agenda.key[i])))


@kernel(forceinline=True, _nrt=False)
def _take_out(agenda, hole):
    """Remove the entry at a place (the caller has read it).

    The hole goes down along the soonest children, and the last entry up from there: that one is mostly a late one, so
    that a comparison with it on every level would cost more than it spares.
    """
    last = np.uint64(agenda.clock[K_HEAP]) - ONE
    agenda.clock[K_HEAP] -= 1
    child = (hole << TWO) + ONE
    while child + THREE < last:
        child = _sooner(agenda, _sooner(agenda, child, child + ONE), _sooner(agenda, child + TWO, child + THREE))
        _move(agenda, hole, child)
        hole = child
        child = (hole << TWO) + ONE
    if child < last:
        for other in range(child + ONE, last):
            child = _sooner(agenda, child, other)
        _move(agenda, hole, child)
        hole = child
    _put(agenda, hole, agenda.time[last], agenda.key[last], agenda.token[last])


@kernel(forceinline=True, _nrt=False)
def _remove(agenda, token):
    """Take a token's entry out."""
    i = np.uint64(0)
    while agenda.token[i] != token:
        i += ONE
    _take_out(agenda, i)
