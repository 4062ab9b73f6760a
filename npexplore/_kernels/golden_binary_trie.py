"""A binary trie: one address bit a node; build and look up. child (n, 2): node numbers, 0 for none; node 0 is the root."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.jit import kernel

Array = NDArray[Any]


@kernel()
def insert_many(child: Array, hop: Array, counts: Array, free: Array, vs: Array, ns: Array, hops: Array) -> None:
    """Insert routes into arrays with room for them. counts: nodes ever used, routes.

    free: numbers of freed nodes behind free[0], which says how many there are.
    """
    for i in range(len(vs)):
        v = np.int64(vs[i])
        node = 0
        for bit in range(31, 31 - np.int64(ns[i]), -1):
            side = v >> bit & 1
            down = child[node, side]
            if down == 0:
                if free[0] > 0:
                    down = free[free[0]]
                    free[0] -= 1
                else:
                    down = counts[0]
                    counts[0] += 1
                child[node, side] = down
            node = down
        if hop[node] < 0:
            counts[1] += 1
        hop[node] = hops[i]


@kernel()
def lookup(address: Array, child: Array, hop: Array, out: Array) -> None:
    """Fill out with the last next hop on each address's way down, -1 for none."""
    for i in range(len(address)):
        a = np.int64(address[i])
        node = 0
        best = hop[0]
        for bit in range(31, -1, -1):
            node = child[node, a >> bit & 1]
            if node == 0:
                break
            if hop[node] >= 0:
                best = hop[node]
        out[i] = best


@kernel()
def nodes_read(address: Array, child: Array, out: Array) -> None:
    """Fill out (n, 33), given as -1, with the nodes on each address's way down."""
    for i in range(len(address)):
        a = np.int64(address[i])
        node = 0
        out[i, 0] = 0
        for bit in range(31, -1, -1):
            node = child[node, a >> bit & 1]
            if node == 0:
                break
            out[i, 32 - bit] = node
