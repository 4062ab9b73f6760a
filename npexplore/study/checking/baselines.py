"""What a reader without a model would predict for a row, from other published rows that anybody can see.

interpolation   x(a, b) = x(a', b) x(a, b') / x(a', b') from rows that differ in one condition and in another; linear
                between two values of a knob; the mean of the nearest that differ in one condition (mixes, schemes)
constant        the calibration row of the same quantity that differs in the fewest conditions; a rate for each core
never loses     what is offered comes through; n times the threads do n times the work
no effect       nothing changes: ratios are 1, improvements and losses 0

The reader sees every row except those that print the same measurement, are withheld or blind, or are of somebody
else's machine.
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
NUMBERS = ("interpolation", "constant")  # each stands in for the other where that says nothing
CLAIMS = ("never loses", "no effect", "interpolation")
WORKERS = ("threads", "receivers", "processors", "engines")
Condition = str | float | None


@dataclass(frozen=True)
class Reader:
    """A reader of a ledger who has no model."""

    ledger: Ledger
    _usual: dict[str, Mapping[str, Condition]] = field(default_factory=dict)

    def says(self, row: Row, how: str, others: Sequence[str] = ()) -> float | None:
        """Return the reader's value for a row, in its unit, by one rule, else by the first other that gives one."""
        ways: Mapping[str, Callable[[Row], float | None]] = {
            "interpolation": self.interpolation, "constant": self.constant, "never loses": self.never_loses,
            "no effect": self.no_effect,
        }  # fmt: skip
        return next((x for name in (how, *others) if (x := ways[name](row)) is not None), None)

    def interpolation(self, row: Row) -> float | None:
        """Return the value interpolated from rows that differ in one or two conditions."""
        alike = [(other, self._apart(row, other)) for other in self._alike(row)]
        by_knob: dict[str, list[tuple[Condition, Row]]] = {}
        for other, apart in alike:
            if len(apart) == 1:
                by_knob.setdefault(apart[0], []).append((self._of(other, apart[0]), other))
        estimates = [
            _between(self._of(row, knob), [(at, self._value(row, other)) for at, other in rows])
            for knob, rows in by_knob.items()
        ]
        sure = [x for x, bracketed in estimates if bracketed]
        return fmean(sure or self._proportions(row, alike, by_knob) or [x for x, _ in estimates]) if estimates else None

    def _proportions(
        self, row: Row, alike: Iterable[tuple[Row, list[str]]], by_knob: Mapping[str, Sequence[tuple[Condition, Row]]]
    ) -> list[float]:
        """Return the rule of three, once for each row that differs in two conditions."""
        estimates = []
        for both, apart in alike:
            if len(apart) == 2 and self._value(row, both):
                sides = [[other for at, other in by_knob.get(knob, ()) if at == self._of(both, knob)] for knob in apart]
                estimates += [
                    self._value(row, one) * self._value(row, two) / self._value(row, both)
                    for one in sides[0] for two in sides[1]
                ]  # fmt: skip
        return estimates

    def constant(self, row: Row) -> float | None:
        """Return the number of the calibration row that differs least; a rate is scaled by the number of cores."""
        rows = [other for other in self._alike(row) if other.role == "calibration" and self._apart(row, other)]
        if not rows:
            return None
        least = min(rows, key=lambda one: len(self._apart(row, one)))
        counts = [float(one.conditions.get("cores", 1)) for one in (row, least)]
        scaled = UNITS[row.unit][0] == "packet rate"
        return self._value(row, least) * (counts[0] / counts[1] if scaled else 1.0)

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

    # ---- which rows are alike

    def _alike(self, row: Row) -> list[Row]:
        """Return the rows that a reader sees of the same quantity and design."""
        mine = self.ledger.measurement(row.key) if row.key in self.ledger else row.key
        dimension = UNITS[row.unit][0]
        return [
            other for other in self.ledger.select(design=row.design, roles=SEEN, quantity=row.quantity, distinct=True)
            if other.kind == "number" and other.point is not None and other.key != mine
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
        """Return the conditions in which two rows differ; what a row does not name is as usual."""
        names = sorted({*one.conditions, *other.conditions} - {"design"})
        return [name for name in names if self._of(one, name) != self._of(other, name)]


def difference(row: Row) -> bool:
    """Whether a row is a difference in per cent, so that its error is given in percentage points."""
    return row.unit == "%" and any(word in row.quantity for word in ("improvement", "loss", "reduction", "saving"))


def _subject(row: Row) -> tuple[Condition, ...]:
    """Return what a row speaks of beside its design point: a resource, somebody else's machine or model."""
    return row.conditions.get("resource", resource_of(row)), row.conditions.get("system"), row.conditions.get("model")


def _usual_of(name: str) -> Mapping[str, Condition]:
    return dict(design(name).parameters) if name in DESIGNS else {}


def _between(at: Condition, rows: Iterable[tuple[Condition, float]]) -> tuple[float, bool]:
    """Return what rows at other values of a knob say at `at`, and whether they lie on both sides of it."""
    known = [(float(x), y) for x, y in rows if isinstance(x, int | float)]
    if isinstance(at, int | float) and known:
        below, above = ([pair for pair in known if (pair[0] < at) == low] for low in (True, False))
        if below and above:
            (x0, y0), (x1, y1) = max(below), min(above)
            return y0 + (y1 - y0) * (at - x0) / (x1 - x0), True
        return min(known, key=lambda pair: abs(pair[0] - at))[1], False
    return fmean(y for _, y in rows), False
