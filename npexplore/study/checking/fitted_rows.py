"""Predicts calibration rows with given parameters, and computes the errors of these predictions.

    relative error = prediction / point - 1         outside = distance to the row's interval lo..hi / |point|

Only rows of role `calibration` are used. They are read through the ledger's view for models, so that no check row can
influence a fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial

import numpy as np

from npexplore.errors import InputError
from npexplore.ledger import Facts, Row, facts
from npexplore.ledger.ties import keys_of
from npexplore.machine.parameters import Parameter, Value
from npexplore.solve.prediction import Prediction
from npexplore.study.checking.quantities import MissingError, Quantity, quantity_of, whole
from npexplore.study.sweeping.points import Point, Predictions

ROLE = "calibration"


@dataclass(frozen=True)
class Judge:
    """Rows, each with the rule that computes its number from predictions."""

    rows: tuple[tuple[Row, Quantity], ...]

    @staticmethod
    def of(keys: Iterable[str], known: Facts | None = None, own: Iterable[Row] = ()) -> Judge:
        """Return the judge of some rows; raises InputError for a row of another role, or one that has no rule.

        own: rows of a user's own ledger.
        """
        readable = known or facts()
        return Judge(tuple((row, _rule(row)) for row in (*(readable[key] for key in dict.fromkeys(keys)), *own)))

    @property
    def designs(self) -> list[str]:
        """The designs of the rows."""
        return list(dict.fromkeys(row.design for row, _ in self.rows))

    def of_design(self, name: str) -> Judge:
        """Return the judge of one design's rows."""
        return Judge(tuple(pair for pair in self.rows if pair[0].design == name))

    def predict(
        self, chosen: Mapping[str, Value], *, seeds: Sequence[int] = (1,), packets: int = 4000,
        solver: str = "simulation", executor: Executor | None = None,
    ) -> dict[str, float]:  # fmt: skip
        """Return each row's mean prediction over the seeds, in the row's unit, with the parameters `chosen`.

        Bounds answer rows that do not depend on contention, whatever `solver` is. Raises NpexploreError if there is
        no answer.
        """
        values = {}
        for method in dict.fromkeys("bounds" if rule.solver == "exact" else solver for _, rule in self.rows):
            solver_rows = [
                (row, rule) for row, rule in self.rows if ("bounds" if rule.solver == "exact" else solver) == method
            ]
            predictions = Predictions(seeds=tuple(seeds), packets=packets, overrides=chosen, solvers=(method,))
            points = [point for row, rule in solver_rows for point in rule.points(row)]
            predictions.fetch(points, executor, label="calibration rows")
            for row, rule in solver_rows:
                numbers = [
                    _number(row, rule, predictions, method, seed) for seed in (seeds if method == solver else (0,))
                ]
                values[row.key] = float(np.mean(numbers))
        return {row.key: values[row.key] for row, _ in self.rows}

    def errors(self, predicted: Mapping[str, float]) -> dict[str, float]:
        """Return the relative error of each row's prediction."""
        return {row.key: predicted[row.key] / _point(row) - 1 for row, _ in self.rows}

    def outside(self, predicted: Mapping[str, float]) -> dict[str, float]:
        """Return each prediction's distance from its row's interval, as a share of the point; 0 inside."""
        distances = {}
        for row, _ in self.rows:
            x = predicted[row.key]
            nearest = min(max(x, -np.inf if row.lo is None else row.lo), np.inf if row.hi is None else row.hi)
            distances[row.key] = (x - nearest) / abs(_point(row))
        return distances


def calibration_row(key: str, known: Facts | None = None) -> Row:
    """Return a row that may be fitted to; raises InputError for a row of another role or without a number."""
    row = (known or facts())[key]
    _check_role(row)
    return row


def fitted_keys(parameter: Parameter) -> list[str]:
    """Return the keys of the rows that a parameter was fitted to."""
    return [key for entry in parameter.fitted_to for key in keys_of(entry)]


def score(errors: Mapping[str, float]) -> float:
    """Return the root mean square of errors."""
    return float(np.sqrt(np.mean(np.square(list(errors.values())))))


def _point(row: Row) -> float:
    if not row.point:
        raise InputError(f"row {row.key}: has no number to compare with")
    return row.point


def _check_role(row: Row) -> None:
    if row.role != ROLE:
        raise InputError(f"row {row.key} has role {row.role!r}: only {ROLE} rows may be fitted to")
    _point(row)


def _rule(row: Row) -> Quantity:
    _check_role(row)
    rule = quantity_of(row)
    if rule is None:
        raise InputError(f"row {row.key}: no rule computes {row.quantity!r} from predictions")
    return rule


def _number(row: Row, rule: Quantity, predictions: Predictions, solver: str, seed: int) -> float:
    try:
        return row.from_si(float(whole(rule.value(row, partial(_known, predictions, solver, seed)))))
    except MissingError:
        raise InputError(f"row {row.key}: {solver} gives no {row.quantity!r}") from None


def _known(predictions: Predictions, solver: str, seed: int, point: Point) -> Prediction:
    prediction = predictions.at(point, solver, seed)
    if prediction is None:
        raise MissingError
    return prediction
