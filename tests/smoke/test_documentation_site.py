"""The documentation site builds without a warning or a network; every public name has a page, every word is found."""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from npexplore.cli import COMMANDS, TRACE_COMMANDS

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "-b", "html"]
    run = subprocess.run([*command, ROOT / "docs", folder], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return folder


def test_every_public_name_and_command_has_a_page(site):
    packages = [importlib.import_module(name) for name in ("npexplore", "npexplore.golden", "npexplore.testing")]
    wanted = {f"api/{package.__name__}.{name}" for package in packages for name in package.__all__}
    wanted |= {f"cli/{name}" for name in COMMANDS} | {f"cli/trace_{name}" for name in TRACE_COMMANDS}
    assert {page for page in wanted if not (site / "made" / f"{page}.html").exists()} == set()
    shown = (site / "made/api/npexplore.golden.Dir24_8.html").read_text()
    assert 'id="npexplore.golden.Dir24_8.lookup"' in shown  # methods too, not the bare name


def test_the_search_finds_every_glossary_word_and_first_uses_lead_there(site):
    index = json.loads(re.search(r"Search\.setIndex\((.*)\)", (site / "searchindex.js").read_text(), re.DOTALL)[1])
    pages = index["docnames"]
    found = {
        word for word, places in index["indexentries"].items() if "glossary" in {pages[page] for page, *_ in places}
    }
    rows = re.findall(r"^\| ([^|]+?) \| ", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)
    words = {word.strip() for row in rows if row != "word" for word in row.split(",")}
    assert {word.lower() for word in words} - {word.lower() for word in found} == set()
    assert 'href="glossary.html#term-' in (site / "machines.html").read_text()


def test_nothing_is_loaded_from_a_network(site):
    pages = [path.read_text() for path in site.rglob("*.html")]
    loaded = [found for page in pages for found in re.findall(r'<(?:script|link|img)[^>]+"(https?:[^"]+)"', page)]
    assert loaded == []
    assert len(pages) > 100
