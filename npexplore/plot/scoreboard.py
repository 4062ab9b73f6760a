"""Tables of a cross-check's scores, by paper and by group; red: no better than a reader without a model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from npexplore.plot.tables import BAD, Table

if TYPE_CHECKING:
    import pandas as pd

ALL, BLIND = "all", "blind"  # groups of a paper: all its rows; prefix of the groups of blind rows
LABELS = ("predicted", "post_hoc", "blind", "calibrated", "arithmetic")
NONE = "&ndash;"
NEAR_SHARE = 0.8  # aim: share of a paper's scored numbers within NEAR_PERCENT (study/checking/scores.py)
LITTLE_SKILL = 0.5  # up to this skill a remark says that the model adds little
FAR = 100  # the skill is not shown if the reader's error is below 1/FAR of the model's
UNBROKEN = re.compile(r"(?<=\d) (?=%|of\b)|(?<=\bof) (?=\d)")  # "2.2 %", "3 of 6"
Line = Mapping[str, Any]  # a line of study/checking/scores.py
Cell = tuple[str, bool]  # (text, whether it is red)


def papers(lines: Sequence[Line]) -> list[dict[str, Cell]]:
    """Return a row for each paper: rows and errors by label, the reader, skill, claims, free parameters, rows off."""
    return [_paper(name, [line for line in lines if line["paper"] == name]) for name in _names(lines)]


def _names(lines: Sequence[Line]) -> list[str]:
    return list(dict.fromkeys(str(line["paper"]) for line in lines))


def _paper(name: str, lines: Sequence[Line]) -> dict[str, Cell]:
    all_rows = [line for line in lines if line["group"] == ALL]
    blind = [line for line in lines if str(line["group"]).startswith(BLIND)]
    numbers = next((line for line in all_rows if not line["claims"]), {})
    claims = next((line for line in all_rows if line["claims"]), {})
    blind_numbers = next((line for line in blind if not line["claims"]), {})
    cells: dict[str, Cell] = {"paper": (name, False)}
    for label in LABELS:
        rows_of_label = blind if label == "blind" else all_rows
        cells[label.replace("_", " ")] = (str(sum(line[label] for line in rows_of_label)), False)
    cells["rms predicted"] = error(numbers.get("rms_predicted"))
    cells["rms post hoc"] = error(numbers.get("rms_post_hoc"))
    cells["rms blind"] = error(blind_numbers.get("rms"))
    cells["within 10 %"] = near(numbers)
    cells["reader"] = reader(numbers)
    cells["skill"] = skill(numbers)
    cells["reader is nearer"] = nearer(numbers)
    cells["blind: reader is nearer"] = nearer(blind_numbers)
    cells["claims that hold"] = held(claims)
    cells["claims: skill"] = skill(claims)
    cells["over what is left open"] = span(numbers, *(line for line in lines if line["claims"] and known(line["low"])))
    cells["free parameters"] = (str(max((line["free_parameters"] for line in lines), default=0)), False)
    off_rows = sum(len(line["off"]) for line in (*all_rows, *blind))
    cells["off"] = (str(off_rows), off_rows > 0)
    return cells


def groups(lines: Sequence[Line]) -> list[dict[str, Cell]]:
    """Return a row for each group of one or several papers: errors, worst row, claims, the reader, skill, aims."""
    several = len(_names(lines)) > 1
    return [({"paper": (str(line["paper"]), False)} if several else {}) | _group(line) for line in lines]


def _group(one: Line) -> dict[str, Cell]:
    aims = [f"{one[f'aim_{k}']:g} {one['unit']} {k}" for k in ("rms", "worst") if known(one[f"aim_{k}"])]
    missed = {k: known(one[k]) and known(one[f"aim_{k}"]) and abs(one[k]) > one[f"aim_{k}"] for k in ("rms", "worst")}
    return {
        "rows": (_group_name(one), False),
        "scored": (str(one["scored"]), False), "post hoc": (str(one["post_hoc"]), False),
        "rms": (error(one["rms"], one["unit"])[0], missed["rms"]),
        "worst": (error(one["worst"], one["unit"], "+")[0], missed["worst"]),
        "worst row": (str(one["worst_key"]) if known(one["worst_key"]) else NONE, False),
        "claims that hold": held(one), "reader": reader(one), "skill": skill(one), "reader is nearer": nearer(one),
        "over what is left open": span(one), "free": (str(one["free_parameters"]), False),
        "aim": (", ".join(aims) or NONE, False),
    }  # fmt: skip


def error(value: float | None, unit: str = "%", sign: str = "") -> Cell:
    """Return an error with one decimal."""
    return (f"{value:{sign}.1f} {unit}" if known(value) else NONE), False


def reader(one: Line) -> Cell:
    """Return the error of the best reader without a model, and the rule that this reader uses."""
    if not one or not known(one["baseline_error"]):
        return NONE, False
    error_text = (
        f"{100 * one['baseline_error']:.0f} % wrong" if one["claims"] else error(one["baseline_error"], one["unit"])[0]
    )
    return f"{error_text} ({one['baseline']})", False


def skill(one: Line) -> Cell:
    """Return the skill, red unless above 0; a dash if the reader has no answer.

    A text if the reader's error is below a hundredth of the model's: it then copies rows of a nearly equal machine.
    """
    if not one or not one["compared"] or not known(one["baseline_error"]):
        return NONE, False
    if not known(one["skill"]):
        return "none: the reader is never wrong", True
    if one["skill"] < 1 - FAR:  # a ratio to an error near 0
        return "none: the reader is all but exact", True
    return f"{one['skill']:.2f}", one["skill"] <= 0


def nearer(one: Line) -> Cell:
    """Return the number of rows at which the reader is nearer than the prediction, red if more than half."""
    if not one or not one["compared"]:
        return NONE, False
    return f"{one['nearer']:.0f} of {one['compared']:.0f}", 2 * one["nearer"] > one["compared"]


def near(one: Line) -> Cell:
    """Return the number of scored numbers within 10 %, red if fewer than NEAR_SHARE of them."""
    if not one or not known(one["near"]):
        return NONE, False
    return f"{one['near']:.0f} of {one['scored']}", one["near"] < NEAR_SHARE * one["scored"]


def remarks(lines: Sequence[Line]) -> list[str]:
    """Return sentences about the scores of one paper: numbers beyond 10 %, groups where the model adds nothing."""
    sentences = []
    for line in lines:
        if line["group"] == ALL and known(line["near"]):
            share = f"{100 * line['near'] / line['scored']:.0f} %"
            beyond = f"; beyond: {', '.join(line['far'])}" if line["far"] else ""
            sentences.append(f"{near(line)[0]} scored numbers ({share}) are within 10 %{beyond}.")
    compared = [line for line in lines if line["group"] != ALL and line["compared"] and known(line["baseline_error"])]
    useless = [line for line in compared if not known(line["skill"]) or line["skill"] <= 0]
    weak = [line for line in compared if line not in useless and line["skill"] <= LITTLE_SKILL]
    for amount, group_lines in (("nothing", useless), (f"little (skill of at most {LITTLE_SKILL:g})", weak)):
        if group_lines:
            names = "; ".join(f"{_group_name(line)} ({skill(line)[0]})" for line in group_lines)
            sentences.append(f"The model adds {amount} to a reader without a model in: {names}.")
    return sentences


def _group_name(one: Line) -> str:
    return str(one["group"]) + (", claims" if one["claims"] else "")


def held(one: Line) -> Cell:
    """Return the number of claims that hold."""
    if not one or not one["claims"]:
        return NONE, False
    return f"{one['held']:.0f} of {one['scored']}", False


def span(*lines: Line) -> Cell:
    """Return the range of a score over all parameter sets that calibration admits."""
    parts = []
    for line in lines:
        if line and known(line["low"]):
            unit_text = f" of {line['low_of']} claims" if line["claims"] else f" {line['unit']}"
            low, high = (f"{line[end]:.0f}" if line["claims"] else f"{line[end]:.1f}" for end in ("low", "high"))
            parts.append(f"{low} to {high}{unit_text}")
    return ", ".join(dict.fromkeys(parts)) or NONE, False


def known(value: Any) -> bool:
    """Return whether a value is neither None nor NaN, which pandas tables hold for None."""
    return value is not None and value == value


def as_html(rows: Sequence[Mapping[str, Cell]], frame: pd.DataFrame, left: Sequence[str]) -> Table:
    """Return rows of cells as an HTML table; columns without any entry are left out."""
    import pandas as pd

    def html(cell: Cell) -> str:
        text, red = cell
        return f'<b style="color:{BAD}">{text}</b>' if red else text

    used = [name for name in (rows[0] if rows else ()) if any(row[name][0] != NONE for row in rows)]
    return Table(frame, pd.DataFrame([{name: html(row[name]) for name in used} for row in rows]), left=left)


def by_paper(lines: Sequence[Line], pages: Mapping[str, str] | None = None) -> Table:
    """Return the scoreboard: one line for each paper, with a link if it has a page."""
    import pandas as pd

    rows = papers(lines)
    for row in rows:
        name = escape(row["paper"][0])
        page = (pages or {}).get(row["paper"][0])
        for column, (text, red) in row.items():
            cell_html = UNBROKEN.sub("&nbsp;", text)
            if text.startswith("none: "):  # the text takes six lines in a narrow column; the index explains it
                cell_html = f'<span title="{text.removeprefix("none: ")}">none</span>'
            row[column] = cell_html, red
        row["paper"] = (f'<a href="{escape(page, quote=True)}">{name}</a>' if page else name, False)
    return as_html(rows, pd.DataFrame(list(lines)), ("paper", "reader", "over what is left open"))


def in_short(lines: Sequence[Line], pages: Mapping[str, str], titles: Mapping[str, str]) -> Table:
    """Return the scoreboard for newcomers: the numbers judged, their typical error, and that of a guess.

    pages, titles: paper -> its page, and that page's title, which becomes the link.
    """
    import pandas as pd

    rows = []
    for name in _names(lines):
        paper_lines = [line for line in lines if line["paper"] == name]
        numbers = next((line for line in paper_lines if line["group"] == ALL and not line["claims"]), {})
        claims = next((line for line in paper_lines if line["group"] == ALL and line["claims"]), {})
        page, title = escape(pages[name], quote=True), escape(titles.get(name, name))
        rows.append({
            "machine": (f'<a href="{page}">{title}</a>', False),
            "numbers judged": (str(numbers.get("scored", 0)), False),
            "typical error": error(numbers.get("rms")),
            "a guess without a model": error(numbers.get("baseline_error")),
            "ours on the same numbers": error(numbers.get("error")),
            "statements that hold": held(claims),
            "parameters fitted": _paper(name, paper_lines)["free parameters"],
        })  # fmt: skip
    return as_html(rows, pd.DataFrame(list(lines)), ("machine",))


def _broken(text: str, of: str) -> str:
    """Return a cell's text as HTML: keys may break after a point, numbers stay with their units."""
    if of == "worst row" and text != NONE:
        return escape(text).replace(".", ".<wbr>")
    return UNBROKEN.sub("&nbsp;", text)


def by_group(lines: Sequence[Line]) -> Table:
    """Return the scores by group: one line for each group."""
    import pandas as pd

    rows = [{column: (_broken(text, column), red) for column, (text, red) in row.items()} for row in groups(lines)]
    return as_html(rows, pd.DataFrame(list(lines)), ("paper", "rows", "worst row", "reader", "aim"))
