"""The platform wheel, installed elsewhere, can do what the checkout can: it brings models, data, notebooks, kernels."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from reference.once import once

import npexplore

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A new environment with the wheel; the libraries are borrowed from this one, the package is not."""
    folder = once(tmp_path_factory, "wheel", install)
    return folder / "venv" / "bin", folder


def install(folder):
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)  # the wheel from the source archive
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv")
    python = folder / "venv" / "bin" / "python"
    run(sys.executable, "-m", "npexplore", "warm", "--wheel", next(folder.glob("*-none-any.whl")), cwd=ROOT)
    wheel = next(folder.glob("*-cp3*.whl"))
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel)
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")


def run(*command, cwd=None, status=0, **changed):
    environment = {**os.environ, "JUPYTER_PATH": f"{sys.prefix}/share/jupyter", **changed}  # nbconvert's own templates
    environment.pop("PYTHONPATH", None)
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == status, f"{words}: {done.stderr[-2000:]}"
    return done.stdout


def test_it_is_the_wheel_that_runs(installed):
    bin_, folder = installed
    home = run(bin_ / "python", "-c", "import npexplore; print(npexplore.__file__)", cwd=folder)
    assert Path(home.strip()).is_relative_to(folder)
    assert run(bin_ / "npexplore", "--version", cwd=folder) == f"npexplore {npexplore.__version__}\n"


def test_the_source_archive_and_the_tree_make_the_same_wheel(installed, tmp_path):
    run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", tmp_path, ROOT)
    (by_archive,), (by_tree,) = (folder.glob("*-none-any.whl") for folder in (installed[1], tmp_path))
    assert by_archive.read_bytes() == by_tree.read_bytes()


COMPILES_NOTHING = """
import sys, numba.core.event as event; from npexplore.cli import main
with event.install_recorder("numba:compile") as compiled: status = main(sys.argv[1:])
sys.exit(status or [entry.data["dispatcher"] for _, entry in compiled.buffer] or 0)
"""
EXPLAIN = ["explain", "ixp2400", "--packet-bytes", "64", "--no-sensitivity", "--json"]


def test_it_compiles_nothing_where_nothing_can_be_kept(installed, tmp_path):
    """Its kernels are for any processor of this kind; what they compute is byte for byte what native ones do."""
    bin_, _ = installed

    def printed(*words):
        return run(bin_ / "python", "-c", COMPILES_NOTHING, *words, cwd=tmp_path, NUMBA_CACHE_DIR="/proc/none")

    for words in (["trace", "stats", "sample:zeek_wikipedia"], ["explain", "smartnic", *EXPLAIN[2:]]):
        printed(*words)
    native = run(sys.executable, "-m", "npexplore", *EXPLAIN, cwd=ROOT, NPEXPLORE_KERNELS=str(tmp_path))
    assert [*tmp_path.glob("engine.advance*")]
    assert repeatable(printed(*EXPLAIN)) == repeatable(native)


def repeatable(document):
    """What an explanation says without the clock, which ends the estimate and is printed with it."""
    kept = json.loads(document)
    return json.dumps([kept[part][solver] for part in ("solvers", "breakdown") for solver in ("simulated", "queueing")])


def test_compiled_kernels_name_no_folder_of_the_building_machine(installed):
    bin_, _ = installed
    place = run(bin_ / "python", "-c", "from npexplore.jit.files import SHIPPED; print(SHIPPED)").strip()
    entries = [*Path(place).glob("*.kernel")]
    assert entries
    for entry in entries:
        content = entry.read_bytes()
        assert str(ROOT).encode() not in content
        assert sys.prefix.encode() not in content


def test_it_reads_a_capture_it_brings(installed):
    bin_, folder = installed
    script = "import npexplore as n; print(n.read_capture('sample:zeek_wikipedia').path)"
    assert Path(run(bin_ / "python", "-c", script, cwd=folder).strip()).is_relative_to(folder)


def test_the_tour_of_the_readme_runs_anywhere(installed, tmp_path):
    """Its short commands; those that take a minute run in the checkout (test_documents.py)."""
    bin_, _ = installed
    text = (ROOT / "README.md").read_text()
    lines = [line.partition("#")[0].strip() for line in text.splitlines() if line.startswith("npexplore ")]
    short = [line for line in lines if line.split()[1] in ("designs", "trace", "route", "solve", "schema", "new")]
    assert len(short) >= 6
    for line in short:
        run(bin_ / "npexplore", *shlex.split(line)[1:], cwd=tmp_path)
    assert {"routed.html", "wikipedia.html", "mine"} <= {path.name for path in tmp_path.iterdir()}
    tour = text.partition("```python\n")[2].partition("```")[0]
    assert "data/" not in tour
    said = run(bin_ / "python", "-c", tour, cwd=tmp_path)
    assert "NaN" not in said  # no columns of what is missing
    assert len(said.splitlines()) >= 12


USER = """
import npexplore as npx
from npexplore.machine import FifoServer, Machine

reveal_type(npx.design("ixp2400"))
reveal_type(npx.design("ixp2400").with_(threads=16).bounds(npx.workload(packet_bytes=64)))
reveal_type(npx.read_capture("my.pcap"))
reveal_type(npx.golden.Dir24_8)
reveal_type(npx.load_curve)
reveal_type(FifoServer("hash", 1e-9).units)
reveal_type(Machine)
npx.simulat
"""


def test_type_checkers_see_what_users_call(installed, tmp_path):
    """Classes, never Any; a name that is not public is an error."""
    bin_, _ = installed
    (tmp_path / "user.py").write_text(USER)
    cache = tmp_path / "cache"
    if (ROOT / ".mypy_cache").exists():  # what `make check` found out of the same modules
        shutil.copytree(ROOT / ".mypy_cache", cache)
    command = [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", "--cache-dir", cache]
    said = run(*command, "--python-executable", bin_ / "python", "user.py", cwd=tmp_path, status=1)
    shown = re.findall(r'Revealed type is "(.*)"', said)
    assert [re.sub(r"\b(\w+\.)+", "", one) for one in shown[:3]] == ["Design", "Prediction", "Capture"]
    assert len(shown) == 7
    assert not any("Any" in one.split("->")[-1] for one in shown)
    assert 'Module has no attribute "simulat"' in said


def test_it_predicts_and_audits(installed):
    bin_, folder = installed
    script = "import npexplore as n; print([n.design(name).machine().name for name in n.design_names()])"
    assert run(bin_ / "python", "-c", script, cwd=folder).count(",") == len(npexplore.design_names()) - 1
    assert json.loads(run(bin_ / "npexplore", "audit", "--json", cwd=folder))["rows"]
    assert json.loads(run(bin_ / "npexplore", "check", "--design", "ixp2400_dram", "--json", cwd=folder))["rows"]


def test_it_brings_every_model_number_and_notebook(installed):
    """Checks of the other designs read these, and simulate for minutes what the checkout simulates too."""
    bin_, folder = installed
    script = "from npexplore.paths import share; print(share('models').parent)"
    there = Path(run(bin_ / "python", "-c", script, cwd=folder).strip())
    assert there.is_relative_to(folder)
    for name in ("models", "data", "notebooks"):
        kept = subprocess.run(["git", "ls-files", name], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        assert kept
        for file in kept.splitlines():
            assert (there / file).read_bytes() == (ROOT / file).read_bytes()


def test_it_writes_the_report(installed):
    bin_, folder = installed
    run(bin_ / "npexplore", "report", "--design", "start", "--out", folder / "made", cwd=folder)
    assert "plotly-graph-div" in (folder / "made" / "00_start.html").read_text()
