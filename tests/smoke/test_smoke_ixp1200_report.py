"""The report page of the IXP1200: it runs, every figure is there, misses stand beside the readings that mend them."""

import re

import pytest
from reference.page_reader import read_as_a_reader
from reference.pages import QUESTIONS, answers, shared_page

from npexplore.designs import design

pytestmark = pytest.mark.slow

FEWER = {  # the same questions at fewer points, with fewer packets
    'npx.check(["ixp1200"], seeds=2)': 'npx.check(["ixp1200"], seeds=1, packets=400)',
    "Simulations.of(check.predictions)": "Simulations.of(check.predictions, packets=400)",
    "edge.over_threads(router, simulations=simulations)": "edge.over_threads(router, (1, 512), simulations)",
    "loads = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]": "loads = [0.2, 1.0]",
    "diffserv.over_queues(router, (16, 64, 256))": "diffserv.over_queues(router, (64,))",
    "diffserv.over_timers(router, (1, 10, 100, 200, 500, 1000))": "diffserv.over_timers(router, (1, 200))",
}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return shared_page(tmp_path_factory, "30_ixp1200", FEWER)


@pytest.fixture(scope="module")
def html(page):
    return page.read_text()


def test_every_figure_of_the_paper_is_on_the_page(html):
    told = set(re.findall(r"\(Figs?\. ([^)]*)\)", html))
    assert {int(n) for text in told for n in re.findall(r"\d+", text)} == set(range(1, 11))
    assert html.count("plotly-graph-div") >= 9
    assert len(re.findall(r"<svg[^>]*aria-label=", html)) == 4


def test_misses_stand_beside_the_readings_that_mend_them(html):
    assert html.count(">off</b>") >= 5
    for alternative in design("ixp1200").parameters.file.alternative:
        assert alternative.name in html
    assert "from memory" in html
    assert "inconsistent" in html


def test_a_minute_is_enough(html):
    told = answers(html)
    assert list(told) == QUESTIONS
    for fact in ["Gb/s (printed: 1.8)", "Mb/s (printed: 290)", "Mb/s (printed: 180)"]:
        assert fact in told["How fast?"]
    for fact in ["third engine (me2)", "SRAM of the rules is 9", "receivers (me0)", "(printed: <4)"]:
        assert fact in told["What binds?"]
    assert re.search(r"reproduces \d+ of the \d+ published values .* error of the values: \d+ %", told[QUESTIONS[2]])


def test_a_reader_in_a_browser_finds_nothing_amiss(page):
    read_as_a_reader(page)
