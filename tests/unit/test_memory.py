"""Memory that may be taken: pages that only cache files count as available, in the machine and in control groups."""

import pytest

from npexplore import memory
from npexplore.solve.chains import memory_left

GB = 10**9


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A machine of 24 GB whose file cache is full: 0.4 GB free, 20 GB available."""
    meminfo, own = tmp_path / "meminfo", tmp_path / "cgroup"
    meminfo.write_text(f"MemFree: {400_000} kB\nMemAvailable: {20 * GB // 1024} kB\n")
    own.write_text("4:memory:/\n0::/\n")
    for name, path in (("_MEMINFO", meminfo), ("_GROUPS", tmp_path), ("_OWN_GROUPS", own)):
        monkeypatch.setattr(memory, name, path)
    return tmp_path


def group(folder, limit, used, cached, names=("memory.max", "memory.current"), prefix=""):
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in zip(names, (limit, used), strict=True):
        (folder / name).write_text(f"{value}\n")
    (folder / "memory.stat").write_text(
        f"anon 7\n{prefix}active_file {cached // 4}\n{prefix}inactive_file {cached * 3 // 4}\n"
    )


def test_cached_files_do_not_count_as_taken(system):
    assert memory_left() == pytest.approx(10 * GB, abs=1024)


@pytest.mark.parametrize("path", ["/", "/jobs/mine", "/elsewhere"])
def test_the_tightest_group_counts_without_its_cached_files(system, path):
    (system / "cgroup").write_text(f"0::{path}\n")
    group(system, 16 * GB, 10 * GB, 8 * GB)
    group(system / "jobs", 8 * GB, 6 * GB, 4 * GB)
    group(system / "jobs" / "mine", "max", GB, 0)
    assert memory.available() == {"/jobs/mine": 6 * GB}.get(path, 14 * GB)


def test_groups_of_the_first_version_count_too(system):
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
    group(system / "memory", 4 * GB, 3 * GB, 2 * GB, names, "total_")
    assert memory.available() == 3 * GB
