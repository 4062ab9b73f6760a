"""Rules that hold for the whole repository."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def tracked(*patterns):
    listing = subprocess.run(["git", "ls-files", "--", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / line for line in listing.stdout.splitlines() if (ROOT / line).exists()]


def test_no_address_in_lock_and_build_files():
    files = [ROOT / "Makefile", ROOT / "pyproject.toml", *ROOT.glob("requirements*.lock"), ROOT / ".ci" / "run"]
    assert [p.name for p in files if re.search(r"https?://|--(extra-)?index-url|--find-links", p.read_text())] == []


def test_locked_packages_have_hashes():
    for lock in ROOT.glob("requirements*.lock"):
        pins = re.split(r"\n(?=[a-z])", "\n" + lock.read_text())[1:]
        assert len(pins) > 5
        assert [pin.split()[0] for pin in pins if "--hash=sha256:" not in pin] == []


def test_nothing_names_a_machine_it_was_written_on():
    pattern = re.compile(r"(?:^|[^\w.<])/(?:home|root|tmp|work)/[A-Za-z.]")
    files = tracked("*.py", "*.md", "*.toml", "*.csv", "Makefile", ".ci/run")
    assert [p.relative_to(ROOT).as_posix() for p in files if pattern.search(p.read_text())] == []


def test_test_files_have_unique_names():
    names = [p.name for p in (ROOT / "tests").rglob("test_*.py")]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_lab_opens_notebooks_by_double_click():
    """What `make lab` sets: JupyterLab's own settings code must find Jupytext as the viewer of Python files."""
    script = (
        "import json, sys; from jupyterlab_server.settings_utils import get_settings;"
        "schemas = sys.prefix + '/share/jupyter/lab/schemas';"
        "found, _ = get_settings('', schemas, '', '@jupyterlab/docmanager-extension:plugin');"
        "print(json.dumps(found['schema']['properties']['defaultViewers']['default']))"
    )
    environment = {**os.environ, "JUPYTER_CONFIG_PATH": str(ROOT / ".jupyter")}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["python"] == "Jupytext Notebook"
