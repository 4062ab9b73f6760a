"""Checks and repairs stored results for `npexplore doctor`: files of sweeps, and other databases of npexplore.

Rows that a killed sweep left in its database are moved into FILE.parquet. A damaged file is moved to NAME.damaged after
its readable rows were saved. No other file is changed, and none while a sweep writes to it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

import pyarrow as pa

from npexplore.errors import NpexploreError
from npexplore.findings import BROKEN, GOOD, REPAIRED, Finding
from npexplore.store import errors_named, set_aside
from npexplore.study.sweeping.store import (
    AnotherWriterError,
    database_path,
    decoded,
    open_store,
    read_rows,
)
from npexplore.study.sweeping.tables import digests, is_cut_off
from npexplore.zstd import ZstdError

SWEEPS = ("*.sqlite", "*.parquet")
CACHES = ("counts.sqlite", "pages.sqlite", ".executed/pages.sqlite", "reports/.executed/pages.sqlite")


def check(places: Sequence[Path], repair: bool) -> list[Finding]:
    """Return a finding for each sweep file and each other database among the given files and folders."""
    files, caches = dict[Path, None](), dict[Path, None]()
    for given_path in places:
        for path in sorted(_inside(given_path)) if given_path.is_dir() else [given_path]:
            if path.name in ("counts.sqlite", "pages.sqlite"):
                caches[path] = None
            elif path.suffix == ".sqlite":
                files[path.with_suffix("")] = None
            elif path == given_path or (path.is_file() and (not path.stat().st_size or is_cut_off(path))):
                files[path] = None
    return [_sweep(path, repair) for path in files] + [_cache(path, repair) for path in caches]


def _inside(folder: Path) -> Iterator[Path]:
    for pattern in (*SWEEPS, *CACHES):
        yield from folder.glob(pattern)


def _sweep(path: Path, repair: bool) -> Finding:
    """Check FILE.parquet and its database."""
    has_database = database_path(path).exists()
    subject = str(path)
    if not has_database and not path.exists():
        return Finding(subject, BROKEN, "there is no such file")
    try:
        if not has_database and path.exists() and path.stat().st_size and not is_cut_off(path):
            return Finding(subject, GOOD, f"{read_rows(path).num_rows} rows")
        if not repair:
            return _looked_at(path, has_database)
        with open_store(path, resume=True):
            pass
        return Finding(subject, REPAIRED if has_database else GOOD, _rows_now(path))
    except AnotherWriterError:
        return Finding(subject, GOOD, "a sweep is writing to it; left alone")
    except NpexploreError as error:
        if not repair:
            return Finding(subject, BROKEN, str(error))
        return _repaired(path, error)
    except OSError as error:
        return Finding(subject, BROKEN, f"{error.filename}: {error.strerror}")


def _looked_at(path: Path, beside: bool) -> Finding:
    if path.exists() and is_cut_off(path):
        return Finding(str(path), BROKEN, "is cut off; without --no-repair it is moved aside")
    if beside:
        location = f"some of them in {database_path(path).name}: a sweep runs or was killed"
        return Finding(str(path), GOOD, f"{read_rows(path).num_rows} rows, {location}")
    return Finding(str(path), GOOD, "is empty")


def _repaired(path: Path, error: NpexploreError) -> Finding:
    """Move damaged files aside, and write the rows that can be read."""
    database, moved, tables = database_path(path), [], list[pa.Table]()
    try:
        if path.exists() and is_cut_off(path):
            moved.append(set_aside(path).name)
        if database.exists() and _fault(database) is not None:
            tables = list(_salvaged(database))
            moved.append(set_aside(database).name)
        if not moved:
            return Finding(str(path), BROKEN, str(error))
        with open_store(path, resume=True) as rows:
            for table in tables:
                rows.append(table, digests(table))
    except NpexploreError as repair_error:
        return Finding(str(path), BROKEN, str(repair_error))
    return Finding(str(path), REPAIRED, f"damaged, moved to {', '.join(moved)}; {_rows_now(path)}")


def _rows_now(path: Path) -> str:
    if not path.exists():
        return "it holds no finished row"
    return f"{read_rows(path).num_rows} finished rows are in it; --resume computes the others"


def _cache(path: Path, repair: bool) -> Finding:
    fault = _fault(path)
    if fault is None:
        return Finding(str(path), GOOD, "is whole")
    if not repair:
        return Finding(str(path), BROKEN, f"{fault}; what it holds can be computed again")
    return Finding(str(path), REPAIRED, f"{fault}; moved to {set_aside(path).name}, its content is computed again")


def _fault(path: Path) -> str | None:
    """Return the fault that SQLite's own check finds in a database, None if it is intact."""
    try:
        with closing(_open(path)) as connection:
            (result,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
            return None if result == "ok" else str(result)
    except sqlite3.DatabaseError as error:
        return str(error)


def _salvaged(path: Path) -> Iterator[pa.Table]:
    """Yield the readable batches of a damaged database, reading from both ends until an error."""
    numbers_read = set[int]()
    with suppress(sqlite3.DatabaseError), closing(_open(path)) as connection:
        for order in ("ASC", "DESC"):
            with suppress(sqlite3.DatabaseError):
                for number, content in connection.execute(f"SELECT number, content FROM batch ORDER BY number {order}"):
                    if number in numbers_read:
                        break
                    numbers_read.add(number)
                    with suppress(pa.ArrowException, ZstdError, OSError, ValueError, TypeError):
                        yield decoded(content)


def _open(path: Path) -> sqlite3.Connection:
    with errors_named(path):
        return sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None)
