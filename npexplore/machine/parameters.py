"""A machine file (models/machines/*.toml): every number with its kind, unit, range, source, and what it was fitted to.

Labels of predictions follow from these records: a row is calibrated if a parameter was fitted to it, post hoc if a
parameter was chosen after it was seen.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import msgspec

from npexplore.errors import InputError, UnknownNameError
from npexplore.paths import share

Value = str | int | float
Kind = Literal["knob", "fact", "fitted", "assumption"]


class Parameter(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One number or choice of a machine."""

    kind: Kind
    value: Value
    about: str
    source: str
    unit: str = ""
    min: float | None = None
    max: float | None = None
    choices: list[str] = []
    row: str | None = None
    fitted_to: list[str] = []
    chosen_after: list[str] = []

    def check(self, name: str, value: Value) -> Value:
        """Return a value in this parameter's own type; raises InputError if type, range or choice is wrong."""
        if self.choices:
            if str(value) not in self.choices:
                raise InputError(f"knob {name} must be one of {', '.join(self.choices)}, got {value!r}")
            return str(value)
        try:
            number = float(value)
        except ValueError:
            raise InputError(f"knob {name} must be a number, got {value!r}") from None
        if number != number or abs(number) == float("inf"):
            raise InputError(f"knob {name} must be finite, got {value!r}")
        if isinstance(self.value, int) and number != int(number):
            raise InputError(f"knob {name} must be a whole number, got {value!r}")
        low, high = self.min, self.max
        if (low is not None and number < low) or (high is not None and number > high):
            span = f"at least {low:g}" if high is None else f"in {low if low is not None else '-inf':g}..{high:g}"
            raise InputError(f"knob {name} must be {span}{' ' + self.unit if self.unit else ''}, got {value!r}")
        return int(number) if isinstance(self.value, int) else number


class Alternative(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Another structure that the calibration rows do not rule out: parameters to set, and what speaks for it."""

    name: str
    set: dict[str, Value]
    about: str


class MachineFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Schema of models/machines/*.toml.

    extends: name of a machine file whose parameters this one adds to. reason: ledger key -> why a prediction misses.
    """

    name: str
    title: str
    paper: str
    parameter: dict[str, Parameter]
    extends: str | None = None
    alternative: list[Alternative] = []
    reason: dict[str, str] = {}


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

    def __getitem__(self, name: str) -> Value:
        if name not in self._values:
            raise UnknownNameError(f"parameter of {self.file.name}", name, self._values)
        self.read.add(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("file", "read"):
            raise AttributeError(name)
        return self[name]

    def with_(self, **values: Value) -> Parameters:
        """Return the parameters with some values changed; raises UnknownNameError, InputError."""
        return Parameters(self.file, {**self.changed(), **values})

    def changed(self) -> dict[str, Value]:
        """Return the values that differ from the file's."""
        return {name: value for name, value in self._values.items() if value != self.file.parameter[name].value}


def decode(text: bytes, kind: type[Any], path: Path) -> Any:
    """Return a TOML text as a record of a schema; raises InputError with file, place, rule and value."""
    try:
        data = tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path.name}: not valid TOML: {error}") from None
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        rule, _, place = str(error).partition(" - at `$.")
        at = f" in {_named('.' + place.rstrip('`'), data, kind)[1:]}" if place else ""
        if "unknown field" in rule:
            fields = {name for schema in _structs(kind) for name in schema.__struct_encode_fields__}
            rule = str(UnknownNameError("key", rule.split("`")[1], fields))
        raise InputError(f"{path.name}: {rule[0].lower()}{rule[1:]}{at}") from None


def _named(place: str, data: Any, kind: Any) -> str:
    """Return the place of a fault with the names of the entries, which the decoder leaves out."""
    if place.startswith("[...]") and get_origin(kind) is dict:
        for name, entry in data.items():
            try:
                msgspec.convert(entry, get_args(kind)[1])
            except msgspec.ValidationError:
                return f".{name}{_named(place[5:], entry, get_args(kind)[1])}"
    for schema in _structs(kind, deep=False):
        for field in msgspec.structs.fields(schema):
            head, name = f".{field.encode_name}", field.encode_name
            if place.startswith((head + ".", head + "[")) and name in data:
                return head + _named(place[len(head) :], data[name], field.type)
    return place


def _structs(kind: Any, deep: bool = True) -> list[type[msgspec.Struct]]:
    """Return the records that a type is made of, with those inside them if `deep`."""
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return [found for part in get_args(kind) for found in _structs(part, deep)]
    inside = [found for field in msgspec.structs.fields(kind) for found in _structs(field.type)] if deep else []
    return [kind, *inside]


def load_machine(path: str | Path, within: tuple[str, ...] = ()) -> MachineFile:
    """Return a machine file by name (models/machines) or path; raises InputError. `within`: files that extend it."""
    file = Path(path)
    if file.suffix != ".toml":
        folder = share("models", "machines")
        file = folder / f"{path}.toml"
        if not file.exists():
            raise UnknownNameError("machine", str(path), [p.stem for p in folder.glob("*.toml")])
    try:
        return _read(file, file.stat().st_mtime_ns, within)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


@lru_cache(maxsize=64)
def _read(file: Path, changed_ns: int, within: tuple[str, ...]) -> MachineFile:
    """Read a machine file once for each time it was changed; `within`: the files that extend it."""
    text = file.read_bytes()
    machine: MachineFile = decode(text, MachineFile, file)
    if machine.extends is not None:
        if machine.extends in (*within, machine.name):
            raise InputError(f"{file.name}: extends must not lead in a circle, got {machine.extends!r}")
        base = load_machine(machine.extends, (*within, machine.name))
        machine = msgspec.structs.replace(
            machine,
            parameter={**base.parameter, **machine.parameter},
            alternative=[*base.alternative, *machine.alternative],
            reason={**base.reason, **machine.reason},
        )
    for name, parameter in machine.parameter.items():
        if not parameter.source.strip():
            raise InputError(f"{file.name}: parameter {name!r} has no source")
    try:
        for name, parameter in machine.parameter.items():
            parameter.check(name, parameter.value)
        for alternative in machine.alternative:
            Parameters(machine, alternative.set)
    except InputError as error:
        raise InputError(f"{file.name}: {error}") from None
    return machine
