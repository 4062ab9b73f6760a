"""TOML files as typed records: faults name file, place, rule, value got and the nearest known keys."""

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

FILLED = "?"  # in place of a text that is missing
MAX_FAULTS = 20  # faults of a file that are told at once
STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")  # of a place such as port[0].mtu
ONE_AT_A_TIME = threading.Lock()  # two threads that need the same record for the first time crash msgspec 0.22
T = TypeVar("T")

# what keys say that a file is, and who takes it
TYPES = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "nothing",
}  # as msgspec names them -> as people say
SIGNS = {">=": "of at least", "<=": "of at most", ">": "above", "<": "below"}
OTHERS = {
    "a machine, which `npexplore explain` takes": {"resource", "pool"},
    "a part, which a machine names as the `type` of a resource": {"visits"},
    "a network of stations, which `npexplore solve` takes": {"station"},
    "a Petri net, which `npexplore solve` takes": {"transition", "timing"},
    "a router, which `npexplore route` takes": {"port"},
    "a mix of packet lengths, which stands in models/mixes": {"component"},
}


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the records a TOML file is made of: fields by name, unknown keys refused."""


def decode(text: bytes, kind: type[Any], path: Path) -> Any:
    """Return a TOML text as a record of a schema; raises InputError with file, place, rule and value of each fault."""
    return convert(parsed(text, path), kind, path)


def _any_of(kinds: list[str]) -> str:
    """Return types in words; a number may be whole anyway."""
    return " or ".join(TYPES[kind] for kind in kinds if kind != "int" or "float" not in kinds)


def parsed(text: bytes, path: Path) -> dict[str, Any]:
    """Return a TOML text as tables; raises InputError if it is not valid TOML."""
    if not text.removeprefix(BOM_UTF8).strip():
        raise InputError(f"{path.name}: is empty")
    try:
        return tomllib.loads(plain_text(text, path.name))
    except (ValueError, RecursionError) as error:  # not TOML, or numbers of thousands of digits, or tables as deep
        raise InputError(f"{path.name}: not valid TOML: {error}") from None


def typed(value: Any, kind: type[T]) -> T:
    """Return a value as what it must be; raises msgspec.ValidationError for another. Safe for threads."""
    with ONE_AT_A_TIME:
        return msgspec.convert(value, kind)


def in_words(rule: str) -> str:
    """Return a rule that msgspec tells with the names of Python's types and signs (`int` >= 1) in words."""
    for sign, word in SIGNS.items():
        rule = rule.replace(f" {sign} ", f" {word} ")
    kinds = "|".join(TYPES)
    pattern = rf"`((?:{kinds})(?: \| (?:{kinds}))*)`"
    named = re.sub(pattern, lambda match: _any_of(match[1].split(" | ")), rule)
    named = re.sub("^Object missing required field (`.*?`)", r"key \1 is missing", named)
    return f"{named[0].lower()}{named[1:]}"


def convert(data: dict[str, Any], kind: type[Any], path: Path) -> Any:
    """Return tables as a record of a schema; raises InputError, or FaultsError for several.

    What is at fault is left out, what is missing filled in, and the rest is looked at again, until nothing is wrong
    with what is left: this is the error's `rest`, in which others look for more faults.
    """
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        known = {field.encode_name for field in msgspec.structs.fields(kind)}
        for what, keys in OTHERS.items():
            if keys <= data.keys() and not keys & known:
                raise InputError(f"{path.name} is {what}; known here are {', '.join(sorted(known))}")
    faults, left, gone, record = Faults(), data, _Gone(), None
    while len(faults.by_text) < MAX_FAULTS:
        filled = False
        try:
            record = typed(left, kind)
        except msgspec.ValidationError as error:
            left = deepcopy(data) if left is data else left
            rule, _, place = str(error).partition(" - at `$.")
            where = _named("." + place.rstrip("`"), left, kind)[1:] if place else ""
            steps = [int(number) if number else name for number, name in STEP.findall(where)]
            lost = rule.split("`")[1] if "`" in rule else ""
            if "unknown field" in rule:
                fault, steps = _fault(rule, where, gone.shown(steps), left, kind), [*steps, lost]
            elif rule.startswith("Object missing required field"):
                fault = "" if gone.has([*steps, lost]) else _fault(rule, where, gone.shown(steps), left, kind)
                filled = _fill(left, steps, lost, kind)
            else:
                fault = _fault(rule, where, gone.shown(steps), left, kind)
            if fault:
                with faults.one():
                    raise InputError(f"{path.name}: {fault}") from None
            if not filled and not gone.take(left, steps):
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
    """Put any value of its type in the place of a key that is missing; False where no value will do."""
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
                if lost in place:  # filled before, and still missing: the place is not known
                    return False
                place[lost] = value
            except (msgspec.ValidationError, KeyError, IndexError, TypeError):
                continue
            return True
    return False


class _Gone:
    """What was left out of tables, by the place where it stood."""

    def __init__(self) -> None:
        self.places: list[list[str | int]] = []

    def real(self, steps: list[str | int]) -> list[str | int]:
        """Return a place as it was before anything was left out of lists."""
        place_before: list[str | int] = []
        for step in steps:
            for place in sorted(p for p in self.places if p[:-1] == place_before and isinstance(p[-1], int)):
                if isinstance(step, int) and int(place[-1]) <= step:
                    step += 1
            place_before.append(step)
        return place_before

    def shown(self, steps: list[str | int]) -> str:
        """Return a place as people read it: `port[0].mtu`."""
        return "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in self.real(steps)).removeprefix(".")

    def has(self, steps: list[str | int]) -> bool:
        """Whether the key at this place was left out, or one that may have been meant for it."""
        real = self.real(steps)
        beside = [str(place[-1]) for place in self.places if place[:-1] == real[:-1]]
        return bool(get_close_matches(str(real[-1]), beside, n=1, cutoff=0.5))

    def take(self, data: Any, steps: list[str | int]) -> bool:
        """Leave a place out; False if there is none."""
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
    """Return a fault as a line: the rule, the place, the value got, the nearest names."""
    at = f" in {shown}" if shown else ""
    if "unknown field" in rule:
        unknown = rule.split("`")[1]
        lacking = [s.__struct_encode_fields__ for s in _structs(kind) if unknown not in s.__struct_encode_fields__]
        rule = str(UnknownNameError("key", unknown, {name for fields in lacking for name in fields}))
    elif rule.startswith(("Invalid value '", "Invalid enum value '")):
        field = where.rpartition(".")[2]
        if known := _choices(kind, field):
            rule = str(UnknownNameError(field, rule.split("'", 1)[1].removesuffix("'"), known))
    elif value := _got(where, data):
        rule, at = rule.partition(", got `")[0], at + value
    return f"{in_words(rule)}{at}"


def _named(place: str, data: Any, kind: Any) -> str:
    """Return the place of a fault with the names of the entries, which the decoder leaves out."""
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
    """Return the value at a place such as `port[0].mtu` as words, nothing if it is a table or is not found."""
    for step in STEP.findall(place):
        try:
            data = data[int(step[0])] if step[0] else data[step[1]]
        except (KeyError, IndexError, TypeError):
            return ""
    return "" if isinstance(data, dict | list) else f", got {data!r}"


def _choices(kind: Any, field: str) -> list[str]:
    """Return the words that a field of this name may be, in any of the records that a type is made of."""
    choices: list[str] = []
    for schema in _structs(kind):
        config = schema.__struct_config__
        if config.tag_field == field:
            choices.append(str(config.tag))
        for one in msgspec.structs.fields(schema):
            if one.encode_name == field:
                choices += [word for word in literals(one.type) if isinstance(word, str)]
    return list(dict.fromkeys(choices))


def literals(hint: Any) -> list[Any]:
    """Return the words that a value of this type may be."""
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    return [word for part in get_args(hint) for word in literals(part)]


def _structs(kind: Any, deep: bool = True) -> list[type[msgspec.Struct]]:
    """Return the records that a type is made of, with those inside them if `deep`."""
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return [schema for part in get_args(kind) for schema in _structs(part, deep)]
    inside = [schema for field in msgspec.structs.fields(kind) for schema in _structs(field.type)] if deep else []
    return [kind, *inside]
