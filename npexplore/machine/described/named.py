"""Names and keys of resources as people say them: `banks` for a banked_memory, `word = "10 ns"` for `word_s`.

`npexplore.resource`, the command and machine files read them alike. A name brings values of its own: a key that a
table leaves out has the laboratory's value, which a machine file lists among its parameters (part_parameters.py).
Listing machines reads this module, which therefore imports no kind of resource.
Times are seconds, rates are per second, as in the classes of machine/resources.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from npexplore.errors import InputError
from npexplore.machine.ranges import checked
from npexplore.units import ENDINGS, UNITS, split, unit_of

if TYPE_CHECKING:
    from npexplore.machine.resources.base import OperandValue

LENGTH = "packet.packet_bytes"


@dataclass(frozen=True)
class Named:
    """A resource by the name that people use: its kind, and what differs from the kind's plain example."""

    kind: str
    about: str
    parameters: dict[str, Any] = field(default_factory=dict)
    operands: dict[str, OperandValue] = field(default_factory=dict)


NAMED = {
    "banks": Named("banked_memory", "memory banks that are busy with a precharge after each access"),
    "bus": Named(
        "memory", "a data bus that moves a packet's words one after the other",
        {"word_bytes": 8, "word_s": 5e-9, "burst_words": 1}, {"bytes": LENGTH},
    ),
    "hash": Named("hash_unit", "a pipelined hash unit: a new key every few clocks, an answer a latency later"),
    "sram": Named(
        "memory", "two channels of SRAM that move whole bursts of words",
        {"burst_words": 4, "channels": 2, "efficiency": 0.9, "latency_s": 2e-8}, {"bytes": 16},
    ),
    "crossing": Named("streams", "routes of a static network that cross at one switch"),
}  # fmt: skip
CROSS = ([[3, 4, 5]], [[1, 4, 7]], [[6, 3, 4, 5]], [[2, 1, 4, 7]])  # of 3 x 3 tiles, over the switch in the middle


def kind_behind(name: str) -> str:
    """Return the kind or part that a name stands for; a name that people do not use stands for itself."""
    return NAMED[name].kind if name in NAMED else name


def full_key(subject: str, key: str, value: Any, known: Iterable[str]) -> str:
    """Return the parameter that a key means: itself, or the one whose name it begins and whose unit the value has.

    A key that means none is returned as it is. Raises InputError for one that begins names where the value has no unit
    of theirs.
    """
    names = list(known)
    if key in names:
        return key
    like = value[0] if isinstance(value, list) and value else value
    number = split(like) if isinstance(like, str) else None
    longer = [name for name in names if short_key(name) == key]
    if len(longer) == 1 and isinstance(value, Mapping):
        return longer[0]  # a distribution
    for name in longer:
        if number is not None and UNITS[unit_of(name) or "1"][0] == UNITS[number[1]][0]:
            return name
    if longer:
        units = " or ".join(f"{name} in {unit_of(name)}" for name in longer)
        raise InputError(f"{subject}: {key} must be a text with a unit, or be given as {units}, got {value!r}")
    return key


def full_keys(table: Mapping[str, Any], known: Iterable[str]) -> dict[str, str]:
    """Return the parameter that each key of a table means, by key; a key at fault is left as it is."""
    names = list(known)

    def full(key: str) -> str:
        try:
            return full_key("", key, table[key], names)
        except InputError:
            return key

    return {key: full(key) for key in table}


def short_key(name: str) -> str:
    """Return a parameter's name without the unit at its end: `word` of `word_s`; "" where no unit ends it."""
    return next((name[: -len(end) - 1] for end in ENDINGS if name.endswith(f"_{end}")), "")


def paths_of(subject: str, value: Any) -> Any:
    """Return the paths of a crossing: a list of them as it is, a number as so many over one switch."""
    if not isinstance(value, int | str):
        return value
    return [list(path) for path in CROSS[: int(checked(f"{subject}: paths", value, True, 1, len(CROSS), [], ""))]]
