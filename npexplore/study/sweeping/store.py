"""Stores a sweep's rows in FILE.parquet, and while the sweep runs in a database next to it.

    FILE.parquet          the rows of earlier sweeps, written when a sweep ends, even by an error
    FILE.parquet.sqlite   rows finished since then; deleted when FILE.parquet has them (npexplore/store.py)
    FILE.parquet.lock     locked by the process that writes

Rows are added to the database in batches, each in one transaction; FILE.parquet is replaced atomically. If a sweep is
killed at any time, both files together hold every finished row. A row in both counts once, by its digest (tables.py).
"""

from __future__ import annotations

import io
import sqlite3
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pyarrow as pa

from npexplore.errors import InputError
from npexplore.store import Database, Form, only_writer
from npexplore.study.sweeping.tables import (
    NO_DIGESTS,
    Digests,
    Positions,
    concatenate,
    digests,
    filled,
    places_in,
    ranked,
    read_parquet,
    taken,
    with_units,
    write_rows,
)
from npexplore.zstd import CompressionParameter, ZstdError, compress, decompress

COMMIT_INTERVAL_S = 0.25  # longest time to a finished row's commit, plus the time between two looks at the tasks
MAX_JOINED_ROWS = 1 << 12  # largest joined table; small tables are joined because the columns of each take 20 KB
FORM = Form(
    "a sweep's rows",
    0x6E707872,
    (("CREATE TABLE batch (number INTEGER PRIMARY KEY, rows INTEGER NOT NULL, content BLOB NOT NULL)",),),
)
Held = tuple[pa.Table, Digests]
Arrange = Callable[[list[str]], list[str]]
Units = Callable[[list[str]], dict[str, str]]


class AnotherWriterError(InputError):
    """Another process writes to the file; nothing was changed."""


class Rows:
    """Rows of sweeps in memory, and the questions that they answer. `committed`: number of rows committed so far."""

    commit_interval_s = 0.0

    def __init__(self) -> None:
        self.committed = 0
        self._held: list[Held] = []
        self._pending: list[Held] = []
        self._committed_at = time.monotonic()
        self._questions: list[Held] = []
        self._arrange: Arrange = list
        self._units: Units = lambda names: {}

    @property
    def digests(self) -> Digests:
        """The digests of the held rows, in the order in which they were added."""
        return np.concatenate([NO_DIGESTS, *(keys for _, keys in self._held)])

    def ask(self, questions: pa.Table, keys: Digests, arrange: Arrange, units: Units) -> None:
        """Add the questions of a sweep; rows are returned in the order of the questions of all sweeps.

        arrange: puts column names in order. units: returns the units of columns. Raises InputError for a column that is
        text in the questions and a number in the held rows, or the reverse.
        """
        self._check_kinds(questions)
        self._questions.append((questions, keys))
        self._arrange, self._units = arrange, units

    def append(self, table: pa.Table, keys: Digests) -> None:
        """Add finished rows; they are held after the next `commit`."""
        self._pending.append((table, keys))

    def commit(self, *, due: bool = False) -> None:
        """Make appended rows durable. due: only if the last commit is at least commit_interval_s ago."""
        if not self._pending or (due and time.monotonic() - self._committed_at < self.commit_interval_s):
            return
        batch = _joined(self._pending)
        self._write(batch[0])
        self._held.append(batch)
        self._pending = []  # after an interruption before this line the rows are held twice; `ranked` counts them once
        self.committed += batch[0].num_rows
        self._committed_at = time.monotonic()
        while len(self._held) > 1 and _belong_together(self._held[-2][0], self._held[-1][0]):
            self._held = [*self._held[:-2], _joined(self._held[-2:])]
        pa.default_memory_pool().release_unused()  # return memory that joining has freed

    def answers(self, question_keys: Digests) -> pa.Table:
        """Return the rows that answer some questions, in the questions' order; all rows stay held."""
        held, questions = self.digests, concatenate([table for table, _ in self._questions])
        rows, rank = ranked(held, np.concatenate([keys for _, keys in self._questions]))
        is_answer = np.isin(held[rows], question_keys)
        table = taken(concatenate([table for table, _ in self._held]), rows[is_answer])
        table = self._arranged(table, questions, rank[is_answer])
        return taken(table, places_in(held[rows[is_answer]], question_keys))

    def finish(self) -> pa.Table:
        """Return all rows and release them; rows that answer no question come first."""
        self.commit()
        questions = concatenate([table for table, _ in self._questions])
        question_keys = np.concatenate([NO_DIGESTS, *(keys for _, keys in self._questions)])
        rows, rank = ranked(self.digests, question_keys)
        held, self._held = self._held, []
        return self._arranged(_taken(held, rows), questions, rank)

    def _arranged(self, table: pa.Table, questions: pa.Table, rank: Positions) -> pa.Table:
        table = filled(table, questions, rank)
        table = table.select(self._arrange(table.column_names))
        return with_units(table, self._units(table.column_names))

    def _check_kinds(self, questions: pa.Table) -> None:
        """Raise InputError as `ask` does."""

    def _write(self, table: pa.Table) -> None:
        """Make rows durable; does nothing for rows in memory."""


def _belong_together(left: pa.Table, right: pa.Table) -> bool:
    """Return whether two tables are joined: only tables of similar size, so that each row is copied a few times."""
    return bool(left.num_rows < 2 * right.num_rows and left.num_rows + right.num_rows <= MAX_JOINED_ROWS)


def _joined(parts: Sequence[Held]) -> Held:
    table = concatenate([table for table, _ in parts]).combine_chunks()
    return table, np.concatenate([keys for _, keys in parts])


def _taken(held: list[Held], rows: Positions) -> pa.Table:
    all_rows = concatenate([table for table, _ in held])
    held.clear()
    return taken(all_rows, rows)


class Store(Rows):
    """Rows of sweeps in a Parquet file and its database; use `open_store`."""

    commit_interval_s = COMMIT_INTERVAL_S

    def __init__(self, path: Path, *, resume: bool) -> None:
        super().__init__()
        self.path = path
        self._exported: pa.Table | None = None
        self._kinds: dict[str, pa.DataType] = {}
        database_file = database_path(path)
        new = not database_file.exists()
        self._database = Database(database_file, FORM)
        try:
            self._begin(resume)
        except BaseException:
            self._database.remove() if new else self._database.close()
            raise

    def other_versions(self, keys: Digests, version: str) -> list[str]:
        """Return the versions of held rows that would answer one of the questions if they had the given version."""
        versions = []
        for table, _ in self._held:
            row_versions = table["version"].combine_chunks()
            table = table.filter(pa.compute.not_equal(row_versions, version))
            if table.num_rows:
                k = table.column_names.index("version")
                relabelled = table.set_column(k, "version", pa.array([version] * table.num_rows))
                versions += table["version"].filter(pa.array(np.isin(digests(relabelled), keys))).to_pylist()
        return versions

    def export(self) -> None:
        """Write all rows to FILE.parquet and delete the database."""
        table = self.finish()
        if table.num_rows:
            write_rows(table, self.path)
        self._database.remove()
        self._exported = table

    def exported(self) -> pa.Table:
        """Return the exported rows and release them."""
        table, self._exported = self._exported, None
        assert table is not None
        return table

    def close(self) -> None:
        """Close the database without deleting it."""
        self._database.close()

    def _begin(self, resume: bool) -> None:
        """Load existing rows in one transaction; raises InputError if the file has answers and must not be resumed."""
        base = read_parquet(self.path)
        with self._database.transaction() as connection:
            held = [*([base] if base is not None else []), *read_batches(connection, self.path)]
            if not resume:
                if not all(map(_refusals_only, held)):
                    raise InputError(f"{self.path}: holds a sweep already; resume it (--resume) or choose another file")
                connection.execute("DELETE FROM batch")  # rows of refusals alone may be replaced
                self.path.unlink(missing_ok=True)
                held = []
        try:
            table = concatenate(held)
        except pa.ArrowException as error:
            raise InputError(f"{self.path}: its rows and those beside it do not fit: {error}") from None
        if table.num_rows:
            self._held = [(table, digests(table))]
            self._kinds = {field.name: field.type for field in table.schema}

    def _check_kinds(self, questions: pa.Table) -> None:
        for name, kind in self._kinds.items():
            new_kind = questions.schema.field(name).type if name in questions.column_names else pa.null()
            if pa.types.is_null(kind) or pa.types.is_null(new_kind):
                continue
            if pa.types.is_string(new_kind) != pa.types.is_string(kind):
                was, now = ("text", "a number") if pa.types.is_string(kind) else ("a number", "text")
                raise InputError(f"{self.path}: {name!r} is {was} in its rows and {now} here; choose another file")

    def _write(self, table: pa.Table) -> None:
        with self._database.transaction() as connection:
            _insert(connection, with_units(table, self._units(table.column_names)))


@contextmanager
def open_store(path: str | Path, *, resume: bool) -> Iterator[Store]:
    """Open a sweep's file for this process alone; at the end, also after an error, the rows go into FILE.parquet.

    Raises InputError and changes nothing if another process writes to the file, if it holds answers and `resume` is
    false, or if it is not a sweep's file.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path}: is a folder; a sweep needs the name of a file")
    if not path.parent.is_dir():
        raise InputError(f"{path}: folder {str(path.parent)!r} does not exist")
    lock = path.with_name(f"{path.name}.lock")
    with only_writer(lock, AnotherWriterError(f"{path}: another sweep is writing to it")):
        store = Store(path, resume=resume)
        try:
            try:
                yield store
            except BaseException:
                store.export()
                raise
            store.export()
        finally:
            store.close()


def read_rows(path: str | Path) -> pa.Table:
    """Return the finished rows of a sweep that may still be running, without changing its files.

    Raises InputError if there are no rows, or if it is not a sweep's file.
    """
    path = Path(path)
    held = []
    with suppress(FileNotFoundError):  # the sweep has just ended and deleted its database
        if database_path(path).exists():
            held = _read_database(path)
    base = read_parquet(path)  # read after the database, because rows only move into this file
    held = [*([base] if base is not None else []), *held]
    if not held:
        raise InputError(f"{path}: holds no rows of a sweep")
    rows, _ = ranked(np.concatenate([digests(table) for table in held]), NO_DIGESTS)
    return taken(concatenate(held), rows)


def _read_database(path: Path) -> list[pa.Table]:
    database_file = database_path(path)
    try:
        database = Database(database_file, FORM, read_only=True)
        try:
            with database.snapshot() as connection:
                return list(read_batches(connection, path)) if database.version else []
        finally:
            database.close()
    except InputError:
        if database_file.exists():
            raise
        return []


def database_path(path: Path) -> Path:
    """Return the path of the database of a sweep's file."""
    return path.with_name(f"{path.name}.sqlite")


def read_batches(connection: sqlite3.Connection, path: Path) -> Iterator[pa.Table]:
    """Yield the batches of a database; a damaged batch is left out with a warning, and computed again."""
    for number, rows, content in connection.execute("SELECT number, rows, content FROM batch ORDER BY number"):
        try:
            yield decoded(content)
        except (pa.ArrowException, ZstdError, OSError, ValueError, TypeError) as error:
            warnings.warn(
                f"{database_path(path)}: batch {number} of {rows} rows is damaged and left out: {error}", stacklevel=2
            )


def _insert(connection: sqlite3.Connection, table: pa.Table) -> None:
    connection.execute("INSERT INTO batch (rows, content) VALUES (?, ?)", (table.num_rows, _encoded(table)))


def _encoded(table: pa.Table) -> bytes:
    """Return rows as a compressed Arrow stream with a checksum."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    options: dict[int, int] = {CompressionParameter.compression_level: 1, CompressionParameter.checksum_flag: 1}
    return compress(sink.getbuffer(), options=options)


def decoded(content: bytes) -> pa.Table:
    """Return the rows of a batch; raises ZstdError, ArrowException or OSError if it is damaged."""
    with pa.ipc.open_stream(decompress(content)) as reader:
        return reader.read_all()


def _refusals_only(table: pa.Table) -> bool:
    return not table.num_rows or ("refused" in table.column_names and not table["refused"].null_count)
