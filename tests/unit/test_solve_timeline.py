"""Time lines: holds from the engine's log agree with the run's own statistics and with accesses worked out by hand."""

import pytest

from npexplore.designs import design
from npexplore.engine.model import build
from npexplore.engine.run import run
from npexplore.engine.timeline import timeline
from npexplore.errors import InputError

LENGTH = 20e-6


@pytest.fixture(scope="module")
def busy_dram():
    made = design("ixp2400_dram").with_(narrow_share=0.5)
    return made.machine(), made.workload()


def test_one_access_on_an_idle_dram_goes_through_its_steps():
    made = design("ixp2400_dram").with_(window=1, read_share=1.0, refresh="off")
    table = timeline(made.machine(), made.workload(), length_s=LENGTH)
    slot = table[table["server"] == "dram.slots"].iloc[1]
    inside = table[(table["start_s"] >= slot["start_s"]) & (table["start_s"] < slot["end_s"])].set_index("server")
    t = made.machine().resources["dram"].timing
    row_command, column_command = inside.loc["dram.command"].itertuples()
    assert row_command.start_s == pytest.approx(slot["start_s"])
    assert column_command.start_s - row_command.end_s == pytest.approx(t.t_rcd)
    gating, bus, bank = (inside.loc[f"dram.{name}"] for name in ("gating", "bus", "bank"))
    assert gating["start_s"] - column_command.end_s == pytest.approx(t.t_cl)
    assert gating["end_s"] - gating["start_s"] == pytest.approx(64 * 5e-9 / 8)
    assert bus["start_s"] == pytest.approx(gating["end_s"])
    assert bus["end_s"] == pytest.approx(slot["end_s"])
    assert bank["end_s"] == pytest.approx(gating["end_s"] + t.t_ck + t.t_rp)


def test_held_time_is_the_busy_time_of_the_statistics(busy_dram):
    machine, load = busy_dram
    table = timeline(machine, load, length_s=LENGTH)
    model = build(machine, load)
    end = run(model, 1, 1, 1, until_s=LENGTH).snapshots[-1]
    held = (table["end_s"] - table["start_s"]).groupby(table["server"]).sum()
    for name, (server, number) in model.servers.items():
        if server.role != "hidden":
            free = end.integral_free[number : number + server.members].sum() * model.tick
            assert held[name] == pytest.approx(server.units * server.members * LENGTH - free)


def test_no_bank_and_no_bus_is_held_twice(busy_dram):
    machine, load = busy_dram
    table = timeline(machine, load, length_s=LENGTH)
    for server in ("dram.bank", "dram.command", "dram.bus"):
        for _, holds in table[table["server"] == server].groupby("member"):
            ordered = holds.sort_values("start_s")
            assert (ordered["start_s"].iloc[1:].to_numpy() >= ordered["end_s"].iloc[:-1].to_numpy() - 1e-15).all()


def test_a_later_stretch_is_the_end_of_a_longer_one(busy_dram):
    machine, load = busy_dram
    whole = timeline(machine, load, length_s=LENGTH)
    late = timeline(machine, load, start_s=LENGTH / 2, length_s=LENGTH / 2)
    expected = whole[whole["end_s"] > LENGTH / 2].reset_index(drop=True)
    assert len(late) < len(whole)
    assert late.equals(expected)


def test_too_small_a_log_is_refused(busy_dram):
    machine, load = busy_dram
    with pytest.raises(InputError, match="more than 50 log rows"):
        timeline(machine, load, length_s=LENGTH, log_rows=50)


@pytest.mark.parametrize("wrong", [{"length_s": 0.0}, {"length_s": 1e-6, "start_s": -1.0}])
def test_an_impossible_stretch_is_refused(busy_dram, wrong):
    with pytest.raises(InputError, match="of a time line"):
        timeline(*busy_dram, **wrong)
