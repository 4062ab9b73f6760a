"""The slowest packets of a program: those of a capture, and packets made from them until they take other paths.

A packet that takes a new path is kept, as in fuzzing that is led by coverage (M. Zalewski, american fuzzy lop), and
changed further: bytes, lengths, constants that the program compares with, parts of other packets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import ebpf as k
from npexplore.programs import instructions as isa
from npexplore.programs.costs import CostTable
from npexplore.programs.forwarding import ForwardingTables
from npexplore.programs.pointers import PACKET, pointers
from npexplore.programs.records import Program, reachable
from npexplore.programs.result import VERDICTS, ProgramRun
from npexplore.programs.running import INSTRUCTION_LIMIT, Contents, Runner, of_bytes

GENERATION = 1000  # packets that run before those with new paths are changed further
HEAD_BYTES, LONGEST, SHORTEST = 128, 1514, 14  # bytes that are changed, and of frames without check sequence
MOST_CHANGES = 4  # of a packet at once
FIRST = 16  # packets of most instructions, which are changed more often


@dataclass(frozen=True)
class SlowPacket:
    """The slowest packet of a verdict: its bytes, the program's cycles, whether the capture has such a path."""

    packet: bytes
    verdict: str
    cycles: float
    seen: bool


def slowest(
    program: Program, packets: Sequence[bytes], costs: CostTable, *, maps: Mapping[str, Contents] | None = None,
    generated: int = 100_000, seed: int = 1, fib: ForwardingTables | None = None,
) -> list[SlowPacket]:  # fmt: skip
    """Return the slowest packet of each verdict, the slowest first, of packets seen and of so many made from them.

    They run one after the other, the seen ones first; maps keep what a packet leaves in them; fib: the
    tables that `fib_lookup` asks. Raises InputError for an
    event without a price; packets on which the program faults are left out.
    """
    rng, runner = np.random.default_rng(seed), Runner(program, maps or {}, fib=fib)
    before = {name: runner.tables.contents(name) for name in runner.tables.number}
    words, places = _constants(program), _places(program)
    known: dict[tuple[int, int], tuple[bytes, bool]] = {}  # path and verdict -> first packet
    counted: list[NDArray[np.int64]] = []  # their rows
    waiting, done, is_seen = [*packets] or [bytes(60)], 0, True
    while waiting:
        rows = np.concatenate([batch.rows for batch in of_bytes(runner, waiting)])
        for packet, row in zip(waiting, rows, strict=True):
            if row[k.ROW_FAULT] == k.NO_FAULT and 0 <= row[k.VERDICT] < len(VERDICTS):
                way = (int(row[k.PATH]), int(row[k.VERDICT]))
                if way not in known:
                    known[way] = (packet, is_seen)
                    counted.append(row)
        order = np.argsort([-row[k.INSTRUCTIONS] for row in counted], kind="stable")
        parents = [list(known.values())[place][0] for place in order.tolist()]
        count = min(GENERATION, generated - done) if parents else 0
        waiting, done, is_seen = [_changed(parents, words, places, rng) for _ in range(count)], done + count, False
    if not counted:
        return []
    uncut = np.zeros(len(counted), np.int64)
    run = ProgramRun(program, np.array(counted), runner.paths(), before, {}, [], None, INSTRUCTION_LIMIT, uncut, fib)
    cycles = {path: costs.cycles(events) for path, events in costs.events_of(run).items()}
    best: dict[int, SlowPacket] = {}
    for (path, verdict), (packet, met) in known.items():
        if path in cycles and (verdict not in best or cycles[path] > best[verdict].cycles):
            best[verdict] = SlowPacket(packet, VERDICTS[verdict], cycles[path], met)
    return sorted(best.values(), key=lambda one: -one.cycles)


def _constants(program: Program) -> list[bytes]:
    """Return what the program compares with, as bytes in both orders, of one to four bytes."""
    values = {
        program.code[slot].imm & 0xFFFFFFFF
        for slot in reachable(program)
        if program.code[slot].is_jump or program.code[slot].opcode & 7 in (isa.ALU, isa.ALU64)
    }
    words = {value.to_bytes(4, "little").rstrip(b"\0") or b"\0" for value in values}
    words |= {value.to_bytes(2, "little") for value in values if value < 1 << 16}
    return sorted({word for one in words for word in (one, one[::-1])})


def _places(program: Program) -> list[int]:
    """Return the bytes of a packet, from its start, that the program reads at places known beforehand."""
    types, offsets = pointers(program), set()
    for slot, registers in types.items():
        one = program.code[slot]
        base = registers.get(one.src) if one.opcode & 7 == isa.LDX else None
        if base is not None and base.kind == PACKET and not base.base:
            offsets.add(base.offset + one.offset)
    return sorted(place for place in offsets if 0 <= place < LONGEST)


def _changed(
    parents: Sequence[bytes], words: Sequence[bytes], places: Sequence[int], rng: np.random.Generator
) -> bytes:
    """Return a packet with up to four changes, half of them at places that the program reads.

    parents: those of most instructions first; each other packet is made from one of the first.
    """
    choice = int(rng.integers(min(len(parents), FIRST) if rng.integers(2) else len(parents)))
    packet = bytearray(parents[choice])
    for _ in range(rng.integers(1, MOST_CHANGES + 1)):
        known = places and rng.integers(2)
        at = places[int(rng.integers(len(places)))] if known else int(rng.integers(HEAD_BYTES))
        at = min(at, len(packet) - 1)
        kind = rng.integers(5)
        if kind == 0:
            packet[at] = rng.integers(256)
        elif kind == 1:
            packet[at] ^= 1 << int(rng.integers(8))
        elif kind == 2 and words:
            word = words[int(rng.integers(len(words)))]
            packet[at : at + len(word)] = word[: len(packet) - at]
        elif kind == 3:
            other = parents[int(rng.integers(len(parents)))]
            packet[at:] = other[at : at + max(len(packet) - at, 1)] or packet[at:]
        else:
            length = int(rng.integers(SHORTEST, min(2 * len(packet), LONGEST) + 1))
            packet = bytearray(packet[:length].ljust(length, b"\0"))
        if len(packet) < SHORTEST:
            packet = packet.ljust(SHORTEST, b"\0")
    return bytes(packet)
