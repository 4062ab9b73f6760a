"""What is left when a command is killed, its disk is full, its folder or its memory closed, or its user nobody.

A file under its name is whole or is not there, the same command then works, and what went wrong is one line. Sweeps
that are killed and workers that die are in test_durable_sweeps.py and tests/unit/test_sweep_cluster.py.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

import pandas as pd
import pytest
from reference.capture_files import ethernet, ipv4, pcap, udp

from npexplore.paths import share

pytestmark = pytest.mark.slow

PROGRAM = "import sys; from npexplore.cli import main; sys.exit(main(sys.argv[1:]))"
NPEXPLORE = [sys.executable, "-c", PROGRAM]
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
SWEEP = "sweep ixp2400 --packet-bytes 64 --solver bounds --set banks=2,4,8 --out {out}/a.parquet"
COMMANDS = {
    "pcap": "trace convert {traffic} {out}/a.pcap --where length>20",
    "parquet": "trace convert {traffic} {out}/a.parquet",
    "report": "trace report {traffic} -o {out}/a.html",
    "stats": "trace stats {traffic} {capture} --keep {out}/kept --json",
    "route": "route --config office --in office={capture} --any-station --out {out} --drops {out}/drops.csv",
    "sweep": SWEEP,
    "load": "load smartnic --packet-bytes 65 --out {out}/a.parquet",
}


@pytest.fixture(scope="module")
def traffic(tmp_path_factory):
    """50,000 packets of many flows."""
    return packets(50_000, tmp_path_factory.mktemp("traffic") / "traffic.pcap")


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """As many as the sections of a page need."""
    return packets(2_000, tmp_path_factory.mktemp("few") / "traffic.pcap")


def packets(number, path):
    some = [ethernet(ipv4(udp(sport=k, payload=bytes(k % 700)), src=k << 8, dst=k % 97)) for k in range(1000)]
    path.write_bytes(pcap([(k // 100, k % 100, some[k * 7 % 1000], None) for k in range(number)]))
    return path


def command(name, out, traffic):
    capture = share("data", "captures", "zeek_wikipedia.pcap")
    return [*NPEXPLORE, *(part.format(out=out, traffic=traffic, capture=capture) for part in COMMANDS[name].split())]


def run(*arguments, **options):
    return subprocess.run(list(map(str, arguments)), capture_output=True, text=True, check=False, **options)


def left(folder):
    """What stands in a folder under names of its own; what is not finished has a dot in front or is in a database."""
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    return {name: (folder / name).read_bytes() for name in names if not is_part(name)}


def is_part(name):
    return name.startswith(".") or name.endswith((".part", ".lock")) or ".sqlite" in name


def same(name, one, other):
    """Whether two finished files are: byte by byte, but for ids in pages and times of day in a sweep's rows."""
    if name.endswith(".html"):
        return one.rstrip().endswith(b"</html>") and abs(len(one) - len(other)) < len(one) / 100
    return True if name.endswith(".parquet") else one == other


def processor_s(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def kill_after(arguments, seconds):
    """Run a command and kill it when it has used so much processor time; return whether it was killed."""
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and processor_s(process.pid) < seconds:
        time.sleep(0.002)
    process.kill()
    return process.wait() < 0


@pytest.mark.parametrize("name", ["pcap", "parquet", "report", "route"])
def test_killed_at_any_moment(name, traffic, few, tmp_path):
    """In the second half, where files are finished; the moment is drawn from the name."""
    draw, traffic = Random(name), few if name == "report" else traffic
    out, undisturbed = tmp_path / "out", tmp_path / "undisturbed"
    out.mkdir()
    undisturbed.mkdir()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    first = run(*command(name, undisturbed, traffic))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert first.returncode == 0, first.stderr
    wanted, total = left(undisturbed), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert wanted
    moment = draw.uniform(0.6, 1) * total
    while not kill_after(command(name, out, traffic), moment):  # it was quicker this time
        moment *= 0.8
    for file, data in left(out).items():
        assert same(file, data, wanted[file]), f"{file} is there and not whole"
    again = run(*command(name, out, traffic))
    assert (again.returncode, again.stdout.replace(str(out), str(undisturbed))) == (0, first.stdout)
    found = left(out)
    assert found.keys() == wanted.keys()
    assert all(same(file, found[file], wanted[file]) for file in wanted)
    assert not list(out.rglob(".*.part")), "what the killed ones left is swept"
    if name == "parquet":
        pd.testing.assert_frame_equal(*(pd.read_parquet(folder / "a.parquet") for folder in (out, undisturbed)))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_is_one_line_and_leaves_no_half_a_file(name, traffic, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    full = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))  # noqa: E731
    ended = run(*command(name, out, traffic), preexec_fn=full)
    assert ended.returncode == 2, ended.stderr
    *notes, last = ended.stderr.splitlines()
    assert last.startswith("npexplore: ")
    assert "File too large" in last or "No space left" in last
    assert "internal error" not in last
    assert len(notes) <= 1
    assert all(len(data) < 3000 for data in left(out).values())
    assert not list(out.rglob("*.part"))


def test_what_does_not_fit_in_memory_is_told_before_it_is_read(traffic, tmp_path):
    large = tmp_path / "large.pcap"
    large.write_bytes(traffic.read_bytes())
    with large.open("r+b") as file:
        file.truncate(1 << 40)  # holes of zeros: records of no bytes
    program = f"import npexplore; npexplore.read_capture({str(large)!r})"
    ended = run(sys.executable, "-c", program, timeout=300)
    assert ended.returncode == 1
    assert "GB of memory" in ended.stderr.splitlines()[-1]


@pytest.fixture
def open_folder():
    """A folder that every user may look into, as pytest's own are not."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


@pytest.mark.parametrize("name", ["pcap", "report", "route", "sweep", "load"])
def test_a_folder_that_takes_no_files_is_told_before_the_work(name, open_folder):
    out = open_folder / "out"
    out.mkdir(mode=0o555)
    capture = share("data", "captures", "zeek_wikipedia.pcap")
    ended = run(*NOBODY, *command(name, out, capture), env={**os.environ, "HOME": "/nonexistent"})
    assert ended.returncode == 2, ended.stderr
    (line,) = ended.stderr.splitlines()
    assert str(out) in line
    assert "internal error" not in line
    assert (
        name not in ("sweep", "load") or "is not writable" in line
    )  # before kernels are imported, which takes long here
    assert left(out) == {}
