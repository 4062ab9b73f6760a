"""Binary trie with a node for each bit of a prefix; a baseline for comparison (Knuth, TAOCP 3, section 6.3)."""

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_binary_trie as kernels
from npexplore.golden.ipv4.addresses import prefix_mask
from npexplore.golden.lookup.base import NO_READ, Lpm, MemoryReads, Read, Routes


class BinaryTrie(Lpm):
    """A binary trie: up to 33 reads per lookup. A node is one word: two children and a next hop.

    Example:
        >>> from npexplore.golden import BinaryTrie
        >>> table = BinaryTrie.from_routes([("10.0.0.0/8", 1), ("10.1.0.0/16", 2)])
        >>> table.lookup_many([0x0A010203, 0x0A020304]).tolist()
        [2, 1]
    """

    source = "Knuth, The Art of Computer Programming 3, section 6.3"

    def __init__(self) -> None:
        self._count = 0
        self._used = 1
        self._child = np.zeros((64, 2), np.int32)
        self._hop = np.full(64, -1, np.int32)
        self._free = np.zeros(64, np.int32)  # free node numbers; free[0] is their count

    def __len__(self) -> int:
        return self._count

    @property
    def nodes(self) -> int:
        """Nodes in use."""
        return self._used - int(self._free[0])

    @property
    def nbytes(self) -> int:
        """Bytes of the columns."""
        return self._child.nbytes + self._hop.nbytes + self._free.nbytes

    def routes(self) -> Routes:
        """Return all routes, sorted by (value, length)."""
        rows: list[tuple[int, int, int]] = []
        stack = [(0, 0, 0)]
        while stack:
            node, value, length = stack.pop()
            if self._hop[node] >= 0:
                rows.append((value, length, int(self._hop[node])))
            for bit in (1, 0):
                child = int(self._child[node, bit])
                if child:
                    stack.append((child, value | bit << (31 - length), length + 1))
        values, lengths, hops = zip(*rows, strict=True) if rows else ((), (), ())
        return Routes(np.array(values, np.uint32), np.array(lengths, np.uint8), np.array(hops, np.int32))

    def _insert(self, value: int, length: int, next_hop: int) -> None:
        self._make_room(length)
        self._add(np.array([value], np.uint32), np.array([length], np.uint8), np.array([next_hop], np.int32))

    def _add(self, value: NDArray[np.uint32], length: NDArray[np.uint8], next_hop: NDArray[np.int32]) -> None:
        counts = np.array([self._used, self._count], np.int64)
        kernels.insert_many(self._child, self._hop, counts, self._free, value, length, next_hop)
        self._used, self._count = counts.tolist()

    def _make_room(self, nodes: int) -> None:
        """Extend the columns to hold more nodes."""
        if self._used + nodes > len(self._hop):
            size = max(self._used + nodes, len(self._hop) * 3 // 2)
            new_nodes = size - len(self._hop)
            self._child = np.concatenate([self._child, np.zeros((new_nodes, 2), np.int32)])
            self._hop = np.concatenate([self._hop, np.full(new_nodes, -1, np.int32)])
            self._free = np.concatenate([self._free, np.zeros(new_nodes, np.int32)])

    def _remove(self, value: int, length: int) -> bool:
        path = [0]
        for bit in range(31, 31 - length, -1):
            child = int(self._child[path[-1], value >> bit & 1])
            if not child:
                return False
            path.append(child)
        if self._hop[path[-1]] < 0:
            return False
        self._hop[path[-1]] = -1
        self._count -= 1
        while len(path) > 1 and self._hop[path[-1]] < 0 and not self._child[path[-1]].any():
            node = path.pop()
            self._child[path[-1], value >> (32 - len(path)) & 1] = 0
            self._free[0] += 1
            self._free[self._free[0]] = node
        return True

    def _walk(self, address: int) -> tuple[int, tuple[Read, ...]]:
        """The reference in plain Python, which the kernels must agree with."""
        node, best, reads = 0, -1, []
        for bit in range(31, -2, -1):
            reads.append(Read("nodes", node))
            if self._hop[node] >= 0:
                best = int(self._hop[node])
            node = int(self._child[node, address >> bit & 1]) if bit >= 0 else 0
            if not node:
                break
        return best, tuple(reads)

    def _lookup_many(self, address: NDArray[np.uint32], out: NDArray[np.int32]) -> None:
        kernels.lookup(address, self._child, self._hop, out)

    def _reads_many(self, address: NDArray[np.uint32]) -> MemoryReads:
        word = np.full((len(address), 33), NO_READ, np.int64)
        kernels.nodes_read(address, self._child, word)
        return MemoryReads(("nodes",) * 33, word)

    def _build(self, value: NDArray[np.uint32], length: NDArray[np.uint8], next_hop: NDArray[np.int32]) -> None:
        # one node for every distinct leading part of a prefix
        nodes = sum(len(np.unique(value[length >= n] & np.uint32(prefix_mask(n)))) for n in range(1, 33))
        self._make_room(nodes)
        self._add(value, length, next_hop)
