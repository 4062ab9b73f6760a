"""Slots of eBPF code (8 bytes, RFC 9669 section 3): opcode, two registers, offset, immediate; their text.

A load of a 64-bit constant takes two slots; the second has opcode 0. Distances of jumps and calls are in slots.
"""

import struct
from collections.abc import Iterable
from typing import NamedTuple

SLOT = struct.Struct("<BBhi")
LDDW, CALL, CALLX, EXIT, JA, JA32 = 0x18, 0x85, 0x8D, 0x95, 0x05, 0x06
LD, LDX, ST, STX, ALU, JMP, JMP32, ALU64 = range(8)  # classes
ALU_NAMES = ("add", "sub", "mul", "div", "or", "and", "lsh", "rsh", "neg", "mod", "xor", "mov", "arsh")
JUMP_NAMES = ("ja", "jeq", "jgt", "jge", "jset", "jne", "jsgt", "jsge", "call", "exit", "jlt", "jle", "jslt", "jsle")
SIZES = {0x10: ("b", 1), 0x08: ("h", 2), 0x00: ("w", 4), 0x18: ("dw", 8)}
MEM, MEMSX, ATOMIC = 0x60, 0x80, 0xC0
ATOMICS = {0x00: "add", 0x40: "or", 0x50: "and", 0xA0: "xor", 0xE1: "xchg", 0xF1: "cmpxchg"}
FETCH = 1
MAP_HANDLE, MAP_VALUE, FUNCTION = 1, 2, 4  # source register of LDDW: kind of the constant
HELPER, LOCAL, KERNEL_FUNCTION = 0, 1, 2  # source register of CALL: kind of the function


class Instruction(NamedTuple):
    """One slot: fields as RFC 9669 names them; `imm` of LDDW is the whole constant.

    Example:
        >>> from npexplore.programs import Instruction
        >>> Instruction(0xB7, imm=1)
        Instruction(opcode=183, dst=0, src=0, offset=0, imm=1)
    """

    opcode: int
    dst: int = 0
    src: int = 0
    offset: int = 0
    imm: int = 0

    @property
    def is_jump(self) -> bool:
        """Is it a conditional jump?"""
        return self.opcode & 7 in (JMP, JMP32) and 0x10 <= self.opcode & 0xF0 <= 0xD0 and not self.is_call_or_exit

    @property
    def is_call_or_exit(self) -> bool:
        """Is it a call of any kind, or the end of a function?"""
        return self.opcode in (CALL, CALLX, EXIT)

    @property
    def called_register(self) -> int:
        """Register that holds the helper's number of a CALLX: `dst`, or `imm` (clang before version 19)."""
        return self.imm if self.dst == 0 and 0 < self.imm <= 10 else self.dst

    @property
    def target_offset(self) -> int | None:
        """Distance in slots from the next slot to the target of a jump or local call; None for other instructions."""
        if self.opcode == JA32 or (self.opcode == CALL and self.src == LOCAL):
            return self.imm
        return self.offset if self.opcode == JA or self.is_jump else None


def decode(code: bytes) -> list[Instruction]:
    """Return the slots of machine code; LDDW holds its whole constant, its second slot is unchanged."""
    slots = [Instruction(op, reg & 15, reg >> 4, off, imm) for op, reg, off, imm in SLOT.iter_unpack(code)]
    for slot, instruction in enumerate(slots[:-1]):
        if instruction.opcode == LDDW and (slot == 0 or slots[slot - 1].opcode != LDDW):
            slots[slot] = instruction._replace(imm=(instruction.imm & 0xFFFFFFFF) | slots[slot + 1].imm << 32)
    return slots


def encode(slots: Iterable[Instruction]) -> bytes:
    """Return machine code, the inverse of `decode`."""
    code = bytearray()
    for instruction in slots:
        imm = (instruction.imm & 0xFFFFFFFF) - (instruction.imm & 0x80000000) * 2
        code += SLOT.pack(instruction.opcode, instruction.src << 4 | instruction.dst, instruction.offset, imm)
    return bytes(code)


def text(one: Instruction) -> str:
    """Return an instruction in the syntax of `assemble`; an unknown instruction as its opcode."""
    kind, code, size = one.opcode & 7, one.opcode >> 4, SIZES[one.opcode & 0x18][0]
    dst, src = f"r{one.dst}", f"r{one.src}"
    value = src if one.opcode & 8 else str(one.imm)
    match kind:
        case _ if one.opcode == LDDW:
            return f"lddw {dst}, {hex(one.imm & (1 << 64) - 1)}"
        case _ if one.opcode == CALL:
            return f"call local {one.imm:+d}" if one.src == LOCAL else f"call {one.imm}"
        case _ if one.opcode == CALLX:
            return f"call r{one.called_register}"
        case _ if one.opcode == JA32:
            return f"ja32 {one.imm:+d}"
        case _ if kind in (ALU, ALU64) and code == 0xD:
            return f"{'bswap' if kind == ALU64 else 'be' if one.opcode & 8 else 'le'}{one.imm} {dst}"
        case _ if kind in (ALU, ALU64) and code < 0xD:
            wide = "32" if kind == ALU else ""
            name = ALU_NAMES[code]
            if name == "mov" and one.offset:
                return f"movsx{one.offset}{'32' if kind == ALU else '64'} {dst}, {src}"
            signed = "s" if one.offset else ""
            return f"neg{wide} {dst}" if name == "neg" else f"{signed}{name}{wide} {dst}, {value}"
        case _ if kind in (JMP, JMP32) and code < 0xE:
            name = JUMP_NAMES[code] + ("32" if kind == JMP32 else "")
            if code in (0, 8, 9):
                return f"{name} {one.offset:+d}" if code == 0 else name
            return f"{name} {dst}, {value}, {one.offset:+d}"
        case _ if kind == LDX and one.opcode & 0xE0 in (MEM, MEMSX):
            return f"ldx{'s' if one.opcode & 0xE0 == MEMSX else ''}{size} {dst}, [{src}{one.offset:+d}]"
        case _ if kind in (ST, STX) and one.opcode & 0xE0 == MEM:
            return f"st{'x' if kind == STX else ''}{size} [{dst}{one.offset:+d}], {src if kind == STX else one.imm}"
        case _ if kind == STX and one.opcode & 0xE0 == ATOMIC and (one.imm in ATOMICS or one.imm & ~FETCH in ATOMICS):
            fetch = one.imm not in ATOMICS
            name = ATOMICS[one.imm & ~FETCH if fetch else one.imm] + ("32" if size == "w" else "")
            return f"lock {'fetch ' if fetch else ''}{name} [{dst}{one.offset:+d}], {src}"
    return f"opcode {one.opcode:#04x}"
