"""The report page of the SoCLIB multiprocessor: it runs, every figure is there, misses stand with their reasons."""

import re

import pytest
from reference.pages import page_of

pytestmark = pytest.mark.slow

FEWER = {  # the same questions at fewer points
    'npx.check(["soclib"], seeds=3)': 'npx.check(["soclib"], seeds=1)',
    "study_sets.load_sets()": "study_sets.load_sets()[::9]",
    "(1, 2, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20)": "(1, 8)",
    "(1, 4, 8, 16, 20, 24, 25, 26, 27, 28, 29, 30, 32, 36, 40)": "(1, 27, 30)",
    "(1, 16, 24, 28, 36, 42, 44, 45, 46, 47, 48, 52, 60)": "(1, 45)",
    "(24, 26, 27, 28, 29, 30, 32, 34)": "(27, 30)",
    "(3, 6, 9, 12, 13, 14, 15, 18, 21, 24, 27, 30)": "(6, 15)",
    "(1, 4, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24)": "(1, 8)",
    "(16, 24, 26, 27, 28, 30, 32, 34, 36, 38, 48, 56, 60, 70)": "(24, 36)",
    "(40, 45, 46, 48, 52, 56, 60)": "(40, 45)",
    "(1, 8, 16, 18, 20, 22, 24, 27, 28, 30)": "(8, 22)",
    "(1, 10, 100, 200, 400, 800, 1600)": "(1, 400)",
}


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    return page_of("40_soclib", tmp_path_factory.mktemp("soclib"), FEWER).read_text()


def test_every_figure_of_the_study_is_on_the_page(html):
    told = set(re.findall(r"\(Figs?\. ([^)]*)\)", html))
    assert {int(n) for text in told for n in re.findall(r"\d+", text)} == set(range(1, 10))
    assert html.count("plotly-graph-div") >= 13
    assert len(re.findall(r"<svg[^>]*aria-label=", html)) == 4


def test_misses_stand_in_the_table_with_their_reasons(html):
    assert html.count(">off</b>") >= 2
    assert "no contention explains" in html
    assert "conflict cycles at 28 processors (withheld)" in html
    assert "inconsistent" in html
