"""The recipe of docs/server.md on a box whose truth is known: 211 cycles a packet at 3 GHz, eight lanes."""

import pytest

import npexplore as npx
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
