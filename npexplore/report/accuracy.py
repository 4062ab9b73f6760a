"""The cross-check as one Markdown page that is committed (reports/accuracy.md): groups, free parameters, every row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from npexplore.ledger import Row
from npexplore.study.check import Check
from npexplore.study.scores import scores

SHOWN = ("key", "published", "unit", "bounds", "queueing", "simulated", "error", "label", "hints", "verdict")


def accuracy(check: Check, ledger: Iterable[Row]) -> str:
    """Return the page; a miss keeps its row and gives its reason."""
    groups = scores(check, ledger)
    lines = ["# How close the predictions come", "", "Made by `npexplore check --markdown reports/accuracy.md`."]
    lines += ["", "Errors of check rows, predicted and post hoc; each measurement once. No row here was fitted to.", ""]
    lines += _table(
        ("group", "rows", "of them post hoc", "rms", "worst", "worst row", "aim"),
        [
            (
                g.group,
                g.rows,
                g.post_hoc,
                f"{g.rms:.1f} {g.unit}",
                f"{g.worst:+.1f} {g.unit}",
                g.worst_key,
                _aim(g.aim_rms, g.aim_worst),
            )
            for g in groups.itertuples()
        ],
    )
    lines += ["", "Free parameters, fitted to calibration rows:", ""]
    lines += [f"- `{name}`: {len(fitted)} ({', '.join(fitted)})" for name, fitted in check.free_parameters.items()]
    modelled = [row for row in check.rows if row["verdict"] != "not_modelled"]
    lines += ["", "`hints`: assumptions behind a prediction that stem from a published prototype.", ""]
    lines += _table(SHOWN, [[_cell(row, name) for name in SHOWN] for row in modelled])
    lines += ["", "Why predictions are off:", ""]
    lines += [f"- `{row['key']}`: {row['reason']}" for row in modelled if row["verdict"] == "off"]
    return "\n".join(lines) + "\n"


def _aim(rms: float | None, worst: float | None) -> str:
    parts = [
        f"{value:g} {name}" for value, name in ((rms, "rms"), (worst, "worst")) if value is not None and value == value
    ]
    return ", ".join(parts) or "-"


def _cell(row: dict[str, Any], name: str) -> str:
    value = row["prototype_hints"] if name == "hints" else row[name]
    if value is None:
        return "withheld" if name == "published" and row["role"] == "withheld" else "-"
    if name == "error":
        return f"{100 * value:+.1f} %"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"
    return f"`{value}`" if name == "key" else str(value)


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    cells = [[str(cell) for _, cell in zip(head, row, strict=True)] for row in rows]
    return [
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
        *("| " + " | ".join(row) + " |" for row in cells),
    ]
