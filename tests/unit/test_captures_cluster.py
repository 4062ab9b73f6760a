"""Many captures counted on a Dask cluster of separate processes: the counts of one pass, whoever dies meanwhile."""

import importlib.util
import json

import numpy as np
import pytest
from reference.dask_cluster import dask_cluster

from npexplore.cli import main
from npexplore.packets.files import find_captures
from npexplore.packets.statistics.counting import CaptureCounts, count_capture
from npexplore.packets.statistics.kept import KeptCounts
from npexplore.packets.statistics.several import count_captures
from npexplore.packets.synthetic import Traffic, fit_lengths, fixed_length, poisson_arrivals
from npexplore.study import run_each
from npexplore.study.sweeping import executors

EACH, FILES = 3000, 8
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="needs the extra cluster"),
]


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """Workers of a busy machine are slow to come."""
    monkeypatch.setattr(executors, "REACHED_WITHIN_S", 300)


@pytest.fixture
def paths(tmp_path):
    rng = np.random.default_rng(27)
    arrivals, mix = (
        poisson_arrivals(FILES * EACH, 1e5, rng),
        fit_lengths([fixed_length(40), fixed_length(1500)], mean=600),
    )
    (tmp_path / "files").mkdir()
    for k in range(FILES):
        Traffic.made(arrivals[k * EACH : (k + 1) * EACH], mix, rng).write(tmp_path / "files" / f"{k}.pcap")
    return find_captures(tmp_path / "files")


def one_pass(paths):
    counts = CaptureCounts()
    for path in paths:
        counts.merge(count_capture(path)[0])
    return counts.document("", "pcap", None)


@pytest.mark.parametrize("keeping", [False, True])
def test_a_worker_that_is_killed_costs_only_its_files(keeping, paths, tmp_path):
    """Killed when the first file is told, while others are counted or their counts wait to be sent."""
    folder, killed = tmp_path / "kept", []
    with dask_cluster(tmp_path) as cluster, executors.pool(cluster.address) as executor:

        def progress(path):
            if not killed:
                cluster.workers[0].kill()
                killed.append(cluster.workers[0].wait())

        kept = KeptCounts(folder) if keeping else None
        found = count_captures(paths, executor, slots=2, progress=progress, store=kept)
        assert killed[0] != 0
        assert cluster.workers[1].poll() is None
    document = found.document("")
    assert [(row["packets"], row["error"]) for row in document.pop("files")] == [(EACH, None)] * FILES
    assert document == {**one_pass(paths), "format": document["format"]}
    if kept is not None:
        assert all(kept.find(path) for path in paths)
        kept.close()


def test_commands_count_and_run_captures_on_a_cluster(paths, tmp_path, capsys):
    """Also where a file is none: what the worker says of it comes back. A worker that is killed changes no file.

    It may leave a part of one behind, under a hidden name.
    """
    (tmp_path / "files" / "7.pcap").write_text("no capture")
    asked = ["trace", "stats", str(tmp_path / "files"), "--json"]
    with dask_cluster(tmp_path) as cluster:
        assert main([*asked, "--cluster", cluster.address]) == 3
        run_each("smartnic", tmp_path / "files", tmp_path / "there", executor=cluster.address,
                 progress=lambda done, total: done == 1 and cluster.workers[0].kill())  # fmt: skip
        assert cluster.workers[0].wait() != 0
    run_each("smartnic", tmp_path / "files", tmp_path / "here", workers=1)
    results = [
        {path.relative_to(folder): path.read_bytes().replace(str(folder).encode(), b"")
         for path in folder.rglob("[!.]*.*") if path.is_file()}
        for folder in (tmp_path / "there", tmp_path / "here")
    ]  # fmt: skip
    assert results[0] == results[1]
    assert len(results[0]) == 4 * (FILES - 1)
    there = capsys.readouterr()
    assert main([*asked, "--workers", "1"]) == 3
    here = capsys.readouterr()
    assert json.loads(there.out) == json.loads(here.out)
    assert there.err == here.err
    assert "7.pcap: must be pcap" in here.err
