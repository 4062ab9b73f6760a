"""Helpers that an eBPF program calls: checksums, packet ends, rings and events, routes, and the maps' own."""

import numpy as np

from npexplore._kernels.ebpf_layout import *
from npexplore._kernels.ebpf_maps import _delete, _find, _lookup, _readable, _update
from npexplore.jit import kernel


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
