"""SQLite files that lose no data: whole transactions, a schema with migrations, one writer, errors that name the file.

Write-ahead log and synchronous=FULL (SQLite documentation, "Write-Ahead Logging", "PRAGMA synchronous"): the data of a
transaction are on the disk when it ends, and a process killed during it leaves the file as it was before. Readers in
other processes see the last finished transaction while a writer works. On a file system without shared memory, SQLite
uses a rollback journal instead, which is as safe, but a reader may have to wait.
"""

from __future__ import annotations

import os
import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import RLock

from npexplore.errors import InputError

BUSY_TIMEOUT_S = 10.0  # how long a transaction waits for another process's transaction
DISK_FULL_ERRORS = (
    "SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC", "SQLITE_IOERR_TRUNCATE", "SQLITE_IOERR_SHMSIZE"
)  # fmt: skip
NO_ACCESS_ERRORS = ("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_IOERR_DELETE")


class DamagedStoreError(InputError):
    """A database that SQLite cannot read."""


@dataclass(frozen=True)
class Form:
    """The kind of a database.

    name: for messages. application_id: the number in its header that distinguishes it from other programs' databases.
    migrations: for each schema version from 0 (empty) on, the SQL statements that lead to the next one; only ever
    appended to.
    """

    name: str
    application_id: int
    migrations: tuple[tuple[str, ...], ...]


class Database:
    """An open database of one form; it is created, or migrated to the newest schema, unless `read_only`.

    Several threads may use it. version: of the schema; 0 for an empty file that is opened `read_only`. Raises
    InputError naming the file for another program's database, one of a newer npexplore, a folder without write access,
    or a full disk; DamagedStoreError if SQLite cannot read it.
    """

    def __init__(self, path: Path, form: Form, *, read_only: bool = False) -> None:
        self.path, self.form = path, form
        self._lock = RLock()
        new = not path.exists()
        with errors_named(path):
            self._connection = _connect(path, "ro" if read_only else "rwc", BUSY_TIMEOUT_S)
            try:
                self.version = self._prepare(read_only)
            except BaseException:
                self._connection.close()
                if new and path.exists() and not path.stat().st_size:
                    path.unlink()
                raise

    @classmethod
    def of_cache(cls, path: Path, form: Form) -> Database:
        """Open a database of recomputable data; a damaged one is moved away with a warning, and a new one created."""
        try:
            return cls(path, form)
        except DamagedStoreError as error:
            warnings.warn(f"{error}; moved to {set_aside(path).name}, and begun anew", stacklevel=2)
            return cls(path, form)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run statements together: all are on the disk at the end of the block, or none if it raises."""
        with self._lock, errors_named(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # the error may have ended the transaction already
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Read the state after the last finished transaction; it does not change during the block."""
        with self._lock, errors_named(self.path):
            self._connection.execute("BEGIN")
            try:
                yield self._connection
            finally:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")

    def close(self) -> None:
        """Close the database; SQLite writes its log back if no other process reads it."""
        with self._lock, suppress(sqlite3.Error):
            self._connection.close()

    def remove(self) -> None:
        """Close the database and delete it with its log, unless another process still reads it."""
        with self._lock:
            exclusive = False
            with suppress(sqlite3.Error):  # leaving WAL mode needs exclusive access, and deletes the log
                exclusive = self._connection.execute("PRAGMA journal_mode = DELETE").fetchone()[0] != "wal"
            self.close()
            if exclusive:
                with suppress(OSError):
                    self.path.unlink()

    def _prepare(self, read_only: bool) -> int:
        version = self._checked_version()
        if read_only:
            return version
        with suppress(sqlite3.OperationalError):  # without shared memory, the rollback journal remains
            self._connection.execute("PRAGMA journal_mode = WAL").fetchone()
        self._connection.execute("PRAGMA synchronous = FULL")
        if version == len(self.form.migrations):
            return version
        with self.transaction() as connection:
            for statements in self.form.migrations[self._checked_version() :]:  # read again: others may migrate, too
                for statement in statements:
                    connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {self.form.application_id}")
            connection.execute(f"PRAGMA user_version = {len(self.form.migrations)}")
        return len(self.form.migrations)

    def _checked_version(self) -> int:
        """Return the version of the schema; raises InputError if this form does not have it."""
        (application,) = self._connection.execute("PRAGMA application_id").fetchone()
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        (tables,) = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application != self.form.application_id and (application or version or tables):
            raise InputError(f"{self.path}: is another program's database, not one of {self.form.name}")
        if version > len(self.form.migrations):
            newest = len(self.form.migrations)
            raise InputError(f"{self.path}: has schema {version} of a newer npexplore; this one knows up to {newest}")
        return int(version)


def set_aside(path: Path) -> Path:
    """Rename a damaged file and SQLite's logs of it; return its new name."""
    new_path = path.with_name(f"{path.name}.damaged")
    for ending in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.replace(f"{path}{ending}", f"{new_path}{ending}")
    return new_path


@contextmanager
def only_writer(path: Path, refusal: InputError) -> Iterator[None]:
    """Hold the lock file `path` during the block; raises `refusal` if another process or thread holds it.

    The lock is SQLite's write lock on an empty database, which the system releases whenever the process ends. The file
    is deleted at the end.
    """
    connection = _locked(path, refusal)
    try:
        yield
    finally:
        with suppress(OSError):  # systems that cannot delete open files
            path.unlink()
        connection.close()


def _locked(path: Path, refusal: InputError) -> sqlite3.Connection:
    while True:
        with errors_named(path):
            path.touch()
            before = path.stat()
            connection = _connect(path, "rw", 0.0)
        try:
            with errors_named(path, refusal):
                connection.execute("PRAGMA journal_mode = MEMORY")  # nothing is written, so no journal file is needed
                connection.execute("BEGIN IMMEDIATE")
            with suppress(FileNotFoundError):
                if os.path.samestat(before, path.stat()):
                    return connection
        except BaseException:
            connection.close()
            raise
        connection.close()  # the last holder has deleted this file: lock a new one


@contextmanager
def errors_named(path: Path, busy: InputError | None = None) -> Iterator[None]:
    """Turn errors of SQLite, and of the system without a file name, into one line that names the file.

    busy: the error to raise if another process holds the lock.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise _named(path, error, busy) from None
    except OSError as error:
        if error.filename is not None:
            raise
        raise InputError(f"{path}: {error.strerror or error}") from None


def _named(path: Path, error: sqlite3.Error, busy: InputError | None) -> InputError:
    name = getattr(error, "sqlite_errorname", None) or ""
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return busy or InputError(f"{path}: another process is writing to it")
    if name.startswith(DISK_FULL_ERRORS):
        return InputError(f"{path}: cannot be written: No space left on its disk, or beyond a limit of size ({error})")
    if name.startswith(NO_ACCESS_ERRORS):
        return InputError(f"{path}: cannot be opened for writing ({error})")
    if name.startswith("SQLITE_NOTADB"):
        return DamagedStoreError(f"{path}: is not a database ({error})")
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_IOERR")):
        return DamagedStoreError(f"{path}: is damaged ({error})")
    return InputError(f"{path}: {error}")


def _connect(path: Path, mode: str, timeout_s: float) -> sqlite3.Connection:
    if mode == "ro" and os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        mode = "rw"  # a reader first completes or rolls back the work of a killed process
    elif mode == "ro" and not path.with_name(f"{path.name}-wal").exists():
        mode = "ro&immutable=1"  # SQLite cannot lock the file, but no process can write it either
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}", timeout_s, isolation_level=None, check_same_thread=False, uri=True
    )
