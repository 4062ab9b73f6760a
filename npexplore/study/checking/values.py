"""Computes a row's value from predictions, by seed and by part, with the recorded inputs, and its verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from npexplore.ledger import Row
from npexplore.reads import Reads, reading
from npexplore.solve.prediction import Prediction
from npexplore.study.checking.quantities import MissingError, Quantity, whole
from npexplore.study.sweeping.points import Point, Predictions

WORST = ("withheld", "off", "close", "inside")


class Best(NamedTuple):
    """The recommended solver's answer: values by seed, their mean, parts (None: a single part), and recorded inputs."""

    values: list[float | bool | None]
    value: float | bool | None
    parts: dict[str, float | bool] | None
    reads: Reads

    @property
    def number(self) -> float | None:
        """The value as a number."""
        return None if self.value is None else float(self.value)


def judged(row: Row, value: float | bool, parts: Mapping[str, float | bool] | None) -> str:
    """Return the verdict on a prediction; for a claim over several parts, the worst verdict of its parts."""
    if row.kind == "number" or not parts:
        return row.verdict(value)
    return min((row.verdict(part) for part in parts.values()), key=WORST.index)


def value_of(
    row: Row, quantity: Quantity, get: Callable[[Point], Prediction | None]
) -> float | bool | dict[str, float | bool] | None:
    """Return a row's number or its parts, in the row's unit; None if the solver does not give it."""

    def known(point: Point) -> Prediction:
        prediction = get(point)
        if prediction is None:
            raise MissingError
        return prediction

    def printed(value: float | bool) -> float | bool:
        return value if isinstance(value, bool) else row.from_si(value)

    try:
        value = quantity.value(row, known)
    except MissingError:
        return None
    return {name: printed(part) for name, part in value.items()} if isinstance(value, Mapping) else printed(value)


def whole_of(value: float | bool | Mapping[str, float | bool] | None) -> float | bool | None:
    """Return a value; for parts their mean (claims: whether all hold)."""
    return None if value is None else whole(value)


def best_of(row: Row, quantity: Quantity, predictions: Predictions) -> Best:
    """Return the recommended solver's answer for a row."""
    solver = "bounds" if quantity.solver == "exact" else "simulation"
    seeds = predictions.seeds if solver == "simulation" else (0,)
    with reading() as reads:
        answers = [value_of(row, quantity, partial(predictions.at, solver=solver, seed=seed)) for seed in seeds]
    values = [whole_of(answer) for answer in answers]
    parts = None
    if isinstance(answers[0], Mapping) and len(answers[0]) > 1:
        tables = [answer for answer in answers if isinstance(answer, Mapping)]
        means = {name: _mean([table.get(name) for table in tables]) for name in answers[0]}
        parts = {name: mean for name, mean in means.items() if mean is not None}
    return Best(values, _mean(values), parts, reads)


def _mean(values: Sequence[float | bool | None]) -> float | bool | None:
    if not values or any(v is None for v in values):
        return None
    if all(isinstance(v, bool) for v in values):
        return all(bool(v) for v in values)
    return float(np.mean([float(v) for v in values if v is not None]))
