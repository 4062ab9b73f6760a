"""Scores of a cross-check: what is counted, how errors are added up, and what a reader without a model says."""

import msgspec
import pytest

from npexplore.ledger import Ledger, load
from npexplore.ledger.rules import rules
from npexplore.reads import Read
from npexplore.study.checking.baselines import Reader, difference
from npexplore.study.checking.changed import effects
from npexplore.study.checking.check import Check, check
from npexplore.study.checking.groups import SCORES
from npexplore.study.checking.scores import ALL, BLIND, lines, scores

LEDGER = load()
READER = Reader(LEDGER)
DOUBLE = "ixp2400.fig14.throughput.amp.w64_b4"  # prints the same measurement as Fig. 13


def entry(key, error, label="predicted", verdict="close"):
    row = LEDGER[key]
    return {
        "key": key, "role": row.role, "error": error, "same_as": row.same_as, "point": row.point, "label": label,
        "verdict": verdict, "frozen": row.frozen_value, "best": "simulated",
        "simulated": None if error is None or row.point is None else row.point * (1 + error),
    }  # fmt: skip


def lines_of(*rows, traces=None, sets=None):
    found = lines(Check(list(rows), {}, traces=traces or {}, sets=sets or {}), LEDGER)
    return {(line["paper"], line["group"], line["claims"]): line for line in found}


THROUGHPUT = ("ixp2400", "throughput, Figs. 12-15", False)


@pytest.fixture
def found():
    return lines_of(
        entry("ixp2400.fig13.throughput.amp", 0.03),
        entry("ixp2400.fig15.throughput.w64_b4", -0.04, "post_hoc"),
        entry("ixp2400.fig15.throughput.w64_b8", 0.5, "calibrated"),
        entry("ixp2400.fig15.throughput.w128_b4", 0.5, "calibrated"),
        entry(DOUBLE, 0.5),
        entry("ixp2400.fig12.bus.amp.base", 0.02),
        entry("ixp2400.improvement.hb.amp", -0.1, verdict="off"),
        entry("ixp2400.fig9.bandwidth.n40", -0.0110),
        entry("ixp1200.fig6.rm.shape", None, "post_hoc", "inside"),
        entry("ixp1200.fig6.ls.shape", None, "post_hoc", "off"),
        entry("ixp1200.diffserv.throughput.summary", None, None, "not_predictable"),
        entry("soclib.element.ratio.paint", 0.0, "arithmetic", "inside"),
        entry("raw.v2.gain_64", 30.0),  # an improvement of another paper
    )


def test_only_what_was_not_fitted_to_counts_and_each_measurement_once(found):
    line = found[THROUGHPUT]
    assert (line["rows"], line["predicted"], line["post_hoc"], line["calibrated"], line["scored"]) == (4, 1, 1, 2, 2)
    assert line["rms"] == pytest.approx(((3**2 + 4**2) / 2) ** 0.5)
    assert (line["rms_predicted"], line["rms_post_hoc"]) == (pytest.approx(3), pytest.approx(4))
    assert (line["worst"], line["worst_key"]) == (pytest.approx(-4.0), "ixp2400.fig15.throughput.w64_b4")


def test_a_number_is_far_beyond_a_tenth_or_ten_points():
    amp, bus, gain = "ixp2400.fig13.throughput.amp", "ixp2400.fig12.bus.amp.base", "ixp2400.improvement.hb.amp"
    line = lines_of(entry(amp, -0.101), entry(bus, 0.0999), entry(gain, 1.1))["ixp2400", ALL, False]
    assert (line["scored"], line["near"], line["far"]) == (3, 2, [amp])  # a gain of 9.08 % is 9.99 points off


@pytest.mark.parametrize(("label", "count"), [("predicted", 0), ("post_hoc", 0), ("calibrated", 1)])
def test_a_calibration_row_is_not_scored_and_counts_as_what_it_was_fitted_to_alone(label, count):
    found = lines_of(entry("ixp2400.fig15.throughput.w128_b4", 0.5, label))
    assert list(found) == [("ixp2400", ALL, False)]
    line = found["ixp2400", ALL, False]
    assert (line["rows"], line[label], line["scored"], line["rms"]) == (1, count, 0, None)


def test_resources_are_told_apart_by_their_conditions(found):
    assert found["ixp2400", "bus utilization", False]["worst"] == pytest.approx(2.0)
    assert ("ixp2400", "bank utilization", False) not in found


def test_differences_are_scored_in_percentage_points(found):
    line = found["ixp2400", "improvements", False]
    assert (line["worst"], line["unit"], line["off"]) == (
        pytest.approx(-0.908),
        "points",
        ["ixp2400.improvement.hb.amp"],
    )
    assert [difference(LEDGER[f"ixp2400.{key}"]) for key in ("improvement.hb.amp", "fig15.hash.w64_b4")] == [
        True,
        False,
    ]


def test_claims_are_counted_and_what_cannot_be_predicted_is_none(found):
    line = found["ixp1200", "Fig. 6, throughput against rules", True]
    assert (line["rows"], line["held"], line["rms"], line["skill"]) == (2, 1, None, None)
    assert not any(group == "Fig. 10, whole system" for _, group, _ in found)


def test_arithmetic_is_counted_and_not_scored(found):
    assert [(group, line["rms"]) for (paper, group, _), line in found.items() if paper == "soclib"] == [(ALL, None)]
    both = lines_of(
        entry("soclib.element.ratio.paint", 0.0, "arithmetic", "inside"), entry("soclib.baseline.throughput", 0.1)
    )  # fmt: skip
    assert both["soclib", ALL, False]["arithmetic"] == 1
    assert both["soclib", ALL, False]["rms"] == pytest.approx(10)


def test_blind_rows_are_scored_by_their_frozen_predictions_whatever_the_model_has_become(found):
    line = found["ixp2400", BLIND, False]
    row = LEDGER["ixp2400.fig9.bandwidth.n40"]
    assert line["rms"] == pytest.approx(100 * abs(row.frozen_value / row.point - 1))
    better = entry("ixp2400.fig9.bandwidth.n40", 0.0) | {"simulated": row.point}
    again = lines_of(better)["ixp2400", BLIND, False]
    assert (again["rms"], again["today"]) == (pytest.approx(line["rms"]), pytest.approx(0))
    assert (found["ixp2400", ALL, False]["blind"], line["blind"]) == (0, 1)


def test_free_parameters_are_those_behind_the_rows():
    read = Read("d/x", "fitted", 1, "d.toml", fitted_to=("ixp2400.fig9.bandwidth.n0",))
    key = "ixp2400.fig13.throughput.amp"
    assert lines_of(entry(key, 0.1), traces={key: {"d/x": read}})[THROUGHPUT]["free_parameters"] == 1


def test_a_score_is_a_range_over_the_sets_that_calibration_admits():
    key = "ixp2400.fig13.throughput.amp"
    point = LEDGER[key].point
    sets = {"ixp2400": [{key: 1.1 * point}, {key: 0.8 * point}, {key: None}]}
    line = lines_of(entry(key, 0.1), sets=sets)[THROUGHPUT]
    assert (line["low"], line["high"]) == (pytest.approx(10), pytest.approx(20))


def test_claims_of_gorilla_are_met_by_whatever_calibration_leaves_open():
    rows = [entry(row.key, None, "post_hoc", "inside") for row in LEDGER if row.key.startswith("gorilla.perf.ipv4.")]
    line = lines_of(*rows)["gorilla", "rates of configurations, Fig. 10", True]
    assert (line["low"], line["high"], line["low_of"]) == (16, 21, 22)
    assert (line["baseline"], line["held"]) == ("never loses", 9)
    assert line["baseline_error"] == pytest.approx(5 / 9)


def test_skill_is_measured_against_the_best_reader(found):
    line = found[THROUGHPUT]
    assert line["skill"] == pytest.approx(1 - line["error"] / line["baseline_error"])
    assert line["compared"] == 2
    assert (line["baseline"], line["nearer"]) == ("interpolation", 0)


def test_a_model_that_says_what_the_reader_says_has_no_skill():
    keys = [f"ixp2400.fig13.throughput.{t}" for t in ("amp", "frg", "psc")]
    said = {key: READER.says(LEDGER[key], "interpolation") for key in keys}
    rows = [entry(key, said[key] / LEDGER[key].point - 1) for key in keys]
    assert lines_of(*rows)[THROUGHPUT]["skill"] == pytest.approx(0)


def test_a_claim_held_by_a_wide_band_has_no_skill():
    """A band so wide that the reader without a model is in it too."""
    key = "ixp1200.fig10.four_threads_one_me.ratio"
    wide = msgspec.structs.replace(LEDGER[key], lo=0.1, hi=100.0)
    ledger = Ledger(wide if row.key == key else row for row in LEDGER)
    (line,) = [
        one for one in lines(Check([entry(key, None, verdict="inside")], {}), ledger) if one["group"] == ALL
    ]  # fmt: skip
    assert (line["held"], line["baseline_error"], line["skill"]) == (1, 0, 0)


@pytest.mark.parametrize("paper", SCORES)
def test_every_group_finds_rows_to_score(paper):
    rows = [row for row in LEDGER if row.role == "check" and row.key.startswith(f"{paper}.")]
    assert [group.name for group in SCORES[paper] if not any(group.has(row) for row in rows)] == []


@pytest.mark.parametrize("paper", [paper for paper in SCORES if paper != "ixp2400"])
def test_every_check_row_is_in_one_group(paper):
    rows = [row for row in LEDGER if row.role == "check" and row.key.startswith(f"{paper}.")]
    whole = [group for group in SCORES[paper] if not group.part]
    assert {row.key: sum(group.has(row) for group in whole) for row in rows} == {row.key: 1 for row in rows}


def test_every_paper_of_the_ledger_is_scored():
    assert set(SCORES) == {row.key.split(".", 1)[0] for row in LEDGER}


def test_the_table_has_a_row_a_line(found):
    made = Check([entry("ixp2400.fig13.throughput.amp", 0.03)], {})
    assert scores(made, LEDGER).to_dict("records")[0]["group"] == ALL


# ---- the reader


@pytest.mark.parametrize(
    ("key", "how", "said"),
    [
        ("ixp2400.fig9.bandwidth.n40", "interpolation", (9.33 + 8.55) / 2),  # between 30 and 50 %
        ("ixp2400.fig9.bandwidth.n30", "interpolation", 10.03 + 0.6 * (8.55 - 10.03)),  # n40 is blind
        ("ixp2400.fig14.throughput.frg.w128_b4", "interpolation", 6249 * 8063 / 6069),  # rule of three
        ("ixp2400.fig9.bandwidth.n30", "constant", 10.03),
        ("ixp2400.improvement.hb.psc", "interpolation", (9.08 + 10.65) / 2),
        ("gorilla.perf.ipv4.16-4-1.nofc", "never loses", 200.0),
        ("ixp1200.fig10.four_threads_one_me.ratio", "never loses", 4.0),
        ("ixp1200.fig10.four_threads_one_me.ratio", "no effect", 1.0),
        ("raw.v4.gain_64", "never loses", 0.0),
        ("raw.v4.gain_64", "no effect", 0.0),
        ("ixp1200.fig9.lossfree", "interpolation", None),
        ("soclib.exp3.peak.throughput", "constant", None),
    ],
)
def test_what_the_reader_says(key, how, said):
    assert READER.says(LEDGER[key], how) == (said if said is None else pytest.approx(said))


def test_another_way_stands_in_where_one_says_nothing():
    row = LEDGER["ixp2400.improvement.hb.psc"]
    assert READER.says(row, "constant") is None
    assert READER.says(row, "constant", ("constant", "interpolation")) == pytest.approx((9.08 + 10.65) / 2)


def test_a_reader_sees_neither_the_row_nor_its_double_nor_what_is_held_back():
    key = "ixp2400.fig13.throughput.amp"
    changed = [msgspec.structs.replace(row, point=1.0, lo=0.5, hi=1.5) if _hidden(row, key) else row for row in LEDGER]
    assert Reader(Ledger(changed)).says(LEDGER[key], "interpolation") == READER.says(LEDGER[key], "interpolation")


def _hidden(row, key):
    return row.kind == "number" and (LEDGER.measurement(row.key) == key or row.role == "blind") and row.unit == "Mb/s"


# ---- what rules change


@pytest.fixture(scope="module")
def dram():
    return check(["ixp2400_dram"], seeds=2, packets=300)


def test_the_effect_of_a_rule_is_told_row_by_row(dram):
    found = {(one.rule, str(one.other)): one for one in effects(dram, LEDGER)}
    judged = [row for row in dram.rows if row["verdict"] in ("inside", "close", "off")]
    wide, narrow = found["verdict.close", "0.1"], found["verdict.close", "0.03"]
    assert (wide.rows, wide.value) == (len(judged), rules()["verdict.close"].record.value)
    assert all(" -> " in text for one in (wide, narrow) for text in one.changed)
    assert all(text.endswith(("-> close", "-> off")) for text in (*wide.changed, *narrow.changed))
    assert not any(rule.startswith("soclib") for rule, _ in found)


def test_rules_stand_as_before_when_their_effect_was_asked(dram):
    before = [row["verdict"] for row in dram.rows]
    effects(dram, LEDGER)
    again = check(["ixp2400_dram"], seeds=2, packets=300)
    assert [row["verdict"] for row in again.rows] == before
