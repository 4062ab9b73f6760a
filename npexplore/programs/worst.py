"""Searches the slowest packets of a program: packets of a capture, and packets generated from them to take other paths.

A packet that takes a new path is kept, as in coverage-guided fuzzing (M. Zalewski, american fuzzy lop), and changed
further: bytes, lengths, constants that the program compares with, parts of other packets.
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

GENERATION = 1000  # generated packets that run before new ones are derived from those with new paths
HEAD_BYTES, LONGEST, SHORTEST = 128, 1514, 14  # bytes that are changed; limits of frames without check sequence
MOST_CHANGES = 4  # of a packet at once
FIRST = 16  # packets with the most instructions, which are changed more often


@dataclass(frozen=True)
class SlowPacket:
    """The slowest packet of a verdict: its bytes, the program's cycles, whether the capture has its path."""

    packet: bytes
    verdict: str
    cycles: float
    seen: bool


def slowest(
    program: Program, packets: Sequence[bytes], costs: CostTable, *, maps: Mapping[str, Contents] | None = None,
    generated: int = 100_000, seed: int = 1, fib: ForwardingTables | None = None,
) -> list[SlowPacket]:  # fmt: skip
    """Return the slowest packet of each verdict, slowest first, among the packets and `generated` ones made from them.

    All run in order, first the packets passed; maps keep their contents between packets. fib: the tables that
    `fib_lookup` reads. Packets on which the program faults are left out. Raises InputError for an event without a cost.
    """
    rng, runner = np.random.default_rng(seed), Runner(program, maps or {}, fib=fib)
    initial_maps = {name: runner.tables.contents(name) for name in runner.tables.number}
    constants, places = _constants(program), _places(program)
    first_packets: dict[
        tuple[int, int], tuple[bytes, bool]
    ] = {}  # (path, verdict) -> first packet, whether it was passed
    path_rows: list[NDArray[np.int64]] = []  # rows of these packets
    pending, done, is_seen = [*packets] or [bytes(60)], 0, True
    while pending:
        rows = np.concatenate([batch.rows for batch in of_bytes(runner, pending)])
        for packet, row in zip(pending, rows, strict=True):
            if row[k.ROW_FAULT] == k.NO_FAULT and 0 <= row[k.VERDICT] < len(VERDICTS):
                path_and_verdict = (int(row[k.PATH]), int(row[k.VERDICT]))
                if path_and_verdict not in first_packets:
                    first_packets[path_and_verdict] = (packet, is_seen)
                    path_rows.append(row)
        order = np.argsort([-row[k.INSTRUCTIONS] for row in path_rows], kind="stable")
        parents = [list(first_packets.values())[place][0] for place in order.tolist()]
        count = min(GENERATION, generated - done) if parents else 0
        pending, done, is_seen = [_changed(parents, constants, places, rng) for _ in range(count)], done + count, False
    if not path_rows:
        return []
    none_missing = np.zeros(len(path_rows), np.int64)
    run = ProgramRun(
        program, np.array(path_rows), runner.paths(), initial_maps, {}, [], None, INSTRUCTION_LIMIT, none_missing, fib
    )
    cycles = {path: costs.cycles(events) for path, events in costs.events_of(run).items()}
    best: dict[int, SlowPacket] = {}
    for (path, verdict), (packet, was_passed) in first_packets.items():
        if path in cycles and (verdict not in best or cycles[path] > best[verdict].cycles):
            best[verdict] = SlowPacket(packet, VERDICTS[verdict], cycles[path], was_passed)
    return sorted(best.values(), key=lambda slow_packet: -slow_packet.cycles)


def _constants(program: Program) -> list[bytes]:
    """Return the constants of the program's comparisons and arithmetic, one to four bytes, in both byte orders."""
    values = {
        program.code[slot].imm & 0xFFFFFFFF
        for slot in reachable(program)
        if program.code[slot].is_jump or program.code[slot].opcode & 7 in (isa.ALU, isa.ALU64)
    }
    words = {value.to_bytes(4, "little").rstrip(b"\0") or b"\0" for value in values}
    words |= {value.to_bytes(2, "little") for value in values if value < 1 << 16}
    return sorted({word for sequence in words for word in (sequence, sequence[::-1])})


def _places(program: Program) -> list[int]:
    """Return the offsets in the packet that the program reads at constant positions."""
    types, offsets = pointers(program), set()
    for slot, registers in types.items():
        instruction = program.code[slot]
        base = registers.get(instruction.src) if instruction.opcode & 7 == isa.LDX else None
        if base is not None and base.kind == PACKET and not base.base:
            offsets.add(base.offset + instruction.offset)
    return sorted(place for place in offsets if 0 <= place < LONGEST)


def _changed(
    parents: Sequence[bytes], words: Sequence[bytes], places: Sequence[int], rng: np.random.Generator
) -> bytes:
    """Return a packet with up to four changes, half of them at offsets that the program reads.

    parents: packets, those with the most instructions first; every second packet is made from one of the first.
    """
    choice = int(rng.integers(min(len(parents), FIRST) if rng.integers(2) else len(parents)))
    packet = bytearray(parents[choice])
    for _ in range(rng.integers(1, MOST_CHANGES + 1)):
        at_read_offset = places and rng.integers(2)
        at = places[int(rng.integers(len(places)))] if at_read_offset else int(rng.integers(HEAD_BYTES))
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
            donor = parents[int(rng.integers(len(parents)))]
            packet[at:] = donor[at : at + max(len(packet) - at, 1)] or packet[at:]
        else:
            length = int(rng.integers(SHORTEST, min(2 * len(packet), LONGEST) + 1))
            packet = bytearray(packet[:length].ljust(length, b"\0"))
        if len(packet) < SHORTEST:
            packet = packet.ljust(SHORTEST, b"\0")
    return bytes(packet)
