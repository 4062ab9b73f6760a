"""Where a packet's time goes: parts add up to the latency, on every listed design, by all three solvers."""

import numpy as np
import pytest

import npexplore
from npexplore._kernels import engine
from npexplore.designs import DESIGNS, design
from npexplore.designs.prepared import prepared
from npexplore.engine.run import run
from npexplore.errors import RefusedError
from npexplore.machine.workload import Workload
from npexplore.solve.breakdown import of_tally

PACKETS = 160


def asked(name):
    """Return a listed design and the packets it is asked for."""
    made = design(name)
    return made, None if made.own is not None else npexplore.workload(mix="amp")


def total(broken):
    return sum(part.total_s for part in broken.parts)


@pytest.mark.parametrize("name", DESIGNS)
def test_every_tick_of_every_packet_is_accounted_for(name):
    made, load = asked(name)
    ready = prepared(made, load)
    model = ready.model()
    window = ready.machine.window_s
    options = {} if window is None else {"until_s": 2e-3, "stall_s": 1.0}
    plain = run(model, 3, PACKETS, 2, **options)
    result = run(model, 3, PACKETS, 2, accounts=True, cut=1, **options)
    assert np.array_equal(result.snapshots[-1].histogram, plain.snapshots[-1].histogram)
    assert result.snapshots[-1].events == plain.snapshots[-1].events
    for tally, shot in ((result.tally, result.snapshots[-1]), (result.tally_before, result.snapshots[1])):
        assert np.array_equal(tally.latency, shot.done[:, engine.D_LATENCY])
        for number, latency in enumerate(tally.latency):
            assert tally.ticks[tally.classes == number].sum() == latency
    second = result.tally.since(result.tally_before)
    assert (second.ticks >= 0).all()
    each = second.ticks.sum(axis=(1, 2))[second.packets > 0] / second.packets[second.packets > 0]
    assert (np.diff(each) > 0).all() or len({*second.classes.tolist()}) > 1  # bins in order of latency hold just that
    broken = of_tally(second, model.tick, by_class=True)
    assert total(broken) == pytest.approx(broken.latency_s, rel=1e-12, abs=0)
    assert broken.latency_s == pytest.approx(second.latency.sum() * model.tick / second.packets.sum(), rel=1e-12, abs=0)
    assert broken.quantiles["p50"].latency_s <= broken.quantiles["p99"].latency_s
    for one in (*broken.quantiles.values(), *broken.classes.values()):
        assert total(one) == pytest.approx(one.latency_s, rel=1e-12, abs=0)


@pytest.mark.parametrize("name", DESIGNS)
def test_bounds_and_queueing_add_up_to_the_latency(name):
    made, load = asked(name)
    light = made.bounds(load)
    assert total(light.breakdown) == pytest.approx(light.latency_s.mean, rel=1e-9, abs=0)
    assert not light.breakdown.waiting
    try:
        found = made.queueing(load)
    except RefusedError:
        return
    if found.latency_s.mean is None:  # request loops tell a rate, and no latency
        assert found.breakdown is None
        return
    assert total(found.breakdown) == pytest.approx(found.latency_s.mean, rel=1e-9, abs=0)
    assert all(time >= 0 for part in found.breakdown.parts for time in part[1:])
    service = {part.resource: part.service_s for part in found.breakdown.parts if part.service_s}
    assert service == pytest.approx({part.resource: part.service_s for part in light.breakdown.parts}, rel=1e-9, abs=0)


OTHERS = {  # a changed machine for each: knobs, packets, and how they come (at a share of the ceiling; None: saturated)
    "ixp2400": ({"scheme": "fcb_tb", "threads": 5}, 211, 1.4),
    "ixp2400_dram": ({"banks": 2, "threads": 5}, None, 0.8),
    "ixp1200": ({"receivers": 5}, None, 0.3),
    "raw": ({}, 577, 0.8),
    "soclib": ({"processors": 7}, None, None),
    "gorilla": ({"clusters": 2}, None, 0.8),
    "smartnic": ({"buffer": "memory", "cores": 3}, 97, 1.4),
    "server": ({"cores": 2}, 1499, 0.8),
    "pcie": ({"lanes": 4}, 41, 1.4),
    "nfp4000": ({"cores": 3, "map_reads": 2}, 211, 1.4),
}
assert OTHERS.keys() <= DESIGNS.keys(), f"changed, but not listed: {OTHERS.keys() - DESIGNS.keys()}"


@pytest.mark.parametrize("name", DESIGNS)
def test_changed_machines_at_odd_lengths_under_open_load_add_up_too(name):
    knobs, packet_bytes, share = OTHERS.get(name, ({}, 577, 0.8))
    made = design(name).by_packets().with_(**knobs)
    load = None if packet_bytes is None else npexplore.workload(packet_bytes=packet_bytes)
    if share is not None:
        rate = share * made.bounds(load).rate_pps
        if load is None:
            made = made.arriving("batch:3", rate)
        else:
            load = load.with_arrivals("batch:3", rate)
    answers = {"bounds": lambda: made.bounds(load), "queueing": lambda: made.queueing(load)}
    answers["simulation"] = lambda: made.simulate(load, packets=PACKETS, breakdown=True)
    summed = set()
    for solver, ask in answers.items():
        try:
            found = ask()
        except RefusedError:
            assert solver == "queueing"
            continue
        if found.breakdown is None:
            assert found.latency_s.mean is None
            continue
        assert total(found.breakdown) == pytest.approx(found.latency_s.mean, rel=1e-9, abs=0), solver
        assert min(time for part in found.breakdown.parts for time in part[1:]) >= 0, solver
        summed.add(solver)
    assert {"bounds", "simulation"} <= summed


def test_of_closed_threads_the_parts_are_threads_over_rate():
    for threads in (1, 3, 16):
        found = design("ixp2400").with_(threads=threads).queueing(npexplore.workload(mix="amp"))
        assert total(found.breakdown) == pytest.approx(threads / found.rate_pps, rel=1e-9, abs=0)


@pytest.mark.parametrize("load", [0.2, 1.5])
def test_behind_a_receive_buffer_the_parts_add_up_too(load):
    made, packets = design("ixp2400"), npexplore.workload(packet_bytes=64)
    arriving = packets.with_arrivals("poisson", load * made.bounds(packets).rate_pps)
    for found in (made.queueing(arriving), made.simulate(arriving, packets=400)):
        assert total(found.breakdown) == pytest.approx(found.latency_s.mean, rel=1e-9, abs=0)
        waits = dict(found.breakdown.waiting)
        assert (waits.get("threads", 0.0) > 0.1 * found.latency_s.mean) is (load > 1)


def test_classes_have_breakdowns_of_their_own():
    columns = {"packet_bytes": np.array([64, 1500, 64, 512]), "class": np.array([0, 1, 0, 1])}
    found = design("ixp2400").simulate(Workload("two classes", columns), packets=300)
    assert set(found.breakdown.classes) == {"0", "1"}
    rates = {name: one.rate_pps for name, one in found.classes.items()}
    for name, one in found.breakdown.classes.items():
        assert total(one) == pytest.approx(found.classes[name].latency_s.mean, rel=1e-12, abs=0)
    mean = sum(rates[name] * one.latency_s for name, one in found.breakdown.classes.items()) / sum(rates.values())
    assert mean == pytest.approx(found.breakdown.latency_s, rel=1e-12, abs=0)


def test_one_thread_alone_spends_its_time_where_the_bounds_say():
    made, load = design("ixp2400").with_(threads=1), npexplore.workload(packet_bytes=64)
    light, seen = made.bounds(load).breakdown, made.simulate(load, packets=64).breakdown
    expected = {part.resource: part.service_s for part in light.parts}
    found = {part.resource: part.service_s for part in seen.parts}
    assert found == pytest.approx(expected, rel=5e-3, abs=3e-9)  # times are rounded to ticks; refresh meets a few
    assert dict(seen.waiting) == {} or max(dict(seen.waiting).values()) < 0.02 * seen.latency_s


def test_a_full_limit_is_waited_for_because_its_holders_wait():
    found = (
        design("ixp2400").queueing(npexplore.workload(mix="amp")),
        design("ixp2400").simulate(npexplore.workload(mix="amp"), packets=800),
    )
    shares = [next(p.held_s / (p.held_s + p.waiting_s) for p in f.breakdown.parts if p.resource == "dram.slots")
              for f in found]  # fmt: skip
    assert shares[0] == pytest.approx(shares[1], abs=0.05)
    assert shares[1] == pytest.approx(found[1].utilization["dram.slots"].blocked, abs=0.05)
