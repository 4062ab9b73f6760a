"""Multibit tries with expanded prefixes: paint a range, split and join nodes, look up, tell which entries were read.

Level l indexes strides[l] more bits of the address; a node of level l is 2^strides[l] entries of entries[l], and level 0
is one node. An entry below `limit` is a leaf: the number of a next hop, 0 for none. Any other points to node
(entry - limit) of the next level. depths[l] has each leaf's prefix length, 0 also for none: lookups never read it, updates
overwrite by it. state[l] = (nodes ever used, first free node + 1); free nodes are linked through their first entry.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.jit import kernel

Array = NDArray[Any]
Levels = tuple[Array, ...]
USED, FREE = 0, 1


@kernel()
def missing_from(entries: Levels, strides: Array, limit: int, v: int, n: int) -> int:
    """Return the first level without a node on the way of a prefix, len(strides) if its node is there."""
    bits = 0
    base = 0
    for level in range(len(strides)):
        stride = strides[level]
        bits += stride
        if n <= bits:
            break
        e = np.int64(entries[level][base + (v >> (32 - bits) & ((1 << stride) - 1))])
        if e < limit:
            return level + 1
        base = (e - limit) << strides[level + 1]
    return len(strides)


@kernel()
def paint(entries: Levels, depths: Levels, strides: Array, limit: int, state: Array,
          v: int, n: int, low: int, high: int, hop: int, depth: int) -> None:  # fmt: skip
    """Give every leaf of prefix (v, n) whose depth is low to high a new next hop and depth.

    Inserting: low 0, high n. Removing: low = high = n, with the next covering route's hop and depth. Nodes that the
    prefix needs are made (the caller has seen to room); nodes that hold one route alone afterwards are freed.
    """
    levels = len(strides)
    path = np.zeros(levels, np.int64)
    level = 0
    base = 0
    bits = strides[0]
    while n > bits:
        at = base + (v >> (32 - bits) & ((1 << strides[level]) - 1))
        path[level] = at
        e = np.int64(entries[level][at])
        inner = level + 1
        stride = strides[inner]
        if e < limit:
            node = state[inner, FREE] - 1
            if node >= 0:
                state[inner, FREE] = entries[inner][node << stride]
            else:
                node = state[inner, USED]
                state[inner, USED] += 1
            first = node << stride
            for i in range(first, first + (1 << stride)):
                entries[inner][i] = e
                depths[inner][i] = depths[level][at]
            e = node + limit
            entries[level][at] = e
        base = (e - limit) << stride
        level = inner
        bits += stride
    target = level
    here = np.zeros(levels, np.int64)
    stop = np.zeros(levels, np.int64)
    here[level] = base + (v >> (32 - bits) & ((1 << strides[level]) - 1))
    stop[level] = here[level] + (np.int64(1) << (bits - n))
    while True:
        i = here[level]
        if i == stop[level]:
            if level == target:
                break
            level -= 1
            continue
        here[level] = i + 1
        e = np.int64(entries[level][i])
        if e >= limit:
            level += 1
            here[level] = (e - limit) << strides[level]
            stop[level] = here[level] + (np.int64(1) << strides[level])
        elif low <= depths[level][i] <= high:
            entries[level][i] = hop
            depths[level][i] = depth
    # a node without a route longer than the way to it says what one entry above can say
    level = target
    while level > 0:
        bits -= strides[level]
        up = entries[level - 1]
        at = path[level - 1]
        first = (np.int64(up[at]) - limit) << strides[level]
        node_entries = entries[level]
        node_depths = depths[level]
        for i in range(first, first + (1 << strides[level])):
            if node_entries[i] >= limit or node_depths[i] > bits:
                return
        up[at] = node_entries[first]
        depths[level - 1][at] = node_depths[first]
        node_entries[first] = state[level, FREE]
        state[level, FREE] = (first >> strides[level]) + 1
        level -= 1


@kernel()
def paint_many(entries: Levels, depths: Levels, strides: Array, limit: int, state: Array,
               vs: Array, ns: Array, hops: Array, order: Array) -> None:  # fmt: skip
    """Insert routes in the order given, which must be one of growing length."""
    for k in range(len(order)):
        i = order[k]
        n = np.int64(ns[i])
        paint(entries, depths, strides, limit, state, np.int64(vs[i]), n, 0, n, np.int64(hops[i]), n)


@kernel()
def lookup_two(address: Array, first: Array, second: Array, stride: int, limit: int, hops: Array, out: Array) -> None:
    """Look up addresses in two levels, the second of `stride` bits."""
    low = np.uint32((1 << stride) - 1)
    shift = np.uint32(stride)
    pointer = np.uint32(limit)
    for i in range(len(address)):
        a = np.uint32(address[i])
        e = np.uint32(first[a >> shift])
        if e >= pointer:
            e = np.uint32(second[((e - pointer) << shift) + (a & low)])
        out[i] = hops[e]


@kernel()
def lookup_three(address: Array, first: Array, second: Array, third: Array, stride_two: int, stride_three: int,
                 limit: int, hops: Array, out: Array) -> None:  # fmt: skip
    """Look up addresses in three levels."""
    two, three = np.uint32(stride_two), np.uint32(stride_three)
    low_two, low_three = np.uint32((1 << stride_two) - 1), np.uint32((1 << stride_three) - 1)
    shift = np.uint32(stride_two + stride_three)
    pointer = np.uint32(limit)
    for i in range(len(address)):
        a = np.uint32(address[i])
        e = np.uint32(first[a >> shift])
        if e >= pointer:
            e = np.uint32(second[((e - pointer) << two) + (a >> three & low_two)])
            if e >= pointer:
                e = np.uint32(third[((e - pointer) << three) + (a & low_three)])
        out[i] = hops[e]


@kernel()
def entries_read(address: Array, entries: Levels, strides: Array, limit: int, out: Array) -> None:
    """Fill out (n, levels), given as -1, with the entry each level of each lookup reads."""
    for i in range(len(address)):
        a = np.int64(address[i])
        bits = 0
        base = 0
        for level in range(len(strides)):
            stride = strides[level]
            bits += stride
            at = base + (a >> (32 - bits) & ((1 << stride) - 1))
            out[i, level] = at
            e = np.int64(entries[level][at])
            if e < limit:
                break
            base = (e - limit) << strides[level + 1] if level + 1 < len(strides) else 0
