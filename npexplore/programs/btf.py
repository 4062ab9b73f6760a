"""Reads an object's type information (BTF, Documentation/bpf/btf.rst): map definitions and source lines."""

import struct
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from npexplore.programs.records import MapDefinition, SourceLine

PTR, ARRAY, STRUCT, TYPEDEF, CONST, VAR, DATASEC = 2, 3, 4, 8, 10, 14, 15
_MODIFIERS = (TYPEDEF, 9, CONST, 11, 18)
_TAIL_BYTES = {1: 4, 3: 12, 14: 4, 17: 4}  # kind of type -> bytes after the common part
_MEMBER_BYTES = {4: 12, 5: 12, 6: 8, 13: 8, 15: 12, 19: 12}  # kind of type -> bytes of each member


class Type(NamedTuple):
    """One type: name, kind, size in bytes or number of the referenced type, members, bytes after the common part."""

    name: str
    kind: int
    size_or_type: int
    members: int
    tail: bytes


class Btf:
    """The types and strings of a `.BTF` section."""

    def __init__(self, data: bytes) -> None:
        _, _, _, head, type_at, type_bytes, text_at, text_bytes = struct.unpack_from("<HBBIIIII", data)
        self._texts = data[head + text_at : head + text_at + text_bytes]
        self.types = [Type("", 0, 0, 0, b"")]
        at, end = head + type_at, head + type_at + type_bytes
        while at < end:
            name, info, size = struct.unpack_from("<III", data, at)
            kind, members = info >> 24 & 31, info & 0xFFFF
            next_at = at + 12 + _TAIL_BYTES.get(kind, 0) + _MEMBER_BYTES.get(kind, 0) * members
            self.types.append(Type(self.text(name), kind, size, members, data[at + 12 : next_at]))
            at = next_at

    def text(self, offset: int) -> str:
        """Return the string at an offset."""
        return self._texts[offset : self._texts.index(b"\0", offset)].decode(errors="replace")

    def resolved(self, number: int) -> Type:
        """Return a type without typedefs and qualifiers."""
        while self.types[number].kind in _MODIFIERS:
            number = self.types[number].size_or_type
        return self.types[number]

    def size(self, number: int) -> int:
        """Return a type's size in bytes."""
        resolved_type = self.resolved(number)
        if resolved_type.kind == ARRAY:
            element, _, count = struct.unpack("<III", resolved_type.tail)
            return int(count) * self.size(element)
        return 8 if resolved_type.kind == PTR else resolved_type.size_or_type

    def maps(self) -> Iterator[MapDefinition]:
        """Yield the maps of section `.maps`; their offsets in it are in the symbol table."""
        section = next((entry for entry in self.types if entry.kind == DATASEC and entry.name == ".maps"), None)
        for variable, _, _ in struct.iter_unpack("<III", section.tail if section else b""):
            declared = self.types[variable]
            values: dict[str, int] = {}
            for name, kind, _ in struct.iter_unpack("<III", self.resolved(declared.size_or_type).tail):
                field_name, member = self.text(name), self.resolved(kind)
                if member.kind != PTR:  # an array of initial contents
                    continue
                if field_name in ("key", "value"):
                    values[f"{field_name}_size"] = self.size(member.size_or_type)
                else:  # __uint(label, N) is a pointer to an array of N
                    values[field_name] = struct.unpack("<III", self.resolved(member.size_or_type).tail)[2]
            sizes = [values.get(field_name, 0) for field_name in ("key_size", "value_size", "max_entries")]
            yield MapDefinition(declared.name, values.get("type", 0), *_defaults(values.get("type", 0), *sizes))

    def lines(self, extension: bytes) -> Iterator[tuple[str, int, SourceLine]]:
        """Yield the source lines of `.BTF.ext`: section, offset of the instruction in bytes, line."""
        for section, record in self._records(extension, 2):
            offset, file, text, position = struct.unpack_from("<IIII", record)
            name = PurePosixPath(self.text(file)).name
            yield section, offset, SourceLine(name, position >> 10, self.text(text).strip())

    def relocated_fields(self, extension: bytes) -> Iterator[tuple[str, int]]:
        """Yield the instructions that depend on the running kernel's types (CO-RE): section, offset in bytes."""
        if struct.unpack_from("<I", extension, 4)[0] >= 32:
            for section, record in self._records(extension, 4):
                yield section, struct.unpack_from("<I", record)[0]

    def _records(self, data: bytes, place: int) -> Iterator[tuple[str, bytes]]:
        """Yield the records of a part of `.BTF.ext`; word `place` holds the part's offset, the next word its length."""
        (head,) = struct.unpack_from("<I", data, 4)
        begin, length = struct.unpack_from("<II", data, 8 + 4 * place)
        at, end = head + begin + 4, head + begin + length
        (size,) = struct.unpack_from("<I", data, at - 4) if length else (0,)
        while at < end:
            name, count = struct.unpack_from("<II", data, at)
            at += 8
            for _ in range(count):
                yield self.text(name), data[at : at + size]
                at += size


def _defaults(kind: int, key: int, value: int, entries: int) -> tuple[int, int, int]:
    """Return sizes and entries with the loader's defaults; kind 4, perf events, has keys and values of 4 bytes."""
    return (4, 4, entries) if kind == 4 else (key, value, entries)
