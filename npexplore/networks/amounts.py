"""Numbers of a network's file that carry their unit as text ("5 us", "2Mpps"), in seconds and per second.

A network whose numbers are all plain has no unit of its own: only ratios matter, and they count as seconds. Where one
number has a unit, plain ones beside it are warned about, and so are times that nothing in a packet machine takes.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from npexplore.errors import Faults
from npexplore.units import UNITS, UnitWarning, doubt, quantity, split

KINDS = ("distribution", "process")  # of the tables that hold times and rates
SECONDS = frozenset({"mean", "means", "low", "high", "minimum", "scale", "values", "on", "off"})
PER_SECOND = frozenset({"rate", "rates", "quiet", "arrive"})
PACKETS = {"packet rate": "packets/s"}


def plain(data: dict[str, Any], file: str) -> dict[str, Any]:
    """Return a file's tables with every time in seconds and every rate per second.

    Raises InputError or FaultsError, naming the places, for texts without a unit or with one of another kind.
    """
    faults = Faults()
    told = list(_numbers(data, ""))
    with_unit = [place for place, _, _, value in told if isinstance(value, str)]
    for place, holder, key, value in told:
        if isinstance(value, str):
            with faults.one():
                holder[key] = _number(f"{file}: {place}", value, place)
        elif with_unit and value:
            warnings.warn(
                f"{file}: {place} = {value:g} has no unit and counts in seconds; {with_unit[0]} has one",
                UnitWarning, stacklevel=2,
            )  # fmt: skip
    faults.tell()
    return data


def _number(subject: str, text: str, place: str) -> float:
    """Return a text as a number of seconds or per second, as its place asks."""
    name = place.rpartition(".")[2].partition("[")[0]
    if name in PER_SECOND:
        found = split(text)
        return quantity(subject, text, PACKETS.get(UNITS[found[1]][0], "Hz") if found else "Hz")
    seconds = quantity(subject, text, "s")
    doubt(subject, seconds, "s")
    return seconds


def _numbers(table: Any, place: str, *, inside: bool = False) -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield (place, what holds it, its key there, value) of every number or text that is a time or a rate."""
    entries = table.items() if isinstance(table, dict) else enumerate(table)
    for key, value in entries:
        here = f"{place}[{key}]" if isinstance(key, int) else f"{place}.{key}".removeprefix(".")
        if isinstance(value, dict):
            yield from _numbers(value, here, inside=any(kind in value for kind in KINDS))
        elif isinstance(value, list) and (not inside or isinstance(table, list) or key in SECONDS | PER_SECOND):
            yield from _numbers(value, here, inside=inside)
        elif (
            inside
            and (isinstance(table, list) or key in SECONDS | PER_SECOND)
            and isinstance(value, int | float | str)
            and not isinstance(value, bool)
        ):
            yield here, table, key, value
