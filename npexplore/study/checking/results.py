"""Reads a user's own numbers from a CSV file and compares them with the ledger and our predictions.

    key,value[,unit]                             numbers of published rows
    design,KNOB...,quantity,value,unit           numbers at design points; columns: knobs, mix, resource, baseline...

With columns lo, hi and role the file is the user's own ledger: an interval around the value, and whether a row is for
check or calibration. A row of the second form is matched to the published row with the same design, quantity and
conditions; without a match it is a new measurement and is predicted as well. Empty cells set no condition.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from npexplore.designs import design, known_designs, own_names
from npexplore.errors import InputError, UnknownNameError, one_of
from npexplore.ledger import Ledger, Row, load
from npexplore.machine.mixes import mix_names
from npexplore.machine.parameters import Value
from npexplore.records import content_hash
from npexplore.study.checking.quantities import GENERAL, QUANTITIES
from npexplore.units import UNITS, factor

FIXED = ("design", "quantity", "value", "unit")
ONE_LENGTH = re.compile(r"\d+ bytes")  # a mix of one length, as machine/mixes.py writes it
OWN = ("lo", "hi", "role", "where")  # columns that may be missing or empty
ROLES = ("check", "calibration")  # roles of a user's own rows
ASIDE = ("input", "context")  # roles of rows that are not predicted
OTHERS = ("mix", "resource", "baseline")  # conditions that are not knobs


@dataclass(frozen=True)
class Result:
    """One of the user's numbers. row: the published row, or one made from the user's line; value: in the row's unit."""

    line: int
    row: Row
    value: float
    published: bool


@dataclass(frozen=True)
class Results:
    """All numbers of a file; called with a ledger row, returns the user's value in the row's unit (None: no value).

    Example:
        >>> from npexplore.study import Results
        >>> Results("mine.csv", (), {"raw.clock": 425.0}).file
        'mine.csv'
    """

    __hash__ = content_hash

    file: str
    listed: tuple[Result, ...]
    by_key: Mapping[str, float] = field(default_factory=dict)

    def __call__(self, row: Row) -> float | None:
        return self.by_key.get(row.key)

    @property
    def designs(self) -> list[str]:
        """The designs of the numbers."""
        return list(dict.fromkeys(result.row.design for result in self.listed))

    @property
    def own(self) -> list[Row]:
        """The ledger rows made from the numbers without a published counterpart."""
        return [result.row for result in self.listed if not result.published]

    def compared(self, checked: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return each number beside the published and the predicted one; checked: rows of a cross-check of them all.

        Keys: line, key (None: not published), design, quantity, conditions, unit, value, published, error (against
        the published point), verdict (of the user's number), predicted, difference (against our prediction),
        our_verdict, role (of a row that is not published), reason (of our verdict).
        """
        entries = {entry["key"]: entry for entry in checked}
        rows = []
        for result in self.listed:
            row, entry = result.row, entries.get(result.row.key, {})
            best = entry.get(str(entry.get("best")))
            is_number = isinstance(best, int | float) and not isinstance(best, bool)
            rows.append({
                "line": result.line, "key": row.key if result.published else None, "design": row.design,
                "quantity": row.quantity, "conditions": dict(row.conditions), "unit": row.unit, "value": result.value,
                "published": row.point if result.published else None,
                "error": row.relative_error(result.value) if result.published else None,
                "verdict": row.verdict(result.value) if result.published and row.numeric else None,
                "predicted": best if is_number else None,
                "difference": result.value / float(best) - 1 if is_number and best else None,
                "our_verdict": entry.get("verdict") if result.published or row.lo != row.hi else None,
                "role": row.role if not result.published else None,
                "reason": entry.get("reason"),
            })  # fmt: skip
        return rows


def read_results(path: str | Path, ledger: Ledger | None = None) -> Results:
    """Return the numbers of a user's CSV file; raises InputError that names file, line and column."""
    name = Path(path).name
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:  # spreadsheets write a byte order mark
            reader = csv.reader(file, strict=True)
            lines = [(reader.line_num, cells) for cells in reader if cells]
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not a CSV file in UTF-8: {error}") from None
    if len(lines) < 2:
        raise InputError(f"{name}: needs a line of column names and at least one line of numbers, got {len(lines)}")
    head = [column.strip() for column in lines[0][1]]
    for column in head:
        if not column or head.count(column) > 1:
            raise InputError(f"{name}:1: column names must be different and not empty, got {column!r}")
    rows_published = ledger or load()
    rows = []
    for line, cells in lines[1:]:
        if len(cells) != len(head):
            raise InputError(f"{name}:{line}: must have {len(head)} cells, got {len(cells)}")
        rows.append((line, dict(zip(head, (cell.strip() for cell in cells), strict=True))))
    if {"key", "value"} <= set(head):
        results = [_by_key(name, line, row, rows_published) for line, row in rows]
    else:
        missing = [column for column in FIXED if column not in head]
        if missing:
            raise InputError(
                f"{name}:1: needs the columns key,value or design,...,quantity,value,unit; {missing[0]!r} is missing, "
                f"got {', '.join(map(repr, head))} (commas between columns)"
            )
        results = [_by_conditions(name, line, row, rows_published) for line, row in rows]
    first: dict[str, Result] = {}
    for result in results:
        if first.setdefault(result.row.key, result) is not result:
            raise InputError(f"{name}:{result.line}: repeats the row of line {first[result.row.key].line}")
    return Results(name, tuple(results), {r.row.key: r.value for r in results if r.published})


def _number(place: str, text: str, column: str = "value") -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not abs(number) < float("inf"):
        raise InputError(f"{place}: column {column!r} must be a finite number, got {text!r}")
    return number


def _by_key(name: str, line: int, row: Mapping[str, str], ledger: Ledger) -> Result:
    location = f"{name}:{line}"
    if row["key"] not in ledger:
        raise UnknownNameError(f"{location}: column 'key':", row["key"], [ledger_row.key for ledger_row in ledger])
    published, value = ledger[row["key"]], _number(location, row["value"])
    if unit := row.get("unit", ""):
        value = published.from_si(value * _factor(location, unit, published))
    return Result(line, published, value, True)


def _by_conditions(name: str, line: int, row: Mapping[str, str], ledger: Ledger) -> Result:
    location = f"{name}:{line}"
    own_designs = own_names()  # files that change a listed machine
    design_names = {ledger_row.design for ledger_row in ledger} | {*known_designs(), *own_designs}
    of = one_of(f"{location}: column 'design':", row["design"], design_names)
    of = own_designs.get(of, of)
    quantities = {ledger_row.quantity for ledger_row in ledger if ledger_row.design == of}
    quantity = one_of(f"{location}: column 'quantity':", row["quantity"], quantities | _ruled(of))
    one_of(f"{location}: column 'unit':", row["unit"], UNITS)
    measured = {ledger_row.unit for ledger_row in ledger.select(design=of, quantity=quantity)}
    if measured and UNITS[row["unit"]][0] not in {UNITS.get(unit, ("",))[0] for unit in measured}:
        raise InputError(f"{location}: column 'unit' must measure what {', '.join(sorted(measured))} measures, "
                         f"got {row['unit']!r}")  # fmt: skip
    value = _number(location, row["value"])
    conditions_stated = {column: cell for column, cell in row.items() if column not in (*FIXED, *OWN) and cell}
    defaults = dict(design(of).parameters) if of in known_designs() else {}  # values of conditions that are not named
    candidates = ledger.select(design=of, quantity=quantity)
    for published in sorted(candidates, key=lambda row: row.role in ASIDE):  # predicted rows first
        row_conditions = {knob: condition for knob, condition in published.conditions.items() if knob != "design"}
        if all(
            _equal(conditions_stated.get(k, defaults.get(k)), row_conditions.get(k, defaults.get(k)))
            for k in {*conditions_stated, *row_conditions}
        ):
            if UNITS.get(published.unit, ("",))[0] != UNITS[row["unit"]][0]:
                continue  # the same quantity in another dimension, such as packets instead of bits
            return Result(line, published, published.from_si(value * factor(row["unit"])), True)
    conditions = _conditions(location, of, conditions_stated, ledger)
    low, high = (_number(location, row[end], end) if row.get(end) else value for end in ("lo", "hi"))
    if not low <= value <= high:
        raise InputError(f"{location}: the value must lie in lo..hi, got {value:g} and {low:g}..{high:g}")
    role = one_of(f"{location}: column 'role':", row.get("role") or "check", ROLES)
    ledger_row = Row(
        key=f"{of}.{Path(name).stem}.line{line}", where=row.get("where") or f"line {line}", quantity=quantity,
        kind="number", value=row["value"], point=value, unit=row["unit"], lo=low, hi=high, role=role,
        conditions=conditions, same_as=None, note="", paper=Path(name).stem, line=line,
    )  # fmt: skip
    return Result(line, ledger_row, value, False)


def _ruled(of: str) -> set[str]:
    """Return the quantities of a design that a rule computes, without rules for single keys."""
    return {quantity for quantity in QUANTITIES.get(of, GENERAL) if "." not in quantity}


def _mixes_of(of: str, ledger: Ledger) -> set[str]:
    """Return the mix names in the published rows of a design, also names that stand for several mixes."""
    return {str(row.conditions["mix"]) for row in ledger if row.design == of and "mix" in row.conditions}


def _conditions(place: str, of: str, stated: Mapping[str, str], ledger: Ledger) -> dict[str, str | float]:
    """Return the conditions of an unpublished number; raises InputError for a condition that the design cannot have."""
    if of not in known_designs():
        raise InputError(f"{place}: no published row of {of} has these conditions, and no model predicts it")
    parameters = design(of).parameters.file.parameter
    conditions: dict[str, str | float] = {}
    for column, cell in stated.items():
        if column == "mix" and not ONE_LENGTH.fullmatch(cell):
            one_of(f"{place}: column 'mix':", cell, [*mix_names(), *_mixes_of(of, ledger)])
        if column.partition("_")[0] in OTHERS:
            conditions[column] = cell
            continue
        knob = one_of(f"{place}: column", column, [*parameters, *OTHERS, *OWN])
        try:
            conditions[column] = parameters[knob].check(knob, cell)
        except InputError as error:
            raise InputError(f"{place}: column {column!r}: {error}") from None
    return {**conditions, "design": of}


def _factor(place: str, unit: str, published: Row) -> float:
    """Return the factor of a unit to SI; raises InputError if the unit has another dimension than the row's."""
    one_of(f"{place}: column 'unit':", unit, UNITS)
    if UNITS[unit][0] != UNITS.get(published.unit, ("",))[0]:
        raise InputError(f"{place}: column 'unit' must measure what {published.unit} measures, got {unit!r}")
    return factor(unit)


def _equal(one: Value | None, other: Value | None) -> bool:
    if one is None or other is None:
        return one is other
    try:
        return float(one) == float(other)
    except ValueError:
        return str(one) == str(other)
