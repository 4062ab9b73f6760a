"""The SmartNIC against limits that are worked out by hand: line, cores, link to the host, memory, credits."""

from math import ceil

import pytest

import npexplore as npx
from npexplore.machine.under_load import under_load

LENGTHS = [46, 64, 200, 256, 257, 1000, 1500]


def limits(length):
    """Return packets a second of each resource, alone."""
    frame = max(length + 18, 64) + 20
    on_link = length + 16 + 24 * (1 + ceil(length / 256))
    return {
        "ethernet.in": 100e9 / 8 / frame,
        "core": 8 * 2.5e9 / 200,
        "pcie.out": 16 * 16e9 * 128 / 130 / 8 / on_link,
    }


@pytest.mark.parametrize("length", LENGTHS)
def test_ceilings_are_what_arithmetic_says(length):
    design = npx.design("smartnic")
    load = npx.workload(packet_bytes=length)
    ceilings = under_load(design.machine(), load).ceilings()
    for server, rate in limits(length).items():
        assert ceilings[server] == pytest.approx(rate), server


@pytest.mark.parametrize("length", [46, 256, 1500])
def test_a_simulation_reaches_the_ceiling_and_not_more(length):
    design = npx.design("smartnic")
    load = npx.workload(packet_bytes=length)
    best = min(limits(length).values())
    got = design.simulate(load, packets=5000).rate_pps
    assert 0.97 * best < got <= 1.001 * best


def test_memory_that_holds_packets_is_the_ceiling_of_long_ones():
    load = npx.workload(packet_bytes=1500)
    answer = npx.design("smartnic").with_(buffer="memory", flow_miss=0, line_gbps=200).bounds(load)
    assert answer.bottleneck == "memory.bus"
    assert answer.rate_pps == pytest.approx(25.6e9 / (2 * 64 * ceil(1500 / 64)))  # each byte crosses the bus twice


def test_few_credits_are_the_ceiling():
    load = npx.workload(packet_bytes=1500)
    answer = npx.design("smartnic").with_(credits=96, credit_ns=1000).bounds(load)
    assert answer.bottleneck == "credit"
    on_link = (1500 + 16 + 24 * 7) / (16 * 16e9 * 128 / 130 / 8)
    assert answer.rate_pps == pytest.approx(96 / (ceil(1516 / 16) * (1e-6 + on_link)))
