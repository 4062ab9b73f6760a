"""The report's first page: the scoreboard of all machines, then a card a notebook with its key numbers."""

from collections.abc import Sequence

from npexplore.plot.scoreboard import by_paper
from npexplore.report.execute import Run
from npexplore.report.pages import headlines, shown, templates
from npexplore.report.scores import MIME

MAX_HEADLINES = 4


def index_page(runs: Sequence[Run]) -> str:
    """Return the index page of these runs."""
    lines = [line for run in runs for found in shown(run, MIME) for line in found]
    cards = [{"run": run, "headlines": headlines(run)[:MAX_HEADLINES]} for run in runs]
    return (
        templates()
        .get_template("index.html.j2")
        .render(cards=cards, scoreboard=by_paper(lines)._repr_html_() if lines else None)
    )
