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
    out: Array, b: Array, base: int, tick_ns: int, rows: Array, t_ns: Array, length: Array, kept: Array, position: Array
) -> int:
    """Write one little-endian pcap record for each of `rows`; return the number of bytes (out must be large enough)."""
    o = 0
    for i in rows:
        time = t_ns[i] if t_ns[i] != NO_TIME else 0
        _put32(out, o, time // 1_000_000_000)
        _put32(out, o + 4, time % 1_000_000_000 // tick_ns)
        _put32(out, o + 8, np.int64(kept[i]))
        _put32(out, o + 12, np.int64(length[i]))
        start = position[i] - base
        out[o + 16 : o + 16 + kept[i]] = b[start : start + kept[i]]
        o += 16 + np.int64(kept[i])
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
    kept: Array,
    position: Array,
) -> int:
    """Write one little-endian enhanced packet block (nanosecond ticks) for each of `rows`; return the number of bytes."""
    o = 0
    for i in rows:
        time = t_ns[i] if t_ns[i] != NO_TIME else 0
        size = np.int64(kept[i])
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


@kernel()
def _adjust(b, at, old, new, size):
    """Update the Internet checksum at b[at:at + 2] for `size` bytes that changed from old to new (RFC 1624 equation 3)."""
    total = (np.int64(b[at]) << 8 | np.int64(b[at + 1])) ^ 0xFFFF
    for k in range(0, size, 2):
        total += (np.int64(old[k]) << 8 | np.int64(old[k + 1])) ^ 0xFFFF
        total += np.int64(new[k]) << 8 | np.int64(new[k + 1])
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    b[at] = (total ^ 0xFFFF) >> 8
    b[at + 1] = (total ^ 0xFFFF) & 0xFF


@kernel()
def replace_address(b: Array, at: int, new: Array, header_checksum: int, transport_checksum: int) -> None:
    """Replace the address at b[at:] and keep both checksums as right or wrong as they were (index below 0: none)."""
    size = len(new)
    old = b[at : at + size].copy()
    b[at : at + size] = new
    if header_checksum >= 0:
        _adjust(b, header_checksum, old, new, size)
    if transport_checksum >= 0:
        _adjust(b, transport_checksum, old, new, size)


@kernel()
def replace_addresses(
    b: Array,
    base: int,
    rows: Array,
    position: Array,
    kept: Array,
    l3_offset: Array,
    l4_offset: Array,
    ip_proto: Array,
    nonfirst: Array,
    size: int,
    new_source: Array,
    new_destination: Array,
) -> None:
    """Put new addresses (uint8 (n, size)) into the IP headers of packets `rows`, of which the headers are captured."""
    for n in range(len(rows)):
        i = rows[n]
        start = position[i] - base
        end = start + np.int64(kept[i])
        header = start + np.int64(l3_offset[i])
        checksum = header + 10 if size == 4 else -1
        transport = -1
        if l4_offset[i] != 0xFFFF and not nonfirst[i]:
            at = start + np.int64(l4_offset[i])
            if ip_proto[i] == 6:
                transport = at + 16
            elif ip_proto[i] == 17 and at + 8 <= end and (b[at + 6] != 0 or b[at + 7] != 0):
                transport = at + 6
            elif ip_proto[i] == 58 and size == 16:
                transport = at + 2
            if transport + 2 > end:
                transport = -1
        first = header + (12 if size == 4 else 8)
        replace_address(b, first, new_source[n], checksum, transport)
        replace_address(b, first + size, new_destination[n], checksum, transport)
