"""Compare: every listed machine on the same packets, as published or at one clock; refusals say why."""

import json

import numpy as np
import pytest

import npexplore
from npexplore.cli import main
from npexplore.cli.output import cell
from npexplore.designs import DESIGNS, design
from npexplore.errors import InputError, UnknownNameError
from npexplore.machine.workload import Workload
from npexplore.study.explaining.compare import COLUMNS, clock_of, compare

LOAD = npexplore.workload(packet_bytes=64)


@pytest.fixture(scope="module")
def table():
    return compare(LOAD)


def test_every_listed_machine_has_a_row_with_an_answer(table):
    assert list(table["machine"]) == list(DESIGNS)
    assert tuple(table.columns) == COLUMNS
    for row in table.to_dict("records"):
        assert row["packet_bps"] > 0, row
        assert isinstance(row["refused"], str) == (row["machine"] == "raw"), row  # queueing does not answer for RAW
        assert row["clock_mhz"] > 0 or row["machine"] == "pcie"  # which has no clock: its wires have rates
        assert row["bottleneck"]


def test_numbers_are_those_of_the_solvers(table):
    row = table.set_index("machine").loc["ixp2400"]
    made = design("ixp2400")
    assert row["bounds_bps"] == made.bounds(LOAD).throughput_bps
    assert row["simulated_bps"] == made.simulate(LOAD, 1).throughput_bps
    assert row["packet_bps"] == pytest.approx(row["rate_pps"] * 512)
    assert row["clock_mhz"] == 600


def test_a_machine_with_its_own_workload_gets_the_packets(table):
    rows = table.set_index("machine")
    assert rows["note"].notna().sum() == 1
    assert rows.loc["ixp1200", "rate_pps"] == design("ixp1200").explain(elasticities=False).best.rate_pps  # 64 bytes
    assert rows.loc["ixp2400_dram", "note"] == "each packet is one access of its length"
    assert rows.loc["gorilla", "bottleneck"] == "pre"  # as many frames of 82 bytes as it takes, not the paper's rate


def test_lengths_out_of_range_are_told():
    load = Workload("long", {"packet_bytes": np.array([64, 9000])})
    (row,) = compare(load, ["ixp1200"]).to_dict("records")
    assert row["refused"] == "knob packet_bytes must be in 20..1518 bytes, got 9000"


def test_a_common_clock_scales_rates_and_times(table):
    same = compare(LOAD, ["ixp2400"], clock_mhz=1200).to_dict("records")[0]
    own = table.set_index("machine").loc["ixp2400"]
    assert same["simulated_bps"] == pytest.approx(2 * own["simulated_bps"])
    assert same["latency_s"] == pytest.approx(own["latency_s"] / 2)
    assert (same["clock_mhz"], same["bottleneck"]) == (1200, own["bottleneck"])


def test_scaling_is_what_a_machine_with_everything_faster_does():
    """All times of the SoCLIB machine are cycles of one clock: twice the clock, twice the rate."""
    assert clock_of(design("soclib").machine(), design("soclib").parameters) == 100
    fast = design("soclib").with_(clock_mhz=200.0)
    one, two = (d.explain(elasticities=False).best.rate_pps for d in (design("soclib"), fast))
    (row,) = compare(npexplore.workload(packet_bytes=56), ["soclib"], clock_mhz=200.0).to_dict("records")
    assert two == pytest.approx(2 * one, rel=1e-3)
    assert row["rate_pps"] == pytest.approx(two, rel=1e-3)


def test_what_cannot_be_compared_is_one_line():
    with pytest.raises(InputError, match="saturated arrivals, got poisson"):
        compare(LOAD.with_arrivals("poisson", 1e6), clock_mhz=600)
    with pytest.raises(InputError, match="common clock must be greater than 0"):
        compare(LOAD, clock_mhz=0)
    with pytest.raises(UnknownNameError, match="nearest: ixp2400"):
        compare(LOAD, ["ixp2401"])
    with pytest.raises(InputError, match="at least one machine"):
        compare(LOAD, [])


def test_the_command(capsys):
    assert main(["compare", "ixp2400", "pcie", "--mix", "dos", "--clock-mhz", "600", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["machine"] for row in document["rows"]] == ["ixp2400", "pcie"]
    assert document["rows"][1]["refused"] == "no clock that could be scaled"
    assert set(document["rows"][0]) == set(COLUMNS)
    assert document["rows"][1]["simulated_bps"] is None
    assert main(["compare", "ixp2400", "--packet-bytes", "64", "--clock-mhz", "100"]) == 0
    told = capsys.readouterr().out
    assert "all at 100 MHz" in told
    assert "bounds Mb/s  queueing Mb/s  simulated Mb/s" in told
    (row,) = compare(LOAD, ["ixp2400"], clock_mhz=100).to_dict("records")
    assert {cell(row["packet_bps"] / 1e6), cell(row["latency_s"] * 1e6)} < {*told.split()}
    assert main(["compare"]) == 2
    assert "compare needs one of --trace FILE" in capsys.readouterr().err
