"""Published against predicted: one row a published number that is a calibration, a check, withheld or blind.

Labels are computed: `calibrated` if a parameter the prediction depends on was fitted to the row (or to the same
measurement), `post_hoc` if one was chosen after it was seen, else `predicted`. Withheld rows are predicted like others;
verdict and error of a blind row are those of its frozen prediction, beside today's.
Arithmetic on rows that the model takes over predicts nothing and has no label.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from npexplore import __version__
from npexplore.designs import DESIGNS, design
from npexplore.engine.intervals import interval
from npexplore.errors import one_of
from npexplore.ledger import Ledger, Row, load
from npexplore.machine.mixes import load_mix
from npexplore.machine.parameters import Parameter, Value
from npexplore.solve.prediction import Prediction
from npexplore.study.checking.quantities import MissingError, Quantity, quantity_of
from npexplore.study.checking.results import Results
from npexplore.study.sweeping.points import Point, Predictions

if TYPE_CHECKING:
    import pandas as pd

ROLES = ("calibration", "check", "withheld", "blind")
FIELDS = (
    "key", "role", "kind", "quantity", "unit", "published", "point", "lo", "hi", "bounds", "queueing", "simulated",
    "ci95", "best", "error", "label", "prototype_hints", "verdict", "reason", "same_as",
    "frozen",
)  # fmt: skip


@dataclass
class Check:
    """The cross-check table. rows: dicts with FIELDS; alternatives: name -> {key: best value} of other structures.

    predictions: what the rows were judged by, for whoever asks for the same points again. results: a user's numbers
    beside the published ones and ours (study/checking/results.py), None where he gave none.
    """

    rows: list[dict[str, Any]]
    free_parameters: dict[str, list[str]]
    alternatives: dict[str, dict[str, float | None]] = field(default_factory=dict)
    predictions: Predictions | None = field(default=None, repr=False)
    results: list[dict[str, Any]] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON document of `npexplore check`."""
        own = {} if self.results is None else {"results": self.results}
        return {"version": __version__, "rows": self.rows, "free_parameters": self.free_parameters, **own}

    def frame(self) -> pd.DataFrame:
        """Return the rows as a table; alternatives are columns `alternative: NAME`."""
        import pandas as pd

        frame = pd.DataFrame(self.rows, columns=list(dict.fromkeys([*FIELDS, *(k for row in self.rows for k in row)])))
        for name, values in self.alternatives.items():
            frame[f"alternative: {name}"] = frame["key"].map(values)
        return frame

    def errors(
        self, keys: Callable[[dict[str, Any]], bool] = lambda row: True
    ) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return the relative errors of chosen rows, each measurement once."""
        return np.array([r["error"] for r in self.rows if r["error"] is not None and not r["same_as"] and keys(r)])

    def _repr_html_(self) -> str:
        return str(self.frame()._repr_html_())


def check(
    designs: Sequence[str] | None = None,
    *,
    seeds: int = 3,
    packets: int = 10_000,
    ledger: Ledger | None = None,
    results: Results | None = None,
    alternatives: bool = False,
    executor: Executor | None = None,
) -> Check:
    """Predict every published number of some designs (None: of all papers) and compare.

    seeds: replications of the simulation. results: a user's own numbers; those that nobody published are predicted
    too. alternatives: also predict with each structure that calibration does not rule out. Raises UnknownNameError.
    """
    published = ledger or load()
    known = {row.design for row in published} | set(DESIGNS)
    chosen = None if designs is None else {one_of("design", name, known) for name in designs}
    rows = [row for row in published.select(roles=ROLES) if chosen is None or row.design in chosen]
    own = [] if results is None else [row for row in results.own if chosen is None or row.design in chosen]
    modelled = [(row, quantity) for row in (*rows, *own) if row.design in DESIGNS and (quantity := quantity_of(row))]
    points = [point for row, quantity in modelled for point in quantity.points(row)]
    predictions = Predictions(seeds=tuple(range(1, seeds + 1)), packets=packets)
    predictions.fetch(points, executor)
    out = Check([_row(row, published, predictions) for row in rows], _free(row for row, _ in modelled))
    out.predictions = predictions
    if results is not None:
        unpublished = [_row(row, published, predictions) for row in own]
        out.results = results.compared([*out.rows, *unpublished])
        for entry, row in zip(out.rows, rows, strict=True):
            entry["results"] = results(row)
    if alternatives:
        for name, changed in _alternatives(row for row, _ in modelled).items():
            other = Predictions(seeds=(1,), packets=packets, overrides=changed, solvers=("bounds", "simulation"))
            other.fetch(points, executor, name)
            out.alternatives[name] = {row.key: _numbers(row, quantity, other)[2] for row, quantity in modelled}
    return out


def _alternatives(rows: Iterable[Row]) -> dict[str, dict[str, Value]]:
    return {
        a.name: a.set
        for name in dict.fromkeys(r.design for r in rows)
        for a in design(name).parameters.file.alternative
    }


def _free(rows: Iterable[Row]) -> dict[str, list[str]]:
    """Return per design the parameters that were fitted to calibration rows."""
    return {
        name: [key for key, p in design(name).parameters.file.parameter.items() if p.fitted_to]
        for name in dict.fromkeys(row.design for row in rows)
    }


def _row(row: Row, ledger: Ledger, predictions: Predictions) -> dict[str, Any]:
    entry: dict[str, Any] = dict.fromkeys(FIELDS)
    hidden = row.role == "withheld"
    entry.update(
        key=row.key, role=row.role, kind=row.kind, quantity=row.quantity, unit=row.unit, same_as=row.same_as,
        published=None if hidden else row.value, point=None if hidden else row.point,
        lo=None if hidden else row.lo, hi=None if hidden else row.hi, frozen=row.frozen_value,
    )  # fmt: skip
    if row.design not in DESIGNS:
        return entry | {"verdict": "not_modelled", "reason": f"no model of {row.design} yet"}
    quantity = quantity_of(row)
    if quantity is None:
        return entry | {"verdict": "not_predictable", "reason": f"no rule says how {row.quantity!r} follows from a run"}
    bounds, queueing, best, simulated, ci95 = _all_numbers(row, quantity, predictions)
    entry.update(bounds=bounds, queueing=queueing, simulated=simulated, ci95=ci95)
    entry["best"] = "bounds" if quantity.solver == "exact" else "simulated"
    if best is None:
        told = design(row.design).parameters.file.reason.get(row.key, "no solver gives this quantity")
        return entry | {"verdict": "not_predictable", "reason": told}
    parameters = _parameters(row, quantity, predictions)
    if not quantity.arithmetic:
        entry["label"] = label(row, ledger, parameters)
        entry["prototype_hints"] = sum("prototype" in p.chosen_after for p in parameters.values())
    judged = best if row.frozen_value is None else row.frozen_value
    entry["verdict"] = row.verdict(judged)
    entry["error"] = None if hidden or isinstance(judged, bool) else row.relative_error(judged)
    if entry["verdict"] == "off":
        reasons = design(row.design).parameters.file.reason
        entry["reason"] = reasons.get(
            ledger.measurement(row.key) if row.key in ledger else row.key,
            reasons.get(row.key, "no explanation found yet"),
        )
    return entry


def _parameters(row: Row, quantity: Quantity, predictions: Predictions) -> dict[str, Parameter | _Fitted]:
    """Return what a row's prediction depends on: parameters its machine reads, and the mixes' fitted means."""
    points = quantity.points(row)
    found: dict[str, Parameter | _Fitted] = {}
    for point in {p.design: p for p in points}.values():
        made = predictions.design_at(point)
        names = predictions.dependencies(point)
        if quantity.solver != "exact":
            found |= {name: made.parameters.file.parameter[name] for name in names}
    file_of = design(row.design).parameters.file
    found |= {name: file_of.parameter[name] for name in quantity.reads(row)}
    for mix in dict.fromkeys(p.mix for p in (*points, *quantity.described(row)) if p.mix):
        file = load_mix(mix).file
        if file.target is not None and file.target.row is not None:
            found[f"mix {mix}"] = _Fitted([file.target.row, *file.target.also])
    return found


@dataclass(frozen=True)
class _Fitted:
    """A fitted share of a mix, in the shape of a parameter."""

    fitted_to: list[str]
    chosen_after: tuple[str, ...] = ()


def label(row: Row, ledger: Ledger, parameters: Mapping[str, Parameter | _Fitted]) -> str:
    """Return `calibrated`, `post_hoc` or `predicted` from the records of what a prediction depends on."""
    measurement = ledger.measurement(row.key) if row.key in ledger else row.key

    def names(keys: Iterable[str]) -> bool:
        return any(key in ledger and ledger.measurement(key) == measurement for key in keys)

    if any(names(p.fitted_to) for p in parameters.values()):
        return "calibrated"
    return "post_hoc" if any(names(p.chosen_after) for p in parameters.values()) else "predicted"


def _value(row: Row, quantity: Quantity, get: Callable[[Point], Prediction | None]) -> float | bool | None:
    def known(point: Point) -> Prediction:
        prediction = get(point)
        if prediction is None:
            raise MissingError
        return prediction

    try:
        value = quantity.value(row, known)
    except MissingError:
        return None
    return value if isinstance(value, bool) else row.from_si(value)


def _numbers(
    row: Row, quantity: Quantity, predictions: Predictions
) -> tuple[list[float | bool | None], float | bool | None, float | None]:
    """Return per-seed values, the recommended solver's value, and that value as a number."""
    solver = "bounds" if quantity.solver == "exact" else "simulation"
    seeds = predictions.seeds if solver == "simulation" else (0,)
    values = [_value(row, quantity, partial(predictions.at, solver=solver, seed=seed)) for seed in seeds]
    best = _mean(values)
    return values, best, None if best is None else float(best)


def _mean(values: Sequence[float | bool | None]) -> float | bool | None:
    if not values or any(v is None for v in values):
        return None
    if all(isinstance(v, bool) for v in values):
        return all(bool(v) for v in values)
    return float(np.mean([float(v) for v in values if v is not None]))


def _all_numbers(
    row: Row, quantity: Quantity, predictions: Predictions
) -> tuple[
    float | bool | None, float | bool | None, float | bool | None, float | bool | None, tuple[float, float] | None
]:
    """Return (bounds, queueing, best, simulated, ci95)."""
    bounds = _value(row, quantity, lambda point: predictions.at(point, "bounds", 0))
    queueing = _value(row, quantity, lambda point: predictions.at(point, "queueing", 0))
    if quantity.solver == "exact":
        return bounds, None if not quantity.points(row) else queueing, bounds, None, None
    values, best, _ = _numbers(row, quantity, predictions)
    numbers = [float(v) for v in values if v is not None and not isinstance(v, bool)]
    return bounds, queueing, best, best, interval(np.array(numbers)) if len(numbers) > 1 else None
