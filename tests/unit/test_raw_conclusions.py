"""The seven conclusions: each has a claim, intervals come from the ledger, and what is missing is named."""

import pytest

from npexplore.errors import UnknownNameError
from npexplore.ledger import load
from npexplore.study.papers.raw.conclusions import CONCLUSIONS, conclusions, crossing_free, interval_text


def rows(**values):
    """Return check rows of all claims with these values (0 else)."""
    ledger = load()
    keys = [claim.key for _, claims in CONCLUSIONS for claim in claims]
    return [
        {"key": key, "simulated": values.get(key.split(".")[-1], 0.0), "unit": ledger[key].unit,
         "lo": ledger[key].lo, "hi": ledger[key].hi} for key in keys
    ]  # fmt: skip


def test_there_are_seven_and_each_is_a_row_of_the_ledger():
    assert len(CONCLUSIONS) == 7
    table = conclusions(rows())
    assert sorted(set(table["number"])) == [1, 2, 3, 4, 5, 6, 7]
    assert not table["holds"].any()
    assert {"times", "%"} <= set(table["unit"])
    assert not {"", "1"} & set(table["unit"])


@pytest.mark.parametrize(
    ("key", "value", "holds"),
    [
        ("layout", 30.0, True), ("layout", 36.0, False), ("dor_penalty", 24.9, False), ("dor_penalty", 32.0, True),
        ("static_gain", 0.1, True), ("static_gain", -0.1, False), ("linecard_buffering", 35.1, True),
        ("vs_general_purpose", 12.0, True), ("change_64", 18.0, False),
    ],
)  # fmt: skip
def test_a_claim_holds_inside_its_interval(key, value, holds):
    table = conclusions(rows(**{key: value}))
    number = next(n for n, (_, claims) in enumerate(CONCLUSIONS, 1) for c in claims if c.key.endswith(key))
    mine = table[(table["number"] == number) & (table["value"] == value)]
    assert mine["holds"].tolist() == [holds]


def test_static_streams_serve_sixteen_ports_without_crossing():
    """More than the study says; its own rule allows it where headers and payloads have a network each."""
    assert crossing_free() == 16


def test_intervals_and_missing_rows():
    assert interval_text(35.0, None, "%") == "at least 35 %"
    assert interval_text(5.0, 20.0, "1") == "5 to 20 times"
    assert interval_text(None, 4.0, "%") == "at most 4 %"
    with pytest.raises(UnknownNameError, match="row of the check"):
        conclusions(rows()[1:])
