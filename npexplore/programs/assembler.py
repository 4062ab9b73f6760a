"""Assembles eBPF programs from text: one instruction a line, in the syntax of the public conformance cases.

.map counts array 4 8 256      name, kind, bytes of a key and a value, entries
lddw r1, map counts
loop: ldxb r2, [r1+12]         a label ends with a colon; % before registers and # comments are ignored
jne r2, 0, loop                a jump to `exit` without such a label goes to the last exit
call map_lookup_elem           a helper by name or number; `call local LABEL`: a subprogram
"""

import re
from collections.abc import Callable, Sequence

from npexplore.errors import InputError, one_of
from npexplore.programs import instructions as isa
from npexplore.programs.helpers import HELPERS
from npexplore.programs.instructions import Instruction
from npexplore.programs.records import MAP_KINDS, MapDefinition, SourceLine

_SIZE_CODES = {name: code for code, (name, _) in isa.SIZES.items()}
_ATOMIC_CODES = {name: code for code, name in isa.ATOMICS.items()}
_PLACE = re.compile(r"\[\s*r(\d+)\s*([+-]\s*\w+)?\s*\]$")


def assemble(source: str, name: str = "text") -> tuple[list[Instruction], list[MapDefinition], dict[int, SourceLine]]:
    """Return the slots of a text, its maps, and the source line of each slot. Raises InputError naming the line."""
    slots: list[Instruction] = []
    maps: list[MapDefinition] = []
    labels: dict[str, int] = {}
    pending: list[tuple[int, str, str]] = []  # (slot, label, location for messages)
    lines: dict[int, SourceLine] = {}
    for number, raw in enumerate(source.splitlines(), 1):
        line = raw.partition("#")[0].replace("%", "").strip()
        while match := re.match(r"(\w+):\s*", line):
            labels[match[1]] = len(slots)
            line = line[match.end() :]
        if not line:
            continue
        where = f"{name}, line {number}: {line!r}"
        try:
            if line.startswith(".map"):
                _, label, kind, *sizes = line.split()
                key, value, entries = (int(size, 0) for size in sizes)
                code = {kind: code for code, kind in MAP_KINDS.items()}[one_of("kind of map", kind, MAP_KINDS.values())]
                maps.append(MapDefinition(label, code, key, value, entries))
                continue
            lines[len(slots)] = SourceLine(name, number, line)
            targets: list[str] = []
            new_slots = _instruction(line, maps, targets)
            pending += [(len(slots), label, where) for label in targets]
            slots += new_slots
        except (LookupError, ValueError, TypeError, StopIteration):
            raise InputError(f"{where} is no eBPF instruction") from None
    last_exit = max((slot for slot, instruction in enumerate(slots) if instruction.opcode == isa.EXIT), default=0)
    for slot, label, where in pending:
        if label not in labels and label != "exit":
            raise InputError(f"{where} goes to {label!r}, which is no label")
        distance = labels.get(label, last_exit) - slot - 1
        instruction = slots[slot]
        by_imm = instruction.opcode in (isa.CALL, isa.JA32)
        slots[slot] = instruction._replace(imm=distance) if by_imm else instruction._replace(offset=distance)
    return slots, maps, lines


def _memory(name: str, operands: Sequence[str]) -> Instruction | None:
    """Return the instruction of an atomic operation, a load or a store; None for other names."""
    if name == "lock":
        words = operands[0].split(maxsplit=2 if operands[0].startswith("fetch") else 1)
        fetch, operation, place = words[0] == "fetch", words[-2], words[-1]
        size = "w" if operation.endswith("32") else "dw"
        imm = _ATOMIC_CODES[operation.removesuffix("32")] | (isa.FETCH if fetch else 0)
        base, offset = _place(place)
        return Instruction(isa.STX | isa.ATOMIC | _SIZE_CODES[size], base, _register(operands[1]), offset, imm)
    if match := re.fullmatch(r"ldx(s?)(b|h|w|dw)", name):
        base, offset = _place(operands[1])
        mode = isa.MEMSX if match[1] else isa.MEM
        return Instruction(isa.LDX | mode | _SIZE_CODES[match[2]], _register(operands[0]), base, offset)
    if match := re.fullmatch(r"st(x?)(b|h|w|dw)", name):
        base, offset = _place(operands[0])
        opcode = isa.MEM | _SIZE_CODES[match[2]]
        if match[1]:
            return Instruction(isa.STX | opcode, base, _register(operands[1]), offset)
        return Instruction(isa.ST | opcode, base, 0, offset, _int32(operands[1]))
    return None


def _arithmetic_or_jump(name: str, operands: Sequence[str], go: Callable[[str], int]) -> list[Instruction]:
    """Return an operation of two operands or a conditional jump; `go` gives the distance to a label."""
    narrow = name.endswith("32")
    word = name.removesuffix("32")
    dst = _register(operands[0])
    if word == "neg":
        return [Instruction(0x80 | (isa.ALU if narrow else isa.ALU64), dst)]
    is_register = re.fullmatch(r"r\d+", operands[1]) is not None
    src, imm = (_register(operands[1]), 0) if is_register else (0, _int32(operands[1]))
    signed = word in ("sdiv", "smod")
    if (word[1:] if signed else word) in isa.ALU_NAMES:
        code = isa.ALU_NAMES.index(word[1:] if signed else word) << 4
        kind = isa.ALU if narrow else isa.ALU64
        return [Instruction(code | 8 * is_register | kind, dst, src, int(signed), imm)]
    code = isa.JUMP_NAMES.index(word) << 4
    return [Instruction(code | 8 * is_register | (isa.JMP32 if narrow else isa.JMP), dst, src, go(operands[2]), imm)]


def _instruction(line: str, maps: list[MapDefinition], targets: list[str]) -> list[Instruction]:
    """Return the slots of one instruction; append the label of its target to `targets`."""
    name, _, operand_text = line.partition(" ")
    operands = [part.strip() for part in operand_text.split(",")] if operand_text.strip() else []

    def go(label: str) -> int:
        if re.fullmatch(r"[+-]\w+", label):
            return int(label, 0)
        targets.append(label)
        return 0

    if name == "lddw":
        dst = _register(operands[0])
        if operands[1].startswith("map "):
            index = [map_definition.name for map_definition in maps].index(operands[1].split()[1])
            return [Instruction(isa.LDDW, dst, isa.MAP_HANDLE, 0, index), Instruction(0)]
        value = int(operands[1], 0)
        value = (value & (1 << 64) - 1) - (value & 1 << 63) * 2
        return [Instruction(isa.LDDW, dst, 0, 0, value), Instruction(0, imm=value >> 32)]
    if name == "exit":
        return [Instruction(isa.EXIT)]
    if name == "call":
        word = operands[0]
        if word.startswith("local "):
            return [Instruction(isa.CALL, 0, isa.LOCAL, 0, go(word.split()[1]))]
        if re.fullmatch(r"r\d+", word):
            return [Instruction(isa.CALLX, _register(word))]
        ids = {helper.name: number for number, helper in HELPERS.items()}
        return [Instruction(isa.CALL, imm=ids[word] if word in ids else int(word, 0))]
    if name in ("ja", "ja32"):
        distance = go(operands[0])
        return [Instruction(isa.JA, 0, 0, distance) if name == "ja" else Instruction(isa.JA32, imm=distance)]
    if memory := _memory(name, operands):
        return [memory]
    if match := re.fullmatch(r"(be|le|bswap|swap)(16|32|64)", name):
        opcode = {"be": 0xDC, "le": 0xD4}.get(match[1], 0xD7)
        return [Instruction(opcode, _register(operands[0]), 0, 0, int(match[2]))]
    if match := re.fullmatch(r"movsx(8|16|32)(32|64)", name):
        kind = isa.ALU if match[2] == "32" else isa.ALU64
        return [Instruction(0xB8 | kind, _register(operands[0]), _register(operands[1]), int(match[1]))]
    return _arithmetic_or_jump(name, operands, go)


def _register(word: str) -> int:
    if not re.fullmatch(r"r\d+", word):
        raise ValueError
    return int(word[1:])


def _place(word: str) -> tuple[int, int]:
    """Return the base register and the offset of a memory operand."""
    match = _PLACE.match(word)
    if match is None:
        raise ValueError
    return int(match[1]), int((match[2] or "0").replace(" ", ""), 0)


def _int32(word: str) -> int:
    value = int(word, 0) & 0xFFFFFFFF
    return value - (value & 0x80000000) * 2
