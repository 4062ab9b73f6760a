"""Lay selected packets out as pcap or pcapng records in an output buffer, and the prefix-preserving map of addresses.

Crypto-PAn (Xu, Fan, Ammar, Moon, "Prefix-preserving IP address anonymization", ICNP 2002): bit i of the result is bit i
of the address XOR the first bit of AES-128(key, first i bits of the address, then the bits of a secret pad).
AES: FIPS 197, encryption only.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.jit import kernel

Array = NDArray[Any]
NO_TIME = np.iinfo(np.int64).min


@kernel()
def _put32(out, o, value):
    out[o] = value & 0xFF
    out[o + 1] = value >> 8 & 0xFF
    out[o + 2] = value >> 16 & 0xFF
    out[o + 3] = value >> 24 & 0xFF


@kernel()
def pack_pcap(
    out: Array,
    b: Array,
    base: int,
    tick_ns: int,
    rows: Array,
    t_ns: Array,
    length: Array,
    included: Array,
    position: Array,
) -> int:
    """Write one little-endian pcap record for each of `rows`; return the number of bytes (out must be large enough)."""
    o = 0
    for i in rows:
        time = t_ns[i] if t_ns[i] != NO_TIME else 0
        _put32(out, o, time // 1_000_000_000)
        _put32(out, o + 4, time % 1_000_000_000 // tick_ns)
        _put32(out, o + 8, np.int64(included[i]))
        _put32(out, o + 12, np.int64(length[i]))
        start = position[i] - base
        out[o + 16 : o + 16 + included[i]] = b[start : start + included[i]]
        o += 16 + np.int64(included[i])
    return o


@kernel()
def pack_pcapng(
    out: Array,
    b: Array,
    base: int,
    interface: Array,
    rows: Array,
    t_ns: Array,
    length: Array,
    included: Array,
    position: Array,
) -> int:
    """Write one little-endian enhanced packet block (nanosecond ticks) for each of `rows`; return the number of bytes."""
    o = 0
    for i in rows:
        time = t_ns[i] if t_ns[i] != NO_TIME else 0
        size = np.int64(included[i])
        total = 32 + ((size + 3) & ~3)
        _put32(out, o, 6)
        _put32(out, o + 4, total)
        _put32(out, o + 8, np.int64(interface[i]))
        _put32(out, o + 12, time >> 32)
        _put32(out, o + 16, time & 0xFFFFFFFF)
        _put32(out, o + 20, size)
        _put32(out, o + 24, np.int64(length[i]))
        start = position[i] - base
        out[o + 28 : o + 28 + size] = b[start : start + size]
        for k in range(o + 28 + size, o + total - 4):
            out[k] = 0
        _put32(out, o + total - 4, total)
        o += total
    return o


@kernel()
def aes_tables() -> Array:
    """Return the S-box of FIPS 197 section 5.1.1: multiplicative inverse in GF(2^8), then the affine map."""
    box = np.zeros(256, np.uint8)
    p, q = 1, 1
    while True:
        p = (p ^ (p << 1) ^ (0x1B if p & 0x80 else 0)) & 0xFF
        q = (q ^ (q << 1)) & 0xFF
        q = (q ^ (q << 2)) & 0xFF
        q = (q ^ (q << 4)) & 0xFF
        if q & 0x80:
            q ^= 0x09
        x = q ^ ((q << 1 | q >> 7) & 0xFF) ^ ((q << 2 | q >> 6) & 0xFF) ^ ((q << 3 | q >> 5) & 0xFF)
        box[p] = x ^ ((q << 4 | q >> 4) & 0xFF) ^ 0x63
        if p == 1:
            break
    box[0] = 0x63
    return box


@kernel()
def aes_expand(key: Array, box: Array) -> Array:
    """Return the 11 round keys of a 128-bit key, uint8 (176,) (FIPS 197 section 5.2)."""
    keys = np.zeros(176, np.uint8)
    keys[:16] = key
    constant = 1
    for at in range(16, 176, 4):
        for k in range(4):
            keys[at + k] = keys[at - 4 + k]
        if at % 16 == 0:
            first = keys[at]
            keys[at] = box[keys[at + 1]] ^ constant
            keys[at + 1] = box[keys[at + 2]]
            keys[at + 2] = box[keys[at + 3]]
            keys[at + 3] = box[first]
            constant = (constant << 1) ^ (0x11B if constant & 0x80 else 0)
        for k in range(4):
            keys[at + k] ^= keys[at - 16 + k]
    return keys


@kernel()
def aes_encrypt(block: Array, keys: Array, box: Array) -> Array:
    """Return the encryption of a 16-byte block (FIPS 197 section 5.1)."""
    state = block ^ keys[:16]
    turned = np.zeros(16, np.uint8)
    for turn in range(1, 11):
        for k in range(16):
            turned[k] = box[state[(k + 4 * (k % 4)) % 16]]
        if turn < 10:
            for c in range(0, 16, 4):
                every = turned[c] ^ turned[c + 1] ^ turned[c + 2] ^ turned[c + 3]
                for r in range(4):
                    pair = np.int64(turned[c + r] ^ turned[c + (r + 1) % 4])
                    doubled = (pair << 1) ^ (0x11B if pair & 0x80 else 0)
                    state[c + r] = turned[c + r] ^ every ^ doubled
        else:
            state[:] = turned
        for k in range(16):
            state[k] ^= keys[16 * turn + k]
    return state


@kernel()
def anonymise(addresses: Array, bits: int, pad: Array, keys: Array, box: Array) -> Array:
    """Return the prefix-preserving images of addresses, uint8 (n, bits / 8)."""
    out = addresses.copy()
    block = np.zeros(16, np.uint8)
    for n in range(len(addresses)):
        for i in range(bits):
            block[:] = pad
            whole = i // 8
            for k in range(whole):
                block[k] = addresses[n, k]
            mask = 0xFF00 >> (i % 8) & 0xFF
            block[whole] = (addresses[n, whole] & mask) | (pad[whole] & (0xFF ^ mask))
            if aes_encrypt(block, keys, box)[0] & 0x80:
                out[n, whole] ^= 0x80 >> (i % 8)
    return out
