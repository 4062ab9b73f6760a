"""Tables behind figures of any machine agree with the solvers, with arithmetic by hand, and with each other."""

import numpy as np
import pytest

from npexplore.designs import design
from npexplore.ledger import load
from npexplore.machine.workload import Workload
from npexplore.machine.workload_sources import workload
from npexplore.study.checking.check import Check
from npexplore.study.papers import tables
from npexplore.study.sweeping.grid import grid

MACHINE = design("ixp2400")
AMP = workload(mix="amp")


def test_the_least_of_the_ceilings_is_the_bound():
    table = tables.ceilings(MACHINE, AMP, "bus_bits", (64, 256))
    for width, part in table.groupby("bus_bits"):
        bound = MACHINE.with_(bus_bits=width).bounds(AMP)
        (lowest,) = part[part["binding"]].to_dict("records")
        assert (lowest["resource"], lowest["ceiling_gbps"]) == (
            bound.bottleneck,
            pytest.approx(bound.throughput_bps / 1e9),
        )
        assert lowest["ceiling_gbps"] == part["ceiling_gbps"].min()


def test_demands_are_in_order_and_the_tightest_is_full():
    table = tables.demands(MACHINE, AMP)
    assert list(table["ceiling_mpps"]) == sorted(table["ceiling_mpps"])
    assert table["load"].iloc[0] == 1.0
    bus = table.set_index("server").loc["dram.bus"]
    assert bus["ceiling_mpps"] == pytest.approx(1e3 / bus["ns_per_packet"])


def test_cumulative_lengths_begin_at_zero_and_end_at_one():
    load = Workload("mine", {"packet_bytes": np.array([40, 1500, 40, 576])})
    table = tables.lengths([load])
    assert list(zip(table["length_bytes"], table["share"], strict=True)) == [(40, 0), (40, 0.5), (576, 0.75), (1500, 1)]
    assert set(table["source"]) == {"mine"}


def test_offered_load_counts_the_packets_that_are_lost_too():
    load = AMP.with_arrivals("poisson", 2e6)
    table = tables.swept(grid(MACHINE, load, solver=("bounds", "simulation")))
    mean_bits = 8 * float(np.mean(-(-AMP.packet_bytes // 64) * 64))
    assert list(table["offered_gbps"]) == pytest.approx([2e6 * mean_bits / 1e9] * 2)
    simulated = table.set_index("solver").loc["simulation"]
    assert simulated["low_gbps"] < simulated["throughput_gbps"] < simulated["high_gbps"] < simulated["offered_gbps"]
    assert 0.3 < simulated["lost"] < 0.8


def test_what_is_not_stated_tells_its_choices_and_its_fit():
    table = tables.unstated(MACHINE, AMP).set_index("name")
    assert table.loc["writes", "instead"].startswith("or bus_first")
    assert table.loc["hash_ns", "instead"] == "fitted to 2 rows"
    assert table.loc["hash_ns", "value"].endswith(" ns")
    assert table.loc["amp", "kind"] == "workload"
    assert "banks" not in table.index


def test_rows_of_a_figure_carry_their_conditions():
    rows = [{"key": f"ixp2400.fig9.bandwidth.n{n}", "quantity": "bandwidth"} for n in (0, 30)]
    rows.append({"key": "ixp2400.fig13.bank.amp", "quantity": "utilization"})
    table = tables.compared(Check(rows, {}), load(), "Fig. 9")
    assert list(table["key"]) == ["ixp2400.fig9.bandwidth.n0", "ixp2400.fig9.bandwidth.n30"]
    assert list(table["narrow_share"]) == [0, 0.3]
