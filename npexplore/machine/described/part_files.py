"""Files of parts (models/parts/NAME.toml, or beside a machine file): read, each fact with its source.

The file of DRAM timings in models/parts is no part in this sense: it has speed grades, not `visits`.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from npexplore.errors import InputError, UnknownNameError, one_of
from npexplore.machine.described.records import PartFile, Resources
from npexplore.paths import content, share
from npexplore.toml import decode

# the shelf, a file each
PARTS = ("pcie_link", "pcie_wires", "qdr_sram", "hash_unit", "ethernet_port", "byte_engine", "cpu_caches")
OWN = ".toml"  # how the type of a part beside the machine file ends


def own_names(file: PartFile, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a table with each parameter's first name in place of another; raises InputError for both."""
    first = {other: key for key, one in file.parameters.items() for other in one.also}
    for key in values:
        if first.get(key) in values:
            raise InputError(f"{key!r} and {first[key]!r} are one parameter; one of them must be left out")
    return {first.get(key, key): value for key, value in values.items()}


def shelf_part(name: str) -> PartFile:
    """Return a part of the shelf by name; raises UnknownNameError, InputError."""
    path = share("models", "parts", f"{one_of('part', name, PARTS)}.toml")
    return _read(path, path.stat().st_mtime_ns)


def parts_beside(tables: Resources, folder: Path) -> Iterator[tuple[str, Path, int]]:
    """Yield type, path and time of change of each part in a folder that tables of resources name, also inside parts.

    Raises UnknownNameError for a part that does not exist.
    """
    kinds, seen = [str(table.get("type")) for table in tables.values()], set[str]()
    while kinds:
        kind = kinds.pop(0)
        if not kind.endswith(OWN) or kind in seen:
            continue
        seen.add(kind)
        path = folder / kind
        if path.name != kind or not path.is_file():
            raise UnknownNameError("part", kind, [one.name for one in folder.glob("*.toml")])
        changed = path.stat().st_mtime_ns
        yield kind, path, changed
        kinds += [str(table.get("type")) for table in _read(path, changed).inner.values()]


@lru_cache(maxsize=64)
def _read(path: Path, changed_ns: int) -> PartFile:
    part: PartFile = decode(content(path), PartFile, path)
    facts = {"the part": part.source, **{f"parameter {name!r}": one.source for name, one in part.parameters.items()}}
    for what, source in facts.items():
        if not source.strip():
            raise InputError(f"{path.name}: {what} has no source")
    return part


def read_parts(files: tuple[tuple[str, Path, int], ...]) -> dict[str, PartFile]:
    """Return what `parts_beside` found, read."""
    return {kind: _read(path, changed) for kind, path, changed in files}
