"""Databases: whole transactions, migrations, one writer, and errors in one line that name the file."""

import sqlite3
from contextlib import closing, suppress

import pytest

from npexplore.errors import InputError
from npexplore.store import DamagedStoreError, Database, Form, only_writer

FIRST = Form("things", 0x6E707801, (("CREATE TABLE thing (name TEXT)",),))
SECOND = Form("things", 0x6E707801, (*FIRST.migrations, ("ALTER TABLE thing ADD size INTEGER DEFAULT 7",)))


def names(database):
    with database.snapshot() as connection:
        return [name for (name,) in connection.execute("SELECT name FROM thing")]


def test_a_transaction_is_whole_or_not_at_all(tmp_path):
    with closing(Database(tmp_path / "a.sqlite", FIRST)) as database:
        with database.transaction() as connection:
            connection.execute("INSERT INTO thing VALUES ('a')")
        with suppress(KeyboardInterrupt), database.transaction() as connection:
            connection.execute("INSERT INTO thing VALUES ('b')")
            raise KeyboardInterrupt
        with closing(Database(tmp_path / "a.sqlite", FIRST, read_only=True)) as reader:
            assert names(reader) == names(database) == ["a"]
        with database.snapshot() as connection:
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
        database.remove()
    assert list(tmp_path.iterdir()) == []


def test_an_older_schema_is_migrated_and_a_newer_one_refused(tmp_path):
    path = tmp_path / "a.sqlite"
    with closing(Database(path, FIRST)) as database, database.transaction() as connection:
        connection.execute("INSERT INTO thing VALUES ('a')")
    with closing(Database(path, SECOND)) as database, database.snapshot() as connection:
        assert connection.execute("SELECT * FROM thing").fetchall() == [("a", 7)]
    with pytest.raises(InputError, match=r"a\.sqlite: has schema 2 of a newer npexplore; this one knows up to 1"):
        Database(path, FIRST)


def foreign(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (a)")


def text(path):
    path.write_text("no database at all\n" * 100)


def torn(path):
    with closing(Database(path, FIRST)) as database, database.transaction() as connection:
        connection.executemany("INSERT INTO thing VALUES (?)", [("a" * 999,)] * 99)
    path.write_bytes(path.read_bytes()[:5000])


@pytest.mark.parametrize(
    ("write", "error", "message"),
    [
        (foreign, InputError, "is another program's database, not one of things"),
        (text, DamagedStoreError, "is not a database"),
        (torn, DamagedStoreError, "is damaged"),
    ],
)
def test_what_is_no_database_of_ours_is_one_line_and_stays_as_it_is(tmp_path, write, error, message):
    path = tmp_path / "a.sqlite"
    write(path)
    before = path.read_bytes()
    with pytest.raises(error, match=rf"a\.sqlite: {message}"):
        names(Database(path, FIRST))
    assert path.read_bytes() == before


def test_an_empty_file_is_a_new_database(tmp_path):
    (tmp_path / "a.sqlite").touch()
    with closing(Database(tmp_path / "a.sqlite", FIRST)) as database:
        assert names(database) == []


def test_one_writer_at_a_time(tmp_path):
    lock, refusal = tmp_path / "a.lock", InputError("somebody writes")
    for _ in "ab":  # a lock that a killed process left holds nobody
        lock.touch()
        with only_writer(lock, refusal):
            with pytest.raises(InputError, match="somebody writes"), only_writer(lock, refusal):
                pass
            assert lock.exists()
        assert not lock.exists()


def test_a_missing_folder_is_named(tmp_path):
    for open_ in (lambda path: Database(path, FIRST), lambda path: only_writer(path, InputError("")).__enter__()):
        with pytest.raises((InputError, OSError), match="nowhere"):
            open_(tmp_path / "nowhere" / "a.sqlite")
