"""Classify many headers by five fields: linear search, multidimensional range matching, tuple-space search.

Headers are columns (uint32, uint32, uint16, uint16, uint8). Rules are low and high, uint32 of shape (rules, 5). out gets
the first rule that matches, -1 for none. Range matching works on pieces that cover each field: guide[k] is the piece
where the values with the first 16 bits k begin (for fields of up to 16 bits: the value's own), start the first value of
each piece, vectors its bits (uint64, shape (pieces, words)).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.jit import kernel

Array = NDArray[Any]
Arrays = tuple[Array, ...]

COUNTS = ("tuples", "buckets", "candidates", "records", "alu", "branch")  # columns of what tuple_space counts

# multiplying by it puts another value of the top 6 bits for each of the 64 places of a single bit
_DE_BRUIJN = 0x03F79D71B4CB0A89
_PLACES = np.zeros(64, np.int64)
for _bit in range(64):
    _PLACES[(_DE_BRUIJN << _bit & 0xFFFFFFFFFFFFFFFF) >> 58] = _bit


@kernel()
def linear(source: Array, destination: Array, source_port: Array, destination_port: Array, protocol: Array,
           low: Array, high: Array, out: Array) -> None:  # fmt: skip
    """Fill out by looking at the rules in order."""
    for i in range(len(source)):
        a, b, c, d, e = source[i], destination[i], source_port[i], destination_port[i], protocol[i]
        out[i] = -1
        for r in range(len(low)):
            if (low[r, 0] <= a <= high[r, 0] and low[r, 1] <= b <= high[r, 1] and low[r, 2] <= c <= high[r, 2]
                    and low[r, 3] <= d <= high[r, 3] and low[r, 4] <= e <= high[r, 4]):  # fmt: skip
                out[i] = r
                break


@kernel(forceinline=True)
def _matches(fields: Any, low: Array, high: Array, r: int, costs: Array) -> tuple[bool, int, int]:
    """Return whether a rule matches, and the alu and branch instructions of its comparisons."""
    alu, branch = 0, 0
    for k in range(5):
        if fields[k] < low[r, k]:
            return False, alu + costs[k], branch + 1
        alu += 2 * costs[k]
        branch += 2
        if fields[k] > high[r, k]:
            return False, alu, branch
    return True, alu, branch


@kernel()
def linear_work(source: Array, destination: Array, source_port: Array, destination_port: Array, protocol: Array,
                low: Array, high: Array, costs: Array, records: Array, alu: Array, branch: Array) -> None:  # fmt: skip
    """Count the records read, and the instructions; costs are the alu instructions of a comparison, by field."""
    for i in range(len(source)):
        fields = (np.uint32(source[i]), np.uint32(destination[i]), np.uint32(source_port[i]),
                  np.uint32(destination_port[i]), np.uint32(protocol[i]))  # fmt: skip
        matches = False
        for r in range(len(low)):
            matches, more_alu, more_branch = _matches(fields, low, high, r, costs)
            records[i] += 1
            alu[i] += 1 + more_alu
            branch[i] += 1 + more_branch
            if matches:
                break
        if not matches:
            branch[i] += 1


@kernel()
def _piece(value: np.uint32, guide: Array, start: Array) -> int:
    """Return the piece of a value of 32 bits."""
    at = value >> np.uint32(16)
    low = np.int64(guide[at])
    high = np.int64(guide[at + 1])
    while low < high:
        middle = (low + high + 1) >> 1
        if value < start[middle]:
            high = middle - 1
        else:
            low = middle
    return low


@kernel()
def range_match(source: Array, destination: Array, source_port: Array, destination_port: Array, protocol: Array,
                guides: Arrays, starts: Arrays, vectors: Arrays, out: Array) -> None:  # fmt: skip
    """Fill out with the first bit set in the vectors of all five pieces."""
    va, vb, vc, vd, ve = vectors
    words = va.shape[1]
    for i in range(len(source)):
        a = va[_piece(source[i], guides[0], starts[0])]
        b = vb[_piece(destination[i], guides[1], starts[1])]
        c = vc[guides[2][source_port[i]]]
        d = vd[guides[3][destination_port[i]]]
        e = ve[guides[4][protocol[i]]]
        out[i] = -1
        for w in range(words):
            x = a[w] & b[w] & c[w] & d[w] & e[w]
            if x:
                lowest = x & (~x + np.uint64(1))
                out[i] = 64 * w + _PLACES[(lowest * np.uint64(_DE_BRUIJN)) >> np.uint64(58)]
                break


@kernel()
def tuple_space(source: Array, destination: Array, source_port: Array, destination_port: Array, protocol: Array,
                low: Array, high: Array, shift: Array, first: Array, number: Array, head: Array, following: Array,
                multiplier: np.uint64, hash_shift: np.uint64, costs: Array, out: Array, counts: Array) -> None:  # fmt: skip
    """Fill out by asking each tuple for its bucket.

    shift: uint64 (tuples, 5), bits of each field outside of its prefix; first: the first rule of each tuple; number: the
    tuple of each rule; head and following: buckets as linked lists, -1 ends one. counts (packets, COUNTS), if it has
    rows: tuples looked at, buckets read, rules thought of and read, instructions of comparisons and of ends of lists.
    """
    counting = len(counts) > 0
    for i in range(len(source)):
        fields = (np.uint64(source[i]), np.uint64(destination[i]), np.uint64(source_port[i]),
                  np.uint64(destination_port[i]), np.uint64(protocol[i]))  # fmt: skip
        best = len(low)
        tuples, buckets, candidates, records, alu, branch = 0, 0, 0, 0, 0, 0
        ended = False
        for t in range(len(shift)):
            tuples += 1
            if first[t] >= best:
                ended = True
                break
            buckets += 1
            mixed = np.uint64(t + 1)
            for k in range(5):
                mixed = (mixed ^ (fields[k] >> shift[t, k])) * multiplier
            r = head[mixed >> hash_shift]
            stopped = False
            while r != -1:
                candidates += 1
                if r >= best:
                    stopped = True
                    break
                records += 1
                if number[r] == t:
                    matches, more_alu, more_branch = _matches(fields, low, high, r, costs)
                    alu += more_alu
                    branch += more_branch
                    if matches:
                        best = r
                        stopped = True
                        break
                r = following[r]
            if not stopped:
                branch += 1
        if not ended:
            branch += 1
        out[i] = best if best < len(low) else -1
        if counting:
            counts[i, 0] = tuples
            counts[i, 1] = buckets
            counts[i, 2] = candidates
            counts[i, 3] = records
            counts[i, 4] = alu
            counts[i, 5] = branch
