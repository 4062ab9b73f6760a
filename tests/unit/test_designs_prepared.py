"""Machines are made ready once: answers are those of a machine made anew; what differs is another machine."""

from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from functools import partial

import numpy as np
import pytest

from npexplore.designs import DESIGNS, design
from npexplore.designs import prepared as module
from npexplore.designs.base import Design
from npexplore.designs.prepared import CACHED_MACHINES, LARGEST, prepared
from npexplore.engine import model as engine_model
from npexplore.engine.model import build
from npexplore.machine.under_load import under_load
from npexplore.machine.workload import Workload
from npexplore.machine.workload_sources import workload
from npexplore.solve.bounds import bounds
from npexplore.solve.simulate import simulate
from npexplore.study.sweeping import answers
from npexplore.study.sweeping.answers import predict
from npexplore.study.sweeping.grid import SweepPoint
from npexplore.study.sweeping.points import Point, Predictions

SHORT = workload(packet_bytes=64)


def given(name):
    return None if design(name).own is not None else SHORT


@pytest.mark.parametrize("name", DESIGNS)
def test_every_design_is_kept_and_answers_as_if_made_anew(name):
    made, load = design(name), given(name)
    ready = prepared(made, load)
    assert prepared(design(name), load) is ready
    fresh, packets = made.machine(), made.workload(load)
    assert made.bounds(load) == bounds(fresh, packets)
    model, own = build(fresh, packets), ready.model()
    assert own is ready.model()
    assert np.array_equal(own.rows, model.rows)
    assert (own.sources, own.patience_s, own.rings, own.globals) == (
        model.sources, model.patience_s, model.rings, model.globals
    )  # fmt: skip
    assert ready.under_load().ceilings() == own.under_load.ceilings()


def test_seeds_of_one_machine_answer_as_of_three():
    made = design("ixp2400")
    for seed in (1, 2, 1):
        assert made.simulate(SHORT, seed, packets=200) == simulate(made.machine(), SHORT, seed=seed, packets=200)


def test_what_differs_is_another_machine():
    made = design("ixp2400")
    ready = prepared(made, SHORT)
    for other in (
        prepared(made.with_(banks=8), SHORT),
        prepared(made, workload(packet_bytes=65)),
        prepared(made, workload(packet_bytes=64, arrivals="poisson", rate=1e6)),
    ):
        assert other is not ready
    assert prepared(made.with_(banks=made.parameters.banks), workload(packet_bytes=64)) is ready


def at_rates(name):
    """Designs and workloads of one design: the same packets at three rates."""
    made = design(name)
    if "offered_gbps" in made.parameters.file.parameter:
        return [(made.with_(offered_gbps=gbps), SHORT) for gbps in (1.0, 2.0, 3.0)]
    if made.own is None:
        return [(made, workload(packet_bytes=64, arrivals="poisson", rate=rate)) for rate in (1e5, 2e5, 3e5)]
    return [(made, None)]


@pytest.mark.parametrize("name", DESIGNS)
def test_packets_at_other_rates_share_programs_and_answer_as_if_made_anew(name):
    machines = set()
    for made, load in at_rates(name):
        ready, fresh = prepared(made, load), build(made.machine(), made.workload(load))
        own = ready.model()
        machines.add(id(ready.machine))
        assert np.array_equal(own.rows, fresh.rows)
        assert all(np.array_equal(a, b) for a, b in zip(own.tables, fresh.tables, strict=True))
        for field in fields(fresh):
            if field.name == "controllers":  # of the same device: equal blocks
                blocks = [[one.block(4, 0).tolist() for one in model.controllers] for model in (own, fresh)]
                assert blocks[0] == blocks[1]
            elif field.name not in ("rows", "tables", "demands", "patience", "servers"):
                assert getattr(own, field.name) == getattr(fresh, field.name), field.name
        assert own.patience_s == fresh.patience_s
        assert [n for _, n in own.servers.values()] == [n for _, n in fresh.servers.values()]
        assert own.under_load.workload.rate_pps == fresh.under_load.workload.rate_pps
    assert len(machines) == 1


def test_what_programs_read_is_not_shared():
    made = design("raw").with_(offered_gbps=1.0)
    first = prepared(made, SHORT)
    first.model()
    assert prepared(made.with_(offered_gbps=2.0), SHORT).machine is first.machine
    for other in (made.with_(fifo_depth=8), made.with_(offered_gbps=0.0), made.with_(version="v1")):
        assert prepared(other, SHORT).machine is not first.machine
    assert prepared(made, workload(packet_bytes=65)).machine is not first.machine


@pytest.mark.parametrize("wrap", [lambda build: partial(build), lambda build: lambda p: build(p)])
def test_a_machine_of_the_user_s_own_is_made_anew(wrap):
    made = design("ixp2400")
    own = Design("own", made.parameters, wrap(made.build))
    assert prepared(own, SHORT) is not prepared(own, SHORT)


def test_a_changed_file_is_another_design(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\ntitle = "Mine"\nextends = "ixp2400"\n')
    before = prepared(design(path), SHORT)
    path.write_text('name = "mine"\ntitle = "Mine, later"\nextends = "ixp2400"\n')
    assert prepared(design(path), SHORT) is not before


def test_few_are_kept_and_no_long_captures():
    made = design("ixp2400")
    first = prepared(made, SHORT)
    for size in range(100, 100 + CACHED_MACHINES):
        prepared(made, workload(packet_bytes=size))
    assert prepared(made, SHORT) is not first
    assert len(module._machines) == CACHED_MACHINES
    long = Workload("long", {"packet_bytes": np.full(LARGEST + 1, 64)})
    assert prepared(made, long) is not prepared(made, long)


def test_what_a_machine_hangs_on_is_read_anew():
    made = design("ixp2400")
    made.demands(SHORT)
    assert "banks" in made.depends_on(SHORT)


@pytest.mark.parametrize(("order", "runs"), [("in_turn", 1), ("random", 2)])
def test_seeds_that_change_nothing_are_run_once(monkeypatch, order, runs):
    ran = []

    def counted(*given, **more):
        ran.append(given)
        return simulate(*given, **more)

    monkeypatch.setattr(answers, "simulate", counted)
    at = design("soclib").with_(processors=2, order=order)
    first, second = (predict(SweepPoint(at, None, "simulation", seed)) for seed in (1, 2))
    assert len(ran) == runs
    assert (first.rate_pps == second.rate_pps) == (runs == 1)
    assert first.reads == second.reads
    assert at.simulate(None, 2).rate_pps == second.rate_pps


@pytest.mark.parametrize("name", ["ixp2400", "pcie", "soclib"])
def test_demands_are_taken_once_for_all_solvers(name, monkeypatch):
    point = Point.of(name, None if design(name).own else "64 bytes", {})
    taken = []

    def counting(*given):
        taken.append(given)
        return under_load(*given)

    for place in (module, answers, engine_model):
        monkeypatch.setattr(place, "under_load", counting)
    found = []
    for _ in range(2):  # the second time by what is kept, though the machine is not
        monkeypatch.setattr(module, "_machines", OrderedDict())
        if not found:
            monkeypatch.setattr(module, "_demands", OrderedDict())
        one = Predictions(seeds=(1,), packets=200)
        with ThreadPoolExecutor(1) as one_at_a_time:  # two would take them side by side
            one.fetch([point], one_at_a_time)
        found.append(one.answers)
    assert len(taken) == 1
    monkeypatch.setattr(module, "_demands", OrderedDict())
    monkeypatch.setattr(module, "_machines", OrderedDict())
    monkeypatch.setattr(module, "DEMANDS", 0)
    anew = Predictions(seeds=(1,), packets=200)
    with ThreadPoolExecutor(1) as one_at_a_time:
        anew.fetch([point], one_at_a_time)
    assert len(taken) > 1
    assert found[0] == found[1] == anew.answers


def test_demands_of_many_packets_are_not_kept(monkeypatch):
    monkeypatch.setattr(module, "_demands", OrderedDict())
    monkeypatch.setattr(module, "MAX_CACHED_PACKETS", 3)
    design("ixp2400").bounds(Workload("some", {"packet_bytes": np.array([64, 64, 65])}))
    design("ixp2400").bounds(Workload("more", {"packet_bytes": np.array([64, 64, 65, 66])}))
    assert len(module._demands) == 1
