"""Compares cross-checks before and after a change of a machine or of a scoring rule: which rows' verdicts change.

A row agrees if its verdict is inside or close. Both predictions use the same seeds, so that rows that the change does
not affect stay equal. A row's own conditions override the settings: a number measured with four banks keeps four.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from npexplore.designs import DESIGNS, Design, base_of, design
from npexplore.errors import InputError, UnknownNameError
from npexplore.ledger import Ledger, Row
from npexplore.ledger.rules import Value as RuleValue
from npexplore.ledger.rules import replaced, rules
from npexplore.machine.parameters import Value
from npexplore.study.checking.check import Check, check
from npexplore.study.checking.quantities import quantity_of
from npexplore.study.checking.values import best_of, judged

Change = Literal["agrees", "breaks", "moves", "lost", "same"]
CHANGES: tuple[Change, ...] = ("agrees", "breaks", "lost", "moves", "same")
MEET = ("inside", "close")
MOVED = 1e-3  # smaller relative differences count as no change
VERDICTS = "verdict."  # prefix of rules that apply to the verdict, not to the computation of a value


def changed_machines(designs: Sequence[str], settings: Mapping[str, Value]) -> dict[str, Design]:
    """Return the machines that replace listed designs, by the listed design's name.

    designs: names and paths of machine files (none: all listed designs). settings: knob values, set on each machine
    that has the knob. Raises UnknownNameError for a knob that no machine has, InputError if two machines replace the
    same design.
    """
    machines: dict[str, Design] = {}
    files = set[str]()  # base designs of machine files, which differ from the listed designs
    for name in designs or DESIGNS:
        machine = design(name)
        files |= set() if name in DESIGNS else {base_of(machine)}
        if base_of(machine) in machines:
            raise InputError(f"--design {name}: replaces {base_of(machine)}, which another machine already replaces")
        machines[base_of(machine)] = machine
    knobs = {knob for machine in machines.values() for knob in machine.parameters.file.parameter}
    for knob in settings:
        if knob not in knobs:
            raise UnknownNameError(f"knob of {', '.join(machines)}", knob, knobs)
    changed = {}
    for name, machine in machines.items():
        own_settings = {knob: value for knob, value in settings.items() if knob in machine.parameters.file.parameter}
        if own_settings or name in files:
            changed[name] = machine.with_(**own_settings)
    return changed


def knob_changes(name: str, machine: Design) -> str:
    """Return as text the settings of a machine that differ from the listed design that it replaces."""
    listed = dict(DESIGNS[name]().parameters) if name in DESIGNS else {}
    changes = [f"{knob}={value}" for knob, value in machine.parameters.items() if value != listed.get(knob)]
    return f"{machine.name}: {', '.join(changes) or 'as listed'}"


@dataclass(frozen=True)
class Changed:
    """The cross-checks of a machine before and after a change.

    Example:
        >>> import npexplore as npx
        >>> from npexplore.study import compare_checks
        >>> changed = compare_checks({"ixp2400_dram": npx.design("ixp2400_dram")}, keys=[], packets=100)
        >>> len(changed.before.rows) >= 0
        True
    """

    before: Check
    after: Check

    def rows(self) -> list[dict[str, Any]]:
        """Return each row once, with value, error and verdict before and after; `change`: one of CHANGES."""
        before = {entry["key"]: entry for entry in self.before.rows}
        return [self._row(before[entry["key"]], entry) for entry in self.after.rows]

    @staticmethod
    def _row(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
        row = {name: after[name] for name in ("key", "role", "kind", "quantity", "unit", "published", "same_as")}
        for when, entry in (("before", before), ("after", after)):
            row[when] = entry.get(str(entry["best"])) if entry["best"] else None
            row[f"error_{when}"], row[f"verdict_{when}"] = entry["error"], entry["verdict"]
        return {**row, "change": _change(row)}

    def rms(self) -> dict[str, float | None]:
        """Return the root mean square error before and after, over rows that have both; each measurement once."""
        pairs = [
            (row["error_before"], row["error_after"]) for row in self.rows()
            if not row["same_as"] and row["error_before"] is not None and row["error_after"] is not None
        ]  # fmt: skip
        means = np.sqrt(np.mean(np.square(pairs), axis=0)) if pairs else (None, None)
        return {"before": means[0], "after": means[1]}

    def to_dict(self) -> dict[str, Any]:
        """Return the additional fields of the JSON document of `npexplore check` for a changed machine."""
        rows = self.rows()
        counts = {change: sum(row["change"] == change for row in rows) for change in CHANGES}
        return {"counts": counts, "rms": self.rms(), "rows": rows}


def _change(row: Mapping[str, Any]) -> Change:
    before, after = row["before"], row["after"]
    if before is None or after is None:
        return "lost" if after is None and before is not None else "same"
    agreed, agrees = row["verdict_before"] in MEET, row["verdict_after"] in MEET
    if agreed != agrees:
        return "agrees" if agrees else "breaks"
    return "moves" if abs(float(after) - float(before)) > MOVED * abs(float(before)) else "same"


def compare_checks(
    machines: Mapping[str, Design], against: Mapping[str, Design] | None = None, *, seeds: int = 3,
    ledger: Ledger | None = None, packets: int | None = None, keys: Sequence[str] | None = None,
) -> Changed:  # fmt: skip
    """Return the cross-checks of the machines before the change (`against`) and after it (`machines`).

    machines: the changed machines, by the name of the listed design that each replaces. against: the machines before
    the change (None: the listed designs). seeds: number of simulations of each row. ledger: the published rows (None:
    those of the package). packets: measured packets of each simulation. keys: rows to check (None: all).
    """
    options: dict[str, Any] = {"seeds": seeds, "ledger": ledger, "keys": keys}
    options |= {} if packets is None else {"packets": packets}
    if not machines:
        raise InputError("nothing is changed: set a knob, or name a machine file")
    names = list(machines)
    for name in names:
        if name not in DESIGNS:
            raise InputError(
                f"no published row is of {name}: it changes no listed design ('extends', 'machine' of a net); "
                "--results FILE holds it against numbers of your own"
            )
    return Changed(check(names, machines=against or {}, **options), check(names, machines=machines, **options))


@dataclass(frozen=True)
class Effect:
    """A rule with another value: the number of rows that depend on it, and changed verdicts, `key: before -> after`."""

    rule: str
    value: RuleValue
    other: RuleValue
    rows: int
    changed: tuple[str, ...]


def effects(check: Check, ledger: Ledger) -> list[Effect]:
    """Return the effect of each alternative value of each rule that the rows of a check used."""
    changes = []
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
            changes.append(Effect(name, rule.record.value, other, len(keys), changed))
    return changes


def _verdict(check: Check, row: Row, entry: Mapping[str, Any]) -> str:
    """Return the verdict on a row under the rules now in force; a blind row is judged by its frozen prediction."""
    if entry["frozen"] is not None:
        return judged(row, entry["frozen"], None)
    quantity = quantity_of(row)
    assert quantity is not None
    assert check.predictions is not None
    best = best_of(row, quantity, check.predictions)
    return "not_predictable" if best.value is None else judged(row, best.value, best.parts)
