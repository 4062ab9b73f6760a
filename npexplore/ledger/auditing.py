"""The audit: checks every identity between printed numbers with interval arithmetic, and explains contradictions.

A printed number stands for the interval of values that round to it. An identity is `inconsistent` if no values inside
the intervals satisfy it, `undecidable` if a number that it needs is withheld or has no interval, else `consistent`.
"""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from npexplore.errors import InputError, UnknownNameError
from npexplore.ledger.identities import Identity, evaluate, read
from npexplore.ledger.intervals import Interval
from npexplore.ledger.reader import load
from npexplore.ledger.records import Row
from npexplore.ledger.table import Ledger
from npexplore.paths import share

Verdict = Literal["consistent", "inconsistent", "undecidable"]

UNEXPLAINED = "No choice of values inside the printed intervals satisfies the formula; no cause is known."


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One identity with its verdict; reading: what the identity assumes.

    printed, recomputed: the left and right side at the printed points. low, high: ends of the right side's interval.
    All are in `unit` (SI base units if the left side is an expression), and null if a number is withheld.

    Example:
        >>> from npexplore.ledger import audit
        >>> finding = next(iter(audit(["raw_router"])))
        >>> finding.paper
        'raw_router'
    """

    paper: str
    id: str
    reading: str
    formula: str
    keys: tuple[str, ...]
    printed: float | None
    recomputed: float | None
    low: float | None
    high: float | None
    unit: str
    verdict: Verdict
    explanation: str | None


def identities(folder: Path | None = None) -> list[Identity]:
    """Return the identities of every paper, read from `folder` or the installed data/published/identities."""
    files = sorted((folder or share("data", "published", "identities")).glob("*.toml"))
    return [identity for file in files for identity in read(file)]


def audit(
    papers: Iterable[str] | None = None,
    *,
    ledger: Ledger | None = None,
    formulas: Iterable[Identity] | None = None,
) -> list[Finding]:
    """Judge the identities of the named papers; raises UnknownNameError for an unknown paper or key.

    papers: names of papers (None: all). ledger: the published rows (None: those of the package). formulas: the
    identities to judge (None: those of the package).
    """
    ledger = load() if ledger is None else ledger
    chosen = set(ledger.papers) if papers is None else {ledger.paper(name) for name in papers}
    return [judge(i, ledger) for i in (identities() if formulas is None else formulas) if i.paper in chosen]


def judge(identity: Identity, ledger: Ledger) -> Finding:
    """Return the finding on one identity."""
    left, relation, right = identity.sides
    rows = {key: _row(identity, key, ledger) for key in identity.keys}
    left_row = rows.get(left.strip("{}"))  # if the left side is one printed number, the finding has its unit
    ends = {key: _ends(row, identity.within if row is left_row else None) for key, row in rows.items()}
    points = {key: _point(row) for key, row in rows.items()}
    try:
        lhs, rhs = _side(left, ends), _side(right, ends)
        printed, recomputed = _side(left, points), _side(right, points)
    except (InputError, ArithmeticError, ValueError, TypeError) as error:
        raise InputError(f"{identity.paper}: identity {identity.id!r}: {error}") from None
    verdict, explanation = _outcome(identity, relation, lhs, rhs)
    if verdict == "undecidable":
        held_back = ", ".join(row.key for key, row in rows.items() if ends[key] is None)
        explanation = f"Needs what the ledger holds back: {held_back}."

    factor = 1.0 if left_row is None else left_row.si(1.0)

    def shown(x: float | None) -> float | None:
        return None if x is None or not math.isfinite(x) else x / factor

    return Finding(
        paper=identity.paper,
        id=identity.id,
        reading=identity.reading,
        formula=identity.formula.replace("{", "").replace("}", ""),
        keys=tuple(row.key for row in rows.values()),
        printed=shown(printed.middle if printed else None),
        recomputed=shown(recomputed.middle if recomputed else None),
        low=shown(rhs.lo if rhs else None),
        high=shown(rhs.hi if rhs else None),
        unit="" if left_row is None else left_row.unit,
        verdict=verdict,
        explanation=explanation,
    )


def _outcome(
    identity: Identity, relation: str, lhs: Interval | None, rhs: Interval | None
) -> tuple[Verdict, str | None]:
    if lhs is None or rhs is None:
        return "undecidable", None
    if _holds(relation, lhs, rhs):
        return "consistent", identity.remark
    return "inconsistent", identity.explanation or UNEXPLAINED


def _holds(relation: str, lhs: Interval, rhs: Interval) -> bool:
    match relation:
        case "=":
            return lhs.meets(rhs)
        case "<=":
            return lhs.at_most(rhs)
        case ">=":
            return rhs.at_most(lhs)
        case _:  # !=: only two equal exact numbers violate it
            return not (lhs == rhs and lhs.lo == lhs.hi)


def _row(identity: Identity, key: str, ledger: Ledger) -> Row:
    prefix = ledger.prefix(identity.paper)
    if f"{prefix}.{key}" not in ledger:
        known = [row.key.removeprefix(f"{prefix}.") for row in ledger.select(paper=identity.paper)]
        raise UnknownNameError(f"{identity.paper}: identity {identity.id!r}: key", key, known)
    return ledger[f"{prefix}.{key}"]


def _ends(row: Row, within: float | None) -> Interval | None:
    """Return the row's interval in SI base units; None if it has none."""
    if within is not None and row.point is not None:
        point = row.si(row.point)
        return Interval(point - abs(point) * within, point + abs(point) * within)
    if row.lo is None and row.hi is None:
        return None
    return Interval(-math.inf if row.lo is None else row.si(row.lo), math.inf if row.hi is None else row.si(row.hi))


def _point(row: Row) -> Interval | None:
    """Return the row's point, or the middle of its interval, in SI base units, as an interval of width 0."""
    if row.point is not None:
        return Interval.at(row.si(row.point))
    ends = _ends(row, None)
    return Interval.at(ends.middle) if ends and math.isfinite(ends.middle) else None


def _side(expression: str, values: Mapping[str, Interval | None]) -> Interval | None:
    """Evaluate one side of a formula; None if a value in it is unknown."""
    if any(value is None and "{" + key + "}" in expression for key, value in values.items()):
        return None
    return evaluate(expression, {key: value for key, value in values.items() if value is not None})
