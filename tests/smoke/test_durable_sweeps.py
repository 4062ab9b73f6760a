"""A sweep loses no finished row and has none twice: killed, stopped, on a full disk, beside another one.

Most trials run in forks of one process (tests/reference/forked_sweeps.py); what concerns the command and its worker
processes is here.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from npexplore.errors import NpexploreError
from npexplore.study.sweeping.store import read_rows

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")]
FORKED_SWEEPS = Path(__file__).parents[1] / "reference" / "forked_sweeps.py"
TRIALS, MOUNTING = ("kill", "kill_short", "second_writer", "full_disk"), ("full_tmpfs", "read_only")
ASKED = ["sweep", "ixp2400", "--packet-bytes", "64", "--seeds", "200", "--set", "banks=4,8", "--packets", "20000",
         "--workers", "2", "--out"]  # fmt: skip


def may_mount():
    """Whether this process has the capability CAP_SYS_ADMIN, number 21."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return any(line.startswith("CapEff:") and int(line.split()[1], 16) >> 21 & 1 for line in lines)


@pytest.mark.parametrize("trial", [*TRIALS, *(MOUNTING if may_mount() else ())])
def test_whatever_happens(trial, tmp_path):
    ended = subprocess.run(
        [sys.executable, FORKED_SWEEPS, trial, tmp_path / "folder", "1"], capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr


def begun(path, *more):
    """Start the command, and return it once some points are counted."""
    command = [sys.executable, "-m", "npexplore", *ASKED, str(path), *more]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heed_signals
    )
    while process.poll() is None and rows(path) < 2:
        time.sleep(0.1)
    assert process.poll() is None, process.stderr.read()
    return process


def heed_signals():
    """Also where these tests run in the background of a script, or under nohup, which ignore some."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def rows(path):
    try:
        return read_rows(path).num_rows
    except NpexploreError:
        return 0


def children(pid):
    """The processes that a process has started, by the system's own list."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout
    return {int(one) for one in found.split()}


def runs(pid):
    path = Path(f"/proc/{pid}/stat")
    try:
        return path.read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_worker_processes_end_with_their_parent(tmp_path, number):
    path = tmp_path / "a.parquet"
    process = begun(path, "--processes")
    workers = children(process.pid)
    assert len(workers) >= 2
    process.send_signal(number)
    out, err = process.communicate(timeout=600)
    deadline = time.monotonic() + 600
    while any(map(runs, workers)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(runs, workers)), "a worker outlives its parent"
    assert rows(path) >= 2
    if number == signal.SIGTERM:
        assert (process.returncode, out) == (143, "")
        assert err.splitlines()[-1].endswith(f"rows are kept in {path}; --resume goes on")
        assert "Traceback" not in err
        assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_stopped_command_keeps_its_rows_and_says_so(tmp_path, number):
    path = tmp_path / "a.parquet"
    process = begun(path)
    process.send_signal(number)
    out, err = process.communicate(timeout=600)
    assert (process.returncode, out) == (128 + number, "")
    table = pd.read_parquet(path)
    assert err.splitlines()[-1] == f"npexplore: stopped; {len(table)} rows are kept in {path}; --resume goes on"
    assert table["throughput_bps"].notna().all()
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
