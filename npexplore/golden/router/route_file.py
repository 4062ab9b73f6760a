"""The file of routes beside a ROUTER.toml: one line per route, gzip by its name, # begins a comment.

Lines are `PREFIX via ADDRESS`, `PREFIX PORT` or `PREFIX KIND`; behind `via ADDRESS` may stand `push LABEL/LABEL`, the
outermost first. A full table has a million lines and a few dozen next hops: prefixes of IPv4 are read as columns, and
what stands behind them is understood once for all lines that have the same words.
"""

from __future__ import annotations

import gzip
import io
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from npexplore.errors import InputError, told_at
from npexplore.golden.ipv4.addresses import plain_prefixes
from npexplore.golden.lookup.family import IPV4
from npexplore.golden.router.records import KINDS, RouteRecord
from npexplore.paths import content
from npexplore.strict_input import whole_number
from npexplore.toml import typed

LINES_AT_ONCE = 1 << 16
MAX_FILE_BYTES = 1 << 30


@dataclass(frozen=True)
class RouteFile:
    """The routes of a file: those of IPv4 as columns, in the order of lines, those of IPv6 with their places.

    value, length: prefixes. leads: the row of `records` that says where a route leads, which is the first line's with
    these words.
    """

    value: NDArray[np.uint32]
    length: NDArray[np.uint8]
    leads: NDArray[np.int64]
    records: tuple[tuple[str, RouteRecord], ...]
    six: tuple[tuple[str, RouteRecord], ...]


def read_routes(path: Path) -> RouteFile:
    """Return the routes of a file; empty lines are skipped. Raises InputError with the line's place, OSError."""
    data = content(path, MAX_FILE_BYTES)
    try:
        if path.suffix == ".gz":
            with gzip.open(io.BytesIO(data)) as stream:
                data = stream.read(MAX_FILE_BYTES + 1)
            if len(data) > MAX_FILE_BYTES:
                raise InputError(f"{path.name}: has more than {MAX_FILE_BYTES} bytes decompressed")
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path.name}: not a whole gzip file: {error}") from None
    lines = data.decode(errors="replace").splitlines()
    del data
    known: dict[str, int] = {}  # words behind a prefix -> row of records
    records: list[tuple[str, RouteRecord]] = []
    six: list[tuple[str, RouteRecord]] = []
    columns = [(np.zeros(0, np.uint32), np.zeros(0, np.uint8), np.zeros(0, np.int64))]
    for first in range(0, len(lines), LINES_AT_ONCE):
        words = [" ".join(text.partition("#")[0].split()) for text in lines[first : first + LINES_AT_ONCE]]
        numbers = [number for number, text in enumerate(words, start=first + 1) if text]
        prefixes, leads = [], np.empty(len(numbers), np.int64)
        for row, number in enumerate(numbers):
            prefix, _, behind = words[number - 1 - first].partition(" ")
            prefixes.append(prefix)
            lead = known.get(behind, -1)
            if lead < 0 or ":" in prefix:
                place = f"{path.name}:{number}"
                record = _record(place, prefix, behind, lines[number - 1])
                if ":" in prefix:
                    six.append((place, record))
                else:
                    lead = known[behind] = len(records)
                    records.append((place, record))
            leads[row] = lead
        value, length, read = plain_prefixes(prefixes)
        for row in np.flatnonzero(~read).tolist():  # of IPv6, or in a form that is rare
            if ":" not in prefixes[row]:
                with told_at(f"{path.name}:{numbers[row]}"):
                    value[row], length[row] = IPV4.prefix_pair(prefixes[row])
                read[row] = True
        columns.append((value[read], length[read], leads[read]))
    value, length, leads = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    return RouteFile(value, length, leads, tuple(records), tuple(six))


def _record(place: str, prefix: str, behind: str, line: str) -> RouteRecord:
    words = behind.split()
    if len(words) == 2 and words[0] == "via":
        return RouteRecord(prefix=prefix, via=words[1])
    if len(words) == 4 and words[0] == "via" and words[2] == "push":
        return RouteRecord(prefix=prefix, via=words[1], push=_labels(place, words[3]))
    if len(words) == 1:
        to = {"kind": words[0]} if words[0] in KINDS[1:] else {"port": words[0]}
        return typed({"prefix": prefix, **to}, RouteRecord)
    raise InputError(f"{place}: a route is PREFIX via ADDRESS or PREFIX PORT, got {line.strip()!r}")


def _labels(place: str, text: str) -> list[int]:
    labels = [whole_number(label, hexadecimal=False) for label in text.split("/")]
    known = [label for label in labels if label is not None]
    if len(known) < len(labels):
        raise InputError(f"{place}: labels to push must be numbers like 16/17, without leading zeros, got {text!r}")
    return known
