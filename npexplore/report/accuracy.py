"""The cross-check as one Markdown page that is committed (reports/accuracy.md): groups, free parameters, every row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from npexplore.ledger import Row
from npexplore.study.checking.check import Check
from npexplore.study.checking.scores import scores

SHOWN = ("key", "published", "unit", "bounds", "queueing", "simulated", "frozen", "error", "label", "hints", "verdict")


def accuracy(check: Check, ledger: Iterable[Row]) -> str:
    """Return the page; a miss keeps its row and gives its reason."""
    groups = scores(check, ledger)
    lines = ["# How close the predictions come", "", "Made by `npexplore check --markdown reports/accuracy.md`."]
    lines += ["", "Errors of check rows, predicted and post hoc; each measurement once. No row here was fitted to.", ""]
    lines += ["A claim is a shape, an order, a bound or a band.", ""]
    lines += _table(
        ("paper", "group", "rows", "of them post hoc", "rms", "worst", "worst row", "claims that hold", "aim"),
        [_score(g) for g in groups.to_dict("records")],
    )
    lines += ["", "Free parameters, fitted to calibration rows:", ""]
    lines += [f"- `{name}`: {len(fitted)} ({', '.join(fitted)})" for name, fitted in check.free_parameters.items()]
    modelled = [row for row in check.rows if row["verdict"] != "not_modelled"]
    lines += ["", "`hints`: assumptions behind a prediction that stem from a published prototype."]
    lines += ["`frozen`: what was predicted for a blind row before its value was known; it is judged by that."]
    lines += ["`arithmetic`: sums and shares of a table that the model takes over; such rows predict nothing.", ""]
    lines += _table(SHOWN, [[_cell(row, name) for name in SHOWN] for row in modelled])
    lines += ["", "Why predictions are off:", ""]
    lines += [f"- `{row['key']}`: {row['reason']}" for row in modelled if row["verdict"] == "off"]
    return "\n".join(lines) + "\n"


def _score(group: Mapping[str, Any]) -> Sequence[object]:
    numbers: tuple[object, ...] = ("-", "-", "-")
    if group["rows"]:
        unit = group["unit"]
        numbers = f"{group['rms']:.1f} {unit}", f"{group['worst']:+.1f} {unit}", group["worst_key"]
    claims = f"{group['held']} of {group['claims']}" if group["claims"] else "-"
    aim = _aim(group["aim_rms"], group["aim_worst"])
    return group["paper"], group["group"], group["rows"], group["post_hoc"], *numbers, claims, aim


def _aim(rms: float | None, worst: float | None) -> str:
    parts = [
        f"{value:g} {name}" for value, name in ((rms, "rms"), (worst, "worst")) if value is not None and value == value
    ]
    return ", ".join(parts) or "-"


def _cell(row: dict[str, Any], name: str) -> str:
    value = row["prototype_hints"] if name == "hints" else row[name]
    if name == "label" and value is None and row["verdict"] in ("inside", "close", "off"):
        return "arithmetic"
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
