"""Explains in sentences how one value was computed: its label with the reason, then all inputs, by kind."""

from __future__ import annotations

from collections.abc import Iterable

from npexplore.errors import InputError
from npexplore.reads import SOLVER, Read
from npexplore.study.checking.check import Check
from npexplore.study.checking.labels import Labels

KINDS = {
    "fitted": "fitted", "assumption": "assumed", "mechanism": "mechanisms", "rule": "rules of scoring",
    "fact": "stated", "row: input": "rows of the paper", "row: calibration": "calibration rows",
    "knob": "settings as usual", "set": "set for this row",
}  # fmt: skip


def why(check: Check, key: str) -> str:
    """Return the explanation of a check's row, one sentence per line; raises InputError for a row without a value."""
    entry = next((row for row in check.rows if row["key"] == key), None)
    if entry is None or key not in check.traces or check.ledger is None:
        reason = f": {entry['reason']}" if entry and entry["reason"] else ""
        raise InputError(f"row {key}: no value is predicted{reason}")
    reads = check.traces[key]
    row = check.ledger[key]
    label, because = Labels(check.ledger).because(row, reads)
    frozen = "" if row.frozen is None else f" It is judged by {row.frozen_value:g}, predicted at {row.frozen.commit}."
    value = entry[entry["best"]]
    shown = f"{value:.6g}" if isinstance(value, float) else str(value)
    unit = "" if row.unit in ("", "1") else f" {row.unit}"
    solvers = sorted({read.name for read in reads.values() if read.kind == SOLVER}) or ["no solver"]
    parts = [
        f"{key} is {label.replace('_', ' ')}: {because}.",
        f"Its value {shown}{unit} (printed: {entry['published'] or 'withheld'}) comes by {', '.join(solvers)}.{frozen}",
    ]
    for kind, word in KINDS.items():
        reads_of_kind = sorted((read for read in reads.values() if _kind(read) == kind), key=lambda read: read.text)
        if reads_of_kind:
            parts.append(f"{word[0].upper()}{word[1:]}: {_list(reads_of_kind)}.")
    return "\n".join(parts)


def _kind(read: Read) -> str:
    return "set" if not read.usual and read.kind in ("knob", "fact", "fitted", "assumption") else read.kind


def _list(reads: Iterable[Read]) -> str:
    return "; ".join(_sentence(read) for read in reads)


def _sentence(read: Read) -> str:
    if read.kind == "mechanism":
        text = f"{read.name} ({read.value})"
    else:
        value = (
            "" if read.value is None else f" = {read.value:g}" if isinstance(read.value, float) else f" = {read.value}"
        )
        text = f"{read.name}{value}{' ' + read.unit if read.unit not in ('', '1') else ''}"
    if read.usual and read.fitted_to and not read.kind.startswith("row"):
        text += f", fitted to {', '.join(read.fitted_to)}"
    return text
