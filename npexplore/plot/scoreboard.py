"""Scores of a cross-check as tables, by paper and by group; red: no better than a reader without a model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from npexplore.plot.tables import BAD, Table

if TYPE_CHECKING:
    import pandas as pd

ALL, BLIND = "all", "blind"  # how the lines of a paper begin that are of all its rows, of its blind rows
LABELS = ("predicted", "post_hoc", "blind", "calibrated", "arithmetic")
NONE = "&ndash;"
NEAR_SHARE = 0.8  # of a paper's scored numbers that shall be within study/checking/scores.py's NEAR_PERCENT
LITTLE_SKILL = 0.5  # no more than this, and a group says that the model adds little there
FAR = 100  # times nearer than we: a reader who has copied the rows of a twin
UNBROKEN = re.compile(r"(?<=\d) (?=%|of\b)|(?<=\bof) (?=\d)")  # "2.2 %", "3 of 6"
Line = Mapping[str, Any]  # of study/checking/scores.py
Cell = tuple[str, bool]  # text, and whether it is red


def papers(lines: Sequence[Line]) -> list[dict[str, Cell]]:
    """Return a row for each paper: rows and errors by label, the reader, skill, claims, free parameters, rows off."""
    return [_paper(name, [one for one in lines if one["paper"] == name]) for name in _names(lines)]


def _names(lines: Sequence[Line]) -> list[str]:
    return list(dict.fromkeys(str(one["paper"]) for one in lines))


def _paper(name: str, lines: Sequence[Line]) -> dict[str, Cell]:
    whole = [one for one in lines if one["group"] == ALL]
    blind = [one for one in lines if str(one["group"]).startswith(BLIND)]
    numbers = next((one for one in whole if not one["claims"]), {})
    claims = next((one for one in whole if one["claims"]), {})
    unseen = next((one for one in blind if not one["claims"]), {})
    cells: dict[str, Cell] = {"paper": (name, False)}
    for label in LABELS:
        of = blind if label == "blind" else whole
        cells[label.replace("_", " ")] = (str(sum(one[label] for one in of)), False)
    cells["rms predicted"] = error(numbers.get("rms_predicted"))
    cells["rms post hoc"] = error(numbers.get("rms_post_hoc"))
    cells["rms blind"] = error(unseen.get("rms"))
    cells["within 10 %"] = near(numbers)
    cells["reader"] = reader(numbers)
    cells["skill"] = skill(numbers)
    cells["reader is nearer"] = nearer(numbers)
    cells["blind: reader is nearer"] = nearer(unseen)
    cells["claims that hold"] = held(claims)
    cells["claims: skill"] = skill(claims)
    cells["over what is left open"] = span(numbers, *(one for one in lines if one["claims"] and known(one["low"])))
    cells["free parameters"] = (str(max((one["free_parameters"] for one in lines), default=0)), False)
    off = sum(len(one["off"]) for one in (*whole, *blind))
    cells["off"] = (str(off), off > 0)
    return cells


def groups(lines: Sequence[Line]) -> list[dict[str, Cell]]:
    """Return a row for each group of one or several papers: errors, worst row, claims, the reader, skill, aims."""
    several = len(_names(lines)) > 1
    return [({"paper": (str(one["paper"]), False)} if several else {}) | _group(one) for one in lines]


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
    """Return an error with one digit after the point."""
    return (f"{value:{sign}.1f} {unit}" if known(value) else NONE), False


def reader(one: Line) -> Cell:
    """Return the error of the best reader without a model, and the rule that this reader uses."""
    if not one or not known(one["baseline_error"]):
        return NONE, False
    wrong = (
        f"{100 * one['baseline_error']:.0f} % wrong" if one["claims"] else error(one["baseline_error"], one["unit"])[0]
    )
    return f"{wrong} ({one['baseline']})", False


def skill(one: Line) -> Cell:
    """Return the skill, red unless above 0; a dash if a reader can say nothing.

    In words if the reader's error is below a hundredth of ours: the reader has then copied rows of a twin.
    """
    if not one or not one["compared"] or not known(one["baseline_error"]):
        return NONE, False
    if not known(one["skill"]):
        return "none: the reader is never wrong", True
    if one["skill"] < 1 - FAR:  # a ratio to next to nothing
        return "none: the reader is all but exact", True
    return f"{one['skill']:.2f}", one["skill"] <= 0


def nearer(one: Line) -> Cell:
    """Return how often the reader is nearer than the prediction."""
    if not one or not one["compared"]:
        return NONE, False
    return f"{one['nearer']:.0f} of {one['compared']:.0f}", 2 * one["nearer"] > one["compared"]


def near(one: Line) -> Cell:
    """Return how many scored numbers miss by at most 10 %, red if fewer than NEAR_SHARE of them."""
    if not one or not known(one["near"]):
        return NONE, False
    return f"{one['near']:.0f} of {one['scored']}", one["near"] < NEAR_SHARE * one["scored"]


def remarks(lines: Sequence[Line]) -> list[str]:
    """Return sentences about the scores of one paper: numbers beyond 10 %, groups where the model adds nothing."""
    sentences = []
    for one in lines:
        if one["group"] == ALL and known(one["near"]):
            share = f"{100 * one['near'] / one['scored']:.0f} %"
            beyond = f"; beyond: {', '.join(one['far'])}" if one["far"] else ""
            sentences.append(f"{near(one)[0]} scored numbers ({share}) are within 10 %{beyond}.")
    mine = [one for one in lines if one["group"] != ALL and one["compared"] and known(one["baseline_error"])]
    useless = [one for one in mine if not known(one["skill"]) or one["skill"] <= 0]
    few = [one for one in mine if one not in useless and one["skill"] <= LITTLE_SKILL]
    for amount, some in (("nothing", useless), (f"little (skill of at most {LITTLE_SKILL:g})", few)):
        if some:
            named = "; ".join(f"{_group_name(one)} ({skill(one)[0]})" for one in some)
            sentences.append(f"The model adds {amount} to a reader without a model in: {named}.")
    return sentences


def _group_name(one: Line) -> str:
    return str(one["group"]) + (", claims" if one["claims"] else "")


def held(one: Line) -> Cell:
    """Return how many claims hold."""
    if not one or not one["claims"]:
        return NONE, False
    return f"{one['held']:.0f} of {one['scored']}", False


def span(*lines: Line) -> Cell:
    """Return the range of a score over all parameter sets that calibration admits."""
    parts = []
    for one in lines:
        if one and known(one["low"]):
            of = f" of {one['low_of']} claims" if one["claims"] else f" {one['unit']}"
            low, high = (f"{one[end]:.0f}" if one["claims"] else f"{one[end]:.1f}" for end in ("low", "high"))
            parts.append(f"{low} to {high}{of}")
    return ", ".join(dict.fromkeys(parts)) or NONE, False


def known(value: Any) -> bool:
    """Whether a value is given; pandas tables hold NaN for None."""
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
            if text.startswith("none: "):  # in a narrow column six lines; the index says below its table what it means
                cell_html = f'<span title="{text.removeprefix("none: ")}">none</span>'
            row[column] = cell_html, red
        row["paper"] = (f'<a href="{escape(page, quote=True)}">{name}</a>' if page else name, False)
    return as_html(rows, pd.DataFrame(list(lines)), ("paper", "reader", "over what is left open"))


def in_short(lines: Sequence[Line], pages: Mapping[str, str], titles: Mapping[str, str]) -> Table:
    """Return the scoreboard for somebody new to it: how many numbers were judged, how far off they are, and a guess.

    pages, titles: paper -> its page, and that page's title, which becomes the link.
    """
    import pandas as pd

    rows = []
    for name in _names(lines):
        mine = [one for one in lines if one["paper"] == name]
        numbers = next((one for one in mine if one["group"] == ALL and not one["claims"]), {})
        claims = next((one for one in mine if one["group"] == ALL and one["claims"]), {})
        page, title = escape(pages[name], quote=True), escape(titles.get(name, name))
        rows.append({
            "machine": (f'<a href="{page}">{title}</a>', False),
            "numbers judged": (str(numbers.get("scored", 0)), False),
            "typical error": error(numbers.get("rms")),
            "a guess without a model": error(numbers.get("baseline_error")),
            "ours on the same numbers": error(numbers.get("error")),
            "statements that hold": held(claims),
            "parameters fitted": _paper(name, mine)["free parameters"],
        })  # fmt: skip
    return as_html(rows, pd.DataFrame(list(lines)), ("machine",))


def _broken(text: str, of: str) -> str:
    """Return a cell's text as HTML: keys may break behind a point, numbers stay with their units."""
    if of == "worst row" and text != NONE:
        return escape(text).replace(".", ".<wbr>")
    return UNBROKEN.sub("&nbsp;", text)


def by_group(lines: Sequence[Line]) -> Table:
    """Return the scores by group: one line for each group."""
    import pandas as pd

    rows = [{of: (_broken(text, of), red) for of, (text, red) in row.items()} for row in groups(lines)]
    return as_html(rows, pd.DataFrame(list(lines)), ("paper", "rows", "worst row", "reader", "aim"))
