"""Loads programs from object files, assembler text or machine code."""

from __future__ import annotations

from collections.abc import Sequence
from os.path import isfile
from pathlib import Path

from npexplore.errors import InputError
from npexplore.paths import text_content
from npexplore.programs.assembler import assemble
from npexplore.programs.elf import read_object
from npexplore.programs.instructions import Instruction, decode
from npexplore.programs.records import Program

ASSEMBLER = (".s", ".asm")  # endings of files with a text of instructions


def program(source: str | Path | bytes | Sequence[Instruction], section: str | None = None) -> Program:
    """Return an eBPF program that can be run on packets.

    Args:
        source: an object file (clang -target bpf), assembler text as in docs/programs.md (a file that ends in .s, or
            the text itself), machine code as bytes, or a list of instructions.
        section: the name of a program in the object, or of its section; required if the object has several programs.

    Raises:
        InputError: not an eBPF object, or damaged; an instruction, helper, map kind or kernel function that is not
            supported, with its slot and source line.

    Example:
        >>> import npexplore as npx
        >>> npx.program("ldxw r2, [r1+0]\\nldxb r0, [r2+13]\\nexit").run([bytes(13) + b"\\x02" + bytes(46)]).verdicts
        {'pass': 1}
    """
    if isinstance(source, bytes):
        if len(source) % 8 or not source:
            raise InputError(f"machine code must be a whole number of 8-byte instructions, got {len(source)} bytes")
        return Program("code", "main", tuple(decode(source)), {"main": 0})
    if not isinstance(source, str | Path):
        return Program("code", "main", tuple(source), {"main": 0})
    if isinstance(source, Path) or _names_a_file(source):
        path = Path(source)
        if path.suffix not in ASSEMBLER:
            return read_object(path, section)
        return _assembled(text_content(path), path.name)
    return _assembled(source, "text")


def _names_a_file(source: str) -> bool:
    """Return whether a text is a file name (folders may contain blanks) rather than instructions."""
    return "\n" not in source and (" " not in source.strip() or source.endswith((".o", *ASSEMBLER)) or isfile(source))


def _assembled(text: str, name: str) -> Program:
    slots, maps, lines = assemble(text, name)
    return Program(name, "main", tuple(slots), {"main": 0}, tuple(maps), lines)
