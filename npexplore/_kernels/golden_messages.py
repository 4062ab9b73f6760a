"""ICMP and ICMPv6 messages about many packets without options, written into frames.

Packets lie in `buffer` (uint8) behind Ethernet headers at offset; `row` is the place of a packet there.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels.golden_headers import _rewrite, _two
from npexplore.jit import kernel

Array = NDArray[Any]
ETHERNET, ICMP_HEADER = 14, 8
REDIRECT, TTL_AT, SUM_AT = 5, 8, 10  # of ICMP and of the header of IPv4


@kernel()
def _put2(b: Array, at: int, number: int) -> None:
    b[at] = number >> 8 & 0xFF
    b[at + 1] = number & 0xFF


@kernel()
def _words(b: Array, at: int, size: int) -> int:
    """Return the sum of the words of 2 bytes that `size` bytes are, the last one filled up with 0."""
    s = 0
    for k in range(at, at + size - 1, 2):
        s += _two(b, k)
    return s + (np.int64(b[at + size - 1]) << 8) if size & 1 else s


@kernel()
def _put_sum(b: Array, at: int, s: int) -> None:
    s = (s & 0xFFFF) + (s >> 16)
    s = (s & 0xFFFF) + (s >> 16)
    _put2(b, at, s ^ 0xFFFF)


@kernel()
def tell(buffer: Array, offset: Array, row: Array, heads: Array, head: Array, header: Array, source_at: int,
         length_at: int, protocol: int, own: Array, kind: Array, code: Array, rest: Array, counted_down: bool,
         at: Array, size: Array, out: Array) -> None:  # fmt: skip
    """Write a message (type, code, rest) about each packet into out at `at`, size bytes with its frame's head.

    heads: rows of frame heads, `head` the one of each message. header (2, bytes): the IP header before addresses and
    length, and which bits are taken over from the packet's. source_at, length_at: where these two stand in it. own (n,
    bytes): the router's address in each. protocol: the number in the pseudo header that the checksum covers, 0: it
    covers none, but the header has one of its own, and its length counts the header. counted_down: a redirect quotes
    the packet with one less to live.
    """
    begin, width = header.shape[1], own.shape[1]
    for r in range(len(row)):
        o = offset[row[r]] + ETHERNET
        a = at[r]
        for k in range(ETHERNET):
            out[a + k] = heads[head[r], k]
        a += ETHERNET
        body = size[r] - ETHERNET - begin
        for k in range(begin):
            out[a + k] = header[0, k] | buffer[o + k] & header[1, k]
        for k in range(width):
            out[a + source_at + k] = own[r, k]
            out[a + source_at + width + k] = buffer[o + source_at + k]
        s = 0
        if protocol:
            _put2(out, a + length_at, body)
            s = _words(out, a + source_at, 2 * width) + body + protocol
        else:
            _put2(out, a + length_at, begin + body)
            _put_sum(out, a + SUM_AT, _words(out, a, begin))
        m = a + begin
        out[m] = kind[r]
        out[m + 1] = code[r]
        _put2(out, m + 2, 0)
        _put2(out, m + 4, rest[r] >> 16)
        _put2(out, m + 6, rest[r])
        q = m + ICMP_HEADER
        for k in range(body - ICMP_HEADER):
            out[q + k] = buffer[o + k]
        if counted_down and kind[r] == REDIRECT:
            _rewrite(out, q, TTL_AT, _two(out, q + TTL_AT) - 0x100)
        _put_sum(out, m + 2, s + _words(out, m, body))
