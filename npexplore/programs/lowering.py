"""Lowers a program to the arrays that the kernel runs: code with absolute jumps, memory with map values, hash tables.

The values of a map are stored `stride` bytes apart; an entry of a hash table holds its key before the value. Two arrays
hold all maps: `memory` (bytes), and `links` (chains, free entries and the order of use).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import ebpf as k
from npexplore.errors import InputError, one_of
from npexplore.programs import instructions as isa
from npexplore.programs.forwarding import ForwardingTables
from npexplore.programs.instructions import Instruction
from npexplore.programs.records import MapDefinition, Program, reachable

_ALU = (k.ADD, k.SUB, k.MUL, k.DIV, k.OR, k.AND, k.LSH, k.RSH, k.NEG, k.MOD, k.XOR, k.MOV, k.ARSH)
_JUMPS = {
    1: k.JEQ, 2: k.JGT, 3: k.JGE, 4: k.JSET, 5: k.JNE, 6: k.JSGT, 7: k.JSGE, 10: k.JLT, 11: k.JLE, 12: k.JSLT,
    13: k.JSLE,
}  # fmt: skip
_KINDS = {
    1: k.HASH, 2: k.ARRAY, 3: k.PROGRAMS, 4: k.EVENTS, 5: k.HASH, 6: k.ARRAY, 9: k.LRU, 10: k.LRU, 11: k.LPM,
    14: k.HASH, 16: k.HASH, 17: k.HASH, 25: k.HASH, 27: k.RING,
}  # fmt: skip
PROG_ARRAY = 3  # users give names of programs as its values; stored are slots
_DEVICES = (14, 25)  # values begin with the number of the output interface
_INDEXED_TARGETS = (4, 14, 16, 17)  # keys are indices; stored as hash tables, because most entries are empty


class Tables:
    """The maps of a program in memory: initial contents, changes, current contents."""

    def __init__(self, program: Program, memory_bytes: int, fib: ForwardingTables | None = None) -> None:
        self.program = program
        self.maps = program.used_maps
        self.number = {definition.name: number for number, definition in self.maps.items()}
        self.rows = np.zeros((len(program.maps) + k.FIB_TABLES, k.MAP_COLUMNS), np.int64)
        at, links = k.MAPS, 0
        fib_maps = {
            len(program.maps) + index: definition for index, definition in enumerate(fib.definitions() if fib else [])
        }
        for number, definition in (self.maps | fib_maps).items():
            at, links = _place(self.rows[number], definition, at, links)
        total = at + 64
        if total + 4 * links > memory_bytes or total > k.WORD:
            raise InputError(
                f"{program.path}: its maps take {total + 4 * links:,} bytes, "
                f"more than the limit of {memory_bytes:,}; set a larger one with --memory"
            )
        self.memory = np.zeros(total, np.uint8)
        self.any16, self.any32, self.any64 = (
            np.ndarray((total - 8,), kind, self.memory, strides=(1,)) for kind in (np.uint16, np.uint32, np.int64)
        )
        self.links = np.full(links + 1, -1, np.int32)
        for number, definition in (self.maps | fib_maps).items():
            row = self.rows[number]
            if row[k.NEXT]:
                self.links[row[k.NEXT] : row[k.NEXT] + row[k.ENTRIES] - 1] = np.arange(1, row[k.ENTRIES])
            if row[k.LENGTHS]:
                self.links[row[k.LENGTHS] : row[k.LENGTHS] + 8 * definition.key_bytes - 31] = 0
            if definition.initial is not None:
                self.memory[row[k.START] :][: len(definition.initial)] = np.frombuffer(definition.initial, np.uint8)
        for number, contents in zip(fib_maps, fib.contents() if fib else (), strict=True):
            for key, value in contents.items():
                self._put(number, key, value)

    def put(self, name: str, key: bytes, value: bytes) -> None:
        """Put an entry into a map; raises InputError for a wrong size, or if the map refuses the entry."""
        number = self.number[one_of(f"{self.program.path}: map", name, self.number)]
        definition = self.maps[number]
        for field, data, size in (("key", key, definition.key_bytes), ("value", value, definition.value_bytes)):
            if len(data) != size:
                raise InputError(f"map {name!r}: a {field} has {size} bytes, got {len(data)}: {data.hex()}")
        if error := self._put(number, key, value):
            reasons = {
                k.E2BIG: "it is full, or the index is too large",
                k.ENOSPC: "it is full",
                k.EINVAL: "the key is not valid",
            }
            raise InputError(f"map {name!r} takes no key {key.hex()}: {reasons.get(-error, f'error {error}')}")

    def _put(self, number: int, key: bytes, value: bytes) -> int:
        """Put an entry into a map; return 0 or a negative error number."""
        entry = np.zeros(len(key) + len(value) + 8, np.uint8)
        entry[: len(key) + len(value)] = np.frombuffer(key + value, np.uint8)
        # the packet's memory is free between packets
        at = k.PACKET
        self.memory[at : at + len(entry)] = entry
        return int(k.put(self.memory, self.any32, self.any64, self.rows, self.links, number, at, at + len(key)))

    def contents(self, name: str) -> dict[bytes, bytes]:
        """Return the contents of a map, key -> value; for arrays, all entries."""
        row, definition = self.rows[self.number[name]], self.maps[self.number[name]]
        return {
            (key if key is not None else entry.to_bytes(4, "little")): value
            for entry, key, value in self._entries(row, definition)
        }

    def _entries(self, row: NDArray[np.int64], one: MapDefinition) -> Iterator[tuple[int, bytes | None, bytes]]:
        start, stride, value_at = int(row[k.START]), int(row[k.STRIDE]), int(row[k.VALUE_AT])

        def entry(number: int) -> tuple[int, bytes | None, bytes]:
            at = start + number * stride
            value = self.memory[at + value_at :][: one.value_bytes].tobytes()
            return number, self.memory[at:][: one.key_bytes].tobytes() if row[k.NEXT] else None, value

        if not row[k.NEXT]:
            yield from map(entry, range(int(row[k.ENTRIES]) if row[k.KIND] not in (k.EVENTS, k.RING) else 0))
            return
        free, number = set(), int(row[k.FREE])
        while number >= 0:
            free.add(number)
            number = int(self.links[row[k.NEXT] + number])
        yield from (entry(number) for number in range(int(row[k.ENTRIES])) if number not in free)


def _place(row: NDArray[np.int64], one: MapDefinition, at: int, links: int) -> tuple[int, int]:
    """Fill a map's row with its layout; return the next free positions in memory and links."""
    kind = _KINDS[one.kind]
    hashed = kind in (k.HASH, k.LRU, k.LPM)
    value_at = -(-one.key_bytes // 8) * 8 if hashed else 0
    stride = 1 if kind == k.RING else value_at + -(-one.value_bytes // 8) * 8
    entries = one.max_entries if kind != k.EVENTS else 0
    row[[k.KIND, k.START, k.STOP, k.STRIDE]] = kind, at, at + entries * stride, stride
    row[[k.VALUE_AT, k.VALUE_BYTES, k.KEY_BYTES, k.ENTRIES]] = value_at, one.value_bytes, one.key_bytes, entries
    row[[k.READ_ONLY, k.FREE, k.OLDEST]] = one.read_only, 0, -1
    row[k.NEWEST] = 0 if kind == k.RING else -1
    row[k.FULL_ERROR] = k.ENOSPC if kind == k.LPM else k.E2BIG
    row[k.DEVICES] = one.kind in _DEVICES
    row[k.TARGETS] = one.max_entries if one.kind in _INDEXED_TARGETS else 0
    at = -(-(at + entries * stride) // 64) * 64 + 64
    if hashed:
        links += 1  # link 0 is reserved: it means none
        buckets = 1 << max(1, entries - 1).bit_length()
        row[[k.HEADS, k.BUCKETS, k.NEXT]] = links, buckets, links + buckets
        links += buckets + entries
        if kind == k.LRU:
            row[[k.NEWER, k.OLDER]] = links, links + entries
            links += 2 * entries
        if kind == k.LPM:
            row[k.LENGTHS] = links
            links += 8 * one.key_bytes - 31
    return at, links


def lower(program: Program, tables: Tables) -> tuple[NDArray[np.int64], list[int]]:
    """Return the reachable code in the kernel's form, one row a slot, and the slot of each row."""
    slots = sorted(reachable(program))
    row_of = {slot: row for row, slot in enumerate(slots)}
    rows = np.zeros((len(slots), 7), np.int64)
    for row, slot in enumerate(slots):
        instruction = program.code[slot]
        columns = _lowered(instruction, tables.rows)
        if (distance := instruction.target_offset) is not None:
            columns[k.TARGET] = row_of[slot + 1 + distance]
        for column, value in columns.items():
            rows[row, column] = value
    return rows, slots


def _lowered(one: Instruction, maps: NDArray[np.int64]) -> dict[int, int]:
    """Return the columns of one instruction, except for its jump target."""
    kind, code = one.opcode & 7, one.opcode >> 4
    row: dict[int, int] = {k.DST: one.dst, k.SRC: one.src if one.opcode & 8 else k.IMMEDIATE, k.IMM: one.imm}
    if one.opcode == isa.LDDW:
        value = one.imm
        if one.src == isa.MAP_HANDLE:
            value = int(k.HANDLE) + (one.imm & 0xFFFFFFFF)
        elif one.src == isa.MAP_VALUE:
            number = one.imm & 0xFFFFFFFF
            value = int(maps[number, k.START]) + (one.imm >> 32)
        return row | {k.OP: k.LDDW, k.IMM: value}
    if one.opcode in (isa.JA, isa.JA32):
        return row | {k.OP: k.JA}
    if one.opcode == isa.CALL:
        local = one.src == isa.LOCAL
        return row | {k.OP: k.CALL_LOCAL if local else k.CALL, k.SRC: k.IMMEDIATE}
    if one.opcode == isa.CALLX:
        return row | {k.OP: k.CALLX, k.DST: one.called_register}
    if one.opcode == isa.EXIT:
        return row | {k.OP: k.EXIT}
    if kind in (isa.JMP, isa.JMP32) and code in _JUMPS:
        return row | {k.OP: _JUMPS[code], k.WIDE: kind == isa.JMP}
    if kind in (isa.ALU, isa.ALU64):
        wide = kind == isa.ALU64
        if code == 0xD:
            swap = wide or one.opcode & 8
            return row | {k.OP: k.SWAP if swap else k.LE, k.TARGET: one.imm, k.WIDE: 1, k.SRC: k.IMMEDIATE}
        if code < 0xD:
            op = _ALU[code]
            if one.offset:
                op = {k.DIV: k.SDIV, k.MOD: k.SMOD, k.MOV: k.MOVSX}.get(op, op)
            return row | {k.OP: op, k.TARGET: one.offset, k.WIDE: wide}
    size = isa.SIZES[one.opcode & 0x18][1]
    row |= {k.TARGET: one.offset, k.SIZE: size, k.SRC: one.src}
    if kind == isa.LDX:
        return row | {k.OP: k.LOADSX if one.opcode & 0xE0 == isa.MEMSX else k.LOAD}
    if kind == isa.STX and one.opcode & 0xE0 == isa.ATOMIC:
        return row | {k.OP: k.ATOMIC}
    return row | {k.OP: k.STORE, k.SRC: one.src if kind == isa.STX else k.IMMEDIATE}


def state_of(seed: int, cpu: int, ports: int = 0) -> NDArray[np.int64]:
    """Return the state of a run before its first packet."""
    state: Any = np.zeros(k.STATE_SIZE, np.int64)
    rng = np.random.default_rng(seed)
    state[[k.RANDOM, k.CPU, k.PORTS]] = int(rng.integers(1, 1 << 62)), cpu, ports
    return np.asarray(state, np.int64)
