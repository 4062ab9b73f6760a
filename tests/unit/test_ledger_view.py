"""Models see input and calibration rows and nothing else, whatever happens to the other values."""

import ast
import csv
import shutil
from pathlib import Path

import pytest

import npexplore
from npexplore.errors import InputError, UnknownNameError
from npexplore.ledger import ROLES, facts, load
from npexplore.paths import share

MODEL_STOREYS = ("rows", "machine", "engine", "solve", "designs")


@pytest.fixture
def other_checks(tmp_path):
    """A copy of the ledger in which every number that models must not know is ten times as large."""
    for file in share("data", "published").glob("*.*"):
        shutil.copy(file, tmp_path / file.name)
    for file in (file for file in tmp_path.glob("*.csv") if file.name != "frozen.csv"):
        with file.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        for row in rows:
            if row["role"] not in ("input", "calibration", "withheld"):
                row["value"] += " (changed)"
                row["note"] = "band of a changed value"
                for column in ("point", "lo", "hi"):
                    row[column] = row[column] and repr(10 * float(row[column]))
        with file.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
    return tmp_path


def test_the_view_holds_every_input_and_calibration_row_and_no_other():
    assert {row.key for row in facts()} == {row.key for row in load() if row.role in ("input", "calibration")}


@pytest.mark.parametrize("role", sorted(set(ROLES) - {"input", "calibration"}))
def test_every_other_row_is_refused_by_role(role):
    view = facts()
    for row in load().select(roles=[role]):
        assert row.key not in view
        with pytest.raises(InputError, match=f"has role '{role}': a model may read only input and calibration rows"):
            view[row.key]
        with pytest.raises(InputError, match=f"has role '{role}'"):
            view.value(row.key)


def test_values_come_in_si_units():
    assert facts().value("ixp2400.dram.channel_clock") == 200e6
    assert facts().value("ixp2400.msf.receive_buffer") == 8192
    assert facts().value("ixp2400.fig13.hash.amp") == pytest.approx(0.148)


def test_a_text_is_no_number():
    with pytest.raises(InputError, match="must have a point to be read as a number, got 'PSC-1135643836-1'"):
        facts().value("ixp2400.trace.id.psc")


def test_an_unknown_row_is_answered_with_known_readable_ones():
    with pytest.raises(UnknownNameError, match=r"nearest: ixp2400\.dram\.banks"):
        facts()["ixp2400.dram.bank"]


def test_the_view_does_not_move_with_the_checks(other_checks):
    changed = load(other_checks)
    assert sum(a.point != b.point for a, b in zip(load(share("data", "published")), changed, strict=True)) > 250
    assert list(facts(other_checks)) == list(facts(share("data", "published")))


def test_the_view_keeps_no_hidden_value(other_checks):
    assert vars(facts(other_checks)) == vars(facts(share("data", "published")))


def test_models_import_nothing_of_the_ledger_but_facts():
    root = Path(npexplore.__file__).parent
    for storey in MODEL_STOREYS:
        for file in (root / storey).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    assert not any(alias.name.startswith("npexplore.ledger") for alias in node.names), file
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("npexplore.ledger"):
                    assert {alias.name for alias in node.names} <= {"facts", "Facts", "Row"}, file
                if isinstance(node, ast.ImportFrom) and node.module == "npexplore":
                    assert "ledger" not in {alias.name for alias in node.names}, file
