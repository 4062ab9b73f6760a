"""The report page of the IXP2400: it runs, every figure is there and drawn, and its key numbers reach the index."""

import re

import numpy as np
import pytest
from reference.browser import screenshot, share_of_colour
from reference.pages import page_of

from npexplore.plot import theme

pytestmark = pytest.mark.slow

FEWER = {"seeds=3, packets=8192, alternatives=True": "seeds=2, packets=400, alternatives=True"}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return page_of("10_ixp2400", tmp_path_factory.mktemp("ixp2400"), FEWER)


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
    assert re.search(r"rms error of throughputs[^<]*post hoc[^<]*</dt><dd>\d+\.\d %", index)
    assert re.search(r"blind numbers inside or close[^<]*</dt><dd>\d+ of \d+", index)


def test_drawings_and_figures_are_seen_in_a_browser(page, tmp_path):
    picture = screenshot(page, tmp_path, width=1300, height=20_000)
    for colour in (theme.BLUE, theme.VERMILION, theme.GREEN, theme.PURPLE):
        assert share_of_colour(picture, colour) > 5e-4
    strips = np.array_split(picture[:, 320:], 40)
    assert np.mean([strip.std() > 5 for strip in strips]) > 0.8
