"""The report page of Gorilla: it runs, every figure is there, misses stand with their reasons."""

import re

import pytest
from reference.page_reader import read_as_a_reader
from reference.pages import OPEN, QUESTIONS, answers, rows, shared_page

pytestmark = pytest.mark.slow

FEWER = {  # the same questions, shorter
    'npx.check(["gorilla"], seeds=1)': 'npx.check(["gorilla"], seeds=1, packets=400)',
    "np_.with_(boot_us=20, window_us=40)": "np_.with_(boot_us=5, window_us=10)",
    'np_ = npx.design("gorilla")': 'np_ = npx.design("gorilla").with_(boot_us=5, window_us=10)',
    "performance.threads_and_delay(np_, (1, 2, 3, 4, 6, 8, 12, 16))": "performance.threads_and_delay(np_, (1, 4))",
}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return shared_page(tmp_path_factory, "50_gorilla", FEWER)


@pytest.fixture(scope="module")
def html(page):
    return page.read_text()


def test_every_figure_of_the_study_is_on_the_page(html):
    told = set(re.findall(r"\(Figs?\. ([^)]*)\)", html))
    assert {int(n) for text in told for n in re.findall(r"\d+", text)} == set(range(1, 15))
    assert html.count("plotly-graph-div") >= 6
    assert len(re.findall(r"<svg[^>]*aria-label=", html)) == 5


def test_misses_stand_in_the_table_with_their_reasons(html):
    assert html.count(">off</b>") >= 5
    assert "a third of the four channels" in html
    assert "inconsistent" in html


def test_the_map_counts_the_claims_that_the_table_counts(html):
    (rates,) = (row for row in rows(html, "rows") if row["rows"].startswith("rates of configurations"))
    low, high, of = map(int, re.match(r"(\d+) to (\d+) of (\d+) claims$", rates[OPEN]).groups())
    assert low <= high < of < int(rates["scored"])  # the others are claims on several configurations
    assert f"Claims that hold, of {of}" in html
    wrong, _ = rates["reader"].split(" % wrong")
    assert re.search(rf"{100 - int(wrong)} %</b><br/?>(<span>)?of the claims on rates hold as well", html)


def test_a_minute_is_enough(html):
    told = answers(html)
    assert list(told) == QUESTIONS
    for fact in ["200 Mpps (printed: 200)", "(printed: 195.7)"]:
        assert fact in told["How fast?"]
    for fact in ["engines", "(printed: some packet loss)"]:
        assert fact in told["What binds?"]
    assert re.search(r"reproduces \d+ of the \d+ published values .* error of the values: \d+ %", told[QUESTIONS[2]])


def test_a_reader_in_a_browser_finds_nothing_amiss(page):
    read_as_a_reader(page)
