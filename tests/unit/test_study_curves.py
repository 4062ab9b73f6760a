"""Tables behind figures agree with the solvers, with arithmetic by hand, and with each other."""

import numpy as np
import pytest

from npexplore.designs import design
from npexplore.ledger import load
from npexplore.machine.workload import Workload, workload
from npexplore.study.checking.check import Check
from npexplore.study.papers import curves
from npexplore.study.sweeping.grid import grid

MACHINE, DRAM = design("ixp2400"), design("ixp2400_dram")
AMP = workload(mix="amp")


def test_the_least_of_the_ceilings_is_the_bound():
    table = curves.ceilings(MACHINE, AMP, "bus_bits", (64, 256))
    for width, part in table.groupby("bus_bits"):
        bound = MACHINE.with_(bus_bits=width).bounds(AMP)
        (lowest,) = part[part["binding"]].to_dict("records")
        assert (lowest["resource"], lowest["ceiling_gbps"]) == (
            bound.bottleneck,
            pytest.approx(bound.throughput_bps / 1e9),
        )
        assert lowest["ceiling_gbps"] == part["ceiling_gbps"].min()


def test_demands_are_in_order_and_the_tightest_is_full():
    table = curves.demands(MACHINE, AMP)
    assert list(table["ceiling_mpps"]) == sorted(table["ceiling_mpps"])
    assert table["load"].iloc[0] == 1.0
    bus = table.set_index("server").loc["dram.bus"]
    assert bus["ceiling_mpps"] == pytest.approx(1e3 / bus["ns_per_packet"])


def test_narrow_shares_by_hand():
    table = curves.narrow_share({"base": MACHINE, "fcb_tb": MACHINE.with_(scheme="fcb_tb")}, (64, 100))
    found = table.set_index(["scheme", "packet_bytes"])
    # base: a cell or two written and read, and the header read and written
    assert tuple(found.loc["base", 64]) == (4.0, 0.5)
    assert tuple(found.loc["base", 100]) == (6.0, pytest.approx(4 / 6))
    assert tuple(found.loc["fcb_tb", 64]) == (0.0, 0.0)


def test_cumulative_lengths_begin_at_zero_and_end_at_one():
    load = Workload("mine", {"packet_bytes": np.array([40, 1500, 40, 576])})
    table = curves.lengths([load])
    assert list(zip(table["length_bytes"], table["share"], strict=True)) == [(40, 0), (40, 0.5), (576, 0.75), (1500, 1)]
    assert set(table["source"]) == {"mine"}


def test_cells_add_up_to_the_packet():
    table = curves.cells((40, 64, 150), 64)
    assert dict(table.groupby("packet_bytes")["bytes"].sum()) == {40: 40, 64: 64, 150: 150}
    last = table[table["packet_bytes"] == 150]
    assert [tuple(row) for row in last[["bytes", "sop", "eop"]].to_numpy()] == [(64, 1, 0), (64, 0, 0), (22, 0, 1)]


def test_a_lone_access_holds_the_bus_for_its_data_and_its_overhead():
    steps = curves.access_steps(DRAM, 64).set_index("server")
    expected = (64 + DRAM.parameters.bus_overhead_bytes) / 8 * 5.0
    assert steps.loc["dram.bus", "read_ns"] == pytest.approx(expected)
    assert (steps["read_ns"] > 0).all()


def test_every_access_of_a_time_line_takes_its_steps_in_order():
    table = curves.accesses(DRAM.with_(pattern="in_turn", refresh="off"), start_s=4e-6, length_s=1e-6)
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
    wide = curves.accesses(in_turn, start_s=4e-6, length_s=1e-6)
    short = curves.accesses(in_turn.with_(access_bytes=24), start_s=4e-6, length_s=1e-6)
    assert curves.busy_share(wide, "dram.bus", 1000) == pytest.approx(1.0)
    assert curves.busy_share(short, "dram.bus", 1000) < 0.9


def test_offered_load_counts_the_packets_that_are_lost_too():
    load = AMP.with_arrivals("poisson", 2e6)
    table = curves.swept(grid(MACHINE, load, solver=("bounds", "simulation")))
    mean_bits = 8 * float(np.mean(-(-AMP.packet_bytes // 64) * 64))
    assert list(table["offered_gbps"]) == pytest.approx([2e6 * mean_bits / 1e9] * 2)
    simulated = table.set_index("solver").loc["simulation"]
    assert simulated["low_gbps"] < simulated["throughput_gbps"] < simulated["high_gbps"] < simulated["offered_gbps"]
    assert 0.3 < simulated["lost"] < 0.8


def test_what_is_not_stated_tells_its_choices_and_its_fit():
    table = curves.unstated(MACHINE, AMP).set_index("name")
    assert table.loc["writes", "instead"].startswith("or bus_first")
    assert table.loc["hash_ns", "instead"] == "fitted to 2 rows"
    assert table.loc["hash_ns", "value"].endswith(" ns")
    assert table.loc["amp", "kind"] == "workload"
    assert "banks" not in table.index


def test_rows_of_a_figure_carry_their_conditions():
    rows = [{"key": f"ixp2400.fig9.bandwidth.n{n}", "quantity": "bandwidth"} for n in (0, 30)]
    rows.append({"key": "ixp2400.fig13.bank.amp", "quantity": "utilization"})
    table = curves.compared(Check(rows, {}), load(), "Fig. 9")
    assert list(table["key"]) == ["ixp2400.fig9.bandwidth.n0", "ixp2400.fig9.bandwidth.n30"]
    assert list(table["narrow_share"]) == [0, 0.3]
