"""What pages share: chapters, the first screen, hostile text, cards, the search index, interpolated grids."""

import json
import re
from types import SimpleNamespace

import nbformat.v4 as nb
import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from reference.first_layer import HOSTILE, LINE, first_layer, run_of

from npexplore import __version__
from npexplore.designs import design
from npexplore.errors import InputError
from npexplore.plot.cross_check_plot import cross_check
from npexplore.plot.scoreboard import papers
from npexplore.report.changed_page import changed_page, said
from npexplore.report.chapters import split_cells
from npexplore.report.first_screens import LINES, agreement_sentence, first_screen, paper_screen, score_line, words_for
from npexplore.report.index import index_page
from npexplore.report.pages import page
from npexplore.report.search import search_js, search_lines
from npexplore.report.shell import as_json, figure_div, library, si
from npexplore.report.small import small
from npexplore.study.checking.changed import CHANGES
from npexplore.study.sweeping.landscape import landscape

THREE = {"How fast?": "3 Gb/s.", "What binds?": "1 bus.", "How close?": "2 %."}


def test_a_heading_of_level_two_opens_a_chapter_wherever_it_stands_but_in_code():
    text = "# One\n\nfirst\n\n## Two\n\n```\n## no heading\n```\n\n## Three\n"
    cells = split_cells(nb.new_notebook(cells=[nb.new_markdown_cell(text), nb.new_code_cell("## a comment")])).cells
    assert [cell.source.splitlines()[0] for cell in cells] == ["# One", "## Two", "## Three", "## a comment"]
    html = page(run_of(nb.new_markdown_cell(text)))
    assert html.index("first") < html.index('<details class="chapter">') < html.index("## no heading")


def test_nothing_hostile_becomes_markup():
    run = first_layer()
    html = page(run) + index_page([run]) + index_page([run], single_file=True)
    assert "<img" not in html
    assert "</script><" not in re.sub(r"</script>\s*<(?!img)", "", html)
    lines = search_js(search_lines(run.notebook))
    index = json.loads(lines.removeprefix("window.NPEXPLORE_PAGES = ").removesuffix(";\n"))
    assert any(HOSTILE in line["text"] for line in index)


def test_a_changed_machine_with_hostile_names_makes_no_markup(tmp_path):
    row = {"key": HOSTILE, "unit": HOSTILE, "published": "<b>4</b>", "before": 1.0, "after": 2.0, "change": "moves",
           "error_before": 0.1, "error_after": 0.2}  # fmt: skip
    told = {"counts": dict.fromkeys(CHANGES, 0), "rms": {"before": None}}
    html = changed_page(SimpleNamespace(rows=lambda: [row], to_dict=lambda: told), HOSTILE, tmp_path / "page.html")
    assert html.count("&lt;img src=x") >= 3
    assert "<img" not in html
    assert "<b>4" not in html


def test_the_outcome_of_a_change_is_told_in_sentences():
    counts = dict.fromkeys(CHANGES, 0) | {"agrees": 2, "moves": 1}
    document = {"counts": counts, "rms": {"before": 0.07, "after": 0.06}}
    told = "Of 3 rows 2 agree now, 1 moves. Root mean square error 7.0 % before, 6.0 % after."
    assert said(SimpleNamespace(to_dict=lambda: document)) == told


def test_prefixes_are_those_that_readers_know():
    assert [si(*one) for one in ((0.00052, "s"), (21.3, "pps"), (1200.0, "pps"), (90_000.0, "s"))] == [
        "520 µs", "21.3 pps", "1.20 kpps", "90,000 s",
    ]  # fmt: skip
    assert si(0.00171, "b/s") == "0.00171 b/s"  # neither a megabit nor a millibit
    assert si(2.87e8, "s") == "3,322 days"


def test_a_footer_ends_with_what_it_tells():
    foot = f"<footer>npexplore {__version__}"
    row = {"key": "a", "unit": "Gb/s", "published": "4", "before": 1.0, "after": 2.0, "change": "moves",
           "error_before": 0.1, "error_after": 0.2}  # fmt: skip
    told = {"counts": dict.fromkeys(CHANGES, 0), "rms": {"before": None}}
    assert f"{foot}</footer>" in changed_page(SimpleNamespace(rows=lambda: [row], to_dict=lambda: told), "a")
    assert f"{foot} · every page works" in index_page([first_layer()])


def test_a_figure_in_the_theme_of_all_does_not_carry_it():
    figure = go.Figure(go.Scatter(y=[1, 2], name=HOSTILE), layout={"template": "npexplore", "title": "T"})
    div = figure_div(figure.to_plotly_json(), "figure-1")
    assert '"template":"npexplore"' in div
    assert len(div) < 1000
    assert div.count("<") == 4  # a div and a script
    assert HOSTILE in json.loads(re.search(r'json"[^>]*>(.*)</script>', div)[1])["data"][0]["name"]


def test_a_first_screen_has_three_answers_with_numbers():
    with pytest.raises(InputError, match="has 3 answers, got 1"):
        first_screen({"How fast?": "3"}, go.Figure(), tries={})
    with pytest.raises(InputError, match="'What binds\\?' must state a number"):
        first_screen(THREE | {"What binds?": "the bus"}, go.Figure(), tries={})


def test_the_screen_of_a_study_closes_with_how_close_it_comes_and_shows_rows_no_fit_touched():
    rows = [
        {"key": f"paper.{k}", "role": "check" if k % 2 else "calibration", "label": "predicted", "error": 0.1 * k,
         "same_as": None, "verdict": "close", "published": "10", "point": 10.0, "lo": None, "hi": None, "unit": "1",
         "bounds": None, "queueing": None, "simulated": 10.0 + k}
        for k in range(50)
    ]  # fmt: skip
    check = SimpleNamespace(rows=rows, to_frame=lambda: pd.DataFrame(rows), scores=lambda: [LINE | {"error": 4.5}])
    two = dict(list(THREE.items())[:2])
    made = paper_screen(check, two, "paper.", tries={}, source="measurements", play="soclib")
    assert made.words.answers["How close to the measurements?"] == agreement_sentence(check)
    assert made.words.answers["How close to the measurements?"].startswith("The model reproduces 25 of the 25 ")
    assert made.words.tries == {"turn the knobs": "64_play.html#soclib"}
    shown = [told[0] for told in made.figure.data[0].customdata]
    assert len(shown) == LINES
    assert all(int(key.removeprefix("paper.")) % 2 for key in shown)
    one = paper_screen(check, two, {"paper.7": "this row"}, tries={})
    assert list(one.figure.data[0].y) == ["this row: <b>10</b>"]


def test_totals_of_a_card_are_those_of_the_scoreboard():
    run = first_layer()
    lines = next(o["data"] for c in run.cells.cells for o in c.get("outputs", []) if "scores" in str(o["data"]))
    lines = next(value for key, value in lines.items() if "scores" in key)
    row, score = papers(lines)[0], score_line(lines)
    assert score["free parameters"] == row["free parameters"][0] == "4"
    assert score["skill (1 is perfect, 0 the reader's)"] == row["skill"][0] == "0.25"
    assert score["rows by label"] == f"{row['predicted'][0]} predicted, {row['post hoc'][0]} post hoc"
    words = words_for(score["rows by label"])
    assert "<b>post hoc</b>: " in words
    assert "<b>blind</b>" not in words  # no row of this page is
    assert words_for("") == ""
    html = index_page([run])
    for told in score.values():
        assert f"<dd>{told}</dd>" in html
    assert '<a href="10_thing.html">mine</a>' in html


def test_published_numbers_stand_at_one_hundred_per_cent_with_their_intervals():
    nothing = {"bounds": None, "queueing": None, "role": "check", "unit": "1"}
    rows = pd.DataFrame([
        {"key": "a", "published": "10", "point": 10.0, "lo": 9.5, "hi": 10.5, "simulated": 12.0, **nothing},
        {"key": "b", "published": "<4", "point": None, "lo": None, "hi": 4.0, "simulated": 2.0, **nothing},
    ])  # fmt: skip
    figure = cross_check(rows, {"b": "second", "a": "first"}, title="t")
    assert list(figure.data[0].y) == ["second: <b>&lt;4</b>", "first: <b>10</b>"]
    assert list(figure.data[0].error_x.arrayminus) == pytest.approx([60, 5])
    assert list(figure.data[0].error_x.array) == pytest.approx([0, 5])
    assert list(figure.data[1].x) == pytest.approx([50, 120])
    assert figure.data[-1].name == "interval"  # in the legend, as they are grey bars without a name
    measured = rows[:1].assign(published="10.000123", point=10.000123, lo=10.0, hi=10.0)
    exact = cross_check(measured, {"a": "first"}, title="t")
    assert "interval" not in [trace.name for trace in exact.data]
    assert list(exact.data[0].y) == ["first: <b>10.00</b>"]
    assert exact.data[0].customdata[0][1] == "10.000123"  # whole under the pointer


def test_bars_of_a_card_stand_where_those_of_the_figure_do():
    layout = {"xaxis": {"categoryorder": "array", "categoryarray": ["1", "2", "3"]}}
    upright = go.Figure([go.Bar(name="b", x=["3"], y=[6]), go.Bar(name="a", x=["1", "2"], y=[1, 2])], layout)
    rows = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)"', small(json.loads(upright.to_json()), "t"))
    (x3, y3), (x1, y1), (x2, y2) = [(float(x), float(y)) for x, y in rows]
    assert x1 < x2 < x3
    assert y3 < y2 < y1
    lying = go.Figure([go.Bar(x=[4, 2], y=["first", "second"], orientation="h")])
    found = re.findall(r'<rect x="8" y="([\d.]+)" width="([\d.]+)"', small(json.loads(lying.to_json()), "t"))
    (top, wide), (below, narrow) = [(float(y), float(w)) for y, w in found]
    assert top < below
    assert wide == pytest.approx(2 * narrow, rel=0.05)


def test_a_card_has_a_picture_of_its_figure():
    figure = json.loads(go.Figure([go.Scatter(x=np.array([1.0, 10, 100]), y=[1, None, 3]), go.Bar(x=["a"], y=[2])],
                                  {"xaxis_type": "log"}).to_json())  # fmt: skip
    svg = small(figure, 'a "b"')
    assert 'aria-label="a &quot;b&quot;"' in svg
    assert svg.count("<polyline") == 1
    assert svg.count("<rect") == 1
    assert "<p>" not in svg  # nothing to tell apart
    named = go.Figure([go.Scatter(y=[1, 2], name=f"<{k}>", line_color="#123456") for k in range(6)])
    key = small(json.loads(named.to_json()), "x").partition("</svg>")[2]
    assert key.count('<i style="background:#123456"></i>&lt;') == 4
    assert key.endswith(" …</p></div>")
    assert small({"data": [{"type": "heatmap", "z": [[1]]}]}, "x") == ""


def test_the_library_is_shared_or_inside(tmp_path):
    assert library(tmp_path / "page.html") == {"plotly_file": "plotly.min.js"}
    assert (tmp_path / "plotly.min.js").stat().st_size > 1_000_000
    assert list(library(None)) == ["plotly_js"]


def test_between_nodes_a_landscape_follows_the_solvers():
    found = landscape(design("soclib"), None, {"processors": [1, 2, 4, 6, 8, 9, 12, 16], "lock": ["mutex"]},
                      between=["processors"])  # fmt: skip
    node, point = {"processors": 8, "lock": "mutex"}, {"processors": 11, "lock": "mutex"}
    exact, waiting, bits = found.solve(node)
    limits, queueing, same = found.at(node)
    assert (queueing, same) == pytest.approx((waiting, bits), rel=1e-12)
    assert limits == pytest.approx({name: exact[name] for name in limits}, rel=1e-12)
    missed = found.misses(6, seed=1)
    assert abs(missed["bounds"]).max() < 1e-9
    assert 1e-6 < abs(missed["queueing"]).max() < 0.02
    assert min(found.at(point)[0].values()) == pytest.approx(design("soclib").with_(**point).bounds().rate_pps)
    with pytest.raises(InputError, match="knob processors must be within its grid"):
        found.at({"processors": 64, "lock": "mutex"})
    with pytest.raises(InputError, match="rising numbers above 0, got \\[0, 1\\]"):
        landscape(design("soclib"), None, {"processors": [0, 1]})


@given(st.text(alphabet='\\<>/u0032ecfa"-!', max_size=12) | st.text(max_size=12))
@example("</script><!--")
@example(r"\u003e \\u002f")
def test_json_of_a_page_is_the_same_and_closes_no_script(text):
    made = as_json({"told": text})
    assert json.loads(made) == {"told": text}
    assert "<" not in made
