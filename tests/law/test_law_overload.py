"""Packets lost at a full receive buffer are counted together: the same as one by one, exactly or in distribution."""

import numpy as np
import pytest
from reference.small_machines import NS, machine, packets

from npexplore.engine.model import build
from npexplore.engine.run import run
from npexplore.machine.resources import FifoServer, ingress
from npexplore.rows.distributions import Exponential

MEAN = 100 * NS


def server(places, time=None):
    """One server; a packet keeps its place in the receive buffer until it has been served."""
    return machine(
        [FifoServer("work", Exponential(mean=MEAN) if time is None else time)],
        lambda m, p: (m.work.serve(), m.receive.free(bytes=p.packet_bytes)), threads=2, capacity_bytes=64 * places,
    )  # fmt: skip


@pytest.fixture
def one_by_one(monkeypatch):
    """Run a model whose losses are never counted together."""

    def alone(made, load, *args, **options):
        with monkeypatch.context() as patch:
            patch.setattr(ingress, "FEWEST_LOST", 1 << 60)
            model = build(made, load)
        return run(model, *args, **options)

    return alone


def totals(result, *more):
    """Return what all snapshots count, but for refusals and events."""
    names = ("now", "integral_free", "integral_line", "grants", "done", "histogram", "counters", "age", *more)
    return [np.asarray(getattr(snapshot, name)).tolist() for snapshot in result.snapshots for name in names]


@pytest.mark.parametrize("time", [None, MEAN], ids=["exponential", "constant: arrivals and ends at one instant"])
@pytest.mark.parametrize("lengths", [(64,), (64, 64, 250, 64)], ids=str)
@pytest.mark.parametrize("window", [{}, {"from_s": 30 * MEAN, "until_s": 2000 * MEAN}], ids=["packets", "time"])
def test_periodic_arrivals_are_counted_exactly(one_by_one, time, lengths, window):
    made, load = server(5, time), packets(*lengths).with_arrivals("periodic", 50 / MEAN)
    expected, got = one_by_one(made, load, 1, 2000, 7, **window), run(build(made, load), 1, 2000, 7, **window)
    assert totals(got) == totals(expected)
    assert got.snapshots[-1].events < expected.snapshots[-1].events / 4


@pytest.mark.parametrize("arrivals", ["poisson", "periodic"])
@pytest.mark.parametrize(("load", "seed"), [(1.5, 0), (10, 0), (10, 2)])
def test_up_to_a_usual_overload_every_bit_stays(one_by_one, arrivals, load, seed):
    made, offered = server(5), packets(64).with_arrivals(arrivals, load / MEAN)
    got = run(build(made, offered), seed, 5000, 3)
    assert got.snapshots[-1].counters[1] > 2 * ingress.FEWEST_LOST
    assert totals(got, "refused", "events") == totals(one_by_one(made, offered, seed, 5000, 3), "refused", "events")


@pytest.mark.parametrize(("arrivals", "size"), [("poisson", 1), ("batch:4", 4)])
@pytest.mark.parametrize("window", [0.3, 3.0])
def test_offered_packets_are_those_of_the_arrival_process(arrivals, size, window):
    """Of the numbers in equal windows of so many services: the mean, and variance / mean = the size of batches."""
    load, windows, mean = packets(64).with_arrivals(arrivals, 200 / MEAN), 2000, 200 * window
    ends = {"from_s": 100 * MEAN, "until_s": (100 + windows * window) * MEAN}
    result = run(build(server(5), load), 3, 1, windows, **ends)
    counts = np.diff([snapshot.counters[0] for snapshot in result.snapshots])
    assert abs(counts.mean() - mean) < 4 * (size * mean / windows) ** 0.5
    assert counts.var() / counts.mean() == pytest.approx(size, rel=4 * (2 / windows) ** 0.5)


@pytest.mark.parametrize("together", [True, False])
def test_the_next_packet_comes_an_exponential_time_after_a_place_is_free(one_by_one, together):
    """Room for one packet, constant service: times between ends are a service and an exponential time of a gap."""
    gaps, count = 25, 4000  # in a service; finished packets
    made, load = server(1, MEAN), packets(64).with_arrivals("poisson", gaps / MEAN)
    result = run(build(made, load), 2, count, count) if together else one_by_one(made, load, 2, count, count)
    skip = ingress.FEWEST_LOST // gaps
    idle = np.diff([snapshot.now for snapshot in result.snapshots[skip:]]) * result.model.tick / MEAN * gaps - gaps
    assert abs(idle.mean() - 1) < 4 * (1 / count) ** 0.5
    assert abs(idle.var() - 1) < 4 * (8 / count) ** 0.5
    offered, dropped = result.snapshots[-1].counters
    assert offered - dropped == pytest.approx(count, abs=1)
    assert abs(offered / count - gaps - 1) < 4 * ((gaps + 1) / count) ** 0.5
