"""The SmartNIC against limits that are worked out by hand: line, cores, link to the host, memory, credits."""

from math import ceil

import pytest

import npexplore as npx
from npexplore.machine.under_load import under_load

LINK = 16 * 16e9 * 128 / 130 / 8 * (1 - 2 * 8 / 203 - 4 / 1538)  # bytes a second, less what acknowledgements take
LENGTHS = [46, 64, 200, 256, 257, 1000, 1500]


def limits(length):
    """Return packets a second of each resource, alone."""
    frame = max(length + 18, 64) + 20
    data = frame - 20 - 4  # Ethernet header and packet, without the check sequence
    on_link = data + 16 + 24 * (1 + ceil(data / 256)) + 24 / 32 + 28 / 64
    return {
        "ethernet.in": 100e9 / 8 / frame,
        "core": 8 * 2.5e9 / 200,
        "pcie.up": LINK / on_link,
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
    on_link = (1514 + 16 + 24 * 7 + 24 / 32 + 28 / 64) / LINK + (512 + 2 * 20 + 32) / 32 / LINK
    assert answer.rate_pps == pytest.approx(96 / (ceil(1530 / 16) * (1e-6 + on_link)))
