"""Count a packet table's chunk into running totals: one pass, nothing kept of a packet.

Squares of the times between packets are summed as whole numbers of 192 bits, so that sums of parts add up exactly:
with gap = 2^32 h + l, gap^2 = 2^64 h^2 + 2^33 h l + l^2. Their plain sum is last time - first time.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import capture_layout as bits
from npexplore.jit import kernel

Array = NDArray[Any]

# rows of `totals`
PACKETS, BYTES, CAPTURED, IPV4, IPV6, ARP, VLAN, MPLS, TTL_LE_1 = 0, 1, 2, 3, 4, 5, 6, 7, 8
FRAGMENTS, NONFIRST, DF, OPTIONS, GOOD, BAD, CUT = 9, 10, 11, 12, 13, 14, 15
TIMED, FIRST_NS, LAST_NS, MIN_NS, MAX_NS, BACKWARDS = 16, 17, 18, 19, 20, 21
TOTALS = 22
LENGTHS = 65536
NO_TIME = np.iinfo(np.int64).min
NO_OFFSET = 0xFFFF
BLOCK = 256  # keys of flows that are looked up side by side


@kernel()
def _add(words, at, value):
    """Add a value to a number of three words from word `at` on, with its carry."""
    words[at] += value
    while words[at] < value and at < 2:
        at += 1
        value = np.uint64(1)
        words[at] += value


@kernel()
def count_packets(
    totals: Array,
    squares: Array,
    lengths: Array,
    protocols: Array,
    codepoints: Array,
    t_ns: Array,
    length: Array,
    captured: Array,
    flags: Array,
    l3_offset: Array,
    ip_proto: Array,
    tos: Array,
    ttl: Array,
    vlans: Array,
    labels: Array,
) -> int:
    """Add a chunk to the totals; return how many packets are longer than `lengths` has rows (they are not in it).

    squares: uint64 (3,) the sum of the squared times between consecutive packets in ns^2, lowest word first. TTL,
    protocol and DSCP count where their byte was captured.
    """
    longer = 0
    for i in range(len(length)):
        size = np.int64(length[i])
        totals[PACKETS] += 1
        totals[BYTES] += size
        totals[CAPTURED] += captured[i]
        if size < LENGTHS:
            lengths[size] += 1
        else:
            longer += 1
        if vlans[i]:
            totals[VLAN] += 1
        if labels[i]:
            totals[MPLS] += 1
        flag = np.int64(flags[i])
        if flag & bits.IPV4:
            have = np.int64(captured[i]) - np.int64(l3_offset[i])
            totals[IPV4] += 1
            if have >= 2:
                codepoints[tos[i] >> 2] += 1
            if have >= 9 and ttl[i] <= 1:
                totals[TTL_LE_1] += 1
            if have >= 10:
                protocols[ip_proto[i]] += 1
            totals[FRAGMENTS] += flag & bits.FRAGMENT != 0
            totals[NONFIRST] += flag & bits.NONFIRST != 0
            totals[DF] += flag & bits.DONT_FRAGMENT != 0
            totals[OPTIONS] += flag & bits.OPTIONS != 0
            totals[GOOD] += flag & bits.CHECKSUM_GOOD != 0
            totals[BAD] += flag & bits.CHECKSUM_BAD != 0
            totals[CUT] += flag & bits.CHECKSUM_CUT != 0
        elif flag & bits.IPV6:
            totals[IPV6] += 1
        elif flag & bits.ARP:
            totals[ARP] += 1
        now = t_ns[i]
        if now != NO_TIME:
            if totals[TIMED] == 0:
                totals[FIRST_NS] = now
                totals[MIN_NS] = now
                totals[MAX_NS] = now
            else:
                last = totals[LAST_NS]
                if now < last:
                    totals[BACKWARDS] += 1
                gap = np.uint64(now) - np.uint64(last) if now >= last else np.uint64(last) - np.uint64(now)
                low, high = gap & np.uint64(0xFFFFFFFF), gap >> np.uint64(32)
                _add(squares, 0, low * low)
                if high:
                    _add(squares, 0, high * low << np.uint64(33))
                    _add(squares, 1, high * low >> np.uint64(31))
                    _add(squares, 1, high * high)
                totals[MIN_NS] = min(totals[MIN_NS], now)
                totals[MAX_NS] = max(totals[MAX_NS], now)
            totals[LAST_NS] = now
            totals[TIMED] += 1
    return longer


@kernel()
def _mix(a, b):
    """Return a hash of two 64-bit keys (the finalizer of MurmurHash3, on their combination)."""
    h = a * np.uint64(0x9E3779B97F4A7C15) ^ b
    h ^= h >> np.uint64(33)
    h *= np.uint64(0xFF51AFD7ED558CCD)
    h ^= h >> np.uint64(33)
    h *= np.uint64(0xC4CEB9FE1A85EC53)
    h ^= h >> np.uint64(33)
    return h


@kernel()
def _insert(table, a, b):
    """Put a key into an open-addressed table (b is never 0); return 1 if it was not there."""
    mask = np.int64(len(table) - 1)
    at = np.int64(_mix(a, b) & np.uint64(mask))
    while table[at, 1] != 0:
        if table[at, 0] == a and table[at, 1] == b:
            return 0
        at = (at + 1) & mask
    table[at, 0] = a
    table[at, 1] = b
    return 1


@kernel()
def _has(table, a, b):
    """Tell whether a key is in an open-addressed table."""
    mask = np.int64(len(table) - 1)
    at = np.int64(_mix(a, b) & np.uint64(mask))
    while table[at, 1] != 0:
        if table[at, 0] == a and table[at, 1] == b:
            return True
        at = (at + 1) & mask
    return False


@kernel()
def count_flows(
    table: Array,
    used: int,
    start: int,
    flags: Array,
    src: Array,
    dst: Array,
    ip_proto: Array,
    sport: Array,
    dport: Array,
) -> tuple[int, int]:
    """Put the directed IPv4 5-tuples of packets start... into a table of uint64 (2^k, 2); return (used, packets done).

    Stops at a key for which the table would be more than three quarters full; ports are 0 where a packet has none. Keys
    are looked up in blocks: first a read of each one's place, which wait for memory side by side, then one by one.
    """
    room = len(table) // 4 * 3
    mask = np.int64(len(table) - 1)
    keys = np.empty((BLOCK, 2), np.uint64)
    place, row, there = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64), np.empty(BLOCK, np.uint64)
    i = start
    while i < len(flags):
        size = 0
        while i < len(flags) and size < BLOCK:
            if flags[i] & bits.IPV4 and flags[i] & bits.HEADER:
                a = np.uint64(src[i]) << np.uint64(32) | np.uint64(dst[i])
                b = np.uint64(sport[i]) << np.uint64(24) | np.uint64(dport[i]) << np.uint64(8) | np.uint64(ip_proto[i])
                b |= np.uint64(1 << 40)
                keys[size, 0], keys[size, 1], row[size] = a, b, i
                place[size] = np.int64(_mix(a, b) & np.uint64(mask))
                size += 1
            i += 1
        for k in range(size):
            there[k] = table[place[k], 1]
        for k in range(size):
            a, b, at = keys[k, 0], keys[k, 1], place[k]
            if there[k] == b and table[at, 0] == a:
                continue  # keys stay where they are
            while table[at, 1] != 0 and (table[at, 0] != a or table[at, 1] != b):
                at = (at + 1) & mask
            if table[at, 1] == 0:
                if used >= room:
                    return used, row[k]
                table[at, 0] = a
                table[at, 1] = b
                used += 1
    return used, i


@kernel()
def join_flows(table: Array, used: int, start: int, other: Array) -> tuple[int, int]:
    """Put the keys of rows start... of another table into a table as count_flows does; return (used, rows done)."""
    room = len(table) // 4 * 3
    i = start
    while i < len(other):
        if other[i, 1] != 0:
            if used >= room and not _has(table, other[i, 0], other[i, 1]):
                break
            used += _insert(table, other[i, 0], other[i, 1])
        i += 1
    return used, i


@kernel()
def hash_flows(table: Array, used: int) -> Array:
    """Return a hash of 64 bits of each of the `used` keys of a table, for a sketch; both words are mixed one by one."""
    hashes = np.empty(used, np.int64)
    n = 0
    for i in range(len(table)):
        if table[i, 1] != 0:
            hashes[n] = np.int64(_mix(_mix(table[i, 0], np.uint64(0)), table[i, 1]))
            n += 1
    return hashes


@kernel()
def spread(table: Array, old: int) -> None:
    """Make a table of the first `old` rows one of all rows of `table`, twice as many, in place; the others are empty.

    Begun behind a free row and taken in order, each key finds its place at or before the one it had, in its half of the
    new table: among rows that are done, so that none of those that it passes becomes free again.
    """
    first = 0
    while table[first, 1] != 0:
        first += 1
    for step in range(old):
        i = (first + step) & (old - 1)
        b = table[i, 1]
        if b != 0:
            table[i, 1] = 0
            _insert(table, table[i, 0], b)


@kernel()
def count_bins(
    packets: Array, octets: Array, first_bin: int, shift: int, start: int, t_ns: Array, length: Array
) -> int:
    """Count packets start... into bins of 2^shift ns from first_bin << shift on; stop at one that falls outside.

    Returns the index of the first packet not counted; packets without a time stamp are passed over.
    """
    i = start
    while i < len(t_ns):
        if t_ns[i] != NO_TIME:
            at = (t_ns[i] >> shift) - first_bin
            if at < 0 or at >= len(packets):
                break
            packets[at] += 1
            octets[at] += length[i]
        i += 1
    return i
