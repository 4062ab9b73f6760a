"""The documentation site builds without a warning or a network; every public name has a page, every word is found."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from reference.once import once
from reference.public_names import public_packages

import npexplore
from npexplore.cli import COMMANDS, GROUPS
from npexplore.report.build import build
from npexplore.report.notebooks import read_notebook

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return once(tmp_path_factory, "site", make)


def make(folder):
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "-b", "html"]
    run = subprocess.run([*command, ROOT / "docs", folder], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_the_reference_shows_the_public_names_and_no_others(site):
    packages = public_packages()
    wanted = {
        f"{package}.{name}": getattr(module, name) for package, module in packages.items() for name in module.__all__
    }
    pages = {page.stem for page in (site / "made" / "api").glob("*.html")} - {"index"}
    assert pages <= {*wanted} - {*packages}
    assert {id(wanted[page]) for page in pages} == {id(wanted[name]) for name in {*wanted} - {*packages}}
    assert len(wanted) > 400
    shown = (site / "made/api/npexplore.golden.Dir24_8.html").read_text()
    assert 'id="npexplore.golden.Dir24_8.lookup"' in shown  # methods too, not the bare name
    assert "switch_cycles" in (site / "made/api/npexplore.machine.Processor.html").read_text()


def test_every_command_has_a_page(site):
    wanted = {f"cli/{name}" for name in COMMANDS} | {
        f"cli/{group}_{name}" for group, (listed, _) in GROUPS.items() for name in listed
    }
    assert {page for page in wanted if not (site / "made" / f"{page}.html").exists()} == set()


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


class Prose(HTMLParser):
    """The words of a page that may be links to the glossary, and the words that are."""

    ASIDE = frozenset({"a", "code", "pre", "math", "h1", "h2", "h3", "h4", "h5", "h6"})

    def __init__(self, page):
        super().__init__()
        self.plain, self.linked, self.within, self.inside = [], set(), 0, False
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.inside |= tag == "article"
        self.within += tag in self.ASIDE
        if tag == "a" and "glossary.html#term-" in (target := dict(attributes).get("href", "")):
            self.linked.add(target.partition("#")[2])

    def handle_endtag(self, tag):
        self.inside &= tag != "article"
        self.within -= tag in self.ASIDE

    def handle_data(self, data):
        if self.inside and not self.within:
            self.plain.append(data)


def test_every_page_links_each_glossary_word_that_it_uses(site):
    terms = dict.fromkeys(re.findall(r'id="(term-[^"]+)"', (site / "glossary.html").read_text()))
    words = {re.sub("^term-", "", term).replace("-", " "): term for term in terms}
    assert len(words) > 90
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, sorted(words, key=len, reverse=True)))})\b", re.IGNORECASE)
    lost = {}
    pages = [path for path in site.glob("*.html") if path.stem not in ("glossary", "coverage", "genindex", "search")]
    for page in (*pages, *(site / "tutorials").glob("*.html")):
        prose = Prose(page.read_text())
        used = {words[found.lower()] for text in prose.plain for found in pattern.findall(text)}
        if used - prose.linked:
            lost[page.stem] = used - prose.linked
    assert lost == {}
    assert len(pages) > 20


def test_nothing_is_loaded_from_a_network(site):
    pages = [path.read_text() for path in site.rglob("*.html")]
    loaded = [found for page in pages for found in re.findall(r'<(?:script|link|img)[^>]+"(https?:[^"]+)"', page)]
    assert loaded == []
    assert len(pages) > 100


def test_signatures_link_to_pandas_and_the_side_bar_has_the_switcher(site):
    page = (site / "made/api/npexplore.to_frame.html").read_text()
    assert 'href="https://pandas.pydata.org/docs/reference/api/pandas.DataFrame.html#pandas.DataFrame"' in page
    assert f'data-version="{".".join(npexplore.__version__.split(".")[:2])}"' in page
    index = (site / "index.html").read_text()
    assert 'href="made/machines/server.html"' in index
    assert 'href="../machines/server.html"' in page  # the side bar of a page in no tree, relative to its folder
    assert 'href="../../../made/machines/server.html"' in (site / "_modules/npexplore/machine/machine.html").read_text()


def test_versions_that_stand_beside_one_another_are_listed(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs/_site")
    from versions import versions

    for name in ("0.2", "0.10", "0.9", "draft"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").touch()
    (tmp_path / "0.11").mkdir()
    assert versions(tmp_path) == ["0.10", "0.9", "0.2"]


def test_the_gallery_has_each_notebook_and_figures_of_those_that_ran(site, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs/_site")
    from gallery import gallery_pages, pictures

    page = (site / "made/gallery/index.html").read_text()
    notebooks = [path.stem for path in (ROOT / "notebooks").glob("*.py")]
    assert [name for name in notebooks if f"{name}.ipynb" not in page] == []
    (tmp_path / "10_one.py").write_text(
        "# %% [markdown]\n# # Points\n# Three.\n\n# %%\nimport plotly.graph_objects as go\n"
        'go.Figure(go.Scatter(x=[1, 2, 3], y=[1, 4, 9]), {"title": {"text": "Squares"}})\n'
    )
    build([read_notebook(tmp_path / "10_one.py")], tmp_path / "out")
    assert "<svg" not in gallery_pages(tmp_path / "elsewhere", tmp_path)["gallery/index.md"]
    pages = gallery_pages(tmp_path / "out", tmp_path)
    assert pages["gallery/index.md"].count("<svg") == 1
    assert "## Points" in pages["gallery/index.md"]
    assert pictures([{"data": [{"type": "heatmap", "z": [[1]], "x": [1], "y": [1]}], "layout": {}}]) == []
