"""my_machine against limits that are worked out by hand. Run it with: python -m pytest test_my_machine.py"""

from pathlib import Path

import pytest

import npexplore as npx

MACHINE = Path(__file__).with_name("my_machine.toml")


@pytest.mark.parametrize("length", [64, 500, 1500])
def test_the_roofline_is_the_scarcest_resource(length):
    p = npx.design(MACHINE).parameters
    limits = {
        "core": p.cores * p.clock_mhz * 1e6 / p.packet_cycles,
        "sram": 1 / (p.lookup_words * 4e-9),
        "line.out": p.line_gbps * 1e9 / 8 / length,
    }
    answer = npx.design(MACHINE).bounds(npx.workload(packet_bytes=length))
    assert answer.bottleneck == min(limits, key=limits.get)
    assert answer.rate_pps == pytest.approx(min(limits.values()))


def test_a_simulation_comes_close_to_the_roofline_and_never_above():
    load = npx.workload(packet_bytes=500)
    bound = npx.design(MACHINE).bounds(load).rate_pps
    simulated = npx.design(MACHINE).simulate(load, packets=5000)
    assert 0.8 * bound < simulated.rate_pps <= 1.001 * bound


@pytest.mark.parametrize("part", ["ddr4_3200", "ddr5_4800", "lpddr5_6400", "hbm3_6400"])
def test_packets_wait_for_one_channel_of_memory_when_the_rest_is_fast(part):
    machine = npx.design(MACHINE).with_(memory_part=part, memory_channels=1, cores=64, line_gbps=10_000, lookup_words=1)
    load = npx.workload(packet_bytes=1024)
    bound, simulated = machine.bounds(load), machine.simulate(load, packets=5000)
    assert bound.bottleneck.startswith("buffer.")
    # Not quite the roofline: the bus turns around between writes and reads.
    assert 0.8 * bound.rate_pps < simulated.rate_pps <= 1.001 * bound.rate_pps


def test_more_cores_do_not_slow_it_down():
    load = npx.workload(packet_bytes=64)
    rates = [npx.design(MACHINE).with_(cores=cores).bounds(load).rate_pps for cores in (1, 2, 4, 8)]
    assert rates == sorted(rates)
