"""The explorer: each combination of knobs draws its own points, live and on a page; wrong tables are told in a line."""

import pandas as pd
import pytest

from npexplore.errors import InputError, UnknownNameError
from npexplore.plot.explorer import FIGURE, WIDGET, Explorer

TABLE = pd.DataFrame(
    [
        (threads, banks, scheme, threads * banks * factor)
        for threads in (1, 4, 2)
        for banks in (1, 2)
        for scheme, factor in (("base", 1.0), ("fast", 3.0))
    ],
    columns=["threads", "banks", "scheme", "gbps"],
)
WORDS = {"title": "A title", "x_title": "threads", "y_title": "throughput (Gb/s)"}


def explorer(**changed):
    return Explorer(
        **({"table": TABLE, "x": "threads", "y": "gbps", "knobs": ["banks"], "series": "scheme"} | WORDS | changed)
    )


def test_lines_are_those_of_the_chosen_knobs():
    assert explorer().lines({"banks": 2}) == ([[1, 2, 4]] * 2, [[2.0, 4.0, 8.0], [6.0, 12.0, 24.0]])
    assert explorer(knobs=["banks", "scheme"], series=None).lines({"banks": 1, "scheme": "fast"})[1] == [
        [3.0, 6.0, 12.0]
    ]
    assert explorer().lines({"banks": 7}) == ([[], []], [[], []])


def test_the_page_has_a_step_for_each_value_of_the_first_knob():
    figure = explorer(start={"banks": 2}).figure()
    slider = figure.layout.sliders[0]
    assert slider.active == 1
    for step, value in zip(slider.steps, (1, 2), strict=True):
        assert step.label == str(value)
        assert (step.args[0]["x"], step.args[0]["y"]) == explorer().lines({"banks": value})
    assert list(figure.data[1].y) == [6.0, 12.0, 24.0]
    assert figure.layout.yaxis.range[1] >= 24


def test_sliders_move_the_live_figure():
    box = explorer(knobs=["banks", "scheme"], series=None).widget()
    banks, scheme, figure = box.children
    assert list(figure.data[0].y) == [1.0, 2.0, 4.0]
    banks.value = 2
    assert list(figure.data[0].y) == [2.0, 4.0, 8.0]
    scheme.value = "fast"
    assert list(figure.data[0].y) == [6.0, 12.0, 24.0]


def test_a_notebook_gets_both_forms_and_a_page_the_figure():
    bundle = explorer()._repr_mimebundle_()
    assert set(bundle) == {FIGURE, WIDGET, "text/plain"}
    assert len(bundle[FIGURE]["data"]) == 2


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"x": "treads"}, "'treads' is unknown"),
        ({"knobs": ["bank"]}, "'bank' is unknown"),
        ({"knobs": []}, "at least one knob"),
        ({"start": {"banks": 3}}, "start of knob banks '3' is unknown"),
        ({"series": None}, "an explorer needs one row for each point, got several; choose among scheme"),
    ],
)
def test_what_does_not_fit_is_told(changed, message):
    with pytest.raises((InputError, UnknownNameError), match=message):
        explorer(**changed)
