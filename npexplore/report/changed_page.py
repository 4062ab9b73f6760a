"""Makes one offline page of a changed machine against the published numbers: errors before and after, changed rows."""

from __future__ import annotations

from html import escape
from pathlib import Path

import pandas as pd

from npexplore.plot.changed import NAMES, errors
from npexplore.plot.tables import Table, number
from npexplore.report.shell import draw, figure_page
from npexplore.study.checking.changed import CHANGES, Changed

VERBS = {  # change -> words for one row, for several rows
    "agrees": ("agrees now", "agree now"), "breaks": ("breaks", "break"), "moves": ("moves", "move"),
    "lost": ("has no answer now", "have no answer now"), "same": ("is as before", "are as before"),
}  # fmt: skip


def changed_page(changes: Changed, what: str, beside: Path | None = None) -> str:
    """Return the page as HTML; it needs no network. what: the change, in words.

    beside: the page's path, to store plotly.js next to it (shared by pages); None draws figures as static pictures.
    """
    rows = [row for change in CHANGES[:-1] for row in changes.rows() if row["change"] == change]
    cells = [
        {"row": escape(row["key"]), "change": NAMES.get(row["change"], "no answer"), "unit": escape(row["unit"]),
         "published": escape(str(row["published"] or "\N{EN DASH}")), "before": number(row["before"]),
         "after": number(row["after"]),
         **{f"error {when}": "&ndash;" if row[f"error_{when}"] is None else f"{100 * row[f'error_{when}']:+.1f} %"
            for when in ("before", "after")}}
        for row in rows
    ]  # fmt: skip
    frame = pd.DataFrame(cells)
    body = Table(frame, frame, left=("row", "change", "unit"))._repr_html_() if cells else "<p>No row changes.</p>"
    figure = draw(errors(changes.rows(), "Errors before and after"))
    return figure_page("changed.html.j2", beside, what=what, told=said(changes), body=body, figure=figure)


def said(changes: Changed) -> str:
    """Return a sentence with the numbers of changed rows and the errors."""
    document = changes.to_dict()
    counts, rms = document["counts"], document["rms"]
    sentence = ", ".join(
        f"{counts[change]} {VERBS[change][counts[change] != 1]}" for change in CHANGES if counts[change]
    )
    sentence = f"Of {sum(counts.values())} rows {sentence}"
    if rms["before"] is None:
        return f"{sentence}."
    return f"{sentence}. Root mean square error {100 * rms['before']:.1f} % before, {100 * rms['after']:.1f} % after."
