"""Reads eBPF object files (ELF, machine 247): functions, maps, data sections, relocations, source lines.

All executable sections are concatenated in the code of a Program, so that the targets of calls are distances in it.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from npexplore.errors import InputError, shown
from npexplore.paths import content
from npexplore.programs import instructions as isa
from npexplore.programs.btf import Btf
from npexplore.programs.records import MapDefinition, Program, SourceLine

ELF64, EM_BPF, HEADER_BYTES, SECTION_BYTES = 2, 247, 64, 64
MACHINES = {3: "x86", 8: "MIPS", 21: "64-bit PowerPC", 40: "ARM", 62: "x86-64", 183: "AArch64", 243: "RISC-V"}
PROGBITS, SYMTAB, NOBITS, REL = 1, 2, 8, 9
EXECUTABLE, FUNC, OBJECT = 4, 2, 1
MAX_DATA_BYTES = 1 << 30
DATA_SECTIONS = (".rodata", ".data", ".bss")


class Section(NamedTuple):
    """A section header with its bytes."""

    name: str
    kind: int
    flags: int
    data: bytes
    size: int
    link: int
    info: int


class Symbol(NamedTuple):
    """An entry of the symbol table."""

    name: str
    kind: int
    section: int
    value: int
    binding: int


def read_object(path: str | Path, name: str | None = None) -> Program:
    """Return a program of an object file, chosen by its name or section; with None, the only program.

    Raises InputError if the file is no eBPF object or is cut off, if the program cannot run, and if None is ambiguous.
    """
    with _damage_named(path):
        return _read(path).program(name)


def program_names(path: str | Path) -> list[str]:
    """Return the names of the programs in an object file; raises InputError as `read_object` does."""
    with _damage_named(path):
        return list(_read(path).entries()[0])


@contextmanager
def _damage_named(path: str | Path) -> Iterator[None]:
    try:
        yield
    except (struct.error, IndexError, ValueError, RecursionError, OverflowError) as error:
        raise InputError(f"{shown(path)}: is cut off or damaged ({error})") from None


def _read(path: str | Path) -> _Object:
    label = shown(path)
    data = content(Path(path))
    if data[:4] != b"\x7fELF":
        raise InputError(f"{label} is no ELF object file, as clang -target bpf -g -O2 -c writes")
    if data[5:6] == b"\2":
        raise InputError(f"{label}: is big-endian; only little-endian eBPF runs: compile with clang -target bpfel")
    if len(data) < HEADER_BYTES:
        raise InputError(f"{label}: is cut off: the file has {len(data)} bytes, an ELF header {HEADER_BYTES}")
    machine = int.from_bytes(data[18:20], "little")
    if data[4] != ELF64 or machine != EM_BPF:
        name = f"{MACHINES[machine]} (machine {machine})" if machine in MACHINES else f"machine {machine}"
        raise InputError(f"{label}: is an object for {name}, not for eBPF ({EM_BPF}): compile with clang -target bpf")
    return _Object(label, data)


class _Object:
    """The sections, symbols, maps and code of an object file."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        (header_at,) = struct.unpack_from("<Q", data, 40)
        size, count, names = struct.unpack_from("<HHH", data, 58)
        if header_at + count * SECTION_BYTES > len(data):
            raise InputError(
                f"{path}: is cut off: its {count} section headers end at byte {header_at + count * SECTION_BYTES}, "
                f"the file has {len(data)}"
            )
        if size != SECTION_BYTES or names >= count:
            raise InputError(f"{path}: is damaged: {count} section headers of {size} bytes, names in section {names}")
        headers = [struct.unpack_from("<IIQQQQIIQQ", data, header_at + number * size) for number in range(count)]
        texts = data[headers[names][4] :][: headers[names][5]]
        self.sections = []
        for name, kind, flags, _, offset, length, link, info, _, _ in headers:
            section_bytes = b"" if kind == NOBITS else data[offset : offset + length]
            if kind not in (0, NOBITS) and len(section_bytes) < length:
                raise InputError(
                    f"{path}: is cut off: section {_text(texts, name)!r} ends at byte {offset + length}, "
                    f"the file has {len(data)}"
                )
            self.sections.append(Section(_text(texts, name), kind, flags, section_bytes, length, link, info))
        table = next((candidate for candidate in self.sections if candidate.kind == SYMTAB), None)
        if table is None:
            raise InputError(f"{path}: has no symbols; it was stripped, and its maps are not known any more")
        names_of = self.sections[table.link].data
        self.symbols = [
            Symbol(_text(names_of, name), info & 15, section, value, info >> 4)
            for name, info, _, section, value, _ in struct.iter_unpack("<IBBHQQ", table.data)
        ]
        btf = next((Btf(candidate.data) for candidate in self.sections if candidate.name == ".BTF"), None)
        extension = next((candidate.data for candidate in self.sections if candidate.name == ".BTF.ext"), b"")
        self.map_at: dict[tuple[int, int], int] = {}  # (section, offset) -> number of the map
        self.maps: list[MapDefinition] = []
        self._find_maps(btf)
        self.base: dict[int, int] = {}  # executable section -> its first slot
        self.code: list[isa.Instruction] = []
        for number, section in enumerate(self.sections):
            if section.kind == PROGBITS and section.flags & EXECUTABLE and section.data:
                self.base[number] = len(self.code)
                self.code += isa.decode(section.data)
        slot_of = {self.sections[number].name: slot for number, slot in self.base.items()}
        self.lines: dict[int, SourceLine] = {}
        self.unresolved: dict[int, str] = {}
        if btf is not None and extension:
            self.lines = {
                slot_of[section] + at // 8: line for section, at, line in btf.lines(extension) if section in slot_of
            }
            reason = "field offsets of the running kernel's types (CO-RE) are not supported"
            self.unresolved |= {
                slot_of[section] + at // 8: reason
                for section, at in btf.relocated_fields(extension)
                if section in slot_of
            }
        for rel in self.sections:
            if rel.kind == REL and rel.info in self.base:
                for offset, info in struct.iter_unpack("<QQ", rel.data):
                    self._relocate(self.base[rel.info] + offset // 8, rel.info, self.symbols[info >> 32])

    def _find_maps(self, btf: Btf | None) -> None:
        by_name = {definition.name: definition for definition in btf.maps()} if btf is not None else {}
        for number, section in enumerate(self.sections):
            if section.name == ".maps":
                if btf is None:
                    raise InputError(f"{self.path}: its maps in section .maps have no BTF: compile with clang -g")
                for symbol in (sym for sym in self.symbols if sym.section == number and sym.name in by_name):
                    self._add(number, symbol.value, by_name[symbol.name])
            elif section.name in ("maps", "maps/"):
                symbols = [
                    sym for sym in self.symbols if sym.section == number and sym.kind in (0, OBJECT) and sym.name
                ]
                for declared in symbols:
                    kind, key, value, entries = struct.unpack_from("<IIII", section.data, declared.value)
                    self._add(number, declared.value, MapDefinition(declared.name, kind, key, value, entries))
            elif section.name.startswith(DATA_SECTIONS) and section.size and section.kind in (PROGBITS, NOBITS):
                if section.size > MAX_DATA_BYTES:
                    raise ValueError(f"section {section.name!r} of {section.size} bytes")
                read_only = section.name.startswith(".rodata")
                self._add(number, -1, MapDefinition(section.name, 2, 4, section.size, 1, section.data, read_only))

    def _add(self, section: int, offset: int, one: MapDefinition) -> None:
        self.map_at[section, offset] = len(self.maps)
        self.maps.append(one)

    def _relocate(self, slot: int, section: int, symbol: Symbol) -> None:
        instruction = self.code[slot]
        if symbol.section == 0:
            kind = "kernel function" if instruction.opcode == isa.CALL else "external symbol"
            self.unresolved[slot] = f"{kind} {symbol.name!r} is not supported"
        elif instruction.opcode == isa.CALL and symbol.section in self.base:
            distance = self.base[symbol.section] + symbol.value // 8 + instruction.imm + 1 - slot - 1
            self.code[slot] = instruction._replace(src=isa.LOCAL, imm=distance)
        elif instruction.opcode == isa.LDDW and symbol.section in self.base:
            self.code[slot] = instruction._replace(src=isa.FUNCTION)
        elif instruction.opcode == isa.LDDW and (symbol.section, symbol.value) in self.map_at:
            self.code[slot] = instruction._replace(src=isa.MAP_HANDLE, imm=self.map_at[symbol.section, symbol.value])
        elif instruction.opcode == isa.LDDW and (symbol.section, -1) in self.map_at:
            offset = symbol.value + (instruction.imm & 0xFFFFFFFF)
            self.code[slot] = instruction._replace(
                src=isa.MAP_VALUE, imm=offset << 32 | self.map_at[symbol.section, -1]
            )
        else:
            raise InputError(f"{self.path}: relocation against {symbol.name!r} at slot {slot} is not supported")

    def entries(self) -> tuple[dict[str, int], dict[str, str]]:
        """Return the first slot and the section of each program: those in `xdp...`, else `prog`, else `.text`."""
        functions = [sym for sym in self.symbols if sym.section in self.base and sym.name and sym.kind == FUNC]
        start = {symbol.name: self.base[symbol.section] + symbol.value // 8 for symbol in functions}
        section_of = {symbol.name: self.sections[symbol.section].name for symbol in functions}
        called = {
            slot + 1 + instruction.imm
            for slot, instruction in enumerate(self.code)
            if (instruction.opcode, instruction.src) == (isa.CALL, isa.LOCAL)
        }
        for pattern in ("xdp.*", "prog", r"\.text"):
            chosen = [name for name in start if re.fullmatch(pattern, section_of[name]) and start[name] not in called]
            if chosen:
                return {name: start[name] for name in chosen}, {name: section_of[name] for name in chosen}
        sections = ", ".join(sorted(set(section_of.values()))) or "empty"
        raise InputError(f"{self.path}: has no XDP program; its sections are {sections}")

    def program(self, name: str | None) -> Program:
        """Return one program of the object; creating it checks its code."""
        entries, section_of = self.entries()
        if name is None and len(entries) > 1:
            raise InputError(
                f"{self.path}: has several programs; choose one with --section or section=: {', '.join(entries)}"
            )
        in_section = [entry for entry in entries if section_of[entry] == name]
        selected = next(iter(entries)) if name is None else in_section[0] if len(in_section) == 1 else name
        return Program(self.path, selected, tuple(self.code), entries, tuple(self.maps), self.lines, self.unresolved)


def _text(table: bytes, offset: int) -> str:
    return table[offset : table.index(b"\0", offset)].decode(errors="replace")
