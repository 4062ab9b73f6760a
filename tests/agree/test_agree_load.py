"""The searched rate within a loss, and the curve of loss and latency, of M/M/1/K and M/D/1/K machines: closed forms."""

import pytest
from reference.markov import loss_of_constant_service
from reference.small_machines import NS, machine
from scipy.optimize import brentq

from npexplore.designs import Design
from npexplore.machine.parameters import MachineFile, Parameters
from npexplore.machine.resources import FifoServer
from npexplore.machine.workload_sources import workload
from npexplore.rows.distributions import Deterministic, Exponential
from npexplore.solve.queueing import mmck
from npexplore.study.loading.curve import load_curve
from npexplore.study.loading.lossless import search_lossless
from npexplore.study.loading.mlrsearch import Goal

MEAN, K = 100 * NS, 6
TIMES = {"M/M/1/K": Exponential(mean=MEAN), "M/D/1/K": Deterministic(mean=MEAN)}


def made(kind):
    """A server behind a receive buffer whose K cells hold the packet in service too."""

    def program(m, packet):
        m.hash.serve()
        m.receive.free(bytes=64)

    built = machine([FifoServer("hash", TIMES[kind])], program, 1, capacity_bytes=64 * K)
    return Design(kind, Parameters(MachineFile(name=kind, title=kind)), lambda _: built)


def loss_of(kind, rate):
    """M/M/1/K: (1 - r) r^K / (1 - r^(K+1)). M/D/1/K: by its chain."""
    if kind == "M/M/1/K":
        r = rate * MEAN
        return (1 - r) * r**K / (1 - r ** (K + 1))
    return loss_of_constant_service(rate * MEAN, K)


def rate_of(kind, loss):
    return brentq(lambda rate: loss_of(kind, rate) - loss, 1e5, 0.999 / MEAN)


def test_the_closed_forms_agree_with_others():
    assert loss_of("M/M/1/K", 7e6) == pytest.approx(float(mmck(7e6, MEAN, 1, K).loss), rel=1e-9)
    assert loss_of("M/D/1/K", 7e6) < loss_of("M/M/1/K", 7e6)


@pytest.mark.parametrize("kind", TIMES)
def test_searched_rates_are_within_their_confidence(kind):
    """Of 30 seeds 29 (M/M/1/K) and 30 (M/D/1/K) were; the bound itself was 0.4 % off in the mean at most."""
    goal = Goal(final=32_768, total=32_768, initial=2048)
    found = search_lossless(made(kind), workload(packet_bytes=64), losses=(0.005, 0.02), arrivals="poisson", goal=goal)
    for one in found.found:
        exact = rate_of(kind, one.goal.loss_ratio)
        assert one.low <= exact <= one.high
        assert one.high - one.low < 0.09 * exact
        assert one.low <= one.load < one.loses_at <= one.high


@pytest.mark.parametrize("kind", TIMES)
def test_the_curve_is_that_of_the_closed_form(kind):
    curve = load_curve(made(kind), workload(packet_bytes=64), rates=[8e6, 12e6], seeds=4, packets=40_000)
    for point in curve.of("simulation"):
        loss = loss_of(kind, point.offered_pps)
        assert point.loss == pytest.approx(loss, rel=0.04)
        assert point.rate_pps == pytest.approx(point.offered_pps * (1 - loss), rel=0.01)
    assert curve.saturation["simulation"].rate_pps == pytest.approx(1 / MEAN, rel=0.01)
    assert curve.saturation["simulation"].bottleneck == "hash"
