"""Finds the registers of an eBPF program that hold pointers, in one pass over its code along its jumps.

The kernel's verifier only accepts programs in which a register that an instruction uses always holds the same kind of
pointer, so one path to each instruction is enough.
"""

from __future__ import annotations

from typing import NamedTuple

from npexplore.programs import instructions as isa
from npexplore.programs.instructions import Instruction
from npexplore.programs.records import Program

CONTEXT, PACKET, STACK, MAP_VALUE, MAP = "context", "packet", "stack", "map value", "map"
DATA, DATA_END = (0, 4)  # offsets of struct xdp_md
RETURNS_VALUE = 1  # helper map_lookup_elem


class Pointer(NamedTuple):
    """A pointer: the region, the constant offset in it, and the number of the unknown offset added to it (0: none)."""

    kind: str
    offset: int = 0
    base: int = 0


Registers = dict[int, Pointer]


def pointers(program: Program) -> dict[int, Registers]:
    """Return the pointers in registers before each reachable instruction: slot -> register -> pointer."""
    pointers_at: dict[int, Registers] = {}
    pending: list[tuple[int, Registers, dict[int, Pointer]]] = [
        (program.entry, {1: Pointer(CONTEXT), 10: Pointer(STACK)}, {})
    ]
    while pending:
        slot, registers, spilled = pending.pop()
        if slot in pointers_at:
            continue
        pointers_at[slot] = dict(registers)
        instruction, after = program.code[slot], dict(registers)
        spilled = dict(spilled)
        _step(instruction, slot, after, spilled)
        if (distance := instruction.target_offset) is not None:
            pending.append((slot + 1 + distance, after, spilled))
        if instruction.opcode not in (isa.JA, isa.JA32, isa.EXIT):
            pending.append((slot + (2 if instruction.opcode == isa.LDDW else 1), after, spilled))
    return pointers_at


def _step(one: Instruction, slot: int, registers: Registers, spilled: dict[int, Pointer]) -> None:
    """Update the registers and spilled pointers by one instruction."""
    kind, code, by_register = one.opcode & 7, one.opcode & 0xF0, bool(one.opcode & 8)
    if one.opcode == isa.LDDW:
        registers.pop(one.dst, None)
        if one.src == isa.MAP_HANDLE:
            registers[one.dst] = Pointer(MAP)
        elif one.src == isa.MAP_VALUE:
            registers[one.dst] = Pointer(MAP_VALUE)
    elif one.opcode == isa.CALL:
        for register in range(6):
            registers.pop(register, None)
        if one.src == isa.HELPER and one.imm == RETURNS_VALUE:
            registers[0] = Pointer(MAP_VALUE, base=slot)
    elif kind == isa.LDX:
        base = registers.get(one.src)
        registers.pop(one.dst, None)
        if base == Pointer(CONTEXT) and one.offset == DATA:
            registers[one.dst] = Pointer(PACKET)
        elif base is not None and base.kind == STACK and base.offset + one.offset in spilled:
            registers[one.dst] = spilled[base.offset + one.offset]
    elif kind in (isa.ST, isa.STX):
        base = registers.get(one.dst)
        if base is not None and base.kind == STACK:
            spilled.pop(base.offset + one.offset, None)
            if kind == isa.STX and one.src in registers and one.opcode & 0x18 == 0x18:
                spilled[base.offset + one.offset] = registers[one.src]
    elif kind in (isa.ALU, isa.ALU64):
        _arithmetic(one, slot, registers, wide=kind == isa.ALU64, code=code, by_register=by_register)


def _arithmetic(
    one: Instruction, slot: int, registers: Registers, *, wide: bool, code: int, by_register: bool
) -> None:  # fmt: skip
    destination, source = registers.get(one.dst), registers.get(one.src) if by_register else None
    registers.pop(one.dst, None)
    if not wide:
        return
    if code == 0xB0 and source is not None:
        registers[one.dst] = source
    elif code == 0x00:
        pointer = destination or source
        if pointer is not None and not (destination and source):
            moved = (
                pointer._replace(base=slot + 1) if by_register else pointer._replace(offset=pointer.offset + one.imm)
            )
            registers[one.dst] = moved
    elif code == 0x10 and destination is not None and not by_register:
        registers[one.dst] = destination._replace(offset=destination.offset - one.imm)
