"""Scores of a cross-check: what is counted, and how errors are added up."""

import pytest

from npexplore.ledger import load
from npexplore.study.checking.check import Check
from npexplore.study.checking.scores import SCORES, scores

LEDGER = load()
DOUBLE = "ixp2400.fig14.throughput.amp.w64_b4"  # prints the same measurement as Fig. 13


def entry(key, error, label="predicted", verdict="close"):
    row = LEDGER[key]
    return {
        "key": key,
        "role": row.role,
        "error": error,
        "same_as": row.same_as,
        "point": row.point,
        "label": label,
        "verdict": verdict,
    }


@pytest.fixture
def score():
    rows = [
        entry("ixp2400.fig13.throughput.amp", 0.03),
        entry("ixp2400.fig15.throughput.w64_b4", -0.04, "post_hoc"),
        entry("ixp2400.fig15.throughput.w128_b4", 0.5),  # calibration
        entry(DOUBLE, 0.5),
        entry("ixp2400.fig14.throughput.amp.w64_b8", None),  # blind
        entry("ixp2400.fig13.bus.amp", 0.5),  # printed in Fig. 12 too
        entry("ixp2400.fig12.bus.amp.base", 0.02),
        entry("ixp2400.improvement.hb.amp", -0.1),
        entry("ixp1200.fig6.rm.shape", None, verdict="inside"),
        entry("ixp1200.fig6.ls.shape", None, "post_hoc", "off"),
        entry("ixp1200.diffserv.throughput.summary", None, None, "not_predictable"),
        entry("raw.null.over_v4", 30.0),  # an improvement of another paper
    ]
    return scores(Check(rows, {}), LEDGER).set_index("group")


def test_only_predicted_rows_count_and_each_measurement_once(score):
    line = score.loc["throughput, Figs. 12-15"]
    assert line["rows"] == 2
    assert line["post_hoc"] == 1
    assert line["rms"] == pytest.approx(((3**2 + 4**2) / 2) ** 0.5)
    assert (line["worst"], line["worst_key"]) == (pytest.approx(-4.0), "ixp2400.fig15.throughput.w64_b4")


def test_resources_are_told_apart_by_their_conditions(score):
    assert score.loc["bus utilization", "worst"] == pytest.approx(2.0)
    assert "bank utilization" not in score.index


def test_improvements_are_scored_in_percentage_points(score):
    line = score.loc["improvements"]
    assert (line["worst"], line["unit"]) == (pytest.approx(-0.908), "points")


def test_claims_are_counted_and_what_cannot_be_predicted_is_none(score):
    line = score.loc["Fig. 6, throughput against rules"]
    assert (line["claims"], line["held"], line["rows"]) == (2, 1, 0)
    assert line["worst_key"] == ""
    assert "Fig. 10, whole system" not in score.index


def test_papers_are_scored_apart(score):
    assert score.loc["improvements", "rows"] == 1
    assert score.loc["steps from version to version", "paper"] == "raw"


def test_arithmetic_is_no_prediction_and_is_not_scored():
    rows = [entry("soclib.element.ratio.paint", 0.0, None), entry("soclib.baseline.throughput", -0.002, "post_hoc")]
    assert scores(Check(rows, {}), LEDGER)["group"].tolist() == ["one processor, Sec. 4"]


@pytest.mark.parametrize("paper", SCORES)
def test_every_group_finds_rows_to_score(paper):
    rows = [row for row in LEDGER if row.role == "check" and row.key.startswith(f"{paper}.")]
    assert [group.name for group in SCORES[paper] if not any(group.has(row) for row in rows)] == []


@pytest.mark.parametrize("paper", [paper for paper in SCORES if paper != "ixp2400"])
def test_every_check_row_is_in_one_group(paper):
    rows = [row for row in LEDGER if row.role == "check" and row.key.startswith(f"{paper}.")]
    assert {row.key: sum(group.has(row) for group in SCORES[paper]) for row in rows} == {row.key: 1 for row in rows}
