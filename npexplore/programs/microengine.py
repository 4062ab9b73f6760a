"""Counts the microengine instructions and commands that the kernel's offload compiler generates for eBPF code.

Microengines compute in 32 bits: a 64-bit register is a pair of registers, and the upper half of a 32-bit result is
cleared where it is read. Packet bytes are read into blocks of transfer registers; the stack is in local memory.
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
NEAR_STACK_BYTES = 64  # of local memory that instructions address by its first pointer
WIDE_IMMEDIATE, NARROW_IMMEDIATE = 0xFF, 0x7F  # largest constants inside an instruction: ALU, memory command
PROLOGUE, EPILOGUE = 2, 10  # instructions around a program: the packet's length, the verdict
LOOKUP, ATOMIC_ADD, MULTIPLY_64, MULTIPLY_32 = 3, 3, 7, 6
MOVE_POINTER = 6  # instructions to move the pointer of local memory to a key and back


@dataclass(frozen=True)
class Compiled:
    """The code of an eBPF instruction: number of instructions without a taken branch, and if_taken up to a taken one.

    command: read, write or add, in the packet's memory or the maps' memory, such as `read.packet`; words: 32-bit words
    that the command moves.
    """

    instructions: int
    if_taken: int = 0
    command: str = ""
    words: int = 0


def compiled(program: Program) -> dict[int, Compiled]:
    """Return the code of each reachable instruction, by slot; raises RefusedError for what the card cannot run."""
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
    instruction = program.code[slot]
    kind, clear = instruction.opcode & 7, int(slot in clears)
    if instruction.opcode == isa.LDDW:
        low, high = instruction.imm & LOW, instruction.imm >> 32 & LOW
        return Compiled(2 if instruction.src else constant(low) + (1 if low == high else constant(high)))
    if kind in (isa.ALU, isa.ALU64):
        return Compiled(_alu(instruction) + (clear if kind == isa.ALU else 0))
    if kind in (isa.JMP, isa.JMP32):
        if instruction.opcode == isa.CALL:
            return _call(program, slot, types, depth)
        if instruction.opcode in (isa.JA, isa.JA32, isa.EXIT):
            return Compiled(1, 1)
        return _branch(instruction)
    size = isa.SIZES[instruction.opcode & 0x18][1]
    words = -(-size // 4)
    if kind == isa.LDX:
        base = types[slot].get(instruction.src)
        if base is not None and base.kind == CONTEXT:
            return Compiled(2)
        if base is not None and base.kind == PACKET:
            start, end, first = blocks[slot]
            pieces = _pieces(instruction.offset - start, size)
            if not first:
                return Compiled(pieces + clear)
            setup = (start > NARROW_IMMEDIATE) + (end - start > DIRECT_BLOCK_BYTES)
            return Compiled(setup + 1 + pieces + clear, command="read.packet", words=-(-(end - start) // 4))
        if base is not None and base.kind == STACK:
            return Compiled(_on_stack(depth + base.offset + instruction.offset, size, clear=size < 8) + clear)
        if base is not None and base.kind == MAP_VALUE:
            address = 0 if instruction.offset == 0 else 2 + _load(instruction.offset)
            return Compiled(address + 1 + words + clear, command="read.map", words=words)
    elif kind in (isa.ST, isa.STX):
        base = types[slot].get(instruction.dst)
        if kind == isa.STX and instruction.opcode & 0xE0 == isa.ATOMIC:
            if base is not None and base.kind == MAP_VALUE and instruction.imm == 0:
                return Compiled(ATOMIC_ADD + (0 if instruction.offset == 0 else 2), command="add.map", words=words)
        elif base is not None and base.kind == PACKET:
            return Compiled(words + 1 + (instruction.offset > NARROW_IMMEDIATE), command="write.packet", words=words)
        elif base is not None and base.kind == STACK and kind == isa.STX:
            return Compiled(_on_stack(depth + base.offset + instruction.offset, size, clear=False))
        elif base is not None and base.kind == MAP_VALUE:
            address = 0 if instruction.offset == 0 else 2 + _load(instruction.offset)
            return Compiled(address + 1 + words, command="write.map", words=words)
    raise RefusedError(f"{program.path}: the card's compiler does not take {program.place(slot)}")


def constant(value: int) -> int:
    """Return the instructions that load 32 bits: 1 if a 16-bit value shifted by whole bytes or its inverse, else 2."""
    fits = (value & 0xFFFF0000 == 0, value & 0xFF0000FF == 0, value & 0x0000FFFF == 0)
    inverted = ~value & LOW
    inverse_fits = (inverted & 0xFFFF0000 == 0, inverted & 0xFF0000FF == 0, inverted & 0x0000FFFF == 0)
    return 1 if any(fits) or any(inverse_fits) else 2


def _load(value: int, limit: int = WIDE_IMMEDIATE) -> int:
    """Return the instructions that load a constant into a register; 0 if it fits into an instruction (up to limit)."""
    return 0 if 0 <= value & LOW <= limit else constant(value & LOW)


def _with_constant(code: int, value: int) -> int:
    """Return the instructions of a 32-bit operation with a constant."""
    value &= LOW
    if code == 0x50 and value in (0, LOW):  # and
        return 1 if value == 0 else 0
    if code in (0x40, 0xA0) and value in (0, LOW):  # or, xor
        return 1 if value == LOW else 0
    return 1 + _load(value)


def _alu(one: Instruction) -> int:
    """Return the instructions of an arithmetic operation, without those that clear an upper half."""
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
    """Return the instructions of a conditional jump; a test of both halves may branch after the lower half."""
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
        lower_half = 2 + (0 if by_register else _load(low))
        upper_half = 0 if not wide or (code == 0x40 and not by_register and not high) else 2
        upper_half += 0 if by_register or not upper_half else _load(high)
        return Compiled(lower_half + upper_half, lower_half)
    count = 2 + (0 if by_register else _load(low))
    if wide:
        count += 1 + (0 if by_register else _load(high))
    return Compiled(count, count)


def _call(program: Program, slot: int, types: dict[int, dict[int, Pointer]], depth: int) -> Compiled:
    instruction, key = program.code[slot], types[slot].get(2)
    if instruction.src == isa.HELPER and instruction.imm == 1:
        key_not_first = key is not None and key.kind == STACK and key.offset + depth != 0
        count = LOOKUP + (MOVE_POINTER if key_not_first else 0)
        return Compiled(count, count)
    raise RefusedError(f"{program.path}: the network processor's costs know no {program.place(slot)}")


def _pieces(at: int, size: int) -> int:
    """Return the instructions that copy `size` bytes from transfer registers into a register pair."""
    if at % 4 == 0:
        return -(-size // 4)
    words = (at % 4 + size + 3) // 4
    return words if size <= 4 else words + 1


def _on_stack(at: int, size: int, *, clear: bool) -> int:
    """Return the instructions that move bytes between local memory and registers."""
    moves, moved = 0, 0
    while moved < size:
        step = min(size - moved, 4 - moved % 4, 4 - (at + moved) % 4)
        moves, moved = moves + 1, moved + step
    if at + size <= NEAR_STACK_BYTES:
        return moves
    return moves + 2 + (2 if clear else 3)


def _blocks(
    program: Program, reached: list[int], types: dict[int, dict[int, Pointer]]
) -> dict[int, tuple[int, int, bool]]:  # fmt: skip
    """Return start and end of the block of each load of packet bytes, and whether the load fetches the block.

    A block ends at a jump target, at a write to the packet, at a call, and at a load from other memory.
    """
    targets = {slot + 1 + distance for slot in reached if (distance := program.code[slot].target_offset) is not None}
    groups: list[tuple[list[int], Pointer]] = []
    is_open = False
    for slot in reached:
        instruction, is_open = program.code[slot], is_open and slot not in targets
        if instruction.opcode == isa.CALL:
            is_open = False
        elif instruction.opcode & 7 in (isa.ST, isa.STX):
            base = types[slot].get(instruction.dst)
            is_open = is_open and not (base is not None and base.kind == PACKET)
        elif instruction.opcode & 7 == isa.LDX:
            base = types[slot].get(instruction.src)
            if base is None or base.kind != PACKET:
                is_open = False
                continue
            if is_open and groups and groups[-1][1] == base:
                ends = [(program.code[member].offset, _end(program.code[member])) for member in [*groups[-1][0], slot]]
                if max(end for _, end in ends) - min(start for start, _ in ends) <= BLOCK_BYTES:
                    groups[-1][0].append(slot)
                    continue
            groups.append(([slot], base))
            is_open = True
    blocks: dict[int, tuple[int, int, bool]] = {}
    for slots, _ in groups:
        start = min(program.code[member].offset for member in slots)
        end = max(_end(program.code[member]) for member in slots)
        blocks |= {member: (start, end, member == slots[0]) for member in slots}
    return blocks


def _end(one: Instruction) -> int:
    return one.offset + isa.SIZES[one.opcode & 0x18][1]


def _stack_bytes(program: Program, reached: list[int], types: dict[int, dict[int, Pointer]]) -> int:
    """Return the depth of the stack in bytes, as the verifier counts it: a multiple of 4."""
    depth = 0
    for slot in reached:
        instruction = program.code[slot]
        register = instruction.src if instruction.opcode & 7 == isa.LDX else instruction.dst
        if instruction.opcode & 7 in (isa.LDX, isa.ST, isa.STX):
            base = types[slot].get(register)
            if base is not None and base.kind == STACK:
                depth = max(depth, -(base.offset + instruction.offset))
    return -(-depth // 4) * 4
