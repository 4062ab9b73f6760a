"""The recipe of docs/server.md on a box whose truth is known: 211 cycles a packet at 3 GHz, eight lanes."""

import json

import pytest

import npexplore as npx
from npexplore.cli import main
from npexplore.designs import with_machines
from npexplore.errors import UnknownNameError
from npexplore.paths import share
from npexplore.study.checking.calibrate import Span, calibrate
from npexplore.study.checking.results import read_results

BOX = share("models", "template", "box.csv")


def fitted(rows):
    free = {"own_cycles": Span(100, 400), "pcie_lanes": [8, 16]}
    return calibrate(free, [], of="server", own=rows, solver="bounds", profiles=False).best.values


def test_three_numbers_find_the_truth_and_predict_the_rest():
    box = read_results(BOX)
    found = fitted([row for row in box.own if row.role == "calibration"])
    assert found["pcie_lanes"] == 8
    assert found["own_cycles"] == pytest.approx(211, rel=0.01)
    mine = npx.design("server").with_(**found)
    rows = npx.check(["server"], keys=[], seeds=2, results=box, machines={"server": mine}).results
    checked = [row for row in rows if row["role"] == "check"]
    assert len(checked) == 4
    for row in checked:
        assert row["predicted"] == pytest.approx(row["value"], rel=0.01), row
        assert row["our_verdict"] == "inside"


def test_a_box_that_is_not_this_machine_is_seen():
    """Cores that share what the model does not know: twice the cores, but half more packets."""
    box = read_results(BOX)
    mine = npx.design("server").with_(own_cycles=211.0, pcie_lanes=16)
    rows = npx.check(["server"], keys=[], seeds=2, results=box, machines={"server": mine}).results
    assert {row["our_verdict"] for row in rows if row["role"] == "check"} == {"inside", "off"}


def test_rows_may_name_the_machine_as_its_file_does(tmp_path, capsys):
    """A file that changes the server and has a name of its own: its rows are the server's, with that file's values."""
    file, rows = tmp_path / "mybox.toml", tmp_path / "box.csv"
    file.write_text('name = "mybox"\nextends = "server"\nset = { own_cycles = 211.0, pcie_lanes = 8 }\n')
    rows.write_text(BOX.read_text().replace("server,", "mybox,"))
    with pytest.raises(UnknownNameError, match="'mybox' is unknown"):
        read_results(rows)  # nobody said what it is
    mine = npx.design(file)
    with with_machines({"server": mine}):
        box = read_results(rows)
    assert box.designs == ["server"]
    assert main(["check", "--design", str(file), "--results", str(rows), "--seeds", "2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["results"]
    assert len(told) == len(box.listed)
    assert all(abs(row["difference"]) < 0.01 for row in told)
