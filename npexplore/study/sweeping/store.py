"""Where a sweep keeps its rows: FILE.parquet, and until it ends a database of finished rows beside it.

    FILE.parquet          the rows of all sweeps that have ended, in whatever way they could still finish it
    FILE.parquet.sqlite   rows finished since; deleted once FILE.parquet has them (npexplore/store.py)
    FILE.parquet.lock     held by the process that writes

Rows become part of the database in batches, each one transaction; FILE.parquet is replaced whole. Killed at any
instant, the two hold every finished row; a row that both hold counts once, by its digest (tables.py).
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

COMMIT_INTERVAL_S = 0.25  # a finished row waits at most this, and from one look at the tasks to the next
MAX_JOINED_ROWS = 1 << 12  # tables in memory are joined up to so many rows: a table of few takes 20 KB for its columns
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
    """Rows of sweeps in memory, and the questions that they answer. `committed`: rows added since the beginning."""

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
        """The digests of the rows held, in the order in which they came."""
        return np.concatenate([NO_DIGESTS, *(keys for _, keys in self._held)])

    def ask(self, questions: pa.Table, keys: Digests, arrange: Arrange, units: Units) -> None:
        """Note the questions of a sweep; rows stand in the order of the questions of all sweeps.

        arrange puts the names of columns in order, units gives their units. Raises InputError where a column is text
        here and a number in the rows held, or the reverse.
        """
        self._check_kinds(questions)
        self._questions.append((questions, keys))
        self._arrange, self._units = arrange, units

    def append(self, table: pa.Table, keys: Digests) -> None:
        """Add finished rows; they count from the next `commit` on."""
        self._pending.append((table, keys))

    def commit(self, *, due: bool = False) -> None:
        """Make the rows appended durable. due: only if the last commit is an interval ago."""
        if not self._pending or (due and time.monotonic() - self._committed_at < self.commit_interval_s):
            return
        batch = _joined(self._pending)
        self._write(batch[0])
        self._held.append(batch)
        self._pending = []  # an interruption before this holds the rows twice; `ranked` counts them once
        self.committed += batch[0].num_rows
        self._committed_at = time.monotonic()
        while len(self._held) > 1 and _belong_together(self._held[-2][0], self._held[-1][0]):
            self._held = [*self._held[:-2], _joined(self._held[-2:])]
        pa.default_memory_pool().release_unused()  # what joining has freed

    def answers(self, question_keys: Digests) -> pa.Table:
        """Return the rows that answer some questions, in their order, and go on holding all."""
        held, questions = self.digests, concatenate([table for table, _ in self._questions])
        rows, rank = ranked(held, np.concatenate([keys for _, keys in self._questions]))
        wanted = np.isin(held[rows], question_keys)
        table = taken(concatenate([table for table, _ in self._held]), rows[wanted])
        table = self._arranged(table, questions, rank[wanted])
        return taken(table, places_in(held[rows[wanted]], question_keys))

    def finish(self) -> pa.Table:
        """Return all rows, those that answer no question first, and hold them no longer."""
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
        """Make rows durable; rows in memory never are."""


def _belong_together(left: pa.Table, right: pa.Table) -> bool:
    """Return whether two tables become one: of similar sizes, so that a row is copied a few times only."""
    return bool(left.num_rows < 2 * right.num_rows and left.num_rows + right.num_rows <= MAX_JOINED_ROWS)


def _joined(parts: Sequence[Held]) -> Held:
    table = concatenate([table for table, _ in parts]).combine_chunks()
    return table, np.concatenate([keys for _, keys in parts])


def _taken(held: list[Held], rows: Positions) -> pa.Table:
    whole = concatenate([table for table, _ in held])
    held.clear()
    return taken(whole, rows)


class Store(Rows):
    """Rows of sweeps in a Parquet file and its database; `open_store` opens one."""

    commit_interval_s = COMMIT_INTERVAL_S

    def __init__(self, path: Path, *, resume: bool) -> None:
        super().__init__()
        self.path = path
        self._exported: pa.Table | None = None
        self._kinds: dict[str, pa.DataType] = {}
        place = database_path(path)
        new = not place.exists()
        self._database = Database(place, FORM)
        try:
            self._begin(resume)
        except BaseException:
            self._database.remove() if new else self._database.close()
            raise

    def other_versions(self, keys: Digests, version: str) -> list[str]:
        """Return the version of each row held that would answer one of some questions if it were of this version."""
        versions = []
        for table, _ in self._held:
            theirs = table["version"].combine_chunks()
            table = table.filter(pa.compute.not_equal(theirs, version))
            if table.num_rows:
                k = table.column_names.index("version")
                here = table.set_column(k, "version", pa.array([version] * table.num_rows))
                versions += table["version"].filter(pa.array(np.isin(digests(here), keys))).to_pylist()
        return versions

    def export(self) -> None:
        """Write all rows to FILE.parquet and delete the database."""
        table = self.finish()
        if table.num_rows:
            write_rows(table, self.path)
        self._database.remove()
        self._exported = table

    def exported(self) -> pa.Table:
        """Hand over the rows that were exported, and hold them no longer."""
        table, self._exported = self._exported, None
        assert table is not None
        return table

    def close(self) -> None:
        """Close the database and leave it where it is."""
        self._database.close()

    def _begin(self, resume: bool) -> None:
        """Take in what is there already, in one transaction; raises InputError if that must not be continued."""
        base = read_parquet(self.path)
        with self._database.transaction() as connection:
            held = [*([base] if base is not None else []), *read_batches(connection, self.path)]
            if not resume:
                if not all(map(_refusals_only, held)):
                    raise InputError(f"{self.path}: holds a sweep already; resume it (--resume) or choose another file")
                connection.execute("DELETE FROM batch")  # a sweep that went wrong does not stand in the way
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
    """Open a sweep's file for this process alone; at the end, however it comes, the rows go into FILE.parquet.

    Raises InputError, without any effect, if another process writes to it, if it holds answers and `resume` is not
    set, or if it is not a sweep's file.
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
    """Return the rows finished so far of a sweep that may be running; nothing is changed.

    Raises InputError if there are none, or if it is not a sweep's file.
    """
    path = Path(path)
    held = []
    with suppress(FileNotFoundError):  # deleted in between: the sweep has just ended
        if database_path(path).exists():
            held = _read_database(path)
    base = read_parquet(path)  # after the database: whatever moves meanwhile moves into this file
    held = [*([base] if base is not None else []), *held]
    if not held:
        raise InputError(f"{path}: holds no rows of a sweep")
    rows, _ = ranked(np.concatenate([digests(table) for table in held]), NO_DIGESTS)
    return taken(concatenate(held), rows)


def _read_database(path: Path) -> list[pa.Table]:
    place = database_path(path)
    try:
        database = Database(place, FORM, read_only=True)
        try:
            with database.snapshot() as connection:
                return list(read_batches(connection, path)) if database.version else []
        finally:
            database.close()
    except InputError:
        if place.exists():
            raise
        return []


def database_path(path: Path) -> Path:
    """Return where the database of a sweep's file is."""
    return path.with_name(f"{path.name}.sqlite")


def read_batches(connection: sqlite3.Connection, path: Path) -> Iterator[pa.Table]:
    """Yield the batches of a database; one that is damaged is left out with a warning, so that it is computed again."""
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
    """Return rows as an Arrow stream, compressed, with a checksum."""
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
