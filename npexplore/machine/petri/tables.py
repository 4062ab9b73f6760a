"""Schemas of the tables of a net file."""

from pathlib import Path
from typing import Annotated, Any

import msgspec

from npexplore.errors import InputError
from npexplore.machine.petri.places import PlaceTable, Whole
from npexplore.machine.petri.unfolded import Timing
from npexplore.paths import content
from npexplore.toml import Record, parsed

Positive = Annotated[int, msgspec.Meta(ge=1)]


class PartTable(Record, frozen=True):
    """A net inside a net: its file (a name in models/nets, or a path relative to this file).

    joins: place of the part -> the place of this net that it is. types: the same for types of tokens. without: places
    and transitions of the part that are left out. prefix: added to the names of the others.
    """

    net: str
    joins: dict[str, str] = msgspec.field(default_factory=dict)
    types: dict[str, str] = msgspec.field(default_factory=dict)
    without: list[str] = msgspec.field(default_factory=list)
    prefix: str = ""


class NetFile(Record, frozen=True):
    """A net: `timing` is "duration" (firing takes time) or "race" (clocks race for tokens)."""

    timing: Timing
    place: dict[str, Whole | str | PlaceTable] = msgspec.field(default_factory=dict)
    transition: dict[str, str] = msgspec.field(default_factory=dict)
    name: str = ""
    about: str = ""
    machine: str = ""
    measure: dict[str, str] = msgspec.field(default_factory=dict)
    utilization: dict[str, str] = msgspec.field(default_factory=dict)
    constant: dict[str, int | float | str] = msgspec.field(default_factory=dict)
    index: dict[str, Positive | str] = msgspec.field(default_factory=dict)
    token: dict[str, dict[str, Positive | str]] = msgspec.field(default_factory=dict)
    feed: dict[str, float | str] = msgspec.field(default_factory=dict)
    part: dict[str, PartTable] = msgspec.field(default_factory=dict)


def is_net_file(path: Path) -> bool:
    """Return whether a TOML file is a Petri net, with a timing or a table of transitions."""
    return bool({"timing", "transition"} & set(_tables(path)))


def extended(path: Path) -> str:
    """Return the name in `extends` of a TOML file, "" if it has none."""
    name = _tables(path).get("extends", "")
    return name if isinstance(name, str) else ""


def _tables(path: Path) -> dict[str, Any]:
    try:
        return parsed(content(path), path)
    except (OSError, InputError):
        return {}  # a later reader of the file reports the fault
