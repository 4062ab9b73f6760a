"""Reads files of parts: models/parts/NAME.toml (the shelf), or files in the folder of a machine file.

The file of DRAM timings in models/parts is not such a part: it has speed grades, not `visits`.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from npexplore.errors import InputError, UnknownNameError, one_of
from npexplore.machine.described.records import PartFile, Resources
from npexplore.paths import content, share
from npexplore.toml import decode

# the shelf: a file for each part
PARTS = ("pcie_link", "pcie_wires", "qdr_sram", "hash_unit", "ethernet_port", "byte_engine", "cpu_caches")
OWN = ".toml"  # end of the type of a part in the folder of the machine file


def own_names(file: PartFile, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with each parameter's first name instead of an alias; raises InputError for both names."""
    first = {alias: key for key, operand in file.parameters.items() for alias in operand.also}
    for key in values:
        if first.get(key) in values:
            raise InputError(f"{key!r} and {first[key]!r} are one parameter; one of them must be left out")
    return {first.get(key, key): value for key, value in values.items()}


def shelf_part(name: str) -> PartFile:
    """Return a part of the shelf by name; raises UnknownNameError, InputError."""
    path = share("models", "parts", f"{one_of('part', name, PARTS)}.toml")
    return _read(path, path.stat().st_mtime_ns)


def parts_beside(tables: Resources, folder: Path) -> Iterator[tuple[str, Path, int]]:
    """Yield type, path and time of change of each part in a folder that tables of resources, or such parts, name.

    Raises UnknownNameError for a part that does not exist.
    """
    kinds, known_kinds = [str(table.get("type")) for table in tables.values()], set[str]()
    while kinds:
        kind = kinds.pop(0)
        if not kind.endswith(OWN) or kind in known_kinds:
            continue
        known_kinds.add(kind)
        path = folder / kind
        if path.name != kind or not path.is_file():
            raise UnknownNameError("part", kind, [file.name for file in folder.glob("*.toml")])
        changed = path.stat().st_mtime_ns
        yield kind, path, changed
        kinds += [str(table.get("type")) for table in _read(path, changed).inner.values()]


@lru_cache(maxsize=64)
def _read(path: Path, changed_ns: int) -> PartFile:
    part: PartFile = decode(content(path), PartFile, path)
    facts = {"the part": part.source, **{f"parameter {name!r}": p.source for name, p in part.parameters.items()}}
    for what, source in facts.items():
        if not source.strip():
            raise InputError(f"{path.name}: {what} has no source")
    return part


def read_parts(files: tuple[tuple[str, Path, int], ...]) -> dict[str, PartFile]:
    """Return the parts of the files that `parts_beside` yields, by type."""
    return {kind: _read(path, changed) for kind, path, changed in files}
