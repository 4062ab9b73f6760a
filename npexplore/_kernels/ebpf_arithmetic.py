"""Instructions of eBPF that stay inside registers and memory: arithmetic, conditions, loads, stores, atomics."""

import numpy as np

from npexplore._kernels.ebpf_helpers import _signed
from npexplore._kernels.ebpf_layout import *
from npexplore.jit import kernel


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
