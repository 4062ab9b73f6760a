"""Compares predictions with published numbers: one row for each number of role calibration, check, withheld or blind.

All inputs of a value are recorded while it is computed, and its label follows from this record alone
(study/checking/labels.py). A claim over several versions or mixes is judged on each of them. Withheld rows are
predicted like the others. Verdict and error of a blind row refer to its frozen prediction; today's is shown beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from npexplore import __version__
from npexplore.designs import Design, design, known_designs, with_machines
from npexplore.engine.intervals import interval
from npexplore.errors import InputError, one_of
from npexplore.ledger import Ledger, Row, load
from npexplore.machine.mixes import standing_in
from npexplore.machine.parameters import Value
from npexplore.progress import Task
from npexplore.reads import SOLVER, Reads, names, reading
from npexplore.results import Result, plain
from npexplore.solve.simulate import PACKETS
from npexplore.study.checking.labels import Labels, free, hints
from npexplore.study.checking.quantities import Quantity, quantity_of, refuse_another_unit, without_rule
from npexplore.study.checking.results import Results
from npexplore.study.checking.scores import lines
from npexplore.study.checking.sets import designs_with_sets, load_sets
from npexplore.study.checking.sources import check_sources
from npexplore.study.checking.values import best_of, judged, value_of, whole_of
from npexplore.study.sweeping.points import Predictions

if TYPE_CHECKING:
    import pandas as pd

ROLES = ("calibration", "check", "withheld", "blind")
FIELDS = (
    "key", "role", "kind", "quantity", "unit", "published", "point", "lo", "hi", "bounds", "queueing", "simulated",
    "estimate", "rtl", "rtl_label", "ci95", "best", "error", "label", "prototype_hints", "verdict", "reason", "same_as",
    "frozen", "parts", "range", "reads", "modes",
)  # fmt: skip


@dataclass
class Check(Result):
    """Published numbers with their predictions.

    rows: dicts with FIELDS. alternatives: name -> {key: best value} of alternative structures.

    predictions: the predictions behind the rows, for reuse at the same points. traces: for each key, all inputs that
    were read to compute the row's value. ledger: the published rows. sets: for each design, the rows' values with each
    of its recorded parameter sets. results: a user's numbers with the published and predicted ones
    (study/checking/results.py), None without a user's file.

    Example:
        >>> import npexplore as npx
        >>> result = npx.check(["ixp2400_dram"], seeds=1, packets=200)
        >>> result.rows[0]["role"], len(result.rows) == len(result.to_frame())
        ('check', True)
    """

    rows: list[dict[str, Any]]
    free_parameters: dict[str, list[str]]
    alternatives: dict[str, dict[str, float | None]] = field(default_factory=dict)
    predictions: Predictions | None = field(default=None, repr=False)
    traces: dict[str, Reads] = field(default_factory=dict, repr=False)
    ledger: Ledger | None = field(default=None, repr=False)
    sets: dict[str, list[dict[str, float | None]]] = field(default_factory=dict, repr=False)
    results: list[dict[str, Any]] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON document of `npexplore check`."""
        user_results = {} if self.results is None else {"results": self.results}
        document = {
            "version": __version__, "rows": self.rows, "scores": self.scores(),
            "free_parameters": self.free_parameters, **user_results,
        }  # fmt: skip
        return {name: plain(value) for name, value in document.items()}

    def scores(self) -> list[dict[str, Any]]:
        """Return the scores by group (study/checking/scores.py)."""
        return lines(self, self.ledger or load())

    def records(self) -> list[dict[str, Any]]:
        """Return the rows of `to_frame`."""
        return list(self.to_frame().to_dict("records"))

    def to_frame(self) -> pd.DataFrame:
        """Return the rows as a table; alternatives are columns `alternative: NAME`."""
        import pandas as pd

        frame = pd.DataFrame(self.rows, columns=list(dict.fromkeys([*FIELDS, *(k for row in self.rows for k in row)])))
        for name, values in self.alternatives.items():
            frame[f"alternative: {name}"] = frame["key"].map(values)
        frame.attrs["units"] = {"error": "1"}
        return frame

    def errors(self, keys: Callable[[dict[str, Any]], bool] = lambda row: True) -> npt.NDArray[np.float64]:
        """Return the relative errors of the rows that `keys` selects; a measurement printed twice counts once."""
        return np.array([r["error"] for r in self.rows if r["error"] is not None and not r["same_as"] and keys(r)])


def check(
    designs: Sequence[str] | None = None, *, keys: Sequence[str] | None = None, seeds: int = 3, packets: int = PACKETS,
    ledger: Ledger | None = None, results: Results | None = None, alternatives: bool = False, sets: bool = False,
    rtl: bool = False, estimate: bool = False, executor: Executor | None = None,
    machines: Mapping[str, Design] | None = None,
) -> Check:  # fmt: skip
    """Return every published number of some designs with its predictions.

    Args:
        designs: names of listed designs (None: those of all papers).
        keys: keys of the ledger rows to predict (None: all rows).
        seeds: replications of the simulation.
        packets: simulated packets for each replication.
        ledger: the published rows (None: those of the project).
        results: the user's own numbers; those without a published counterpart are predicted too.
        alternatives: also predict with each structure that the calibration rows do not rule out, with one seed and
            half of the packets: the noise is smaller than the range over structures.
        sets: also predict with each recorded set of parameters that calibration admits (models/sets).
        rtl: also measure rates in generated hardware if a design has it; takes one to two minutes per machine.
        estimate: also run `Design.estimate`, which repeats runs until its precision is met (at most 1 s per point).
        executor: a `concurrent.futures` executor that runs the predictions (None: threads).
        machines: designs that replace listed designs, by the name of the listed design. Blind rows are then compared
            with today's prediction of that machine, not with the frozen one; a row that it cannot answer has none.

    Raises:
        UnknownNameError: a design or row that does not exist.
        InputError: results that cannot be read as numbers of these rows.

    Example:
        >>> import npexplore as npx
        >>> found = npx.check(keys=["ixp2400.validation.petri.peak"], seeds=2, packets=500)
        >>> found.to_frame().loc[0, ["published", "unit", "label"]].tolist()
        ['3210', 'Mb/s', 'post_hoc']
    """
    with with_machines(machines or {}):
        published = ledger or load()
        known_names = {row.design for row in published} | set(known_designs())
        selected = None if designs is None else {one_of("design", name, known_names) for name in designs}
        selected_keys = None if keys is None else {published[key].key for key in keys}
        rows = [
            row for row in published.select(roles=ROLES)
            if (selected is None or row.design in selected) and (selected_keys is None or row.key in selected_keys)
        ]  # fmt: skip
        own_rows = [] if results is None else [row for row in results.own if selected is None or row.design in selected]
        modelled = [
            (row, quantity)
            for row in (*rows, *own_rows)
            if row.design in known_designs() and (quantity := quantity_of(row))
        ]
        points = [point for row, quantity in modelled for point in check_sources(row, quantity.points)]
        predictions = Predictions(seeds=tuple(range(1, seeds + 1)), packets=packets, may_fail=machines is not None)
        predictions.fetch(points, executor)
        judge = _Judge(published, predictions, frozen=machines is None, rtl=rtl, estimate=estimate)
        with Task("comparing", unit="row", total=len(rows)) as task:
            entries = []
            for row in rows:
                entries.append(judge.entry(row))
                task.advance()
        free_parameters = _free(rows, judge.traces)
        result = Check(entries, free_parameters, predictions=predictions, traces=judge.traces, ledger=published)
        if results is not None:
            unpublished = [judge.entry(row) for row in own_rows]
            result.results = results.compared([*result.rows, *unpublished])
            for entry, row in zip(result.rows, rows, strict=True):
                entry["results"] = results(row)
        if alternatives:
            result.alternatives.update(_of_alternatives(modelled, max(1, packets // 2), executor))
        if sets:
            for name in sorted({row.design for row, _ in modelled} & set(designs_with_sets())):
                rows_of_design = [(row, quantity) for row, quantity in modelled if row.design == name]
                for parameter_set in load_sets(name):
                    with standing_in(parameter_set.mix):
                        predicted = _with(parameter_set.set, rows_of_design, packets, executor, f"{name}, sets")
                    result.sets.setdefault(name, []).append(predicted)
                _swings(result.rows, result.sets[name])
        return result


def alternative_values(designs: Sequence[str], packets: int) -> dict[str, dict[str, float | None]]:
    """Return the values of some designs' published rows with each alternative structure, by structure name and key.

    packets: simulated packets for each point, with one seed.
    """
    rows = [row for row in load().select(roles=ROLES) if row.design in designs]
    return _of_alternatives([(row, quantity) for row in rows if (quantity := quantity_of(row))], packets, None)


def _of_alternatives(
    modelled: Sequence[tuple[Row, Quantity]], packets: int, executor: Executor | None
) -> dict[str, dict[str, float | None]]:
    changes = _alternatives(row for row, _ in modelled)
    return {name: _with(changed, modelled, packets, executor, name) for name, changed in changes.items()}


def _with(
    changed: Mapping[str, Value], modelled: Sequence[tuple[Row, Quantity]], packets: int, executor: Executor | None,
    label: str,
) -> dict[str, float | None]:  # fmt: skip
    """Return each row's value with some parameters changed; None where the changed machine has no answer."""
    solvers = ("bounds", "simulation")
    predictions = Predictions(seeds=(1,), packets=packets, overrides=changed, solvers=solvers, may_fail=True)
    predictions.fetch([point for row, quantity in modelled for point in quantity.points(row)], executor, label)
    return {row.key: best_of(row, quantity, predictions).number for row, quantity in modelled}


def _swings(rows: Iterable[dict[str, Any]], sets: Sequence[Mapping[str, float | None]]) -> None:
    """Set each row's `range`: the smallest and the largest of its values over the parameter sets."""
    for entry in rows:
        values = [x for values_by_key in sets if (x := values_by_key.get(entry["key"])) is not None]
        entry["range"] = [min(values), max(values)] if values else entry["range"]


def _alternatives(rows: Iterable[Row]) -> dict[str, dict[str, Value]]:
    return {
        a.name: a.set
        for name in dict.fromkeys(r.design for r in rows)
        for a in design(name).parameters.file.alternative
    }


def _free(rows: Iterable[Row], traces: Mapping[str, Reads]) -> dict[str, list[str]]:
    """Return for each design the fitted parameters that its rows depend on."""
    by_design: dict[str, set[str]] = {}
    for row in rows:
        if row.key in traces:
            by_design.setdefault(row.design, set()).update(free(traces[row.key].values()))
    return {name: sorted(names) for name, names in by_design.items()}


@dataclass
class _Judge:
    """Compares rows with predictions; traces: by key, all inputs that were read for the row's value.

    frozen: blind rows are judged by their frozen predictions. rtl, estimate: also use generated hardware, estimates.
    """

    ledger: Ledger
    predictions: Predictions
    frozen: bool = True
    rtl: bool = False
    estimate: bool = False
    traces: dict[str, Reads] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.labels = Labels(self.ledger)

    def entry(self, row: Row) -> dict[str, Any]:
        """Return the table row of a ledger row; raises InputError for a value without recorded inputs."""
        entry: dict[str, Any] = dict.fromkeys(FIELDS)
        hidden = row.role == "withheld"
        entry.update(
            key=row.key, role=row.role, kind=row.kind, quantity=row.quantity, unit=row.unit, same_as=row.same_as,
            published=None if hidden else row.value, point=None if hidden else row.point,
            lo=None if hidden else row.lo, hi=None if hidden else row.hi, frozen=self._frozen(row),
        )  # fmt: skip
        if row.design not in known_designs():
            return entry | {"verdict": "not_modelled", "reason": f"no model of {row.design} yet"}
        entry["modes"] = design(row.design).parameters.file.modes.get(row.key)
        quantity = quantity_of(row)
        if quantity is None:
            return entry | {"verdict": "not_predictable", "reason": without_rule(row)}
        refuse_another_unit(row, self.ledger)
        best = best_of(row, quantity, self.predictions)
        bounds = value_of(row, quantity, lambda point: self.predictions.at(point, "bounds", 0))
        queueing = value_of(row, quantity, lambda point: self.predictions.at(point, "queueing", 0))
        entry["bounds"], entry["best"] = whole_of(bounds), "bounds" if quantity.solver == "exact" else "simulated"
        if quantity.solver != "exact" or quantity.points(row):
            entry["queueing"] = whole_of(queueing)
        if quantity.solver != "exact":
            numbers = [float(v) for v in best.values if v is not None and not isinstance(v, bool)]
            entry["simulated"] = best.value
            if self.estimate:
                entry["estimate"] = whole_of(value_of(row, quantity, lambda p: self.predictions.at(p, "estimate", 0)))
            entry["rtl"], entry["rtl_label"] = self._rtl(row, quantity) if self.rtl else (None, None)
            entry["ci95"] = interval(np.array(numbers)) if len(numbers) > 1 else None
        if best.value is None:
            reason = design(row.design).parameters.file.reason.get(row.key, "no solver gives this quantity")
            return entry | {"verdict": "not_predictable", "reason": reason}
        self._trace(row, quantity, best.reads)
        entry["label"], entry["reads"] = self._label(row, best.reads), names(best.reads.values())
        entry["prototype_hints"], entry["parts"] = hints(best.reads.values()), best.parts
        frozen_value = self._frozen(row)
        value, parts = (best.value, best.parts) if frozen_value is None else (frozen_value, None)
        entry["verdict"] = judged(row, value, parts)
        entry["error"] = None if hidden or isinstance(value, bool) else row.relative_error(value)
        if entry["verdict"] == "off":
            entry["reason"] = self._reason(row)
        return entry

    def _rtl(self, row: Row, quantity: Quantity) -> tuple[float | bool | None, str | None]:
        """Return a row's value in generated hardware and its label; (None, None) if hardware cannot give the value."""
        try:
            with reading() as reads:
                value = whole_of(value_of(row, quantity, lambda point: self.predictions.at(point, "rtl", 0)))
        except KeyError:  # the row needs a utilization or a queue, which hardware does not report
            return None, None
        return value, None if value is None else self.labels(row, reads)

    def _frozen(self, row: Row) -> float | bool | None:
        return row.frozen_value if self.frozen else None

    def _label(self, row: Row, reads: Reads) -> str:
        """Return the label of the judged value: a frozen prediction's recorded label, unless the row is arithmetic."""
        label = self.labels(row, reads)
        return label if not self.frozen or row.frozen is None or label == "arithmetic" else row.frozen.label

    def _trace(self, row: Row, quantity: Quantity, reads: Reads) -> None:
        """Store the inputs of a row's value; raises InputError for a constant, or a simulated row without a solver."""
        if all(read.kind == SOLVER for read in reads.values()):
            raise InputError(f"row {row.key}: its value was computed without reading any input: a constant")
        if quantity.solver != "exact" and not any(read.kind == SOLVER for read in reads.values()):
            raise InputError(f"row {row.key}: its value would be shown as simulated, but no solver was asked")
        self.traces[row.key] = reads

    def _reason(self, row: Row) -> str:
        reasons = design(row.design).parameters.file.reason
        measurement = self.ledger.measurement(row.key) if row.key in self.ledger else row.key
        return reasons.get(measurement, reasons.get(row.key, "no explanation found yet"))
