"""Finds the 32-bit results of an eBPF program that are read as 64 bits, so that their upper half must be cleared.

Liveness of upper halves, backwards over the flow graph until nothing changes. Instructions that read 64 bits: Linux,
kernel/bpf/verifier.c, `is_reg64`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from npexplore.programs import instructions as isa
from npexplore.programs.instructions import Instruction
from npexplore.programs.records import Program

RESULT = 0  # register
ARGUMENTS = (1, 2, 3, 4, 5)


def needs_clearing(program: Program, reached: Sequence[int]) -> set[int]:
    """Return the slots of 32-bit results whose upper half is read."""
    successors_of: dict[int, list[int]] = {}
    predecessors: defaultdict[int, list[int]] = defaultdict(list)
    for slot in reached:
        instruction = program.code[slot]
        successors = (
            []
            if instruction.opcode in (isa.JA, isa.JA32, isa.EXIT)
            else [slot + (2 if instruction.opcode == isa.LDDW else 1)]
        )
        if (distance := instruction.target_offset) is not None:
            successors.append(slot + 1 + distance)
        successors_of[slot] = successors
        for successor in successors:
            predecessors[successor].append(slot)
    live: dict[int, frozenset[int]] = dict.fromkeys(reached, frozenset())
    pending = list(reached)
    while pending:
        slot = pending.pop()
        instruction = program.code[slot]
        live_after = frozenset[int]().union(*(live[successor] for successor in successors_of[slot]))
        live_before = (live_after - _written(instruction)) | _read_whole(instruction)
        if live_before != live[slot]:
            live[slot] = live_before
            pending += predecessors[slot]
    return {
        slot
        for slot in reached
        if is_32_bits(program.code[slot])
        and any(program.code[slot].dst in live[successor] for successor in successors_of[slot])
    }


def is_32_bits(one: Instruction) -> bool:
    """Return whether an instruction writes only the lower half of a register."""
    kind = one.opcode & 7
    if kind == isa.LDX:
        return one.opcode & 0x18 != 0x18
    return kind == isa.ALU and not (one.opcode & 0xF0 == 0xD0 and one.imm == 64)


def _written(one: Instruction) -> frozenset[int]:
    if one.opcode == isa.CALL:
        return frozenset((RESULT, *ARGUMENTS))
    if one.opcode & 7 in (isa.ALU, isa.ALU64, isa.LDX) or one.opcode == isa.LDDW:
        return frozenset((one.dst,))
    return frozenset()


def _read_whole(one: Instruction) -> frozenset[int]:
    """Return the registers that an instruction reads as 64 bits."""
    kind, code, by_register = one.opcode & 7, one.opcode & 0xF0, bool(one.opcode & 8)
    if one.opcode == isa.CALL:
        return frozenset(ARGUMENTS)
    if one.opcode == isa.EXIT:
        return frozenset((RESULT,))
    if kind == isa.ALU64:
        read = set() if code == 0xB0 else {one.dst}
        return frozenset(read | ({one.src} if by_register and code != 0xD0 else set()))
    if kind == isa.ALU and code == 0xD0 and one.imm == 64:
        return frozenset((one.dst,))
    if kind == isa.JMP and one.opcode != isa.JA:
        return frozenset({one.dst} | ({one.src} if by_register else set()))
    if kind == isa.LDX:
        return frozenset((one.src,))
    if kind in (isa.ST, isa.STX):
        wide = kind == isa.STX and one.opcode & 0x18 == 0x18
        return frozenset({one.dst} | ({one.src} if wide else set()))
    return frozenset()
