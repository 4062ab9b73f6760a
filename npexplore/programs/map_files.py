"""Reads and writes contents of maps as text files: one entry a line, a key and a value.

10.0.0.0/8        3                           a prefix as a key of an lpm_trie; whole numbers little-endian
10.1.2.3,be16:80  02:00:00:00:00:01,le16:5    parts joined by commas: addresses, MAC addresses, numbers
hex:0a000001      hex:00ff                    any bytes
1                 my_program                  in a prog_array, the name of a program
"""

import ipaddress
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from npexplore.errors import InputError, one_of
from npexplore.paths import text_content
from npexplore.programs.lowering import PROG_ARRAY
from npexplore.programs.records import MapDefinition, Program

_NUMBER = re.compile(r"(?:(be|le)(8|16|32|64):)?(-?\d+|0x[0-9a-fA-F]+)")


def read_map(program: Program, name: str, path: str | Path) -> dict[bytes, bytes]:
    """Return the contents for a map from a file; raises InputError naming the line."""
    maps = {definition.name: definition for definition in program.used_maps.values()}
    definition = maps[one_of(f"{program.path}: map", name, maps)]
    contents: dict[bytes, bytes] = {}
    for number, line in enumerate(text_content(Path(path)).splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        where = f"{path}, line {number}"
        if len(words) != 2:
            raise InputError(f"{where}: an entry of a map is a key and a value, got {len(words)} words")
        key = _bytes(words[0], definition.key_bytes, f"{where}: key")
        if key in contents:
            raise InputError(f"{where}: key {words[0]!r} stands twice")
        by_name = definition.kind == PROG_ARRAY
        contents[key] = words[1].encode() if by_name else _bytes(words[1], definition.value_bytes, f"{where}: value")
    return contents


def read_named_maps(program: Program, words: Iterable[str]) -> dict[str, dict[bytes, bytes]]:
    """Return contents of maps from arguments NAME=FILE; raises InputError for another form."""
    contents = {}
    for word in words:
        name, equals, path = word.partition("=")
        if not equals or not path:
            raise InputError(f"--map must be NAME=FILE, got {word!r}")
        contents[name] = read_map(program, name, path)
    return contents


def write_map(path: Path, contents: Mapping[bytes, bytes], definition: MapDefinition) -> None:
    """Write a map's contents in order of their keys; arrays without entries that are 0."""
    is_array = definition.kind_name.endswith("array")
    entries = sorted((key, value) for key, value in contents.items() if any(value) or not is_array)
    rows = [f"hex:{key.hex()} hex:{value.hex()}" for key, value in entries]
    head = f"# {definition.name}: {definition.kind_name}, {len(contents)} entries"
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")


def _bytes(word: str, size: int, where: str) -> bytes:
    """Return the bytes of a word; a single number takes all `size` bytes."""
    parts = word.split(",")
    data = b"".join(_part(part, size if len(parts) == 1 else 4, where) for part in parts)
    if len(data) != size:
        raise InputError(f"{where} has {size} bytes, {word!r} is {len(data)}")
    return data


def _part(text: str, size: int, where: str) -> bytes:
    if text.startswith("hex:"):
        with suppress(ValueError):
            return bytes.fromhex(text[4:])
    if re.fullmatch(r"(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}", text):
        return bytes.fromhex(text.replace(":", ""))
    if number := _NUMBER.fullmatch(text):
        width = int(number[2]) // 8 if number[2] else size
        with suppress(OverflowError):
            value = int(number[3], 0)
            return value.to_bytes(width, "big" if number[1] == "be" else "little", signed=value < 0)
        raise InputError(f"{where}: {text!r} does not fit into {width} bytes")
    with suppress(ValueError):
        if "/" in text:
            network = ipaddress.ip_network(text, strict=False)
            return network.prefixlen.to_bytes(4, "little") + network.network_address.packed
        return ipaddress.ip_address(text).packed
    forms = "a number (5, be16:80), an address, a prefix, a MAC address, or hex:..."
    raise InputError(f"{where}: {text!r} is none of {forms}")
