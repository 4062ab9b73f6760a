"""Tables for readers: digits, claims, what is withheld, misses in red with their reason."""

import re

import pandas as pd
import pytest

from npexplore.ledger.auditing import Finding
from npexplore.plot import tables
from npexplore.plot.cross_check_plot import cross_check


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (3210.0, "3,210"), (92.8, "92.80"), (0.1234567, "0.1235"), (10.027, "10.03"), (16, "16"),
        (12345, "12,345"), (0.0, "0"), (0.00456, "0.004560"), (4.4237e-11, "4.424e-11"), (3.46e9, "3.46e+09"),
        (True, "holds"), (False, "fails"),
        (None, "&ndash;"), (float("nan"), "&ndash;"), ("a<b", "a&lt;b"), (-2.345678, "-2.346"),
    ],
)  # fmt: skip
def test_numbers_have_sensible_digits(value, shown):
    assert tables.number(value) == shown


def text(table):
    """Return a table's HTML, one line a row, without tags."""
    return [re.sub(r"<[^>]+>", " ", row) for row in re.findall(r"<tr>.*?</tr>", table._repr_html_())]


@pytest.fixture
def frame():
    common = {"kind": "number", "quantity": "throughput", "unit": "Mb/s", "bounds": 3300.0, "queueing": 2900.0,
              "label": "predicted", "prototype_hints": 2}  # fmt: skip
    return pd.DataFrame([
        {**common, "key": "m.good", "role": "check", "published": "3210", "simulated": 3200.0, "ci95": (3190.0, 3210.0),
         "error": -0.003, "verdict": "close", "reason": None, "alternative: a": 3100.0, "alternative: b": 3250.0},
        {**common, "key": "m.bad", "role": "check", "published": "100", "simulated": 200.0, "ci95": None,
         "error": 1.0, "verdict": "off", "reason": "because <x>", "alternative: a": 200.0, "alternative: b": 200.0},
        {**common, "key": "m.hidden", "role": "withheld", "published": None, "simulated": 50.0, "ci95": None,
         "error": None, "verdict": "withheld", "reason": None, "alternative: a": None, "alternative: b": None},
        {**common, "key": "m.blind", "role": "blind", "published": "60", "simulated": 59.0, "ci95": None,
         "frozen": 57.0, "error": -0.05, "verdict": "close", "reason": None, "alternative: a": None,
         "alternative: b": None},
    ])  # fmt: skip


def test_a_cross_check_row_tells_all_solvers_interval_spread_and_label(frame):
    head, good, *_ = text(tables.cross_check_table(frame, dict.fromkeys(frame["key"], "Fig. 1")))
    assert "simulated" in head
    for part in ("Fig. 1", "throughput", "3210 Mb/s", "3,300", "2,900", "3,200", "&plusmn;&thinsp;10", "-0.3&nbsp;%",
                 "3,100&nbsp;to 3,250", "predicted", "2 hints", "close"):  # fmt: skip
        assert part in good


def test_a_row_without_a_label_has_a_dash(frame):
    row = {**frame.to_dict("records")[0], "label": None, "prototype_hints": None}
    assert "&ndash;" in text(tables.cross_check_table(pd.DataFrame([row]), {"m.good": "Fig. 1"}))[1]
    row["label"] = "arithmetic"
    assert "arithmetic" in text(tables.cross_check_table(pd.DataFrame([row]), {"m.good": "Fig. 1"}))[1]


def test_an_interval_of_a_large_number_has_no_more_digits_than_it(frame):
    row = {**frame.to_dict("records")[0], "simulated": 3.726e7, "ci95": (3.715e7, 3.737e7)}
    line = text(tables.cross_check_table(pd.DataFrame([row]), {"m.good": "Fig. 1"}))[1]
    assert "3.726e+07" in line
    assert "&plusmn;&thinsp;110,000" in line


def test_what_rounding_leaves_of_nothing_is_nought(frame):
    row = {**frame.to_dict("records")[0], "bounds": 2.2e-14}
    line = text(tables.cross_check_table(pd.DataFrame([row]), {"m.good": "Fig. 1"}))[1]
    assert "2.2e-14" not in line


@pytest.mark.parametrize(
    ("published", "unit", "shown"),
    [("86.198361", "Mpps", "86.20"), ("0.0314159", "s", "0.03142"), ("53195794", "pps", "53,200,000"),
     ("2097152", "count", "2097152"), ("1,020,416", "bits", "1,020,416"), ("10.66", "Gb/s", "10.66")],
)  # fmt: skip
def test_a_published_number_has_few_digits_and_all_of_them_under_the_pointer(frame, published, unit, shown):
    row = {**frame.to_dict("records")[0], "published": published, "unit": unit, "point": 1.0, "lo": 1.0, "hi": 1.0}
    cells = tables.cross_check_table(pd.DataFrame([row]), {"m.good": "Fig. 1"})._repr_html_()
    assert f">{shown} {unit}<" in cells.replace("</span>", "")
    assert (f'title="printed: {published}"' in cells) == (shown != published)
    assert cross_check(pd.DataFrame([row]), {"m.good": "one"}, title="").data[0].y[0] == f"one: <b>{shown} {unit}</b>"


@pytest.mark.parametrize(
    ("printed", "unit", "shown"),
    [("not affected", "%", "not affected "), ("36", "%", "36 %"), ("eight", "words", "eight words")],
)
def test_words_stand_without_a_percent_sign(frame, printed, unit, shown):
    row = {**frame.to_dict("records")[0], "published": printed, "unit": unit}
    line = text(tables.cross_check_table(pd.DataFrame([row]), {"m.good": "Fig. 1"}))[1]
    assert shown in line
    assert ("%" in shown) == (f"{printed} %" in line)


def test_a_miss_is_red_and_has_its_reason_below(frame):
    table = tables.cross_check_table(frame, dict.fromkeys(frame["key"], "Fig. 1"))
    rows = text(table)
    bad = next(k for k, row in enumerate(rows) if "m. bad" in row)
    assert "the same" in rows[bad]
    assert "because &lt;x&gt;" in rows[bad + 1]
    html = re.findall(r"<tr>.*?</tr>", table._repr_html_())
    assert tables.BAD in html[bad]
    assert tables.BAD in html[bad + 1]
    assert not any(tables.BAD in row for k, row in enumerate(html) if k not in (bad, bad + 1))


def test_a_withheld_row_shows_its_prediction_and_no_number(frame):
    *_, hidden, _ = text(tables.cross_check_table(frame, dict.fromkeys(frame["key"], "Fig. 1")))
    assert hidden.count("withheld") == 2
    assert "50.00" in hidden


def test_a_blind_row_shows_what_was_predicted_before_beside_what_is_today(frame):
    *_, blind = text(tables.cross_check_table(frame, dict.fromkeys(frame["key"], "Fig. 1")))
    assert all(part in blind for part in ("60 Mb/s", "59.00", "57.00", "-5.0&nbsp;%"))
    head, *_ = text(tables.cross_check_table(frame.drop(columns="frozen"), dict.fromkeys(frame["key"], "Fig. 1")))
    assert "frozen" not in head


def test_verdicts_are_counted_for_each_role_in_words(frame):
    frame = pd.concat([frame, frame[:1].assign(verdict="not_predictable", key="m.odd")])
    head, blind, check, withheld, total = text(tables.verdict_table(frame))
    assert head.split() == ["role", "close", "not", "predictable", "off", "withheld", "in", "all"]
    assert blind.split() == ["blind", "1", "0", "0", "0", "1"]
    assert check.split() == ["check", "1", "1", "1", "0", "3"]
    assert withheld.split() == ["withheld", "0", "0", "0", "1", "1"]
    assert total.split() == ["in", "all", "2", "1", "1", "1", "5"]


def test_a_plain_table_keeps_its_data_and_escapes_its_text():
    frame = pd.DataFrame({"name": ["<a>"], "value": [1.23456]})
    table = tables.table(frame, digits=3, height=100)
    assert table.data is frame
    assert text(table)[1].split() == ["&lt;a&gt;", "1.23"]
    assert "max-height:100px" in table._repr_html_()


def test_rows_with_two_nameless_names_have_a_column_each():
    data = pd.DataFrame({"rate": [1.5, 2.5]}, index=pd.MultiIndex.from_tuples([("ddr4", "runs"), ("ddr4", "random")]))
    shown = tables.framed(data)._repr_html_()
    assert shown.count("ddr4") >= 2
    assert "runs" in shown
    assert "2.5" in shown


def test_identities_that_fail_come_first_with_what_they_assume_and_why_below():
    common = {"paper": "p", "formula": "a < b", "keys": (), "printed": 2.0, "recomputed": 3.0, "low": 3.0, "high": 3.0,
              "unit": "Gb/s", "reading": "Bits are counted."}  # fmt: skip
    holds = Finding(**common, id="holds", verdict="consistent", explanation=None)
    fails = Finding(**common, id="fails", verdict="inconsistent", explanation="A slip.")
    lines = text(tables.identity_table([holds, fails]))
    assert [line.split()[0] for line in lines] == ["id", "fails", "Bits", "holds"]
    assert "a &lt; b" in lines[1]
    assert lines[2].split() == ["Bits", "are", "counted.", "A", "slip."]
