"""Lean pages: what is said once looks as before, figures keep what a screen shows, and nothing else changes."""

import base64
import json

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from npexplore.plot.line_plots import STEPS, curves
from npexplore.report.lean import lean, lean_trace


def values_of(array):
    return np.frombuffer(base64.b64decode(array["bdata"]), dtype=array["dtype"])


def test_styles_of_many_cells_are_said_once_and_those_of_few_stay():
    cells = "<tr>" + '<td style="color:red">1</td>' * 5 + '<td style="color:blue">2</td>' * 4 + "</tr>"
    body, css = lean(cells + '<td style="margin:0">3</td>')
    assert body == "<tr>" + "<td>1</td>" * 5 + "<td class=c1>2</td>" * 4 + '</tr><td style="margin:0">3</td>'
    assert ".table table:not(.dataframe) td:not([class]):not([style]) { color:red }" in css
    assert ".c1.c1.c1 { color:blue }" in css


def test_cells_over_several_columns_keep_their_columns():
    body, css = lean('<td colspan="7" style="padding:0">a</td>' * 4 + '<td style="margin:0">b</td>' * 5)
    assert body.startswith('<td colspan="7" class=c1>a</td>')
    assert "{ padding:0 }" in css


def test_a_span_that_says_nothing_goes():
    assert (
        lean('<td><span>+0.3 %</span> <span style="x">1</span></td>')[0] == '<td>+0.3 % <span style="x">1</span></td>'
    )


def test_code_keeps_its_text():
    code = '<span class="n">a</span> <span class="o">&lt;</span> <span class="mi">1</span>'
    assert lean(code)[0] == 'a &lt; <span class="mi">1</span>'


@pytest.mark.parametrize(
    ("values", "kind"),
    [([1.0, 2.0, 300.0], "i2"), ([1.0, -2.0], "i1"), ([0.1, 0.25], "f4"), ([1e9 + 0.25, 1e9 + 0.5], "f8"),
     ([0.5, float("nan")], "f8"), ([1e-6 + 5.0, 5.0], "f8"), ([1e12, 2e12], "f8")],
)  # fmt: skip
def test_arrays_become_as_small_as_a_screen_allows(values, kind):
    figure = json.loads(go.Figure(go.Scatter(x=np.array(values), y=np.arange(len(values)))).to_json())
    x = lean_trace(figure["data"])[0]["x"]
    assert x["dtype"] == kind
    assert values_of(x) == pytest.approx(values, rel=1e-7, nan_ok=True)


def test_numbers_lose_what_no_screen_shows_and_empty_hover_data_goes():
    trace = {"y": [1 / 3, 2.0, 1_763_836_440.123456, None], "customdata": [[], []], "name": "2.0"}
    assert lean_trace(trace) == {"y": [0.3333333, 2, 1_763_836_440.123456, None], "name": "2.0"}
    assert lean_trace({"customdata": [["key"], []]}) == {"customdata": [["key"], []]}


def test_a_step_curve_loses_steps_lower_than_a_pixel_and_never_more():
    x = np.arange(5000)
    table = pd.DataFrame({"x": x, "y": np.concatenate([np.zeros(100), np.linspace(0.5, 1, 4900)]), "of": "all"})
    figure = curves(table, "x", "y", "of", title="t", x_title="x", y_title="y", step=True)
    shown = figure.data[0]
    assert len(shown.x) <= STEPS
    drawn = np.asarray(shown.y)[np.searchsorted(shown.x, x, side="right") - 1]
    assert np.abs(drawn - table["y"]).max() <= 1 / STEPS + 1e-12
    assert (shown.x[-1], shown.y[-1]) == (4999, 1)
