"""The file of routes beside a ROUTER.toml: one line per route, gzip by its name, # begins a comment.

Lines are `PREFIX via ADDRESS`, `PREFIX PORT` or `PREFIX KIND`; behind `via ADDRESS` may stand `push LABEL/LABEL`, the
outermost first.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from npexplore.errors import InputError
from npexplore.golden.router.records import KINDS, RouteRecord
from npexplore.toml import typed


def route_lines(path: Path) -> Iterator[tuple[str, RouteRecord]]:
    """Yield the routes of a file with their places; empty lines are skipped. Raises InputError, OSError."""
    data = path.read_bytes()
    try:
        data = gzip.decompress(data) if path.suffix == ".gz" else data
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path.name}: not a whole gzip file: {error}") from None
    for number, text in enumerate(data.decode(errors="replace").splitlines(), start=1):
        words = text.partition("#")[0].split()
        place = f"{path.name}:{number}"
        if len(words) == 3 and words[1] == "via":
            yield place, RouteRecord(prefix=words[0], via=words[2])
        elif len(words) == 5 and words[1] == "via" and words[3] == "push":
            yield place, RouteRecord(prefix=words[0], via=words[2], push=_labels(place, words[4]))
        elif len(words) == 2:
            to = {"kind": words[1]} if words[1] in KINDS[1:] else {"port": words[1]}
            yield place, typed({"prefix": words[0], **to}, RouteRecord)
        elif words:
            raise InputError(f"{place}: a route is PREFIX via ADDRESS or PREFIX PORT, got {text.strip()!r}")


def _labels(place: str, text: str) -> list[int]:
    labels = text.split("/")
    if not all(label.isascii() and label.isdigit() for label in labels):
        raise InputError(f"{place}: labels to push must be numbers like 16/17, got {text!r}")
    return [int(label) for label in labels]
