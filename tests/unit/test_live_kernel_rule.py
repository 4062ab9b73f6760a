"""Where namespaces may not be made, tests of the live kernel are left out, not skipped: CI forbids skipping."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from npexplore.testing import linux_kernel, namespaces

ROOT = Path(__file__).parents[2]
SUITE = """
import pytest

@pytest.fixture
def kernel():
    raise AssertionError("asked, although it must not be")

def test_live(kernel): pass
def test_recorded(): pass
"""


def run(folder, **environment):
    """Run the suite above under the conftest of all suites."""
    (folder / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (folder / "test_suite.py").write_text(SUITE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", folder, folder]
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}, cwd=folder, check=False
    )  # fmt: skip


@pytest.mark.slow
def test_without_the_right_the_live_tests_are_left_out_and_told_in_ci_too(tmp_path):
    done = run(tmp_path, CI="true", PATH="")  # no program `ip` on this path
    assert done.returncode == 0, done.stdout
    assert "1 passed, 1 deselected" in done.stdout
    assert "live kernel: 1 tests left out, its recordings decide: the program ip" in done.stdout


def test_a_machine_that_forbids_namespaces_says_so(monkeypatch):
    def forbidden():
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(namespaces.shutil, "which", lambda name: "/sbin/ip")
    monkeypatch.setattr(namespaces, "_new_namespace", forbidden)
    assert linux_kernel.why_not() == "network namespaces cannot be made: Operation not permitted"


def test_a_machine_whose_settings_cannot_be_written_says_so(monkeypatch):
    def read_only(family, settings):
        raise OSError(30, "Read-only file system", f"/proc/sys/net/{family}")

    monkeypatch.setattr(linux_kernel, "why_no_namespaces", lambda: None)
    monkeypatch.setattr(namespaces, "why_no_namespaces", lambda: None)
    monkeypatch.setattr(linux_kernel, "make_namespace", lambda: os.open(os.devnull, os.O_RDONLY))
    monkeypatch.setattr(linux_kernel, "run_batch", lambda *args: None)
    monkeypatch.setattr(linux_kernel, "inside", lambda namespace, work: work())
    monkeypatch.setattr(linux_kernel, "write_settings", read_only)
    assert "cannot be set up: [Errno 30] Read-only file system" in linux_kernel.why_not()
