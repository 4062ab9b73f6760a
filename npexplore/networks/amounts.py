"""Numbers of a network file with a unit: as text (`mean = "5 us"`) or in their name (`rate_mpps = 2`).

A network without any units has an arbitrary time unit, taken as seconds; only ratios matter. If one number has a unit,
numbers without one cause a warning; so do times and rates that no packet machine has.
"""

import warnings
from collections.abc import Iterator
from typing import Any

from npexplore.errors import Faults, InputError
from npexplore.units import ENDINGS, QUANTITY, UNITS, UnitWarning, doubt, quantity, split

KINDS = ("distribution", "process")  # keys that mark tables of times and rates
SECONDS = frozenset({"mean", "means", "low", "high", "minimum", "scale", "values", "on", "off"})
PER_SECOND = frozenset({"rate", "rates", "quiet", "arrive"})
PACKETS = {"packet rate": "packets/s"}
RATES = (1.0, 1e12, 1e6)  # plausible arrivals per second at a packet machine: from, to, usual
Number = tuple[str, Any, Any, Any]  # place, table or list, key in it, value
DIMENSIONS = {**dict.fromkeys(SECONDS, ("time",)), **dict.fromkeys(PER_SECOND, ("frequency", "packet rate"))}


def plain(data: dict[str, Any], file: str) -> dict[str, Any]:
    """Return a file's tables with times in seconds and rates per second, under their names without units.

    Raises InputError or FaultsError, naming the places, for texts without a unit or with a unit of another dimension,
    and for a number that has two names.
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
    """Return the JSON Schema of networks, extended by times and rates as texts and by names with units."""
    for table in schema["$defs"].values():
        keys = table["properties"]
        for key in [key for key in keys if key in DIMENSIONS and any(kind in keys for kind in KINDS)]:
            names = _names(key)
            table.setdefault("patternProperties", {})[f"^{key}_({'|'.join(names)})$"] = _or_text(keys[key])
            keys[key] = _or_text(keys[key])
            if key in table["required"]:
                table["required"] = [name for name in table["required"] if name != key]
                alternatives = [{"required": [name]} for name in (key, *(f"{key}_{ending}" for ending in names))]
                table.setdefault("allOf", []).append({"oneOf": alternatives})
    return schema


def _names(key: str) -> list[str]:
    """Return the endings for units of a key's dimension."""
    return [ending for ending, unit in ENDINGS.items() if UNITS[unit][0] in DIMENSIONS[key]]


def _or_text(value: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a value, extended so that its numbers may be texts with a unit."""
    if value.get("type") == "number":
        annotations = {name: entry for name, entry in value.items() if name in ("default", "description")}
        number = {name: entry for name, entry in value.items() if name not in annotations}
        return {"anyOf": [number, {"type": "string", "pattern": QUANTITY}], **annotations}
    nested: dict[str, Any] = {}
    if isinstance(value.get("items"), dict):
        nested["items"] = _or_text(value["items"])
    if "prefixItems" in value:
        nested["prefixItems"] = [_or_text(item_schema) for item_schema in value["prefixItems"]]
    return {**value, **nested}


def _rename(table: dict[str, Any], place: str, faults: Faults) -> None:
    """Rename numbers whose name has a unit (`mean_us`) to the name without it, and make them texts with the unit."""
    for name in list(table):
        key, ending = next(((name[: -len(end) - 1], end) for end in ENDINGS if name.endswith(f"_{end}")), ("", ""))
        if key not in DIMENSIONS:
            continue
        with faults.one():
            if key in table:
                raise InputError(f"{place}: {key} stands there twice, as {key} and as {name}")
        table[key] = _texts(table.pop(name), ENDINGS[ending])


def _texts(value: Any, unit: str) -> Any:
    """Return numbers, alone or in lists, as texts with a unit; other values unchanged."""
    if isinstance(value, list):
        return [_texts(item, unit) for item in value]
    return value if isinstance(value, bool) or not isinstance(value, int | float) else f"{value!r} {unit}"


def _number(subject: str, text: str, place: str) -> float:
    """Return a text as a number of seconds, or per second where the key is a rate."""
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
    """Yield every number or text that is a time or a rate, under its name without a unit."""
    if isinstance(table, dict):
        inside = any(kind in table for kind in KINDS)
        if inside:
            _rename(table, f"{file}: {place}", faults)
    for key, value in table.items() if isinstance(table, dict) else enumerate(table):
        entry_place = f"{place}[{key}]" if isinstance(key, int) else f"{place}.{key}".removeprefix(".")
        may_be_time = isinstance(table, list) or key in DIMENSIONS
        if isinstance(value, dict) or (isinstance(value, list) and (may_be_time or not inside)):
            yield from _numbers(value, entry_place, file, faults, inside=inside)
        elif inside and may_be_time and isinstance(value, int | float | str) and not isinstance(value, bool):
            yield entry_place, table, key, value
