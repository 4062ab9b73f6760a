"""Curves of latency and loss over the offered load, and searched rates, of machines: points, files, what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from reference.small_machines import NS, machine

from npexplore.designs import Design, design, design_names
from npexplore.errors import InputError, NpexploreError
from npexplore.machine.parameters import MachineFile, Parameters
from npexplore.machine.resources import FifoServer
from npexplore.machine.workload import Workload
from npexplore.machine.workload_sources import workload
from npexplore.plot.load import load_figure
from npexplore.study.loading import lengths
from npexplore.study.loading.curve import POINTS, load_curve
from npexplore.study.loading.lengths import packets_at
from npexplore.study.loading.lossless import search_lossless
from npexplore.study.loading.mlrsearch import Goal
from npexplore.study.loading.offered import Offered
from npexplore.study.loading.points import LATENCIES

LOAD = workload(packet_bytes=64)
QUICK = Goal(width=0.02, final=1024, total=1024, initial=256)


def own(program, capacity_bytes=640):
    built = machine([FifoServer("hash", 100 * NS)], program, 1, capacity_bytes=capacity_bytes)
    return Design("own", Parameters(MachineFile(name="own", title="own")), lambda _: built)


def forward(m, packet):
    m.hash.serve()
    m.receive.free(bytes=64)


@pytest.fixture(scope="module")
def curve():
    return load_curve(own(forward), LOAD, packets=4096)


def test_a_curve_has_both_solvers_at_the_same_loads(curve):
    simulated, queueing = curve.of("simulation"), curve.of("queueing")
    assert [p.offered_pps for p in simulated] == [p.offered_pps for p in queueing]
    assert len(simulated) == POINTS
    full = curve.saturation["simulation"]
    assert (full.rate_pps, full.bottleneck) == (pytest.approx(1e7), "hash")
    assert simulated[0].offered_pps == pytest.approx(0.05 * full.rate_pps)
    assert simulated[-1].offered_pps == pytest.approx(1.15 * full.rate_pps)
    assert all(p.rate_pps == pytest.approx(p.offered_pps * (1 - p.loss), rel=0.05) for p in curve.points)
    assert set(simulated[0].latency_s) == set(LATENCIES)
    quantiles = np.array([[p.latency_s[name] for name in LATENCIES[1:]] for p in simulated])
    assert (np.diff(quantiles, axis=1) >= 0).all()
    assert [p.latency_s["p999"] for p in queueing] == [None] * POINTS


def test_the_load_at_which_latency_doubles(curve):
    """M/D/1: r / (2 (1 - r)) of a service waits, which is one service at r = 2/3."""
    assert curve.doubled_pps == pytest.approx(2 / 3 * 1e7, rel=0.05)
    few = load_curve(own(forward), LOAD, rates=[1e5, 2e5], packets=500)
    assert few.doubled_pps is None


def test_seeds_give_means_with_intervals():
    found = load_curve(own(forward), LOAD, rates=[5e6, 8e6], seeds=3, packets=1000)
    assert len(found.of("simulation")) == 2
    for point in found.of("simulation"):
        low, high = point.ci95["latency_s"]
        assert low < point.latency_s["mean"] < high
        low, high = point.ci95["rate_pps"]
        assert low < point.rate_pps < high
    assert found.to_dict()["points"][0]["ci95"]["rate_mpps"] == [
        end / 1e6 for end in found.of("simulation")[0].ci95["rate_pps"]
    ]


def test_a_stopped_curve_goes_on_from_its_file(tmp_path):
    kept, seen = tmp_path / "load.parquet", []
    first = load_curve(design("smartnic"), LOAD, rates=[1e6], store=kept, packets=300)
    again = load_curve(
        design("smartnic"), LOAD, rates=[1e6, 2e6], store=kept, packets=300, progress=lambda *done: seen.append(done)
    )
    assert again.points[0] == first.points[0]
    assert seen[0] == (2, 6)  # both saturations are known
    assert seen[-1] == (6, 6)
    with pytest.raises(InputError, match="holds a sweep already"):
        load_curve(design("smartnic"), LOAD, rates=[1e6], store=kept, packets=300, resume=False)


@pytest.mark.parametrize("name", design_names())
def test_every_listed_design_has_a_curve(name):
    made = design(name)
    load = None if made.own is not None else LOAD
    full = Offered.of(made, load, "periodic").point(None, "simulation")
    most = full.design.simulate(full.workload, packets=512).rate_pps
    found = load_curve(made, load, rates=[0.5 * most], packets=512, arrivals="periodic").of("simulation")
    assert found[0].loss == 0.0
    assert found[0].rate_pps == pytest.approx(0.5 * most, rel=0.05)
    assert 0 < found[0].latency_s["p50"] <= found[0].latency_s["p999"]


def test_a_load_whose_packets_take_many_events_has_fewer(monkeypatch):
    """Threads that poll ask for ever: events a packet grow as the load falls; others take the same at any load."""
    quiet = Offered.of(own(forward), LOAD, "periodic")
    assert packets_at([1e5, 5e6, 9e6], quiet.events) == [lengths.PACKETS] * 3
    polls = Offered.of(design("ixp1200").with_(receivers=1, receiver_engines=1), None, "periodic")
    loads = [5e3, 2e4, 4e4, 8e4]
    monkeypatch.setattr(lengths, "EVENTS", 2e7)
    found = packets_at(loads, polls.events)
    assert found == sorted(found)
    assert lengths.MIN_PACKETS <= found[0] < found[-1] <= lengths.PACKETS
    for load, length in zip(loads, found, strict=True):
        events = polls.point(load, "simulation").design.simulate(None, packets=512).about["events"]
        assert length == lengths.MIN_PACKETS or 0.5 * lengths.EVENTS / 2 < events * length / 512 < 1.3 * lengths.EVENTS
    monkeypatch.setattr(lengths, "EVENTS", 1.0)
    assert packets_at(loads, polls.events) == [lengths.MIN_PACKETS] * 4


def test_points_say_how_many_packets_were_measured():
    found = load_curve(own(forward), LOAD, rates=[5e6, 8e6], packets=700)
    assert {p.packets for p in found.of("simulation")} == {700}
    assert {p.packets for p in found.of("queueing")} == {None}


def test_a_refused_solver_has_its_reason_and_no_points():
    capture = Workload("c", {"packet_bytes": np.full(300, 64)}, t_ns=np.arange(300) * 700)
    found = load_curve(own(forward), capture, arrivals="timestamps", rates=[5e6], packets=300)
    assert found.of("queueing") == []
    assert "recorded arrival times are not a random process" in found.refused["queueing"]
    assert found.of("simulation")[0].offered_pps == pytest.approx(5e6)
    assert len(load_figure(found).data) == 6  # a band, mean, three quantiles, loss
    assert found.to_dict()["refused"] == found.refused


def test_no_line_bridges_a_load_without_an_answer(curve):
    lost = curve.of("queueing")[1]
    lines = {trace.name: trace for trace in load_figure(replace(curve, points=tuple(
        p for p in curve.points if p is not lost))).data if trace.name}  # fmt: skip
    for name in ("mean, queueing", "loss, queueing"):
        assert (lines[name].x[1], lines[name].y[1]) == (lost.offered_pps / 1e6, None)
        assert None not in (lines[name].y[0], lines[name].y[2])


def test_a_figure_holds_what_the_points_hold(curve):
    figure = load_figure(curve)
    lines = {trace.name: trace for trace in figure.data if trace.name}
    assert lines["mean, simulation"].y == pytest.approx([1e9 * p.latency_s["mean"] for p in curve.of("simulation")])
    assert lines["loss, queueing"].y == pytest.approx([p.loss for p in curve.of("queueing")])
    assert "saturated: hash" in [note.text for note in figure.layout.annotations]
    few = replace(curve, points=tuple(replace(p, loss=6e-90) for p in curve.points))
    assert [load_figure(one).layout.yaxis2.range[1] > 0.01 for one in (curve, few)] == [True, False]
    assert load_figure(few).layout.yaxis2.range == (0, 0.01)  # next to nothing is lost


def test_rates_of_a_design_with_its_own_packets():
    made = design("ixp1200").with_(receivers=1, receiver_engines=1, rules=500)
    found = search_lossless(made, losses=[0.0], goal=QUICK)
    (ndr,) = found.found
    assert found.to_dict()["pdr"] is None
    assert ndr.low <= ndr.load <= (ndr.high or np.inf)
    assert ndr.load == pytest.approx(found.saturation.rate_pps, rel=0.1)


def test_a_stopped_search_goes_on_from_its_file(tmp_path):
    kept, seen = tmp_path / "trials.parquet", []
    ask = {"losses": [0.01, 0.0], "goal": QUICK, "store": kept}
    first = search_lossless(own(forward), LOAD, **ask)
    again = search_lossless(own(forward), LOAD, **ask, progress=lambda *told: seen.append(told))
    assert again == first
    assert seen[0][1] == QUICK.initial
    assert [one.goal.loss_ratio for one in first.found] == [0.0, 0.01]
    assert first.found[0].load < first.found[1].load


def test_a_machine_that_never_drops_reaches_what_it_forwards():
    """A buffer that no trial fills: nothing is lost, and no rate above saturation is claimed."""
    found = search_lossless(own(forward, capacity_bytes=1 << 20), LOAD, losses=[0.0, 0.1], goal=QUICK)
    ndr, pdr = found.found
    assert ndr.load == pytest.approx(found.saturation.rate_pps)
    assert pdr.load == pytest.approx(found.saturation.rate_pps / 0.9)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: load_curve(own(forward), LOAD, rates=[0.0]), "rate of a load must be greater than 0"),
        (lambda: load_curve(own(forward), LOAD, arrivals="saturated"), "packets that arrive at a rate"),
        (lambda: load_curve(own(forward), LOAD, arrivals="poison"), "arrivals 'poison' is unknown"),
        (lambda: load_curve(own(forward), LOAD, arrivals="timestamps"), "has no time stamps"),
        (lambda: load_curve(own(forward)), "own has no packets of its own"),
        (lambda: search_lossless(own(forward), LOAD, losses=[]), "at least one loss"),
        (lambda: search_lossless(own(forward), LOAD, losses=[1.5]), "at least 0 and below 1, got 1.5"),
    ],
)
def test_loads_that_cannot_be(ask, message):
    with pytest.raises(InputError, match=message):
        ask()


def test_a_machine_that_never_frees_its_buffer_is_told():
    def keeps(m, packet):
        m.hash.serve()

    with pytest.raises(NpexploreError, match="no program frees the receive buffer 'receive' of 640 bytes"):
        search_lossless(own(keeps), LOAD, goal=QUICK)


def test_estimates_come_first_unless_a_length_is_asked_for():
    """Near saturation there is none, and the reason is told; elsewhere the rate is that of the load."""
    curve = load_curve(design("smartnic"), LOAD, rates=[20e6, 99e6])
    (point,) = curve.of("estimate")
    low, high = point.ci95["latency_s"]
    assert point.rate_pps == pytest.approx(20e6)
    assert low < point.latency_s["mean"] < high
    assert [one.solver for one in curve.best] == ["estimate", "simulation"]
    assert curve.refused["estimate"].startswith("at 1 of 2 loads: 99 Mpps is 0.9")
    assert next(iter(curve.saturation)) == "estimate"
    low, high = curve.full.ci95
    assert low < curve.full.rate_pps < high
    (entry,) = [one for one in curve.to_dict()["points"] if one["solver"] == "estimate"]
    assert {"throughput_bps", "precision", "method", "seconds"} <= set(entry)
    ends = entry["ci95"]
    assert {"rate_mpps", "throughput_bps", "mean", "p50", "p95", "p99", "loss"} <= set(ends)
    for name in ("mean", "p50", "p95", "p99"):
        assert ends[name][0] <= entry["latency_ns"][name] <= ends[name][1]
    assert "independent runs" in entry["method"]
    for few in ({"packets": 500}, {"seeds": 2}, {"estimate": False}):
        assert not load_curve(design("smartnic"), LOAD, rates=[20e6], **few).of("estimate")
