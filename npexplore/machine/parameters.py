"""A machine file (models/machines/*.toml): every number with its kind, unit, range, source, and what it was fitted to.

Labels of predictions follow from these records and from what was read (npexplore/reads.py): a row is calibrated if a
parameter behind it was fitted to it, post hoc if one was chosen after it was seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Literal

import msgspec

from npexplore.display import html_table, text_table
from npexplore.errors import InputError, UnknownNameError
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
from npexplore.reads import Read, note, trace
from npexplore.units import quantity, split, unit_of

Kind = Literal["knob", "fact", "fitted", "assumption"]
HOW_TO_ADD = "give its function design() arguments with defaults in Python, or [parameter.NAME] tables in TOML"
TABLE_HEAD = ("parameter", "value", "unit", "kind", "about")


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
            if not file.parameter:
                raise InputError(f"knob {name!r}: {file.name} has no parameters to change; to have some, {HOW_TO_ADD}")
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

    def __eq__(self, other: object) -> bool:
        """Whether the same file has the same values; what is compared does not count as read."""
        if not isinstance(other, Parameters):
            return self._values == other if isinstance(other, Mapping) else NotImplemented
        same = self.file is other.file or described(self.file) == described(other.file)
        return same and self._values == other._values

    def __hash__(self) -> int:
        return hash((described(self.file), tuple(self._values.items())))

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._values]

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._values)

    def __repr__(self) -> str:
        if not self._values:
            return f"{self.file.name} has no parameters"
        return text_table(TABLE_HEAD, parameter_rows(self))

    def _repr_html_(self) -> str:
        return html_table(TABLE_HEAD, parameter_rows(self), f"Parameters of {self.file.name}")

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


def parameter_rows(parameters: Parameters) -> list[tuple[object, ...]]:
    """Return name, value, unit, kind and meaning of each parameter; the values do not count as read."""
    known = parameters.file.parameter
    values = {**{name: p.value for name, p in known.items()}, **parameters.changed()}
    return [(name, values[name], p.unit, p.kind, p.about) for name, p in known.items()]


class Itself:
    """A machine file as a key, told from others by being itself."""

    def __init__(self, file: MachineFile) -> None:
        self.file = file

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Itself) and self.file is other.file

    def __hash__(self) -> int:
        return id(self.file)


@lru_cache(maxsize=64)
def _described(held: Itself) -> bytes:
    return blake2b(msgspec.json.encode(held.file, order="deterministic"), digest_size=16).digest()


def described(file: MachineFile) -> bytes:
    """Return the hash of all that a machine file says."""
    return _described(Itself(file))


_came: dict[bytes, MachineFile] = {}  # from other processes, by what they say


def _received(identity: bytes, file: MachineFile, values: dict[str, Value]) -> Parameters:
    return Parameters(_came.setdefault(identity, file), values)
