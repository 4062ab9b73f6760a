"""The package does its work without what only Linux has: fork, process groups, file locks, /proc, some signals.

Another process takes them away before it imports anything of the package (`tests/reference/elsewhere.py`).
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
TOUCHES_THE_SYSTEM = (
    "captures_several", "cli_files", "cli_output", "cli_setup", "file_names", "packets_output", "packets_source",
    "packets_writing", "report_kept", "store", "study_sweep", "sweep_store", "trace_convert", "trace_stats",
)  # fmt: skip

FIRST = "import reference.elsewhere"
WORK = """
from npexplore.cli import main
sample = "sample:zeek_wikipedia"
for line in (
    "designs --json",
    "explain ixp2400 --packet-bytes 64 --no-sensitivity --packets 2000",
    f"trace stats {sample} sample:zeek_mixed-vlan-mpls --workers 2 --keep kept",
    f"trace convert {sample} a.parquet",
    f"trace convert {sample} a.pcapng --where ipv4",
    f"trace report {sample} -o a.html",
    f"route --config office --in office={sample} --out routed --report routed.html",
    "sweep ixp2400 --packet-bytes 64 --solver bounds --set banks=2,4 --out points.parquet",
    "sweep ixp2400 --packet-bytes 64 --solver bounds --set banks=2,4,8 --out points.parquet --resume",
    "solve mm1",
    "new mine --folder made",
    "setup --no-warm",
):
    status = main(line.split())
    assert status == 0, (line, status)

import sys
import npexplore
from npexplore.golden import load_router
from npexplore.memory import available
from npexplore.solve.chains.explore import memory_left
from npexplore.testing import run_captures
npexplore.read_capture("a.pcapng")
assert available() is None
assert memory_left() == 1 << 30
assert run_captures([sys.executable, "-c", "pass"], load_router("office"), []) == []

import importlib, pkgutil
names = [found.name for found in pkgutil.walk_packages(npexplore.__path__, "npexplore.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
assert len(names) > 600
print("done")
"""


def run(*arguments, folder):
    """The last line that a Python without those features writes."""
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True,
        timeout=900, check=False, env=os.environ | {"PYTHONPATH": f"{TESTS}{os.pathsep}{TESTS.parent}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout.splitlines()[-1]


@pytest.mark.slow
def test_commands_work_and_every_module_is_imported_without_what_only_linux_has(tmp_path):
    assert run("-c", FIRST + WORK, folder=tmp_path) == "done"
    made = {path.name for path in tmp_path.iterdir()}
    assert made >= {"kept", "a.parquet", "a.pcapng", "a.html", "routed", "routed.html", "points.parquet", "made"}


@pytest.mark.slow
def test_quick_tests_pass_without_what_only_linux_has():
    """Those of files, captures, commands and sweeps: the others compute."""
    files = [f"tests/unit/test_{name}.py" for name in TOUCHES_THE_SYSTEM]
    plain = ("-q", "-m", "not slow", "-p", "no:cacheprovider")
    last = run("-m", "pytest", "-p", "reference.elsewhere", *plain, *files, folder=TESTS.parent)
    assert int(last.partition(" passed")[0]) > 250
