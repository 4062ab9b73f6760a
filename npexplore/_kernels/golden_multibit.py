"""Multibit tries with expanded prefixes: paint a range, split and join nodes, look up, tell which entries were read.

Addresses of any width come as steps (int64, one a level): the bits that each level is indexed by.

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
BLOCK = 128  # addresses that go down an IPv6 trie together
FIRST_SPARSE_LEVEL = 3  # the level behind which so few routes go on that a block asks whether any does


@kernel()
def missing_from(entries: Levels, strides: Array, limit: int, steps: Array, n: int) -> int:
    """Return the first level without a node on the way of a prefix, len(strides) if its node is there."""
    bits = 0
    base = 0
    for level in range(len(strides)):
        stride = strides[level]
        bits += stride
        if n <= bits:
            break
        e = np.int64(entries[level][base + steps[level]])
        if e < limit:
            return level + 1
        base = (e - limit) << strides[level + 1]
    return len(strides)


@kernel()
def paint(entries: Levels, depths: Levels, strides: Array, limit: int, state: Array,
          steps: Array, n: int, low: int, high: int, hop: int, depth: int) -> None:  # fmt: skip
    """Give every leaf of the prefix of n bits whose depth is low to high a new next hop and depth.

    Inserting: low 0, high n. Removing: low = high = n, with the next covering route's hop and depth. Nodes that the
    prefix needs are made (the caller has seen to room); nodes that hold one route alone afterwards are freed.
    """
    levels = len(strides)
    path = np.zeros(levels, np.int64)
    level = 0
    base = 0
    bits = strides[0]
    while n > bits:
        at = base + steps[level]
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
    here[level] = base + steps[level]
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
               steps: Array, ns: Array, hops: Array, order: Array) -> None:  # fmt: skip
    """Insert routes in the order given, which must be one of growing length."""
    for k in range(len(order)):
        i = order[k]
        n = np.int64(ns[i])
        paint(entries, depths, strides, limit, state, steps[i], n, 0, n, np.int64(hops[i]), n)


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
def lookup_six(address: Array, entries: Levels, rest: Levels, shifts: Array, strides: Array, limit: int, hops: Array,
               out: Array) -> None:  # fmt: skip
    """Look up IPv6 addresses (n, 2) in six levels over the upper word, then, where routes are longer, in levels of 8 bits.

    shifts, strides: of the six levels; a level's bits are upper >> shift & (2^stride - 1). Addresses go down a level
    together, a block at a time: their reads do not wait for each other, and what has met its leaf reads entry 0.
    """
    pointer = np.uint32(limit)
    first, shift = entries[0], np.uint64(shifts[0])
    e = np.empty(BLOCK, np.uint32)
    a = np.empty(BLOCK, np.uint64)
    for start in range(0, len(address), BLOCK):
        m = min(BLOCK, len(address) - start)
        for i in range(m):
            a[i] = address[start + i, 0]
            e[i] = first[a[i] >> shift]
        for level in range(1, len(entries)):
            table = entries[level]
            wide, down = np.uint64(strides[level]), np.uint64(shifts[level])
            low = (np.uint64(1) << wide) - np.uint64(1)
            for i in range(m):
                x = e[i]
                at = (np.uint64(x - pointer) << wide) + (a[i] >> down & low) if x >= pointer else np.uint64(0)
                y = table[at]
                e[i] = y if x >= pointer else x
            if level >= FIRST_SPARSE_LEVEL:
                most = np.uint32(0)
                for i in range(m):
                    most = max(most, e[i])
                if most < pointer:
                    break
        for i in range(m):
            x = e[i]
            if x >= pointer:
                b = address[start + i, 1]
                for level in range(len(rest)):
                    x = rest[level][
                        (np.uint64(x - pointer) << np.uint64(8)) + (b >> np.uint64(56 - 8 * level) & np.uint64(255))
                    ]
                    if x < pointer:
                        break
            out[start + i] = hops[x]


@kernel()
def entries_read(steps: Array, entries: Levels, strides: Array, limit: int, out: Array) -> None:
    """Fill out (n, levels), given as -1, with the entry each level of each lookup reads."""
    for i in range(len(steps)):
        base = 0
        for level in range(len(strides)):
            at = base + steps[i, level]
            out[i, level] = at
            e = np.int64(entries[level][at])
            if e < limit:
                break
            base = (e - limit) << strides[level + 1] if level + 1 < len(strides) else 0
