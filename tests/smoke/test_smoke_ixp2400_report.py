"""The report page of the IXP2400: it runs, every figure is there and drawn, and its key numbers reach the index."""

import re

import pytest
from reference.browser import screenshot, share_of_colour
from reference.page_reader import read_as_a_reader
from reference.pages import QUESTIONS, answers, shared_page

from npexplore.plot import theme

pytestmark = pytest.mark.slow

FEWER = {  # the same questions with fewer packets, at fewer points
    "seeds=3, packets=8192": "seeds=2, packets=400",
    "counts = (1, 2, 4, 8, 16, 32, 64)": "counts = (1, 8, 64)",
    "counts = (8, 16, 32, 64)": "counts = (8, 64)",
    "packets=2048": "packets=256",
    "npx.explain(best, amp)": "npx.explain(best, amp, packets=512)",
    "npx.explain(machine, dos)": "npx.explain(machine, dos, packets=512)",
}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return shared_page(tmp_path_factory, "10_ixp2400", FEWER)


def test_every_figure_of_the_study_is_on_the_page(page):
    html = page.read_text()
    told = set(re.findall(r"\(Figs?\. ([^)]*)\)", html))
    numbers = {int(n) for text in told for n in re.findall(r"\d+", text)}
    assert set(range(1, 16)) <= numbers
    assert html.count("plotly-graph-div") >= 18
    assert len(re.findall(r"<svg[^>]*aria-label=", html)) == 3
    assert '"widget-view' not in html


def test_the_page_needs_no_network(page):
    html = page.read_text()
    assert not re.search(r'(src|href)="(https?:)?//', html)


def test_misses_stand_in_the_table_with_their_reasons(page):
    html = page.read_text()
    assert html.count(">off</b>") >= 1
    assert "blind: predicted before the value was known" in html
    assert "inconsistent" in html


def test_key_numbers_reach_the_index(page):
    index = (page.parent / "index.html").read_text()
    assert "IXP2400: packets buffered in DRAM" in index
    assert re.search(r"typical error[^<]*</dt><dd>\d+\.\d %", index)
    assert re.search(r"rows by label</dt><dd>\d+ predicted, \d+ post hoc, \d+ blind", index)


def test_the_first_screen_has_its_figure(page, tmp_path):
    def drawn(picture):
        return all(share_of_colour(picture, colour) > 5e-4 for colour in (theme.BLUE, theme.VERMILION))

    assert drawn(screenshot(page, tmp_path, width=1300, height=1200, drawn=drawn))


def test_a_minute_is_enough(page):
    told = answers(page.read_text())
    assert list(told) == QUESTIONS
    for fact in ["Gb/s (printed: 5.05)", "Gb/s (printed: 6.25)"]:
        assert fact in told["How fast?"]
    for fact in ["dram.bus", "(printed: 97.4)", "hash"]:
        assert fact in told["What binds?"]
    assert re.search(r"reproduces \d+ of the \d+ published values .* error of the values: \d+ %", told[QUESTIONS[2]])


def test_a_reader_in_a_browser_finds_nothing_amiss(page):
    read_as_a_reader(page)
