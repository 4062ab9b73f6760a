"""Which of several next hops the flows of many packets choose: the columns behind golden/router/flow_hash.py."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels.golden_forward import ETHERNET, GO, SLOW
from npexplore.jit import kernel

Array = NDArray[Any]
TCP, UDP, ICMP, ICMP6 = 6, 17, 1, 58
SOURCE, DESTINATION, PROTOCOL, LABEL, SOURCE_PORT, DESTINATION_PORT = 1, 2, 4, 8, 16, 32
PORTS_AT, ENDS_AT = 28, 36  # in a key
LOW = np.uint64(0xFFFFFFFF)
V0, V1 = np.uint64(0x736F6D6570736575), np.uint64(0x646F72616E646F6D)
V2, V3 = np.uint64(0x6C7967656E657261), np.uint64(0x7465646279746573)


@kernel()
def _turned(word: Any, bits: int) -> Any:
    return word << np.uint64(bits) | word >> np.uint64(64 - bits)


@kernel()
def _round(a: Any, b: Any, c: Any, d: Any) -> Any:
    a = a + b
    c = c + d
    b = _turned(b, 13) ^ a
    d = _turned(d, 16) ^ c
    a = _turned(a, 32)
    c = c + b
    a = a + d
    b = _turned(b, 17) ^ c
    d = _turned(d, 21) ^ a
    return a, b, _turned(c, 32), d


@kernel()
def _siphash(key: Array, size: int, half: Any) -> Any:
    a, b, c, d = V0 ^ half, V1 ^ half, V2 ^ half, V3 ^ half
    for at in range(0, size + 8, 8):
        word = np.uint64(size) << np.uint64(56)
        if at < size:
            word = np.uint64(0)
            for k in range(8):
                word |= np.uint64(key[at + k]) << np.uint64(8 * k)
        d ^= word
        a, b, c, d = _round(a, b, c, d)
        a, b, c, d = _round(a, b, c, d)
        a ^= word
    c ^= np.uint64(0xFF)
    for _ in range(4):
        a, b, c, d = _round(a, b, c, d)
    return a ^ b ^ c ^ d


@kernel()
def _less(a: Any, b: Any, bits: int) -> Any:
    return (a - (b << np.uint64(bits) & LOW | b >> np.uint64(32 - bits))) & LOW


@kernel()
def _mixed(number: Any) -> Any:
    start = np.uint64(0xDEADBEEF + 8)
    a, b, c = number + start & LOW, start, start
    c = _less(c ^ b, b, 14)
    a = _less(a ^ c, c, 11)
    b = _less(b ^ a, a, 25)
    c = _less(c ^ b, b, 16)
    a = _less(a ^ c, c, 4)
    b = _less(b ^ a, a, 14)
    return _less(c ^ b, b, 24)


@kernel()
def _ordered(buffer: Array, one: int, other: int, size: int, backwards: bool, key: Array, at: int) -> None:
    """Write two numbers of `size` octets into the key, the lesser first; backwards: their last octets count most."""
    turn = False
    for step in range(size):
        k = size - 1 - step if backwards else step
        x = buffer[one + k] if one >= 0 else 0
        y = buffer[other + k] if other >= 0 else 0
        if x != y:
            turn = x > y
            break
    first, second = (other, one) if turn else (one, other)
    for k in range(size):
        key[at + k] = buffer[first + k] if first >= 0 else 0
        key[at + size + k] = buffer[second + k] if second >= 0 else 0


@kernel()
def choose(buffer: Array, offset: Array, six: bool, policy: int, fields: int, seed: int, first: Array, several: Array,
           bound: Array, verdict: Array, hop: Array) -> None:  # fmt: skip
    """Put the chosen next hop in place of a route that has several, in rows that are GO; SLOW where flows are odd.

    first, several, bound: by number of hop: the first one of its group (-1: it is none), how many, the largest hash.
    """
    key = np.zeros(80, np.uint8)
    half = np.uint64(seed) << np.uint64(32) | np.uint64(seed)
    for i in range(len(offset)):
        h = hop[i]
        if verdict[i] != GO or h < 0 or first[h] < 0:
            continue
        o = offset[i] + ETHERNET
        ends, size, protocol = (o + 8, 16, buffer[o + 6]) if six else (o + 12, 4, buffer[o + 9])
        head = 40 if six else 4 * (np.int64(buffer[o]) & 15)
        odd = protocol == (ICMP6 if six else ICMP)
        if policy != 0:
            total = (np.int64(buffer[o + 4]) << 8 | buffer[o + 5]) + 40 if six else (
                np.int64(buffer[o + 2]) << 8 | buffer[o + 3]
            )  # fmt: skip
            piece = not six and (buffer[o + 6] & 0x3F != 0 or buffer[o + 7] != 0)
            odd = (protocol != TCP and protocol != UDP) or piece or total < head + 4
        if odd:
            verdict[i] = SLOW
            continue
        key[:] = 0
        if policy != 0 or six:
            key[2] = protocol if fields & PROTOCOL else 0
        if six and fields & LABEL:
            for k in range(3):
                octet = buffer[o + 1 + k] & (0x0F if k == 0 else 0xFF)
                key[5 + k if policy == 0 else 6 - k] = octet
        if policy != 0:
            ports = o + head
            _ordered(buffer, ports if fields & SOURCE_PORT else -1, ports + 2 if fields & DESTINATION_PORT else -1, 2,
                     True, key, PORTS_AT)  # fmt: skip
        _ordered(buffer, ends if fields & SOURCE else -1, ends + size if fields & DESTINATION else -1, size, not six,
                 key, ENDS_AT)  # fmt: skip
        number = _siphash(key, 72 if six else 48, half) & LOW
        if number == 0:
            number = np.uint64(1)
        if policy == 3:
            number = _mixed(number)
        chosen = first[h]
        for member in range(first[h], first[h] + several[h]):
            if np.int64(number >> np.uint64(1)) <= bound[member]:
                chosen = member
                break
        hop[i] = chosen
