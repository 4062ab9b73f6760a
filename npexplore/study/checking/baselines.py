"""Baselines that predict a row without a model, from other visible published rows.

interpolation   linear between two values of a knob; else the rule of three x(a, b) = x(a', b) x(a, b') / x(a', b') from
                rows that differ in one and in both conditions; else the mean of rows that differ in one condition
constant        the calibration row of the same quantity that differs in the fewest conditions; rates are per core
never loses     all offered load is forwarded; n times the threads do n times the work
no effect       nothing changes: ratios are 1, improvements and losses 0

The baselines see every row except rows of the same measurement, withheld and blind rows, and rows of another system.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from npexplore.designs import DESIGNS, design
from npexplore.ledger import Ledger, Row
from npexplore.study.checking.quantities.ixp1200 import resource_of
from npexplore.units import UNITS

SEEN = ("calibration", "check")
NUMBERS = ("interpolation", "constant")  # each replaces the other where that has no value
CLAIMS = ("never loses", "no effect", "interpolation")
WORKERS = ("threads", "receivers", "processors", "engines")
Condition = str | float | None


@dataclass(frozen=True)
class Reader:
    """Predicts rows of a ledger from its other rows, without a model."""

    ledger: Ledger
    _usual: dict[str, Mapping[str, Condition]] = field(default_factory=dict)

    def says(self, row: Row, how: str, others: Sequence[str] = ()) -> float | None:
        """Return a row's value, in its unit, by the method `how`, else by the first of `others` that gives one."""
        methods: Mapping[str, Callable[[Row], float | None]] = {
            "interpolation": self.interpolation, "constant": self.constant, "never loses": self.never_loses,
            "no effect": self.no_effect,
        }  # fmt: skip
        return next((x for name in (how, *others) if (x := methods[name](row)) is not None), None)

    def interpolation(self, row: Row) -> float | None:
        """Return the value interpolated from rows that differ in one or two conditions."""
        similar = [(other, self._apart(row, other)) for other in self._alike(row)]
        by_knob: dict[str, list[tuple[Condition, Row]]] = {}
        for other, differing in similar:
            if len(differing) == 1:
                by_knob.setdefault(differing[0], []).append((self._of(other, differing[0]), other))
        estimates = [
            _between(self._of(row, knob), [(at, self._value(row, other)) for at, other in rows])
            for knob, rows in by_knob.items()
        ]
        inside = [x for x, bracketed in estimates if bracketed]
        return (
            fmean(inside or self._proportions(row, similar, by_knob) or [x for x, _ in estimates])
            if estimates
            else None
        )

    def _proportions(
        self, row: Row, alike: Iterable[tuple[Row, list[str]]], by_knob: Mapping[str, Sequence[tuple[Condition, Row]]]
    ) -> list[float]:
        """Return estimates by the rule of three, from rows that differ in two conditions and in one of them."""
        estimates = []
        for both, apart in alike:
            if len(apart) == 2 and self._value(row, both):
                sides = [[other for at, other in by_knob.get(knob, ()) if at == self._of(both, knob)] for knob in apart]
                estimates += [
                    self._value(row, first) * self._value(row, second) / self._value(row, both)
                    for first in sides[0] for second in sides[1]
                ]  # fmt: skip
        return estimates

    def constant(self, row: Row) -> float | None:
        """Return the value of the calibration row with the fewest differing conditions; rates scale with the cores."""
        rows = [other for other in self._alike(row) if other.role == "calibration" and self._apart(row, other)]
        if not rows:
            return None
        nearest = min(rows, key=lambda one: len(self._apart(row, one)))
        counts = [float(r.conditions.get("cores", 1)) for r in (row, nearest)]
        scaled = UNITS[row.unit][0] == "packet rate"
        return self._value(row, nearest) * (counts[0] / counts[1] if scaled else 1.0)

    def never_loses(self, row: Row) -> float | None:
        """Return the offered load, or one worker's rate times the number of workers."""
        if "rate_mpps" in row.conditions and UNITS[row.unit][0] == "packet rate":
            return row.from_si(float(row.conditions["rate_mpps"]) * 1e6)
        if row.quantity == "throughput ratio" and "baseline_lock" not in row.conditions:
            for knob in WORKERS:
                counts = row.conditions.get(knob), row.conditions.get(f"baseline_{knob}")
                if all(isinstance(count, int | float) for count in counts):
                    return float(counts[0]) / float(counts[1])  # type: ignore[arg-type]
        return self.no_effect(row)

    def no_effect(self, row: Row) -> float | None:
        """Return 1 for a ratio, 0 for a difference."""
        if "ratio" in row.quantity or row.quantity == "throughput per area":
            return 1.0
        return 0.0 if difference(row) else None

    # ---- comparable rows

    def _alike(self, row: Row) -> list[Row]:
        """Return the visible numeric rows of the same quantity, dimension, design and subject."""
        measurement = self.ledger.measurement(row.key) if row.key in self.ledger else row.key
        dimension = UNITS[row.unit][0]
        return [
            other for other in self.ledger.select(design=row.design, roles=SEEN, quantity=row.quantity, distinct=True)
            if other.kind == "number" and other.point is not None and other.key != measurement
            and UNITS[other.unit][0] == dimension and _subject(other) == _subject(row)
        ]  # fmt: skip

    def _value(self, row: Row, other: Row) -> float:
        assert other.point is not None
        return row.from_si(other.si(other.point))

    def _of(self, row: Row, knob: str) -> Condition:
        if row.design not in self._usual:
            self._usual[row.design] = _usual_of(row.design)
        return row.conditions.get(knob, self._usual[row.design].get(knob))

    def _apart(self, one: Row, other: Row) -> list[str]:
        """Return the conditions in which two rows differ; a condition that a row does not name has its usual value."""
        names = sorted({*one.conditions, *other.conditions} - {"design"})
        return [name for name in names if self._of(one, name) != self._of(other, name)]


def difference(row: Row) -> bool:
    """Return whether a row is a difference in per cent; its error is then in percentage points."""
    return row.unit == "%" and any(word in row.quantity for word in ("improvement", "loss", "reduction", "saving"))


def _subject(row: Row) -> tuple[Condition, ...]:
    """Return a row's subject besides its design point: (resource, other system, other model), None where absent."""
    return row.conditions.get("resource", resource_of(row)), row.conditions.get("system"), row.conditions.get("model")


def _usual_of(name: str) -> Mapping[str, Condition]:
    return dict(design(name).parameters) if name in DESIGNS else {}


def _between(at: Condition, rows: Iterable[tuple[Condition, float]]) -> tuple[float, bool]:
    """Return the value at `at` from rows at other values of a knob, and whether these lie on both sides of `at`.

    Linear between the nearest rows; without both sides the nearest row's value; the mean for values that are words.
    """
    numeric = [(float(x), y) for x, y in rows if isinstance(x, int | float)]
    if isinstance(at, int | float) and numeric:
        below, above = ([pair for pair in numeric if (pair[0] < at) == low] for low in (True, False))
        if below and above:
            (x0, y0), (x1, y1) = max(below), min(above)
            return y0 + (y1 - y0) * (at - x0) / (x1 - x0), True
        return min(numeric, key=lambda pair: abs(pair[0] - at))[1], False
    return fmean(y for _, y in rows), False
