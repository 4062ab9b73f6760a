"""Where a sweep keeps its rows: one Parquet file that only grows, and a folder of fragments while a sweep runs.

    FILE.parquet                all rows, once a sweep has ended (or was stopped, or left many fragments)
    FILE.parquet.parts/*.parquet  one small file for every finished task, complete from the instant it has its name

A row is identified by KEY: everything that could change its numbers. Killed at any instant, a store holds every
finished row once: a fragment appears by renaming, and is removed only after FILE.parquet has its rows. The writer holds
a lock on FILE.parquet.lock, which is released when the process ends, in whatever way.
"""

from __future__ import annotations

import json
import os
import shutil
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from npexplore.errors import InputError

LOCKS = find_spec("fcntl") is not None  # where there are none, on Windows, nobody is kept from writing
KEY = ("model", "workload_key", "solver", "seed", "packets", "version")
ATTRIBUTES = b"PANDAS_ATTRS"  # where pandas keeps DataFrame.attrs
FRAGMENTS = 500  # more are merged into the file
Row = Mapping[str, Any]
Key = tuple[Any, ...]


def key_of(row: Row) -> Key:
    """Return what a row is known by."""
    return tuple(row[name] for name in KEY)


def keys_of(table: pa.Table) -> list[Key]:
    """Return what the rows of a table are known by."""
    return list(zip(*(table[name].to_pylist() for name in KEY), strict=True)) if table.num_rows else []


def concatenate(tables: Sequence[pa.Table]) -> pa.Table:
    """Return the rows of all tables; a column that one lacks is null there."""
    return pa.concat_tables(tables, promote_options="permissive") if tables else pa.table({})


def beside(one: pa.Table, other: pa.Table) -> pa.Table:
    """Return two tables of as many rows as one, side by side."""
    names, columns = [*one.column_names, *other.column_names], [*one.columns, *other.columns]
    return pa.table(columns, names=names)


def tabulate(rows: Sequence[Row], schema: Mapping[str, pa.DataType]) -> pa.Table:
    """Return rows as a table, columns in the order in which they appear; `schema` has the types that are fixed."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: pa.array([row.get(name) for row in rows], schema.get(name)) for name in names}
    return pa.table(columns)


def with_units(table: pa.Table, units: Mapping[str, str]) -> pa.Table:
    """Return the table with the units of its columns, as pandas reads them: `frame.attrs["units"]`."""
    before = json.loads((table.schema.metadata or {}).get(ATTRIBUTES, b"{}"))
    attributes = {**before, "units": {**before.get("units", {}), **units}}
    return table.replace_schema_metadata({**(table.schema.metadata or {}), ATTRIBUTES: json.dumps(attributes)})


def _filled(table: pa.Table, known: Sequence[Row]) -> pa.Table:
    """Return the table with the values that `known` adds where it has none."""
    for name in dict.fromkeys(name for row in known for name in row):
        values = pa.array([row.get(name) for row in known])
        if name not in table.column_names:
            table = table.append_column(name, values)
        elif table[name].null_count and values.null_count < len(values):
            k = table.column_names.index(name)
            table = table.set_column(k, name, pc.coalesce(table[name], values.cast(table[name].type)))
    return table


def _table(path: Path) -> pa.Table:
    with path.open("rb") as file:  # pyarrow itself opens no name that is not UTF-8
        return pq.ParquetFile(file).read()


@contextmanager
def _held(lock: Path, otherwise: str) -> Iterator[None]:
    """Hold a lock file that ends with the process; raises InputError if another holds it."""
    if not LOCKS:
        yield
        return
    import fcntl

    with ExitStack() as opened:
        while True:
            file = opened.enter_context(open(lock, "ab"))
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InputError(otherwise) from None
            with suppress(FileNotFoundError):  # whoever had it has just taken it away
                if os.path.samestat(os.fstat(file.fileno()), os.stat(lock)):
                    break
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)


class Store:
    """Rows of sweeps in a Parquet file; `rows` is the table of those it holds.

    Raises InputError if the file already holds answers and `resume` is not set, or if it is not a sweep's file.
    """

    def __init__(self, path: str | Path, *, resume: bool = False) -> None:
        self.path = Path(path)
        if self.path.is_dir():
            raise InputError(f"{self.path}: is a folder; a sweep needs the name of a file")
        self.parts = self.path.with_name(self.path.name + ".parts")
        if not self.path.parent.is_dir():
            raise InputError(f"{self.path}: folder {str(self.path.parent)!r} does not exist")
        self.rows = self._read()
        if not resume and self._answers_nothing():
            self.path.unlink(missing_ok=True)
            shutil.rmtree(self.parts, ignore_errors=True)
            self.rows = self._read()
        if not resume and (self.path.exists() or self.parts.exists()):
            raise InputError(f"{self.path}: holds a sweep already; resume it (--resume) or choose another file")

    def _answers_nothing(self) -> bool:
        """Whether every row is a refusal: a sweep that went wrong does not stand in the way of the next."""
        rows = self.rows
        return bool(rows.num_rows) and "refused" in rows.column_names and not rows["refused"].null_count

    @contextmanager
    def writing(self) -> Iterator[Store]:
        """Lock the store against other writers; raises InputError if another process is writing."""
        lock = self.path.with_name(self.path.name + ".lock")
        with _held(lock, f"{self.path}: another sweep is writing to it"):
            yield self

    def check_kinds(self, rows: Sequence[Row]) -> None:
        """Raise InputError where a column is text in some new rows and a number in those held, or the reverse."""
        for name in self.rows.column_names:
            kind = self.rows.schema.field(name).type
            values = [row[name] for row in rows if row.get(name) is not None]
            if values and not pa.types.is_null(kind) and isinstance(values[0], str) != pa.types.is_string(kind):
                was, now = ("text", "a number") if pa.types.is_string(kind) else ("a number", "text")
                raise InputError(f"{self.path}: {name!r} is {was} in its rows and {now} here; choose another file")

    def keys(self) -> set[Key]:
        """Return the keys of the rows held."""
        return set(keys_of(self.rows))

    def append(self, table: pa.Table) -> None:
        """Store some rows; they are safe on disk when this returns."""
        self.parts.mkdir(exist_ok=True)
        self._write(table, self.parts / f"{time.time_ns():020d}-{uuid.uuid4().hex[:8]}.parquet")
        if sum(1 for _ in self.parts.iterdir()) > FRAGMENTS:
            self.merge()

    def merge(
        self,
        asked: Mapping[Key, Row] | None = None,
        arrange: Callable[[list[str]], list[str]] | None = None,
        units: Callable[[list[str]], dict[str, str]] | None = None,
    ) -> pa.Table:
        """Bring all rows into the one file, those of `asked` last and in its order; return the table.

        What an older row lacks (a knob that was not varied then) is filled in from `asked`; `arrange` puts the column
        names in order, `units` gives their units.
        """
        asked = asked or {}
        table = self._read()
        if table.num_rows:
            place = {key: k for k, key in enumerate(asked)}
            first = {key: k for k, key in reversed(list(enumerate(keys_of(table))))}  # written twice counts once
            chosen = sorted(first.items(), key=lambda item: (place.get(item[0], -1), item[1]))
            table = _filled(table.take([k for _, k in chosen]), [asked.get(key, {}) for key, _ in chosen])
            table = table.select(arrange(table.column_names)) if arrange is not None else table
            table = with_units(table, units(table.column_names)) if units is not None else table
            self._write(table, self.path)
        shutil.rmtree(self.parts, ignore_errors=True)
        self.rows = table
        return table

    def _read(self) -> pa.Table:
        tables = []
        if self.path.exists():
            try:
                tables.append(_table(self.path))
            except (pa.ArrowException, OSError) as error:
                raise InputError(f"{self.path}: not a Parquet file: {error}") from None
            missing = [name for name in KEY if name not in tables[0].column_names]
            if missing:
                raise InputError(f"{self.path}: not the table of a sweep: no column {missing[0]!r}")
        for part in sorted(self.parts.glob("*.parquet")):
            try:
                tables.append(_table(part))
            except (pa.ArrowException, OSError) as error:
                warnings.warn(f"{part}: left out, cannot be read: {error}", stacklevel=2)
        try:
            return concatenate(tables)
        except pa.ArrowException as error:
            raise InputError(f"{self.path}: its rows and those of {self.parts.name} do not fit: {error}") from None

    @staticmethod
    def _write(table: pa.Table, path: Path) -> None:
        """Write a file that exists whole or not at all."""
        draft = path.with_name(f"{path.name}.{os.getpid()}.draft")
        try:
            with draft.open("wb") as file:
                pq.write_table(table, file, compression="zstd")
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)
