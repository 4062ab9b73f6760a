"""ICMP errors about many IPv4 packets without options, written into frames.

Packets lie in `buffer` (uint8) behind Ethernet headers at offset; `row` is the place of a packet there.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.jit import kernel

Array = NDArray[Any]
ETHERNET, HEADER, ICMP_HEADER = 14, 20, 8
ICMP, HOPS, TOS_KEPT, CONTROL, REDIRECT = 1, 64, 0x1E, 0xC0, 5


@kernel()
def _folded(s: int) -> int:
    s = (s & 0xFFFF) + (s >> 16)
    s = (s & 0xFFFF) + (s >> 16)
    return s ^ 0xFFFF


@kernel()
def _put2(b: Array, at: int, number: int) -> None:
    b[at] = number >> 8 & 0xFF
    b[at + 1] = number & 0xFF


@kernel()
def tell(buffer: Array, offset: Array, row: Array, heads: Array, head: Array, own: Array, kind: Array, code: Array,
         rest: Array, counted_down: bool, at: Array, size: Array, out: Array) -> None:  # fmt: skip
    """Write a message (type, code, rest) about each packet into out at `at`, size bytes with its frame's head.

    heads: rows of frame heads, `head` the one of each message; own: the router's address in it (int64). counted_down: a
    redirect quotes the packet with one less to live.
    """
    for r in range(len(row)):
        o = offset[row[r]] + ETHERNET
        a = at[r]
        j = head[r]
        for k in range(ETHERNET):
            out[a + k] = heads[j, k]
        a += ETHERNET
        total = size[r] - ETHERNET
        tos = np.int64(buffer[o + 1]) & TOS_KEPT | CONTROL
        mine = own[r]
        source_high = np.int64(buffer[o + 12]) << 8 | np.int64(buffer[o + 13])
        source_low = np.int64(buffer[o + 14]) << 8 | np.int64(buffer[o + 15])
        s = (0x4500 | tos) + total + (HOPS << 8 | ICMP) + (mine >> 16) + (mine & 0xFFFF) + source_high + source_low
        _put2(out, a, 0x4500 | tos)
        _put2(out, a + 2, total)
        _put2(out, a + 4, 0)
        _put2(out, a + 6, 0)
        _put2(out, a + 8, HOPS << 8 | ICMP)
        _put2(out, a + 10, _folded(s))
        _put2(out, a + 12, mine >> 16)
        _put2(out, a + 14, mine & 0xFFFF)
        _put2(out, a + 16, source_high)
        _put2(out, a + 18, source_low)
        m = a + HEADER
        first = np.int64(kind[r]) << 8 | np.int64(code[r])
        _put2(out, m, first)
        _put2(out, m + 4, rest[r] >> 16)
        _put2(out, m + 6, rest[r] & 0xFFFF)
        s = first + (rest[r] >> 16) + (rest[r] & 0xFFFF)
        q = m + ICMP_HEADER
        n = total - HEADER - ICMP_HEADER
        for k in range(n):
            out[q + k] = buffer[o + k]
        if counted_down and kind[r] == REDIRECT:
            out[q + 8] -= 1
            c = ((np.int64(out[q + 10]) << 8 | np.int64(out[q + 11])) ^ 0xFFFF) + 0xFEFF
            c = ((c & 0xFFFF) + (c >> 16)) ^ 0xFFFF
            _put2(out, q + 10, c)
        for k in range(n // 2):
            s += np.int64(out[q + 2 * k]) << 8 | np.int64(out[q + 2 * k + 1])
        if n & 1:
            s += np.int64(out[q + n - 1]) << 8
        _put2(out, m + 2, _folded(s))
