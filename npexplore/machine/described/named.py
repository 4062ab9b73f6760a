"""Common names and short keys of resources: `banks` for a banked_memory, `word = "10 ns"` for `word_s`.

They are the same in `npexplore.resource`, the command and machine files. A common name has default values: a key that a
table leaves out has the laboratory's value, which a machine file lists among its parameters (part_parameters.py).
This module imports no kind of resource, because listing machines imports it.
Times are in seconds, rates per second, as in the classes of machine/resources.
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
    """A resource with a common name: its kind, and the values that differ from the kind's example."""

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
CROSS = ([[3, 4, 5]], [[1, 4, 7]], [[6, 3, 4, 5]], [[2, 1, 4, 7]])  # paths over the middle switch of 3 x 3 tiles


def kind_behind(name: str) -> str:
    """Return the kind or part of a common name; any other name is returned as it is."""
    return NAMED[name].kind if name in NAMED else name


def full_key(subject: str, key: str, value: Any, known: Iterable[str]) -> str:
    """Return the parameter that a key means: itself, or the parameter of that name and a unit, as `word_s` for `word`.

    The value must then have a unit of the same dimension. An unknown key is returned as it is. Raises InputError for a
    short key whose value has no such unit.
    """
    names = list(known)
    if key in names:
        return key
    sample = value[0] if isinstance(value, list) and value else value
    number = split(sample) if isinstance(sample, str) else None
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
    """Return, by key, the parameter that each key of a table means; a faulty key is returned as it is."""
    names = list(known)

    def full(key: str) -> str:
        try:
            return full_key("", key, table[key], names)
        except InputError:
            return key

    return {key: full(key) for key in table}


def short_key(name: str) -> str:
    """Return a parameter's name without the unit at its end: `word` of `word_s`; "" if it ends with no unit."""
    return next((name[: -len(end) - 1] for end in ENDINGS if name.endswith(f"_{end}")), "")


def paths_of(subject: str, value: Any) -> Any:
    """Return the paths of a crossing: a list is returned as it is, a number n gives n paths over one switch."""
    if not isinstance(value, int | str):
        return value
    return [list(path) for path in CROSS[: int(checked(f"{subject}: paths", value, True, 1, len(CROSS), [], ""))]]
