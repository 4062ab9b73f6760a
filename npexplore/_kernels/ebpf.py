"""Runs eBPF programs (RFC 9669) on packets, with the XDP context, maps and helpers of the Linux kernel.

One array of bytes holds everything a program may touch; an address is an offset in it, so that the 32-bit pointers of
`struct xdp_md` are addresses. Each access must lie in one region: packet (with its metadata), a frame of the stack, the
context, the value of a map entry. A map's handle is HANDLE + its number. Hash tables chain entries through `links`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.jit import kernel, types

Array = NDArray[Any]

# memory: places of regions
CONTEXT, SCRATCH, STACK, PACKET, MAPS = 4096, 4352, 8192, 16384, 98304
FRAME, FRAME_BYTES, FRAMES = 1024, 512, 8  # frames of the stack lie FRAME apart, so that a step beyond one is seen
HEADROOM, FRAME_END, XDP_FRAME, ETHERNET = 256, 3776, 40, 14  # of a page of 4096, as in the kernel's test run
MAX_PACKET = 65535
HANDLE = np.int64(1) << np.int64(48)
WORD = np.int64(0xFFFFFFFF)
# columns of `code`
OP, DST, SRC, TARGET, IMM, SIZE, WIDE = range(7)
IMMEDIATE = 11  # as a source register: the constant
# operations; TARGET of a move is the bits that are extended, of a jump the slot that it goes to
(ADD, SUB, MUL, DIV, OR, AND, LSH, RSH, NEG, MOD, XOR, MOV, ARSH, SDIV, SMOD, MOVSX, LE, SWAP,
 JEQ, JGT, JGE, JSET, JNE, JSGT, JSGE, JLT, JLE, JSLT, JSLE,
 LOAD, LOADSX, STORE, ATOMIC, LDDW, JA, CALL_LOCAL, CALL, CALLX, EXIT) = range(39)  # fmt: skip
LAST_ALU, LAST_JUMP, LAST_MEMORY = SWAP, JSLE, ATOMIC
# columns of `maps`
(KIND, START, STOP, STRIDE, VALUE_AT, VALUE_BYTES, KEY_BYTES, ENTRIES, READ_ONLY, HEADS, BUCKETS, NEXT, NEWER, OLDER,
 COUNT, FREE, NEWEST, OLDEST, LENGTHS, FULL_ERROR, TARGETS, DEVICES, MAP_COLUMNS) = range(23)  # fmt: skip
ARRAY, HASH, LRU, LPM, PROGRAMS, EVENTS, RING = range(7)  # of a ring: COUNT bytes of packet OLDEST, NEWEST in all
# state
(DATA, END, META, DEPTH, FAULT, FAULT_ADDRESS, TIME, RANDOM, CPU, REDIRECT, TAIL_CALLS, HELPER_MAP, PACKET_NUMBER,
 PACKET_LINES, MAP_LINES, HARD_END, PORTS, RECORDS, RECORD_BYTES, DISCARDED, STATE_SIZE) = range(21)  # fmt: skip
# faults
NO_FAULT, BAD_ACCESS, TOO_LONG, TOO_DEEP, BAD_HELPER, BAD_MAP, OUT_OF_CODE, BAD_RECORD, BAD_FLAGS = range(9)
# regions, and columns of a packet's row
IN_PACKET, IN_STACK, IN_CONTEXT, IN_MAP = range(4)
(VERDICT, PATH, INSTRUCTIONS, TAKEN, HELPERS, LOADS, STORES, LINES_OF_PACKET, LINES_OF_MAPS, LENGTH, METADATA, SENT_TO,
 ROW_FAULT, FAULT_SLOT, ROW_FAULT_ADDRESS, OUT_AT, R0, SPLIT_LOADS, ROW_RECORDS, ROW_RECORD_BYTES, ROW_DISCARDED,
 ROW_COLUMNS) = (0, 1, 2, 3, 4, 5, 9, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27)  # fmt: skip
EPERM, ENOENT, E2BIG, EAGAIN, EACCES, EFAULT, EEXIST, ENODEV, EINVAL, ENOSPC, EOPNOTSUPP, EAFNOSUPPORT = (
    1, 2, 7, 11, 13, 14, 17, 19, 22, 28, 95, 97)  # fmt: skip
# ring buffers: bytes in front of a record, its largest size, and the bit of one that is not submitted yet
RECORD_HEAD, MAX_RECORD, BUSY = 8, 0x3FFFFFFF, np.int64(1) << np.int64(31)
# tables of `fib_lookup`, behind the program's maps: routes and neighbours of IPv4, of IPv6
FIB_TABLES, KEY_SCRATCH = 4, 6144
# a route's value: result, interface, MTU, metric, whether it pushes labels; MAC addresses of the next hop (if
# ROUTE_LINK) and of the interface; its next hop's address (if ROUTE_GATEWAY)
ROUTE_OUT, ROUTE_MTU, ROUTE_METRIC, ROUTE_LABELS, ROUTE_LINK, ROUTE_GATEWAY, ROUTE_MACS, ROUTE_VIA, ROUTE_BYTES = (
    4, 8, 12, 16, 20, 24, 28, 40, 56)  # fmt: skip
# results of fib_lookup (enum of include/uapi/linux/bpf.h), and its flag
NOT_FORWARDED, UNSUPPORTED_LABELS, NO_NEIGHBOUR, FRAGMENT_NEEDED, SKIP_NEIGHBOUR, FIB_BYTES = 4, 6, 7, 8, 4, 64
NO_EXIST, EXIST = 1, 2
ABORTED, REDIRECTED = 0, 4
MAX_TAIL_CALLS = 33

_bytes = types.uint8[::1]
_packets = types.Array(types.uint8, 1, "C", readonly=True)
_any16, _any32, _any64 = (
    types.Array(kind, 1, "A", aligned=False) for kind in (types.uint16, types.uint32, types.int64)
)
_ints, _table, _links, _counts = types.int64[::1], types.int64[:, ::1], types.int32[::1], types.int32[:, ::1]
_readonly = types.Array(types.int64, 1, "C", readonly=True)


@kernel(_nrt=False)
def _region(state: Array, maps: Array, stamps: Array, a: int, size: int, store: bool) -> int:
    """Return the region of an access, -1 where it is in none; count the 64-byte lines that a packet touches."""
    if a < CONTEXT or a > WORD or size < 0:
        return -1
    if a >= state[META] and a + size <= state[END]:
        for line in range(a >> 6, ((a + size - 1) >> 6) + 1):
            if stamps[line] != state[PACKET_NUMBER]:
                stamps[line] = state[PACKET_NUMBER]
                state[PACKET_LINES] += 1
        return IN_PACKET
    place = a - STACK
    if 0 <= place < (state[DEPTH] + 1) * FRAME:
        return IN_STACK if (place & (FRAME - 1)) + size <= FRAME_BYTES else -1
    if a + size <= CONTEXT + 24:
        return -1 if store else IN_CONTEXT
    if a < MAPS:
        return -1
    for m in range(len(maps) - FIB_TABLES):
        if maps[m, START] <= a < maps[m, STOP]:
            place = a - maps[m, START]
            if maps[m, KIND] == RING:
                inside = maps[m, OLDEST] == state[PACKET_NUMBER] and place + size <= maps[m, COUNT]
                return IN_MAP if inside else -1
            if place >= maps[m, STRIDE]:
                place = np.int64(np.uint32(place) % np.uint32(maps[m, STRIDE]))
            place -= maps[m, VALUE_AT]
            if place < 0 or place + size > maps[m, VALUE_BYTES] or (store and maps[m, READ_ONLY]):
                return -1
            for line in range(a >> 6, ((a + size - 1) >> 6) + 1):
                if stamps[line] != state[PACKET_NUMBER]:
                    stamps[line] = state[PACKET_NUMBER]
                    state[MAP_LINES] += 1
            return IN_MAP
    return -1


@kernel(_nrt=False)
def _readable(state: Array, maps: Array, stamps: Array, a: int, size: int, store: bool) -> bool:
    """Say whether a helper may touch these bytes; record the fault if not."""
    if size == 0 or _region(state, maps, stamps, a, size, store) >= 0:
        return True
    state[FAULT] = BAD_ACCESS
    state[FAULT_ADDRESS] = a
    return False


@kernel(_nrt=False)
def _bucket(memory: Array, any64: Array, maps: Array, m: int, key: int) -> int:
    """Return the place in `links` of the head of a key's chain."""
    h = np.uint64(0x9E3779B97F4A7C15)
    factor = np.uint64(0xFF51AFD7ED558CCD)
    size = maps[m, KEY_BYTES]
    for k in range(size >> 3):
        h = (h ^ np.uint64(any64[key + 8 * k])) * factor
        h ^= h >> np.uint64(32)
    for k in range(size & ~7, size):
        h = (h ^ np.uint64(memory[key + k])) * factor
        h ^= h >> np.uint64(32)
    return maps[m, HEADS] + np.int64(h & np.uint64(maps[m, BUCKETS] - 1))


@kernel(_nrt=False)
def _equal(memory: Array, a: int, b: int, size: int) -> bool:
    for k in range(size):
        if memory[a + k] != memory[b + k]:
            return False
    return True


@kernel(_nrt=False)
def _find(memory: Array, any64: Array, maps: Array, links: Array, m: int, key: int) -> int:
    """Return the number of a key's entry in a hash table, -1 if there is none."""
    entry = links[_bucket(memory, any64, maps, m, key)]
    while entry >= 0:
        if _equal(memory, maps[m, START] + entry * maps[m, STRIDE], key, maps[m, KEY_BYTES]):
            return np.int64(entry)
        entry = links[maps[m, NEXT] + entry]
    return np.int64(-1)


@kernel(_nrt=False)
def _prefix(memory: Array, maps: Array, m: int, key: int, bits: int) -> int:
    """Write the first bits of a key of a prefix table to SCRATCH, as a key of that length; return its address."""
    for k in range(4):
        memory[SCRATCH + k] = (bits >> (8 * k)) & 255
    for k in range(maps[m, KEY_BYTES] - 4):
        left = bits - 8 * k
        mask = 255 if left >= 8 else 0 if left <= 0 else (0xFF00 >> left) & 255
        memory[SCRATCH + 4 + k] = memory[key + 4 + k] & mask
    return np.int64(SCRATCH)


@kernel(_nrt=False)
def _touch(maps: Array, links: Array, m: int, entry: int) -> None:
    """Make an entry of an LRU table the newest; it is in the list already."""
    if maps[m, NEWEST] == entry:
        return
    newer, older = links[maps[m, NEWER] + entry], links[maps[m, OLDER] + entry]
    links[maps[m, OLDER] + newer] = older
    if older >= 0:
        links[maps[m, NEWER] + older] = newer
    else:
        maps[m, OLDEST] = newer
    _push(maps, links, m, entry)


@kernel(_nrt=False)
def _push(maps: Array, links: Array, m: int, entry: int) -> None:
    """Put an entry in front of an LRU table's list."""
    links[maps[m, OLDER] + entry] = maps[m, NEWEST]
    links[maps[m, NEWER] + entry] = -1
    if maps[m, NEWEST] >= 0:
        links[maps[m, NEWER] + maps[m, NEWEST]] = entry
    else:
        maps[m, OLDEST] = entry
    maps[m, NEWEST] = entry


@kernel(_nrt=False)
def _lookup(memory: Array, any32: Array, any64: Array, maps: Array, links: Array, m: int, key: int) -> int:
    """Return the number of the entry that a lookup finds, -1 if none."""
    kind = maps[m, KIND]
    if kind == ARRAY or kind == PROGRAMS:
        index = np.int64(any32[key])
        return index if index < maps[m, ENTRIES] else np.int64(-1)
    if kind == LPM:
        longest = np.int64(any32[key])
        if longest > (maps[m, KEY_BYTES] - 4) * 8:
            return np.int64(-1)
        for bits in range(longest, -1, -1):
            if links[maps[m, LENGTHS] + bits]:
                entry = _find(memory, any64, maps, links, m, _prefix(memory, maps, m, key, bits))
                if entry >= 0:
                    return entry
        return np.int64(-1)
    entry = _find(memory, any64, maps, links, m, key)
    if kind == LRU and entry >= 0:
        _touch(maps, links, m, entry)
    return entry


@kernel(_nrt=False)
def _remove(memory: Array, any64: Array, maps: Array, links: Array, m: int, entry: int) -> None:
    """Take an entry out of a hash table."""
    key = maps[m, START] + entry * maps[m, STRIDE]
    place = _bucket(memory, any64, maps, m, key)
    while links[place] != entry:
        place = maps[m, NEXT] + links[place]
    links[place] = links[maps[m, NEXT] + entry]
    links[maps[m, NEXT] + entry] = maps[m, FREE]
    maps[m, FREE] = entry
    maps[m, COUNT] -= 1
    if maps[m, KIND] == LRU:
        _touch(maps, links, m, entry)
        maps[m, NEWEST] = links[maps[m, OLDER] + entry]
        if maps[m, NEWEST] >= 0:
            links[maps[m, NEWER] + maps[m, NEWEST]] = -1
        else:
            maps[m, OLDEST] = -1
    if maps[m, KIND] == LPM:
        links[maps[m, LENGTHS] + np.int64(memory[key]) + (np.int64(memory[key + 1]) << 8)] -= 1


@kernel(_nrt=False)
def _update(memory: Array, any32: Array, any64: Array, maps: Array, links: Array, m: int, key: int, value: int,
            flags: int) -> int:  # fmt: skip
    """Put a value under a key; return 0 or a negative error number, as the kernel does."""
    kind = maps[m, KIND]
    if flags < 0 or flags > EXIST:
        return np.int64(-EINVAL)
    if kind == ARRAY or kind == PROGRAMS:
        entry = np.int64(any32[key])
        if entry >= maps[m, ENTRIES]:
            return np.int64(-E2BIG)
        if flags == NO_EXIST:
            return np.int64(-EEXIST)
    else:
        if kind == LPM:
            bits = np.int64(any32[key])
            if bits > (maps[m, KEY_BYTES] - 4) * 8:
                return np.int64(-EINVAL)
            key = _prefix(memory, maps, m, key, bits)
        if maps[m, TARGETS] and np.int64(any32[key]) >= maps[m, TARGETS]:
            return np.int64(-E2BIG)
        entry = _find(memory, any64, maps, links, m, key)
        if entry >= 0 and flags == NO_EXIST:
            return np.int64(-EEXIST)
        if entry < 0 and flags == EXIST:
            return np.int64(-ENOENT)
        if entry < 0:
            if maps[m, FREE] < 0:
                if kind != LRU:
                    return -maps[m, FULL_ERROR]
                _remove(memory, any64, maps, links, m, maps[m, OLDEST])
            entry = maps[m, FREE]
            maps[m, FREE] = links[maps[m, NEXT] + entry]
            maps[m, COUNT] += 1
            head = _bucket(memory, any64, maps, m, key)
            links[maps[m, NEXT] + entry] = links[head]
            links[head] = entry
            at = maps[m, START] + entry * maps[m, STRIDE]
            for k in range(maps[m, KEY_BYTES]):
                memory[at + k] = memory[key + k]
            if kind == LRU:
                _push(maps, links, m, entry)
            if kind == LPM:
                links[maps[m, LENGTHS] + bits] += 1
        elif kind == LRU:
            _touch(maps, links, m, entry)
    at = maps[m, START] + entry * maps[m, STRIDE] + maps[m, VALUE_AT]
    for k in range(maps[m, VALUE_BYTES]):
        memory[at + k] = memory[value + k]
    return np.int64(0)


@kernel(_nrt=False)
def _delete(memory: Array, any32: Array, any64: Array, maps: Array, links: Array, m: int, key: int) -> int:
    """Remove a key's entry; return 0 or a negative error number."""
    kind = maps[m, KIND]
    if kind == ARRAY:
        return np.int64(-EINVAL)
    if kind == LPM:
        bits = np.int64(any32[key])
        if bits > (maps[m, KEY_BYTES] - 4) * 8:
            return np.int64(-EINVAL)
        key = _prefix(memory, maps, m, key, bits)
    entry = _find(memory, any64, maps, links, m, key)
    if entry < 0:
        return np.int64(-ENOENT)
    _remove(memory, any64, maps, links, m, entry)
    return np.int64(0)


@kernel(_nrt=False)
def _sum(memory: Array, any32: Array, a: int, size: int, seed: int) -> int:
    """Return the one's complement sum of little-endian words of 32 bits, 0 only where all is 0 (csum_partial)."""
    s = seed & WORD
    for k in range(size >> 2):
        s += np.int64(any32[a + 4 * k])
    for k in range(size & ~3, size):
        s += np.int64(memory[a + k]) << (8 * (k & 3))
    while s >> 32:
        s = (s & WORD) + (s >> 32)
    return s


@kernel(_nrt=False)
def _difference(memory: Array, any32: Array, old: int, old_size: int, new: int, new_size: int, seed: int) -> int:
    """Return what bpf_csum_diff does since Linux 6.13: a sum folded to 16 bits."""
    s = seed & WORD
    if old_size and new_size:
        s = _sum(memory, any32, new, new_size, s) + (_sum(memory, any32, old, old_size, 0) ^ WORD)
        s = (s & WORD) + (s >> 32)
    elif new_size:
        s = _sum(memory, any32, new, new_size, s)
    elif old_size:
        s = _sum(memory, any32, old, old_size, s ^ WORD) ^ WORD
    s = (s & 0xFFFF) + (s >> 16)
    return (s & 0xFFFF) + (s >> 16)


@kernel(_nrt=False)
def _signed(a: int) -> int:
    """Return the low 32 bits as a signed number."""
    return ((a & WORD) ^ 0x80000000) - 0x80000000


@kernel(_nrt=False)
def _move(memory: Array, any32: Array, state: Array, helper: int, away: int) -> int:
    """Move the packet's begin (44), its metadata's (54) or its end (65); return 0 or a negative error number."""
    meta = state[DATA] - state[META]
    if helper == 44:
        data = state[DATA] + away
        if data < PACKET + XDP_FRAME + meta or data > state[END] - ETHERNET:
            return np.int64(-EINVAL)
        if away < 0:
            for k in range(meta):
                memory[state[META] + away + k] = memory[state[META] + k]
        else:
            for k in range(meta - 1, -1, -1):
                memory[state[META] + away + k] = memory[state[META] + k]
        state[META] += away
        state[DATA] = data
    elif helper == 54:
        begin = state[META] + away
        if begin < PACKET + XDP_FRAME or begin > state[DATA]:
            return np.int64(-EINVAL)
        if (state[DATA] - begin) & 3 or state[DATA] - begin > 255:
            return np.int64(-EACCES)
        state[META] = begin
    else:
        end = state[END] + away
        if end > state[HARD_END] or end < state[DATA] + ETHERNET:
            return np.int64(-EINVAL)
        for k in range(state[END], end):
            memory[k] = 0
        state[END] = end
    any32[CONTEXT], any32[CONTEXT + 4], any32[CONTEXT + 8] = state[DATA], state[END], state[META]
    return np.int64(0)


@kernel(_nrt=False)
def _copy(memory: Array, to: int, source: int, size: int) -> None:
    """Copy bytes that do not overlap."""
    for k in range(size):
        memory[to + k] = memory[source + k]


@kernel(_nrt=False)
def _reserve(any32: Array, maps: Array, state: Array, m: int, size: int) -> int:
    """Return the address of a new record of a ring buffer, 0 where it has no room (kernel/bpf/ringbuf.c).

    Its reader takes all records away behind each packet.
    """
    if maps[m, OLDEST] != state[PACKET_NUMBER]:
        maps[m, OLDEST] = state[PACKET_NUMBER]
        maps[m, COUNT] = 0
    if size < 0 or size > MAX_RECORD:
        return np.int64(0)
    length = (size + RECORD_HEAD + 7) & ~np.int64(7)
    if maps[m, COUNT] + length > maps[m, ENTRIES] - 1:
        return np.int64(0)
    at = maps[m, START] + maps[m, COUNT] + RECORD_HEAD
    maps[m, COUNT] += length
    maps[m, NEWEST] += length
    any32[at - RECORD_HEAD] = size | BUSY
    return at


@kernel(_nrt=False)
def _end_record(any32: Array, maps: Array, state: Array, a: int, discard: bool) -> None:
    """Submit or discard a reserved record, or record the fault that there is none at this address."""
    for m in range(len(maps) - FIB_TABLES):
        place = a - maps[m, START]
        if maps[m, KIND] == RING and maps[m, OLDEST] == state[PACKET_NUMBER] and 8 <= place <= maps[m, COUNT]:
            head = np.int64(any32[a - RECORD_HEAD])
            if place & 7 == 0 and head & BUSY:
                any32[a - RECORD_HEAD] = head ^ BUSY
                state[HELPER_MAP] = m
                if discard:
                    state[DISCARDED] += 1
                else:
                    state[RECORDS] += 1
                    state[RECORD_BYTES] += head ^ BUSY
                return
    state[FAULT] = BAD_RECORD
    state[FAULT_ADDRESS] = a


@kernel(_nrt=False)
def _route(memory: Array, any16: Array, any32: Array, any64: Array, maps: Array, links: Array, p: int, six: bool,
           flags: int) -> int:  # fmt: skip
    """Look up the destination of `struct bpf_fib_lookup` at p, as net/core/filter.c does for XDP; return its result."""
    routes = len(maps) - FIB_TABLES + 2 * six
    width = 16 if six else 4
    any32[KEY_SCRATCH] = 8 * width
    _copy(memory, KEY_SCRATCH + 4, p + 32, width)
    entry = _lookup(memory, any32, any64, maps, links, routes, KEY_SCRATCH)
    if entry < 0:
        return np.int64(NOT_FORWARDED)
    route = maps[routes, START] + entry * maps[routes, STRIDE] + maps[routes, VALUE_AT]
    if any32[route]:
        return np.int64(any32[route])
    mtu = np.int64(any32[route + ROUTE_MTU])
    if np.int64(any16[p + 6]) > mtu:
        any16[p + 6] = mtu
        return np.int64(FRAGMENT_NEEDED)
    if any32[route + ROUTE_LABELS]:
        return np.int64(UNSUPPORTED_LABELS)
    if any32[route + ROUTE_GATEWAY]:
        _copy(memory, p + 32, route + ROUTE_VIA, width)
    any32[p + 12] = any32[route + ROUTE_METRIC]
    any32[p + 8] = any32[route + ROUTE_OUT]
    if not flags & SKIP_NEIGHBOUR:
        any32[KEY_SCRATCH] = any32[route + ROUTE_OUT]
        _copy(memory, KEY_SCRATCH + 4, p + 32, width)
        entry = _find(memory, any64, maps, links, routes + 1, KEY_SCRATCH)
        if entry < 0 and not any32[route + ROUTE_LINK]:
            return np.int64(NO_NEIGHBOUR)
        neighbour = route + ROUTE_MACS
        if entry >= 0:
            neighbour = maps[routes + 1, START] + entry * maps[routes + 1, STRIDE] + maps[routes + 1, VALUE_AT]
        _copy(memory, p + 52, route + ROUTE_MACS + 6, 6)
        _copy(memory, p + 58, neighbour, 6)
    any32[p + 48] = 0
    any16[p + 6] = mtu
    return np.int64(0)


@kernel(_nrt=False)
def _fib(memory: Array, any16: Array, any32: Array, any64: Array, maps: Array, links: Array, stamps: Array,
         state: Array, r: Array) -> int:  # fmt: skip
    """Return the result of bpf_fib_lookup(context, parameters, their size, flags)."""
    p, size, flags = r[2], _signed(r[3]), r[4] & WORD
    if not _readable(state, maps, stamps, p, max(size, 0), True):
        return np.int64(0)
    if size < FIB_BYTES or flags & ~63:
        return np.int64(-EINVAL)
    family = memory[p]
    if family != 2 and family != 10:
        return np.int64(-EAFNOSUPPORT)
    if family == 10:
        for a in (p + 16, p + 32):  # addresses that no router forwards: multicast, of a link, loopback
            first = np.int64(memory[a]) << 8 | np.int64(memory[a + 1])
            loopback = any64[a] == 0 and any64[a + 8] == np.int64(1) << 56
            if first >> 8 == 0xFF or first & 0xFFC0 == 0xFE80 or loopback:
                return np.int64(NOT_FORWARDED)
    if not 1 <= any32[p + 8] <= state[PORTS]:
        return np.int64(-ENODEV)
    if flags & ~SKIP_NEIGHBOUR:
        state[FAULT] = BAD_FLAGS
        state[FAULT_ADDRESS] = flags
        return np.int64(0)
    return _route(memory, any16, any32, any64, maps, links, p, family == 10, flags)


@kernel(_nrt=False)
def _ring(memory: Array, any32: Array, maps: Array, stamps: Array, state: Array, m: int, helper: int, r: Array) -> int:
    """Call a helper of a ring buffer: ringbuf_output (130), ringbuf_reserve (131), ringbuf_query (134)."""
    if helper == 131:
        return np.int64(0) if r[3] else _reserve(any32, maps, state, m, r[2])
    if helper == 134:
        waiting = maps[m, COUNT] if maps[m, OLDEST] == state[PACKET_NUMBER] else np.int64(0)
        if r[2] == 1:
            return maps[m, ENTRIES]
        produced = maps[m, NEWEST]
        return waiting if r[2] == 0 else produced - waiting if r[2] == 2 else produced if r[2] == 3 else np.int64(0)
    if not _readable(state, maps, stamps, r[2], r[3], False):
        return np.int64(0)
    if r[4] & ~np.int64(3):
        return np.int64(-EINVAL)
    at = _reserve(any32, maps, state, m, r[3])
    if at == 0:
        return np.int64(-EAGAIN)
    _copy(memory, at, r[2], r[3])
    _end_record(any32, maps, state, at, False)
    return np.int64(0)


@kernel(_nrt=False)
def _perf(maps: Array, stamps: Array, state: Array, m: int, r: Array) -> int:
    """Count an event of perf_event_output, whose reader takes those of this processor."""
    flags, size = r[3], r[5]
    if not _readable(state, maps, stamps, r[4], size, False):
        return np.int64(0)
    if flags & ~np.int64(0xFFFFFFFFFFFFF):
        return np.int64(-EINVAL)
    packet_bytes = flags >> 32
    if packet_bytes > state[END] - state[DATA]:
        return np.int64(-EFAULT)
    index = flags & WORD
    if index == WORD:
        index = state[CPU]
    if maps[m, TARGETS] and index >= maps[m, TARGETS]:
        return np.int64(-E2BIG)
    if index != state[CPU]:
        return np.int64(-EOPNOTSUPP)
    state[RECORDS] += 1
    state[RECORD_BYTES] += size + packet_bytes
    return np.int64(0)


@kernel(_nrt=False)
def _transfer(memory: Array, maps: Array, stamps: Array, state: Array, r: Array, store: bool) -> int:
    """Copy bytes from the packet (xdp_load_bytes, 189) or into it (xdp_store_bytes, 190)."""
    offset, buffer, size = r[2] & WORD, r[3], r[4] & WORD
    if not _readable(state, maps, stamps, buffer, size, not store):
        return np.int64(0)
    if offset > 0xFFFF or size > 0xFFFF:
        return np.int64(-EFAULT)
    if offset + size > state[END] - state[DATA]:
        return np.int64(-EINVAL)
    a = state[DATA] + offset
    if not _readable(state, maps, stamps, a, size, store):
        return np.int64(0)
    _copy(memory, a if store else buffer, buffer if store else a, size)
    return np.int64(0)


@kernel(_nrt=False)
def _help(memory: Array, any16: Array, any32: Array, any64: Array, maps: Array, links: Array, stamps: Array,
          state: Array, helper: int, r: Array) -> int:  # fmt: skip
    """Call a helper with the arguments in registers 1 to 5; return its result, or record a fault in `state`."""
    m = r[2] - HANDLE if helper == 25 else r[1] - HANDLE
    on_ring = helper == 130 or helper == 131 or helper == 134
    if helper <= 3 or helper == 25 or helper == 51 or on_ring:
        known = 0 <= m < len(maps) - FIB_TABLES
        kind = maps[m, KIND] if known else np.int64(-1)
        if not known or (kind == EVENTS) != (helper == 25) or (kind == RING) != on_ring:
            state[FAULT] = BAD_MAP
            state[FAULT_ADDRESS] = r[2] if helper == 25 else r[1]
            return np.int64(0)
        state[HELPER_MAP] = m
    if helper <= 3:
        if not _readable(state, maps, stamps, r[2], maps[m, KEY_BYTES], False):
            return np.int64(0)
        if helper == 1:
            entry = _lookup(memory, any32, any64, maps, links, m, r[2])
            return np.int64(0) if entry < 0 else maps[m, START] + entry * maps[m, STRIDE] + maps[m, VALUE_AT]
        if helper == 3:
            return _delete(memory, any32, any64, maps, links, m, r[2])
        if not _readable(state, maps, stamps, r[3], maps[m, VALUE_BYTES], False):
            return np.int64(0)
        return _update(memory, any32, any64, maps, links, m, r[2], r[3], r[4])
    if helper == 51:  # redirect_map
        flags = r[3]
        if flags & ~np.int64(3 if not maps[m, TARGETS] else 3 | 24):
            return np.int64(ABORTED)
        any32[SCRATCH] = r[2] & WORD
        entry = _find(memory, any64, maps, links, m, SCRATCH)
        if entry < 0 and not flags & 8:
            return flags & 3
        state[REDIRECT] = r[2] & WORD
        if entry >= 0 and maps[m, DEVICES]:
            state[REDIRECT] = np.int64(any32[maps[m, START] + entry * maps[m, STRIDE] + maps[m, VALUE_AT]])
        return np.int64(REDIRECTED)
    if helper == 5 or helper == 125 or helper == 160 or helper == 208:
        return state[TIME]
    if helper == 7:  # xorshift64*
        x = np.uint64(state[RANDOM])
        x ^= x >> np.uint64(12)
        x ^= x << np.uint64(25)
        x ^= x >> np.uint64(27)
        state[RANDOM] = np.int64(x)
        return np.int64((x * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(32))
    if helper == 8:
        return state[CPU]
    if helper == 42 or helper == 6:
        return np.int64(0)
    if helper == 23:  # redirect
        if r[2] != 0:
            return np.int64(ABORTED)
        state[REDIRECT] = r[1] & WORD
        return np.int64(REDIRECTED)
    if helper == 28:
        old_size, new_size = r[2] & WORD, r[4] & WORD
        if not _readable(state, maps, stamps, r[1], old_size, False) or not _readable(
            state, maps, stamps, r[3], new_size, False
        ):
            return np.int64(0)
        return _difference(memory, any32, r[1], old_size, r[3], new_size, r[5])
    if helper == 44 or helper == 54 or helper == 65:
        return _move(memory, any32, state, helper, _signed(r[2]))
    if helper == 188:
        return state[END] - state[DATA]
    if helper == 25:
        return _perf(maps, stamps, state, m, r)
    if on_ring:
        return _ring(memory, any32, maps, stamps, state, m, helper, r)
    if helper == 132 or helper == 133:
        _end_record(any32, maps, state, r[1], helper == 133)
        return np.int64(0)
    if helper == 69:
        return _fib(memory, any16, any32, any64, maps, links, stamps, state, r)
    if helper == 189 or helper == 190:
        return _transfer(memory, maps, stamps, state, r, helper == 190)
    state[FAULT] = BAD_HELPER
    state[FAULT_ADDRESS] = helper
    return np.int64(0)


@kernel(_nrt=False)
def _split(stored: Array, a: int, size: int) -> bool:
    """Say whether a load from the stack reads what several narrower stores wrote, which no store buffer forwards.

    stored: for each byte of the frames the bytes of the store that wrote it on this packet, 0 if none. What was loaded
    once counts as being in the cache.
    """
    narrow = False
    for k in range(a - STACK, a - STACK + size):
        narrow = narrow or 0 < stored[k] < size
        stored[k] = 0
    return narrow


@kernel(_nrt=False)
def _alu(op: int, wide: bool, a: int, b: int, bits: int) -> int:
    """Return the result of an arithmetic instruction; 32-bit ones give their low half."""
    if not wide:
        a &= WORD
        b &= WORD
    if op == ADD:
        r = a + b
    elif op == SUB:
        r = a - b
    elif op == MUL:
        r = a * b
    elif op == DIV:
        r = np.int64(0) if b == 0 else np.int64(np.uint64(a) // np.uint64(b))
    elif op == OR:
        r = a | b
    elif op == AND:
        r = a & b
    elif op == LSH:
        r = a << (b & (63 if wide else 31))
    elif op == RSH:
        r = np.int64(np.uint64(a) >> np.uint64(b & (63 if wide else 31)))
    elif op == NEG:
        r = -a
    elif op == MOD:
        r = a if b == 0 else np.int64(np.uint64(a) % np.uint64(b))
    elif op == XOR:
        r = a ^ b
    elif op == MOV:
        r = b
    elif op == ARSH:
        r = (a if wide else _signed(a)) >> (b & (63 if wide else 31))
    elif op == SDIV or op == SMOD:
        x, y = (a, b) if wide else (_signed(a), _signed(b))
        if y == 0:
            r = np.int64(0) if op == SDIV else a
        elif y == -1:
            r = -x if op == SDIV else np.int64(0)
        else:  # towards zero; Python's operators round down
            q = x // y
            if q < 0 and q * y != x:
                q += 1
            r = q if op == SDIV else x - q * y
    elif op == MOVSX:
        r = (b << (64 - bits)) >> (64 - bits)
    elif op == LE:
        r = a & (np.int64(-1) if bits == 64 else (np.int64(1) << bits) - 1)
    else:  # SWAP
        r = np.int64(0)
        for k in range(bits >> 3):
            r = r << 8 | ((a >> (8 * k)) & 255)
    return r if wide else r & WORD


@kernel(_nrt=False)
def _holds(op: int, wide: bool, a: int, b: int) -> bool:
    """Say whether a conditional jump is taken."""
    if not wide:  # the sign extended keeps the order of unsigned numbers, too
        a, b = _signed(a), _signed(b)
    if op == JEQ:
        return a == b
    if op == JNE:
        return a != b
    if op == JSET:
        return a & b != 0
    if op == JGT:
        return np.uint64(a) > np.uint64(b)
    if op == JGE:
        return np.uint64(a) >= np.uint64(b)
    if op == JLT:
        return np.uint64(a) < np.uint64(b)
    if op == JLE:
        return np.uint64(a) <= np.uint64(b)
    if op == JSGT:
        return a > b
    if op == JSGE:
        return a >= b
    if op == JSLT:
        return a < b
    return a <= b


@kernel(_nrt=False)
def _access(memory: Array, any16: Array, any32: Array, any64: Array, op: int, size: int, a: int, value: int) -> int:
    """Load or store `size` bytes; return what was loaded."""
    if op == STORE:
        if size == 1:
            memory[a] = value & 255
        elif size == 2:
            any16[a] = value & 0xFFFF
        elif size == 4:
            any32[a] = value & WORD
        else:
            any64[a] = value
        return value
    if size == 1:
        r = np.int64(memory[a])
    elif size == 2:
        r = np.int64(any16[a])
    elif size == 4:
        r = np.int64(any32[a])
    else:
        r = any64[a]
    if op == LOADSX:
        r = (r << (64 - 8 * size)) >> (64 - 8 * size)
    return r


@kernel(_nrt=False)
def _atomic(any32: Array, any64: Array, size: int, a: int, imm: int, r: Array, src: int) -> None:
    """Change a word of memory as an atomic instruction does."""
    old = any64[a] if size == 8 else np.int64(any32[a])
    b = r[src] if size == 8 else r[src] & WORD
    code = imm & 0xF0
    new = old + b if code == 0 else old | b if code == 0x40 else old & b if code == 0x50 else old ^ b
    if imm == 0xE1:
        new = b
    if imm == 0xF1:
        new = b if old == (r[0] if size == 8 else r[0] & WORD) else old
        r[0] = old
    elif imm & 1:
        r[src] = old
    if size == 8:
        any64[a] = new
    else:
        any32[a] = new & WORD


@kernel(
    types.int64(
        _table, types.int64, _bytes, _any16, _any32, _any64, _table, _links, _links, _ints, _packets, _readonly,
        _readonly, _readonly, types.int64, _table, _bytes, _counts, _ints, _links, _ints, _counts, _counts, types.int64,
        types.boolean, _links, _ints, _table, _bytes,
    ),
    _nrt=False,
)  # fmt: skip
def run(code: Array, entry: int, memory: Array, any16: Array, any32: Array, any64: Array, maps: Array, links: Array,
        stamps: Array, state: Array, packets: Array, begins: Array, lengths: Array, times: Array, first: int,
        rows: Array, out: Array, now: Array, hashes: Array, table: Array, ends: Array, visits: Array, takens: Array,
        limit: int, plain: bool, called: Array, r: Array, frames: Array, stored: Array) -> int:  # fmt: skip
    """Run a program on packets from `first` on; return the packet it stopped before: no room in `out`, or all done.

    now: visits of each slot on the present packet, and taken jumps or calls with a result other than 0, shape (2, slots). table: path numbers by hash;
    hashes, visits, takens: of each path; ends[0]: paths so far, ends[1]: bytes of `out` in use; the last path is for all
    that find no place. called: the map of each call, by slot. plain: register 1 and 2 are the packet's address and
    length, as public conformance cases want it, not the context. r: 12 registers; frames: (FRAMES, 5), for saved ones.
    stored: (FRAMES * FRAME), see `_split`.
    """
    slots = len(code)
    mask = len(table) - 1
    for i in range(first, len(begins)):
        length = lengths[i]
        if ends[1] + length + 2 * HEADROOM + FRAME_END > len(out):
            return i
        data = PACKET + HEADROOM
        for k in range(HEADROOM // 8):
            any64[PACKET + 8 * k] = 0
        for k in range(length):
            memory[data + k] = packets[begins[i] + k]
        state[DATA], state[END], state[META], state[DEPTH] = data, data + length, data, 0
        state[HARD_END] = max(PACKET + FRAME_END, data + length)
        state[FAULT], state[TIME], state[REDIRECT], state[TAIL_CALLS] = NO_FAULT, times[i], -1, 0
        state[PACKET_NUMBER] += 1
        state[PACKET_LINES] = state[MAP_LINES] = 0
        state[RECORDS] = state[RECORD_BYTES] = state[DISCARDED] = 0
        any32[CONTEXT], any32[CONTEXT + 4], any32[CONTEXT + 8] = data, data + length, data
        for k in range(FRAME_BYTES // 8):
            any64[STACK + 8 * k] = 0
        stored[:FRAME_BYTES] = 0
        for k in range(slots):
            now[0, k] = 0
            now[1, k] = 0
        row = rows[i]
        row[:] = 0
        r[:] = 0
        r[1] = data if plain else CONTEXT
        r[2] = length if plain else 0
        r[10] = STACK + FRAME_BYTES
        pc, steps, path, taken, helpers = entry, np.int64(0), np.int64(0x1234567), np.int64(0), np.int64(0)
        while True:
            if pc < 0 or pc >= slots:
                state[FAULT] = OUT_OF_CODE
                state[FAULT_ADDRESS] = pc
                pc = 0
                break
            op, dst, src = code[pc, OP], code[pc, DST], code[pc, SRC]
            now[0, pc] += 1
            steps += 1
            b = code[pc, IMM] if src == IMMEDIATE else r[src]
            if op <= LAST_ALU:
                r[dst] = _alu(op, code[pc, WIDE] != 0, r[dst], b, code[pc, TARGET])
                pc += 1
            elif op <= LAST_JUMP:
                if _holds(op, code[pc, WIDE] != 0, r[dst], b):
                    now[1, pc] += 1
                    taken += 1
                    path = (path ^ (2 * pc + 1)) * np.int64(0x5851F42D4C957F2D)
                    path ^= (path >> 29) & WORD
                    if steps > limit:
                        state[FAULT] = TOO_LONG
                        break
                    pc = code[pc, TARGET]
                else:
                    path = (path ^ (2 * pc)) * np.int64(0x5851F42D4C957F2D)
                    path ^= (path >> 29) & WORD
                    pc += 1
            elif op <= LAST_MEMORY:
                base = src if op == LOAD or op == LOADSX else dst
                a = r[base] + code[pc, TARGET]
                size = code[pc, SIZE]
                where = _region(state, maps, stamps, a, size, op >= STORE)
                if where < 0:
                    state[FAULT] = BAD_ACCESS
                    state[FAULT_ADDRESS] = a
                    break
                if op == ATOMIC:
                    _atomic(any32, any64, size, a, code[pc, IMM], r, src)
                    row[LOADS + where] += 1
                    row[STORES + where] += 1
                elif op == STORE:
                    _access(memory, any16, any32, any64, op, size, a, b)
                    row[STORES + where] += 1
                    if where == IN_STACK:
                        stored[a - STACK : a - STACK + size] = size
                else:
                    if where == IN_STACK:
                        row[SPLIT_LOADS] += _split(stored, a, size)
                    r[dst] = _access(memory, any16, any32, any64, op, size, a, b)
                    row[LOADS + where] += 1
                pc += 1
            elif op == LDDW:
                r[dst] = code[pc, IMM]
                pc += 1
            elif op == JA:
                if steps > limit:
                    state[FAULT] = TOO_LONG
                    break
                pc = code[pc, TARGET]
            elif op == CALL or op == CALLX:
                helper = r[dst] if op == CALLX else code[pc, IMM]
                helpers += 1
                state[HELPER_MAP] = -1
                result = np.int64(0)
                if helper != 12:
                    if helper <= 3 and 0 <= r[1] - HANDLE < len(maps) - FIB_TABLES:  # keys are read in words of 4 bytes
                        size = min(maps[r[1] - HANDLE, KEY_BYTES], 4)
                        narrow = False
                        for word in range(r[2], r[2] + maps[r[1] - HANDLE, KEY_BYTES] - size + 1, 4):
                            if STACK <= word and word + size <= STACK + FRAMES * FRAME:
                                narrow = _split(stored, word, size) or narrow
                        row[SPLIT_LOADS] += narrow
                    result = _help(memory, any16, any32, any64, maps, links, stamps, state, helper, r)
                    called[pc] = state[HELPER_MAP]
                    now[1, pc] += result != 0
                    path = (path ^ (2 * pc + (result != 0))) * np.int64(0x5851F42D4C957F2D)
                    path ^= (path >> 29) & WORD
                    pc += 1
                else:
                    m = r[2] - HANDLE
                    index = r[3] & WORD
                    if m < 0 or m >= len(maps) - FIB_TABLES or maps[m, KIND] != PROGRAMS:
                        state[FAULT] = BAD_MAP
                        state[FAULT_ADDRESS] = r[2]
                        break
                    called[pc] = m
                    result = np.int64(-ENOENT)
                    target = np.int64(0)
                    if index < maps[m, ENTRIES] and state[TAIL_CALLS] < MAX_TAIL_CALLS:
                        target = np.int64(any32[maps[m, START] + index * maps[m, STRIDE]])
                    path = (path ^ (2 * pc + target * 64)) * np.int64(0x5851F42D4C957F2D)
                    path ^= (path >> 29) & WORD
                    pc += 1
                    if target:
                        state[TAIL_CALLS] += 1
                        pc = target - 1
                        r[1] = CONTEXT
                        continue
                if state[FAULT]:
                    pc -= 1
                    break
                r[0] = result
            elif op == CALL_LOCAL:
                depth = state[DEPTH]
                if depth + 1 >= FRAMES:
                    state[FAULT] = TOO_DEEP
                    break
                for k in range(4):
                    frames[depth, k] = r[6 + k]
                frames[depth, 4] = pc + 1
                state[DEPTH] = depth + 1
                r[10] = STACK + (depth + 1) * FRAME + FRAME_BYTES
                for k in range(FRAME_BYTES // 8):
                    any64[STACK + (depth + 1) * FRAME + 8 * k] = 0
                stored[(depth + 1) * FRAME : (depth + 1) * FRAME + FRAME_BYTES] = 0
                if steps > limit:
                    state[FAULT] = TOO_LONG
                    break
                pc = code[pc, TARGET]
            else:  # EXIT
                depth = state[DEPTH] - 1
                if depth < 0:
                    break
                for k in range(4):
                    r[6 + k] = frames[depth, k]
                pc = frames[depth, 4]
                state[DEPTH] = depth
                r[10] = STACK + depth * FRAME + FRAME_BYTES
        path ^= state[FAULT] << 8 ^ (pc if state[FAULT] else 0)
        at = path & mask
        while table[at] >= 0 and hashes[table[at]] != path:
            at = (at + 1) & mask
        number = np.int64(table[at])
        if number < 0:
            number = ends[0]
            if number < len(hashes) - 1:
                table[at] = number
                ends[0] += 1
                hashes[number] = path
                for k in range(slots):
                    visits[number, k] = now[0, k]
                    takens[number, k] = now[1, k]
        row[VERDICT] = -1 if state[FAULT] else r[0] & WORD
        row[R0] = r[0]
        row[PATH], row[INSTRUCTIONS], row[TAKEN], row[HELPERS] = number, steps, taken, helpers
        row[LINES_OF_PACKET], row[LINES_OF_MAPS] = state[PACKET_LINES], state[MAP_LINES]
        row[LENGTH], row[METADATA] = state[END] - state[DATA], state[DATA] - state[META]
        row[SENT_TO] = state[REDIRECT] if row[VERDICT] == REDIRECTED else -1
        row[ROW_FAULT], row[FAULT_SLOT], row[ROW_FAULT_ADDRESS] = state[FAULT], pc, state[FAULT_ADDRESS]
        row[ROW_RECORDS], row[ROW_RECORD_BYTES] = state[RECORDS], state[RECORD_BYTES]
        row[ROW_DISCARDED] = state[DISCARDED]
        row[OUT_AT] = ends[1]
        for k in range(row[METADATA] + row[LENGTH]):
            out[ends[1] + k] = memory[state[META] + k]
        ends[1] += row[METADATA] + row[LENGTH]
    return len(begins)


@kernel(types.int64(_bytes, _any32, _any64, _table, _links, types.int64, types.int64, types.int64), _nrt=False)
def put(memory: Array, any32: Array, any64: Array, maps: Array, links: Array, m: int, key: int, value: int) -> int:
    """Put a value under a key, both at addresses, into a map from outside; return 0 or a negative error number."""
    return _update(memory, any32, any64, maps, links, m, key, value, 0)
