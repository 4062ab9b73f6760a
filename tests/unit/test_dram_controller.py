"""The DRAM controller of today: what is refused, one answer in a machine and alone, what binds, the picture."""

import dataclasses

import msgspec
import numpy as np
import pytest
from reference.small_machines import machine

from npexplore.errors import InputError, ModelError
from npexplore.machine.resources import AddressMap, DramController, DramPolicy
from npexplore.machine.resources.dram_device import dram_device, dram_devices
from npexplore.machine.resources.dram_run import run_accesses
from npexplore.machine.resources.dram_streams import dram_accesses
from npexplore.machine.under_load import under_load
from npexplore.machine.workload_sources import workload
from npexplore.plot import theme
from npexplore.plot.dram import commands, shares
from npexplore.solve.simulate import simulate

DDR4 = dram_device("ddr4_3200")
REFUSED = [
    ({"t_ras": 47.0}, "t_ras must be at most t_rc = 46.25, got 47.0"),
    ({"banks": 15}, "banks must be a multiple of groups = 4, got 15"),
    ({"burst_length": 7}, "whole clocks of 2 transfers and whole bytes, got burst_length 7 on 64 bits"),
    ({"burst_length": 16}, "t_ccd must be at least a burst of 5 ns, got 2.5"),
    ({"row_bytes": 100}, "row_bytes must be whole bursts of 64, got 100"),
    ({"t_ccd_l": 2.0}, "t_ccd_l must be at least t_ccd = 2.5, got 2.0"),
    ({"t_rfc": 8000.0}, "t_rfc must be below t_refi = 7800.0, got 8000.0"),
    ({"bank_refresh": "same-bank"}, "bank_refresh and t_rfc_bank go together, got 'same-bank', 0.0"),
    ({"t_ck": 0.0}, "t_ck must be above 0, got 0.0"),
    ({"t_rc": 45.0}, "t_rc must be within a clock of t_ras + t_rp = 46.25, or above, got 45.0"),
    ({"row_clocks": 0}, "row_clocks must be whole or half clocks, at least 1/2, got 0"),
    ({"column_clocks": -1}, "column_clocks must be whole or half clocks, at least 1/2, got -1"),
    ({"close_clocks": 0.3}, "close_clocks must be whole or half clocks, at least 1/2, got 0.3"),
    ({"command_buses": 3}, "command_buses must be 1 or 2, got 3"),
]


@pytest.mark.parametrize(("wrong", "rule"), REFUSED)
def test_a_device_that_cannot_be_is_refused(wrong, rule):
    with pytest.raises(ModelError) as caught:
        msgspec.structs.replace(DDR4, **wrong)
    assert str(caught.value).endswith(rule)


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        ({"low": 26}, "low must be below high, and high at most writes = 32, got low 26 and high 26"),
        ({"high": 33}, "low must be below high, and high at most writes = 32, got low 6 and high 33"),
        ({"page": "shut"}, "DRAM policy: page 'shut' is unknown (known: adaptive, closed, open)"),
        ({"reads": 0}, "reads must be an integer of at least 1, got 0"),
    ],
)
def test_a_policy_that_cannot_be_is_refused(wrong, rule):
    with pytest.raises(InputError) as caught:
        DramPolicy(**wrong)
    assert rule in str(caught.value)


def test_a_controller_says_what_does_not_fit_together():
    with pytest.raises(ModelError, match=r'refresh must be "all-bank" or "none" where the device has no bank_refresh'):
        DramController("dram", DDR4, policy=DramPolicy(refresh="bank"))
    with pytest.raises(ModelError, match=r"dram: the address map needs row_bytes = 8192, got 4096"):
        DramController("dram", DDR4, address_map=AddressMap())
    with pytest.raises(InputError, match=r"DRAM device 'ddr4_320' is unknown \(nearest: ddr4_3200"):
        dram_device("ddr4_320")
    with pytest.raises(ModelError, match=r"bank must be in 0\.\.15, got 16"):
        run_accesses(DDR4, bank=[3, 16], row=0)


@pytest.mark.parametrize("name", dram_devices())
def test_every_device_is_no_faster_than_its_pins_and_shares_are_all_of_the_time(name):
    device = dram_device(name)
    made = dram_accesses(device, "hits", 4000, 1)
    run = run_accesses(device, bank=made.bank, row=made.row)
    assert 0.85 < 1e9 * run.gbytes_per_s / device.bytes_per_s < 1
    assert run.gbits_per_s == 8 * run.gbytes_per_s
    assert run.binds == "data bus"
    assert sum(run.shares.values()) == pytest.approx(1)


def test_one_group_binds_and_says_so():
    """Within a group of DDR4-3200 column commands are 8 clocks apart, bursts 4 clocks long."""
    made = dram_accesses(DDR4, "hits", 4000, 1, among=(1, 4))
    run = run_accesses(DDR4, DramPolicy(refresh="none"), bank=made.bank, row=made.row)
    assert run.gbytes_per_s == pytest.approx(64 / 5.0, rel=0.02)
    assert run.shares["bank group"] == pytest.approx(0.5, abs=0.02)


def test_commands_of_a_window_are_drawn():
    made = dram_accesses(DDR4, "random", 400, 1, writes=0.5)
    run = run_accesses(DDR4, bank=made.bank, row=made.row, write=made.write, commands=2000)
    figure = commands(run, 100e-9, 300e-9, title="window")
    inside = [(c, t) for c, t in zip(run.commands.names, run.commands.seconds, strict=True) if 100e-9 <= t < 300e-9]
    assert sum(len(trace.y) for trace in figure.data) == len(inside) > 20
    assert {trace.name for trace in figure.data} == {name for name, _ in inside}
    with pytest.raises(ValueError, match="must contain at least one command"):
        commands(run, 1.0, 2.0, title="nothing")
    import pandas as pd

    bars = shares(pd.DataFrame([run.shares | {"no access": 0.1}], index=["one"]), title="shares").data
    assert len(bars) > 3
    assert [bar.name for bar in bars if bar.marker.color == theme.PALE] == ["no access"]


def test_a_machine_gets_what_a_stream_alone_gets():
    """Many threads that read at random keep the queue full: the rate is that of a saturated stream."""
    from reference.small_machines import machine, packets

    from npexplore.solve.bounds import bounds
    from npexplore.solve.simulate import simulate

    resource = DramController("dram", DDR4)

    def program(m, packet):
        m.receive.free(bytes=64)
        m.dram.read(bytes=64, bank=m.draw(16, "bank"), row=m.draw(1 << 14, "row"))

    made = machine([resource], program, threads=64, capacity_bytes=1 << 20)
    answer, load = simulate(made, packets(64), packets=20_000), dram_accesses(DDR4, "random", 20_000, 1)
    alone = run_accesses(DDR4, resource.policy, bank=load.bank, row=load.row)
    assert answer.rate_pps * 64e-9 == pytest.approx(alone.gbytes_per_s, rel=0.02)
    assert answer.rate_pps < bounds(made, packets(64)).rate_pps
    assert answer.utilization["dram.window"].busy == pytest.approx(answer.rate_pps * 21.25e-9 / 4, rel=0.01)
    assert np.isfinite(answer.latency_s.mean)


@pytest.mark.parametrize("policy", [DramPolicy(), DramPolicy(page="closed")])
def test_refresh_is_time_lost_to_queueing(policy):
    """Where the data bus binds it carries what is left of the time: t_rfc in t_refi less; so much less is simulated."""
    from reference.small_machines import machine, packets

    from npexplore.solve.queueing_model import queueing
    from npexplore.solve.simulate import simulate

    def made(policy):
        def program(m, packet):
            m.receive.free(bytes=64)
            where = {} if policy.page == "closed" else {"row": m.draw(1 << 14, "row")}
            m.dram.read(bytes=2048, bank=m.draw(16, "bank"), **where)

        return machine([DramController("dram", DDR4, policy=policy)], program, threads=64, capacity_bytes=1 << 20)

    never = dataclasses.replace(policy, refresh="none")
    load, left = packets(64), 1 - DDR4.t_rfc / DDR4.t_refi
    answers = [queueing(made(one), load).rate_pps for one in (policy, never)]
    assert answers[0] == pytest.approx(left * answers[1], rel=2e-3)
    runs = [simulate(made(one), load, packets=4000).rate_pps for one in (policy, never)]
    assert runs[0] / runs[1] == pytest.approx(left, rel=0.02)
    assert answers[0] == pytest.approx(runs[0], rel=0.05)


@pytest.mark.parametrize("policy", [{"bank_queue": 4}, {"page": "closed", "entries_until": "row"}, {}])
def test_entries_are_kept_as_long_as_demands_say(policy):
    """Accesses of three bursts: lines of banks give the entry back at once, so does a row command."""
    dram = DramController("dram", dram_device("ddr5_4800"), policy=DramPolicy(**policy))

    def program(m, packet):
        m.dram.read(bytes=180, bank=m.draw(32, "bank"), **({} if policy.get("page") == "closed" else {"row": 2}))
        m.receive.free(bytes=packet.packet_bytes)

    built = machine([dram], program, 2)
    simulate(built, workload(packet_bytes=64), packets=800)  # raises where servers are used for less than demanded
    held = under_load(built, workload(packet_bytes=64)).demands.servers["dram.slots"].seconds
    assert (held > 0) == (not policy)


def test_the_rule_that_binds_is_named_where_the_bus_is_not_full():
    draw = np.random.default_rng(1)
    ddr4, ddr5 = dram_device("ddr4_3200"), dram_device("ddr5_4800")
    banks, rows = draw.integers(0, ddr4.banks, 2000), draw.integers(0, 9999, 2000)
    assert run_accesses(ddr4, DramPolicy(page="closed"), bank=banks, row=rows).rule == "tFAW"
    assert run_accesses(ddr4, bank=0, row=np.arange(500)).rule == "tRC"
    hits = run_accesses(ddr5, bank=0, row=np.zeros(500))
    assert (hits.binds, hits.rule, 0.5 < hits.shares["data bus"] < 0.7) == ("bank group", "tCCD_L", True)
    assert "bank group (tCCD_L) binds" in str(hits)
