"""Petri nets of JMT's simulator, solved as the nets they are."""

import json

import pytest
from reference.jmt_files import SINK, exponential, file, links, source, station
from reference.jmt_net_files import choice, coloured, place, preload, transition

from npexplore.cli import main
from npexplore.errors import InputError
from npexplore.networks import read_jmt_net
from npexplore.solve.petri import simulate_net, solve_chain


@pytest.fixture
def read(tmp_path):
    def read(text):
        path = tmp_path / "net.jsimg"
        path.write_text(text)
        return read_jmt_net(path)

    return read


# what JMT stored in its example simple_cpn.jsimg: 99 % intervals (loretor/JMTNewVersion, examples/jsim/pn_models)
STORED = {"P A": (16.488, 17.253), "P B": (12.796, 13.463)}
STORED_RATES = {"T Mode1": (2.8798, 2.9996), "T Mode2": (5.6928, 5.8716), "T Mode3": (25.823, 27.022)}


def test_a_net_of_several_classes_and_modes_has_the_means_that_jmt_stored(read):
    answer = solve_chain(read(coloured()))
    for name, (low, high) in STORED.items():
        assert low <= answer.places[name].mean <= high
    for name, (low, high) in STORED_RATES.items():
        assert low <= answer.transitions[name].throughput <= high


def test_modes_in_no_time_go_by_priority_then_by_weight(read):
    rates = solve_chain(read(choice())).transitions
    assert [rates[name].throughput for name in ("go", "one", "two")] == pytest.approx([1.0, 0.25, 0.75])
    rates = solve_chain(read(choice(first=1))).transitions  # the larger number first
    assert [rates[name].throughput for name in ("one", "two")] == pytest.approx([1.0, 0.0])
    rates = solve_chain(read(choice(inhibit=1, first=1))).transitions
    assert [rates[name].throughput for name in ("one", "two")] == pytest.approx([0.0, 1.0])


def test_sources_and_sinks_of_a_net(read):
    """M/M/2 with rho 0.5: a mean of 4 / 3 customers."""
    leave = {"take": {"Q": {"A": 1}}, "give": {"Sink": {"A": 1}}, "time": exponential(1.0), "servers": 2}
    net = read(file(
        '<userClass name="A" priority="0" type="open" referenceSource="Source"/>',
        source({"A": exponential(1.0)}, {"A": "RandomStrategy"}), place("Q", "A"), transition("T", "A", leave), SINK,
        links(("Source", "Q"), ("Q", "T"), ("T", "Sink")),
    ))  # fmt: skip
    answer = simulate_net(net, range(1, 4), 200_000)
    assert answer.places["Q"].low <= 4 / 3 <= answer.places["Q"].high


def test_the_command_shows_stored_results_of_a_net(tmp_path, capsys):
    stored = (
        '<results pollingInterval="1.0"><measure name="P_A_Number of Customers" referenceStation="P" referenceClass="A"'
        ' finalValue="16.87"><sample meanValue="16.87" lowerBound="16.49" upperBound="17.25"/></measure>'
        '<measure name="T_Mode1_Firing Throughput" referenceStation="T" referenceClass="Mode1" finalValue="2.94"/>'
        "</results></archive>"
    )
    path = tmp_path / "net.jsimg"
    path.write_text(coloured().partition("<results")[0] + stored)
    assert main(["solve", str(path), "--method", "ctmc", "--compare-stored", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["stored"]
    assert [row["ours"]["ctmc"] for row in rows] == [pytest.approx(16.8653, abs=1e-3), pytest.approx(2.934, abs=1e-3)]
    assert main(["solve", str(path), "--method", "ctmc", "--compare-stored"]) == 0
    assert "Firing Throughput" in capsys.readouterr().out


def test_what_a_net_cannot_say_is_refused_by_name(read):
    queue = station("Q", {"A": exponential(1.0)}, {"A": {"a": 1.0}})
    region = '<blockingRegion name="R"><regionNode nodeName="a"/></blockingRegion>'
    for text, message in (
        (choice(limit=2), "node 'a': class 'A': a limit of the tokens in a place is not supported, got 2"),
        (choice(limit=-3), "node 'a': class 'A': a limit of the tokens in a place is not supported, got -3"),
        (choice(more=queue), "node 'Q': a node of the sections Queue, Server, Router is not supported among places"),
        (choice(more=region), "blockingRegion 'R': a region is not supported in a Petri net"),
        (choice(weights=(0.0, 1.0)), "section 'Timing': mode 'Mode1': its weight must be greater than 0, got 0"),
        (choice(more=preload(b=("A", 2))), "preload has 1 customers more than the class"),
    ):
        with pytest.raises(InputError, match=r"^net\.jsimg:\d+: ") as caught:
            read(text)
        assert message in str(caught.value)
