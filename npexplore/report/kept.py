"""Records the sources of a folder of pages, so that unchanged pages are not made again.

`.executed/pages.sqlite` (npexplore/store.py) holds, for each file written, a hash of its sources and a hash of its
content. A page is up to date if both match; a page that somebody changed or removed is written again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from npexplore import __version__
from npexplore.errors import InputError
from npexplore.paths import PACKAGE
from npexplore.report.fingerprint import fingerprint
from npexplore.store import Database, Form

STORE, RECORD = ".executed", "pages.sqlite"
FORM = Form(
    "pages of a report",
    0x6E707870,
    ((
        "CREATE TABLE page (name TEXT PRIMARY KEY, sources TEXT NOT NULL, content TEXT NOT NULL, seconds REAL NOT NULL)"
        " WITHOUT ROWID",
    ),),
)  # fmt: skip
SHOWING = ("jinja2", "jupytext", "latex2mathml", "mistune", "nbconvert", "nbformat", "plotly", "pygments")


class Page(NamedTuple):
    """A file of a report: hashes of its sources and of its content, and the run time of its notebook."""

    sources: str
    content: str
    seconds: float


class Kept:
    """The record of a folder of pages."""

    def __init__(self, out: Path, *, single_file: bool = False) -> None:
        self.out, self.single_file = out, single_file
        self.path = out / STORE / RECORD
        self.files = _read(self.path)

    def source(self, notebook: Path) -> str:
        """Return the hash of the sources of a notebook's page."""
        return _hash(fingerprint(notebook), _layout(), str(self.single_file))

    def sources(self, notebooks: Iterable[Path]) -> str:
        """Return the hash of the sources of a page about several notebooks, such as the index."""
        return _hash(*(part for path in notebooks for part in (path.name, self.source(path))))

    def good(self, name: str, source: str) -> bool:
        """Return whether a file exists, is unchanged and was made from sources with this hash."""
        page, path = self.files.get(name), self.out / name
        return page is not None and page.sources == source and path.is_file() and page.content == _of_file(path)

    def note(self, name: str, source: str, seconds: float = 0.0) -> None:
        """Record the hash of the sources of a new file; seconds: the run time of its notebook."""
        self.files[name] = Page(source, _of_file(self.out / name), seconds)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with closing(Database.of_cache(self.path, FORM)) as database, database.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO page VALUES (?, ?, ?, ?)", (name, *self.files[name]))

    def seconds(self, name: str) -> float | None:
        """Return the last run time of the notebook of a page; None if it is not known."""
        page = self.files.get(name)
        return None if page is None else page.seconds


def unchanged(notebooks: Sequence[Path], out: Path, *, single_file: bool = False) -> Path | None:
    """Return the path of the index of a report of these notebooks if all its files are up to date; else None."""
    page_cache = Kept(out, single_file=single_file)
    if not page_cache.files:
        return None
    all_sources = page_cache.sources(notebooks)
    pages = {
        name: page_cache.source(path) for path in notebooks for name in (page_of(path), *downloads(path, single_file))
    }
    shared = dict.fromkeys(shared_files(single_file), all_sources)
    return out / "index.html" if all(page_cache.good(*item) for item in (pages | shared).items()) else None


def page_of(notebook: Path) -> str:
    """Return the name of a notebook's page."""
    return f"{notebook.stem}.html"


def downloads(notebook: Path, single_file: bool) -> tuple[str, ...]:
    """Return the files that a notebook's page links; a single-file page contains them."""
    return () if single_file else (f"{notebook.stem}.ipynb",)


def shared_files(single_file: bool) -> tuple[str, ...]:
    """Return the files of a report that belong to no single notebook."""
    return ("index.html",) if single_file else ("index.html", "plotly.min.js", "search.js")


def _read(path: Path) -> dict[str, Page]:
    """Return the record; empty if there is none or it cannot be read."""
    if not path.is_file():
        return {}
    try:
        with closing(Database(path, FORM, read_only=True)) as database, database.snapshot() as connection:
            select = "SELECT name, sources, content, seconds FROM page"
            rows = connection.execute(select).fetchall() if database.version else []
    except InputError:
        return {}
    return {name: Page(*values) for name, *values in rows}


def _of_file(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def _layout() -> str:
    """Return the hash of the files and libraries that lay out pages."""
    digest = hashlib.sha256(__version__.encode())
    for library in SHOWING:
        try:
            digest.update(f"{library} {version(library)};".encode())
        except PackageNotFoundError:
            digest.update(f"{library};".encode())
    for path in sorted((PACKAGE / "report").rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            digest.update(f"\0{path.relative_to(PACKAGE).as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
