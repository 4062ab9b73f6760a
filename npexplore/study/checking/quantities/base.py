"""Building blocks of rules: a published row's design points, and its quantity computed from predictions there.

A row's conditions are knobs of its design, a mix, `baseline...` for the other side of a comparison, and `resource` for
utilizations. Values are in SI base units, ratios are fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import TypeAlias

from npexplore.designs import design
from npexplore.errors import InputError, one_of, told_at
from npexplore.ledger import Row
from npexplore.ledger.rules import Rule
from npexplore.machine.parameters import Value
from npexplore.reads import SAME, Read, note
from npexplore.solve.prediction import Prediction
from npexplore.study.sweeping.points import Point

Get = Callable[[Point], Prediction]
Number: TypeAlias = float | bool
Parts: TypeAlias = Mapping[str, Number]  # by version, mix or configuration; a claim is judged on each part


class MissingError(Exception):
    """A solver does not give a value that a quantity needs."""


@dataclass(frozen=True)
class Quantity:
    """points: returns the design points of a row; value: returns its number, claim or parts from predictions there.

    solver: the recommended solver; "exact" quantities follow from the description without contention. The inputs of
    a number are not declared but recorded when they are read (npexplore/reads.py).
    """

    points: Callable[[Row], list[Point]]
    value: Callable[[Row, Get], Number | Parts]
    solver: str = "simulation"


def whole(value: Number | Parts) -> Number:
    """Return a value; for parts, their mean (claims: whether all parts hold)."""
    if not isinstance(value, Mapping):
        return value
    parts = list(value.values())
    return all(parts) if all(isinstance(part, bool) for part in parts) else fmean(parts)


def exact(number: Callable[[Row], Number | Parts]) -> Quantity:
    """Return a quantity that follows from the description alone, without a prediction."""
    return Quantity(lambda row: [], lambda row, get: number(row), "exact")


def knobs_of(row: Row) -> dict[str, Value]:
    """Return the conditions that are parameters of the row's design, in the parameters' own types."""
    parameters = design(row.design).parameters.file.parameter
    with told_at(f"row {row.key!r}, column 'conditions'"):
        return {
            k: parameters[k].check(k, v) for k, v in row.conditions.items() if k in parameters and ".." not in str(v)
        }


@dataclass(frozen=True)
class Conditions:
    """Translates the conditions of a design's rows to design points.

    mixes: names that stand for several mixes; usual_mix: the mix of rows that name none, for a design without its own
    workload (both are rules of scoring). baseline: the knob that the condition `baseline` sets.
    """

    mixes: Mapping[str, Rule] = field(default_factory=dict)
    usual_mix: Rule | None = None
    baseline: str = "version"

    def points(self, row: Row) -> list[Point]:
        """Return the points of a row: one for each mix."""
        mix = row.conditions.get("mix")
        name = None if mix is None else str(mix)
        mixes: tuple[str | None, ...] = self.mixes[name].value if name is not None and name in self.mixes else (name,)
        if name is None and design(row.design).own is None:
            if self.usual_mix is None:
                allowed = "a name, or a length such as mix=64 bytes"
                raise InputError(f"row {row.key}: {row.design} brings no packets of its own: give its mix, {allowed}")
            mixes = (self.usual_mix.value,)
        return [Point.of(row.design, mix_name, knobs_of(row)) for mix_name in mixes]

    def baseline_of(self, row: Row, point: Point) -> Point:
        """Return the baseline point of a comparison: a point with the row's `baseline` and `baseline_KNOB` values."""
        changed: dict[str, Value] = {}
        parameters = design(row.design).parameters.file.parameter
        mix = None
        for name, value in row.conditions.items():
            if name == "baseline":
                changed[self.baseline] = str(value)
            elif name == "baseline_mix":
                mix = str(value)
            elif name.startswith("baseline_"):
                knob = name.removeprefix("baseline_")
                changed[knob] = parameters[knob].check(knob, value)
        return point.with_(mix, **changed)

    def both(self, points: Callable[[Row], list[Point]]) -> Callable[[Row], list[Point]]:
        """Return a function of points that adds the baseline point after each point."""
        return lambda row: [p for point in points(row) for p in (point, self.baseline_of(row, point))]

    def mean(self, number: Callable[[Prediction], float]) -> Quantity:
        """Return the quantity `number` of a prediction, averaged over the points."""
        return Quantity(self.points, lambda row, get: {label_of(p): number(get(p)) for p in self.points(row)})

    def utilization(self) -> Quantity:
        """Return the quantity that is the busy share of the row's `resource`."""
        return Quantity(self.points, lambda row, get: {label_of(p): busy(row, get(p)) for p in self.points(row)})

    def change(
        self, number: Callable[[Prediction], float], points: Callable[[Row], list[Point]] | None = None
    ) -> Quantity:
        """Return the quantity `number / number at the baseline - 1`, averaged over the points."""
        return self._against(number, points or self.points, lambda ratio: ratio - 1)

    def ratio(self, number: Callable[[Prediction], float]) -> Quantity:
        """Return the quantity `number / number at the baseline`, averaged over the points."""
        return self._against(number, self.points, lambda ratio: ratio)

    def loss(self, number: Callable[[Prediction], float]) -> Quantity:
        """Return the quantity `1 - number / number at the baseline`, averaged over the points."""
        return self._against(number, self.points, lambda ratio: 1 - ratio)

    def _against(
        self, number: Callable[[Prediction], float], points: Callable[[Row], list[Point]],
        of: Callable[[float], float],
    ) -> Quantity:  # fmt: skip
        return Quantity(
            self.both(points),
            lambda row, get: {
                label_of(p): of(ratio(number(get(p)), number(get(self.baseline_of(row, p))))) for p in points(row)
            },
        )


def ratio(number: float, baseline: float) -> float:
    """Return number / baseline, and record if both are equal to the last bit, which means that they are one machine."""
    if number == baseline:
        note(Read("both sides", SAME, None, ""))
    return number / baseline


def label_of(point: Point) -> str:
    """Return a point's mix and knobs as text."""
    return ", ".join([*([point.mix] if point.mix else []), *(f"{name}={value}" for name, value in point.knobs)])


def busy(row: Row, prediction: Prediction) -> float:
    """Return the busy share of the row's resource."""
    return busy_of(row, prediction, str(row.conditions.get("resource", "(none)")))


def busy_of(row: Row, prediction: Prediction, name: str) -> float:
    """Return the busy share of a named resource; raises MissingError for a resource that a Petri net does not model."""
    if name not in prediction.utilization and "net" in prediction.about:
        raise MissingError
    return prediction.utilization[one_of(f"row {row.key}: resource", name, prediction.utilization)].busy


def throughput(prediction: Prediction) -> float:
    """Return the throughput in bit/s, as the machine counts it."""
    return prediction.throughput_bps


def latency(prediction: Prediction) -> float:
    """Return the mean latency in seconds; raises MissingError if the solver gives none."""
    if prediction.latency_s.mean is None:
        raise MissingError
    return prediction.latency_s.mean
