"""The package does its work without what only Linux has: fork, process groups, file locks, /proc, some signals.

Another process takes them away before it imports anything of the package. What stays is what Windows has too, as far as
that can be had on this machine: paths, line ends and terminals are not tried, and libraries still see Linux.
"""

import subprocess
import sys

import pytest

WITHOUT = """
import os, signal, sys
for name in ("fcntl", "resource", "pwd", "grp", "termios", "syslog"):
    sys.modules[name] = None
for name in ("fork", "forkpty", "killpg", "setsid", "sysconf", "sched_getaffinity", "setns", "unshare"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGKILL", "SIGXFSZ", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGCHLD", "alarm", "setitimer", "pthread_kill"):
    delattr(signal, name)

def refuse(event, arguments):
    if event == "open" and str(arguments[0]).startswith(("/proc", "/sys")):
        raise FileNotFoundError(2, "No such file or directory", arguments[0])

sys.addaudithook(refuse)
"""

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
from npexplore.packets.memory import available
from npexplore.solve.chains.explore import memory_left
from npexplore.testing import run_captures
npexplore.read_capture("a.pcapng")
assert available() is None
assert memory_left() == 1 << 30
assert run_captures([sys.executable, "-c", "pass"], load_router("office"), []) == []
print("done")
"""

IMPORT = """
import importlib, pkgutil
import npexplore
names = [found.name for found in pkgutil.walk_packages(npexplore.__path__, "npexplore.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
print(len(names) > 600)
"""


def run(program, folder):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT + program], cwd=folder, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()[-1]


@pytest.mark.slow
def test_commands_work_without_what_only_linux_has(tmp_path):
    assert run(WORK, tmp_path) == "done"
    made = {path.name for path in tmp_path.iterdir()}
    assert made >= {"kept", "a.parquet", "a.pcapng", "a.html", "routed", "routed.html", "points.parquet", "made"}


@pytest.mark.slow
def test_every_module_is_imported_without_what_only_linux_has(tmp_path):
    assert run(IMPORT, tmp_path) == "True"
