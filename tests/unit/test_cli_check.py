"""`npexplore check`: why a row has its label, the scores of the document, sets of parameters."""

import json

import pytest

from npexplore.__main__ import main

KEY = "ixp2400.fig9.bandwidth.n30"
SCORE = (
    "paper", "group", "rows", "predicted", "post_hoc", "calibrated", "arithmetic", "rms", "worst", "baseline",
    "baseline_error", "skill", "free_parameters",
)  # fmt: skip


def test_why_tells_the_label_and_everything_that_was_read(capsys):
    assert main(["check", "--why", KEY, "--seeds", "2"]) == 0
    first, second, *kinds = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{KEY} is post hoc: ixp2400_dram/window")
    assert "comes by simulation" in second
    assert any(
        line.startswith("Fitted: ixp2400_dram/") and "fitted to ixp2400.fig15.throughput.w128_b4" in line
        for line in kinds
    )
    assert any(line.startswith("Stated: ") for line in kinds)


def test_why_of_a_row_without_a_value(capsys):
    assert main(["check", "--why", "ixp2400.fig9.bandwith.n30", "--seeds", "2"]) == 2
    assert f"(nearest: {KEY}" in capsys.readouterr().err


@pytest.fixture(scope="module")
def document():
    import contextlib
    import io

    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        assert main(["check", "--design", "ixp2400_dram", "--seeds", "2", "--json"]) == 0
    return json.loads(text.getvalue())


def test_the_document_has_the_scores_of_the_contract(document):
    assert document["scores"]
    assert all(set(SCORE) <= set(line) for line in document["scores"])


def test_each_row_tells_names_of_what_was_read(document):
    reads = {row["key"]: row["reads"] for row in document["rows"]}
    assert "ixp2400_dram/window" in reads[KEY]


def test_people_see_the_scoreboard_under_the_rows(capsys):
    assert main(["check", "--design", "ixp2400_dram", "--seeds", "2"]) == 0
    out = capsys.readouterr().out
    assert "skill" in out[out.index(KEY) :]


@pytest.mark.slow
def test_sets_give_each_row_a_range(capsys):
    assert (
        main(["check", "--design", "soclib", "--why", "soclib.exp2.peak.cpus", "--sets", "--seeds", "2", "--json"]) == 0
    )
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    low, high = row["range"]
    assert low <= row["simulated"] <= high


def test_own_numbers_become_a_page(tmp_path, capsys):
    mine, page = tmp_path / "mine.csv", tmp_path / "mine.html"
    mine.write_text("design,mix,narrow_share,quantity,value,unit\nixp2400_dram,,0.3,bandwidth,9000,Mb/s\n")
    assert main(["check", "--results", str(mine), "--html", str(page), "--seeds", "2", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["results"]
    text = page.read_text()
    assert f"{100 * row['difference']:+.1f} %" in text
    assert f"{int(abs(row['difference']) <= 0.05)} of 1 numbers are within 5 %" in text


def test_what_a_user_writes_is_text_on_the_page():
    from npexplore.report.results_page import results_page

    row = {"key": None, "design": "d", "quantity": "q", "conditions": {"mix": "<b>x</b>"}, "unit": "<i>", "value": 1.0,
           "published": None, "error": None, "predicted": 2.0, "difference": -0.5}  # fmt: skip
    page = results_page([row], "<script>alert(1)</script>")
    assert "<b>x</b>" not in page
    assert "<script>alert" not in page
    assert "-50.0 %" in page
