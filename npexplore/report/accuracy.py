"""The cross-check as a Markdown page that is committed (reports/accuracy.md): scoreboard, groups, rules, every row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from npexplore.ledger import Ledger
from npexplore.plot.scoreboard import NONE, Cell, groups, papers
from npexplore.study.checking.check import Check
from npexplore.study.checking.effects import effects

SHOWN = (
    "key", "published", "unit", "bounds", "queueing", "simulated", "frozen", "error", "label", "hints", "left open",
    "verdict",
)  # fmt: skip
HEAD = """# How close the predictions come

Made by `npexplore check --sets --markdown reports/accuracy.md`.

A label follows from what was read for a value: `calibrated` if something was fitted to the row or to rows from which it
follows, `post hoc` if something was chosen after it or them, `arithmetic` if no solver took part and everything read is
input, else `predicted`. Calibrated and arithmetic rows are counted and not scored; each measurement counts once. Blind
rows are scored by what was predicted before their values were known.

The reader has no model: he interpolates between the other rows of the paper, takes the calibration row as a constant,
or says of a claim that nothing is lost or nothing changes. Skill is 1 - error / error of the best reader. **Bold** is
what has no skill, where the reader is nearer more often than not, an aim that is missed, or a red row.
"""

LEGEND = (
    "`hints`: assumptions behind a prediction that stem from a published prototype. `frozen`: what was predicted for a "
    "blind row before its value was known. `left open`: the span of the prediction over the sets of parameters that "
    "calibration admits (models/sets)."
)


def accuracy(check: Check, ledger: Ledger) -> str:
    """Return the page; a miss keeps its row and gives its reason."""
    lines = check.scores()
    text = [HEAD, *_cells(papers(lines)), "", "By group; a claim is a shape, an order, a bound or a band.", ""]
    text += _cells(groups(lines))
    text += ["", "Free parameters, fitted to calibration rows:", ""]
    text += [f"- `{name}`: {len(fitted)} ({', '.join(fitted)})" for name, fitted in check.free_parameters.items()]
    text += [
        "",
        "What the rules of scoring (models/scoring.toml) change, if they had other values:",
        "",
        *_effects(check, ledger),
    ]
    modelled = [row for row in check.rows if row["verdict"] != "not_modelled"]
    text += ["", LEGEND, ""]
    text += _table(SHOWN, [[_cell(row, name) for name in SHOWN] for row in modelled])
    text += ["", "Why predictions are off:", ""]
    text += [f"- `{row['key']}`: {row['reason']}" for row in modelled if row["verdict"] == "off"]
    return "\n".join(text) + "\n"


def _effects(check: Check, ledger: Ledger) -> list[str]:
    rows = []
    for one in effects(check, ledger):
        changed = "; ".join(one.changed[:4]) + (f"; {len(one.changed) - 4} more" if len(one.changed) > 4 else "")
        rows.append((f"`{one.rule}`", one.value, one.other, one.rows, len(one.changed), changed or "-"))
    return _table(("rule", "value", "instead", "rows that hang on it", "verdicts that change", "which"), rows)


def _cells(rows: Sequence[Mapping[str, Cell]]) -> list[str]:
    """Return rows of cells as a table, red ones bold."""

    def told(cell: Cell) -> str:
        text, red = cell
        return "-" if text == NONE else f"**{text}**" if red else text

    return _table(tuple(rows[0]), [[told(cell) for cell in row.values()] for row in rows]) if rows else []


def _cell(row: dict[str, Any], name: str) -> str:
    value = row[{"hints": "prototype_hints", "left open": "range"}.get(name, name)]
    if value is None:
        return "withheld" if name == "published" and row["role"] == "withheld" else "-"
    if name == "error":
        return f"{100 * value:+.1f} %"
    if name == "left open":
        low, high = (_number(float(end)) for end in value)
        return low if low == high else f"{low} to {high}"
    if isinstance(value, float):
        return _number(value)
    return f"`{value}`" if name == "key" else str(value).replace("post_hoc", "post hoc")


def _number(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    cells = [[str(cell) for _, cell in zip(head, row, strict=True)] for row in rows]
    return [
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
        *("| " + " | ".join(row) + " |" for row in cells),
    ]
