"""A machine file (models/machines/*.toml): every number with its kind, unit, range, source, and what it was fitted to.

Labels of predictions follow from these records and from what was read (npexplore/reads.py): a row is calibrated if a
parameter behind it was fitted to it, post hoc if one was chosen after it was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

import msgspec

from npexplore.errors import Faults, InputError, UnknownNameError, told_at
from npexplore.machine.described.part_files import parts_beside, read_parts
from npexplore.machine.described.records import (
    CountedTable,
    PoolTable,
    ReceiveTable,
    Resources,
    TouchingTable,
    WindowTable,
)
from npexplore.machine.ranges import Value as Value
from npexplore.machine.ranges import checked, words
from npexplore.paths import share
from npexplore.reads import Read, note, trace
from npexplore.toml import convert, parsed
from npexplore.units import quantity, split, unit_of

Kind = Literal["knob", "fact", "fitted", "assumption"]
ASKED = frozenset({"kind", "about", "source"})  # what only a new parameter must say


class Parameter(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One number or choice of a machine. In a file the value may be a text with its unit; read, it is in `unit`.

    advised: whether another value is something to advise; false if it says what is done, which packets come or how a
    source is read; a list of the choices that do the same work, if others do not.
    """

    kind: Kind
    value: Value
    about: str
    source: str
    unit: str = ""
    min: float | None = None
    max: float | None = None
    choices: list[str | int] = []
    advised: bool | list[str] = True
    row: str | None = None
    fitted_to: list[str] = []
    chosen_after: list[str] = []

    def check(self, name: str, value: Value) -> Value:
        """Return a value in this parameter's own type; raises InputError if type, range or choice is wrong."""
        whole = isinstance(self.value, int)
        unit = self.unit or unit_of(name) or ""
        return checked(f"knob {name}", value, whole, self.min, self.max, self.choices, unit)

    def allows(self, number: float) -> bool:
        """Return whether a number is in this parameter's range, or one of its choices."""
        least, most = (own if own is not None else number for own in (self.min, self.max))
        return number in self.choices if self.choices else least <= number <= most

    def in_numbers(self, name: str) -> Parameter:
        """Return the parameter with a value such as `2.5 GHz` as a number in its unit, which name or text may tell."""
        told = split(self.value) if isinstance(self.value, str) and not words(self.choices) else None
        if told is None:
            return self
        unit = self.unit or unit_of(name) or told[1]
        return msgspec.structs.replace(self, unit=unit, value=quantity(f"knob {name}", str(self.value), unit))


class Mechanism(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What code assumes beside numbers: an order, a policy, a way of counting. Code that rests on it says so."""

    about: str
    source: str
    fitted_to: list[str] = []
    chosen_after: list[str] = []


class Alternative(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Another structure that the calibration rows do not rule out: parameters to set, and what speaks for it."""

    name: str
    set: dict[str, Value]
    about: str


class MachineFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Schema of models/machines/*.toml.

    extends: machine file (name, or path from here) that this one changes: it may leave out what that one says. set:
    values for parameters of that file, by name. reason: ledger key -> why a prediction misses.
    seen: lists of ledger keys that `chosen_after` may name. resource, receive, pool, counted, window, touching: the
    machine itself, where no Python file describes it. part: the files of parts beside it that its resources name;
    filled in when it is read.
    """

    name: str
    title: str
    paper: str = ""
    parameter: dict[str, Parameter] = {}
    mechanism: dict[str, Mechanism] = {}
    seen: dict[str, list[str]] = {}
    extends: str | None = None
    set: dict[str, Value] = {}
    alternative: list[Alternative] = []
    reason: dict[str, str] = {}
    resource: Resources = {}
    receive: ReceiveTable | None = None
    pool: list[PoolTable] = []
    counted: CountedTable | None = None
    window: WindowTable | None = None
    touching: TouchingTable | None = None
    part: dict[str, Any] = {}  # PartFile by type


class Parameters(Mapping[str, Value]):
    """The parameters of a machine with their present values, readable as attributes: `p.banks`."""

    def __init__(self, file: MachineFile, values: Mapping[str, Value] | None = None) -> None:
        self.file = file
        self.read: set[str] = set()  # names that somebody asked for: what a machine depends on
        self._values: dict[str, Value] = {name: p.value for name, p in file.parameter.items()}
        for name, value in (values or {}).items():
            if name not in file.parameter:
                raise UnknownNameError(f"knob of {file.name}", name, file.parameter)
            self._values[name] = file.parameter[name].check(name, value)
        self._changed: dict[str, Value] | None = None  # values never change: found out once
        self._told: dict[str, Read] = {}  # by name, as a trace has it

    def __getitem__(self, name: str) -> Value:
        if name not in self._values:
            raise UnknownNameError(f"parameter of {self.file.name}", name, self._values)
        self.read.add(name)
        seen = trace()
        if seen is not None:
            told = self._told.get(name) or self._tell(name)
            seen[told.told] = told
        return self._values[name]

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def _tell(self, name: str) -> Read:
        """Return how a trace has a parameter."""
        p, value = self.file.parameter[name], self._values[name]
        told = self._told[name] = Read(
            f"{self.file.name}/{name}", p.kind, value, f"{self.file.name}.toml", p.unit, value == p.value,
            tuple(p.fitted_to), tuple(p.chosen_after), p.row,
        )  # fmt: skip
        return told

    def assume(self, name: str) -> None:
        """Say that what follows rests on a mechanism of the file; raises UnknownNameError."""
        if name not in self.file.mechanism:
            raise UnknownNameError(f"mechanism of {self.file.name}", name, self.file.mechanism)
        m = self.file.mechanism[name]
        note(Read(f"{self.file.name}/{name}", "mechanism", m.about, f"{self.file.name}.toml",
                  fitted_to=tuple(m.fitted_to), chosen_after=tuple(m.chosen_after)))  # fmt: skip

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("file", "read"):
            raise AttributeError(name)
        return self[name]

    def __reduce__(self) -> tuple[Any, ...]:
        """Send the file with its identity: where it has come before, what was made of it is found again."""
        return _received, (described(self.file), self.file, self.changed())

    def with_(self, **values: Value) -> Parameters:
        """Return the parameters with some values changed; raises UnknownNameError, InputError."""
        return Parameters(self.file, {**self.changed(), **values})

    def changed(self) -> dict[str, Value]:
        """Return the values that differ from the file's."""
        if self._changed is None:
            known = self.file.parameter
            self._changed = {name: value for name, value in self._values.items() if value != known[name].value}
        return dict(self._changed)


class _File:
    """A machine file as a key, told from others by being itself."""

    def __init__(self, file: MachineFile) -> None:
        self.file = file

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _File) and self.file is other.file

    def __hash__(self) -> int:
        return id(self.file)


@lru_cache(maxsize=64)
def _described(held: _File) -> bytes:
    return blake2b(msgspec.json.encode(held.file, order="deterministic"), digest_size=16).digest()


def described(file: MachineFile) -> bytes:
    """Return the hash of all that a machine file says."""
    return _described(_File(file))


_came: dict[bytes, MachineFile] = {}  # from other processes, by what they say


def _received(identity: bytes, file: MachineFile, values: dict[str, Value]) -> Parameters:
    return Parameters(_came.setdefault(identity, file), values)


Behind = Callable[[str], MachineFile | None]


def load_machine(path: str | Path, within: tuple[str, ...] = (), behind: Behind | None = None) -> MachineFile:
    """Return a machine file by name (models/machines) or path; raises InputError. `within`: files that extend it.

    behind: gives the machine file of what is none and may be extended all the same.
    """
    file = Path(path)
    if file.suffix != ".toml":
        folder = share("models", "machines")
        file = folder / f"{path}.toml"
        if not file.exists():
            raise UnknownNameError("machine", str(path), [p.stem for p in folder.glob("*.toml")])
    try:
        machine = _read(file, file.stat().st_mtime_ns, within, behind)
        lacking = {name: table for name, table in machine.resource.items() if table.get("type") not in machine.part}
        with told_at(file.name):
            beside = tuple(parts_beside(lacking, file.parent))
        return _with_parts(_File(machine), beside) if beside else machine
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


@lru_cache(maxsize=64)
def _with_parts(held: _File, beside: tuple[tuple[str, Path, int], ...]) -> MachineFile:
    """Join a machine file with the parts beside it, once for each time that one was changed."""
    return msgspec.structs.replace(held.file, part={**held.file.part, **read_parts(beside)})


@lru_cache(maxsize=64)
def _read(file: Path, changed_ns: int, within: tuple[str, ...], behind: Behind | None) -> MachineFile:
    """Read a machine file once for each time it was changed; `within`: the files that extend it."""
    data, base, faults = parsed(file.read_bytes(), file), None, Faults()
    if isinstance(data.get("extends"), str):
        base = _base(data, file, within, faults, behind)
    told_before = len(faults.found)
    with faults.one():
        machine: MachineFile = _with_seen(convert(data, MachineFile, file))
        if machine.part:
            known = set(MachineFile.__struct_fields__) - {"part"}
            raise UnknownNameError("key", "part", known)
    if len(faults.found) > told_before:
        faults.tell(file.name)
    if base is not None:
        machine = msgspec.structs.replace(
            machine,
            parameter={**base.parameter, **machine.parameter},
            mechanism={**base.mechanism, **machine.mechanism},
            alternative=[*base.alternative, *machine.alternative],
            reason={**base.reason, **machine.reason},
            resource={**base.resource, **machine.resource},
            receive=machine.receive or base.receive,
            pool=machine.pool or base.pool,
            counted=machine.counted or base.counted,
            window=machine.window or base.window,
            part=base.part,
        )
    return _checked(machine, file, faults)


def _base(
    data: dict[str, Any], file: Path, within: tuple[str, ...], faults: Faults, behind: Behind | None
) -> MachineFile:
    """Read the file that another extends, and fill up what that one leaves out: names, and all but values.

    What changes a parameter that is not there is a fault, and is left out of `data`.
    """
    name = data.setdefault("name", file.stem)
    asked, beside = data["extends"], data["extends"].endswith(".toml")
    wanted = str((file.parent / asked).resolve()) if beside else asked
    through = (*within, name, str(file.resolve()))
    if wanted in through:
        raise InputError(f"{file.name}: extends must not be circular, got {asked!r}")
    other = behind(wanted) if behind else None
    base = other or load_machine(wanted, through, behind)
    if beside or other:
        data["extends"] = (base.extends if beside else None) or base.name
    data.setdefault("title", f"{base.title}, changed in {file.name}")
    data.setdefault("paper", base.paper)
    given, tables = data.get("set", {}), data.setdefault("parameter", {})
    if not isinstance(given, dict) or not isinstance(tables, dict):
        return base  # told when it is converted
    for knob in list(given):
        with faults.one(), told_at("set"):
            if knob not in base.parameter:
                raise UnknownNameError(f"knob of {base.name}", knob, base.parameter)
            tables[knob] = {**tables.get(knob, {}), "value": given[knob]}
    for knob, table in list(tables.items()):
        if knob in base.parameter and isinstance(table, dict):
            tables[knob] = _filled(base.parameter[knob], table, file)
        elif isinstance(table, dict) and not ASKED.intersection(table):  # changes alone: meant for one that is there
            del tables[knob]
            with faults.one():
                raise UnknownNameError(f"parameter of {base.name}", knob, base.parameter)
    for name, table in data.get("resource", {}).items():
        if name in base.resource and isinstance(table, dict) and "type" not in table:
            data["resource"][name] = {**base.resource[name], **table}
    return base


def _filled(parameter: Parameter, table: dict[str, Any], file: Path) -> dict[str, Any]:
    """Return a parameter's table with all that it leaves out; a value that was changed has no source but the file."""
    known: dict[str, Any] = msgspec.to_builtins(parameter)
    known = {key: one for key, one in known.items() if one is not None}
    if table.get("value", parameter.value) != parameter.value and "source" not in table:
        known |= {"source": f"set in {file.name}", "fitted_to": [], "chosen_after": []}
        known |= {} if parameter.kind == "knob" else {"kind": "assumption"}
        known.pop("row", None)
    return {**known, **table}


def _checked(machine: MachineFile, file: Path, faults: Faults) -> MachineFile:
    """Return a machine file with its values as numbers; raises InputError for it and for faults found before."""
    for what, records in (("parameter", machine.parameter), ("mechanism", machine.mechanism)):
        for name, record in records.items():
            with faults.one():
                if not record.source.strip():
                    raise InputError(f"{what} {name!r} has no source")
                if what == "mechanism" and name in machine.parameter:
                    raise InputError(f"mechanism {name!r} must not have the name of a parameter")
    told = {}
    for name, parameter in machine.parameter.items():
        with faults.one():
            told[name] = parameter.in_numbers(name)
            advised = parameter.advised if isinstance(parameter.advised, list) else []
            for value in (told[name].value, *advised):
                told[name].check(name, value)
    machine = msgspec.structs.replace(machine, parameter=told)
    for alternative in machine.alternative if not faults.found else ():
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
    """Return a file whose `chosen_after` names ledger keys alone."""

    def keys(chosen: list[str]) -> list[str]:
        return list(dict.fromkeys(key for name in chosen for key in file.seen.get(name, [name])))

    def told(kept: dict[str, Any]) -> dict[str, Any]:
        return {k: msgspec.structs.replace(one, chosen_after=keys(one.chosen_after)) for k, one in kept.items()}

    return msgspec.structs.replace(file, parameter=told(file.parameter), mechanism=told(file.mechanism))
