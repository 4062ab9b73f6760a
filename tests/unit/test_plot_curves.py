"""Figures of curves, comparisons, ceilings and sensitivities show the numbers of their tables, and only those."""

import pandas as pd
import pytest
from plotly.graph_objects import Figure

from npexplore.plot import theme
from npexplore.plot.breakdown import breakdown
from npexplore.plot.dot_plots import comparison
from npexplore.plot.elasticity import elasticities
from npexplore.plot.line_plots import FROZEN, WITHHELD, curves, published_levels, with_layout
from npexplore.plot.roofline_plot import roofline
from npexplore.solve.breakdown import Breakdown, Part
from npexplore.study.explaining.sensitivity import Elasticity, Sensitivity


def named(figure, name):
    return [trace for trace in figure.data if trace.name == name]


@pytest.fixture
def table():
    return pd.DataFrame({
        "threads": [1, 2, 1, 2, 1],
        "gbps": [1.0, 2.0, 1.5, 2.5, 9.0],
        "low": [0.9, 1.9, None, None, None],
        "high": [1.1, 2.1, None, None, None],
        "scheme": ["base", "base", "hb", "hb", "base"],
        "mix": ["amp", "amp", "amp", "amp", "psc"],
        "bottleneck": ["threads", "bus", "threads", "bus", "bank"],
    })  # fmt: skip


def test_a_line_for_each_series_in_each_panel_that_has_it(table):
    figure = curves(
        table, "threads", "gbps", "scheme", panel="mix", names={"hb": "header"}, title="t", x_title="x", y_title="y",
        hover=("bottleneck",),
    )  # fmt: skip
    base, header = named(figure, "base"), named(figure, "header")
    assert [list(trace.y) for trace in base] == [[1.0, 2.0], [9.0]]
    assert [list(trace.y) for trace in header] == [[1.5, 2.5]]
    assert [trace.showlegend for trace in base] == [True, False]
    assert {annotation.text for annotation in figure.layout.annotations} == {"amp", "psc"}
    assert base[0].customdata[1][0] == "bus"
    assert "bottleneck: %{customdata[0]}" in base[0].hovertemplate


def test_an_interval_is_drawn_where_there_is_one(table):
    amp = table[table["mix"] == "amp"]
    figure = curves(amp, "threads", "gbps", "scheme", band=("low", "high"), title="t", x_title="x", y_title="y")
    bands = [trace for trace in figure.data if trace.fill == "toself"]
    assert [list(trace.y) for trace in bands] == [[1.1, 2.1, 1.9, 0.9]]


def test_published_points_stand_in_their_panel_with_their_key(table):
    known = pd.DataFrame({"threads": [2], "gbps": [2.2], "mix": ["psc"], "key": ["a.b"]})
    figure = curves(
        table, "threads", "gbps", "scheme", panel="mix", published=known, title="t", x_title="x", y_title="y"
    )
    first, second = named(figure, "published")
    assert (list(first.x), second.showlegend) == ([], True)
    assert (list(second.y), second.customdata[0][0], second.marker.color) == ([2.2], "a.b", theme.BLACK)


def test_withheld_points_are_rings_and_levels_are_lines_across(table):
    amp = table[table["mix"] == "amp"]
    hidden = pd.DataFrame({"threads": [2], "gbps": [2.0]})
    figure = curves(amp, "threads", "gbps", "scheme", withheld=hidden, title="t", x_title="x", y_title="y")
    (ring,) = named(figure, WITHHELD)
    assert (list(ring.x), ring.marker.symbol) == ([2], "circle-open")
    (before,) = named(
        curves(amp, "threads", "gbps", "scheme", frozen=hidden, title="t", x_title="x", y_title="y"), FROZEN
    )
    assert (list(before.y), before.marker.symbol) == ([2.0], "circle-open")
    published_levels(figure, (1, 2, 4), pd.DataFrame({"gbps": [3.0], "label": ["printed"]}), "gbps", "label")
    (line,) = named(figure, "printed")
    assert (list(line.x), list(line.y)) == ([1, 4], [3.0, 3.0])
    four = published_levels(Figure(), (1, 2), pd.DataFrame({"y": range(4), "label": list("abcd")}), "y", "label").data
    assert len({(line.line.color, line.line.dash) for line in four}) == 4


def test_every_figure_has_title_axes_and_a_legend_outside_the_plot(table):
    figure = curves(table, "threads", "gbps", "scheme", title="Head", x_title="threads", y_title="Gb/s")
    assert figure.layout.title.text == "Head"
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == ("threads", "Gb/s")
    assert figure.layout.legend.yref == "container"
    assert figure.layout.margin.b > with_layout(figure, "Head", 440, legend_rows=0).layout.margin.b - 1


@pytest.fixture
def rows():
    return pd.DataFrame({
        "key": ["a", "b", "c"], "role": ["check", "withheld", "blind"], "label": ["predicted"] * 3,
        "verdict": ["close", "withheld", "close"], "quantity": ["throughput"] * 3, "mix": ["amp", "psc", "frg"],
        "bounds": [12.0, 13.0, None], "queueing": [9.0, 8.0, None], "simulated": [10.5, 11.0, 9.0],
        "ci95": [(10.0, 11.0), (10.8, 11.2), None], "point": [10.0, None, 9.5], "frozen": [None, None, 9.3],
    })  # fmt: skip


def test_a_comparison_has_a_mark_for_each_solver_and_the_printed_number_only_where_it_is_known(rows):
    figure = comparison(rows, lambda row: row.mix.upper(), panels=[("quantity == 'throughput'", "Gb/s")], title="t")
    (bound,), (queued,), (dots,), (ring,), (before,), (printed,) = (
        named(figure, name)
        for name in ("upper bound", "queueing", "simulated, 95 % interval", WITHHELD, FROZEN, "published")
    )
    assert (list(bound.x), list(queued.x)) == ([12.0, 13.0], [9.0, 8.0])
    assert all(trace.mode == "markers" for trace in figure.data)  # no band between an estimate and a bound
    assert list(dots.error_x.array) == pytest.approx([0.5, 0.2, 0.0])
    assert (list(ring.x), list(ring.y)) == ([11.0], ["PSC"])
    assert (list(before.x), list(before.y)) == ([9.3], ["FRG"])
    assert (list(printed.x), list(printed.y)) == ([10.0, 9.5], ["AMP", "FRG"])
    assert list(figure.layout.yaxis.categoryarray) == ["FRG", "PSC", "AMP"]


def test_each_mark_is_named_once_even_if_the_first_panel_has_none_of_it(rows):
    panels = [("role == 'check'", "left"), ("role == 'withheld'", "right")]
    figure = comparison(rows, lambda row: row.mix, panels=panels, title="t")
    shown = [trace.name for trace in figure.data if trace.showlegend]
    assert sorted(shown) == sorted(set(shown))
    assert WITHHELD in shown


def test_the_roofline_names_what_binds_and_leaves_out_what_never_does():
    limits = pd.DataFrame(
        [
            (8, "bus", 1.0, True), (8, "bank", 9.0, False), (8, "scratch", 900.0, False),
            (64, "bus", 8.0, True), (64, "bank", 9.0, False), (64, "scratch", 900.0, False),
            (128, "bus", 16.0, False), (128, "bank", 9.0, True), (128, "scratch", 900.0, False),
        ],
        columns=["bus_bits", "resource", "ceiling_gbps", "binding"],
    ).assign(counted="padded cells")  # fmt: skip
    solved = pd.DataFrame({
        "bus_bits": [8, 8], "solver": ["queueing", "simulation"], "throughput_bps": [0.9e9, 0.95e9],
        "bottleneck": ["bus", "bus"],
    })  # fmt: skip
    figure = roofline(limits, solved, "bus_bits", title="t", x_title="bus width (bit)")
    names = [trace.name for trace in figure.data]
    assert "scratch" not in names
    assert list(named(figure, "lowest ceiling")[0].y) == [1.0, 8.0, 9.0]
    assert [a.text for a in figure.layout.annotations] == ["<b>bus</b> binds", "<b>bank</b> binds"]
    assert list(named(figure, "simulation")[0].y) == [0.95]
    assert "padded cells" in figure.layout.yaxis.title.text


def test_sensitivities_are_ordered_by_the_largest_and_carry_their_noise():
    def found(knob, value):
        return Elasticity(
            knob=knob, kind="knob", value=64.0, low=60.0, high=68.0, unit="bit", bounds=value, queueing=None,
            simulated=value, noise=0.02, less=-value, more=value / 2,
        )  # fmt: skip

    figure = elasticities(
        {
            "one": Sensitivity((found("bus", 0.8), found("banks", 0.1))),
            "two": Sensitivity((found("hash", -0.9), found("bus", 0.3))),
        },
        title="t",
    )
    assert list(figure.layout.yaxis.categoryarray) == ["banks", "bus", "hash"]
    assert dict(zip(figure.data[1].y, figure.data[1].x, strict=True)) == {"bus": 0.3, "hash": -0.9}
    assert list(figure.data[0].error_x.array) == [0.02, 0.02]
    assert "-0.80 %" in figure.data[0].customdata[1]


def test_stacked_times_add_up_to_each_latency_and_the_small_ones_are_one():
    parts = [Part(f"r{k}", 1e-9 * (9 - k), 2e-9, 1e-9 if k < 2 else 0.0) for k in range(9)]
    whole = Breakdown.of(parts)
    late = Breakdown.of([Part("r0", 0.0, 5e-8, 0.0)])
    figure = breakdown({"simulated": Breakdown(whole.latency_s, whole.parts, {"p99": late}), "bounds": late})
    assert list(figure.data[0].y) == ["simulated", "simulated, around p99", "bounds"]
    sums = [sum(trace.x[k] for trace in figure.data) for k in range(3)]
    assert sums == pytest.approx([whole.latency_s * 1e9, 50.0, 50.0])
    assert {trace.name for trace in figure.data} >= {"r0, held by others", "all others, service"}
