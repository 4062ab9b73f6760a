"""Random eBPF programs that end: constants in all registers, any instructions, jumps forward, one result."""

from npexplore.programs import instructions as isa
from npexplore.programs.instructions import Instruction

EDGES = (0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 63, (1 << 63) - 1, (1 << 64) - 1, 0xFFFFFFFF00000000)
ATOMICS = (0, 1, 0x40, 0x41, 0x50, 0x51, 0xA0, 0xA1, 0xE1, 0xF1)
STACK_BYTES = 64  # of these programs, below register 10


def constant(register, value):
    value -= (value >> 63) << 64
    return [Instruction(isa.LDDW, register, imm=value), Instruction(0, imm=value >> 32)]


def number(random, bits):
    value = random.choice(EDGES) if random.random() < 0.4 else random.getrandbits(64)
    return (value & ((1 << bits) - 1)) - (1 << bits) * (value >> (bits - 1) & 1)


def instruction(random, left):
    """Return one instruction; `left`: how many come behind it, which a jump may go over."""
    kind = random.choice("aaaaajjlsm")
    dst, src = random.randrange(10), random.randrange(10)
    wide, by_register = random.getrandbits(1), random.getrandbits(1)
    imm = 0 if by_register else number(random, 32)
    if kind == "a":
        high = random.randrange(14)
        group = isa.ALU64 if wide else isa.ALU
        if high == 13:
            return Instruction(0xD7 if wide else random.choice((0xD4, 0xDC)), dst, imm=random.choice((16, 32, 64)))
        if high == 8:
            return Instruction(0x80 | group, dst)
        offset = 0
        if high in (3, 9):
            offset = random.getrandbits(1)
            imm = imm if imm or by_register else 3  # the kernel refuses a constant 0
        if high == 11 and by_register:
            offset = random.choice((0, 8, 16, 32) if wide else (0, 8, 16))
        if high in (6, 7, 12):
            imm = imm % (64 if wide else 32) if not by_register else 0
        return Instruction(high << 4 | 8 * by_register | group, dst, src * by_register, offset, imm)
    if kind == "j":
        high = random.choice((1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13))
        away = random.randrange(left + 1)
        group = isa.JMP if wide else isa.JMP32
        return Instruction(high << 4 | 8 * by_register | group, dst, src * by_register, away, imm)
    size = random.choice((0x00, 0x08, 0x10, 0x18))
    bytes_ = isa.SIZES[size][1]
    place = -bytes_ * random.randrange(1, STACK_BYTES // bytes_ + 1)
    if kind == "l":
        mode = random.choice((isa.MEM, isa.MEMSX)) if size != 0x18 else isa.MEM
        return Instruction(isa.LDX | mode | size, dst, 10, place)
    if kind == "s":
        return Instruction((isa.STX if by_register else isa.ST) | isa.MEM | size, 10, src * by_register, place, imm)
    size = random.choice((0x00, 0x18))
    place = -8 * random.randrange(1, STACK_BYTES // 8 + 1)
    return Instruction(
        isa.STX | isa.ATOMIC | size,
        10,
        src,
        place,
        random.choice(ATOMICS),
    )


def random_code(random, most=30):
    """Return the slots of a program; random: of Python's `random.Random`, or what hypothesis gives for it."""
    code = []
    for place in range(8, STACK_BYTES + 8, 8):
        code.append(Instruction(isa.ST | isa.MEM | 0x18, 10, 0, -place, number(random, 32)))
    for register in range(10):
        code += constant(register, number(random, 64) & (1 << 64) - 1)
    body = random.randrange(1, most)
    code += [instruction(random, body - 1 - k) for k in range(body)]
    for register in range(1, 10):  # register 0 depends on all of them
        code += [Instruction(0x27, 0, imm=1000003), Instruction(0x0F, 0, register)]
    for place in range(8, STACK_BYTES + 8, 8):
        load = Instruction(isa.LDX | isa.MEM | 0x18, 1, 10, -place)
        code += [load, Instruction(0x27, 0, imm=1000003), Instruction(0x0F, 0, 1)]
    fold = [Instruction(0xBF, 1, 0), Instruction(0x77, 1, imm=32), Instruction(0xAF, 0, 1)]  # a verdict has 32 bits
    return [*code, *fold, Instruction(isa.EXIT)]
