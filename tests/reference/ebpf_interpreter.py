"""A plain interpreter of eBPF after RFC 9669, on Python's whole numbers: no maps; helpers 5, 7 and 8 give constants.

Memory is a list of (first address, bytes, may be written); an access must lie in one of them.
"""

from npexplore.programs import instructions as isa

M64, M32 = (1 << 64) - 1, (1 << 32) - 1


class AccessError(Exception):
    """An access outside memory (its address), or a slot that is no instruction."""


def signed(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def arithmetic(name, a, b, bits, offset):
    """Return the result of an operation on `bits` bits; a and b are unsigned numbers of 64."""
    mask = (1 << bits) - 1
    a, b, shift = a & mask, b & mask, b & (bits - 1)
    x, y = signed(a, bits), signed(b, bits)
    towards_zero = (abs(x) // abs(y)) * (1 if (x < 0) == (y < 0) else -1) if y else 0
    match name:
        case "add":
            r = a + b
        case "sub":
            r = a - b
        case "mul":
            r = a * b
        case "div" if offset:
            r = towards_zero
        case "div":
            r = a // b if b else 0
        case "mod" if offset:
            r = x - towards_zero * y
        case "mod":
            r = a % b if b else a
        case "or":
            r = a | b
        case "and":
            r = a & b
        case "xor":
            r = a ^ b
        case "lsh":
            r = a << shift
        case "rsh":
            r = a >> shift
        case "arsh":
            r = x >> shift
        case "neg":
            r = -a
        case "mov":
            r = signed(b, offset) if offset else b
    return r & mask


CONDITIONS = {
    "jeq": lambda a, b, x, y: a == b, "jne": lambda a, b, x, y: a != b, "jset": lambda a, b, x, y: a & b != 0,
    "jgt": lambda a, b, x, y: a > b, "jge": lambda a, b, x, y: a >= b, "jlt": lambda a, b, x, y: a < b,
    "jle": lambda a, b, x, y: a <= b, "jsgt": lambda a, b, x, y: x > y, "jsge": lambda a, b, x, y: x >= y,
    "jslt": lambda a, b, x, y: x < y, "jsle": lambda a, b, x, y: x <= y,
}  # fmt: skip


class Memory:
    def __init__(self, regions):
        self.regions = regions

    def find(self, address, size, write):
        for first, data, writable in self.regions:
            if first <= address and address + size <= first + len(data) and (writable or not write):
                return data, address - first
        raise AccessError(address)

    def load(self, address, size):
        data, at = self.find(address, size, False)
        return int.from_bytes(data[at : at + size], "little")

    def store(self, address, size, value):
        data, at = self.find(address, size, True)
        data[at : at + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def interpret(code, registers, memory, frames):
    """Run slots from the first on; return (register 0, instructions). frames: the address above each stack frame."""
    r = [0] * 11
    for number, value in registers.items():
        r[number] = value & M64
    r[10] = frames[0]
    pc, steps, calls = 0, 0, []
    while True:
        one = code[pc]
        steps += 1
        pc += 1
        kind, high, wide = one.opcode & 7, one.opcode >> 4, one.opcode & 7 in (isa.ALU64, isa.JMP)
        bits = 64 if wide else 32
        value = r[one.src] if one.opcode & 8 else one.imm & M64
        size = isa.SIZES[one.opcode & 0x18][1]
        if kind in (isa.ALU, isa.ALU64) and high == 13:
            width = one.imm
            low = r[one.dst] & ((1 << width) - 1)
            big = wide or one.opcode & 8
            r[one.dst] = int.from_bytes(low.to_bytes(width // 8, "little"), "big" if big else "little")
        elif kind in (isa.ALU, isa.ALU64):
            r[one.dst] = arithmetic(isa.ALU_NAMES[high], r[one.dst], value, bits, one.offset)
        elif one.opcode == isa.LDDW:
            r[one.dst] = one.imm & M64
            pc += 1
        elif kind == isa.LDX:
            loaded = memory.load(r[one.src] + one.offset & M64, size)
            r[one.dst] = (signed(loaded, 8 * size) if one.opcode & 0xE0 == isa.MEMSX else loaded) & M64
        elif kind == isa.STX and one.opcode & 0xE0 == isa.ATOMIC:
            address = r[one.dst] + one.offset & M64
            memory.find(address, size, True)
            old = memory.load(address, size)
            mask = (1 << 8 * size) - 1
            if one.imm == 0xF1:
                if old == r[0] & mask:
                    memory.store(address, size, r[one.src])
                r[0] = old
            else:
                new = r[one.src] if one.imm == 0xE1 else {
                    0: old + r[one.src], 0x40: old | r[one.src], 0x50: old & r[one.src], 0xA0: old ^ r[one.src]
                }[one.imm & ~1]  # fmt: skip
                memory.store(address, size, new)
                if one.imm & 1:
                    r[one.src] = old
        elif kind in (isa.ST, isa.STX):
            memory.store(r[one.dst] + one.offset & M64, size, r[one.src] if kind == isa.STX else one.imm)
        elif one.opcode == isa.EXIT:
            if not calls:
                return r[0], steps
            pc, r[6:10] = calls.pop()
            r[10] = frames[len(calls)]
        elif one.opcode == isa.CALL and one.src == isa.LOCAL:
            calls.append((pc, r[6:10]))
            r[10] = frames[len(calls)]
            pc += one.imm
        elif one.opcode in (isa.JA, isa.JA32):
            pc += one.imm if one.opcode == isa.JA32 else one.offset
        else:
            a, b = r[one.dst] & ((1 << bits) - 1), value & ((1 << bits) - 1)
            if CONDITIONS[isa.JUMP_NAMES[high]](a, b, signed(a, bits), signed(b, bits)):
                pc += one.offset
