"""Numbers of a network's file with their unit as text (`mean = "5 us"`) or in their name (`rate_mpps = 2`).

A network whose numbers are all plain has no unit of its own: only ratios matter, and they count as seconds. Where one
number has a unit, plain ones beside it are warned about, and so are times and rates that no packet machine has.
"""

import warnings
from collections.abc import Iterator
from typing import Any

from npexplore.errors import Faults, InputError
from npexplore.units import ENDINGS, QUANTITY, UNITS, UnitWarning, doubt, quantity, split

KINDS = ("distribution", "process")  # of the tables that hold times and rates
SECONDS = frozenset({"mean", "means", "low", "high", "minimum", "scale", "values", "on", "off"})
PER_SECOND = frozenset({"rate", "rates", "quiet", "arrive"})
PACKETS = {"packet rate": "packets/s"}
RATES = (1.0, 1e12, 1e6)  # per second: from, to and usual, of what comes to a packet machine
Number = tuple[str, Any, Any, Any]  # its place, what holds it, its key there, its value
DIMENSIONS = {**dict.fromkeys(SECONDS, ("time",)), **dict.fromkeys(PER_SECOND, ("frequency", "packet rate"))}


def plain(data: dict[str, Any], file: str) -> dict[str, Any]:
    """Return a file's tables with every time in seconds and every rate per second, under their plain names.

    Raises InputError or FaultsError, naming the places, for texts without a unit or with one of another kind, and for a
    number that stands under two names.
    """
    faults = Faults()
    numbers = list(_numbers(data, "", file, faults))
    with_unit = [place for place, _, _, value in numbers if isinstance(value, str)]
    for place, holder, key, value in numbers:
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


def spelled(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of networks with times and rates as texts too, and with units in their names."""
    for table in schema["$defs"].values():
        keys = table["properties"]
        for key in [key for key in keys if key in DIMENSIONS and any(kind in keys for kind in KINDS)]:
            names = _names(key)
            table.setdefault("patternProperties", {})[f"^{key}_({'|'.join(names)})$"] = _or_text(keys[key])
            keys[key] = _or_text(keys[key])
            if key in table["required"]:
                table["required"] = [name for name in table["required"] if name != key]
                ways = [{"required": [name]} for name in (key, *(f"{key}_{end}" for end in names))]
                table.setdefault("allOf", []).append({"oneOf": ways})
    return schema


def _names(key: str) -> list[str]:
    """Return the endings that tell a unit of what a key holds."""
    return [end for end, unit in ENDINGS.items() if UNITS[unit][0] in DIMENSIONS[key]]


def _or_text(value: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a value whose numbers may be texts with a unit."""
    if value.get("type") == "number":
        about = {name: entry for name, entry in value.items() if name in ("default", "description")}
        number = {name: entry for name, entry in value.items() if name not in about}
        return {"anyOf": [number, {"type": "string", "pattern": QUANTITY}], **about}
    inside: dict[str, Any] = {}
    if isinstance(value.get("items"), dict):
        inside["items"] = _or_text(value["items"])
    if "prefixItems" in value:
        inside["prefixItems"] = [_or_text(one) for one in value["prefixItems"]]
    return {**value, **inside}


def _rename(table: dict[str, Any], place: str, faults: Faults) -> None:
    """Give numbers that stand under a name with a unit (`mean_us`) their plain name, and the unit as text."""
    for name in list(table):
        key, end = next(((name[: -len(end) - 1], end) for end in ENDINGS if name.endswith(f"_{end}")), ("", ""))
        if key not in DIMENSIONS:
            continue
        with faults.one():
            if key in table:
                raise InputError(f"{place}: {key} stands there twice, as {key} and as {name}")
        table[key] = _texts(table.pop(name), ENDINGS[end])


def _texts(value: Any, unit: str) -> Any:
    """Return numbers, alone or in lists, as texts with a unit; anything else as it is."""
    if isinstance(value, list):
        return [_texts(one, unit) for one in value]
    return value if isinstance(value, bool) or not isinstance(value, int | float) else f"{value!r} {unit}"


def _number(subject: str, text: str, place: str) -> float:
    """Return a text as a number of seconds or per second, as its place asks."""
    name = place.rpartition(".")[2].partition("[")[0]
    if name in PER_SECOND:
        parts = split(text)
        unit = PACKETS.get(UNITS[parts[1]][0], "Hz") if parts else "Hz"
        rate = quantity(subject, text, unit)
        doubt(subject, rate, unit, RATES)
        return rate
    seconds = quantity(subject, text, "s")
    doubt(subject, seconds, "s")
    return seconds


def _numbers(table: Any, place: str, file: str, faults: Faults, *, inside: bool = False) -> Iterator[Number]:
    """Yield every number or text that is a time or a rate, each under its plain name."""
    if isinstance(table, dict):
        inside = any(kind in table for kind in KINDS)
        if inside:
            _rename(table, f"{file}: {place}", faults)
    for key, value in table.items() if isinstance(table, dict) else enumerate(table):
        here = f"{place}[{key}]" if isinstance(key, int) else f"{place}.{key}".removeprefix(".")
        timed = isinstance(table, list) or key in DIMENSIONS
        if isinstance(value, dict) or (isinstance(value, list) and (timed or not inside)):
            yield from _numbers(value, here, file, faults, inside=inside)
        elif inside and timed and isinstance(value, int | float | str) and not isinstance(value, bool):
            yield here, table, key, value
