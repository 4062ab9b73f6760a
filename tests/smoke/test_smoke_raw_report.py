"""The report page of RAW: it runs, every figure is there, misses stand beside other readings, captures agree."""

import re

import pytest
from reference.page_reader import read_as_a_reader
from reference.pages import QUESTIONS, answers, shared_page

from npexplore.designs import design

pytestmark = pytest.mark.slow

FEWER = {  # the same questions with fewer packets
    'npx.check(["raw"], seeds=1)': 'npx.check(["raw"], seeds=1, packets=320)',
    "packets=320": "packets=64",
    "(4, 8, 9, 10, 11, 12, 15, 17)": "(4, 10, 17)",
    "(1, 2, 2.5, 3, 3.5, 4, 4.25, 4.5, 4.75, 5, 5.5, 6)": "(1, 3.5, 6)",
    "(2, 4, 6, 8, 9, 10, 11, 12, 14, 16)": "(2, 9, 16)",
    '"v3", "v4"), short, gbps)': '"v3", "v4"), short, gbps, packets=160)',
    "packets=2000": "packets=320",
    "packets=800": "packets=160",
    "packets=1000": "packets=160",
    "packets=640": "packets=160",
}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return shared_page(tmp_path_factory, "20_raw", FEWER)


@pytest.fixture(scope="module")
def html(page):
    return page.read_text()


def test_every_figure_of_the_paper_is_on_the_page(html):
    told = set(re.findall(r"\((?:Fig|Figs)\. ([^)]*)\)", html))
    assert {int(n) for text in told for n in re.findall(r"\d+", text)} == set(range(1, 16))
    assert html.count("plotly-graph-div") >= 13
    assert html.count("y = x") >= 7


def test_misses_stand_beside_other_readings(html):
    assert html.count(">off</b>") >= 6
    for alternative in design("raw").parameters.file.alternative:
        assert alternative.name in html


def test_refusal_circle_and_captures(html):
    assert "cross on static2: both use the link from tile 9 to tile 5" in " ".join(html.split())
    assert "the holder of each waits for the next" in html
    for told in ("1139 bad checksum", "4 ttl expired", "3 multicast"):
        assert told in html


def test_a_minute_is_enough(html):
    told = answers(html)
    assert list(told) == QUESTIONS
    for fact in ["Gb/s (printed: 15)", "Mpps (printed: 9.75)"]:
        assert fact in told["How fast?"]
    for fact in ["dram_bus", "wire.in", "(printed: 36)"]:
        assert fact in told["What binds?"]
    assert re.search(r"reproduces \d+ of the \d+ published values .* error of the values: \d+ %", told[QUESTIONS[2]])


def test_a_reader_in_a_browser_finds_nothing_amiss(page):
    read_as_a_reader(page)
