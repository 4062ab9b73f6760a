"""What the rules of scoring change: every row that used a rule, judged anew with the rule's other possible values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from npexplore.ledger import Ledger, Row
from npexplore.ledger.rules import Value, replaced, rules
from npexplore.study.checking.check import Check
from npexplore.study.checking.quantities import quantity_of
from npexplore.study.checking.values import best_of, judged

VERDICTS = "verdict."  # rules that are read when a value is judged, not when it comes about


@dataclass(frozen=True)
class Effect:
    """A rule with another value: how many rows depend on it, and the verdicts that change, `key: before -> after`."""

    rule: str
    value: Value
    other: Value
    rows: int
    changed: tuple[str, ...]


def effects(check: Check, ledger: Ledger) -> list[Effect]:
    """Return the effect of each other value of each rule that the rows of a check used."""
    found = []
    for name, rule in rules().items():
        keys = [
            entry["key"] for entry in check.rows
            if entry["verdict"] in ("inside", "close", "off")
            and (name.startswith(VERDICTS) or f"rule {name}" in (entry["reads"] or ()))
        ]  # fmt: skip
        for other in rule.record.others if keys else ():
            before = {entry["key"]: entry for entry in check.rows}
            with replaced({name: other}):
                after = {key: _verdict(check, ledger[key], before[key]) for key in keys}
            changed = tuple(
                f"{k}: {before[k]['verdict']} -> {v}" for k, v in after.items() if v != before[k]["verdict"]
            )
            found.append(Effect(name, rule.record.value, other, len(keys), changed))
    return found


def _verdict(check: Check, row: Row, entry: Mapping[str, Any]) -> str:
    """Return the verdict on a row under the rules that stand; of a blind row on its frozen prediction."""
    if entry["frozen"] is not None:
        return judged(row, entry["frozen"], None)
    quantity = quantity_of(row)
    assert quantity is not None
    assert check.predictions is not None
    best = best_of(row, quantity, check.predictions)
    return "not_predictable" if best.value is None else judged(row, best.value, best.parts)
