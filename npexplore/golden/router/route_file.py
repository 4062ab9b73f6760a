"""Reads the file of routes beside a ROUTER.toml: one line per route, plain or gzip, # begins a comment.

Lines are `PREFIX via ADDRESS`, `PREFIX PORT` or `PREFIX KIND`; `push LABEL/LABEL`, outermost first, may follow
`via ADDRESS`. A full table has a million lines and a few dozen next hops, so prefixes are read as columns, and the
words behind them are parsed once for all lines with the same words.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from npexplore.errors import InputError
from npexplore.golden.lookup.family import IPV4, IPV6, Family
from npexplore.golden.router.records import KINDS, RouteRecord
from npexplore.paths import content
from npexplore.strict_input import whole_number
from npexplore.toml import typed

LINES_AT_ONCE = 1 << 16
MAX_FILE_BYTES = 1 << 30
_PREFIX = re.compile(r"\d+\.[\d.]+/\d+(?![\d.])|[0-9a-fA-F]*:[0-9a-fA-F:.]*/\d+")
_VIA, _DEVICE = re.compile(r"\bvia ([0-9a-fA-F]*[.:][0-9a-fA-F.:]+)"), re.compile(r"\bdev (\S+)")


class FileRoutes(NamedTuple):
    """A family's routes of a file as columns, in the order of lines.

    value, length: prefixes. leads: for each route the row of `records` with its target. records: for each target the
    place and the record of its first line.
    """

    value: NDArray[Any]
    length: NDArray[np.uint8]
    leads: NDArray[np.int64]
    records: list[tuple[str, RouteRecord]]


class RouteFile(NamedTuple):
    """The routes of a file: those of IPv4 and those of IPv6."""

    four: FileRoutes
    six: FileRoutes


def read_routes(path: Path) -> RouteFile:
    """Return the routes of a file; empty lines are skipped. Raises InputError with the line's place, OSError."""
    data = content(path, MAX_FILE_BYTES)
    try:
        if path.suffix == ".gz" or data.startswith(b"\x1f\x8b"):
            with gzip.open(io.BytesIO(data)) as stream:
                data = stream.read(MAX_FILE_BYTES + 1)
            if len(data) > MAX_FILE_BYTES:
                raise InputError(f"{path.name}: has more than {MAX_FILE_BYTES} bytes decompressed")
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path.name}: not a whole gzip file: {error}") from None
    lines = data.decode("utf-8-sig", "replace").splitlines()
    del data
    sides = (_Lines(path.name, IPV4), _Lines(path.name, IPV6))
    for begin in range(0, len(lines), LINES_AT_ONCE):
        words = [" ".join(text.partition("#")[0].split()) for text in lines[begin : begin + LINES_AT_ONCE]]
        numbers = [number for number, text in enumerate(words, start=begin + 1) if text]
        parts = [text.partition(" ") for text in words if text]
        is_ipv6_line = [":" in prefix for prefix, _, _ in parts]
        for is_ipv6, side in enumerate(sides):
            rows = [row for row, kind in enumerate(is_ipv6_line) if kind == is_ipv6]
            if rows:
                side.read([numbers[row] for row in rows], [parts[row] for row in rows], lines)
    return RouteFile(*(side.routes() for side in sides))


class _Lines:
    """Collects the lines of one family."""

    def __init__(self, name: str, family: Family) -> None:
        self.name, self.family = name, family
        self.known: dict[str, int] = {}  # words behind a prefix -> row of records
        self.records: list[tuple[str, RouteRecord]] = []
        self.columns = [(family.rows([]), np.zeros(0, np.uint8), np.zeros(0, np.int64))]

    def read(self, numbers: Sequence[int], parts: Sequence[tuple[str, str, str]], lines: Sequence[str]) -> None:
        """Add lines. numbers: line numbers; parts: prefix, space and words behind it; lines: all lines of the file."""
        row_of_words, targets = self.known, np.empty(len(parts), np.int64)
        prefixes = [prefix for prefix, _, _ in parts]
        for row, (prefix, _, behind) in enumerate(parts):
            target = row_of_words.get(behind, -1)
            if target < 0:
                place = f"{self.name}:{numbers[row]}"
                self.records.append((place, _record(place, prefix, behind, lines[numbers[row] - 1])))
                target = row_of_words[behind] = len(row_of_words)
            targets[row] = target
        value, length, read = self.family.plain_prefixes(prefixes)
        for row in np.flatnonzero(~read).tolist():
            try:
                number, length[row] = self.family.prefix_pair(prefixes[row])
            except InputError as error:
                raise InputError(f"{self.name}:{numbers[row]}: {error}{nearest(lines[numbers[row] - 1])}") from None
            value[row] = self.family.row(number)
        self.columns.append((value, length, targets))

    def routes(self) -> FileRoutes:
        """Return all routes added so far."""
        value, length, targets = (np.concatenate(parts) for parts in zip(*self.columns, strict=True))
        return FileRoutes(value, length, targets, self.records)


def _record(place: str, prefix: str, behind: str, line: str) -> RouteRecord:
    """Parse a line's prefix and the words behind it."""
    words = behind.split()
    if len(words) == 2 and words[0] == "via":
        return RouteRecord(prefix=prefix, via=words[1])
    if len(words) == 4 and words[0] == "via" and words[2] == "push":
        return RouteRecord(prefix=prefix, via=words[1], push=_labels(place, words[3]))
    if len(words) == 1:
        target = {"kind": words[0]} if words[0] in KINDS[1:] else {"port": words[0]}
        return typed({"prefix": prefix, **target}, RouteRecord)
    raise InputError(f"{place}: a route is PREFIX via ADDRESS or PREFIX PORT, got {line.strip()!r}{nearest(line)}")


def nearest(line: str) -> str:
    """Return a hint for messages: a line of `ip route` or a routing daemon as a route of ours; "" if unclear."""
    words = line.split()
    prefix, via, device = (pattern.search(line) for pattern in (_PREFIX, _VIA, _DEVICE))
    target = f"via {via[1]}" if via else device[1] if device else next((w for w in words if w in KINDS[1:]), "")
    default = "::/0" if ":" in target else "0.0.0.0/0"
    route_prefix = prefix[0] if prefix else default if "default" in words else ""
    route = f"{route_prefix} {target}"
    return f" (nearest: {route!r})" if route_prefix and target and words != route.split() else ""


def _labels(place: str, text: str) -> list[int]:
    labels = [whole_number(label, hexadecimal=False) for label in text.split("/")]
    numbers = [label for label in labels if label is not None]
    if len(numbers) < len(labels):
        raise InputError(f"{place}: labels to push must be numbers like 16/17, without leading zeros, got {text!r}")
    return numbers
