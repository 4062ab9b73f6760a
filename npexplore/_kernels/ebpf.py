"""Runs eBPF programs (RFC 9669) on packets, with the XDP context, maps and helpers of the Linux kernel.

One array of bytes holds everything a program may touch; an address is an offset in it, so that the 32-bit pointers of
`struct xdp_md` are addresses. Each access must lie in one region: packet (with its metadata), a frame of the stack, the
context, the value of a map entry. A map's handle is HANDLE + its number. Hash tables chain entries through `links`.
"""

import numpy as np

from npexplore._kernels.ebpf_arithmetic import _access, _alu, _atomic, _holds, _split
from npexplore._kernels.ebpf_helpers import _help
from npexplore._kernels.ebpf_layout import *
from npexplore._kernels.ebpf_maps import _region, _update
from npexplore.jit import kernel, types

_bytes = types.uint8[::1]
_packets = types.Array(types.uint8, 1, "C", readonly=True)
_any16, _any32, _any64 = (
    types.Array(kind, 1, "A", aligned=False) for kind in (types.uint16, types.uint32, types.int64)
)
_ints, _table, _links, _counts = types.int64[::1], types.int64[:, ::1], types.int32[::1], types.int32[:, ::1]
_readonly = types.Array(types.int64, 1, "C", readonly=True)


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
