"""RAW's queueing answer against simulation, saturated and below; its closed request loops alone, and by hand."""

import numpy as np
import pytest

from npexplore.designs import design
from npexplore.designs.raw.chip import Chip
from npexplore.designs.raw.design import version_of
from npexplore.designs.raw.loops import line_rates
from npexplore.designs.raw.memory import lines_to_read, reading
from npexplore.errors import RefusedError
from npexplore.machine.workload import Workload, workload
from npexplore.solve.simulate import simulate

RAW = design("raw")


def chip(**knobs):
    parameters = RAW.with_(**knobs).parameters
    return Chip(parameters, *version_of(parameters))


@pytest.mark.slow
@pytest.mark.parametrize("size", [800, 1500])
@pytest.mark.parametrize("version", ["v1", "v2", "v3", "v3d", "v5"])
def test_loops_and_simulation_agree(version, size):
    made, load = RAW.with_(version=version), workload(packet_bytes=size)
    queued, seen = made.queueing(load), made.simulate(load, packets=960)
    assert queued.throughput_bps == pytest.approx(seen.throughput_bps, rel=0.06)


@pytest.mark.parametrize(
    ("queue_full", "starved"),
    [("stall", (1 + 0) / 17 * 3 / 4), ("discard", 0.0)],  # 16 places and one at the card, of 4 cards one is never short
)
def test_heads_of_line_that_block_starve_the_other_cards(queue_full, starved):
    """Dropping what finds a queue full lets all cards read always; waiting for it costs a walk's share at 0."""
    made, load = RAW.with_(queue_full=queue_full), workload(packet_bytes=1500)
    queued, seen = made.queueing(load), made.simulate(load, packets=4000)
    assert queued.about["starved"] == pytest.approx(starved, rel=1e-9)
    assert queued.throughput_bps == pytest.approx(seen.throughput_bps, rel=0.015)
    assert queued.latency_s.mean == pytest.approx(seen.latency_s.mean, rel=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("knobs", "size", "share", "near"),
    [
        ({}, 64, 0.8, 0.06),  # constant times in a row: M/D/1 at the slowest
        ({}, 1500, 0.8, 0.04),  # pipelines, then cards whose loops slow each other
        ({"linecards": 2}, 64, 0.8, 0.06),  # pipelines in turn: arrivals of a quarter of the variance
        ({"version": "v3d"}, 64, 0.4, 0.02),
        ({"version": "v4"}, 1500, 0.8, 0.03),  # nothing is written to memory
    ],
)
def test_latency_of_open_load(knobs, size, share, near):
    made, load = RAW.with_(**knobs), workload(packet_bytes=size)
    most = made.queueing(load).rate_pps
    load = load.with_arrivals("poisson", share * most)
    queued, seen = made.queueing(load), made.simulate(load, seeds=4, packets=6000)
    assert queued.rate_pps == load.rate_pps
    assert queued.bottleneck == "arrivals"
    assert queued.latency_s.mean == pytest.approx(seen.latency_s.mean, rel=near)


def test_more_than_it_carries_fills_the_receive_buffer():
    load = workload(packet_bytes=1500)
    most = RAW.queueing(load).rate_pps
    over = RAW.queueing(load.with_arrivals("poisson", 1.25 * most))
    assert over.rate_pps == pytest.approx(most, rel=1e-6)
    assert over.about["loss"] == pytest.approx(0.2, rel=1e-6)
    assert over.latency_s.mean == pytest.approx((256 + 10**7 / 1500) / most, rel=0.01)


def test_one_bank_is_full_with_one_windows_requests_from_version_iii_on():
    """4 requests of 29 cycles keep a bank busy over a round trip of 65 cycles, 2 do not."""
    full = 425e6 / RAW.parameters.line_cycles
    assert line_rates(chip(version="v3"), 2) == pytest.approx([full, full], rel=1e-3)
    alone, both = line_rates(chip(version="v2"), 2)
    assert alone == pytest.approx(2 * 425e6 / 65, rel=0.06)
    assert both == pytest.approx(full, rel=1e-3)


@pytest.mark.parametrize(("version", "low", "high"), [("v1", 0.93, 1.01), ("v2", 0.93, 1.01), ("v3", 0.97, 1.01)])
def test_lines_alone_are_read_at_the_rate_of_their_loop(version, low, high):
    """All cards read the same bank: their requests together keep it busy, in the model and when simulated."""
    made = chip(version=version)
    seen = simulate(reading(made), lines_to_read(made, buffers=[0], banks=[0]), packets=4000)
    assert low <= seen.rate_pps / line_rates(made, len(made.ports))[-1] <= high


@pytest.mark.parametrize(
    ("version", "size", "near"), [("v3", 64, 0.03), ("v4", 1500, 0.002), ("null", 1500, 0.001), ("v1", 64, 0.03)]
)
def test_without_packets_in_memory_the_slowest_part_sets_the_pace(version, size, near):
    made, load = RAW.with_(version=version), workload(packet_bytes=size)
    queued, seen = made.queueing(load), made.simulate(load, packets=4000)
    assert queued.throughput_bps == pytest.approx(seen.throughput_bps, rel=near)
    assert queued.latency_s.mean == pytest.approx(seen.latency_s.mean, rel=max(near, 0.01))


def test_periodic_packets_wait_less_than_poisson_ones():
    periodic = RAW.with_(offered_gbps=8.0).queueing(workload(packet_bytes=1500))
    poisson = RAW.queueing(workload(packet_bytes=1500).with_arrivals("poisson", periodic.rate_pps))
    assert periodic.rate_pps == poisson.rate_pps == pytest.approx(8e9 / 12000)
    assert periodic.latency_s.mean < poisson.latency_s.mean


def test_time_stamps_are_refused():
    load = Workload("stamped", {"packet_bytes": np.array([64, 64])}, "timestamps", t_ns=np.array([0, 100]))
    with pytest.raises(RefusedError, match="time stamps are not a random process"):
        RAW.queueing(load)
