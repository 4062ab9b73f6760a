"""The file of a sweep and its database: what is taken in, refused, exported, and repaired by `npexplore doctor`."""

import json
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from npexplore.cli import main
from npexplore.errors import InputError
from npexplore.study.sweeping.store import Rows, database_path, open_store, read_rows
from npexplore.study.sweeping.tables import IDENTITY, digests


def table(*numbers, refused=None, **more):
    columns = {name: [str(number) for number in numbers] for name in IDENTITY}
    columns |= {"seed": list(numbers), "refused": pa.array([refused] * len(numbers), pa.string())}
    return pa.table(columns | {name: [value] * len(numbers) for name, value in more.items()})


def write(path, *tables, resume=True, killed=False):
    """Add rows as a sweep does; killed: end before they are exported."""
    try:
        with open_store(path, resume=resume) as rows:
            for one in tables:
                rows.append(one, digests(one))
                rows.commit()
            if killed:
                rows.export = lambda: None
    finally:
        path.with_name(f"{path.name}.lock").unlink(missing_ok=True)


def seeds(path):
    return read_rows(path)["seed"].to_pylist()


def test_rows_of_a_killed_sweep_are_read_and_resumed(tmp_path):
    path = tmp_path / "a.parquet"
    write(path, table(1))
    write(path, table(2), table(3, banks=4), killed=True)
    assert pq.read_table(path)["seed"].to_pylist() == [1]
    assert seeds(path) == [1, 2, 3]
    with pytest.raises(InputError, match=r"a\.parquet: holds a sweep already"):
        write(path, resume=False)
    assert seeds(path) == [1, 2, 3]
    write(path, table(4))
    assert pq.read_table(path)["seed"].to_pylist() == [1, 2, 3, 4]
    assert sorted(map(str, pd.read_parquet(path)["banks"])) == ["4.0", "nan", "nan", "nan"]
    assert [file.name for file in tmp_path.iterdir()] == ["a.parquet"]


def test_a_row_that_both_files_hold_counts_once(tmp_path):
    """Killed after the file was replaced, before the database was deleted."""
    path = tmp_path / "a.parquet"
    write(path, table(1, 2), killed=True)
    pq.write_table(read_rows(path), path)
    assert seeds(path) == [1, 2]
    write(path)
    assert pq.read_table(path)["seed"].to_pylist() == [1, 2]


def test_a_second_writer_is_refused_without_any_effect(tmp_path):
    """Even where all rows so far are refusals, which do not stand in the way of a new sweep."""
    path = tmp_path / "a.parquet"
    write(path, table(1, refused="impossible"))
    with open_store(path, resume=True) as rows:
        more = table(2, refused="impossible")
        rows.append(more, digests(more))
        rows.commit()
        before = path.read_bytes()
        for resume in (False, True):
            with pytest.raises(InputError, match=r"a\.parquet: another sweep is writing to it"):
                open_store(path, resume=resume).__enter__()
        assert path.read_bytes() == before
        assert seeds(path) == [1, 2]
    assert seeds(path) == [1, 2]
    write(path, table(3), resume=False)
    assert seeds(path) == [3]


def test_an_empty_file_holds_nothing(tmp_path):
    path = tmp_path / "a.parquet"
    for resume in (False, True):
        path.write_bytes(b"")
        with pytest.warns(UserWarning, match=r"a\.parquet: is empty"):
            write(path, table(1), resume=resume)
        assert seeds(path) == [1]


def test_what_is_no_sweep_is_refused(tmp_path):
    path = tmp_path / "a.parquet"
    for resume in (False, True):
        path.write_text("a,b\n")
        with pytest.raises(InputError, match=r"a\.parquet: not a Parquet file: "):
            write(path, resume=resume)
        pd.DataFrame({"a": [1]}).to_parquet(path)
        with pytest.raises(InputError, match="not the table of a sweep: no column 'model'"):
            write(path, resume=resume)
        path.write_bytes(path.read_bytes()[:100])
        with pytest.raises(InputError, match="not a Parquet file or was cut off"):
            write(path, resume=resume)
        assert [file.name for file in tmp_path.iterdir()] == ["a.parquet"]
    with pytest.raises(InputError, match=r"folder '.*nowhere' does not exist"):
        write(tmp_path / "nowhere" / "a.parquet")
    with pytest.raises(InputError, match="is a folder"):
        write(tmp_path)


def test_a_damaged_batch_is_left_out_and_computed_again(tmp_path):
    path = tmp_path / "a.parquet"
    write(path, table(1), table(2), killed=True)
    with closing(sqlite3.connect(database_path(path))) as connection, connection:
        (content,) = connection.execute("SELECT content FROM batch WHERE number = 1").fetchone()
        at = len(content) // 2
        bad = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
        connection.execute("UPDATE batch SET content = ? WHERE number = 1", (bad,))
    with pytest.warns(UserWarning, match="batch 1 of 1 rows is damaged and left out"):
        assert seeds(path) == [2]


def test_many_small_batches_are_few_tables_in_memory():
    rows = Rows()
    for number in range(600):
        one = table(number)
        rows.append(one, digests(one))
        rows.commit()
    assert len(rows._held) < 12
    assert rows.finish()["seed"].to_pylist() == list(range(600))


# ---- the commands


def doctor(capsys, *arguments):
    status = main(["doctor", *map(str, arguments), "--json"])
    found = json.loads(capsys.readouterr().out)["findings"]
    return status, {one["subject"]: (one["state"], one["note"]) for one in found if one["check"] == "stores"}


def damage_database(path):
    """Overwrite a page in the middle: batches before and after it can still be read."""
    texts = ["".join(map(chr, np.random.default_rng(k).integers(65, 91, 3000))) for k in range(40)]
    write(path, *(table(k, text=text) for k, text in enumerate(texts)), killed=True)
    data = bytearray(database_path(path).read_bytes())
    data[len(data) // 2 : len(data) // 2 + 4096] = b"\xff" * 4096
    database_path(path).write_bytes(data)


def test_doctor_repairs_what_sweeps_left(tmp_path, capsys):
    killed, cut, damaged, good = (tmp_path / f"{name}.parquet" for name in ("killed", "cut", "damaged", "good"))
    write(good, table(1))
    write(killed, table(1, 2), killed=True)
    pq.write_table(table(1), cut)
    cut.write_bytes(cut.read_bytes()[:-20])
    damage_database(damaged)
    (tmp_path / "foreign.csv").write_text("a,b\n")
    (tmp_path / "foreign.parquet").write_text("a,b\n")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    status, told = doctor(capsys, tmp_path, good, "--no-repair")
    assert status == 1
    assert told[str(good)] == ("good", "1 rows")
    assert told[str(killed)][0] == "good"
    assert [told[str(path)][0] for path in (cut, damaged)] == ["broken"] * 2
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    status, told = doctor(capsys, tmp_path)
    assert status == 0
    assert told[str(killed)] == ("repaired", "2 finished rows are in it; --resume computes the others")
    assert seeds(killed) == [1, 2]
    assert "moved to cut.parquet.damaged" in told[str(cut)][1]
    assert told[str(damaged)][0] == "repaired"
    assert 30 < len(seeds(damaged)) < 40
    assert str(tmp_path / "foreign.parquet") not in told
    assert not any(".sqlite" in file.name and "damaged" not in file.name.partition(".sqlite")[2]
                   for file in tmp_path.iterdir())  # fmt: skip
    assert doctor(capsys, tmp_path) == (0, {})
    assert doctor(capsys, tmp_path / "foreign.parquet")[0] == 1
    assert doctor(capsys, tmp_path / "missing.parquet")[1][str(tmp_path / "missing.parquet")][0] == "broken"


def test_doctor_leaves_a_running_sweep_alone(tmp_path, capsys):
    path = tmp_path / "a.parquet"
    with open_store(path, resume=True) as rows:
        one = table(1)
        rows.append(one, digests(one))
        rows.commit()
        assert doctor(capsys, path) == (0, {str(path): ("good", "a sweep is writing to it; left alone")})
        assert database_path(path).exists()


def test_export_while_a_sweep_runs(tmp_path, capsys):
    path, out = tmp_path / "a.parquet", tmp_path / "now.parquet"
    assert main(["export", str(path), "--out", str(out)]) == 2
    assert "holds no rows of a sweep" in capsys.readouterr().err
    with open_store(path, resume=True) as rows:
        one = table(1, 2)
        rows.append(one, digests(one))
        rows.commit()
        assert main(["export", str(path), "--out", str(out), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["rows"] == 2
        assert main(["export", str(path), "--out", str(path)]) == 2
    assert pq.read_table(out)["seed"].to_pylist() == [1, 2]
    assert seeds(path) == [1, 2]
