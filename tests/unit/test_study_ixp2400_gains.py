"""What the IXP2400's schemes gain: printed bus times by the utilization law, and other readings beside the printed."""

import pytest

from npexplore.designs import design
from npexplore.machine.mixes import load_mix
from npexplore.study.papers.ixp2400 import gains, lengths


def test_the_bus_accounts_of_a_trace_by_hand():
    """AMP: 11.852 cells, 6069 Mb/s and 99.1 % with FCB+TB, 19.26 % less and 97.6 % in the base scheme."""
    row = gains.bus_accounts().set_index("trace").loc["amp"]
    packets = 6069e6 / (512 * 11.852)
    assert row["fcb_tb_ns"] == pytest.approx(0.991e9 / packets)
    assert row["base_ns"] == pytest.approx(0.976e9 / (packets / 1.1926))
    accesses = 10.50e9 / 512 / packets
    overhead = 1.6 * row["fcb_tb_ns"] / accesses - 64
    assert row["overhead_bytes"] == pytest.approx(overhead)
    moved = 10.13e9 / 8 / (packets / 1.1926)
    assert row["extra_accesses"] == pytest.approx((1.6 * row["base_ns"] - moved) / overhead - 2 * 11.852)
    assert row["hb_most_ns"] == pytest.approx(row["base_ns"] * (1 - 1 / 1.0908))
    assert row["hb_least_ns"] == pytest.approx(row["base_ns"] * (1 - 0.991 / 0.976 / 1.0908))


def test_no_trace_lets_header_buffering_save_as_little_as_the_program_does():
    table = gains.bus_accounts()
    assert (table["program_ns"] < 0.97 * table["hb_least_ns"]).all()
    assert (table["extra_accesses"] > 2.6).all()


def test_a_header_read_twice_gains_more_when_it_is_kept_on_the_chip():
    names = ("as described", "long packets' headers read twice")
    found = gains.gains(design("ixp2400"), {name: gains.READINGS[name] for name in names}, packets=1024)
    assert set(found["reading"]) == set(names)
    at = found.set_index(["reading", "mix", "scheme", "baseline"])["gain"]
    for trace in lengths.TRACES:
        assert at[names[1], trace, "hb", "base"] > at[names[0], trace, "hb", "base"] + 1
        assert at[names[1], trace, "fcb", "hb"] == pytest.approx(at[names[0], trace, "fcb", "hb"], abs=1)
    beside = gains.beside_printed(found).set_index(["reading", "step"])
    assert beside.loc[("as described", "hb"), "amp"] == pytest.approx(at[names[0], "amp", "hb", "base"] - 9.08)
    assert list(beside.columns) == ["amp", "frg", "psc"]


def test_other_mixes_stand_in_for_one_table_alone():
    mixes = lengths.load_sets()[0].mix
    before = load_mix("amp").file
    once = {"x": {}}
    usual, other = (gains.gains(design("ixp2400"), once, mixes=m, packets=512)["gain"] for m in ((), mixes))
    assert not usual.equals(other)
    assert load_mix("amp").file == before
