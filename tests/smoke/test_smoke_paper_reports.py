"""The report pages of the papers: each runs, has every figure, tells misses and reasons, and answers in a minute."""

import re
from typing import NamedTuple

import pytest
from reference.browser import screenshot, share_of_colour
from reference.page_reader import read_as_a_reader
from reference.pages import OPEN, QUESTIONS, answers, rows, shared_page

from npexplore.designs import design
from npexplore.plot import theme

pytestmark = pytest.mark.slow


class Paper(NamedTuple):
    """A paper's page: what it has, and what it says."""

    last_figure: int
    plots: int
    drawings: int
    misses: int
    words: list[str]
    fast: list[str]
    binds: list[str]


PAPERS = {
    "10_ixp2400": Paper(
        last_figure=15,
        plots=18,
        drawings=3,
        misses=1,
        words=["blind: predicted before the value was known", "inconsistent"],
        fast=["Gb/s (printed: 5.05)", "Gb/s (printed: 6.25)"],
        binds=["dram.bus", "(printed: 97.4)", "hash"],
    ),
    "20_raw": Paper(
        last_figure=15,
        plots=13,
        drawings=0,
        misses=6,
        words=[
            "cross on static2: both use the link from tile 9 to tile 5",
            "the holder of each waits for the next",
            "1139 bad checksum",
            "4 ttl expired",
            "3 multicast",
        ],
        fast=["Gb/s (printed: 15)", "Mpps (printed: 9.75)"],
        binds=["dram_bus", "wire.in", "(printed: 36)"],
    ),
    "30_ixp1200": Paper(
        last_figure=10,
        plots=9,
        drawings=4,
        misses=5,
        words=["from memory", "inconsistent"],
        fast=["Gb/s (printed: 1.8)", "Mb/s (printed: 290)", "Mb/s (printed: 180)"],
        binds=["third engine (me2)", "SRAM of the rules is 9", "receivers (me0)", "(printed: <4)"],
    ),
    "40_soclib": Paper(
        last_figure=9,
        plots=13,
        drawings=4,
        misses=2,
        words=["no contention explains", "conflict cycles at 28 processors (withheld)", "inconsistent"],
        fast=["bit/cycle (printed: 0.3)", "bit/cycle (printed: 0.56)"],
        binds=["lock", "(printed: 28)"],
    ),
    "50_gorilla": Paper(
        last_figure=14,
        plots=6,
        drawings=5,
        misses=5,
        words=["a third of the four channels", "inconsistent"],
        fast=["200 Mpps (printed: 200)", "(printed: 195.7)"],
        binds=["engines", "(printed: some packet loss)"],
    ),
}
FEWER = {  # the same questions with fewer packets, at fewer points
    "10_ixp2400": {
        "seeds=3, packets=8192": "seeds=2, packets=400",
        "counts = (1, 2, 4, 8, 16, 32, 64)": "counts = (1, 8, 64)",
        "counts = (8, 16, 32, 64)": "counts = (8, 64)",
        "packets=2048": "packets=256",
        "npx.explain(best, amp)": "npx.explain(best, amp, packets=512)",
        "npx.explain(machine, dos)": "npx.explain(machine, dos, packets=512)",
    },
    "20_raw": {
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
    },
    "30_ixp1200": {
        'npx.check(["ixp1200"], seeds=2)': 'npx.check(["ixp1200"], seeds=1, packets=400)',
        "Simulations.of(check.predictions)": "Simulations.of(check.predictions, packets=400)",
        "edge.over_threads(router, simulations=simulations)": "edge.over_threads(router, (1, 512), simulations)",
        "[0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]": "[0.2, 1.0]",
        "diffserv.over_queues(router, (16, 64, 256))": "diffserv.over_queues(router, (64,))",
        "diffserv.over_timers(router, (1, 10, 100, 200, 500, 1000))": "diffserv.over_timers(router, (1, 200))",
    },
    "40_soclib": {
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
        "(1, 4, 8, 12, 16, 20, 24, 27, 28, 32, 40, 50, 60)": "(1, 8, 28)",
        "(8, 12, 16, 18, 20, 22, 24, 26, 28, 32, 36, 40)": "(8, 28)",
        "(1, 10, 100, 200, 400, 800, 1600)": "(1, 400)",
    },
    "50_gorilla": {
        'npx.check(["gorilla"], seeds=1)': 'npx.check(["gorilla"], seeds=1, packets=400)',
        "np_.with_(boot_us=20, window_us=40)": "np_.with_(boot_us=5, window_us=10)",
        'np_ = npx.design("gorilla")': 'np_ = npx.design("gorilla").with_(boot_us=5, window_us=10)',
        "performance.threads_and_delay(np_, (1, 2, 3, 4, 6, 8, 12, 16))": "performance.threads_and_delay(np_, (1, 4))",
    },
}
READINGS = {"20_raw": "raw", "30_ixp1200": "ixp1200"}  # whose other readings stand beside the misses


@pytest.fixture(scope="module", params=PAPERS)
def name(request):
    return request.param


@pytest.fixture  # of a module, it would stay that of another name: pytest does not see that a test sets its own
def page(name, tmp_path_factory):
    return shared_page(tmp_path_factory, name, FEWER[name])


@pytest.fixture
def html(page):
    return page.read_text()


def test_every_figure_of_the_paper_is_on_the_page(name, html):
    paper = PAPERS[name]
    told = set(re.findall(r"\(Figs?\. ([^)]*)\)", html))
    numbers = {int(n) for text in told for n in re.findall(r"\d+", text)}
    assert set(range(1, paper.last_figure + 1)) <= numbers
    assert numbers <= set(range(1, paper.last_figure + 1)) or name == "10_ixp2400"
    assert html.count("plotly-graph-div") >= paper.plots
    if name == "20_raw":
        assert html.count("y = x") >= 7
    else:
        assert len(re.findall(r"<svg[^>]*aria-label=", html)) == paper.drawings
    assert not re.search(r'(src|href)="(https?:)?//|"widget-view', html)


def test_misses_stand_in_the_table_with_their_reasons(name, html):
    assert html.count(">off</b>") >= PAPERS[name].misses
    readings = design(READINGS[name]).parameters.file.alternative if name in READINGS else ()
    text = " ".join(html.split())
    for words in (*PAPERS[name].words, *(one.name for one in readings)):
        assert words in text


def test_a_minute_is_enough(name, html):
    told = answers(html)
    assert list(told) == QUESTIONS
    for question, facts in zip(QUESTIONS, (PAPERS[name].fast, PAPERS[name].binds), strict=False):
        for fact in facts:
            assert fact in told[question]
    assert re.search(r"reproduces \d+ of the \d+ published values .* error of the values: \d+ %", told[QUESTIONS[2]])


def test_a_reader_in_a_browser_finds_nothing_amiss(page):
    read_as_a_reader(page)


@pytest.mark.parametrize("name", ["10_ixp2400"], scope="module")
def test_key_numbers_reach_the_index(page):
    index = (page.parent / "index.html").read_text()
    assert "IXP2400: packets buffered in DRAM" in index
    assert re.search(r"typical error[^<]*</dt><dd>\d+\.\d %", index)
    assert re.search(r"rows by label</dt><dd>\d+ predicted, \d+ post hoc, \d+ blind", index)


@pytest.mark.parametrize("name", ["10_ixp2400"], scope="module")
def test_the_first_screen_has_its_figure(page, tmp_path):
    def drawn(picture):
        return all(share_of_colour(picture, colour) > 5e-4 for colour in (theme.BLUE, theme.VERMILION))

    assert drawn(screenshot(page, tmp_path, width=1300, height=1200, drawn=drawn))


@pytest.mark.parametrize("name", ["50_gorilla"], scope="module")
def test_the_map_counts_the_claims_that_the_table_counts(html):
    (rates,) = (row for row in rows(html, "rows") if row["rows"].startswith("rates of configurations"))
    low, high, of = map(int, re.match(r"(\d+) to (\d+) of (\d+) claims$", rates[OPEN]).groups())
    assert low <= high < of < int(rates["scored"])  # the others are claims on several configurations
    assert f"Claims that hold, of {of}" in html
    wrong, _ = rates["reader"].split(" % wrong")
    assert re.search(rf"{100 - int(wrong)} %</b><br/?>(<span>)?of the claims on rates hold as well", html)
