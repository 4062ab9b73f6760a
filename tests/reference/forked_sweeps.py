"""Sweeps in forks of one process that has imported everything, so that starting and killing one costs little.

    python forked_sweeps.py TRIAL FOLDER SEED

runs a trial of TRIALS in an empty folder, and ends with an error if a row that was counted as finished is lost, a row
is there twice, a resumed table differs from an undisturbed one, or an error does not name the file.
"""

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd

import npexplore
from npexplore.errors import NpexploreError
from npexplore.study.sweeping.store import read_rows
from npexplore.study.sweeping.sweep import sweep
from npexplore.study.sweeping.tables import digests

LOAD = npexplore.workload(packet_bytes=64)
FEW = 400  # packets
MANY = npexplore.grid("ixp2400", LOAD, seeds=60, banks=(2, 4, 8))
SOME = npexplore.grid("ixp2400", LOAD, seeds=4, banks=(4, 8))
KILLS = 50


def expected(points):
    return sweep(points, packets=FEW, workers=1)


def start(path, points, prepare=lambda: None, **options):
    """Fork a sweep; return its process id and the reading end of a pipe of the numbers of points that it counted."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    status = 1
    try:
        os.close(reading)
        prepare()
        back = iter(range(10**9, 0, -60))
        time.time = lambda: next(back)  # a clock that is set back again and again
        time.time_ns = lambda: next(back) * 10**9

        def progress(done, total):
            os.write(writing, f"{done}\n".encode())

        sweep(points, store=path, packets=FEW, workers=2, progress=progress, **options)
        status = 0
    except (NpexploreError, OSError) as error:
        named = getattr(error, "filename", None) or str(error)
        os.write(writing, f"error {type(error).__name__} {named} {error}\n".encode())
        status = 2
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def end(pid, reading):
    """Wait for a fork; return its status, what it counted last, and what it said went wrong."""
    _, status = os.waitpid(pid, 0)
    with os.fdopen(reading) as file:
        lines = file.read().splitlines()
    counted = [int(line) for line in lines if line.isdigit()]
    return os.waitstatus_to_exitcode(status), max(counted, default=0), [line for line in lines if not line.isdigit()]


def held(path):
    """Return how many rows a killed sweep left; none is there twice."""
    try:
        table = read_rows(path)
    except NpexploreError as error:
        if "holds no rows" in str(error):
            return 0
        raise
    assert len(np.unique(digests(table))) == table.num_rows
    return table.num_rows


def resumed(path, points, whole):
    """A resumed sweep, and its file, are those of an undisturbed one; nothing else is left."""
    pd.testing.assert_frame_equal(sweep(points, store=path, packets=FEW, workers=2), whole)
    pd.testing.assert_frame_equal(pd.read_parquet(path), whole)
    left = {file.name for file in path.parent.iterdir() if file.name.startswith((path.name, f".{path.name}"))}
    assert left == {path.name}, left


def kill(folder, draw):
    """Killed in the middle of points; whatever was counted is there, and nothing that was there is lost."""
    path, whole, before, kills = folder / "a.parquet", expected(MANY), 0, 0
    while kills < KILLS // 2 and before < len(MANY):
        pid, reading = start(path, MANY)
        time.sleep(draw.uniform(0, 0.2))
        os.kill(pid, signal.SIGKILL)
        status, counted, _ = end(pid, reading)
        kills += status == -signal.SIGKILL
        assert counted <= held(path), "a row that was counted is lost"
        assert before <= held(path), "a row that was finished is lost"
        before = held(path)
    assert kills >= 10
    resumed(path, MANY, whole)


def kill_short(folder, draw):
    """Killed while a small sweep begins, commits, writes its file or clears up."""
    whole, kills = expected(SOME), 0
    began = time.monotonic()
    assert end(*start(folder / "first.parquet", SOME))[0] == 0
    took = time.monotonic() - began
    for k in range(3 * KILLS):
        path = folder / f"{k // 5}.parquet"
        pid, reading = start(path, SOME, resume=True)
        time.sleep(draw.uniform(0, took))
        os.kill(pid, signal.SIGKILL)
        status, counted, _ = end(pid, reading)
        kills += status == -signal.SIGKILL
        took *= 1.05 if status == -signal.SIGKILL else 0.8  # the machine may be less busy than it was at first
        assert counted <= held(path)
        if k % 5 == 4:
            resumed(path, SOME, whole)
            if kills >= KILLS // 2:
                return
    raise AssertionError(f"only {kills} sweeps were killed: each was quicker")


def second_writer(folder, draw):
    """A second sweep at any moment, resuming or not, is refused without any effect, or comes after the first."""
    whole, refused = expected(SOME), 0
    for k in range(20):
        path = folder / f"{k}.parquet"
        first = start(path, SOME)
        time.sleep(draw.uniform(0, 0.4))
        second = start(path, SOME, resume=bool(k % 2))
        endings = [end(*first), end(*second)]
        assert 0 in [status for status, _, _ in endings], endings
        for status, _, said in endings:
            assert status in (0, 2), endings
            assert not said or path.name in said[0], said
            refused += any("another sweep is writing to it" in line for line in said)
        resumed(path, SOME, whole)
    assert refused >= 3


def full_disk(folder, draw):
    """Each write of the database, its log and the file fails in turn: a limit of size that goes up."""
    whole = expected(SOME)
    failed = [_limited(folder / f"{k}.parquet", 1500 * k, whole) for k in range(28)]
    assert failed[1]
    assert not failed[-1]


def _limited(path, limit, whole):
    def prepare():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return _failed(path, prepare, whole)


def _failed(path, prepare, whole):
    """Run a sweep whose writes fail; what it says names its file, and the next sweep goes on from what it counted."""
    status, counted, said = end(*start(path, SOME, prepare))
    assert status in (0, 2), (path, status)
    assert status == 0 or path.name in said[0], said
    assert counted <= held(path), "a row that was counted is lost"
    resumed(path, SOME, whole)
    return status == 2


def full_tmpfs(folder, draw):
    """A file system of some kilobytes that is full at another write each time."""
    whole, failed = expected(SOME), []
    place = folder / "small"
    for size in range(4, 260, 12):
        place.mkdir(exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "none", place], check=True)
        path = place / "a.parquet"
        try:
            status, counted, said = end(*start(path, SOME))
            assert status in (0, 2), (size, status)
            assert status == 0 or path.name in said[0], said
            failed.append(status == 2)
            subprocess.run(["mount", "-o", "remount,size=4m", place], check=True)
            assert counted <= held(path), "a row that was counted is lost"
            resumed(path, SOME, whole)
        finally:
            subprocess.run(["umount", place], check=True)
    assert failed[0]
    assert not failed[-1]


def read_only(folder, draw):
    """A folder that takes no files any more, after a sweep was killed in it: one line; then it goes on."""
    path, whole = folder / "a.parquet", expected(MANY)
    pid, reading = start(path, MANY)
    time.sleep(0.6)
    os.kill(pid, signal.SIGKILL)
    counted = end(pid, reading)[1]
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)
        status, _, said = end(*start(path, MANY))
    finally:
        subprocess.run(["umount", folder], check=True)
    assert status == 2
    assert path.name in said[0], said
    assert counted <= held(path)
    resumed(path, MANY, whole)


TRIALS = {trial.__name__: trial for trial in (kill, kill_short, second_writer, full_disk, full_tmpfs, read_only)}

if __name__ == "__main__":
    name, folder, seed = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    TRIALS[name](folder, Random(seed))
