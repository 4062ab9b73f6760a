"""Packets in a line of servers, and by time stamps: queueing beside simulation, and what is refused no more."""

import numpy as np
import pytest

import npexplore as npx
from npexplore.machine.workload import Workload

SERVER, NIC = npx.design("server"), npx.design("smartnic")
SENT_BACK = SERVER.with_(program="tx", ring=1024, cores=6, egress="same_port")
IMIX = npx.workload(mix="imix")


def stamped(gaps, sizes):
    return Workload("t", {"packet_bytes": sizes}, "timestamps", t_ns=np.round(np.cumsum(gaps)).astype(np.int64))


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("design", [
    SENT_BACK, SENT_BACK.with_(cores=1), SERVER.with_(program="redirect", egress="other_port", ring=1024, cores=6), NIC,
], ids=str)  # fmt: skip
def test_mixed_lengths_in_a_line(design, share):
    """With whole packets' variation for that of a visit they were up to 32 % short."""
    load = IMIX.with_arrivals("poisson", share * design.bounds(IMIX).rate_pps)
    seen = design.simulate(load, packets=300_000, breakdown=False)
    queued = design.queueing(load.with_arrivals("poisson", seen.rate_pps))
    assert queued.latency_s.mean == pytest.approx(seen.latency_s.mean, rel=0.1)
    assert sum(part.total_s for part in queued.breakdown.parts) == pytest.approx(queued.latency_s.mean)


def test_eight_packets_of_one_core_carry_more_than_as_many_at_random():
    """Ninety percent of the bounds were above what queueing let eight customers carry: latencies were 100 times."""
    design, load = SENT_BACK.with_(cores=1), npx.workload(packet_bytes=1500)
    at = load.with_arrivals("poisson", 0.9 * design.bounds(load).rate_pps)
    assert design.queueing(at).latency_s.mean == pytest.approx(
        design.simulate(at, packets=300_000).latency_s.mean, rel=0.1
    )


@pytest.mark.parametrize("share", [0.3, 0.9])
@pytest.mark.parametrize("burst", [1, 8])
@pytest.mark.parametrize("design", [SERVER.with_(program="drop", ring=512, cores=6), NIC], ids=str)
def test_time_stamps(design, burst, share):
    """Packets come to the card at 0.9 one by one: 10.4 % long, and 9.2 % behind Poisson arrivals that go on."""
    load, rng = npx.workload(packet_bytes=64), np.random.default_rng(9)
    rate = share * design.bounds(load).rate_pps
    gaps = np.zeros(100_000)
    gaps[::burst] = rng.exponential(burst * 1e9 / rate, len(gaps[::burst]))
    trace = stamped(gaps, np.full(100_000, 64))
    queued, seen = design.queueing(trace), design.simulate(trace)
    assert queued.rate_pps == pytest.approx(seen.rate_pps, rel=1e-3)
    assert queued.latency_s.mean == pytest.approx(seen.latency_s.mean, rel=0.11)
    assert sum(part.total_s for part in queued.breakdown.parts) == pytest.approx(queued.latency_s.mean)


def test_time_stamps_that_fill_the_rings_lose_what_the_simulation_loses():
    design, rng = SERVER.with_(program="drop", ring=512), np.random.default_rng(2)
    load = npx.workload(packet_bytes=64)
    gaps = rng.exponential(1e9 / design.bounds(load).rate_pps / 0.8, 60_000)
    gaps[10_000:30_000] /= 4  # for a while three times as many as are taken
    gaps[30_000:] *= 2
    trace = stamped(gaps, np.full(60_000, 64))
    queued, seen = design.queueing(trace), design.simulate(trace)
    assert queued.loss > 0.1
    assert queued.loss == pytest.approx(seen.loss, rel=0.02)
    assert queued.latency_s.mean == pytest.approx(seen.latency_s.mean, rel=0.05)


def test_two_packets_meet_or_not():
    far, near = stamped([0.0, 10**6], np.array([64, 1500])), stamped([0.0, 1.0], np.array([64, 64]))
    alone = np.mean([SENT_BACK.queueing(stamped([0.0, 10**6], np.full(2, n))).latency_s.mean for n in (64, 1500)])
    assert SENT_BACK.queueing(far).latency_s.mean == pytest.approx(alone, rel=1e-3)
    assert SENT_BACK.queueing(far).rate_pps <= SENT_BACK.bounds(far).rate_pps * (1 + 1e-9)
    assert (
        SENT_BACK.queueing(near).latency_s.mean
        > SENT_BACK.queueing(stamped([0.0, 10**6], np.full(2, 64))).latency_s.mean
    )


def test_any_shares_of_lengths_are_answered():
    """Units counted back from shares are whole but for rounding, which was taken for units above units."""
    rng, lengths = np.random.default_rng(0), npx.workload(mix="amp").packet_bytes
    for packets in range(200, 230):
        load = Workload("mixed", {"packet_bytes": rng.choice(lengths, packets)}, "poisson", 1e6)
        assert NIC.queueing(load).latency_s.mean > 0
