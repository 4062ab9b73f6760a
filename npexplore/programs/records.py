"""A loaded eBPF program: its code, its maps, its source lines, and the check that it can run."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from npexplore.errors import InputError, one_of
from npexplore.programs import instructions as isa
from npexplore.programs.helpers import TAIL_CALL, helper_name, refusal
from npexplore.programs.instructions import Instruction
from npexplore.records import by_content

if TYPE_CHECKING:
    from npexplore.programs.result import ProgramRun
    from npexplore.programs.running import Source

# enum bpf_map_type of the kernel's include/uapi/linux/bpf.h
MAP_KINDS = {
    1: "hash", 2: "array", 3: "prog_array", 4: "perf_event_array", 5: "percpu_hash", 6: "percpu_array", 9: "lru_hash",
    10: "lru_percpu_hash", 11: "lpm_trie", 14: "devmap", 16: "cpumap", 17: "xskmap", 25: "devmap_hash", 27: "ringbuf",
}  # fmt: skip
MAX_ENTRIES, PAGE_BYTES = 1 << 28, 4096  # limit of entries of a map; page size of the kernel
OTHER_MAP_KINDS = {
    7: "stack_trace", 8: "cgroup_array", 12: "array_of_maps", 13: "hash_of_maps", 15: "sockmap", 18: "sockhash",
    22: "queue", 23: "stack", 24: "sk_storage", 26: "struct_ops", 30: "bloom_filter", 33: "arena",
}  # fmt: skip


@dataclass(frozen=True)
class MapDefinition:
    """A map as declared: kind (a number of MAP_KINDS), sizes in bytes; `initial`: contents of a data section,
    padded with zeros.

    Example:
        >>> from npexplore.programs import MapDefinition
        >>> MapDefinition("hops", 1, 4, 8, 256).max_entries
        256
    """

    name: str
    kind: int
    key_bytes: int
    value_bytes: int
    max_entries: int
    initial: bytes | None = field(default=None, repr=False)
    read_only: bool = False

    @property
    def kind_name(self) -> str:
        """The kernel's name of the kind."""
        return MAP_KINDS.get(self.kind) or OTHER_MAP_KINDS.get(self.kind) or f"kind {self.kind}"


@dataclass(frozen=True)
class SourceLine:
    """The source of an instruction: file, line number, text of the line.

    Example:
        >>> from npexplore.programs import SourceLine
        >>> SourceLine("drop.c", 7, "return XDP_DROP;").line
        7
    """

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


@by_content
@dataclass(frozen=True)
class Program:
    """An eBPF program that can be run on packets.

    code: the slots of all functions of its object; entries: its programs, name -> first slot; name: the program that
    runs; lines: first slot of a source line -> source line. All reachable instructions are checked: one that the
    interpreter cannot run raises InputError with its slot and line.

    Example:
        >>> import npexplore as npx
        >>> drop = npx.program("mov r0, 1\\nexit")
        >>> drop.run([bytes(64)]).verdicts
        {'drop': 1}
    """

    path: str
    name: str
    code: tuple[Instruction, ...] = field(repr=False)
    entries: Mapping[str, int]
    maps: tuple[MapDefinition, ...] = ()
    lines: Mapping[int, SourceLine] = field(default_factory=dict, repr=False)
    unresolved: Mapping[int, str] = field(default_factory=dict, repr=False)  # slot -> why it needs a running kernel

    def __post_init__(self) -> None:
        one_of(f"{self.path}: program", self.name, self.entries)
        check(self)

    @cached_property
    def _line_starts(self) -> list[int]:
        return sorted(self.lines)

    @property
    def entry(self) -> int:
        """The first slot of the program."""
        return self.entries[self.name]

    @property
    def helpers(self) -> dict[str, int]:
        """The helpers that the program may call: name -> number of calls in the code."""
        calls = [self.code[slot] for slot in sorted(reachable(self)) if self.code[slot].opcode == isa.CALL]
        counts: dict[str, int] = {}
        for call in calls:
            if call.src == isa.HELPER:
                counts[helper_name(call.imm)] = counts.get(helper_name(call.imm), 0) + 1
        return counts

    @property
    def used_maps(self) -> dict[int, MapDefinition]:
        """The maps that the program's code uses, by their number."""
        loads = [self.code[slot] for slot in reachable(self) if self.code[slot].opcode == isa.LDDW]
        numbers = {load.imm & 0xFFFFFFFF for load in loads if load.src in (isa.MAP_HANDLE, isa.MAP_VALUE)}
        return {number: self.maps[number] for number in sorted(numbers)}

    def line_at(self, slot: int) -> SourceLine | None:
        """Return the source line of an instruction, None if it is not known."""
        following = bisect_right(self._line_starts, slot)
        return self.lines[self._line_starts[following - 1]] if following else None

    def place(self, slot: int) -> str:
        """Return an instruction's number, text and source line, for messages."""
        line = self.line_at(slot)
        return f"instruction {slot} ({isa.text(self.code[slot])})" + (f" at {line}" if line else "")

    def run(self, packets: Source | Sequence[bytes], **options: Any) -> ProgramRun:
        """Run the program on every packet; `npexplore.programs.run` has the options."""
        from npexplore.programs.running import run

        return run(self, packets, **options)

    def to_dict(self) -> dict[str, Any]:
        """Return the facts of `npexplore program list --json`."""
        reached = reachable(self)
        return {
            "program": self.name, "file": self.path, "programs": list(self.entries), "instructions": len(reached),
            "helpers": self.helpers, "source_lines": len({self.line_at(slot) for slot in reached} - {None}),
            "maps": [
                {"name": table.name, "kind": table.kind_name, "key_bytes": table.key_bytes,
                 "value_bytes": table.value_bytes, "max_entries": table.max_entries}
                for table in self.used_maps.values()
            ],
        }  # fmt: skip


def successors(program: Program, slot: int) -> list[int]:
    """Return the slots that may run after an instruction; after a local call, its subprogram and the next slot."""
    op = program.code[slot]
    following = [] if op.opcode in (isa.JA, isa.JA32, isa.EXIT) else [slot + (2 if op.opcode == isa.LDDW else 1)]
    return following if op.target_offset is None else [*following, slot + 1 + op.target_offset]


def reachable(program: Program, *, tail_calls: bool = True) -> set[int]:
    """Return the slots that execution may reach by jumps, calls, and tail calls (which may enter any program)."""
    pending = [program.entry]
    reached: set[int] = set()
    while pending:
        slot = pending.pop()
        if slot in reached:
            continue
        if not 0 <= slot < len(program.code):
            raise InputError(f"{program.path}: a program begins at slot {slot}, its code has {len(program.code)} slots")
        reached.add(slot)
        op = program.code[slot]
        for following in successors(program, slot):
            if not 0 <= following < len(program.code):
                raise InputError(
                    f"{program.path}: the next instruction would be {following}, outside the code of "
                    f"{len(program.code)} slots: {program.place(slot)}"
                )
            pending.append(following)
        if tail_calls and op.opcode == isa.CALL and (op.src, op.imm) == (isa.HELPER, TAIL_CALL):
            pending += program.entries.values()
    return reached


def check(program: Program) -> None:
    """Raise InputError for an endless loop, and for the first instruction, helper or map that is not supported."""
    reached = reachable(program)
    for slot in sorted(reached):
        if reason := program.unresolved.get(slot) or _refusal(program, slot):
            raise InputError(f"{program.path}: {reason}: {program.place(slot)}")
    for definition in program.used_maps.values():
        if definition.kind not in MAP_KINDS:
            kinds = ", ".join(MAP_KINDS.values())
            raise InputError(f"{program.path}: map {definition.name!r} is a {definition.kind_name}; supported: {kinds}")
        if rule := _broken_size(definition):
            raise InputError(f"{program.path}: map {definition.name!r} ({definition.kind_name}) must have {rule}")
    if endless := _endless(program, reached):
        raise InputError(
            f"{program.path}: an endless loop, from which no exit is reached: {program.place(min(endless))}"
        )


def _broken_size(one: MapDefinition) -> str | None:
    """Return the kernel's rule that a map's sizes break, None if there is none."""
    if one.kind_name == "perf_event_array":
        return None
    if one.kind_name == "ringbuf":
        is_valid = one.max_entries >= PAGE_BYTES and one.max_entries.bit_count() == 1
        return None if is_valid else f"a power of two of at least {PAGE_BYTES:,} bytes, got {one.max_entries:,}"
    if not 1 <= one.max_entries <= MAX_ENTRIES:
        return f"from 1 to {MAX_ENTRIES:,} entries, got {one.max_entries:,}"
    if one.value_bytes < 1:
        return "a value of 1 byte or more, got none"
    hashed = one.kind_name.endswith("hash") and not one.kind_name.startswith("devmap")
    low, high = (1, 512) if hashed else (5, 260) if one.kind_name == "lpm_trie" else (4, 4)
    if not low <= one.key_bytes <= high:
        return (
            f"a key of {low} to {high} bytes, got {one.key_bytes}"
            if low < high
            else f"a key of 4 bytes, got {one.key_bytes}"
        )
    return None


def _endless(program: Program, reached: set[int]) -> set[int]:
    """Return the instructions from which no `exit` of their function can be reached."""
    predecessors: dict[int, list[int]] = {}
    for slot in reached:
        op = program.code[slot]
        for following in successors(program, slot):
            if op.opcode != isa.CALL or following != slot + 1 + op.imm or op.src != isa.LOCAL:
                predecessors.setdefault(following, []).append(slot)
    pending = [slot for slot in reached if program.code[slot].opcode == isa.EXIT]
    ending: set[int] = set()
    while pending:
        slot = pending.pop()
        if slot not in ending:
            ending.add(slot)
            pending += predecessors.get(slot, [])
    return reached - ending


def _refusal(program: Program, slot: int) -> str | None:
    """Return why an instruction cannot run, None if it can."""
    op = program.code[slot]
    if max(op.dst, op.src) > 10 or (op.dst == 10 and op.opcode & 7 in (isa.LDX, isa.ALU, isa.ALU64)):
        return "a register that does not exist, or that is read-only"
    if op.opcode == isa.LDDW:
        if program.code[slot + 1].opcode:
            return "a 64-bit constant without its second slot"
        if op.src == isa.FUNCTION:
            return "callbacks (functions passed by pointer) are not supported"
        if op.src in (isa.MAP_HANDLE, isa.MAP_VALUE) and not 0 <= (op.imm & 0xFFFFFFFF) < len(program.maps):
            return "a map that the program does not declare"
        section = program.maps[op.imm & 0xFFFFFFFF] if op.src == isa.MAP_VALUE else None
        if section and not 0 <= op.imm >> 32 <= section.value_bytes:
            return f"place {op.imm >> 32} of {section.name!r}, which has {section.value_bytes} bytes"
        if not -(1 << 63) <= op.imm < 1 << 63:
            return "a constant of more than 64 bits"
        return None if op.src in (0, isa.MAP_HANDLE, isa.MAP_VALUE) else f"LDDW of kind {op.src} is not supported"
    if op.opcode == isa.CALL:
        if op.src == isa.KERNEL_FUNCTION:
            return "calls of kernel functions (kfuncs) are not supported"
        if op.src not in (isa.HELPER, isa.LOCAL):
            return f"CALL of kind {op.src} is not supported"
        return refusal(op.imm) if op.src == isa.HELPER else None
    if slot and program.code[slot - 1].opcode == isa.LDDW:
        return "a jump into a 64-bit constant, which takes two slots"
    if isa.text(op).startswith("opcode") or not _is_defined(op):
        return f"opcode {op.opcode:#04x} with offset {op.offset} is no instruction of RFC 9669 that is supported"
    return None


def _is_defined(one: Instruction) -> bool:
    """Return whether RFC 9669 defines this use of the fields."""
    kind, code = one.opcode & 7, one.opcode & 0xF0
    if kind in (isa.ALU, isa.ALU64):
        if code == 0xD0:
            return one.imm in (16, 32, 64) and (kind == isa.ALU or not one.opcode & 8)
        if code == 0xB0:
            return one.offset == 0 or (
                one.opcode & 8 != 0 and one.offset in ((8, 16, 32) if kind == isa.ALU64 else (8, 16))
            )
        return one.offset == 0 or (one.offset == 1 and code in (0x30, 0x90))
    if kind in (isa.JMP, isa.JMP32):
        return one.opcode not in (0x0D, 0x0E, 0x9D, 0x8E, 0x86, 0x96, 0x9E)
    if one.opcode & 0xE0 == isa.ATOMIC:
        return one.opcode & 0x18 in (0, 0x18)
    return not (one.opcode & 0xE0 == isa.MEMSX and one.opcode & 0x18 == 0x18)
