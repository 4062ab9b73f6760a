"""A record of what a folder of pages was made from, so that pages without a change are not made again.

`.executed/pages.json` holds, for each file written, a hash of its sources and one of its content. A page is up to date
as long as both match, so that a page which somebody changed or removed is written again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from npexplore import __version__
from npexplore.paths import PACKAGE
from npexplore.report.fingerprint import fingerprint

STORE, RECORD = ".executed", "pages.json"
SHOWING = ("jinja2", "jupytext", "latex2mathml", "mistune", "nbconvert", "nbformat", "plotly", "pygments")


class Kept:
    """The record of a folder of pages."""

    def __init__(self, out: Path, *, single_file: bool = False) -> None:
        self.out, self.single_file = out, single_file
        self.path = out / STORE / RECORD
        self.files = _read(self.path)

    def source(self, notebook: Path) -> str:
        """Return the hash of what a notebook's page is made from."""
        return _hash(fingerprint(notebook), _layout(), str(self.single_file))

    def sources(self, notebooks: Iterable[Path]) -> str:
        """Return the hash of what a page about several notebooks is made from, such as the index."""
        return _hash(*(part for path in notebooks for part in (path.name, self.source(path))))

    def good(self, name: str, source: str) -> bool:
        """Return whether a file exists unchanged and was made from this source."""
        found, path = self.files.get(name, {}), self.out / name
        return found.get("from") == source and path.is_file() and found.get("is") == _of_file(path)

    def note(self, name: str, source: str, seconds: float = 0.0) -> None:
        """Note what a file was just made from; seconds: how long its notebook ran."""
        self.files[name] = {"from": source, "is": _of_file(self.out / name), "seconds": seconds}

    def seconds(self, name: str) -> float | None:
        """Return how long the notebook of a page ran when it ran last."""
        found = self.files.get(name, {}).get("seconds")
        return found if isinstance(found, int | float) else None

    def write(self) -> None:
        """Write the record, atomically."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_suffix(".tmp")
        beside.write_text(json.dumps(self.files, indent=1), encoding="utf-8")
        beside.replace(self.path)


def unchanged(notebooks: Sequence[Path], out: Path, *, single_file: bool = False) -> Path | None:
    """Return the index page of a report of these notebooks if all of it is up to date; else None."""
    kept = Kept(out, single_file=single_file)
    if not kept.files:
        return None
    every = kept.sources(notebooks)
    pages = {page_of(path): kept.source(path) for path in notebooks}
    shared = dict.fromkeys(shared_files(single_file), every)
    return out / "index.html" if all(kept.good(*one) for one in (pages | shared).items()) else None


def page_of(notebook: Path) -> str:
    """Return the name of a notebook's page."""
    return f"{notebook.stem}.html"


def shared_files(single_file: bool) -> tuple[str, ...]:
    """Return the files of a report that are not a notebook's page."""
    return ("index.html",) if single_file else ("index.html", "plotly.min.js", "search.js")


def _read(path: Path) -> dict[str, dict[str, Any]]:
    """Return the record; a record that cannot be read is none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict) or not all(isinstance(one, dict) for one in found.values()):
        return {}
    return found


def _of_file(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def _layout() -> str:
    """Hash what lays pages out: the package's own files for it, and libraries."""
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
