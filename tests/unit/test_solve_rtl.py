"""Solver `rtl` where there is no answer: designs without hardware, knobs without a template, no Verilator."""

import pytest

from npexplore.designs import design
from npexplore.designs.gorilla import rate
from npexplore.errors import InputError, RefusedError
from npexplore.machine.workload_sources import workload
from npexplore.study.checking.check import check
from npexplore.study.explaining.explain import explain
from npexplore.study.sweeping.grid import grid
from npexplore.study.sweeping.sweep import sweep


def test_a_design_without_hardware_says_so():
    with pytest.raises(RefusedError, match="rtl: design ixp2400 has no hardware"):
        design("ixp2400").rtl(workload(packet_bytes=64))


def test_hardware_takes_its_own_packets_alone():
    with pytest.raises(RefusedError, match="the design's own packets only"):
        design("gorilla").rtl(workload(packet_bytes=64))


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"frames": "imix"}, "no template for another frames than 'minimum', got 'imix'"),
        ({"cache_entries": 16}, "no template for another cache_entries than 0, got 16"),
        ({"arrivals": "poisson"}, "periodically or as fast as they are taken, got arrivals 'poisson'"),
        ({"proto": "mpls"}, "labels are not timed, got 'mpls'"),
        ({"when_full": "drop"}, "when_full must be stall, got 'drop'"),
        ({"balancing": "random"}, "balancing"),
    ],
)
def test_what_hardware_has_no_template_for_is_refused(knobs, message, monkeypatch):
    monkeypatch.setattr(rate.shutil, "which", lambda name: f"/usr/bin/{name}")
    with pytest.raises(RefusedError, match=message):
        design("gorilla").with_(**knobs).rtl()


def test_without_verilator_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(rate.shutil, "which", lambda name: None)
    with pytest.raises(RefusedError, match="rtl: needs Verilator on the path"):
        design("gorilla").rtl()


def test_too_few_packets_are_no_run():
    with pytest.raises(InputError, match="packets must be at least 1000, got 999"):
        design("gorilla").rtl(packets=999)


def test_a_sweep_keeps_the_reason():
    rows = sweep(grid("ixp2400_dram", solver=["bounds", "rtl"]))
    assert rows["solver"].tolist() == ["bounds", "rtl"]
    assert rows["refused"].dropna().tolist() == ["rtl: design ixp2400_dram has no hardware"]


def test_an_explanation_has_the_field_whether_it_is_asked_for_or_not():
    made = design("ixp2400_dram")
    usual = explain(made, elasticities=False, packets=500).to_dict()
    assert usual["rtl"] is None
    assert "rtl" not in usual["refused"]
    asked = explain(made, elasticities=False, packets=500, rtl=True).to_dict()
    assert asked["rtl"] is None
    assert asked["refused"]["rtl"] == "rtl: design ixp2400_dram has no hardware"


def test_a_row_without_hardware_has_none():
    found = check(keys=["ixp2400.validation.petri.peak"], rtl=True, seeds=2, packets=500)
    assert (found.rows[0]["rtl"], found.rows[0]["rtl_label"]) == (None, None)
    assert found.rows[0]["simulated"] is not None


def test_what_hardware_says_of_a_row_has_a_label_of_its_own(monkeypatch):
    """Of a row that the cycles of a lookup were fitted to it is calibrated, whoever answers."""

    def pretended(p, packets):
        assert p.lookup_cycles
        return design("gorilla").with_(boot_us=5, window_us=10).simulate(breakdown=False)

    monkeypatch.setattr(rate, "rate", pretended)
    row = check(keys=["gorilla.perf.ipv4.16-6-1.nofc"], rtl=True, seeds=1).rows[0]
    assert row["rtl"] is not None
    assert row["rtl_label"] == "calibrated"
