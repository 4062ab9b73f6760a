"""The report's first page: the scoreboard of all papers, then one card per notebook with its picture and answers."""

from collections.abc import Sequence
from typing import Any

from npexplore.plot.scoreboard import by_paper, in_short
from npexplore.report.execute import Run
from npexplore.report.first_screens import LABELS, words_for
from npexplore.report.first_screens import MIME as FIRST_SCREEN
from npexplore.report.pages import FIGURE, headlines, shown, templates
from npexplore.report.search import search_js
from npexplore.report.shell import SEARCH_JS
from npexplore.report.shown_scores import MIME
from npexplore.report.small import small

MAX_HEADLINES = 4


def index_page(runs: Sequence[Run], *, single_file: bool = False) -> str:
    """Return the index page of these runs; with `single_file` it carries the search index inside."""
    told = [(line, run.notebook) for run in runs for found in shown(run, MIME) for line in found]
    lines = [line for line, _ in told]
    pages = {str(line["paper"]): f"{notebook.name}.html" for line, notebook in told}
    titles = {str(line["paper"]): notebook.title for line, notebook in told}
    search = {"search_js": search_js(run.notebook for run in runs)} if single_file else {"search_file": SEARCH_JS}
    return (
        templates()
        .get_template("index.html.j2")
        .render(
            cards=[_card(run) for run in runs],
            in_short=in_short(lines, pages, titles)._repr_html_() if lines else None,
            words=words_for(", ".join(LABELS)),
            scoreboard=by_paper(lines, pages)._repr_html_() if lines else None,
            **search,
        )
    )


def _card(run: Run) -> dict[str, Any]:
    figures = shown(run, FIGURE)
    first = shown(run, FIRST_SCREEN)
    return {
        "run": run,
        "picture": next(filter(None, (small(one, run.notebook.title) for one in figures)), ""),
        "answers": first[0]["answers"][:: len(first[0]["answers"]) - 1] if first else [],  # the first and the last
        "score": first[0]["score"] if first else [],
        "headlines": headlines(run)[:MAX_HEADLINES],
    }
