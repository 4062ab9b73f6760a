"""Quantiles of packets' time behind Poisson arrivals: exact where they should be, and how near elsewhere."""

from math import exp, factorial

import numpy as np
import pytest
from reference.small_machines import NS, machine, packets
from scipy.linalg import expm
from scipy.optimize import brentq

from npexplore.machine.resources import FifoServer, LineCard
from npexplore.rows.distributions import Erlang, Exponential, Hyperexponential
from npexplore.rows.phases import plain_phases
from npexplore.solve.queueing import mmc_quantiles, mmck_quantiles
from npexplore.solve.queueing_model import queueing

SHARES = (0.5, 0.95, 0.99, 0.999)
S = 100 * NS


def told(service, load, servers=1, room=400, arrivals="poisson"):
    """The quantiles of threads that are nothing but servers, in service times."""
    mean = service if isinstance(service, float) else service.moments()[0]
    part = FifoServer("work", service, units=servers)
    made = machine([part], lambda m, p: (m.receive.free(bytes=64), m.work.serve()), threads=servers,
                   capacity_bytes=64 * room)  # fmt: skip
    found = queueing(made, packets(64).with_arrivals(arrivals, load * servers / mean)).latency_s
    return [one if one is None else one / mean for one in (found.p50, found.p95, found.p99, found.p999)]


def deterministic(share, rho):
    """The time in M/D/1, in services (Erlang 1909: the wait's law as a finite sum)."""

    def waits(t):
        return (1 - rho) * sum((-rho * (t - k)) ** k / factorial(k) * exp(rho * (t - k)) for k in range(int(t) + 1))

    return 1 + (0 if waits(0) >= share else brentq(lambda t: waits(t) - share, 0, 14))


def phased(share, rho, service):
    """The time in M/PH/1, in services: the wait is a phase-type time (Neuts 1981, 5.3)."""
    first, rates = plain_phases(service)
    mean = service.moments()[0]
    rest = np.linalg.solve(-rates.T, first) / mean
    ends, m = -rates.sum(axis=1), len(first)
    both = np.zeros((2 * m, 2 * m))  # waits, then is served
    both[:m, :m], both[:m, m:], both[m:, m:] = (
        rates + rho * np.outer(ends, rest),
        (1 - rho) * np.outer(ends, first),
        rates,
    )
    begin = np.concatenate([rho * rest, (1 - rho) * first])
    return brentq(lambda t: (begin @ expm(both * t * mean)).sum() - (1 - share), 1e-9, 200)


@pytest.mark.parametrize("load", [0.3, 0.7, 0.95])
def test_one_exponential_server_is_exact_with_and_without_losses(load):
    one = Exponential(mean=S)
    assert told(one, load, room=3) == pytest.approx(mmck_quantiles(SHARES, load, 1.0, 1, 4), rel=1e-6)
    assert told(one, load) == pytest.approx(mmc_quantiles(SHARES, load, 1.0), rel=1e-5)
    assert told(one, load, servers=4) == pytest.approx(mmc_quantiles(SHARES, 4 * load, 1.0, 4), rel=0.05)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_one_server_of_any_service_is_near_its_law(load):
    """Within 3 % of constant service, 1 % of Erlang; the third moment of others shows: 8 %, the median 20 %."""
    truth = [deterministic(share, load) for share in SHARES[:3]]
    assert told(S, load)[:3] == pytest.approx(truth, rel=0.03)
    mild, wild = Erlang(mean=S, stages=3), Hyperexponential(means=(0.4 * S, 3.4 * S), probability=0.8)
    assert told(mild, load) == pytest.approx([phased(share, load, mild) for share in SHARES], rel=0.01)
    truth = [phased(share, load, wild) for share in SHARES]
    assert told(wild, load)[1:] == pytest.approx(truth[1:], rel=0.08)
    assert told(wild, load)[0] == pytest.approx(truth[0], rel=0.21)


def test_other_arrivals_have_a_mean_and_no_tail():
    assert told(Exponential(mean=S), 0.5, arrivals="periodic") == [None] * 4


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_long_packets_wait_no_longer_than_short_ones_that_come_once(load):
    """M/G/1 of two lengths, of which one in four is 23 times as long, by Lindley's recursion over half a million.

    Waits in proportion to the own length made p95 46 to 87 % too long.
    """
    random, sizes = np.random.default_rng(4), np.array([64, 64, 64, 1472])
    made = machine(
        [LineCard("line", 1e9)], lambda m, p: (m.receive.free(bytes=p.packet_bytes), m.line.send(bytes=p.packet_bytes)),
        threads=64, capacity_bytes=1 << 20,
    )  # fmt: skip
    rate = load / sizes.mean() / NS
    service = random.choice(sizes, 500_000) * NS
    steps = np.concatenate([[0.0], np.cumsum(service[:-1] - random.exponential(1 / rate, len(service) - 1))])
    stays = steps - np.minimum.accumulate(steps) + service
    found = queueing(made, packets(*sizes).with_arrivals("poisson", rate)).latency_s
    assert found.mean == pytest.approx(stays.mean(), rel=0.03)
    assert [found.p95, found.p99] == pytest.approx(np.quantile(stays, [0.95, 0.99]), rel=0.22)
