"""Memory that an eBPF program may touch, and its maps: entries are found, put in and taken out as in Linux."""

import numpy as np

from npexplore._kernels.ebpf_layout import *
from npexplore.jit import kernel


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
