"""The Parquet file of a capture is read as it is by tools that know nothing of us: pandas, DuckDB, Dask."""

import pandas as pd
import pytest

from npexplore.cli import main
from npexplore.packets import read_capture
from npexplore.paths import share


@pytest.fixture(scope="module")
def converted(tmp_path_factory):
    source = share("data", "captures", "zeek_wikipedia.pcap")
    target = tmp_path_factory.mktemp("parquet") / "packets.parquet"
    assert main(["trace", "convert", str(source), str(target)]) == 0
    return read_capture(source), target


def totals(capture):
    return len(capture), int(capture.columns["length"].sum()), int(capture.columns["t_ns"].max())


def test_pandas(converted):
    capture, path = converted
    frame = pd.read_parquet(path)
    assert (len(frame), int(frame["length"].sum()), int(frame["t_ns"].max())) == totals(capture)


def test_duckdb(converted):
    duckdb = pytest.importorskip("duckdb")
    capture, path = converted
    found = duckdb.sql(f"select count(*), sum(length), max(t_ns) from '{path}'").fetchall()[0]
    assert tuple(int(value) for value in found) == totals(capture)


def test_duckdb_by_time(converted):
    duckdb = pytest.importorskip("duckdb")
    capture, path = converted
    times = capture.columns["t_ns"]
    middle = int(times[len(times) // 2])
    by_number = duckdb.sql(f"select count(*) from '{path}' where t_ns < {middle}").fetchall()[0][0]
    stamp = pd.Timestamp(middle, tz="UTC").isoformat(sep=" ")
    by_time = duckdb.sql(f"select count(*) from '{path}' where time < '{stamp}'").fetchall()[0][0]
    assert by_number == by_time == int((times < middle).sum())


@pytest.mark.filterwarnings("ignore")  # of Dask's own use of pandas
def test_dask(converted):
    frames = pytest.importorskip("dask.dataframe")
    capture, path = converted
    frame = frames.read_parquet(path, columns=["length", "t_ns"])
    assert (len(frame), int(frame["length"].sum().compute()), int(frame["t_ns"].max().compute())) == totals(capture)
