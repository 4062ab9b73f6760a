"""Scores a cross-check by groups of rows, and compares it with a reader without a model (baselines.py).

    skill = 1 - error / error of the best baseline

error: root mean square over the rows that both predict; for claims (rows without a numeric error: a shape, an order, a
bound, a band), the share of wrong claims. Errors are in per cent of the published number, or in percentage points if
the row itself is a difference. Calibrated and arithmetic rows are counted but not scored; a measurement that is printed
twice counts once. Blind rows are a separate group, scored by their frozen predictions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from npexplore.ledger import Ledger
from npexplore.reads import Reads
from npexplore.study.checking.baselines import CLAIMS, NUMBERS, Reader, difference
from npexplore.study.checking.groups import SCORES, Group
from npexplore.study.checking.labels import LABELS, free

if TYPE_CHECKING:
    import pandas as pd

HOLDS = ("inside", "close")
SCORED = ("predicted", "post_hoc")
NEAR_PERCENT = 10.0  # a scored number with at most this error (points, for a difference) counts as near
ALL, BLIND = "all", "blind rows, frozen predictions"
Entry = Mapping[str, Any]  # a row of a cross-check


class Check(Protocol):
    """The cross-check to score: rows, recorded inputs by key, and values with each recorded parameter set by design."""

    rows: list[dict[str, Any]]
    traces: dict[str, Reads]
    sets: dict[str, list[dict[str, float | None]]]


def scores(check: Check, ledger: Ledger, groups: Mapping[str, Sequence[Group]] = SCORES) -> pd.DataFrame:
    """Return `lines` as a table."""
    import pandas as pd

    return pd.DataFrame(lines(check, ledger, groups))


def lines(check: Check, ledger: Ledger, groups: Mapping[str, Sequence[Group]] = SCORES) -> list[dict[str, Any]]:
    """Return a line for each group of numbers and of claims with scored rows; each paper begins with all its rows.

    Keys: paper; group; claims (whether the line is about claims); rows, and the numbers of them by label: predicted,
    post_hoc, calibrated, arithmetic, blind; scored (rows labelled predicted or post hoc, of role check or blind); unit,
    rms, worst, worst_key, near (scored numbers with errors up to NEAR_PERCENT), far (keys of the others),
    rms_predicted, rms_post_hoc, today (rms of today's predictions of blind rows); held (claims that hold); error,
    baseline, baseline_error, skill, compared, nearer (rows where the baseline is nearer, or right where the model is
    wrong); low, high (rms, or claims held, over the parameter sets that calibration admits); low_of (number of claims
    that the sets can predict); free_parameters; off (keys of rows that are off); aim_rms, aim_worst.
    None: does not apply.
    """
    tally = _Tally(check, ledger, Reader(ledger))
    table = []
    for paper, groups_of_paper in groups.items():
        of_paper = [r for r in check.rows if r["key"].split(".")[0] == paper and not r["same_as"]]
        visible = [r for r in of_paper if r["role"] in ("calibration", "check")]
        groups_and_rows = [(Group(ALL, lambda row: True), visible), *((group, visible) for group in groups_of_paper)]
        groups_and_rows.insert(1, (Group(BLIND, lambda row: True), [r for r in of_paper if r["role"] == "blind"]))
        for group, rows in groups_and_rows:
            members = [r for r in rows if r["key"] in ledger and group.has(ledger[r["key"]])]
            table += [
                line for line in (tally.numbers(paper, group, members), tally.claims(paper, group, members)) if line
            ]
    return table


@dataclass(frozen=True)
class _Tally:
    check: Check
    ledger: Ledger
    reader: Reader

    def numbers(self, paper: str, group: Group, rows: Sequence[Entry]) -> dict[str, Any] | None:
        """Return the line of the rows with a numeric error; None without a scored row (group ALL: without any row)."""
        with_error = [r for r in rows if r["error"] is not None]
        scored = [r for r in with_error if r["label"] in SCORED and r["role"] != "calibration"]
        if not scored:
            return self._line(paper, group, with_error) | {"unit": "%"} if with_error and group.name == ALL else None
        errors = {r["key"]: self._miss(r["key"], _judged(r)) for r in scored}
        worst = max(errors, key=lambda key: abs(errors[key]))
        far = [key for key, miss in errors.items() if abs(miss) > NEAR_PERCENT]
        by_label = {label: [errors[r["key"]] for r in scored if r["label"] == label] for label in SCORED}
        blind = [self._miss(r["key"], r[r["best"]]) for r in scored if r["role"] == "blind"]
        baselines = self._said(errors, NUMBERS)
        compared = list(baselines[NUMBERS[0]])
        misses = {method: [self._miss(key, x) for key, x in answers.items()] for method, answers in baselines.items()}
        best = min(misses, key=lambda method: _rms(misses[method]) or 0.0) if compared else None
        of_baseline, of_model = (misses[best], [errors[key] for key in compared]) if best else ([], [])
        low, high = _span(_rms([self._miss(key, row[key]) for key in errors]) for row in self._sets(paper, errors))
        points = all(difference(self.ledger[key]) for key in errors)
        return self._line(paper, group, with_error) | {
            "scored": len(scored), "unit": "points" if points else "%", "rms": _rms(errors.values()),
            "worst": errors[worst], "worst_key": worst, "near": len(errors) - len(far), "far": far,
            "rms_predicted": _rms(by_label["predicted"]), "rms_post_hoc": _rms(by_label["post_hoc"]),
            "today": _rms(blind), **_skill(_rms(of_model), _rms(of_baseline)),
            "baseline": best, "compared": len(compared), "low": low, "high": high,
            "nearer": sum(abs(x) < abs(y) for x, y in zip(of_baseline, of_model, strict=True)),
        }  # fmt: skip

    def claims(self, paper: str, group: Group, rows: Sequence[Entry]) -> dict[str, Any] | None:
        """Return the line of the claims; None without a scored claim (group ALL: without any claim)."""
        with_verdict = [r for r in rows if r["error"] is None and r["verdict"] in (*HOLDS, "off")]
        scored = [r for r in with_verdict if r["label"] in SCORED and r["role"] != "calibration"]
        if not scored:
            line = self._line(paper, group, with_verdict) | {"claims": True, "unit": "claims", "held": 0}
            return line if with_verdict and group.name == ALL else None
        is_right = {r["key"]: r["verdict"] in HOLDS for r in scored}
        baselines = self._said([key for key in is_right if self.ledger[key].numeric], CLAIMS)
        compared = list(baselines[CLAIMS[0]])
        verdicts = {
            method: [self._holds(key, x) for key, x in answers.items()] for method, answers in baselines.items()
        }
        best = max(verdicts, key=lambda method: sum(verdicts[method])) if compared else None
        of_baseline, of_model = (verdicts[best], [is_right[key] for key in compared]) if best else ([], [])
        claims_held = [sum(self._holds(key, values[key]) for key in is_right) for values in self._sets(paper, is_right)]
        low, high, of = group.spread() if group.spread and not claims_held else (*_span(claims_held), len(scored))
        return self._line(paper, group, with_verdict) | {
            "claims": True, "scored": len(scored), "unit": "claims", "held": sum(is_right.values()),
            **_skill(_wrong(of_model), _wrong(of_baseline)),
            "baseline": best, "compared": len(compared), "low": low, "high": high, "low_of": of,
            "nearer": sum(x and not y for x, y in zip(of_baseline, of_model, strict=True)),
        }  # fmt: skip

    def _line(self, paper: str, group: Group, rows: Sequence[Entry]) -> dict[str, Any]:
        traces = [read for r in rows for read in self.check.traces.get(r["key"], {}).values()]
        empty = dict.fromkeys(
            ("unit", "rms", "worst", "worst_key", "near", "far", "rms_predicted", "rms_post_hoc", "today", "held",
             "error", "baseline", "baseline_error", "skill", "compared", "nearer", "low", "high", "low_of")
        )  # fmt: skip
        return {
            "paper": paper, "group": group.name, "claims": False, "rows": len(rows),
            **{label: sum(r["label"] == label and _counted(r) for r in rows) for label in LABELS},
            "blind": sum(r["role"] == "blind" for r in rows), "scored": 0, **empty,
            "free_parameters": len(free(traces)),
            "off": [r["key"] for r in rows if r["verdict"] == "off"],
            "aim_rms": group.aim[0], "aim_worst": group.aim[1],
        }  # fmt: skip

    def _miss(self, key: str, value: float) -> float:
        """Return the error of a value against a row: percentage points for a difference, else per cent."""
        row = self.ledger[key]
        assert row.point is not None
        return value - row.point if difference(row) else 100 * (value - row.point) / abs(row.point)

    def _said(self, keys: Iterable[str], ways: Sequence[str]) -> dict[str, dict[str, float]]:
        """Return by method the baseline values of the rows that have one; a method without a value uses another."""
        rows = list(keys)
        values = {method: {key: self.reader.says(self.ledger[key], method, ways) for key in rows} for method in ways}
        return {method: {key: x for key, x in answers.items() if x is not None} for method, answers in values.items()}

    def _sets(self, paper: str, keys: Iterable[str]) -> list[Mapping[str, Any]]:
        """Return the values by key of each recorded parameter set that predicts all of some rows."""
        key_list = list(keys)
        return [row for row in self.check.sets.get(paper, ()) if all(row.get(key) is not None for key in key_list)]

    def _holds(self, key: str, value: float) -> bool:
        row = self.ledger[key]
        return row.verdict(value if row.numeric else bool(value)) in HOLDS


def _counted(entry: Entry) -> bool:
    """Return whether a row counts for its label: a calibration row that no fit used counts for none."""
    return entry["label"] not in SCORED or entry["role"] != "calibration"


def _judged(entry: Entry) -> float:
    return float(entry[entry["best"]] if entry["frozen"] is None else entry["frozen"])


def _rms(errors: Iterable[float]) -> float | None:
    array = np.array(list(errors), dtype=np.float64)
    return float(np.sqrt(np.mean(array**2))) if len(array) else None


def _wrong(right: Sequence[bool]) -> float | None:
    return 1 - sum(right) / len(right) if right else None


def _skill(ours: float | None, theirs: float | None) -> dict[str, float | None]:
    """Return both errors and the skill: 0 if both errors are 0; None if only the baseline's is 0, or one is unknown."""
    skill = None
    if ours is not None and theirs is not None:
        skill = 1 - ours / theirs if theirs else 0.0 if not ours else None
    return {"error": ours, "baseline_error": theirs, "skill": skill}


def _span(values: Iterable[Any]) -> tuple[Any, Any]:
    numbers = [x for x in values if x is not None]
    return (min(numbers), max(numbers)) if numbers else (None, None)
