"""TOML files as typed records: faults name file, place, rule, value got and the nearest known keys."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import msgspec

from npexplore.errors import InputError, UnknownNameError


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the records a TOML file is made of: fields by name, unknown keys refused."""


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
        where = _named("." + place.rstrip("`"), data, kind)[1:]
        at = f" in {where}" if place else ""
        if "unknown field" in rule:
            unknown = rule.split("`")[1]
            lacking = [s.__struct_encode_fields__ for s in _structs(kind) if unknown not in s.__struct_encode_fields__]
            rule = str(UnknownNameError("key", unknown, {name for fields in lacking for name in fields}))
        elif rule.startswith(("Invalid value '", "Invalid enum value '")):
            field = place.rstrip("`").rpartition(".")[2]
            if known := _choices(kind, field):
                rule = str(UnknownNameError(field, rule.split("'", 1)[1].removesuffix("'"), known))
        elif "got" not in rule:
            at += _got(where, data)
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


def _got(place: str, data: Any) -> str:
    """Return the value at a place such as `port[0].mtu` as words, nothing if it is a table or is not found."""
    for step in re.findall(r"\[(\d+)\]|([^.\[\]]+)", place):
        try:
            data = data[int(step[0])] if step[0] else data[step[1]]
        except (KeyError, IndexError, TypeError):
            return ""
    return "" if isinstance(data, dict | list) else f", got {data!r}"


def _choices(kind: Any, field: str) -> list[str]:
    """Return the words that a field of this name may be, in any of the records that a type is made of."""
    found: list[str] = []
    for schema in _structs(kind):
        config = schema.__struct_config__
        if config.tag_field == field:
            found.append(str(config.tag))
        for one in msgspec.structs.fields(schema):
            if one.encode_name == field:
                found += [word for word in _words(one.type) if isinstance(word, str)]
    return list(dict.fromkeys(found))


def _words(hint: Any) -> list[Any]:
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    return [word for part in get_args(hint) for word in _words(part)]


def _structs(kind: Any, deep: bool = True) -> list[type[msgspec.Struct]]:
    """Return the records that a type is made of, with those inside them if `deep`."""
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return [found for part in get_args(kind) for found in _structs(part, deep)]
    inside = [found for field in msgspec.structs.fields(kind) for found in _structs(field.type)] if deep else []
    return [kind, *inside]
