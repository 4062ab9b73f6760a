"""A notebook's scores, shown by group where they are computed and in the scoreboard of the index page."""

from dataclasses import dataclass
from html import escape
from typing import Any

from npexplore.plot.scoreboard import by_group, remarks
from npexplore.study.checking.check import Check

MIME = "application/vnd.npexplore.scores+json"


@dataclass(frozen=True)
class Scores:
    """The score lines of a cross-check (study/checking/scores.py)."""

    lines: list[dict[str, Any]]

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """Return the forms that Jupyter chooses from; the index page reads the lines."""
        table, sentences = by_group(self.lines), remarks(self.lines)
        html = table._repr_html_() + "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)
        return {MIME: self.lines, "text/html": html, "text/plain": "\n".join([repr(table), *sentences])}


def scores(check: Check) -> Scores:
    """Return the scores of a cross-check, to be the last expression of a cell."""
    return Scores(check.scores())
