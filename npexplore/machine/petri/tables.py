"""The tables of a net file: what may stand there, before anything is looked up."""

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
    """A net inside a net: its file (a name in models/nets, or a path beside this file).

    joins: places of the part, and which of this net's each of them is. types: the same for types of tokens. without:
    places and transitions of the part that are left out. prefix: stands before the names of the others.
    """

    net: str
    joins: dict[str, str] = msgspec.field(default_factory=dict)
    types: dict[str, str] = msgspec.field(default_factory=dict)
    without: list[str] = msgspec.field(default_factory=list)
    prefix: str = ""


class NetFile(Record, frozen=True):
    """A net: `timing` says whether firing takes time ("duration") or clocks race for the tokens ("race")."""

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
    """Return whether a TOML file is a Petri net: its timing or a table of transitions tells it."""
    return bool({"timing", "transition"} & set(_tables(path)))


def extended(path: Path) -> str:
    """Return what a TOML file says that it extends, nothing if it says nothing."""
    said = _tables(path).get("extends", "")
    return said if isinstance(said, str) else ""


def _tables(path: Path) -> dict[str, Any]:
    try:
        return parsed(content(path), path)
    except (OSError, InputError):
        return {}  # told by the reader of whatever else it may be
