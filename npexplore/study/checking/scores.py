"""How good a cross-check is, group by group, and how much better than a reader without a model (baselines.py).

    skill = 1 - error / error of the best reader

error: root mean square over the rows that both predict; of claims (rows without an error of their own: a shape, an
order, a bound, a band) the share that is wrong. Errors are in per cent of the published number; if a row is itself a
difference, in percentage points. Rows that were fitted to, and arithmetic ones, are counted but not scored; a
measurement that is printed twice counts once. Blind rows are a group of their own, scored by their frozen predictions
whatever the model is today.
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
NEAR_PERCENT = 10.0  # a scored number that misses by no more (points, for a difference) counts as near
ALL, BLIND = "all", "blind rows, frozen predictions"
Entry = Mapping[str, Any]  # a row of a cross-check


class Check(Protocol):
    """What is scored: rows, what was read for each, values with each of a design's recorded parameter sets."""

    rows: list[dict[str, Any]]
    traces: dict[str, Reads]
    sets: dict[str, list[dict[str, float | None]]]


def scores(check: Check, ledger: Ledger, groups: Mapping[str, Sequence[Group]] = SCORES) -> pd.DataFrame:
    """Return `lines` as a table."""
    import pandas as pd

    return pd.DataFrame(lines(check, ledger, groups))


def lines(check: Check, ledger: Ledger, groups: Mapping[str, Sequence[Group]] = SCORES) -> list[dict[str, Any]]:
    """Return a line for each group of numbers and of claims with something to score; papers begin with all rows.

    Keys: paper; group; claims (whether the line is of claims); rows, and of them predicted, post_hoc, calibrated,
    arithmetic, blind; scored (rows that were judged: predicted or post hoc, of role check or blind); unit, rms, worst,
    worst_key, near (scored numbers that miss by at most NEAR_PERCENT), far (keys of the others), rms_predicted,
    rms_post_hoc, today (root mean square of today's predictions of blind rows); held (claims); error, baseline,
    baseline_error, skill, compared, nearer (how often the reader is nearer, or right where we are wrong); low, high
    (rms, or claims held, over the parameter sets that calibration admits); low_of (of how many claims, as not all can
    be asked of each set); free_parameters; off (keys of rows that are off); aim_rms, aim_worst.
    None: does not apply.
    """
    tally = _Tally(check, ledger, Reader(ledger))
    table = []
    for paper, mine in groups.items():
        of_paper = [r for r in check.rows if r["key"].split(".")[0] == paper and not r["same_as"]]
        seen = [r for r in of_paper if r["role"] in ("calibration", "check")]
        chosen = [(Group(ALL, lambda row: True), seen), *((one, seen) for one in mine)]
        chosen.insert(1, (Group(BLIND, lambda row: True), [r for r in of_paper if r["role"] == "blind"]))
        for group, rows in chosen:
            own = [r for r in rows if r["key"] in ledger and group.has(ledger[r["key"]])]
            table += [line for line in (tally.numbers(paper, group, own), tally.claims(paper, group, own)) if line]
    return table


@dataclass(frozen=True)
class _Tally:
    check: Check
    ledger: Ledger
    reader: Reader

    def numbers(self, paper: str, group: Group, rows: Sequence[Entry]) -> dict[str, Any] | None:
        """Return the line of the rows that have an error; None without a scored one (of all rows: without any)."""
        mine = [r for r in rows if r["error"] is not None]
        chosen = [r for r in mine if r["label"] in SCORED and r["role"] != "calibration"]
        if not chosen:
            return self._line(paper, group, mine) | {"unit": "%"} if mine and group.name == ALL else None
        errors = {r["key"]: self._miss(r["key"], _judged(r)) for r in chosen}
        worst = max(errors, key=lambda key: abs(errors[key]))
        far = [key for key, miss in errors.items() if abs(miss) > NEAR_PERCENT]
        by_label = {label: [errors[r["key"]] for r in chosen if r["label"] == label] for label in SCORED}
        blind = [self._miss(r["key"], r[r["best"]]) for r in chosen if r["role"] == "blind"]
        said = self._said(errors, NUMBERS)
        compared = list(said[NUMBERS[0]])
        readers = {how: [self._miss(key, x) for key, x in answers.items()] for how, answers in said.items()}
        best = min(readers, key=lambda how: _rms(readers[how]) or 0.0) if compared else None
        theirs, ours = (readers[best], [errors[key] for key in compared]) if best else ([], [])
        low, high = _span(_rms([self._miss(key, one[key]) for key in errors]) for one in self._sets(paper, errors))
        points = all(difference(self.ledger[key]) for key in errors)
        return self._line(paper, group, mine) | {
            "scored": len(chosen), "unit": "points" if points else "%", "rms": _rms(errors.values()),
            "worst": errors[worst], "worst_key": worst, "near": len(errors) - len(far), "far": far,
            "rms_predicted": _rms(by_label["predicted"]), "rms_post_hoc": _rms(by_label["post_hoc"]),
            "today": _rms(blind), **_skill(_rms(ours), _rms(theirs)),
            "baseline": best, "compared": len(compared), "low": low, "high": high,
            "nearer": sum(abs(x) < abs(y) for x, y in zip(theirs, ours, strict=True)),
        }  # fmt: skip

    def claims(self, paper: str, group: Group, rows: Sequence[Entry]) -> dict[str, Any] | None:
        """Return the line of the claims; None without a scored one (of all rows: without any)."""
        mine = [r for r in rows if r["error"] is None and r["verdict"] in (*HOLDS, "off")]
        chosen = [r for r in mine if r["label"] in SCORED and r["role"] != "calibration"]
        if not chosen:
            counted = self._line(paper, group, mine) | {"claims": True, "unit": "claims", "held": 0}
            return counted if mine and group.name == ALL else None
        right = {r["key"]: r["verdict"] in HOLDS for r in chosen}
        said = self._said([key for key in right if self.ledger[key].numeric], CLAIMS)
        compared = list(said[CLAIMS[0]])
        readers = {how: [self._holds(key, x) for key, x in answers.items()] for how, answers in said.items()}
        best = max(readers, key=lambda how: sum(readers[how])) if compared else None
        theirs, ours = (readers[best], [right[key] for key in compared]) if best else ([], [])
        held = [sum(self._holds(key, one[key]) for key in right) for one in self._sets(paper, right)]
        low, high, of = group.spread() if group.spread and not held else (*_span(held), len(chosen))
        return self._line(paper, group, mine) | {
            "claims": True, "scored": len(chosen), "unit": "claims", "held": sum(right.values()),
            **_skill(_wrong(ours), _wrong(theirs)),
            "baseline": best, "compared": len(compared), "low": low, "high": high, "low_of": of,
            "nearer": sum(x and not y for x, y in zip(theirs, ours, strict=True)),
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
        """Return by how much a value misses a row: points for a difference, else per cent."""
        row = self.ledger[key]
        assert row.point is not None
        return value - row.point if difference(row) else 100 * (value - row.point) / abs(row.point)

    def _said(self, keys: Iterable[str], ways: Sequence[str]) -> dict[str, dict[str, float]]:
        """Return by way what the reader says of the rows that he has an answer for, another way where one has none."""
        wanted = list(keys)
        said = {how: {key: self.reader.says(self.ledger[key], how, ways) for key in wanted} for how in ways}
        return {how: {key: x for key, x in answers.items() if x is not None} for how, answers in said.items()}

    def _sets(self, paper: str, keys: Iterable[str]) -> list[Mapping[str, Any]]:
        """Return what admitted parameter sets predict of some rows, those sets that predict all of them."""
        wanted = list(keys)
        return [one for one in self.check.sets.get(paper, ()) if all(one.get(key) is not None for key in wanted)]

    def _holds(self, key: str, value: float) -> bool:
        row = self.ledger[key]
        return row.verdict(value if row.numeric else bool(value)) in HOLDS


def _counted(entry: Entry) -> bool:
    """Whether a row counts for its label: one of calibration without a fit is neither judged nor fitted."""
    return entry["label"] not in SCORED or entry["role"] != "calibration"


def _judged(entry: Entry) -> float:
    return float(entry[entry["best"]] if entry["frozen"] is None else entry["frozen"])


def _rms(errors: Iterable[float]) -> float | None:
    array = np.array(list(errors), dtype=np.float64)
    return float(np.sqrt(np.mean(array**2))) if len(array) else None


def _wrong(right: Sequence[bool]) -> float | None:
    return 1 - sum(right) / len(right) if right else None


def _skill(ours: float | None, theirs: float | None) -> dict[str, float | None]:
    """Return both errors and the skill: 0 if both are without error, None if only the reader is, or says nothing."""
    skill = None
    if ours is not None and theirs is not None:
        skill = 1 - ours / theirs if theirs else 0.0 if not ours else None
    return {"error": ours, "baseline_error": theirs, "skill": skill}


def _span(values: Iterable[Any]) -> tuple[Any, Any]:
    known = [x for x in values if x is not None]
    return (min(known), max(known)) if known else (None, None)
