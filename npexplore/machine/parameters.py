"""Records of a machine file (models/machines/*.toml): every number with its kind, unit, range, source and fits.

Labels of predictions follow from these records and from the parameters that a prediction read (npexplore/reads.py): a
ledger row is calibrated if one of them was fitted to it, post hoc if one was chosen after the row was seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Literal

import msgspec

from npexplore.display import html_table, text_table
from npexplore.errors import InputError, UnknownNameError, one_of
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
JITTER = "jitter"  # a knob of every design, in addition to those of its file
HOW_TO_ADD = "give its function design() arguments with defaults in Python, or [parameter.NAME] tables in TOML"
TABLE_HEAD = ("parameter", "value", "unit", "kind", "about")


class Parameter(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One number or choice of a machine. A text with a unit in the file becomes a number in `unit`.

    advised: whether reports may advise another value: false if the parameter sets the task, the traffic or the reading
    of a source; a list of the choices that do the same work, if others do not.
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

    @property
    def by_hand(self) -> bool:
        """Whether it is a number that was set by hand with published rows in view: such a number counts as fitted."""
        numeric = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        return numeric and bool(self.chosen_after) and self.source.startswith("by hand")

    def check(self, name: str, value: Value) -> Value:
        """Return a value in this parameter's type; raises InputError if type, range or choice is wrong."""
        whole = isinstance(self.value, int)
        unit = self.unit or unit_of(name) or ""
        return checked(f"knob {name}", value, whole, self.min, self.max, self.choices, unit)

    def allows(self, number: float) -> bool:
        """Return whether a number is in this parameter's range, or one of its choices."""
        least, most = (limit if limit is not None else number for limit in (self.min, self.max))
        return number in self.choices if self.choices else least <= number <= most

    def neighbours(self, value: Value) -> list[float]:
        """Return the listed numbers next to a value, at most one to each side."""
        numbers = sorted(float(choice) for choice in self.choices if not isinstance(choice, str))
        below, above = [n for n in numbers if n < float(value)], [n for n in numbers if n > float(value)]
        return [*below[-1:], *above[:1]]

    def in_numbers(self, name: str) -> Parameter:
        """Return the parameter with a value such as `2.5 GHz` as a number in its declared or implied unit."""
        number_and_unit = split(self.value) if isinstance(self.value, str) and not words(self.choices) else None
        if number_and_unit is None:
            return self
        unit = self.unit or unit_of(name) or number_and_unit[1]
        return msgspec.structs.replace(self, unit=unit, value=quantity(f"knob {name}", str(self.value), unit))


class Mechanism(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An assumption of code other than a number: an order, a policy, a way of counting; code declares its use."""

    about: str
    source: str
    fitted_to: list[str] = []
    chosen_after: list[str] = []


class Alternative(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Another structure that the calibration rows do not rule out: parameters to set, and the reasons for it."""

    name: str
    set: dict[str, Value]
    about: str


class MachineFile(msgspec.Struct, frozen=True, eq=False, kw_only=True, forbid_unknown_fields=True):
    """Schema of models/machines/*.toml; files are compared by identity, or by `described`.

    title: one line (default: the name). extends: machine file (name, or path relative to this file) whose tables this
    file changes or adds to. set: values for parameters of that file, by name. reason: ledger key -> why a prediction
    misses. modes: ledger key -> the mode of simulation on which its prediction rests (docs/estimate.md). seen: lists of
    ledger keys that `chosen_after` may name. resource, receive, pool, counted, window, touching: the machine itself, if
    no Python file describes it. part: files of parts in the same folder that its resources name, filled in at reading.
    """

    name: str
    title: str = ""
    paper: str = ""
    parameter: dict[str, Parameter] = {}
    mechanism: dict[str, Mechanism] = {}
    seen: dict[str, list[str]] = {}
    extends: str | None = None
    set: dict[str, Value] = {}
    alternative: list[Alternative] = []
    reason: dict[str, str] = {}
    modes: dict[str, str] = {}
    resource: Resources = {}
    receive: ReceiveTable | None = None
    pool: list[PoolTable] = []
    counted: CountedTable | None = None
    window: WindowTable | None = None
    touching: TouchingTable | None = None
    part: dict[str, Any] = {}  # PartFile by type


class Parameters(Mapping[str, Value]):
    """The parameters of a machine with their current values, readable as attributes: `p.banks`.

    Stores only values that differ from the file, because a grid has hundreds of thousands of these objects.

    Example:
        >>> import npexplore as npx
        >>> p = npx.design("ixp2400").parameters
        >>> p.banks, p["hash_ns"]
        (4, 147.98)
    """

    __slots__ = ("_changed", "_defaults", "_read", "_records", "file")

    def __init__(self, file: MachineFile, values: Mapping[str, Value] | None = None) -> None:
        self.file = file
        self._read: set[str] | None = None
        known, checked = file.parameter, dict[str, Value]()
        for name, value in (values or {}).items():
            if not known:
                raise InputError(f"knob {name!r}: {file.name} has no parameters to change; to have some, {HOW_TO_ADD}")
            if name not in known:
                raise UnknownNameError(f"knob of {file.name}", name, known)
            checked[name] = known[name].check(name, value)
        self._changed = {
            name: checked[name] for name in known if name in checked and checked[name] != known[name].value
        }
        self._defaults = _defaults(file)
        self._records: dict[str, Read] | None = None  # by name, records of changed values for traces

    @property
    def read(self) -> set[str]:
        """The names of the parameters that were read: those on which a machine depends."""
        if self._read is None:
            self._read = set()
        return self._read

    def __getitem__(self, name: str) -> Value:
        changed = name in self._changed
        if not changed and name not in self.file.parameter:
            raise UnknownNameError(f"parameter of {self.file.name}", name, self.file.parameter)
        value = self.present(name)
        self.read.add(name)
        active_trace = trace()
        if active_trace is not None:
            if changed and self._records is None:
                self._records = {}
            known = self._records if changed and self._records is not None else self._defaults
            read = known.get(name)
            if read is None:
                read = known[name] = self._tell(name, value)
            active_trace[read.text] = read
        return value

    def present(self, name: str) -> Value:
        """Return a parameter's value without counting it as read."""
        return self._changed[name] if name in self._changed else self.file.parameter[name].value

    def __contains__(self, name: object) -> bool:
        return name in self.file.parameter

    def _values(self) -> dict[str, Value]:
        """Return all values; they do not count as read."""
        return {name: self.present(name) for name in self.file.parameter}

    def _tell(self, name: str, value: Value) -> Read:
        """Return the record of a parameter for traces."""
        p = self.file.parameter[name]
        kind = "fitted" if p.by_hand else p.kind
        return Read(
            f"{self.file.name}/{name}", kind, value, f"{self.file.name}.toml", p.unit, value == p.value,
            tuple(p.fitted_to), tuple(p.chosen_after), p.row,
        )  # fmt: skip

    def assume(self, name: str) -> None:
        """Note that the prediction rests on a mechanism of the file; raises UnknownNameError."""
        m = self.file.mechanism[one_of(f"mechanism of {self.file.name}", name, self.file.mechanism)]
        note(Read(f"{self.file.name}/{name}", "mechanism", m.about, f"{self.file.name}.toml",
                  fitted_to=tuple(m.fitted_to), chosen_after=tuple(m.chosen_after)))  # fmt: skip

    def __iter__(self) -> Iterator[str]:
        return iter(self.file.parameter)

    def __len__(self) -> int:
        return len(self.file.parameter)

    def __eq__(self, other: object) -> bool:
        """Whether files and values are equal; the comparison does not count as reading the values."""
        if not isinstance(other, Parameters):
            return self._values() == other if isinstance(other, Mapping) else NotImplemented
        same_file = self.file is other.file or described(self.file) == described(other.file)
        return same_file and self._changed == other._changed

    def __hash__(self) -> int:
        return hash((described(self.file), tuple(self._changed.items())))

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.file.parameter]

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.file.parameter)

    def __repr__(self) -> str:
        if not self.file.parameter:
            return f"{self.file.name} has no parameters"
        return text_table(TABLE_HEAD, parameter_rows(self))

    def _repr_html_(self) -> str:
        return html_table(TABLE_HEAD, parameter_rows(self), f"Parameters of {self.file.name}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("file", "read"):
            raise AttributeError(name)
        return self[name]

    def __reduce__(self) -> tuple[Any, ...]:
        """Send the file with its identity, so that a process that received it before reuses its own copy and caches."""
        return _received, (described(self.file), self.file, self.changed())

    def _unit_of(self, name: str) -> str | None:
        """Return the unit of a parameter, declared or implied by its name."""
        return self.file.parameter[name].unit or unit_of(name)

    def with_(self, **values: Value) -> Parameters:
        """Return the parameters with some values changed; raises UnknownNameError, InputError."""
        file = self.file
        if JITTER in values and JITTER not in file.parameter:
            file = _with_jitter(file)
        return Parameters(file, {**self.changed(), **values})

    @property
    def jitter(self) -> float:
        """The jitter knob of every design; 0 if it was not set, or if the file's parameter of that name is another."""
        return float(self[JITTER]) if self.file.parameter.get(JITTER) == EVERY_JITTER else 0.0

    def changed(self) -> dict[str, Value]:
        """Return the values that differ from the file's."""
        return dict(self._changed)


def parameter_rows(parameters: Parameters) -> list[tuple[object, ...]]:
    """Return name, value, unit, kind and meaning of each parameter; the values do not count as read."""
    known = parameters.file.parameter
    return [(name, parameters.present(name), p.unit, p.kind, p.about) for name, p in known.items()]


EVERY_JITTER = Parameter(
    kind="knob", value=0.0, min=0.0, max=0.5, unit="", advised=False, source="npexplore/engine/jitter.py",
    about="standard deviation of constant times of visits in simulations, as a share of each",
)  # fmt: skip


@lru_cache(maxsize=64)
def _with_jitter(file: MachineFile) -> MachineFile:
    """Return a machine file with the jitter knob that every design has."""
    return msgspec.structs.replace(file, parameter={**file.parameter, JITTER: EVERY_JITTER})


@lru_cache(maxsize=64)
def described(file: MachineFile) -> bytes:
    """Return the hash of the whole content of a machine file."""
    return blake2b(msgspec.json.encode(file, order="deterministic"), digest_size=16).digest()


@lru_cache(maxsize=64)
def _defaults(file: MachineFile) -> dict[str, Read]:
    """Return the dictionary, empty at first, of trace records of a file's default values; shared by its Parameters."""
    return {}


_came: dict[bytes, MachineFile] = {}  # machine files from other processes, by the hash of their content


def _received(identity: bytes, file: MachineFile, values: dict[str, Value]) -> Parameters:
    return Parameters(_came.setdefault(identity, file), values)
