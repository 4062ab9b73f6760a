"""The report's first page: one card a notebook with its title, its first paragraph and its key numbers."""

from collections.abc import Sequence

from npexplore.report.execute import Run
from npexplore.report.pages import headlines, templates

MAX_HEADLINES = 4


def index_page(runs: Sequence[Run]) -> str:
    """Return the index page of these runs."""
    cards = [{"run": run, "headlines": headlines(run)[:MAX_HEADLINES]} for run in runs]
    return templates().get_template("index.html.j2").render(cards=cards)
