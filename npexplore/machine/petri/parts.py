"""Inserts nets into nets: the tables of a part are added to those of the whole, and joined places are shared.

Joined places are the fusion places of hierarchical nets (Huber, Jensen, Shapiro, Hierarchies in Coloured Petri Nets,
1990). A constant or index of the whole replaces one of the same name in a part; constants of a part that are not used
any more are left out.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from npexplore.errors import InputError, one_of, told_at
from npexplore.machine.petri.places import PlaceTable
from npexplore.machine.petri.tables import NetFile, PartTable

Reader = Callable[[str | Path], tuple[NetFile, Path]]
_WORD = re.compile(r"[A-Za-z_]\w*")


def with_parts(whole: NetFile, folder: Path, read: Reader) -> NetFile:
    """Return a net's tables with those of its parts; raises InputError that names the faulty part.

    folder: the folder in which files of parts are looked up first. read: path -> tables with their own parts inserted,
    and the file.
    """
    for name, part in whole.part.items():
        with told_at(f"part.{name}"):
            path = folder / part.net
            inner, _ = read(path if part.net.endswith(".toml") and path.exists() else part.net)
            whole = _joined(whole, part, inner)
    return msgspec.structs.replace(whole, part={})


def _joined(whole: NetFile, part: PartTable, inner: NetFile) -> NetFile:
    if inner.timing != whole.timing:
        raise InputError(f"timing must be {whole.timing!r} as in the whole, got {inner.timing!r}")
    families = {_family(key): key for key in inner.place}
    for name in part.without:
        one_of("place or transition", name, [*families, *inner.transition])
    outer_families = {_family(key) for key in whole.place}
    for inside, outside in part.joins.items():
        one_of("place of the part", inside, families)
        one_of("place", outside, outer_families)
    remaining_families = [name for name in families if name not in part.without and name not in part.joins]
    names = {**part.joins, **{name: part.prefix + name for name in remaining_families}}

    def renamed(text: str) -> str:
        return _WORD.sub(lambda match: names.get(match.group(), match.group()), text)

    types = _types(whole, part, inner)
    places: dict[str, Any] = {}
    for name in remaining_families:
        table = inner.place[families[name]]
        if isinstance(table, PlaceTable) and table.of in part.types:
            table = msgspec.structs.replace(table, of=part.types[table.of])
        places[renamed(families[name])] = table
    transitions = {
        part.prefix + name: renamed(line) for name, line in inner.transition.items() if name not in part.without
    }
    for kind, outer, added in (("place", outer_families, places), ("transition", set(whole.transition), transitions)):
        clashing = [name for name in added if _family(name) in outer]
        if clashing:
            raise InputError(f"{kind} {clashing[0]!r} is both in the whole and in the part; give the part a prefix")
    index = {**inner.index, **whole.index}
    texts = [*transitions, *transitions.values(), *places, *map(_said, places.values())]
    texts += [str(value) for value in index.values()]
    texts += [str(value) for fields in types.values() for value in fields.values()]
    return msgspec.structs.replace(
        whole,
        machine=whole.machine or inner.machine,
        place={**whole.place, **places},
        transition={**whole.transition, **transitions},
        index={**whole.index, **{key: value for key, value in inner.index.items() if key not in whole.index}},
        token={**whole.token, **types},
        constant={**whole.constant, **_needed(inner.constant, whole.constant, texts)},
        feed={**inner.feed, **whole.feed},
    )


def _types(whole: NetFile, part: PartTable, inner: NetFile) -> Mapping[str, Mapping[str, Any]]:
    """Return the types of tokens that a part adds; raises InputError if a shared type lacks a field."""
    for inside, outside in part.types.items():
        one_of("type of tokens of the part", inside, inner.token)
        one_of("type of tokens", outside, whole.token)
        missing = [key for key in inner.token[inside] if key not in whole.token[outside]]
        if missing:
            raise InputError(f"tokens {outside!r} must carry what {inside!r} of the part do, {missing[0]!r} is missing")
    added = {name: fields for name, fields in inner.token.items() if name not in part.types}
    for name in added:
        if name in whole.token and whole.token[name] != added[name]:
            raise InputError(f"type of tokens {name!r} differs from that of the whole; 'types' says which one is meant")
    return added


def _needed(
    constants: Mapping[str, float | str], before: Mapping[str, Any], texts: Iterable[str]
) -> dict[str, float | str]:
    """Return, in their order, the constants that texts name, and the constants that these name in turn."""
    used_names = {word for text in texts for word in _WORD.findall(text)}
    needed_constants: dict[str, float | str] = {}
    for name, value in reversed(list(constants.items())):
        if name in used_names and name not in before:
            needed_constants[name] = value
            used_names |= set(_WORD.findall(str(value)))
    return dict(reversed(list(needed_constants.items())))


def _family(key: str) -> str:
    return key.partition("[")[0].strip()


def _said(table: Any) -> str:
    if isinstance(table, PlaceTable):
        return f"{table.tokens} {table.capacity} {' '.join(map(str, table.carried.values()))}"
    return str(table)
