"""Scores of a cross-check: what is counted, and how errors are added up."""

import pytest

from npexplore.ledger import load
from npexplore.study.check import Check
from npexplore.study.scores import IXP2400, scores

LEDGER = load()
DOUBLE = "ixp2400.fig14.throughput.amp.w64_b4"  # prints the same measurement as Fig. 13


def entry(key, error, label="predicted"):
    row = LEDGER[key]
    return {
        "key": key,
        "role": row.role,
        "error": error,
        "same_as": row.same_as,
        "point": row.point,
        "label": label,
    }


@pytest.fixture
def score():
    rows = [
        entry("ixp2400.fig13.throughput.amp", 0.03),
        entry("ixp2400.fig15.throughput.w64_b4", -0.04, "post_hoc"),
        entry("ixp2400.fig15.throughput.w128_b4", 0.5),  # calibration
        entry(DOUBLE, 0.5),
        entry("ixp2400.fig14.throughput.amp.w64_b8", None),  # withheld
        entry("ixp2400.fig13.bus.amp", 0.5),  # printed in Fig. 12 too
        entry("ixp2400.fig12.bus.amp.base", 0.02),
        entry("ixp2400.improvement.hb.amp", -0.1),
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


def test_every_group_finds_rows_to_score():
    rows = [row for row in LEDGER if row.role == "check" and row.design in ("ixp2400", "ixp2400_dram")]
    assert [group.name for group in IXP2400 if not any(group.has(row) for row in rows)] == []
