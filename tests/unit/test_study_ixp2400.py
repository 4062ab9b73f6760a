"""Tables behind the IXP2400's figures agree with arithmetic by hand: cells, narrow accesses, the DRAM's time line."""

import pytest

from npexplore.designs import design
from npexplore.machine.resources.dram_device import dram_devices
from npexplore.study.papers.ixp2400.tables import access_steps, accesses, busy_share, cells, narrow_share
from npexplore.study.papers.ixp2400.today import THEN, memory_of_today

MACHINE, DRAM = design("ixp2400"), design("ixp2400_dram")


def test_narrow_shares_by_hand():
    table = narrow_share({"base": MACHINE, "fcb_tb": MACHINE.with_(scheme="fcb_tb")}, (64, 100))
    found = table.set_index(["scheme", "packet_bytes"])
    # base: a cell or two written and read, and the header read and written
    assert tuple(found.loc["base", 64]) == (4.0, 0.5)
    assert tuple(found.loc["base", 100]) == (6.0, pytest.approx(4 / 6))
    assert tuple(found.loc["fcb_tb", 64]) == (0.0, 0.0)


def test_cells_add_up_to_the_packet():
    table = cells((40, 64, 150), 64)
    assert dict(table.groupby("packet_bytes")["bytes"].sum()) == {40: 40, 64: 64, 150: 150}
    last = table[table["packet_bytes"] == 150]
    assert [tuple(row) for row in last[["bytes", "sop", "eop"]].to_numpy()] == [(64, 1, 0), (64, 0, 0), (22, 0, 1)]


def test_a_lone_access_holds_the_bus_for_its_data_and_its_overhead():
    steps = access_steps(DRAM, 64).set_index("server")
    expected = (64 + DRAM.parameters.bus_overhead_bytes) / 8 * 5.0
    assert steps.loc["dram.bus", "read_ns"] == pytest.approx(expected)
    assert (steps["read_ns"] > 0).all()


def test_every_access_of_a_time_line_takes_its_steps_in_order():
    table = accesses(DRAM.with_(pattern="in_turn", refresh="off"), start_s=4e-6, length_s=1e-6)
    inside = table[(table["start_ns"] >= 0) & (table["end_ns"] < 1000)]
    counts = inside.groupby(["access", "lane"]).size().unstack(fill_value=0)
    whole = counts[(counts["dram.bus"] == 1) & (counts["dram.gating"] == 1) & (counts["dram.command"] == 2)]
    assert len(whole) > 10
    for access in whole.index:
        steps = inside[inside["access"] == access].set_index("lane")
        bank = steps[steps.index.str.startswith("dram.bank")]
        if len(bank) == 1:
            assert bank["start_ns"].iloc[0] <= steps.loc["dram.command", "start_ns"].min()
            assert steps.loc["dram.gating", "end_ns"] <= steps.loc["dram.bus", "start_ns"] + 1e-6


def test_wide_accesses_in_turn_fill_the_bus_and_narrow_ones_do_not():
    in_turn = DRAM.with_(pattern="in_turn", refresh="off")
    wide = accesses(in_turn, start_s=4e-6, length_s=1e-6)
    short = accesses(in_turn.with_(access_bytes=24), start_s=4e-6, length_s=1e-6)
    assert busy_share(wide, "dram.bus", 1000) == pytest.approx(1.0)
    assert busy_share(short, "dram.bus", 1000) < 0.9


def test_memory_of_today_moves_more_than_then_and_no_more_than_its_pins():
    found = memory_of_today(2000).set_index("memory")
    assert [*found.index] == [THEN, *dram_devices()]
    assert found.loc[THEN, "gbps"] < 12.8  # 100 MHz, two transfers a clock of 64 bits
    for name, device in dram_devices().items():
        assert found.loc[name, "gbps"] < 8e-9 * device.bytes_per_s
        assert found.loc[name, "times"] == pytest.approx(found.loc[name, "gbps"] / found.loc[THEN, "gbps"])
        assert found.loc[name, "times"] > 5
