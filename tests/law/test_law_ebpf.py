"""eBPF programs: the kernel equals a plain interpreter and plain maps; all public conformance cases hold."""

from collections import OrderedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.ebpf_interpreter import AccessError, Memory, interpret
from reference.ebpf_kernel import FOLDER
from reference.ebpf_random import random_code

import npexplore as npx
from npexplore._kernels import ebpf as k
from npexplore.programs import Program

U64 = (1 << 64) - 1


def test_all_public_conformance_cases_hold():
    lines = (FOLDER / "conformance.tsv").read_text(encoding="utf-8").splitlines()
    cases = [line.split("\t") for line in lines if not line.startswith("#")]
    wrong = []
    for name, _, result, memory, code in cases:
        data = b"" if memory == "-" else bytes.fromhex(memory)
        run = npx.program(code.replace("; ", "\n") + "\n").run([data], plain=True)
        if run.faults or int(run.rows[0, k.R0]) & U64 != int(result, 16):
            wrong.append((name, run.faults, hex(int(run.rows[0, k.R0]) & U64)))
    assert len(cases) == 313
    assert not wrong


def both(code, packet):
    """Return (register 0, instructions, packet) or the address of a fault, by the kernel and by the reference."""
    run = Program("random", "main", tuple(code), {"main": 0}).run([packet])
    row = run.rows[0]
    ours = int(row[k.ROW_FAULT_ADDRESS]) & U64 if run.faults else (int(row[k.R0]) & U64, int(row[k.INSTRUCTIONS]))
    data, begin = bytearray(packet), k.PACKET + k.HEADROOM
    context = bytearray(24)
    for place, value in ((0, begin), (4, begin + len(packet)), (8, begin), (12, 1)):
        context[place : place + 4] = value.to_bytes(4, "little")
    frames = [(k.STACK + n * k.FRAME, bytearray(k.FRAME_BYTES), True) for n in range(k.FRAMES)]
    memory = Memory([(begin, data, True), (k.CONTEXT, context, False), *frames])
    try:
        plain = interpret(code, {1: k.CONTEXT}, memory, [first + k.FRAME_BYTES for first, _, _ in frames])
    except AccessError as fault:
        return (ours, run.packets[0]), (fault.args[0], bytes(data))
    return (ours, run.packets[0]), (plain, bytes(data))


@settings(max_examples=150)
@given(st.randoms(use_true_random=False))
def test_kernel_equals_the_plain_interpreter(random):
    ours, plain = both(random_code(random), b"")
    assert ours == plain


ACCESSES = (
    "ldxb r0, [r2{}]", "ldxdw r0, [r2{}]", "ldxsh r0, [r2{}]", "stxw [r2{}], r1", "stdw [r2{}], -7",
    "lock fetch add32 [r2{}], r1",
)  # fmt: skip
BASES = (
    "ldxw r2, [r1+0]", "ldxw r2, [r1+4]", "mov r2, r10", "mov r2, r1", "lddw r2, 0xffffffffffffffff", "mov r2, 0"
)  # fmt: skip


OFFSETS = st.one_of(st.integers(-9, 9), st.integers(-521, -504), st.integers(10, 40))  # about the ends of regions


@settings(max_examples=150)
@given(st.sampled_from(ACCESSES), st.sampled_from(BASES), OFFSETS, st.binary(max_size=40))
def test_accesses_fault_outside_their_region(access, base, offset, packet):
    code = npx.program(f"{base}\n{access.format(f'{offset:+d}')}\nexit\n").code
    ours, plain = both(code, packet)
    assert ours == plain


MAP_PROGRAM = """
.map table {kind} {key} 8 {entries}
ldxw r6, [r1+0]
lddw r1, map table
mov r2, r6
add r2, 4
mov r3, r6
add r3, {value}
ldxb r4, [r6+1]
ldxb r5, [r6+0]
jeq r5, 1, put
jeq r5, 2, remove
call map_lookup_elem
jeq r0, 0, out
ldxdw r0, [r0+0]
ja out
put: call map_update_elem
ja out
remove: call map_delete_elem
out: exit
"""


class PlainMap:
    """What a map of the kernel does, on a dictionary of keys in order of use."""

    def __init__(self, kind, key_bytes, entries):
        self.kind, self.key_bytes, self.entries = kind, key_bytes, entries
        self.held = OrderedDict()
        if kind == "array":
            self.held.update((n.to_bytes(4, "little"), bytes(8)) for n in range(entries))

    def masked(self, key, bits):
        width = 8 * (self.key_bytes - 4)
        kept = int.from_bytes(key[4:], "big") >> (width - bits) << (width - bits)
        return bits.to_bytes(4, "little") + kept.to_bytes(self.key_bytes - 4, "big")

    def answer(self, operation, flags, key, value):
        bits = int.from_bytes(key[:4], "little")
        if operation == 1 and flags > 2:
            return -22
        if self.kind == "lpm_trie":
            if bits > 8 * (self.key_bytes - 4):
                return -22 if operation in (1, 2) else 0
            shorter = [self.masked(key, n) for n in range(bits, -1, -1)]
            if operation not in (1, 2):
                return next(
                    (int.from_bytes(self.held[one], "little", signed=True) for one in shorter if one in self.held), 0
                )
            key = shorter[0]
        if operation == 1:
            if self.kind == "array":
                if key not in self.held:
                    return -7
                if flags == 1:
                    return -17
            if key in self.held and flags == 1:
                return -17
            if key not in self.held:
                if flags == 2:
                    return -2
                if len(self.held) == self.entries:
                    if self.kind != "lru_hash":
                        return -28 if self.kind == "lpm_trie" else -7
                    self.held.popitem(last=False)
            self.held[key] = value
            self.held.move_to_end(key)
            return 0
        if operation == 2:
            if self.kind == "array":
                return -22
            return 0 if self.held.pop(key, None) is not None else -2
        if key in self.held:
            self.held.move_to_end(key)
        return int.from_bytes(self.held.get(key, b""), "little", signed=True)


KINDS = [("hash", 4), ("hash", 7), ("lru_hash", 4), ("lpm_trie", 8), ("lpm_trie", 7), ("array", 4)]
OPERATIONS = st.tuples(*(st.integers(0, most) for most in (3, 3, 33, 3, 255)))


@pytest.mark.parametrize(("name", "size"), KINDS)
@settings(max_examples=15)
@given(entries=st.integers(1, 5), operations=st.lists(OPERATIONS, min_size=20, max_size=60))
def test_maps_equal_dictionaries(name, size, entries, operations):
    program = npx.program(MAP_PROGRAM.format(kind=name, key=size, entries=entries, value=4 + size))
    model, packets, expected = PlainMap(name, size, entries), [], []
    for operation, flags, low, high, value in operations:
        low = low % 8 if name != "lpm_trie" else low
        tail = bytes([high * 64 + 7 * (value & 1), 0, 0, high])[: size - 4]
        key, stored = low.to_bytes(4, "little") + tail, bytes([value, high] * 4)
        packets.append(bytes([operation, flags, 0, 0]) + key + stored)
        expected.append(model.answer(operation, flags, key, stored) & U64)
    run = program.run(packets)
    assert not run.faults
    assert [int(one) & U64 for one in run.rows[:, k.R0]] == expected
    assert run.maps["table"] == dict(model.held)
