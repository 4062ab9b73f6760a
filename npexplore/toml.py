"""Reads TOML files as typed records; errors name file, place, rule, value and the nearest known keys."""

from __future__ import annotations

import re
import threading
import tomllib
from codecs import BOM_UTF8
from copy import deepcopy
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

import msgspec

from npexplore.errors import Faults, InputError, UnknownNameError
from npexplore.paths import plain_text

FILLED = "?"  # in place of a missing text
MAX_FAULTS = 20  # faults of a file that are reported together
STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")  # a step of a place such as port[0].mtu
ONE_AT_A_TIME = threading.Lock()  # msgspec 0.22 crashes if two threads use the same record type for the first time
T = TypeVar("T")

TYPES = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "nothing",
}  # name in msgspec -> words for messages
SIGNS = {">=": "of at least", "<=": "of at most", ">": "above", "<": "below"}
# kind of a file, and the command that takes it -> keys by which the kind is recognised
OTHERS = {
    "a machine, which `npexplore explain` takes": {"resource", "pool"},
    "a part, which a machine names as the `type` of a resource": {"visits"},
    "a network of stations, which `npexplore solve` takes": {"station"},
    "a Petri net, which `npexplore solve` takes": {"transition", "timing"},
    "a router, which `npexplore route` takes": {"port"},
    "a mix of packet lengths, which stands in models/mixes": {"component"},
}


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the records of TOML files: fields by name; unknown keys are refused."""


def decode(text: bytes, kind: type[Any], path: Path) -> Any:
    """Return a TOML text as a record of a schema; raises InputError with file, place, rule and value of each fault."""
    return convert(parsed(text, path), kind, path)


def _any_of(kinds: list[str]) -> str:
    """Return types in words, without `int` beside `float`."""
    return " or ".join(TYPES[kind] for kind in kinds if kind != "int" or "float" not in kinds)


def parsed(text: bytes, path: Path) -> dict[str, Any]:
    """Return a TOML text as tables; raises InputError if it is not valid TOML."""
    if not text.removeprefix(BOM_UTF8).strip():
        raise InputError(f"{path.name}: is empty")
    try:
        return tomllib.loads(plain_text(text, path.name))
    except (ValueError, RecursionError) as error:  # invalid, or thousands of digits in a number, or of nested tables
        raise InputError(f"{path.name}: not valid TOML: {error}") from None


def typed(value: Any, kind: type[T]) -> T:
    """Return a value converted to a type; raises msgspec.ValidationError if it does not fit. Thread-safe."""
    with ONE_AT_A_TIME:
        return msgspec.convert(value, kind)


def in_words(rule: str) -> str:
    """Return a rule of msgspec's messages with words instead of Python's types and signs (`int` >= 1)."""
    for sign, word in SIGNS.items():
        rule = rule.replace(f" {sign} ", f" {word} ")
    kinds = "|".join(TYPES)
    pattern = rf"`((?:{kinds})(?: \| (?:{kinds}))*)`"
    named = re.sub(pattern, lambda match: _any_of(match[1].split(" | ")), rule)
    named = re.sub("^Object missing required field (`.*?`)", r"key \1 is missing", named)
    return f"{named[0].lower()}{named[1:]}"


def convert(data: dict[str, Any], kind: type[Any], path: Path) -> Any:
    """Return tables as a record of a schema; raises InputError, or FaultsError for several.

    After each fault, the faulty part is removed or the missing part filled in, and the rest is checked again, until no
    fault is left. The resulting record is the error's `rest`, in which other checks look for more faults.
    """
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        field_names = {field.encode_name for field in msgspec.structs.fields(kind)}
        for kind_of_file, keys in OTHERS.items():
            if keys <= data.keys() and not keys & field_names:
                raise InputError(f"{path.name} is {kind_of_file}; known here are {', '.join(sorted(field_names))}")
    faults, remaining, removed, record = Faults(), data, _Gone(), None
    while len(faults.by_text) < MAX_FAULTS:
        filled = False
        try:
            record = typed(remaining, kind)
        except msgspec.ValidationError as error:
            remaining = deepcopy(data) if remaining is data else remaining
            rule, _, place = str(error).partition(" - at `$.")
            at = _named("." + place.rstrip("`"), remaining, kind)[1:] if place else ""
            steps = [int(number) if number else name for number, name in STEP.findall(at)]
            key = rule.split("`")[1] if "`" in rule else ""
            if "unknown field" in rule:
                fault, steps = _fault(rule, at, removed.shown(steps), remaining, kind), [*steps, key]
            elif rule.startswith("Object missing required field"):
                fault = "" if removed.has([*steps, key]) else _fault(rule, at, removed.shown(steps), remaining, kind)
                filled = _fill(remaining, steps, key, kind)
            else:
                fault = _fault(rule, at, removed.shown(steps), remaining, kind)
            if fault:
                with faults.one():
                    raise InputError(f"{path.name}: {fault}") from None
            if not filled and not removed.take(remaining, steps):
                break
        else:
            break
    try:
        faults.tell()
    except InputError as error:
        error.rest = record
        raise
    return record


def _fill(data: Any, steps: list[str | int], lost: str, kind: Any) -> bool:
    """Insert a value of the right type for a missing key; return False if no value fits."""
    hints = [
        field.type for schema in _structs(kind) for field in msgspec.structs.fields(schema)
        if field.encode_name == lost and field.required
    ]  # fmt: skip
    for value in (1, FILLED, *_choices(kind, lost), [], {}):
        for hint in hints:
            try:
                typed(value, hint)
                place = data
                for step in steps:
                    place = place[step]
                if lost in place:  # filled before and still reported as missing: its place is unknown
                    return False
                place[lost] = value
            except (msgspec.ValidationError, KeyError, IndexError, TypeError):
                continue
            return True
    return False


class _Gone:
    """The parts removed from tables, by their original place."""

    def __init__(self) -> None:
        self.places: list[list[str | int]] = []

    def real(self, steps: list[str | int]) -> list[str | int]:
        """Return the place that a part had before entries of lists were removed."""
        place_before: list[str | int] = []
        for step in steps:
            for place in sorted(p for p in self.places if p[:-1] == place_before and isinstance(p[-1], int)):
                if isinstance(step, int) and int(place[-1]) <= step:
                    step += 1
            place_before.append(step)
        return place_before

    def shown(self, steps: list[str | int]) -> str:
        """Return a place in the form `port[0].mtu`."""
        return "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in self.real(steps)).removeprefix(".")

    def has(self, steps: list[str | int]) -> bool:
        """Return whether the key at this place, or a misspelling of it, was removed."""
        real = self.real(steps)
        removed_keys = [str(place[-1]) for place in self.places if place[:-1] == real[:-1]]
        return bool(get_close_matches(str(real[-1]), removed_keys, n=1, cutoff=0.5))

    def take(self, data: Any, steps: list[str | int]) -> bool:
        """Remove the part at a place; return False if there is none."""
        real = self.real(steps)
        try:
            for step in steps[:-1]:
                data = data[step]
            del data[steps[-1]]
        except (KeyError, IndexError, TypeError):
            return False
        self.places.append(real)
        return True


def _fault(rule: str, where: str, shown: str, data: Any, kind: Any) -> str:
    """Return a fault as a line: the rule, the place, the value, the nearest names."""
    suffix = f" in {shown}" if shown else ""
    if "unknown field" in rule:
        unknown = rule.split("`")[1]
        field_lists = [s.__struct_encode_fields__ for s in _structs(kind) if unknown not in s.__struct_encode_fields__]
        rule = str(UnknownNameError("key", unknown, {name for fields in field_lists for name in fields}))
    elif rule.startswith(("Invalid value '", "Invalid enum value '")):
        field = where.rpartition(".")[2]
        if known := _choices(kind, field):
            rule = str(UnknownNameError(field, rule.split("'", 1)[1].removesuffix("'"), known))
    elif value := _got(where, data):
        rule, suffix = rule.partition(", got `")[0], suffix + value
    return f"{in_words(rule)}{suffix}"


def _named(place: str, data: Any, kind: Any) -> str:
    """Return the place of a fault with the names of table entries, which msgspec's message omits."""
    if place.startswith("[...]") and get_origin(kind) is dict:
        for name, entry in data.items():
            try:
                typed(entry, get_args(kind)[1])
            except msgspec.ValidationError:
                return f".{name}{_named(place[5:], entry, get_args(kind)[1])}"
    for schema in _structs(kind, deep=False):
        for field in msgspec.structs.fields(schema):
            head, name = f".{field.encode_name}", field.encode_name
            if place.startswith((head + ".", head + "[")) and name in data:
                return head + _named(place[len(head) :], data[name], field.type)
    return place


def _got(place: str, data: Any) -> str:
    """Return the value at a place such as `port[0].mtu` in words; empty for a table or list, or without a value."""
    for step in STEP.findall(place):
        try:
            data = data[int(step[0])] if step[0] else data[step[1]]
        except (KeyError, IndexError, TypeError):
            return ""
    return "" if isinstance(data, dict | list) else f", got {data!r}"


def _choices(kind: Any, field: str) -> list[str]:
    """Return the allowed words of a field of this name, in any of the records of a type."""
    choices: list[str] = []
    for schema in _structs(kind):
        config = schema.__struct_config__
        if config.tag_field == field:
            choices.append(str(config.tag))
        for struct_field in msgspec.structs.fields(schema):
            if struct_field.encode_name == field:
                choices += [word for word in literals(struct_field.type) if isinstance(word, str)]
    return list(dict.fromkeys(choices))


def literals(hint: Any) -> list[Any]:
    """Return the literal values that a type allows."""
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    return [word for part in get_args(hint) for word in literals(part)]


def _structs(kind: Any, deep: bool = True) -> list[type[msgspec.Struct]]:
    """Return the record types in a type; deep: also those of their fields."""
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return [schema for part in get_args(kind) for schema in _structs(part, deep)]
    nested = [schema for field in msgspec.structs.fields(kind) for schema in _structs(field.type)] if deep else []
    return [kind, *nested]
