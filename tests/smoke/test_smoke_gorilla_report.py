"""The report page of Gorilla: it runs, every figure is there, misses stand with their reasons."""

import re

import pytest

from npexplore.paths import share
from npexplore.report.build import build
from npexplore.report.notebooks import find_notebooks

pytestmark = pytest.mark.slow

FEWER = {  # the same questions, shorter
    "np_.with_(boot_us=20, window_us=40)": "np_.with_(boot_us=5, window_us=10)",
    'np_ = design("gorilla")': 'np_ = design("gorilla").with_(boot_us=5, window_us=10)',
    "performance.threads_and_delay(np_, (1, 2, 3, 4, 6, 8, 12, 16))": "performance.threads_and_delay(np_, (1, 4))",
}


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gorilla")
    source = share("notebooks", "50_gorilla.py").read_text()
    for usual, few in FEWER.items():
        assert usual in source
        source = source.replace(usual, few)
    (folder / "50_gorilla.py").write_text(source)
    build(find_notebooks(folder), folder).raise_for_errors()
    return (folder / "50_gorilla.html").read_text()


def test_every_figure_of_the_study_is_on_the_page(html):
    told = set(re.findall(r"\(Figs?\. ([^)]*)\)", html))
    assert {int(n) for text in told for n in re.findall(r"\d+", text)} == set(range(1, 15))
    assert html.count("plotly-graph-div") >= 6
    assert len(re.findall(r"<svg[^>]*aria-label=", html)) == 5


def test_misses_stand_in_the_table_with_their_reasons(html):
    assert html.count(">off</b>") >= 5
    assert "Fig. 7 itself asks for six channels" in html
    assert "inconsistent" in html
