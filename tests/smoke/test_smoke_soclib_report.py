"""The report page of the SoCLIB multiprocessor: it runs, every figure is there, misses stand with their reasons."""

import re

import pytest
from reference.page_reader import read_as_a_reader
from reference.pages import QUESTIONS, answers, shared_page

pytestmark = pytest.mark.slow

FEWER = {  # the same questions at fewer points
    'npx.check(["soclib"], seeds=3)': 'npx.check(["soclib"], seeds=1, packets=400)',
    "(1, 2, 4, 5, 6, 7, 8, 9, 10, 12, 16, 20)": "(1, 8)",
    "(1, 8, 16, 24, 27, 28, 29, 32, 40)": "(1, 27, 30)",
    "(1, 16, 28, 36, 45, 47, 48, 60)": "(1, 45)",
    "(24, 26, 27, 28, 30, 34)": "(27, 30)",
    "(3, 9, 12, 15, 18, 21, 24, 27, 30)": "(6, 15)",
    "(1, 6, 7, 8, 9, 10, 12, 16, 24)": "(1, 8)",
    "(24, 28, 30, 38, 48, 70)": "(24, 36)",
    "(40, 45, 48, 54, 60)": "(40, 45)",
    "(1, 16, 24, 26, 28), crossing": "(8, 22), crossing",
    "(8, 27, 28, 32)": "(8, 28)",
    "(1, 4, 8, 12, 16, 20, 24, 27, 28, 32, 40, 50, 60)": "(1, 8, 28)",
    "(8, 12, 16, 18, 20, 22, 24, 26, 28, 32, 36, 40)": "(8, 28)",
    "(1, 10, 100, 200, 400, 800, 1600)": "(1, 400)",
}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return shared_page(tmp_path_factory, "40_soclib", FEWER)


@pytest.fixture(scope="module")
def html(page):
    return page.read_text()


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


def test_a_minute_is_enough(html):
    told = answers(html)
    assert list(told) == QUESTIONS
    for fact in ["bit/cycle (printed: 0.3)", "bit/cycle (printed: 0.56)"]:
        assert fact in told["How fast?"]
    for fact in ["lock", "(printed: 28)"]:
        assert fact in told["What binds?"]
    assert re.search(r"reproduces \d+ of the \d+ published values .* error of the values: \d+ %", told[QUESTIONS[2]])


def test_a_reader_in_a_browser_finds_nothing_amiss(page):
    read_as_a_reader(page)
