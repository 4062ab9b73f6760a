"""Set-associative caches of several cores, one access after the other: who finds which line at which level.

Levels stand one behind the other; a line that is found is brought into all levels above. A line's set is its number
modulo the sets. Accesses of a device go to the last level: a write refreshes a line that is there, or takes one of the
first `device_ways` ways; a read brings nothing in. Writes remove the copies that others have.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.jit import kernel

Array = NDArray[Any]
SETS, WAYS, UNITS, START = 0, 1, 2, 3  # columns of `levels`: a level has `units` caches alike, from place `start` on
NOBODY = -1  # a way without a line; the core of a device


@kernel()
def _first_way(levels: Array, level: int, unit: int, line: int) -> int:
    """Return the place of the first way of a line's set."""
    sets = levels[level, SETS]
    return levels[level, START] + (unit * sets + line % sets) * levels[level, WAYS]


@kernel()
def _find(tag: Array, at: int, ways: int, line: int) -> int:
    """Return the place of a line among the ways of its set, -1 where it is not."""
    for place in range(at, at + ways):
        if tag[place] == line:
            return place
    return -1


@kernel()
def _put(tag: Array, used: Array, at: int, ways: int, line: int, now: int, draw: int) -> int:
    """Put a line into a free way, the least recently used one, or (draw not below 0) one drawn; return who left."""
    chosen = at
    for place in range(at, at + ways):
        if tag[place] == NOBODY:
            chosen = place
            break
        if used[place] < used[chosen]:
            chosen = place
    if tag[chosen] != NOBODY and draw >= 0:
        chosen = at + draw % ways
    left = tag[chosen]
    tag[chosen] = line
    used[chosen] = now
    return left


@kernel()
def _drop(tag: Array, levels: Array, line: int, keeper: int) -> None:
    """Remove a line from all caches above the last level but those of the core `keeper`."""
    for level in range(len(levels) - 1):
        units = levels[level, UNITS]
        for unit in range(units):
            if keeper < 0 or unit != keeper % units:
                place = _find(tag, _first_way(levels, level, unit, line), levels[level, WAYS], line)
                if place >= 0:
                    tag[place] = NOBODY


@kernel()
def replay(
    core: Array, line: Array, write: Array, levels: Array, inclusive: bool, device_ways: int, draws: Array
) -> Array:
    """Return the level (0 the first, as many as there are: memory) at which each access finds its line.

    core, line: int64 (n,), core -1 for a device; write: bool (n,). levels: int64 (k, 4), columns SETS to START.
    inclusive: what leaves the last level leaves all. draws: int64 (n,), not below 0, for random replacement; empty
    for LRU.
    """
    last = len(levels) - 1
    places = levels[last, START] + levels[last, SETS] * levels[last, WAYS] * levels[last, UNITS]
    tag = np.full(places, NOBODY, np.int64)
    used = np.zeros(places, np.int64)
    served = np.full(len(line), last + 1, np.int64)
    for i in range(len(line)):
        x = line[i]
        draw = draws[i] if len(draws) else -1
        if core[i] < 0:
            at = _first_way(levels, last, 0, x)
            place = _find(tag, at, levels[last, WAYS], x)
            if place >= 0:
                served[i] = last
                used[place] = i
            elif write[i] and device_ways > 0:
                left = _put(tag, used, at, device_ways, x, i, draw)
                if inclusive and left != NOBODY:
                    _drop(tag, levels, left, NOBODY)
            if write[i]:
                _drop(tag, levels, x, NOBODY)
            continue
        for level in range(last + 1):
            at = _first_way(levels, level, core[i] % levels[level, UNITS], x)
            place = _find(tag, at, levels[level, WAYS], x)
            if place >= 0:
                served[i] = level
                used[place] = i
                break
        for level in range(served[i] - 1, -1, -1):
            at = _first_way(levels, level, core[i] % levels[level, UNITS], x)
            left = _put(tag, used, at, levels[level, WAYS], x, i, draw)
            if level == last and inclusive and left != NOBODY:
                _drop(tag, levels, left, NOBODY)
        if write[i]:
            _drop(tag, levels, x, core[i])
    return served
