"""A set of routes as a hash table of columns: open addressing, linear probing, deletion by shifting back.

Columns: value (uint32), length (uint8, EMPTY where no route is), hop (uint16). Shifting back: Knuth, The Art of Computer
Programming 3, section 6.4, algorithm R. The size need not be a power of two: slot = hash * size / 2^32.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.jit import kernel

Array = NDArray[Any]
EMPTY = 255


@kernel()
def _slot(v: int, n: int, size: int) -> int:
    h = (np.uint64(v) * np.uint64(33) + np.uint64(n)) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(((h >> np.uint64(32)) * np.uint64(size)) >> np.uint64(32))


@kernel()
def find(value: Array, length: Array, v: int, n: int) -> int:
    """Return the slot of a prefix, or -1 - s with s the empty slot where it would go. The table must have one."""
    size = len(value)
    s = _slot(v, n, size)
    while length[s] != EMPTY:
        if value[s] == v and length[s] == n:
            return s
        s += 1
        if s == size:
            s = 0
    return -1 - s


@kernel()
def put(value: Array, length: Array, hop: Array, v: int, n: int, h: int) -> int:
    """Store a route; return the next hop it had before, -1 for a new one."""
    s = find(value, length, v, n)
    if s >= 0:
        old = np.int64(hop[s])
        hop[s] = h
        return old
    s = -1 - s
    value[s] = v
    length[s] = n
    hop[s] = h
    return -1


@kernel()
def put_many(value: Array, length: Array, hop: Array, vs: Array, ns: Array, hs: Array) -> int:
    """Store many routes, a later one replacing an equal earlier one; return how many were new."""
    fresh = 0
    for i in range(len(vs)):
        if put(value, length, hop, np.int64(vs[i]), np.int64(ns[i]), np.int64(hs[i])) < 0:
            fresh += 1
    return fresh


@kernel()
def take(value: Array, length: Array, hop: Array, v: int, n: int) -> int:
    """Remove a route; return its next hop, -1 if there is none."""
    size = len(value)
    gap = find(value, length, v, n)
    if gap < 0:
        return -1
    old = np.int64(hop[gap])
    s = gap
    while True:
        s += 1
        if s == size:
            s = 0
        if length[s] == EMPTY:
            break
        home = _slot(np.int64(value[s]), np.int64(length[s]), size)
        # the route at s may move into the gap unless its home lies behind the gap, up to s
        if (home <= gap or home > s) if gap < s else (s < home <= gap):
            value[gap] = value[s]
            length[gap] = length[s]
            hop[gap] = hop[s]
            gap = s
    length[gap] = EMPTY
    return old


@kernel()
def cover(value: Array, length: Array, hop: Array, v: int, n: int) -> int:
    """Return length << 16 | hop of the longest route shorter than n bits that holds v, -1 for none."""
    for bits in range(n - 1, -1, -1):
        s = find(value, length, v >> (32 - bits) << (32 - bits), bits)
        if s >= 0:
            return bits << 16 | np.int64(hop[s])
    return -1
