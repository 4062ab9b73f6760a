"""A user's own numbers beside ours: CSV with `key,value`, or with `design, knobs..., quantity, value, unit`.

A row of the second form is joined to the published rows of that design and quantity whose conditions it repeats.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

from npexplore.errors import InputError, UnknownNameError
from npexplore.ledger import Row, load
from npexplore.units import UNITS, factor

FIXED = ("design", "quantity", "value", "unit")


def read_results(path: str | Path) -> Callable[[Row], float | None]:
    """Return a function that gives a user's value of a ledger row, in the row's unit (None: not given).

    Raises InputError naming file, line and column for a bad row, UnknownNameError for a key that no ledger row has.
    """
    name = Path(path).name
    try:
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: {error}") from None
    if not rows:
        raise InputError(f"{name}: no results in it")
    columns = set(rows[0])
    if {"key", "value"} <= columns:
        return _by_key(name, rows)
    missing = [column for column in FIXED if column not in columns]
    if missing:
        raise InputError(
            f"{name}: needs the columns key,value or design,...,quantity,value,unit; {missing[0]!r} is missing"
        )
    return _by_conditions(name, rows)


def _number(name: str, line: int, text: str | None) -> float:
    try:
        return float(text or "")
    except ValueError:
        raise InputError(f"{name}:{line}: column 'value' must be a number, got {text!r}") from None


def _by_key(name: str, rows: list[dict[str, str]]) -> Callable[[Row], float | None]:
    known = {row.key for row in load()}
    values: dict[str, float] = {}
    for line, row in enumerate(rows, start=2):
        if row["key"] not in known:
            raise UnknownNameError(f"{name}:{line}: key", row["key"], known)
        values[row["key"]] = _number(name, line, row["value"])
    return lambda row: values.get(row.key)


def _by_conditions(name: str, rows: list[dict[str, str]]) -> Callable[[Row], float | None]:
    given: list[tuple[str, str, dict[str, str], float]] = []
    for line, row in enumerate(rows, start=2):
        if row["unit"] not in UNITS:
            raise UnknownNameError(f"{name}:{line}: unit", row["unit"], UNITS)
        value = _number(name, line, row["value"]) * factor(row["unit"])
        knobs = {k: v for k, v in row.items() if k not in FIXED and v not in ("", None)}
        given.append((row["design"], row["quantity"], knobs, value))

    def find(row: Row) -> float | None:
        wanted = {k: v for k, v in row.conditions.items() if k != "design"}
        for design, quantity, knobs, value in given:
            same = design == row.design and quantity == row.quantity and knobs.keys() == wanted.keys()
            if same and all(_equal(knobs[k], wanted[k]) for k in wanted):
                return row.from_si(value)
        return None

    return find


def _equal(text: str, value: str | float) -> bool:
    try:
        return float(text) == float(value)
    except ValueError:
        return text == str(value)
