"""A published number as a typed, frozen record: the printed value, the interval it stands for, and who may read it.

A printed number is an interval: `10.03` to two places means 10.025 to 10.035. Comparisons use the interval, errors the
point. docs/ledger.md explains columns, kinds and roles.
"""

import copyreg
import math
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

import msgspec

from npexplore import units
from npexplore.errors import InputError, UnknownNameError, one_of
from npexplore.ledger.rules import rule

KINDS = ("number", "bound", "ordinal", "shape", "text")
ROLES = ("input", "calibration", "check", "withheld", "blind", "context")
READABLE = ("input", "calibration")  # roles of rows that models may read
CLOSE, IDLE_ABOVE = rule("verdict.close"), rule("verdict.idle_above")
SHARES = ("utilization", "mean utilization")  # quantities with an idle share, 1 - value

Verdict = Literal["inside", "close", "off", "withheld"]
Knobs = Mapping[str, tuple[str, ...]]  # knob -> allowed words; empty where any number or range is allowed

_KEY = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_-]+)+")
_BAND = re.compile(r"\bband\b|\bcut off\b")  # words in a note: the width of the interval was set by hand
_RANGE = re.compile(r"\d+(\.\d+)?\.\.\d+(\.\d+)?")


def _read_only(values: dict[str, str | float]) -> MappingProxyType[str, str | float]:
    return MappingProxyType(values)


# Rows are sent to worker processes; pickle cannot send a read-only view by itself.
copyreg.pickle(MappingProxyType, lambda view: (_read_only, (dict(view),)))


class Frozen(msgspec.Struct, frozen=True, kw_only=True):
    """The prediction of a blind row, made before its value was known: `predicted` in `unit`, by `solver` at `commit`.

    Example:
        >>> from npexplore.ledger import Frozen
        >>> made = dict(solver="simulation", label="predicted", commit="0123abc")
        >>> Frozen(predicted=9.7, unit="Mpps", **made).predicted
        9.7
    """

    predicted: float
    unit: str
    solver: str
    label: str
    commit: str


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a file in data/published; `point`, `lo` and `hi` are in `unit`, None if the row has none.

    Example:
        >>> from npexplore.ledger import load
        >>> row = load()["raw.peak_rate"]
        >>> row.point, row.unit, row.role
        (9.75, 'Mpps', 'check')
    """

    key: str
    where: str
    quantity: str
    kind: str
    value: str
    point: float | None
    unit: str
    lo: float | None
    hi: float | None
    role: str
    conditions: Mapping[str, str | float]
    same_as: str | None
    note: str
    paper: str
    line: int
    frozen: Frozen | None = None

    @property
    def frozen_value(self) -> float | None:
        """The frozen prediction in the row's unit; None unless the row is blind."""
        if self.frozen is None:
            return None
        same = self.frozen.unit == self.unit
        return self.frozen.predicted if same else self.from_si(self.frozen.predicted * units.factor(self.frozen.unit))

    @property
    def design(self) -> str:
        """The design that the row is about: its `design` condition, else the first part of its key."""
        return str(self.conditions.get("design", self.key.split(".", 1)[0]))

    @property
    def readable(self) -> bool:
        """Whether a model may read the row."""
        return self.role in READABLE

    @property
    def numeric(self) -> bool:
        """Whether a prediction of the row is a number; otherwise the row is a claim that holds or does not."""
        return self.kind in ("number", "bound") or self.lo is not None or self.hi is not None

    def si(self, x: float) -> float:
        """Return `x`, given in the row's unit, in SI base units."""
        return x * units.factor(self.unit)

    def from_si(self, x: float) -> float:
        """Return `x`, given in SI base units, in the row's unit."""
        return units.to_unit(x, self.unit)

    def inside(self, x: float) -> bool:
        """Return whether `x` (in `unit`) is in lo..hi within rounding; a missing end is open, both: InputError."""
        if self.lo is None and self.hi is None:
            raise InputError(f"ledger row {self.key!r} ({self.role}, {self.kind}) has no interval to compare with")
        lo = -math.inf if self.lo is None else self.lo
        hi = math.inf if self.hi is None else self.hi
        return lo <= x <= hi or any(math.isclose(x, end, rel_tol=1e-9) for end in (self.lo, self.hi) if end is not None)

    def relative_error(self, x: float) -> float | None:
        """Return (x - point) / abs(point); None unless the row is a number whose point is not 0."""
        if self.kind != "number" or not self.point:
            return None
        return (x - self.point) / abs(self.point)

    def verdict(self, x: float | bool) -> Verdict:
        """Judge a prediction: a number in `unit`, or, for a claim without an interval, whether it holds.

        Returns `inside` the interval; `close` within 5 % of the point of a number (for a high utilization, also within
        5 % of the idle share); else `off`. A band has no further margin, because its ends are wide already.
        """
        if self.role == "withheld":
            return "withheld"
        if not self.numeric:
            if not isinstance(x, bool):
                raise InputError(f"ledger row {self.key!r} ({self.kind}) is judged by True or False, got {x!r}")
            return "inside" if x else "off"
        if self.inside(x):
            return "inside"
        return "close" if self.kind == "number" and self._close(x) else "off"

    def _close(self, x: float) -> bool:
        """Return whether `x` is close to the point, and for a high utilization also to its idle share."""
        assert self.point is not None
        allowed, full = CLOSE.value * abs(self.point), self.from_si(1.0)
        if self.quantity in SHARES and self.point > IDLE_ABOVE.value * full:
            allowed = min(allowed, CLOSE.value * (full - self.point))
        return bool(abs(x - self.point) <= allowed)


COLUMNS = Row.__struct_fields__[:-3]  # columns of the files; `paper` and `line` are the place of the row


def parse_conditions(text: str, knobs: Knobs, place: str) -> Mapping[str, str | float]:
    """Parse `knob=value;...` with the paper's knobs; `baseline_KNOB` is the value on the other side of a comparison."""
    conditions: dict[str, str | float] = {}
    for pair in filter(None, text.split(";")):
        name, equals, value = pair.partition("=")
        if not (equals and value) or name in conditions:
            raise InputError(f"{place}: conditions must be distinct knob=value pairs separated by ';', got {pair!r}")
        base = name if name in knobs else name.removeprefix("baseline_")
        if base not in knobs:
            raise UnknownNameError(f"{place}: knob", name, knobs)
        if knobs[base]:
            conditions[name] = "|".join(one_of(f"{place}: {name}", word, knobs[base]) for word in value.split("|"))
        else:
            conditions[name] = value if _RANGE.fullmatch(value) else finite(value, f"{place}: {name}")
    return _read_only(conditions)


def parse_row(cells: Mapping[str, str], knobs: Knobs, paper: str, place: str, line: int) -> Row:
    """Return the record of one CSV row; raises a one-line InputError that starts with `place`."""
    if not _KEY.fullmatch(cells["key"]):
        raise InputError(f"{place}: column 'key' must be lower-case words joined by dots, got {cells['key']!r}")
    for column in ("where", "quantity"):
        if not cells[column]:
            raise InputError(f"{place}: column {column!r} must not be empty (row {cells['key']!r})")
    point, lo, hi = (finite(cells[c], f"{place}: column {c!r}") if cells[c] else None for c in ("point", "lo", "hi"))
    row = Row(
        key=cells["key"],
        where=cells["where"],
        quantity=cells["quantity"],
        value=cells["value"],
        unit=cells["unit"],
        note=cells["note"],
        kind=one_of(f"{place}: column 'kind'", cells["kind"], KINDS),
        role=one_of(f"{place}: column 'role'", cells["role"], ROLES),
        point=point,
        lo=lo,
        hi=hi,
        conditions=parse_conditions(cells["conditions"], knobs, place),
        same_as=cells["same_as"] or None,
        paper=paper,
        line=line,
    )
    fault = _fault(row)
    if fault:
        raise InputError(f"{place}: {fault} (row {row.key!r})")
    if row.unit or row.numeric:
        one_of(f"{place}: column 'unit'", row.unit, units.UNITS)
    return row


def _fault(row: Row) -> str | None:
    """Return the first rule that a row violates, in words that end with the value; None if there is none."""
    lo, hi, point = row.lo, row.hi, row.point
    if row.role == "withheld":
        if row.value or (point, lo, hi) != (None, None, None):
            return f"a withheld row must leave value, point, lo and hi empty, got {row.value or point or lo or hi!r}"
        return None
    if not row.value:
        return "column 'value' must not be empty unless the row is withheld, got ''"
    if lo is not None and hi is not None and lo > hi:
        return f"column 'lo' must not exceed 'hi', got {lo!r} > {hi!r}"
    if row.kind == "number" and (point is None or lo is None or hi is None):
        return f"a number must have point, lo and hi, got {(point, lo, hi)!r}"
    if row.kind == "bound" and lo is None and hi is None:
        return "a bound must have lo or hi, got neither"
    if row.role == "blind" and not row.numeric:
        return f"a blind row must be a number or have an interval, got kind {row.kind!r}"
    closed = row.kind == "number" or (row.kind == "bound" and row.value[0] not in "<>")  # <4 excludes its point
    if closed and point is not None and not row.inside(point):
        return f"column 'point' must lie in lo..hi, got {point!r} outside {lo!r}..{hi!r}"
    if row.kind == "number" and not _BAND.search(row.note) and _too_wide(row):
        return (
            f"a number may be as wide as its digits unless 'note' has the word band, got {row.value!r} {lo!r}..{hi!r}"
        )
    return None


def _too_wide(row: Row) -> bool:
    """Return whether lo..hi exceeds the printed digits: half a unit of the last digit that is no trailing zero.

    Values printed in words have no such limit.
    """
    digits = re.search(r"\d[\d ,]*\.?\d*", row.value)
    if digits is None or row.point is None or row.lo is None or row.hi is None:
        return False
    integer, _, decimals = re.sub(r"[ ,]", "", digits[0]).partition(".")
    zeros = len(integer) - len(integer.rstrip("0")) if integer.strip("0") and not decimals else 0
    half = 10.0 ** (zeros - len(decimals)) / 2 + 1e-9 * abs(row.point)
    return row.lo < row.point - half or row.hi > row.point + half


def finite(text: str, place: str) -> float:
    """Return the int or float in a cell; raises InputError, which starts with `place`, unless it is finite."""
    try:
        number = int(text) if re.fullmatch(r"-?\d+", text) else float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{place} must be a finite number, got {text!r}")
    return number
