"""Flows, LRU stack distances and packet trains of a packet table.

Stack distance: Mattson, Gecsei, Slutz, Traiger (IBM Systems J. 9(2), 1970); counted with a Fenwick tree over the times
of last use (Bennett, Kruskal, IBM J. R&D 19(4), 1975). Trains: Jain, Routhier (IEEE JSAC 4(6), 1986).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.jit import kernel

Array = NDArray[Any]
NO_TIME = np.iinfo(np.int64).min


@kernel()
def split_by_timeout(
    key: Array, t_ns: Array, timeout_ns: int, active_ns: int, last: Array, began: Array, number: Array
) -> Array:
    """Return the flow number of each packet: a key's packets start a new flow after a gap or a lifetime that is too long.

    key: int64 (n,) from 0; last, began, number: scratch of one element a key, number filled with -1.
    """
    flow = np.empty(len(key), np.int64)
    count = 0
    for i in range(len(key)):
        k = key[i]
        now = t_ns[i]
        if number[k] < 0 or now - last[k] > timeout_ns or now - began[k] > active_ns:
            number[k] = count
            began[k] = now
            count += 1
        last[k] = now
        flow[i] = number[k]
    return flow


@kernel()
def stack_distances(key: Array, last: Array) -> Array:
    """Return for each reference how many other keys were used since the same key's last use, -1 for its first.

    key: int64 (n,) from 0; last: scratch of one element a key, filled with -1. A cache of C entries with least recently
    used replacement hits exactly the references with a distance below C.
    """
    n = len(key)
    tree = np.zeros(n + 1, np.int64)
    out = np.empty(n, np.int64)
    distinct = 0
    for i in range(n):
        k = key[i]
        before = last[k]
        if before < 0:
            out[i] = -1
            distinct += 1
        else:
            # keys whose last use is at or before `before`; the others were used since
            at = before + 1
            older = 0
            while at > 0:
                older += tree[at]
                at &= at - 1
            out[i] = distinct - older
            at = before + 1
            while at <= n:
                tree[at] -= 1
                at += at & -at
        at = i + 1
        while at <= n:
            tree[at] += 1
            at += at & -at
        last[k] = i
    return out


@kernel()
def longest_match(address: Array, value: Array, length: Array) -> Array:
    """Return the row of the longest prefix that holds each address, -1 for none.

    value, length: prefixes sorted by (value, length). Each prefix is linked to the one that encloses it; an address
    starts at the last prefix that begins at or before it and walks up until one holds it.
    """
    n = len(value)
    parent = np.full(n, -1, np.int64)
    stack = np.empty(40, np.int64)
    depth = 0
    for i in range(n):
        while depth > 0:
            top = stack[depth - 1]
            if np.int64(value[top]) + (np.int64(1) << (32 - np.int64(length[top]))) > np.int64(value[i]):
                break
            depth -= 1
        if depth > 0:
            top = stack[depth - 1]
            if value[top] == value[i] and length[top] == length[i]:
                parent[i] = parent[top]
                depth -= 1
            else:
                parent[i] = top
        stack[depth] = i
        depth += 1
    out = np.empty(len(address), np.int64)
    for k in range(len(address)):
        a = np.int64(address[k])
        low, high = 0, n
        while low < high:
            middle = (low + high) // 2
            if np.int64(value[middle]) <= a:
                low = middle + 1
            else:
                high = middle
        at = low - 1
        while at >= 0 and np.int64(value[at]) + (np.int64(1) << (32 - np.int64(length[at]))) <= a:
            at = parent[at]
        out[k] = at
    return out
