"""How many microengine instructions the kernel's offload compiler makes of each eBPF instruction, and which commands.

Microengines compute in 32 bits: a 64-bit register is a pair, the upper half of a 32-bit result is cleared where it is
read. Packet bytes come in blocks of transfer registers, the stack lies in local memory.
Source: Linux, drivers/net/ethernet/netronome/nfp/bpf/jit.c (GPL-2.0 or BSD-2-Clause), its rules in our words.
"""

from __future__ import annotations

from dataclasses import dataclass

from npexplore.errors import RefusedError
from npexplore.programs import instructions as isa
from npexplore.programs.instructions import Instruction
from npexplore.programs.pointers import CONTEXT, MAP_VALUE, PACKET, STACK, Pointer, pointers
from npexplore.programs.records import Program, reachable
from npexplore.programs.upper_halves import needs_clearing

LOW = (1 << 32) - 1
BLOCK_BYTES = 64  # of a packet in transfer registers
DIRECT_BLOCK_BYTES = 32  # a longer block needs its length in a register
NEAR_STACK_BYTES = 64  # of local memory that instructions reach by its first pointer
WIDE_IMMEDIATE, NARROW_IMMEDIATE = 0xFF, 0x7F  # constants that stand in an instruction: of ALU and of memory commands
PROLOGUE, EPILOGUE = 2, 10  # instructions before and behind a program: the packet's length, the verdict
LOOKUP, ATOMIC_ADD, MULTIPLY_64, MULTIPLY_32 = 3, 3, 7, 6
MOVE_POINTER = 6  # of local memory to a key and back


@dataclass(frozen=True)
class Compiled:
    """What an eBPF instruction becomes: instructions if no branch is taken, and up to the branch if it is.

    read, write, add: commands to the packet's memory (`packet`) or the maps' memory (`map`); words: of 32 bits that the
    command moves.
    """

    instructions: int
    if_taken: int = 0
    command: str = ""
    words: int = 0


def compiled(program: Program) -> dict[int, Compiled]:
    """Return what each reachable instruction becomes, by slot; raises RefusedError for what the card does not run."""
    reached = sorted(reachable(program))
    types = pointers(program)
    clears = needs_clearing(program, reached)
    blocks = _blocks(program, reached, types)
    depth = _stack_bytes(program, reached, types)
    return {slot: _one(program, slot, types, clears, blocks, depth) for slot in reached}


def _one(
    program: Program, slot: int, types: dict[int, dict[int, Pointer]], clears: set[int],
    blocks: dict[int, tuple[int, int, bool]], depth: int,
) -> Compiled:  # fmt: skip
    one = program.code[slot]
    kind, clear = one.opcode & 7, int(slot in clears)
    if one.opcode == isa.LDDW:
        low, high = one.imm & LOW, one.imm >> 32 & LOW
        return Compiled(2 if one.src else constant(low) + (1 if low == high else constant(high)))
    if kind in (isa.ALU, isa.ALU64):
        return Compiled(_alu(one) + (clear if kind == isa.ALU else 0))
    if kind in (isa.JMP, isa.JMP32):
        if one.opcode == isa.CALL:
            return _call(program, slot, types, depth)
        if one.opcode in (isa.JA, isa.JA32, isa.EXIT):
            return Compiled(1, 1)
        return _branch(one)
    size = isa.SIZES[one.opcode & 0x18][1]
    words = -(-size // 4)
    if kind == isa.LDX:
        base = types[slot].get(one.src)
        if base is not None and base.kind == CONTEXT:
            return Compiled(2)
        if base is not None and base.kind == PACKET:
            start, end, first = blocks[slot]
            pieces = _pieces(one.offset - start, size)
            if not first:
                return Compiled(pieces + clear)
            setup = (start > NARROW_IMMEDIATE) + (end - start > DIRECT_BLOCK_BYTES)
            return Compiled(setup + 1 + pieces + clear, command="read.packet", words=-(-(end - start) // 4))
        if base is not None and base.kind == STACK:
            return Compiled(_on_stack(depth + base.offset + one.offset, size, clear=size < 8) + clear)
        if base is not None and base.kind == MAP_VALUE:
            address = 0 if one.offset == 0 else 2 + _load(one.offset)
            return Compiled(address + 1 + words + clear, command="read.map", words=words)
    elif kind in (isa.ST, isa.STX):
        base = types[slot].get(one.dst)
        if kind == isa.STX and one.opcode & 0xE0 == isa.ATOMIC:
            if base is not None and base.kind == MAP_VALUE and one.imm == 0:
                return Compiled(ATOMIC_ADD + (0 if one.offset == 0 else 2), command="add.map", words=words)
        elif base is not None and base.kind == PACKET:
            return Compiled(words + 1 + (one.offset > NARROW_IMMEDIATE), command="write.packet", words=words)
        elif base is not None and base.kind == STACK and kind == isa.STX:
            return Compiled(_on_stack(depth + base.offset + one.offset, size, clear=False))
        elif base is not None and base.kind == MAP_VALUE:
            address = 0 if one.offset == 0 else 2 + _load(one.offset)
            return Compiled(address + 1 + words, command="write.map", words=words)
    raise RefusedError(f"{program.path}: the card's compiler does not take {program.place(slot)}")


def constant(value: int) -> int:
    """Return how many instructions load 32 bits: one where 16 of them, shifted by whole bytes, or their inverse do."""
    packs = (value & 0xFFFF0000 == 0, value & 0xFF0000FF == 0, value & 0x0000FFFF == 0)
    other = ~value & LOW
    inverse = (other & 0xFFFF0000 == 0, other & 0xFF0000FF == 0, other & 0x0000FFFF == 0)
    return 1 if any(packs) or any(inverse) else 2


def _load(value: int, limit: int = WIDE_IMMEDIATE) -> int:
    """Return how many instructions bring a constant that no instruction holds into a register."""
    return 0 if 0 <= value & LOW <= limit else constant(value & LOW)


def _with_constant(code: int, value: int) -> int:
    """Return the instructions of an operation of 32 bits with a constant."""
    value &= LOW
    if code == 0x50 and value in (0, LOW):  # and
        return 1 if value == 0 else 0
    if code in (0x40, 0xA0) and value in (0, LOW):  # or, xor
        return 1 if value == LOW else 0
    return 1 + _load(value)


def _alu(one: Instruction) -> int:
    """Return the instructions of an operation, without those that clear an upper half."""
    wide, code, by_register = one.opcode & 7 == isa.ALU64, one.opcode & 0xF0, bool(one.opcode & 8)
    value = one.imm
    if code in (0x00, 0x10) and not by_register and value < 0:  # adding -8 is subtracting 8
        value = -value
    low, high = value & LOW, value >> 32 & LOW
    if code == 0xB0:  # move
        if by_register:
            return 2 if wide else 1
        return constant(low) + (constant(high) if wide else 0)
    if code == 0x20:
        return (MULTIPLY_64 if wide else MULTIPLY_32) + (0 if by_register else _load(low))
    if code in (0x60, 0x70, 0xC0):  # shifts
        return (3 if code == 0xC0 else 2) + (6 if by_register else 0) if wide else (1 + int(code == 0xC0))
    if code == 0xD0:
        return 5 if one.imm == 64 else 2
    if code in (0x30, 0x90):
        return 2 * MULTIPLY_64  # by the reciprocal of a constant
    if code == 0x80:
        return 2 if wide else 1
    if by_register:
        return 2 if wide else 1
    return _with_constant(code, low) + (_with_constant(code, high) if wide else 0)


def _branch(one: Instruction) -> Compiled:
    """Return the instructions of a conditional jump. One that looks at both halves leaves at the lower, if it can."""
    code, by_register, wide = one.opcode & 0xF0, bool(one.opcode & 8), one.opcode & 7 == isa.JMP
    low, high = one.imm & LOW, one.imm >> 32 & LOW
    if code == 0x10:  # equal
        if by_register:
            count = 4 if wide else 2
        else:
            count = ((1 + _load(low)) if low else 0) + ((1 + _load(high)) if high and wide else 0) + (2 if wide else 1)
            count = count if wide else 2 + _load(low)
        return Compiled(count, count)
    if code in (0x40, 0x50):  # any bit set, not equal
        if not by_register and low == 0 and code == 0x50:
            return Compiled(2, 2)
        first = 2 + (0 if by_register else _load(low))
        second = 0 if not wide or (code == 0x40 and not by_register and not high) else 2
        second += 0 if by_register or not second else _load(high)
        return Compiled(first + second, first)
    count = 2 + (0 if by_register else _load(low))
    if wide:
        count += 1 + (0 if by_register else _load(high))
    return Compiled(count, count)


def _call(program: Program, slot: int, types: dict[int, dict[int, Pointer]], depth: int) -> Compiled:
    one, key = program.code[slot], types[slot].get(2)
    if one.src == isa.HELPER and one.imm == 1:
        far = key is not None and key.kind == STACK and key.offset + depth != 0
        count = LOOKUP + (MOVE_POINTER if far else 0)
        return Compiled(count, count)
    raise RefusedError(f"{program.path}: the network processor's costs know no {program.place(slot)}")


def _pieces(at: int, size: int) -> int:
    """Return the instructions that bring so many bytes from transfer registers into a register pair."""
    if at % 4 == 0:
        return -(-size // 4)
    words = (at % 4 + size + 3) // 4
    return words if size <= 4 else words + 1


def _on_stack(at: int, size: int, *, clear: bool) -> int:
    """Return the instructions that move bytes between local memory and registers."""
    pieces, done = 0, 0
    while done < size:
        step = min(size - done, 4 - done % 4, 4 - (at + done) % 4)
        pieces, done = pieces + 1, done + step
    if at + size <= NEAR_STACK_BYTES:
        return pieces
    return pieces + 2 + (2 if clear else 3)


def _blocks(
    program: Program, reached: list[int], types: dict[int, dict[int, Pointer]]
) -> dict[int, tuple[int, int, bool]]:  # fmt: skip
    """Return first and last byte of the block that each load of packet bytes takes part in, and whether it fetches it.

    A block ends at a place that jumps go to, at a write to the packet, a call, and a load from elsewhere.
    """
    targets = {slot + 1 + away for slot in reached if (away := program.code[slot].target_offset) is not None}
    groups: list[tuple[list[int], Pointer]] = []
    alive = False
    for slot in reached:
        one, alive = program.code[slot], alive and slot not in targets
        if one.opcode == isa.CALL:
            alive = False
        elif one.opcode & 7 in (isa.ST, isa.STX):
            base = types[slot].get(one.dst)
            alive = alive and not (base is not None and base.kind == PACKET)
        elif one.opcode & 7 == isa.LDX:
            base = types[slot].get(one.src)
            if base is None or base.kind != PACKET:
                alive = False
                continue
            if alive and groups and groups[-1][1] == base:
                ends = [(program.code[k].offset, _end(program.code[k])) for k in [*groups[-1][0], slot]]
                if max(end for _, end in ends) - min(start for start, _ in ends) <= BLOCK_BYTES:
                    groups[-1][0].append(slot)
                    continue
            groups.append(([slot], base))
            alive = True
    blocks: dict[int, tuple[int, int, bool]] = {}
    for slots, _ in groups:
        start = min(program.code[k].offset for k in slots)
        end = max(_end(program.code[k]) for k in slots)
        blocks |= {k: (start, end, k == slots[0]) for k in slots}
    return blocks


def _end(one: Instruction) -> int:
    return one.offset + isa.SIZES[one.opcode & 0x18][1]


def _stack_bytes(program: Program, reached: list[int], types: dict[int, dict[int, Pointer]]) -> int:
    """Return how deep the stack is, in bytes, as the verifier counts it: multiples of 4."""
    depth = 0
    for slot in reached:
        one = program.code[slot]
        register = one.src if one.opcode & 7 == isa.LDX else one.dst
        if one.opcode & 7 in (isa.LDX, isa.ST, isa.STX):
            base = types[slot].get(register)
            if base is not None and base.kind == STACK:
                depth = max(depth, -(base.offset + one.offset))
    return -(-depth // 4) * 4
