"""Sweeps on a Dask cluster of separate processes: the same rows, whoever dies meanwhile; what is wrong is one line."""

import importlib.util
import re
import socket

import pyarrow.parquet as pq
import pytest
from pandas.testing import assert_frame_equal
from reference.dask_cluster import dask_cluster

from npexplore.cli import main
from npexplore.errors import InputError, NpexploreError
from npexplore.machine.workload_sources import workload
from npexplore.study.sweeping import executors
from npexplore.study.sweeping.grid import grid
from npexplore.study.sweeping.sweep import sweep

LOAD = workload(packet_bytes=64)
FEW = 1000  # packets
POINTS = [*grid("ixp2400", LOAD, seeds=12, banks=(4, 8)), *grid("ixp2400", LOAD, solver=("bounds", "queueing"))]
slow = pytest.mark.slow
needs_dask = pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="needs the extra cluster")


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """Workers of a busy machine are slow to come."""
    monkeypatch.setattr(executors, "REACHED_WITHIN_S", 300)


@pytest.fixture(scope="module")
def rows():
    return sweep(POINTS, workers=1, packets=FEW)


def once(at, act):
    """Return a progress function that acts once, when so many points are done."""
    acted = []

    def progress(done, total):
        if done >= at and not acted:
            acted.append(act())

    return progress


@slow
@needs_dask
def test_a_worker_that_is_killed_changes_no_row(tmp_path, rows):
    with dask_cluster(tmp_path) as cluster:
        kill = once(8, cluster.workers[0].kill)
        found = sweep(POINTS, executor=cluster.address, packets=FEW, store=tmp_path / "a.parquet", progress=kill)
        assert cluster.workers[0].wait() != 0
        assert cluster.workers[1].poll() is None
    assert_frame_equal(found, rows)
    assert pq.read_metadata(tmp_path / "a.parquet").num_rows == len(POINTS)


@slow
@needs_dask
def test_a_cluster_that_dies_leaves_what_was_finished(tmp_path):
    """Packets are more until the cluster dies before all is done: that is a race with its workers."""
    for packets in (FEW, 10 * FEW, 100 * FEW, 1000 * FEW):
        path = tmp_path / f"{packets}.parquet"
        (tmp_path / str(packets)).mkdir()
        with dask_cluster(tmp_path / str(packets)) as cluster:
            kill = once(8, lambda workers=cluster.workers: [worker.kill() for worker in workers])
            try:
                sweep(POINTS, executor=cluster.address, packets=packets, store=path, progress=kill)
            except NpexploreError as error:
                said = str(error)
                break
    assert re.search(r"the cluster has no workers left; \d+ of 26 points are finished and", said)
    finished = pq.read_metadata(path).num_rows
    assert 8 <= finished < len(POINTS)
    begun = []
    found = sweep(POINTS, packets=packets, store=path, progress=lambda done, total: begun.append(done))
    whole = sweep(POINTS, workers=1, packets=packets)
    assert_frame_equal(found[whole.columns], whole)
    assert begun[0] == finished


@slow
@needs_dask
def test_the_command_runs_on_a_cluster(tmp_path, capsys):
    asked = ["sweep", "ixp2400", "--packet-bytes", "64", "--packets", "500", "--seeds", "3", "--out"]
    with dask_cluster(tmp_path, workers=1) as cluster:
        assert main([*asked, str(tmp_path / "a.parquet"), "--cluster", cluster.address]) == 0
    assert main([*asked, str(tmp_path / "b.parquet")]) == 0
    assert_frame_equal(*(pq.read_table(tmp_path / f"{name}.parquet").to_pandas() for name in "ab"))
    assert capsys.readouterr().err == ""


@slow
@needs_dask
def test_a_cluster_without_workers_or_with_another_npexplore_is_refused(tmp_path, monkeypatch):
    with dask_cluster(tmp_path, workers=0) as cluster:
        for seconds in (1, 10, 100):  # in which a busy machine reaches the scheduler
            monkeypatch.setattr(executors, "REACHED_WITHIN_S", seconds)
            with pytest.raises(InputError) as caught:
                sweep(POINTS, executor=cluster.address)
            if "cannot be reached" not in str(caught.value):
                break
        assert "has no workers" in str(caught.value)
    monkeypatch.setattr(executors, "REACHED_WITHIN_S", 300)
    other = tmp_path / "other"
    (other / "npexplore").mkdir(parents=True)
    (other / "npexplore" / "__init__.py").write_text("")
    with (
        dask_cluster(other, workers=1, package=other) as cluster,
        pytest.raises(InputError, match=r"a worker cannot run npexplore: .*No module named"),
    ):
        sweep(POINTS, executor=cluster.address)


@needs_dask
@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("http://localhost:80", "must be tcp://HOST:PORT"),
        ("tcp://localhost", "must be tcp://HOST:PORT"),
        ("tcp://localhost:99999999", "cannot be reached"),
        ("cluster", "executor 'cluster' is unknown \\(known: processes, threads"),
    ],
)
def test_a_wrong_address_is_refused(address, message):
    with pytest.raises(InputError, match=message):
        sweep(POINTS[:1], executor=address)


@needs_dask
def test_nobody_at_an_address_is_told_at_once():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(InputError, match=f"cluster {address} cannot be reached"):
            sweep(POINTS[:1], executor=address)


def test_without_the_library_the_extra_is_named(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(executors, "import_module", missing)
    with pytest.raises(InputError, match="a cluster needs distributed: install npexplore with its extra `cluster`"):
        sweep(POINTS[:1], executor="tcp://127.0.0.1:1")
