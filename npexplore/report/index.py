"""The report's first page: the scoreboard of all papers, then one card per notebook with its picture and answers.

While pages are being made the index lists those that stand, says what becomes of the others, and loads itself again.
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
    """A notebook on the index: its state, and once it has run its card and its lines for the search."""

    notebook: Notebook
    state: State = "waiting"
    run: Run | None = None
    older_page: bool = False  # whether a page of an earlier report still stands

    @cached_property
    def card(self) -> dict[str, Any]:
        """What the card shows: title and state, and of a run its picture, answers, score and key numbers."""
        card = {"notebook": self.notebook, "file": page_of(self.notebook.path), "run": self.run}
        if self.run is None:
            return card | {"state": WORDS[self.state], "older_page": self.older_page}
        figures, first = shown(self.run, FIGURE), shown(self.run, FIRST_SCREEN)
        return (
            card
            | {
                "picture": next(filter(None, (small(one, self.notebook.title) for one in figures)), ""),
                "answers": first[0]["answers"][:: len(first[0]["answers"]) - 1]
                if first
                else [],  # the first and the last
                "score": first[0]["score"] if first else [],
                "headlines": headlines(self.run)[:MAX_HEADLINES],
            }
        )

    @cached_property
    def scores(self) -> list[Any]:
        """The lines of the scoreboard that the run shows."""
        return [] if self.run is None else [line for one in shown(self.run, MIME) for line in one]

    @cached_property
    def search(self) -> list[dict[str, str]]:
        """The lines for the search: none before the page stands."""
        return [] if self.run is None else search_lines(self.notebook)


class Index:
    """The index of a folder of pages, written again whenever a page arrives."""

    def __init__(self, notebooks: Sequence[Notebook], out: Path, *, single_file: bool = False) -> None:
        self.path, self.single_file = out / "index.html", single_file
        self.entries = {
            one.name: Entry(one, older_page=(out / page_of(one.path)).is_file()) for one in notebooks
        }  # fmt: skip

    @property
    def ready(self) -> int:
        """How many pages stand."""
        return sum(entry.run is not None for entry in self.entries.values())

    def put(self, run: Run) -> None:
        """Take up a run whose page stands."""
        self.entries[run.notebook.name] = Entry(run.notebook, "ready", run)

    def begin(self, notebook: Notebook) -> None:
        """Note that a notebook runs now."""
        self.entries[notebook.name] = replace(self.entries[notebook.name], state="running")

    def stop(self) -> None:
        """Note that no more pages will be made."""
        for name, entry in self.entries.items():
            if entry.run is None:
                self.entries[name] = replace(entry, state="not made")

    def write(self) -> None:
        """Write the index and what its search looks through; a reader finds the former or the new file, never half."""
        entries = list(self.entries.values())
        if not self.single_file:
            write_text(self.path.with_name(SEARCH_JS), search_js(line for entry in entries for line in entry.search))
        write_text(self.path, _page(entries, single_file=self.single_file))


def index_page(runs: Sequence[Run], *, single_file: bool = False) -> str:
    """Return the index page of these runs; with `single_file` it carries the search index inside."""
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
    """Return how many pages stand, which failed, and what becomes of the others; nothing if all are whole."""
    names: dict[str, list[str]] = {}
    for entry in entries:
        failed = entry.run is not None and entry.run.error is not None
        names.setdefault("failed" if failed else entry.state, []).append(entry.notebook.name)
    if list(names) in ([], ["ready"]):
        return ""
    ready = sum(entry.run is not None for entry in entries)
    verbs = {"failed": "Failed", "running": "Being made now", "waiting": "Still to be made", "not made": "Not made"}
    others = [f"{verb}: {', '.join(names[state])}." for state, verb in verbs.items() if state in names]
    return " ".join([f"{ready} of {len(entries)} pages stand.", *others])
