"""Reads a machine file by name or path, with the file that it extends and the files of parts in its folder."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from npexplore.errors import Faults, InputError, UnknownNameError, one_of, told_at
from npexplore.machine.described.part_files import parts_beside, read_parts
from npexplore.machine.described.part_parameters import changed_table, with_part_parameters
from npexplore.machine.parameters import MachineFile, Parameter, Parameters
from npexplore.paths import content, share, stems
from npexplore.toml import FILLED, convert, parsed

ASKED = frozenset({"kind", "about", "source"})  # keys that only a new parameter must have
JOINED = ("parameter", "mechanism", "reason", "modes", "resource")  # tables added to those of the extended file
REPLACED = ("receive", "pool", "counted", "window", "touching")  # tables that replace those of the extended file
Behind = Callable[[str], MachineFile | None]


def load_machine(path: str | Path, within: tuple[str, ...] = (), behind: Behind | None = None) -> MachineFile:
    """Return a machine file by name (models/machines) or path; raises InputError. `within`: files that extend it.

    behind: returns a machine file for a name in `extends` that is not a machine file, such as a Python design.
    """
    file = Path(path)
    if file.suffix != ".toml":
        file = share("models", "machines") / f"{one_of('machine', str(path), stems('models', 'machines'))}.toml"
    try:
        machine = _read(file, file.stat().st_mtime_ns, within, behind)
        unresolved = {
            name: table for name, table in machine.resource.items() if str(table.get("type")) not in machine.part
        }
        with told_at(file.name):
            part_files = tuple(parts_beside(unresolved, file.parent))
        return _with_parts(machine, part_files)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


@lru_cache(maxsize=64)
def _with_parts(file: MachineFile, beside: tuple[tuple[str, Path, int], ...]) -> MachineFile:
    """Join a machine file with its parts and their default parameters; cached until one of the files changes."""
    if beside:
        file = msgspec.structs.replace(file, part={**file.part, **read_parts(beside)})
    return with_part_parameters(file)


@lru_cache(maxsize=64)
def _read(file: Path, changed_ns: int, within: tuple[str, ...], behind: Behind | None) -> MachineFile:
    """Read a machine file; cached until it changes. `within`: the files that extend it."""
    data, base, faults = parsed(content(file), file), None, Faults()
    if isinstance(data.get("extends"), str):
        base = _base(data, file, within, faults, behind)
    if isinstance(data.get("name"), str):
        data.setdefault("title", data["name"])
    faults_before = len(faults.by_text)
    with faults.one():
        try:
            machine: MachineFile = _with_seen(convert(data, MachineFile, file))
        except InputError as error:
            if base is None and error.rest is not None:
                _more_faults(error.rest, file, faults)
            raise
        if machine.part:
            known = set(MachineFile.__struct_fields__) - {"part"}
            raise UnknownNameError("key", "part", known)
    if len(faults.by_text) > faults_before:
        faults.tell(file.name)
    if base is not None:
        joined: dict[str, Any] = {name: getattr(base, name) | getattr(machine, name) for name in JOINED}
        joined |= {name: getattr(machine, name) or getattr(base, name) for name in REPLACED}
        alternatives = [*base.alternative, *machine.alternative]
        machine = msgspec.structs.replace(machine, alternative=alternatives, part=base.part, **joined)
    return _checked(machine, file, faults)


def _more_faults(rest: MachineFile, file: Path, faults: Faults) -> None:
    """Add the faults of resources and programs for a file whose other tables have faults."""
    from npexplore.machine.described.build import build

    rest = msgspec.structs.replace(rest, name=file.stem) if rest.name == FILLED else rest
    with faults.one():
        machine = _checked(rest, file, Faults())
        part_files = tuple(parts_beside(machine.resource, file.parent))
        build(Parameters(_with_parts(machine, part_files)))


def _base(
    data: dict[str, Any], file: Path, within: tuple[str, ...], faults: Faults, behind: Behind | None
) -> MachineFile:
    """Read the extended file, and fill in the keys that the extending file (`data`) leaves out.

    A change of a parameter that does not exist is a fault, and is removed from `data`.
    """
    name = data.setdefault("name", file.stem)
    extended, is_path = data["extends"], data["extends"].endswith(".toml")
    extended_file = str((file.parent / extended).resolve()) if is_path else extended
    chain = (*within, name, str(file.resolve()))
    if extended_file in chain:
        raise InputError(f"{file.name}: extends must not be circular, got {extended!r}")
    described_elsewhere = behind(extended_file) if behind else None
    base = described_elsewhere or load_machine(extended_file, chain, behind)
    if is_path or described_elsewhere:
        data["extends"] = (base.extends if is_path else None) or base.name
    data.setdefault("title", f"{base.title}, changed in {file.name}")
    data.setdefault("paper", base.paper)
    changes, tables = data.get("set", {}), data.setdefault("parameter", {})
    if not isinstance(changes, dict) or not isinstance(tables, dict):
        return base  # conversion reports the fault
    for knob in list(changes):
        with faults.one(), told_at("set"):
            one_of(f"knob of {base.name}", knob, base.parameter)
            tables[knob] = {**tables.get(knob, {}), "value": changes[knob]}
    for knob, table in list(tables.items()):
        if knob in base.parameter and isinstance(table, dict):
            tables[knob] = _filled(base.parameter[knob], table, file)
        elif isinstance(table, dict) and not ASKED.intersection(table):  # a change of a parameter that does not exist
            del tables[knob]
            with faults.one():
                raise UnknownNameError(f"parameter of {base.name}", knob, base.parameter)
    for name, table in data.get("resource", {}).items():
        if name in base.resource and isinstance(table, dict) and "type" not in table:
            data["resource"][name] = changed_table(base.resource[name], table, base.part)
    return base


def _filled(parameter: Parameter, table: dict[str, Any], file: Path) -> dict[str, Any]:
    """Return a parameter's table with missing keys filled in; the source of a changed value is the changing file."""
    known: dict[str, Any] = msgspec.to_builtins(parameter)
    known = {key: value for key, value in known.items() if value is not None}
    if table.get("value", parameter.value) != parameter.value and "source" not in table:
        known |= {"source": f"set in {file.name}", "fitted_to": [], "chosen_after": []}
        known |= {} if parameter.kind == "knob" else {"kind": "assumption"}
        known.pop("row", None)
    return {**known, **table}


def _checked(machine: MachineFile, file: Path, faults: Faults) -> MachineFile:
    """Return a machine file with its values as numbers; raises InputError for its faults and earlier ones."""
    for record_kind, records in (("parameter", machine.parameter), ("mechanism", machine.mechanism)):
        for name, record in records.items():
            with faults.one():
                if not record.source.strip():
                    raise InputError(f"{record_kind} {name!r} has no source")
                if record_kind == "mechanism" and name in machine.parameter:
                    raise InputError(f"mechanism {name!r} must not have the name of a parameter")
    parameters = {}
    for name, parameter in machine.parameter.items():
        with faults.one():
            parameters[name] = parameter.in_numbers(name)
            advised = parameter.advised if isinstance(parameter.advised, list) else []
            for value in (parameters[name].value, *advised):
                parameters[name].check(name, value)
    machine = msgspec.structs.replace(machine, parameter=parameters)
    for alternative in machine.alternative if not faults.by_text else ():
        with faults.one():
            Parameters(machine, alternative.set)
    with faults.one():
        if machine.set and machine.extends is None:
            raise InputError(f"set needs extends, the file whose values it changes, got {machine.set} alone")
        if not machine.pool and (machine.resource or machine.receive):
            raise InputError("a machine with resources needs a [[pool]] of threads, got none")
    faults.tell(file.name)
    return machine


def _with_seen(file: MachineFile) -> MachineFile:
    """Return a file with the lists of `seen` expanded, so that `chosen_after` holds only ledger keys."""

    def keys(chosen: list[str]) -> list[str]:
        return list(dict.fromkeys(key for name in chosen for key in file.seen.get(name, [name])))

    def with_keys(records: dict[str, Any]) -> dict[str, Any]:
        return {name: msgspec.structs.replace(r, chosen_after=keys(r.chosen_after)) for name, r in records.items()}

    return msgspec.structs.replace(file, parameter=with_keys(file.parameter), mechanism=with_keys(file.mechanism))
