"""Writes the cross-check as Markdown (reports/accuracy.md, committed): scoreboard, groups, rules, every row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from npexplore.ledger import Ledger
from npexplore.plot.scoreboard import NONE, Cell, groups, papers, remarks
from npexplore.study.checking.changed import effects
from npexplore.study.checking.check import Check
from npexplore.study.checking.solvers import MEDIAN, NINE_OF_TEN, REFUSED, Distance

SHOWN = (
    "key", "published", "unit", "bounds", "queueing", "simulated", "frozen", "error", "label", "hints", "left open",
    "verdict",
)  # fmt: skip
HEAD = """# How close the predictions come

Made by `npexplore check --sets --markdown reports/accuracy.md`.

A label follows from what was read for a value: `calibrated` if something was fitted to the row or to rows from which it
follows, `post hoc` if something was chosen after it or them, `arithmetic` if it tests no model (it follows from inputs,
no model with capacity carried its load, or every model gives it back), else `predicted`. Calibrated and arithmetic rows
are counted and not scored; each measurement counts once. Blind rows are scored by what was predicted before their
values were known.

The reader has no model: he interpolates between the other rows of the paper, takes the calibration row as a constant,
or says of a claim that nothing is lost or nothing changes. Skill is 1 - error / error of the best reader. **Bold** is
what has no skill, where the reader is nearer more often than not, an aim that is missed, or a red row.
"""

LEGEND = (
    "`hints`: assumptions behind a prediction that stem from a published prototype. `frozen`: what was predicted for a "
    "blind row before its value was known. `left open`: the span of the prediction over the sets of parameters that "
    "calibration admits (models/sets)."
)


def accuracy(
    check: Check, ledger: Ledger, solvers: Sequence[Distance] = (), memory: Sequence[Mapping[str, Any]] = ()
) -> str:
    """Return the page as Markdown; a row that is off gives its reason.

    solvers: distances of queueing from simulation. memory: errors of the DRAM controller against other simulators.
    """
    lines = check.scores()
    text = [HEAD, *_cells(papers(lines)), "", "By group; a claim is a shape, an order, a bound or a band.", ""]
    text += _cells(groups(lines))
    text += ["", *_remarks(lines)]
    text += ["", "Free parameters, fitted to calibration rows:", ""]
    text += [f"- `{name}`: {len(fitted)} ({', '.join(fitted)})" for name, fitted in check.free_parameters.items()]
    text += [
        "",
        "What the rules of scoring (models/scoring.toml) change, if they had other values:",
        "",
        *_effects(check, ledger),
    ]
    text += _solvers(solvers) if solvers else []
    text += _memory(memory) if memory else []
    modelled = [row for row in check.rows if row["verdict"] != "not_modelled"]
    text += ["", LEGEND, ""]
    text += _table(SHOWN, [[_cell(row, name) for name in SHOWN] for row in modelled])
    text += ["", "Why predictions are off:", ""]
    text += [f"- `{row['key']}`: {row['reason']}" for row in modelled if row["verdict"] == "off"]
    return "\n".join(text) + "\n"


def _solvers(distances: Sequence[Distance]) -> list[str]:
    head = (
        "design", "load", "points", "refused", "median", "nine of ten", "worst", "bounds: median",
        "bounds: nine of ten", "latency: median", "worst point",
    )  # fmt: skip
    rows = []
    for name in dict.fromkeys(d.design for d in distances):
        for load in dict.fromkeys(d.load for d in distances if d.design == name):
            selected = [d for d in distances if (d.design, d.load) == (name, load)]
            solved = [d for d in selected if d.distance is not None]
            by_distance = sorted(solved, key=lambda d: abs(d.distance or 0.0))
            sizes = [abs(d.distance or 0.0) for d in solved]
            latency_errors = [abs(d.latency) for d in solved if d.latency is not None]
            shares = [f"{100 * value:.1f} %" for value in np.quantile(sizes, [0.5, 0.9, 1.0])] if solved else ["-"] * 3
            latency = _share(float(np.median(latency_errors))) if latency_errors else "-"
            shares += _roofline(selected)
            worst_text = f"{by_distance[-1].changed or 'as it is'}, {by_distance[-1].packets}" if by_distance else "-"
            load_text = "saturated" if load is None else f"{load:g} of it, Poisson"
            rows.append(
                [name, load_text, str(len(selected)), str(len(selected) - len(solved)), *shares, latency, worst_text]
            )
    every, saturated = ([np.inf if d.distance is None else abs(d.distance) for d in subset]
                   for subset in (distances, [d for d in distances if d.load is None] or distances))  # fmt: skip
    reached = [_share(value) for part in (every, saturated) for value in np.quantile(part, [0.5, 0.9], method="lower")]
    return [
        "",
        "How near queueing comes to simulation, one knob at a time at its other values (study/checking/solvers.py):",
        "",
        *_table(head, rows),
        "",
        f"Of all {len(distances)} points {100 * np.isinf(every).mean():.0f} % are refused "
        f"(aim: {100 * REFUSED:.0f} %); "
        f"with these as misses the median is {reached[0]} (aim: {100 * MEDIAN:.0f} %), nine of ten: "
        f"{reached[1]} (aim: {100 * NINE_OF_TEN:.0f} %); of the saturated alone {reached[2]} and {reached[3]}: below "
        f"saturation what leaves is what comes. The bounds alone, saturated: {' and '.join(_roofline(distances))}. "
        "Refused:",
        "",
        *(f"- {reason}" for reason in dict.fromkeys(d.refused for d in distances if d.refused)),
    ]


def _roofline(distances: Sequence[Distance]) -> list[str]:
    """Return the median and the 90th percentile of the bounds' distances (saturated points); dashes without any."""
    sizes = [abs(distance.bounds) for distance in distances if distance.bounds is not None]
    return [f"{100 * value:.1f} %" for value in np.quantile(sizes, [0.5, 0.9])] if sizes else ["-"] * 2


def _memory(simulator_rows: Sequence[Mapping[str, Any]]) -> list[str]:
    head = ("simulator", "device", "experiments", "rows", "mean error", "worst", "aim")
    rows = []
    for row in simulator_rows:
        misses_aim = abs(row["worst"]) > row["aim"]
        worst_text = f"**{100 * row['worst']:+.1f} %**" if misses_aim else f"{100 * row['worst']:+.1f} %"
        shares = f"{100 * row['mean']:.1f} %", worst_text, f"{100 * row['aim']:.0f} %"
        rows.append([row["simulator"], row["device"], row["experiment"], str(row["rows"]), *shares])
    sentence = "The DRAM controller against recorded runs of two simulators (data/dram/simulators.csv), nothing fitted:"
    return ["", sentence, "", *_table(head, rows)]


def _share(value: float) -> str:
    """Return a distance in percent; in words if it is infinite (refused) or at least tenfold."""
    if np.isinf(value):
        return "no distance: refused"
    return f"{100 * value:.1f} %" if value < 10 else "more than tenfold"


def _effects(check: Check, ledger: Ledger) -> list[str]:
    rows = []
    for effect in effects(check, ledger):
        examples = "; ".join(effect.changed[:4]) + (
            f"; {len(effect.changed) - 4} more" if len(effect.changed) > 4 else ""
        )
        rows.append((f"`{effect.rule}`", effect.value, effect.other, effect.rows, len(effect.changed), examples or "-"))
    return _table(("rule", "value", "instead", "rows that hang on it", "verdicts that change", "which"), rows)


def _remarks(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a bullet for each paper: its share of numbers within 10 %, and its groups without skill."""
    names = dict.fromkeys(str(line["paper"]) for line in lines)
    sentences = {name: " ".join(remarks([line for line in lines if line["paper"] == name])) for name in names}
    return [f"- {name}: {text}" for name, text in sentences.items() if text]


def _cells(rows: Sequence[Mapping[str, Cell]]) -> list[str]:
    """Return rows of cells as a table, red ones bold."""

    def markdown(cell: Cell) -> str:
        text, red = cell
        return "-" if text == NONE else f"**{text}**" if red else text

    return _table(tuple(rows[0]), [[markdown(cell) for cell in row.values()] for row in rows]) if rows else []


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
