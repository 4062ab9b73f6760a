"""The accuracy page: scoreboard, groups, rules, every modelled row, reasons of misses, withheld values kept back."""

import re
from pathlib import Path

import pytest

from npexplore.ledger import load
from npexplore.report.accuracy import accuracy
from npexplore.study.checking.check import check


@pytest.fixture(scope="module")
def page():
    found = check(["ixp2400_dram"], seeds=2, packets=500)
    return found, accuracy(found, load())


def test_every_row_stands_in_the_page(page):
    found, text = page
    assert all(f"| `{row['key']}` |" in text for row in found.rows)


def test_keys_can_be_copied_and_no_markup_stands_in_the_text(page):
    """Of the page that is kept, too: rows of two makings stood in it, some with places where a line may break."""
    found, text = page
    kept = (Path(__file__).parents[2] / "reports/accuracy.md").read_text()
    assert not re.search(r"</?(?!br>)[a-z]+>", text + kept)
    worst = {line["worst_key"] for line in found.scores() if line["worst_key"]}
    assert worst
    assert all(f"| {key} |" in text for key in worst)


def test_a_blind_row_shows_its_frozen_prediction_beside_todays(page):
    _, text = page
    line = next(line for line in text.splitlines() if line.startswith("| `ixp2400.fig9.bandwidth.n40` |"))
    cells = [cell.strip() for cell in line.split("|")]
    assert cells[2] == "8.96"
    assert float(cells[6]) > 0
    assert cells[7:9] == ["8.861", "-1.1 %"]


def test_withheld_values_are_kept_back_and_predictions_shown():
    found = check(["raw"], seeds=2, packets=200, keys=["raw.trace.throughput.v4"])
    line = next(line for line in accuracy(found, load()).splitlines() if "`raw.trace.throughput.v4`" in line)
    cells = [cell.strip() for cell in line.split("|")]
    assert cells[2] == "withheld"
    assert float(cells[6]) > 0
    assert cells[7:9] == ["-", "-"]


def test_misses_give_their_reason(page):
    found, text = page
    off = [row for row in found.rows if row["verdict"] == "off"]
    assert all(f"- `{row['key']}`: {row['reason']}" in text for row in off)


def test_free_parameters_are_counted(page):
    found, text = page
    assert f"`ixp2400_dram`: {len(found.free_parameters['ixp2400_dram'])} (" in text


def test_the_page_that_is_kept_counts_alike_in_all_its_parts():
    text = (Path(__file__).parents[2] / "reports/accuracy.md").read_text()
    listed = {name: (int(count), len(names.split(", "))) for name, count, names in
              re.findall(r"^- `(\w+)`: (\d+) \((.*)\)$", text, re.MULTILINE)}  # fmt: skip
    assert all(count == names for count, names in listed.values())
    rows = [[cell.strip(" *") for cell in line.strip("|").split(" | ")] for line in text.splitlines()
            if re.match(r"\| \w+ \| ", line)]  # fmt: skip
    papers, groups = ([row for row in rows if len(row) == length] for length in (19, 14))
    assert [row[0] for row in papers[1:]] == list(dict.fromkeys(row[0] for row in groups[1:]))
    designs = {"nfp": ["nfp4000"], "xdp": ["server"], "ixp2400": ["ixp2400", "ixp2400_dram"]}
    for name, *_, free, _ in papers[1:]:
        assert int(free) == sum(listed[one][0] for one in designs.get(name, [name])), name
    for paper, group, scored, post_hoc, *_ in groups[1:]:
        assert int(post_hoc) <= int(scored), (paper, group)


def test_the_page_begins_with_the_scoreboard_and_tells_what_rules_change(page):
    _, text = page
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert table[0].startswith("| paper | predicted | post hoc | blind | calibrated | arithmetic | rms predicted")
    assert table[2].startswith("| ixp2400 | 0 | 3 | 1 | 0 | 0 | - | 1.")
    assert any(line.startswith("| `verdict.close` | 0.05 | 0.1 |") for line in table)


def test_what_sets_of_parameters_leave_open_is_told():
    found = check(["soclib"], seeds=2, packets=200, keys=["soclib.baseline.words", "soclib.exp2.conflict.cycles"])
    found.rows[1]["range"] = [1.0, 2.5]
    line = next(line for line in accuracy(found, load()).splitlines() if "conflict.cycles`" in line)
    assert "| 1 to 2.5 |" in line
