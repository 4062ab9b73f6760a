"""The Toeplitz hash by which network cards choose a receive queue for a flow (Microsoft, "RSS Hashing Types").

    h = XOR over the set bits i of the input of key[i .. i + 31],     queue = table[h mod entries]

The input of a TCP or UDP packet over IPv4 is source and destination address, source and destination port, each with its
highest bit first; bits are counted from the highest bit of the first byte. XOR is linear, so a byte at a position
contributes one of 256 words, independent of the other bytes.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from npexplore.errors import InputError

KEY = bytes.fromhex("6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa")  # Microsoft's
WORD = 32  # bits of a hash


def toeplitz(data: npt.NDArray[np.uint8], key: bytes = KEY) -> npt.NDArray[np.uint32]:
    """Return the hashes, shape (n,), of n inputs of equal length, shape (n, bytes).

    Raises InputError for inputs longer than the key less four bytes.
    """
    rows = np.atleast_2d(np.asarray(data, dtype=np.uint8))
    if rows.shape[1] + 4 > len(key):
        raise InputError(f"a Toeplitz key of {len(key)} bytes hashes at most {len(key) - 4}, got {rows.shape[1]}")
    words, hashes = _words(key), np.zeros(len(rows), dtype=np.uint32)
    for position in range(rows.shape[1]):
        hashes ^= words[position, rows[:, position]]
    return hashes


@lru_cache(maxsize=8)
def _words(key: bytes) -> npt.NDArray[np.uint32]:
    """Return the contribution of each byte value at each position, shape (positions, 256)."""
    bits, positions = int.from_bytes(key, "big"), len(key) - 4
    words = np.zeros((positions, 256), dtype=np.uint32)
    values = np.arange(256)
    for position in range(positions):
        for bit in range(8):
            window = bits >> (8 * len(key) - WORD - 8 * position - bit) & 0xFFFFFFFF
            words[position, (values >> (7 - bit) & 1).astype(bool)] ^= np.uint32(window)
    return words
