"""The heap of sleeping tokens of the event engine: three arrays of the agenda, sorted by (time, key)."""

from npexplore._kernels.engine_layout import *
from npexplore.jit import kernel


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
        parent = (i - 1) >> 1
        before = agenda.time[parent]
        if before < time or (before == time and agenda.key[parent] < key):
            break
        _move(agenda, i, parent)
        i = parent
    return i


@kernel(forceinline=True, _nrt=False)
def _push(agenda, time, key, token):
    n = agenda.clock[K_HEAP]
    _write(agenda, _free(agenda, n, time, key), time, key, token)
    agenda.clock[K_HEAP] = n + 1


@kernel(forceinline=True, _nrt=False)
def _pop(agenda):
    """Remove the root (the caller has read it).

    The hole goes down along the smaller children, and the last entry up from there: that one is mostly a late one, so
    that a comparison with it on every level would cost more than it spares.
    """
    times, keys = agenda.time, agenda.key
    last = agenda.clock[K_HEAP] - 1
    hole, child = 0, 1
    while child < last:
        other = child + 1
        if other < last:
            t, u = times[child], times[other]
            child += (u < t) | ((u == t) & (keys[other] < keys[child]))  # no branch: nobody could foresee it
        _move(agenda, hole, child)
        hole = child
        child = 2 * hole + 1
    time, key, token = times[last], keys[last], agenda.token[last]
    _write(agenda, _free(agenda, hole, time, key), time, key, token)
    agenda.clock[K_HEAP] = last


@kernel(forceinline=True, _nrt=False)
def _remove(agenda, token):
    """Take a token's entry out; the last one takes the place: up, if it is earlier than its new parent, else down."""
    i = 0
    while agenda.token[i] != token:
        i += 1
    last = agenda.clock[K_HEAP] - 1
    agenda.clock[K_HEAP] = last
    if i == last:
        return
    times, keys = agenda.time, agenda.key
    time, key, moved = times[last], keys[last], agenda.token[last]
    i = _free(agenda, i, time, key)
    child = 2 * i + 1
    while child < last:
        other = child + 1
        if other < last and (
            times[other] < times[child] or (times[other] == times[child] and keys[other] < keys[child])
        ):
            child = other
        if time < times[child] or (time == times[child] and key < keys[child]):
            break
        _move(agenda, i, child)
        i = child
        child = 2 * i + 1
    _write(agenda, i, time, key, moved)
