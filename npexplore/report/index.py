"""The report's first page: the scoreboard of all papers, then a card per notebook with its picture and answers.

While the report is built, the index lists the finished pages and the state of the others, and reloads itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from npexplore.packets.output import write_text
from npexplore.plot.scoreboard import by_paper, in_short
from npexplore.report.execute import Run
from npexplore.report.first_screens import LABELS, words_for
from npexplore.report.first_screens import MIME as FIRST_SCREEN
from npexplore.report.kept import page_of
from npexplore.report.notebooks import Notebook
from npexplore.report.pages import FIGURE, headlines, shown, templates
from npexplore.report.search import search_js, search_lines
from npexplore.report.shell import SEARCH_JS
from npexplore.report.shown_scores import MIME
from npexplore.report.small import small

MAX_HEADLINES = 4
RELOAD_S = 5  # seconds after which a browser loads an unfinished index again

State = Literal["waiting", "running", "ready", "not made"]
WORDS: dict[State, str] = {
    "waiting": "This page is still to be made.",
    "running": "This page is being made now.",
    "not made": "This page was not made: the report was stopped. The next report makes it.",
}


@dataclass(frozen=True)
class Entry:
    """A notebook on the index: its state, and after its run its card and its entries for the search."""

    notebook: Notebook
    state: State = "waiting"
    run: Run | None = None
    older_page: bool = False  # whether a page of an earlier report still exists

    @cached_property
    def card(self) -> dict[str, Any]:
        """The content of the card: title and state; after a run also picture, answers, score and key numbers."""
        card = {"notebook": self.notebook, "file": page_of(self.notebook.path), "run": self.run}
        if self.run is None:
            return card | {"state": WORDS[self.state], "older_page": self.older_page}
        figures, first = shown(self.run, FIGURE), shown(self.run, FIRST_SCREEN)
        return (
            card
            | {
                "picture": next(filter(None, (small(figure, self.notebook.title) for figure in figures)), ""),
                "answers": first[0]["answers"][:: len(first[0]["answers"]) - 1]
                if first
                else [],  # the first and the last
                "score": first[0]["score"] if first else [],
                "headlines": headlines(self.run)[:MAX_HEADLINES],
            }
        )

    @cached_property
    def scores(self) -> list[Any]:
        """The scoreboard lines that the run shows."""
        return [] if self.run is None else [line for lines in shown(self.run, MIME) for line in lines]

    @cached_property
    def search(self) -> list[dict[str, str]]:
        """The entries for the search; none before the notebook has run."""
        return [] if self.run is None else search_lines(self.notebook)


class Index:
    """The index of a folder of pages, written again whenever a page is ready."""

    def __init__(self, notebooks: Sequence[Notebook], out: Path, *, single_file: bool = False) -> None:
        self.path, self.single_file = out / "index.html", single_file
        self.entries = {
            notebook.name: Entry(notebook, older_page=(out / page_of(notebook.path)).is_file())
            for notebook in notebooks
        }  # fmt: skip

    @property
    def ready(self) -> int:
        """Number of finished pages."""
        return sum(entry.run is not None for entry in self.entries.values())

    def put(self, run: Run) -> None:
        """Add a run whose page is written."""
        self.entries[run.notebook.name] = Entry(run.notebook, "ready", run)

    def begin(self, notebook: Notebook) -> None:
        """Mark a notebook as running."""
        self.entries[notebook.name] = replace(self.entries[notebook.name], state="running")

    def stop(self) -> None:
        """Mark all unfinished pages as not made."""
        for name, entry in self.entries.items():
            if entry.run is None:
                self.entries[name] = replace(entry, state="not made")

    def write(self) -> None:
        """Write the index and its search entries; readers see the old file or the new one, never a part."""
        entries = list(self.entries.values())
        if not self.single_file:
            write_text(self.path.with_name(SEARCH_JS), search_js(line for entry in entries for line in entry.search))
        write_text(self.path, _page(entries, single_file=self.single_file))


def index_page(runs: Sequence[Run], *, single_file: bool = False) -> str:
    """Return the index page of these runs; with `single_file` it contains the search index."""
    return _page([Entry(run.notebook, "ready", run) for run in runs], single_file=single_file)


def _page(entries: Sequence[Entry], *, single_file: bool) -> str:
    scores = [(line, entry.notebook) for entry in entries for line in entry.scores]
    lines = [line for line, _ in scores]
    pages = {str(line["paper"]): page_of(notebook.path) for line, notebook in scores}
    titles = {str(line["paper"]): notebook.title for line, notebook in scores}
    inside = {"search_js": search_js(line for entry in entries for line in entry.search)}
    return (
        templates()
        .get_template("index.html.j2")
        .render(
            cards=[entry.card for entry in sorted(entries, key=lambda entry: entry.run is None)],
            in_short=in_short(lines, pages, titles)._repr_html_() if lines else None,
            words=words_for(", ".join(LABELS)),
            scoreboard=by_paper(lines, pages)._repr_html_() if lines else None,
            progress=_progress(entries),
            reload_s=RELOAD_S if any(entry.state in ("waiting", "running") for entry in entries) else None,
            **(inside if single_file else {"search_file": SEARCH_JS}),
        )
    )


def _progress(entries: Sequence[Entry]) -> str:
    """Return the number of finished pages and the names of failed and unfinished ones; empty if all are finished."""
    names: dict[str, list[str]] = {}
    for entry in entries:
        failed = entry.run is not None and entry.run.error is not None
        names.setdefault("failed" if failed else entry.state, []).append(entry.notebook.name)
    if list(names) in ([], ["ready"]):
        return ""
    ready = sum(entry.run is not None for entry in entries)
    verbs = {"failed": "Failed", "running": "Being made now", "waiting": "Still to be made", "not made": "Not made"}
    sentences = [f"{verb}: {', '.join(names[state])}." for state, verb in verbs.items() if state in names]
    return " ".join([f"{ready} of {len(entries)} pages stand.", *sentences])
