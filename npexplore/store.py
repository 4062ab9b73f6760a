"""SQLite files that lose nothing: whole transactions, a schema that is migrated, one writer, errors that name the file.

Write-ahead log and synchronous=FULL (SQLite documentation, "Write-Ahead Logging", "PRAGMA synchronous"): what a
transaction wrote is on the disk when it ends, and a process killed in it leaves the file as it was before. Readers in
other processes see the last finished transaction while a writer works. On a file system without shared memory SQLite
uses a rollback journal instead: as safe, but a reader may have to wait.
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

BUSY_TIMEOUT_S = 10.0  # that a transaction waits for the end of another process's
DISK_FULL_ERRORS = (
    "SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC", "SQLITE_IOERR_TRUNCATE", "SQLITE_IOERR_SHMSIZE"
)  # fmt: skip
NO_ACCESS_ERRORS = ("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_IOERR_DELETE")


class DamagedStoreError(InputError):
    """A database that SQLite can no longer read."""


@dataclass(frozen=True)
class Form:
    """What a kind of database holds.

    name: for messages. application_id: the number in its header that tells it from other programs' databases.
    migrations: for each schema version from 0 (empty) on, the SQL statements that lead to the next one; only ever
    appended to.
    """

    name: str
    application_id: int
    migrations: tuple[tuple[str, ...], ...]


class Database:
    """An open database of one form; created, or migrated to the newest schema, unless `read_only`.

    May be used by several threads. `version`: of the schema; 0 for an empty file that is opened `read_only`. Raises
    InputError naming the file: another program's database, one of a newer npexplore, a folder that takes no files, a
    full disk; DamagedStoreError if SQLite cannot read it.
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
        """Open a database of what can be computed again; a damaged one is set aside with a warning, and begun anew."""
        try:
            return cls(path, form)
        except DamagedStoreError as error:
            warnings.warn(f"{error}; moved to {set_aside(path).name}, and begun anew", stacklevel=2)
            return cls(path, form)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run statements together: all are on the disk at the end of the block, none if it raises."""
        with self._lock, errors_named(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # what failed may have ended the transaction itself
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Read what the last finished transaction left; it does not change during the block."""
        with self._lock, errors_named(self.path):
            self._connection.execute("BEGIN")
            try:
                yield self._connection
            finally:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")

    def close(self) -> None:
        """Close the database; its log is written back into it if nobody else reads it."""
        with self._lock, suppress(sqlite3.Error):
            self._connection.close()

    def remove(self) -> None:
        """Close the database and delete it with its log; one that another process still reads is left as it is."""
        with self._lock:
            alone = False
            with suppress(sqlite3.Error):  # leaving the write-ahead log needs the file for oneself, and deletes the log
                alone = self._connection.execute("PRAGMA journal_mode = DELETE").fetchone()[0] != "wal"
            self.close()
            if alone:
                with suppress(OSError):
                    self.path.unlink()

    def _prepare(self, read_only: bool) -> int:
        version = self._checked_version()
        if read_only:
            return version
        with suppress(sqlite3.OperationalError):  # no shared memory here: the rollback journal stays
            self._connection.execute("PRAGMA journal_mode = WAL").fetchone()
        self._connection.execute("PRAGMA synchronous = FULL")
        if version == len(self.form.migrations):
            return version
        with self.transaction() as connection:
            for statements in self.form.migrations[self._checked_version() :]:  # another may have been quicker
                for statement in statements:
                    connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {self.form.application_id}")
            connection.execute(f"PRAGMA user_version = {len(self.form.migrations)}")
        return len(self.form.migrations)

    def _checked_version(self) -> int:
        """Return the version of the schema; raises InputError if it is not one of this form's."""
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
    """Move a damaged file, and SQLite's log of it, out of the way; return its new name."""
    aside = path.with_name(f"{path.name}.damaged")
    for ending in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.replace(f"{path}{ending}", f"{aside}{ending}")
    return aside


@contextmanager
def only_writer(path: Path, refusal: InputError) -> Iterator[None]:
    """Hold the lock file `path` during the block; raises `refusal` if another process or thread holds it.

    The lock is SQLite's write lock on an empty database: the system releases it when the process ends, in whatever way.
    The file is deleted at the end.
    """
    connection = _locked(path, refusal)
    try:
        yield
    finally:
        with suppress(OSError):  # a system that deletes no open file
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
                connection.execute("PRAGMA journal_mode = MEMORY")  # nothing is ever written: no journal beside it
                connection.execute("BEGIN IMMEDIATE")
            with suppress(FileNotFoundError):
                if os.path.samestat(before, path.stat()):
                    return connection
        except BaseException:
            connection.close()
            raise
        connection.close()  # its last holder has just deleted it: lock the next one


@contextmanager
def errors_named(path: Path, busy: InputError | None = None) -> Iterator[None]:
    """Turn SQLite's errors, and the system's without a name, into one line that names the file.

    busy: the error if another process holds the lock.
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
        mode = "rw"  # what a killed process left half done is first brought to an end, by whoever reads
    elif mode == "ro" and not path.with_name(f"{path.name}-wal").exists():
        mode = "ro&immutable=1"  # where SQLite cannot note that it reads; nobody can write there either
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}", timeout_s, isolation_level=None, check_same_thread=False, uri=True
    )
